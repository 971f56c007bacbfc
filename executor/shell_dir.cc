#include "executor/shell_dir.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "executor/fd.h"

namespace daybook::executor {
namespace {

tl::unexpected<Error> cannot(const std::string& what, int error) {
  return fail(error == ENOSPC ? ErrorCode::no_space : ErrorCode::io,
              "cannot write " + what + ": " + std::strerror(error) +
                  "; make room or set TMPDIR to another folder");
}

}  // namespace

ShellDir::~ShellDir() {
  clear();
}

void ShellDir::clear() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  path_.clear();
}

Result<void> ShellDir::ensure(std::string_view parent) {
  struct stat status {};
  if (!path_.empty() && ::lstat(path_.c_str(), &status) == 0 && S_ISDIR(status.st_mode)) return {};
  path_.clear();
  std::string name = std::string(parent.empty() ? "/tmp" : parent) + "/daybook-shell-XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) return cannot(name, errno);
  path_ = std::move(name);
  return {};
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

}  // namespace daybook::executor
