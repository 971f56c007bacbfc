#include "executor/supervisor.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cerrno>
#include <cstring>

#include "executor/supervisor_child.h"
#include "schema/result.h"

namespace daybook::executor {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> made;
  made.reserve(strings.size() + 1);
  for (const std::string& text : strings) made.push_back(const_cast<char*>(text.c_str()));
  made.push_back(nullptr);
  return made;
}

void wait_for(pid_t pid) {
  while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

SpawnFailure failure(int error, const std::string& program) {
  return {error, "cannot start " + program + ": " + std::strerror(error)};
}

/// Blocks every signal of this thread, so that no handler of ours runs in the fork.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

tl::expected<std::unique_ptr<Supervisor>, SpawnFailure> Supervisor::start(
    const SpawnSpec& spec, const KillLadder& ladder) {
  int pair[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) {
    return tl::unexpected(failure(errno, spec.program));
  }
  UniqueFd ours(pair[0]);
  UniqueFd theirs(pair[1]);
  const std::vector<char*> argv = pointers(spec.argv);
  const std::vector<char*> env = pointers(spec.env);
  child::Launch launch{spec.program.c_str(), argv.data(),
                       env.data(),           theirs.get(),
                       spec.cwd_fd,          {spec.stdio[0], spec.stdio[1], spec.stdio[2]},
                       spec.extra_fd,        ladder};
  pid_t pid = 0;
  {
    const SignalsBlocked blocked;
    pid = ::fork();
    if (pid == 0) child::supervise(launch);
  }
  if (pid < 0) return tl::unexpected(failure(errno, spec.program));
  theirs.reset();
  std::unique_ptr<Supervisor> made(new Supervisor(pid, std::move(ours)));
  child::Message first{};
  ssize_t got = 0;
  do {
    got = ::recv(made->fd(), &first, sizeof(first), 0);
  } while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof(first))) {
    return tl::unexpected(SpawnFailure{
        0, "the supervisor of " + spec.program + " was killed: its outcome is not known"});
  }
  if (first.kind == ReportKind::spawn_failed) {
    return tl::unexpected(failure(first.value, spec.program));
  }
  DAYBOOK_CHECK(first.kind == ReportKind::started);
  made->target_ = first.value;
  return made;
}

Supervisor::~Supervisor() {
  control_.reset();
  wait_for(pid_);
}

std::optional<Report> Supervisor::next() {
  child::Message message{};
  ssize_t got = ::recv(control_.get(), &message, sizeof(message), MSG_DONTWAIT);
  // An order that crossed with the last report was never read, which the kernel tells once,
  // ahead of the reports that still wait.
  if (got < 0 && errno == ECONNRESET) {
    got = ::recv(control_.get(), &message, sizeof(message), MSG_DONTWAIT);
  }
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return std::nullopt;
  if (got != static_cast<ssize_t>(sizeof(message))) return Report{};
  return Report{message.kind,         message.value,          message.survivors,  message.left,
                message.user_time_us, message.system_time_us, message.max_rss_kib};
}

void Supervisor::send(char order) {
  ::send(control_.get(), &order, 1, MSG_NOSIGNAL);
}
void Supervisor::stop() {
  send(static_cast<char>(child::Order::stop));
}
void Supervisor::sweep() {
  send(static_cast<char>(child::Order::sweep));
}
void Supervisor::finish() {
  send(static_cast<char>(child::Order::finish));
}

}  // namespace daybook::executor
