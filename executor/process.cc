#include "executor/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "executor/process_env.h"
#include "executor/process_io.h"

namespace daybook::executor {
namespace {

using schema::ExitKind;

const SecretMask& mask_of(const ProcessSpec& spec) {
  static const SecretMask kNone;
  return spec.mask == nullptr ? kNone : *spec.mask;
}

/// One running program: a poll loop over its streams, its supervisor and the stop signal.
class Run {
 public:
  Run(const ProcessSpec& spec, const OutputSink& sink, std::stop_token stop,
      std::unique_ptr<Supervisor> supervisor, UniqueFd in, UniqueFd out, UniqueFd err)
      : spec_(spec),
        sink_(sink),
        stop_(std::move(stop)),
        supervisor_(std::move(supervisor)),
        in_(std::move(in)),
        out_(std::move(out), spec.limits, mask_of(spec)),
        err_(std::move(err), spec.limits, mask_of(spec)),
        drain_(spec.ladder.drain_quiet_ms, spec.ladder.drain_total_ms) {}

  ProcessResult run() {
    if (spec_.timeout_ms > 0) times_out_at_ = steady_ms() + spec_.timeout_ms;
    while (!ended_) {
      turn();
      keep_time();
    }
    out_.read_rest(sink_);
    err_.read_rest(err_sink());
    result_.out = out_.finish(sink_);
    result_.err = err_.finish(err_sink());
    return std::move(result_);
  }

 private:
  const OutputSink& err_sink() const {
    static const OutputSink kNone;
    return spec_.live_stderr ? sink_ : kNone;
  }

  void turn() {
    pollfd fds[5] = {{supervisor_->fd(), POLLIN, 0},
                     {ending_ ? -1 : stop_.fd(), POLLIN, 0},
                     {in_.get(), POLLOUT, 0},
                     {out_.fd(), POLLIN, 0},
                     {err_.fd(), POLLIN, 0}};
    if (::poll(fds, 5, wait_ms()) <= 0) return;
    if (fds[2].revents != 0) write_stdin();
    bool came = fds[3].revents != 0 && out_.read(sink_);
    came = (fds[4].revents != 0 && err_.read(err_sink())) || came;
    if (came) drain_.saw_bytes(steady_ms());
    if (fds[0].revents != 0) take_reports();
    if (fds[1].revents != 0) end(ExitKind::user_stop);
  }

  int wait_ms() const {
    std::int64_t until = -1;
    if (!ending_ && times_out_at_ >= 0) until = times_out_at_;
    if (drain_.started() && !finishing_) until = drain_.ends_at();
    if (until < 0) return -1;
    return static_cast<int>(std::clamp<std::int64_t>(until - steady_ms(), 0, 1 << 30));
  }

  void write_stdin() {
    const auto written = write_some(in_.get(), spec_.stdin_bytes.substr(stdin_at_));
    if (written) stdin_at_ += *written;
    if (!written || stdin_at_ == spec_.stdin_bytes.size()) in_.reset();
  }

  void take_reports() {
    while (!ended_) {
      const auto report = supervisor_->next();
      if (!report) return;
      take(*report);
    }
  }

  void take(const Report& report) {
    switch (report.kind) {
      case ReportKind::exited:
        if (!ending_) {
          const bool by_signal = WIFSIGNALED(report.value);
          result_.exit = by_signal ? ExitKind::signalled : ExitKind::exited;
          result_.code = by_signal ? WTERMSIG(report.value) : WEXITSTATUS(report.value);
          drain_.start(steady_ms());
        }
        break;
      case ReportKind::done:
        ended_ = true;
        result_.survivors_killed = report.survivors;
        result_.survivors_left = report.left;
        result_.user_time_us = report.user_time_us;
        result_.system_time_us = report.system_time_us;
        result_.max_rss_kib = report.max_rss_kib;
        break;
      case ReportKind::lost:
        ended_ = true;
        ::kill(-supervisor_->target(), SIGKILL);
        result_.exit = ExitKind::error;
        result_.error = "the command's supervisor was killed: its outcome is not known";
        break;
      default:
        break;
    }
  }

  void keep_time() {
    if (ended_) return;
    const std::int64_t now = steady_ms();
    if (drain_.started()) {
      const bool closed = out_.fd() < 0 && err_.fd() < 0;
      if (closed || now >= drain_.ends_at()) finish();
    } else if (!ending_ && times_out_at_ >= 0 && now >= times_out_at_) {
      end(ExitKind::timed_out);
    }
  }

  void finish() {
    if (!finishing_) supervisor_->finish();
    finishing_ = true;
  }

  void end(ExitKind why) {
    ending_ = true;
    if (drain_.started()) {  // it had ended by itself already
      finish();
      return;
    }
    result_.exit = why;
    in_.reset();
    supervisor_->stop();
  }

  const ProcessSpec& spec_;
  const OutputSink& sink_;
  StopSignal stop_;
  std::unique_ptr<Supervisor> supervisor_;
  UniqueFd in_;
  OutputReader out_;
  OutputReader err_;
  Drain drain_;
  ProcessResult result_;
  std::size_t stdin_at_ = 0;
  std::int64_t times_out_at_ = -1;
  bool ending_ = false;     // told to stop
  bool finishing_ = false;  // told to end what is left
  bool ended_ = false;
};

ProcessResult not_started(int error_number, std::string message) {
  ProcessResult result;
  // Zero: its supervisor was killed as it started, so that it may have run.
  result.exit = error_number == 0 ? ExitKind::error : ExitKind::spawn_failed;
  result.code = error_number;
  result.error = std::move(message);
  return result;
}

}  // namespace

ProcessResult run_process(const ProcessSpec& spec, const OutputSink& sink, std::stop_token stop) {
  DAYBOOK_CHECK(!spec.argv.empty());
  if (stop.stop_requested()) {
    ProcessResult never_started;
    never_started.exit = ExitKind::user_stop;
    return never_started;
  }
  auto program = find_program(spec.argv[0], spec.env);
  if (!program) return not_started(ENOENT, program.error().message);
  UniqueFd opened;
  if (spec.cwd_fd < 0) {
    opened.reset(::open(spec.cwd.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (!opened) {
      const int error = errno;
      return not_started(error,
                         "cannot enter the folder " + spec.cwd + ": " + std::strerror(error));
    }
  }
  auto in = make_pipe();
  auto out = make_pipe();
  auto err = make_pipe();
  if (!in || !out || !err) return not_started(EMFILE, "too many open files: close some sessions");
  const bool feeds = !spec.stdin_bytes.empty();
  SpawnSpec spawn;
  spawn.program = std::move(*program);
  spawn.argv = spec.argv;
  spawn.env = spec.env;
  spawn.cwd_fd = spec.cwd_fd < 0 ? opened.get() : spec.cwd_fd;
  // The child's end blocks, as programs expect; ours does not.
  ::fcntl(in->read.get(), F_SETFL, 0);
  ::fcntl(in->write.get(), F_SETFL, O_NONBLOCK);
  spawn.stdio = {feeds ? in->read.get() : spec.stdin_fd, out->write.get(),
                 spec.merge_stderr ? out->write.get() : err->write.get()};
  auto supervisor = Supervisor::start(spawn, spec.ladder);
  if (!supervisor) {
    return not_started(supervisor.error().error_number, supervisor.error().message);
  }
  in->read.reset();
  out->write.reset();
  err->write.reset();
  Run run(spec, sink, std::move(stop), std::move(*supervisor),
          feeds ? std::move(in->write) : UniqueFd(), std::move(out->read), std::move(err->read));
  return run.run();
}

}  // namespace daybook::executor
