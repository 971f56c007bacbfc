#include "executor/shell_command.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>

namespace daybook::executor {

using schema::ExitKind;

ShellCommand::ShellCommand(ShellProcess& shell, UniqueFd output, const SecretMask& mask,
                           const OutputLimits& limits, const KillLadder& ladder,
                           const OutputSink& sink, const StopSignal& stop)
    : shell_(shell),
      sink_(sink),
      stop_(stop),
      output_(std::move(output), limits, mask),
      drain_(ladder.drain_quiet_ms, ladder.drain_total_ms) {}

bool ShellCommand::run(std::int64_t timeout_ms, ShellResult& result) {
  result_ = &result;
  if (timeout_ms > 0) times_out_at_ = steady_ms() + timeout_ms;
  const CpuTimes before = shell_.cpu_times();
  while (!settled_) {
    turn();
    if (!settled_) keep_time();
  }
  output_.read_rest(sink_);
  result.output = output_.finish(sink_);
  if (!shell_ended_) {
    const CpuTimes after = shell_.cpu_times();
    result.user_time_us = after.user_us - before.user_us;
    result.system_time_us = after.system_us - before.system_us;
    result.cwd_after = shell_.cwd();
  } else {
    result.user_time_us -= std::min(result.user_time_us, before.user_us);
    result.system_time_us -= std::min(result.system_time_us, before.system_us);
  }
  return !shell_ended_;
}

void ShellCommand::turn() {
  pollfd fds[4] = {{shell_.supervisor().fd(), POLLIN, 0},
                   {ending_ ? -1 : stop_.fd(), POLLIN, 0},
                   {over_ ? -1 : shell_.status_fd(), POLLIN, 0},
                   {output_.fd(), POLLIN, 0}};
  if (::poll(fds, 4, wait_ms()) <= 0) return;
  if (fds[3].revents != 0 && output_.read(sink_)) drain_.saw_bytes(steady_ms());
  if (fds[2].revents != 0) take_status();
  if (fds[1].revents != 0) end(ExitKind::user_stop);
  if (fds[0].revents == 0) return;
  while (!settled_) {
    const auto report = shell_.supervisor().next();
    if (!report) return;
    take(*report);
  }
}

int ShellCommand::wait_ms() const {
  std::int64_t until = -1;
  if (!ending_ && !over_) until = times_out_at_;
  if (over_ && !cleaning_) until = drain_.ends_at();
  if (until < 0) return -1;
  return static_cast<int>(std::clamp<std::int64_t>(until - steady_ms(), 0, 1 << 30));
}

void ShellCommand::keep_time() {
  const std::int64_t now = steady_ms();
  if (over_) {
    if (ending_ || output_.fd() < 0 || now >= drain_.ends_at()) clean_up();
  } else if (!ending_ && times_out_at_ >= 0 && now >= times_out_at_) {
    end(ExitKind::timed_out);
  }
}

void ShellCommand::take_status() {
  const auto status = shell_.take_status();
  if (!status || over_) return;
  over_ = true;
  drain_.start(steady_ms());
  if (ending_) return;
  result_->exit = ExitKind::exited;
  result_->code = *status;
}

void ShellCommand::take(const Report& report) {
  switch (report.kind) {
    case ReportKind::exited:
      shell_ended_ = true;
      if (!over_ && !ending_) {
        const bool by_signal = WIFSIGNALED(report.value);
        result_->exit = by_signal ? ExitKind::signalled : ExitKind::exited;
        result_->code = by_signal ? WTERMSIG(report.value) : WEXITSTATUS(report.value);
      }
      if (!over_) drain_.start(steady_ms());
      over_ = true;
      // A sweep that was under way is no longer one: say again what is wanted.
      if (cleaning_) shell_.supervisor().finish();
      break;
    case ReportKind::done:
      shell_ended_ = true;
      result_->max_rss_kib = report.max_rss_kib;
      result_->user_time_us = report.user_time_us;
      result_->system_time_us = report.system_time_us;
      [[fallthrough]];
    case ReportKind::swept:
      settled_ = true;
      result_->survivors_killed = report.survivors;
      break;
    case ReportKind::lost:
      settled_ = shell_ended_ = true;
      ::kill(-shell_.supervisor().target(), SIGKILL);
      result_->exit = ExitKind::error;
      result_->error = "the shell's supervisor was killed: the command's outcome is not known";
      break;
    default:
      break;
  }
}

void ShellCommand::end(ExitKind why) {
  ending_ = true;
  if (over_) return;  // it had ended by itself already
  result_->exit = why;
  shell_.supervisor().stop();
}

void ShellCommand::clean_up() {
  if (cleaning_) return;
  cleaning_ = true;
  if (shell_ended_) {
    shell_.supervisor().finish();
  } else {
    shell_.supervisor().sweep();
  }
}

}  // namespace daybook::executor
