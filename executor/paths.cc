#include "executor/paths.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstdlib>
#include <optional>
#include <system_error>

namespace daybook::executor {
namespace {

/// Longest piece of a path given to one system call; the kernel's limit is 4096.
constexpr std::size_t kPieceBytes = 3072;
constexpr int kMaxLinks = 16;
/// openat2 answers EAGAIN when a rename elsewhere raced with its check.
constexpr int kMaxRetries = 1000;

std::string normalized(std::string_view absolute) {
  std::string out;
  std::size_t at = 0;
  while (at < absolute.size()) {
    const std::size_t slash = std::min(absolute.find('/', at), absolute.size());
    const std::string_view part = absolute.substr(at, slash - at);
    at = slash + 1;
    if (part.empty() || part == ".") continue;
    if (part == "..") {
      out.resize(out.empty() ? 0 : out.rfind('/'));
    } else {
      out += '/';
      out += part;
    }
  }
  return out.empty() ? "/" : out;
}

bool inside(std::string_view path, std::string_view root) {
  if (root == "/") return true;
  return path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/');
}

std::string relative_to(std::string_view path, std::string_view root) {
  if (path.size() == root.size()) return ".";
  return std::string(path.substr(root == "/" ? 1 : root.size() + 1));
}

std::string list_roots(const Policy& policy, bool writable_only) {
  std::string out;
  for (const Root& root : policy.roots) {
    if (writable_only && !root.writable) continue;
    if (!out.empty()) out += ", ";
    out += root.path;
  }
  return out.empty() ? "none" : out;
}

Result<std::string> expand(const Policy& policy, std::string_view given) {
  if (given.empty()) return fail(ErrorCode::invalid_argument, "the path is empty; name a file");
  if (given.size() > kMaxPathBytes) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("the path is {} bytes long; the limit is {}", given.size(), kMaxPathBytes));
  }
  if (given.find('\0') != std::string_view::npos) {
    return fail(ErrorCode::invalid_argument, "the path contains a NUL byte; remove it");
  }
  if (policy.roots.empty()) {
    return fail(ErrorCode::permission, "the session has no folder; add one to its policy");
  }
  if (given == "~" || given.starts_with("~/")) {
    const char* home = std::getenv("HOME");
    if (home == nullptr || home[0] != '/') {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("'{}' cannot be expanded because HOME is not set; give an absolute "
                              "path",
                              given));
    }
    return normalized(std::string(home) + "/" + std::string(given.substr(1)));
  }
  if (given.front() == '/') return normalized(given);
  return normalized(policy.roots.front().path + "/" + std::string(given));
}

std::optional<std::size_t> deepest_root(const Policy& policy, std::string_view path) {
  std::optional<std::size_t> best;
  std::size_t length = 0;
  for (std::size_t i = 0; i < policy.roots.size(); ++i) {
    const std::string root = normalized(policy.roots[i].path);
    if (!inside(path, root) || (best && root.size() <= length)) continue;
    best = i;
    length = root.size();
  }
  return best;
}

Opened open_piece(int directory, const std::string& path, int flags, std::uint64_t resolve) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(flags | O_CLOEXEC | ((flags & O_PATH) ? 0 : O_NOCTTY));
  how.resolve = resolve;
  for (int i = 0; i < kMaxRetries; ++i) {
    const long fd = ::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how);
    if (fd >= 0) return UniqueFd(static_cast<int>(fd));
    if (errno != EAGAIN && errno != EINTR) break;
  }
  return tl::unexpected<int>(errno);
}

Error read_only_error(const Policy& policy, std::string_view shown, const Root& root) {
  return {ErrorCode::permission,
          fmt::format("'{}' is in the read-only folder {}; writable folders: {}", shown, root.path,
                      list_roots(policy, true))};
}

/// The deepest root above a directory, decided by identity: a link inside one root must not lead
/// a write into another root that forbids it.
Result<void> check_governing_root(const Policy& policy, const Location& where, int directory) {
  if (policy.roots.size() < 2) return {};
  std::vector<struct stat> roots(policy.roots.size());
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const Opened root = open_root(policy.roots[i]);
    if (root && ::fstat(root->get(), &roots[i]) != 0) roots[i] = {};
  }
  UniqueFd current(::fcntl(directory, F_DUPFD_CLOEXEC, 0));
  struct stat here {};
  struct stat previous {};
  while (current && ::fstat(current.get(), &here) == 0) {
    for (std::size_t i = 0; i < roots.size(); ++i) {
      if (roots[i].st_ino != here.st_ino || roots[i].st_dev != here.st_dev) continue;
      if (policy.roots[i].writable) return {};
      return fail(read_only_error(policy, where.shown, policy.roots[i]));
    }
    if (here.st_ino == previous.st_ino && here.st_dev == previous.st_dev) break;
    previous = here;
    current.reset(::openat(current.get(), "..", O_PATH | O_DIRECTORY | O_CLOEXEC));
  }
  return fail(path_error(EXDEV, where.shown));
}

std::pair<std::string, std::string> split_last(const std::string& below) {
  const std::size_t slash = below.rfind('/');
  if (slash == std::string::npos) return {".", below};
  return {below.substr(0, slash), below.substr(slash + 1)};
}

Result<Target> find_parent(int root, std::string directory, const Location& where) {
  Target target;
  while (true) {
    Opened opened = open_below(root, directory, O_PATH | O_DIRECTORY);
    if (opened) {
      target.parent = std::move(*opened);
      return target;
    }
    if (opened.error() != ENOENT || directory == ".") {
      return fail(path_error(opened.error(), where.shown));
    }
    auto [above, name] = split_last(directory);
    if (name == "..") return fail(path_error(ENOENT, where.shown));
    target.missing.insert(target.missing.begin(), name);
    directory = above;
  }
}

/// What the link `name` says, or nothing when it is no link.
Result<std::optional<std::string>> link_text(const Target& target, const Location& where) {
  if (!target.missing.empty()) return std::nullopt;
  std::string text(4096, '\0');
  const ssize_t length =
      ::readlinkat(target.parent.get(), target.name.c_str(), text.data(), text.size());
  if (length < 0) {
    if (errno == EINVAL || errno == ENOENT) return std::nullopt;
    return fail(path_error(errno, where.shown));
  }
  text.resize(static_cast<std::size_t>(length));
  return text;
}

}  // namespace

Result<Location> locate(const Policy& policy, std::string_view given, Access access) {
  Result<std::string> path = expand(policy, given);
  if (!path) return fail(std::move(path.error()));
  const std::optional<std::size_t> root = deepest_root(policy, *path);
  if (!root) {
    return fail(ErrorCode::permission,
                fmt::format("path '{}' escapes the session's folders; use a path inside one of: {}",
                            given, list_roots(policy, false)));
  }
  Location where;
  where.shown = shown_path(policy, *path);
  where.root = *root;
  where.below = relative_to(*path, normalized(policy.roots[*root].path));
  where.path = std::move(*path);
  if (access == Access::write && !policy.roots[*root].writable) {
    return fail(read_only_error(policy, where.shown, policy.roots[*root]));
  }
  return where;
}

std::string shown_path(const Policy& policy, const std::string& absolute) {
  const std::string workspace = normalized(policy.roots.front().path);
  return inside(absolute, workspace) ? relative_to(absolute, workspace) : absolute;
}

Opened open_root(const Root& root) {
  return open_piece(AT_FDCWD, root.path, O_PATH | O_DIRECTORY, RESOLVE_NO_SYMLINKS);
}

Opened open_below(int directory, std::string_view below, int flags, Links links) {
  const std::uint64_t resolve =
      RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | (links == Links::refuse ? RESOLVE_NO_SYMLINKS : 0);
  UniqueFd base;
  while (below.size() > kPieceBytes) {
    const std::size_t slash = below.rfind('/', kPieceBytes);
    if (slash == std::string_view::npos || slash == 0) return tl::unexpected<int>(ENAMETOOLONG);
    Opened next = open_piece(base ? base.get() : directory, std::string(below.substr(0, slash)),
                             O_PATH | O_DIRECTORY, resolve);
    if (!next) return next;
    base = std::move(*next);
    below.remove_prefix(slash + 1);
  }
  return open_piece(base ? base.get() : directory, std::string(below), flags, resolve);
}

Error path_error(int error, std::string_view shown) {
  switch (error) {
    case ENOENT:
      return {ErrorCode::not_found, fmt::format("'{}' does not exist", shown)};
    case ENOTDIR:
      return {ErrorCode::invalid_argument,
              fmt::format("'{}': a part of the path is not a folder", shown)};
    case EISDIR:
      return {ErrorCode::invalid_argument, fmt::format("'{}' is a folder, not a file", shown)};
    case EXDEV:
      return {ErrorCode::permission,
              fmt::format("path '{}' escapes the session's folders through a symbolic link; name "
                          "the file itself",
                          shown)};
    case ELOOP:
      return {ErrorCode::permission,
              fmt::format("'{}' leads through a symbolic link that may not be followed", shown)};
    case EACCES:
    case EPERM:
      return {ErrorCode::permission,
              fmt::format("'{}' is not accessible: permission denied", shown)};
    case ENAMETOOLONG:
      return {ErrorCode::invalid_argument, fmt::format("a name in '{}' is too long", shown)};
    case ENOSPC:
    case EDQUOT:
      return {ErrorCode::no_space, fmt::format("'{}' was not written: the disk is full", shown)};
    default:
      return {ErrorCode::io,
              fmt::format("'{}': {}", shown, std::generic_category().message(error))};
  }
}

Result<UniqueFd> open_located(const Policy& policy, const Location& where, int flags) {
  const Opened root = open_root(policy.roots[where.root]);
  if (!root) return fail(path_error(root.error(), policy.roots[where.root].path));
  Opened opened = open_below(root->get(), where.below, flags);
  if (!opened) return fail(path_error(opened.error(), where.shown));
  return std::move(*opened);
}

Result<Target> open_target(const Policy& policy, const Location& where) {
  if (where.below == ".") return fail(path_error(EISDIR, where.shown));
  const Opened root = open_root(policy.roots[where.root]);
  if (!root) return fail(path_error(root.error(), policy.roots[where.root].path));
  std::string below = where.below;
  for (int links = 0; links <= kMaxLinks; ++links) {
    auto [directory, name] = split_last(below);
    Result<Target> target = find_parent(root->get(), directory, where);
    if (!target) return target;
    target->name = name;
    Result<std::optional<std::string>> link = link_text(*target, where);
    if (!link) return fail(std::move(link.error()));
    if (!*link) {
      DAYBOOK_TRY(check_governing_root(policy, where, target->parent.get()));
      return target;
    }
    if (link->value().empty() || link->value().front() == '/') {
      return fail(path_error(EXDEV, where.shown));
    }
    // The kernel resolves the joined path: a `..` after a linked folder means that folder's parent.
    below = directory + "/" + link->value();
    while (below.ends_with('/')) below.pop_back();
    const std::string last = split_last(below).second;
    if (last == "." || last == "..") return fail(path_error(EISDIR, where.shown));
  }
  return fail(path_error(ELOOP, where.shown));
}

}  // namespace daybook::executor
