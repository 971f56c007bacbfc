#include "executor/shell.h"

#include <functional>

#include "executor/process.h"
#include "executor/process_env.h"
#include "executor/process_io.h"
#include "executor/shell_command.h"
#include "executor/shell_process.h"

namespace daybook::executor {
namespace {

using schema::ExitKind;

constexpr std::int64_t kParseTimeoutMs = 10'000;

std::string lost_note(const std::string& cwd) {
  return "The shell ended: its variables and functions are gone. The next command starts a new "
         "shell in " +
         cwd + ".";
}

/// Passes a stop request of either token on.
class EitherStop {
 public:
  EitherStop(std::stop_token first, std::stop_token second)
      : first_(std::move(first), Pass{&source_}), second_(std::move(second), Pass{&source_}) {}
  std::stop_token token() const { return source_.get_token(); }

 private:
  struct Pass {
    std::stop_source* source;
    void operator()() const noexcept { source->request_stop(); }
  };
  std::stop_source source_;
  std::stop_callback<Pass> first_;
  std::stop_callback<Pass> second_;
};

}  // namespace

Shell::Shell(ShellOptions options)
    : options_(std::move(options)),
      cwd_(options_.start_cwd.empty() ? options_.cwd : options_.start_cwd),
      resumed_(options_.resumed) {}

Shell::~Shell() {
  close();
}

void Shell::close() {
  closing_.request_stop();
  const std::lock_guard lock(running_);
  process_.reset();
}

std::string Shell::cwd() const {
  const std::lock_guard lock(cwd_mutex_);
  return cwd_;
}

void Shell::set_cwd(std::string cwd) {
  const std::lock_guard lock(cwd_mutex_);
  cwd_ = std::move(cwd);
}

ShellResult Shell::run(const std::string& command, std::int64_t timeout_ms, const OutputSink& sink,
                       std::stop_token stop) {
  const std::lock_guard lock(running_);
  const EitherStop either(std::move(stop), closing_.get_token());
  return run_locked(command, timeout_ms, sink, either.token());
}

ShellResult Shell::run_locked(const std::string& command, std::int64_t timeout_ms,
                              const OutputSink& sink, const std::stop_token& stop) {
  ShellResult result;
  result.cwd_before = result.cwd_after = cwd();
  if (stop.stop_requested()) {
    result.exit = ExitKind::user_stop;
    return result;
  }
  if (!parses(command, result, stop)) return result;
  Result<UniqueFd> output = fail(ErrorCode::io, "");
  // The second try is for a shell or a private folder that disappeared between commands.
  for (int attempt = 0; attempt < 2 && !output; ++attempt) {
    if (!start_process(result)) return result;
    output = process_->begin(dir_, command);
    if (!output) process_.reset();
  }
  if (!output) {
    result.exit = ExitKind::spawn_failed;
    result.error = output.error().message;
    return result;
  }
  result.cwd_before = cwd();
  SecretMask mask = options_.mask;
  mask.add(dir_.path("command"), "bash");
  const StopSignal stop_signal(stop);
  ShellCommand running(*process_, std::move(*output), mask, options_.limits, options_.ladder, sink,
                       stop_signal);
  const bool lives = running.run(timeout_ms, result);
  dir_.remove("command");
  if (!lives) {
    process_.reset();
    result.notes.push_back(lost_note(cwd()));
  } else if (!result.cwd_after.empty()) {
    set_cwd(result.cwd_after);
  }
  result.cwd_after = cwd();
  return result;
}

bool Shell::parses(const std::string& command, ShellResult& result, std::stop_token stop) {
  ProcessSpec spec;
  // A shell may have learnt extended patterns; they make no other text invalid.
  spec.argv = {"bash", "--noprofile", "--norc", "-O", "extglob", "-n"};
  spec.env = options_.env;
  spec.cwd = "/";
  const std::string text = command + "\n";
  spec.stdin_bytes = text;
  spec.merge_stderr = true;
  spec.timeout_ms = kParseTimeoutMs;
  spec.mask = &options_.mask;
  spec.ladder = options_.ladder;
  ProcessResult checked = run_process(spec, {}, std::move(stop));
  if (checked.exit == ExitKind::exited && checked.code == 0) return true;
  result.exit = checked.exit;
  result.code = checked.code;
  result.output = std::move(checked.out);
  result.error = std::move(checked.error);
  return false;
}

bool Shell::start_process(ShellResult& result) {
  if (auto made = dir_.ensure(variable(options_.env, "TMPDIR")); !made) {
    result.exit = ExitKind::spawn_failed;
    result.error = made.error().message;
    return false;
  }
  if (process_ != nullptr) return true;
  auto started = ShellProcess::start(options_.env, cwd(), options_.ladder);
  if (!started && cwd() != options_.cwd) {
    result.notes.push_back("The folder " + cwd() + " is gone: the shell starts in " + options_.cwd +
                           ".");
    set_cwd(options_.cwd);
    started = ShellProcess::start(options_.env, cwd(), options_.ladder);
  }
  if (!started) {
    result.exit = ExitKind::spawn_failed;
    result.code = started.error().error_number;
    result.error = started.error().message;
    return false;
  }
  process_ = std::move(*started);
  if (resumed_) {
    resumed_ = false;
    result.notes.push_back(
        "This is a new shell: variables and functions of the earlier one are gone.");
  }
  return true;
}

}  // namespace daybook::executor
