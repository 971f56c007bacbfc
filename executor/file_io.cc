#include "executor/file_io.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>

namespace daybook::executor {
namespace {

constexpr std::size_t kReadBytes = std::size_t{256} * 1024;

Result<void> check_regular(const struct stat& status, std::string_view shown) {
  if (S_ISREG(status.st_mode)) return {};
  if (S_ISDIR(status.st_mode)) return fail(path_error(EISDIR, shown));
  return fail(ErrorCode::invalid_argument, fmt::format("'{}' is not a regular file", shown));
}

Result<void> write_all(int fd, std::string_view bytes, std::string_view shown) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail(path_error(errno, shown));
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return {};
}

/// Owner first: changing it clears the set-user-id bits that the mode may hold. Only root can give
/// a file away; elsewhere the new file belongs to the writer, without those bits.
Result<void> copy_attributes(int fd, const struct stat& like, std::string_view shown) {
  struct stat now {};
  if (::fstat(fd, &now) != 0) return fail(path_error(errno, shown));
  mode_t kept = 07777;
  if ((now.st_uid != like.st_uid || now.st_gid != like.st_gid) &&
      ::fchown(fd, like.st_uid, like.st_gid) != 0) {
    if (errno != EPERM) return fail(path_error(errno, shown));
    kept = 0777;
  }
  if (::fchmod(fd, like.st_mode & kept) != 0) return fail(path_error(errno, shown));
  return {};
}

}  // namespace

bool is_temporary_name(std::string_view name) {
  return name.starts_with(".daybook-") && name.ends_with(".tmp");
}

ssize_t read_some(int fd, std::string& buffer) {
  buffer.resize(kReadBytes);
  ssize_t length = 0;
  do {
    length = ::read(fd, buffer.data(), buffer.size());
  } while (length < 0 && errno == EINTR);
  buffer.resize(length > 0 ? static_cast<std::size_t>(length) : 0);
  return length;
}

Result<std::optional<LoadedFile>> load_file(const Target& target, std::string_view shown) {
  if (!target.missing.empty()) return std::nullopt;
  struct stat named {};
  if (::fstatat(target.parent.get(), target.name.c_str(), &named, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOENT) return std::nullopt;
    return fail(path_error(errno, shown));
  }
  // Opening a FIFO or a device is felt at its other end.
  DAYBOOK_TRY(check_regular(named, shown));
  const UniqueFd fd(::openat(target.parent.get(), target.name.c_str(),
                             O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_NOCTTY | O_CLOEXEC));
  if (!fd) {
    if (errno == ENOENT) return std::nullopt;
    return fail(path_error(errno, shown));
  }
  LoadedFile file;
  if (::fstat(fd.get(), &file.status) != 0) return fail(path_error(errno, shown));
  DAYBOOK_TRY(check_regular(file.status, shown));
  std::string buffer;
  ssize_t length = 0;
  while ((length = read_some(fd.get(), buffer)) > 0) {
    if (file.bytes.size() + buffer.size() > kMaxEditBytes) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("'{}' is larger than {} MiB, the limit for edits; change it with a "
                              "command instead",
                              shown, kMaxEditBytes >> 20));
    }
    file.bytes += buffer;
  }
  if (length < 0) return fail(path_error(errno, shown));
  return file;
}

Result<UniqueFd> open_regular(const Policy& policy, const Location& where) {
  Result<UniqueFd> fd = open_located(policy, where, O_PATH);
  if (!fd) return fd;
  struct stat status {};
  if (::fstat(fd->get(), &status) != 0) return fail(path_error(errno, where.shown));
  DAYBOOK_TRY(check_regular(status, where.shown));
  // Another file may have taken the name meanwhile, so the open is guarded and checked again.
  Result<UniqueFd> opened = open_located(policy, where, O_RDONLY | O_NONBLOCK);
  if (!opened) return opened;
  if (::fstat(opened->get(), &status) != 0) return fail(path_error(errno, where.shown));
  DAYBOOK_TRY(check_regular(status, where.shown));
  return opened;
}

Result<std::optional<BlobRef>> digest_file(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (!fd) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    return fail(path_error(errno, path));
  }
  struct stat status {};
  if (::fstat(fd.get(), &status) != 0) return fail(path_error(errno, path));
  DAYBOOK_TRY(check_regular(status, path));
  Digester digester;
  BlobRef ref;
  std::string buffer;
  ssize_t length = 0;
  while ((length = read_some(fd.get(), buffer)) > 0) {
    digester.update(buffer);
    ref.size += buffer.size();
  }
  if (length < 0) return fail(path_error(errno, path));
  ref.digest = digester.digest();
  return ref;
}

Result<void> write_temporary(int folder, const std::string& name, std::string_view bytes,
                             const struct stat* like, std::string_view shown) {
  if (::unlinkat(folder, name.c_str(), 0) != 0 && errno != ENOENT) {
    return fail(path_error(errno, shown));
  }
  const mode_t mode = like != nullptr ? 0600 : 0666;
  const UniqueFd fd(
      ::openat(folder, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
  if (!fd) return fail(path_error(errno, shown));
  DAYBOOK_TRY(write_all(fd.get(), bytes, shown));
  if (like != nullptr) DAYBOOK_TRY(copy_attributes(fd.get(), *like, shown));
  if (::fsync(fd.get()) != 0) return fail(path_error(errno, shown));
  return {};
}

Result<void> sync_folder(int folder, std::string_view shown) {
  const UniqueFd fd(::openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd || ::fsync(fd.get()) != 0) return fail(path_error(errno, shown));
  return {};
}

}  // namespace daybook::executor
