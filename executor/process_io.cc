#include "executor/process_io.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace daybook::executor {
namespace {

constexpr std::size_t kReadBytes = std::size_t{64} * 1024;

/// Standard descriptors may be closed in a daemon; a child's must not land there.
UniqueFd above_stdio(UniqueFd fd) {
  if (fd.get() > 2) return fd;
  return UniqueFd(::fcntl(fd.get(), F_DUPFD_CLOEXEC, 3));
}

/// Blocks SIGPIPE for this thread and takes back one that a write raised.
class SigpipeHeld {
 public:
  SigpipeHeld() {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~SigpipeHeld() {
    if (::sigismember(&before_, SIGPIPE) == 0) {
      const timespec at_once{0, 0};
      while (::sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {
      }
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  SigpipeHeld(const SigpipeHeld&) = delete;
  SigpipeHeld& operator=(const SigpipeHeld&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
};

}  // namespace

std::int64_t steady_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

void StopSignal::Raise::operator()() const noexcept {
  ::eventfd_write(fd, 1);
}

StopSignal::StopSignal(std::stop_token token)
    : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), callback_(std::move(token), Raise{fd_.get()}) {
  DAYBOOK_CHECK(fd_);
}

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return fail(ErrorCode::io, std::string("cannot make a pipe: ") + std::strerror(errno));
  }
  Pipe made{above_stdio(UniqueFd(ends[0])), above_stdio(UniqueFd(ends[1]))};
  ::fcntl(made.read.get(), F_SETFL, O_NONBLOCK);
  return made;
}

std::optional<std::size_t> write_some(int fd, std::string_view bytes) {
  const SigpipeHeld held;
  for (;;) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written >= 0) return static_cast<std::size_t>(written);
    if (errno == EAGAIN) return 0;
    if (errno != EINTR) return std::nullopt;
  }
}

bool OutputReader::read(const OutputSink& sink) {
  if (!fd_) return false;
  char buffer[kReadBytes];
  const ssize_t got = ::read(fd_.get(), buffer, sizeof(buffer));
  if (got > 0) {
    keeper_.add({buffer, static_cast<std::size_t>(got)}, sink);
    return true;
  }
  if (got == 0 || (errno != EAGAIN && errno != EINTR)) fd_.reset();
  return false;
}

void OutputReader::read_rest(const OutputSink& sink) {
  while (read(sink)) {
  }
}

}  // namespace daybook::executor
