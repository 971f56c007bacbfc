#include "executor/supervisor_child.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "executor/supervisor_tree.h"

namespace daybook::executor::child {
namespace {

constexpr int kKillRoundMs = 2;
constexpr int kLookMs = 10;  // a grandchild's end sends no signal to the supervisor

std::int64_t now_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

void on_child(int) {}

void reset_signals() {
  struct sigaction action {};
  action.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) ::sigaction(number, &action, nullptr);
}

/// Closes, or with CLOSE_RANGE_CLOEXEC marks, every descriptor above 2 that is not in `keep`.
void keep_only(int* keep, int count, unsigned flags) {
  for (int i = 1; i < count; ++i) {
    for (int j = i; j > 0 && keep[j - 1] > keep[j]; --j) {
      const int moved = keep[j];
      keep[j] = keep[j - 1];
      keep[j - 1] = moved;
    }
  }
  unsigned from = 3;
  for (int i = 0; i < count; ++i) {
    if (keep[i] < 3) continue;
    const auto kept = static_cast<unsigned>(keep[i]);
    if (kept > from) ::syscall(SYS_close_range, from, kept - 1, flags);
    if (kept >= from) from = kept + 1;
  }
  ::syscall(SYS_close_range, from, ~0U, flags);
}

void prefer_in_oom() {
  const int fd = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  // The command goes before the process that keeps the journal.
  [[maybe_unused]] const ssize_t ignored = ::write(fd, "500", 3);
  ::close(fd);
}

/// In the target: everything between fork and exec. Returns the errno that stopped it.
int become_target(const Launch& launch, pid_t supervisor) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != supervisor) return ESRCH;
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (null < 0) return errno;
  for (int slot = 0; slot < 3; ++slot) {
    const int from = launch.stdio[slot] < 0 ? null : launch.stdio[slot];
    if (::dup2(from, slot) < 0) return errno;
  }
  if (::fchdir(launch.cwd) != 0) return errno;
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  prefer_in_oom();
  int none[1] = {-1};
  keep_only(none, 0, CLOSE_RANGE_CLOEXEC);
  if (launch.extra >= 0) {
    if (::dup2(launch.extra, kExtraFd) < 0) return errno;
    ::fcntl(kExtraFd, F_SETFD, 0);
  }
  reset_signals();
  sigset_t empty;
  ::sigemptyset(&empty);
  ::sigprocmask(SIG_SETMASK, &empty, nullptr);
  ::execve(launch.program, launch.argv, launch.env);
  return errno;
}

class Loop {
 public:
  Loop(const Launch& launch, pid_t target) : launch_(launch), target_(target), self_(::getpid()) {}

  [[noreturn]] void run() {
    for (;;) {
      reap();
      step();
      wait();
    }
  }

 private:
  enum class Phase { idle, interrupting, terminating, killing };

  void send(ReportKind kind, int value) {
    Message message{kind, value, survivors_, left_, 0, 0, 0};
    if (kind == ReportKind::done) {
      rusage usage{};
      ::getrusage(RUSAGE_CHILDREN, &usage);
      message.user_time_us = to_us(usage.ru_utime);
      message.system_time_us = to_us(usage.ru_stime);
      message.max_rss_kib = static_cast<std::uint64_t>(usage.ru_maxrss);
    }
    ::send(launch_.control, &message, sizeof(message), MSG_NOSIGNAL);
  }

  static std::uint64_t to_us(const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 +
           static_cast<std::uint64_t>(time.tv_usec);
  }

  /// Reaps what was adopted. The target stays a zombie until the end, so that its pid and process
  /// group cannot become somebody else's while signals are still sent to them.
  void reap() {
    pids_.count = 0;
    tree::list_children(self_, pids_);
    for (std::size_t i = 0; i < pids_.count; ++i) {
      if (pids_.list[i] != target_) ::waitpid(pids_.list[i], nullptr, WNOHANG);
    }
    if (target_ended_) return;
    siginfo_t info{};
    if (::waitid(P_PID, static_cast<id_t>(target_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid != target_) {
      return;
    }
    target_ended_ = true;
    keep_target_ = false;
    send(ReportKind::exited, info.si_code == CLD_EXITED ? info.si_status << 8 : info.si_status);
    if (phase_ != Phase::idle) count_survivors();
  }

  /// Lists the living tree into pids_, without the target where that is to be kept.
  std::uint32_t living() {
    tree::list_descendants(self_, pids_);
    if (keep_target_) {
      for (std::size_t i = 0; i < pids_.count; ++i) {
        if (pids_.list[i] == target_) {
          pids_.list[i] = pids_.list[--pids_.count];
          break;
        }
      }
    }
    return static_cast<std::uint32_t>(pids_.count);
  }

  void count_survivors() {
    const std::uint32_t alive = living();
    if (alive > survivors_) survivors_ = alive;
  }

  void signal_tree(int number) {
    living();
    for (std::size_t i = 0; i < pids_.count; ++i) ::kill(pids_.list[i], number);
    if (number == SIGKILL) return;
    for (std::size_t i = 0; i < pids_.count; ++i) ::kill(pids_.list[i], SIGCONT);
  }

  void enter(Phase phase, int limit_ms) {
    phase_ = phase;
    deadline_ms_ = now_ms() + limit_ms;
    if (phase == Phase::interrupting && !target_ended_) {
      ::kill(-target_, SIGINT);
      ::kill(-target_, SIGCONT);
    }
    if (phase == Phase::terminating) signal_tree(SIGTERM);
  }

  void step() {
    if (phase_ == Phase::idle) return;
    if (phase_ == Phase::killing) signal_tree(SIGKILL);
    const std::uint32_t alive = living();
    if (alive == 0 && (keep_target_ || target_ended_)) {
      settle(0);
    } else if (now_ms() >= deadline_ms_) {
      if (phase_ == Phase::interrupting) {
        enter(Phase::terminating, launch_.ladder.terminate_ms);
      } else if (phase_ == Phase::terminating) {
        enter(Phase::killing, launch_.ladder.kill_ms);
      } else {
        settle(alive);
      }
    }
  }

  void settle(std::uint32_t left) {
    left_ = left;
    phase_ = Phase::idle;
    if (keep_target_) {
      send(ReportKind::swept, 0);
      survivors_ = 0;
      keep_target_ = false;
      return;
    }
    ::waitpid(target_, nullptr, WNOHANG);
    send(ReportKind::done, 0);
    ::_exit(0);
  }

  void obey(char order) {
    switch (static_cast<Order>(order)) {
      case Order::stop:
        if (phase_ == Phase::idle) enter(Phase::interrupting, launch_.ladder.interrupt_ms);
        break;
      case Order::sweep:
        if (target_ended_) break;
        keep_target_ = true;
        [[fallthrough]];
      case Order::finish:
        count_survivors();
        enter(Phase::terminating, launch_.ladder.survivor_ms);
        break;
    }
  }

  /// Nobody is left to wait for an orderly end, and a new process may start on the same work.
  void host_is_gone() {
    keep_target_ = false;
    if (phase_ != Phase::killing || !orphaned_) enter(Phase::killing, launch_.ladder.kill_ms);
    orphaned_ = true;
  }

  void wait() {
    int limit_ms = -1;
    if (phase_ == Phase::killing) limit_ms = kKillRoundMs;
    if (phase_ == Phase::interrupting || phase_ == Phase::terminating) limit_ms = kLookMs;
    sigset_t mask;
    ::sigfillset(&mask);
    ::sigdelset(&mask, SIGCHLD);
    pollfd control{orphaned_ ? -1 : launch_.control, POLLIN, 0};
    const timespec limit{limit_ms / 1000, (limit_ms % 1000) * 1'000'000L};
    if (::ppoll(&control, 1, limit_ms < 0 ? nullptr : &limit, &mask) <= 0) return;
    char order = 0;
    const ssize_t got = ::recv(launch_.control, &order, 1, MSG_DONTWAIT);
    if (got == 1) {
      obey(order);
    } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
      host_is_gone();
    }
  }

  const Launch& launch_;
  const pid_t target_;
  const pid_t self_;
  Phase phase_ = Phase::idle;
  std::int64_t deadline_ms_ = 0;
  bool target_ended_ = false;
  bool keep_target_ = false;
  bool orphaned_ = false;
  std::uint32_t survivors_ = 0;
  std::uint32_t left_ = 0;
  tree::Pids pids_;
};

[[noreturn]] void report_and_exit(const Launch& launch, ReportKind kind, int value) {
  const Message message{kind, value, 0, 0, 0, 0, 0};
  ::send(launch.control, &message, sizeof(message), MSG_NOSIGNAL);
  ::_exit(0);
}

void isolate(const Launch& launch) {
  reset_signals();
  struct sigaction action {};
  action.sa_handler = on_child;
  ::sigaction(SIGCHLD, &action, nullptr);
  ::setsid();
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  int keep[6] = {launch.control,  launch.cwd,      launch.stdio[0],
                 launch.stdio[1], launch.stdio[2], launch.extra};
  keep_only(keep, 6, 0);
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  for (int slot = 0; slot < 3; ++slot) ::dup2(null, slot);
  if (null > 2) ::close(null);
}

}  // namespace

void supervise(const Launch& launch) {
  isolate(launch);
  int gate[2];
  if (::pipe2(gate, O_CLOEXEC) != 0) report_and_exit(launch, ReportKind::spawn_failed, errno);
  const pid_t self = ::getpid();
  // _Fork runs no handlers, and is the only fork that is safe here.
  const pid_t target = ::_Fork();
  if (target < 0) report_and_exit(launch, ReportKind::spawn_failed, errno);
  if (target == 0) {
    const int error = become_target(launch, self);
    [[maybe_unused]] const ssize_t ignored = ::write(gate[1], &error, sizeof(error));
    ::_exit(127);
  }
  ::close(gate[1]);
  for (const int fd : launch.stdio) {
    if (fd > 2) ::close(fd);
  }
  if (launch.extra >= 0) ::close(launch.extra);
  ::close(launch.cwd);
  [[maybe_unused]] const int ignored = ::chdir("/");  // pins no mount
  int error = 0;
  if (::read(gate[0], &error, sizeof(error)) == static_cast<ssize_t>(sizeof(error))) {
    ::waitpid(target, nullptr, 0);
    report_and_exit(launch, ReportKind::spawn_failed, error);
  }
  ::close(gate[0]);
  const Message started{ReportKind::started, target, 0, 0, 0, 0, 0};
  ::send(launch.control, &started, sizeof(started), MSG_NOSIGNAL);
  Loop loop(launch, target);
  loop.run();
}

}  // namespace daybook::executor::child
