// A command under a supervisor process of its own.
//
// The supervisor starts the target, adopts whatever the target leaves behind (it is a subreaper)
// and can therefore end the whole tree, processes in other sessions included. It does so when
// told, and when the process that started it dies, however it dies.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "executor/fd.h"

namespace daybook::executor {

/// How long each step of ending a command may take before the next.
struct KillLadder {
  int interrupt_ms = 2000;   // after SIGINT to the target's process group
  int terminate_ms = 2000;   // after SIGTERM to the tree
  int kill_ms = 900;         // repeating SIGKILL; what is left then is reported
  int survivor_ms = 200;     // after SIGTERM to what a finished command left running
  int drain_quiet_ms = 250;  // a finished command's pipes: without a byte
  int drain_total_ms = 2000;
};

/// Out of the way of the descriptors that scripts use.
inline constexpr int kExtraFd = 198;

struct SpawnSpec {
  std::string program;  // path; no search
  std::vector<std::string> argv;
  std::vector<std::string> env;             // NAME=value; the whole environment
  int cwd_fd = -1;                          // folder to start in, required
  std::array<int, 3> stdio = {-1, -1, -1};  // -1: /dev/null
  int extra_fd = -1;                        // what the target gets as kExtraFd; -1: nothing
};

struct SpawnFailure {
  int error_number = 0;  // 0: the supervisor was killed, the target may have run
  std::string message;
};

enum class ReportKind : std::int32_t {
  started,       // value: pid
  spawn_failed,  // value: errno
  exited,        // value: wait status; the target ended, its descendants may live
  swept,         // everything but the target is gone
  done,          // the whole tree is gone; the last report
  lost,          // the supervisor itself was killed; the last report
};

struct Report {
  ReportKind kind = ReportKind::lost;
  int value = 0;
  std::uint32_t survivors = 0;  // processes that outlived the target (done), or its command (swept)
  std::uint32_t left = 0;       // could not be killed in time
  std::uint64_t user_time_us = 0;
  std::uint64_t system_time_us = 0;
  std::uint64_t max_rss_kib = 0;
};

/// Not thread-safe; any thread may own one.
class Supervisor {
 public:
  /// Returns after the target was executed. The descriptors in `spec` stay the caller's.
  static tl::expected<std::unique_ptr<Supervisor>, SpawnFailure> start(const SpawnSpec& spec,
                                                                       const KillLadder& ladder);
  /// Kills the tree at once and waits until it is gone.
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  pid_t target() const { return target_; }
  /// Readable when next() has a report.
  int fd() const { return control_.get(); }
  /// The next report without waiting.
  std::optional<Report> next();

  /// Ends the tree: SIGINT, SIGTERM, SIGKILL. Reports exited and done.
  void stop();
  /// Ends everything but the target; cancels a stop under way. Reports swept, unless the target
  /// ends meanwhile: then exited and done.
  void sweep();
  /// Ends what an exited target left running. Reports done.
  void finish();

 private:
  Supervisor(pid_t pid, UniqueFd control) : pid_(pid), control_(std::move(control)) {}
  void send(char order);

  pid_t pid_;
  pid_t target_ = 0;
  UniqueFd control_;
};

}  // namespace daybook::executor
