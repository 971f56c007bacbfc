#include "executor/shell_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>
#include <vector>

namespace daybook::executor {
namespace {

constexpr std::string_view kPrefix = "daybook-shell-";
constexpr char kLockName[] = "lock";
constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

tl::unexpected<Error> cannot(const std::string& what, int error) {
  return fail(error == ENOSPC ? ErrorCode::no_space : ErrorCode::io,
              "cannot write " + what + ": " + std::strerror(error) +
                  "; make room or set TMPDIR to another folder");
}

/// Takes the lock of a file that still has a name: a free lock may be removed while it is taken.
/// Where the file system has no locks, `lockless` says what to answer.
bool take_lock(int fd, bool lockless) {
  struct stat status {};
  if (::flock(fd, LOCK_EX | LOCK_NB) != 0) return lockless && errno != EWOULDBLOCK;
  return ::fstat(fd, &status) == 0 && status.st_nlink > 0;
}

std::vector<std::string> names_in(int folder) {
  std::vector<std::string> names;
  const int copy = ::openat(folder, ".", kFolderFlags);
  if (copy < 0) return names;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(copy), ::closedir);
  while (const dirent* entry = entries ? ::readdir(entries.get()) : nullptr) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  return names;
}

/// Everything in the folder but `kept`.
void remove_below(int folder, std::string_view kept) {
  for (const std::string& name : names_in(folder)) {
    if (name == kept || ::unlinkat(folder, name.c_str(), 0) == 0) continue;
    const UniqueFd inner(::openat(folder, name.c_str(), kFolderFlags));
    if (!inner) continue;
    remove_below(inner.get(), "");
    ::unlinkat(folder, name.c_str(), AT_REMOVEDIR);
  }
}

void remove_if_abandoned(int parent, const std::string& name) {
  struct stat status {};
  const UniqueFd folder(::openat(parent, name.c_str(), kFolderFlags));
  if (!folder || ::fstat(folder.get(), &status) != 0 || status.st_uid != ::geteuid()) return;
  // A device or a FIFO with that name would block or act.
  if (::fstatat(folder.get(), kLockName, &status, AT_SYMLINK_NOFOLLOW) == 0) {
    if (!S_ISREG(status.st_mode)) return;
    const UniqueFd lock(
        ::openat(folder.get(), kLockName, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!lock || !take_lock(lock.get(), false)) return;
    remove_below(folder.get(), kLockName);
    ::unlinkat(folder.get(), kLockName, 0);
  }
  // Without a lock only an empty one goes: its owner may be about to make the lock, and then makes
  // another folder.
  ::unlinkat(parent, name.c_str(), AT_REMOVEDIR);
}

}  // namespace

ShellDir::~ShellDir() {
  clear();
}

void ShellDir::clear() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  path_.clear();
  lock_.reset();
}

Result<void> ShellDir::ensure(std::string_view parent) {
  constexpr int kAttempts = 8;
  struct stat status {};
  if (!path_.empty() && ::lstat(path_.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return {};
  path_.clear();
  lock_.reset();
  const std::string start =
      std::string(parent.empty() ? "/tmp" : parent) + "/" + std::string(kPrefix);
  for (int attempt = 1; attempt <= kAttempts; ++attempt) {
    std::string name = start + "XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) return cannot(name, errno);
    UniqueFd lock(
        ::open((name + "/" + kLockName).c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    const int error = errno;
    if (lock && take_lock(lock.get(), true)) {
      path_ = std::move(name);
      lock_ = std::move(lock);
      return {};
    }
    std::error_code ignored;
    std::filesystem::remove_all(name, ignored);
    // ENOENT, and a lock that is not to be had: another process took the folder for abandoned.
    if (!lock && error != ENOENT) return cannot(name, error);
  }
  return fail(ErrorCode::io, "cannot keep a folder named " + start +
                                 "*: something removes it; set TMPDIR to another folder");
}

Result<void> ShellDir::write(std::string_view name, std::string_view text) {
  const std::string file = path(name);
  ::unlink(file.c_str());
  const UniqueFd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd) return cannot(file, errno);
  while (!text.empty()) {
    const ssize_t written = ::write(fd.get(), text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return cannot(file, errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

void ShellDir::remove(std::string_view name) {
  ::unlink(path(name).c_str());
}

void remove_abandoned_shell_dirs(std::string_view parent) {
  const std::string path(parent.empty() ? "/tmp" : parent);
  const UniqueFd folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return;
  for (const std::string& name : names_in(folder.get())) {
    if (name.starts_with(kPrefix)) remove_if_abandoned(folder.get(), name);
  }
}

}  // namespace daybook::executor
