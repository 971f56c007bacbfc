#include "engine/spill.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

namespace daybook::engine {
namespace {

/// What tools wrote is for the journal's owner alone, as the journal is.
bool make_private_folder(const std::filesystem::path& folder) {
  std::error_code error;
  const auto parent = folder.parent_path();
  if (!std::filesystem::exists(parent, error)) {
    std::filesystem::create_directories(parent, error);
    if (!error) chmod(parent.c_str(), 0700);
  }
  return mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST;
}

}  // namespace

bool write_spill(const std::string& path, std::string_view bytes) {
  if (!make_private_folder(std::filesystem::path(path).parent_path())) return false;
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  while (!bytes.empty()) {
    const ssize_t wrote = write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return close(fd) == 0 && bytes.empty();
}

}  // namespace daybook::engine
