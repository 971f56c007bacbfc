// One command in a living shell, from its start until nothing of it runs any more.
#pragma once

#include <cstdint>
#include <stop_token>

#include "executor/process_io.h"
#include "executor/shell.h"
#include "executor/shell_process.h"

namespace daybook::executor {

/// Used once, on one thread.
class ShellCommand {
 public:
  /// All references must outlive it.
  ShellCommand(ShellProcess& shell, UniqueFd output, const SecretMask& mask,
               const OutputLimits& limits, const KillLadder& ladder, const OutputSink& sink,
               const StopSignal& stop);

  /// Fills the result; false when the shell ended as well.
  bool run(std::int64_t timeout_ms, ShellResult& result);

 private:
  void turn();
  void keep_time();
  int wait_ms() const;
  void take_status();
  void take(const Report& report);
  void end(schema::ExitKind why);
  void clean_up();

  ShellProcess& shell_;
  const OutputSink& sink_;
  const StopSignal& stop_;
  OutputReader output_;
  Drain drain_;
  ShellResult* result_ = nullptr;
  std::int64_t times_out_at_ = -1;
  bool ending_ = false;    // told to stop
  bool over_ = false;      // the command itself has ended
  bool cleaning_ = false;  // what it left running is being ended
  bool shell_ended_ = false;
  bool settled_ = false;
};

}  // namespace daybook::executor
