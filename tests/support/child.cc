#include "tests/support/child.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <stdexcept>

namespace daybook::tests {
namespace {

constexpr int kLimitMs = 60'000;
constexpr char kPrompt[] = "(a remark may follow): ";

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> made;
  for (const auto& each : strings) made.push_back(const_cast<char*>(each.c_str()));
  made.push_back(nullptr);
  return made;
}

std::string all_of(int fd) {
  std::string bytes;
  std::array<char, 65536> buffer;
  ssize_t got = 0;
  while ((got = pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(bytes.size()))) > 0) {
    bytes.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return bytes;
}

void must(bool good, const char* what) {
  if (!good) throw std::runtime_error(std::string(what) + " failed");
}

}  // namespace

Child::Child(const ChildSpec& spec) {
  const auto argv = pointers(spec.argv);
  const auto environment = pointers(spec.environment);
  out_ = memfd_create("out", MFD_CLOEXEC);
  err_ = memfd_create("err", MFD_CLOEXEC);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  must(out_ >= 0 && err_ >= 0 && nothing >= 0, "making a child's streams");
  if (spec.terminal) must(openpty(&terminal_, &other_side_, nullptr, nullptr, nullptr) == 0, "pty");
  for (const int fd : {terminal_, other_side_}) {
    if (fd >= 0) fcntl(fd, F_SETFD, FD_CLOEXEC);
  }
  pid_ = fork();
  must(pid_ >= 0, "fork");
  if (pid_ == 0) {
    // Only calls that are safe after a fork of a process with threads.
    const bool ready = setsid() >= 0 &&
                       (other_side_ < 0 || ioctl(other_side_, TIOCSCTTY, 0) == 0) &&
                       dup2(nothing, STDIN_FILENO) >= 0 && dup2(out_, STDOUT_FILENO) >= 0 &&
                       dup2(err_, STDERR_FILENO) >= 0 && chdir(spec.folder.c_str()) == 0;
    if (ready) execve(argv[0], argv.data(), environment.data());
    _exit(126);
  }
  close(nothing);
  // The C library declares its wrapper without C linkage.
  exited_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  must(exited_ >= 0, "pidfd_open");
}

Child::~Child() {
  if (!reaped_) {
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  for (const int fd : {exited_, terminal_, other_side_, out_, err_}) {
    if (fd >= 0) close(fd);
  }
}

void Child::signal(int number) const {
  must(::kill(pid_, number) == 0, "kill");
}

void Child::type(const std::string& keys) const {
  must(write(terminal_, keys.data(), keys.size()) == static_cast<ssize_t>(keys.size()), "typing");
}

/// Takes what the terminal shows; false when the child has ended and nothing is left to take.
bool Child::pump(int timeout_ms) {
  pollfd fds[] = {{terminal_, POLLIN, 0}, {exited_, POLLIN, 0}};
  must(poll(fds, 2, timeout_ms) > 0, "waiting a minute for a child");
  if ((fds[0].revents & POLLIN) == 0) return fds[1].revents == 0;
  std::array<char, 4096> buffer;
  const ssize_t got = read(terminal_, buffer.data(), buffer.size());
  must(got > 0, "reading a terminal");
  shown_.append(buffer.data(), static_cast<std::size_t>(got));
  return true;
}

bool Child::shows(const std::string& text) {
  while (shown_.find(text) == std::string::npos) {
    if (!pump(kLimitMs)) return false;
  }
  return true;
}

ChildExit Child::wait(const Reply& reply) {
  std::size_t answered = 0;
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kLimitMs);
  while (pump(kLimitMs)) {
    must(std::chrono::steady_clock::now() < deadline, "waiting a minute for a child");
    const auto prompt = shown_.find(kPrompt, answered);
    if (prompt == std::string::npos || !reply) continue;
    type(reply(shown_.substr(answered, prompt - answered)));
    answered = prompt + sizeof kPrompt - 1;
  }
  int status = 0;
  must(waitpid(pid_, &status, 0) == pid_, "waitpid");
  reaped_ = true;
  ChildExit exit;
  if (WIFEXITED(status)) exit.code = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) exit.signal = WTERMSIG(status);
  exit.out = all_of(out_);
  exit.err = all_of(err_);
  exit.terminal = shown_;
  return exit;
}

}  // namespace daybook::tests
