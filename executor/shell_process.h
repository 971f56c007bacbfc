// One living bash and the channels to it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "executor/fd.h"
#include "executor/shell_dir.h"
#include "executor/supervisor.h"
#include "schema/result.h"

namespace daybook::executor {

struct CpuTimes {
  std::uint64_t user_us = 0;
  std::uint64_t system_us = 0;
};

/// Not thread-safe.
class ShellProcess {
 public:
  static tl::expected<std::unique_ptr<ShellProcess>, SpawnFailure> start(
      const std::vector<std::string>& env, const std::string& cwd, const KillLadder& ladder);

  /// Hands one command over. The output's reading end; an error when the shell or its folder
  /// is gone.
  Result<UniqueFd> begin(ShellDir& dir, std::string_view command);

  /// The status of the command, once it came. Anything without the command's nonce is ignored.
  std::optional<int> take_status();

  Supervisor& supervisor() { return *supervisor_; }
  int status_fd() const { return status_.get(); }

  /// The shell's folder as the kernel knows it; "" when it is gone.
  std::string cwd() const;
  /// Of the shell and all that it waited for.
  CpuTimes cpu_times() const;

 private:
  ShellProcess(std::unique_ptr<Supervisor> supervisor, UniqueFd commands, UniqueFd status)
      : supervisor_(std::move(supervisor)),
        commands_(std::move(commands)),
        status_(std::move(status)) {}

  std::unique_ptr<Supervisor> supervisor_;
  UniqueFd commands_;
  UniqueFd status_;
  std::string nonce_;
  std::string received_;
};

}  // namespace daybook::executor
