#include "journal/owner_lock.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>
#include <utility>

namespace daybook::journal {
namespace {

/// Tells a process from a later one with the same id. Field 22 of /proc/self/stat, counted after
/// the command name, which may hold spaces and brackets.
std::string process_start() {
  std::ifstream in("/proc/self/stat");
  std::string stat((std::istreambuf_iterator<char>(in)), {});
  const std::size_t end = stat.rfind(')');
  if (end == std::string::npos) return "unknown";
  std::istringstream fields(stat.substr(end + 1));
  std::string field;
  for (int i = 3; i <= 22; ++i) fields >> field;
  return field;
}

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

/// First line of the lock file: the owner as it described itself.
std::string holder_of(int fd) {
  std::array<char, 512> text{};
  const ssize_t size = pread(fd, text.data(), text.size(), 0);
  if (size <= 0) return "another process";
  const std::string_view all(text.data(), static_cast<std::size_t>(size));
  return std::string(all.substr(0, all.find('\n')));
}

}  // namespace

Error os_error(int number, const std::string& what) {
  ErrorCode code = ErrorCode::io;
  std::string advice = "check the disk";
  if (number == ENOSPC || number == EDQUOT) {
    code = ErrorCode::no_space;
    advice = "free some space and try again";
  } else if (number == EACCES || number == EPERM || number == EROFS) {
    code = ErrorCode::permission;
    advice = "check its owner and mode, and whether its file system is mounted read-only";
  }
  return {code, fmt::format("{} failed: {}; {}", what, std::strerror(number), advice)};
}

Result<OwnerLock> OwnerLock::take(const std::string& path, const std::string& owner) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return fail(os_error(errno, fmt::format("opening {}", path)));
  OwnerLock lock(fd);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return fail(os_error(errno, fmt::format("locking {}", path)));
    return fail(ErrorCode::busy,
                fmt::format("the journal is in use by {} (lock {}): wait for it to end, or read "
                            "beside it",
                            holder_of(fd), path));
  }
  const std::string host = host_name();
  const std::string shown = owner.empty() ? fmt::format("pid {} on {}", getpid(), host) : owner;
  const std::string text =
      fmt::format("{}\npid {}\nstart {}\nhost {}\n", shown, getpid(), process_start(), host);
  if (ftruncate(fd, 0) != 0 ||
      pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
    return fail(os_error(errno, fmt::format("writing {}", path)));
  }
  return lock;
}

OwnerLock::OwnerLock(OwnerLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

OwnerLock::~OwnerLock() {
  if (fd_ >= 0) close(fd_);
}

}  // namespace daybook::journal
