// Reading and replacing whole files through the descriptor of their folder.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "executor/paths.h"

namespace daybook::executor {

/// Larger files are read and hashed, but not edited: an edit holds both versions in memory.
inline constexpr std::uint64_t kMaxEditBytes = 64ull << 20;

/// Temporary files of edits; listings leave them out.
bool is_temporary_name(std::string_view name);

struct LoadedFile {
  std::string bytes;
  struct stat status {};
};

/// The file that `target` names, or nothing when it does not exist. Errors: not a regular file,
/// larger than kMaxEditBytes, or unreadable.
Result<std::optional<LoadedFile>> load_file(const Target& target, std::string_view shown);

/// Opens a regular file for streaming; never blocks on a FIFO or device.
Result<UniqueFd> open_regular(const Policy& policy, const Location& where);

/// Next bytes into `buffer`; 0 at the end of the file, -1 with errno on error.
ssize_t read_some(int fd, std::string& buffer);

/// Digest of a regular file of any size, streamed. Nothing when no file is there; an error when
/// something else is, or when it cannot be read.
Result<std::optional<BlobRef>> digest_file(const std::string& path);

/// Writes and syncs a new file `name`, replacing any leftover. `like` gives mode and owner.
Result<void> write_temporary(int folder, const std::string& name, std::string_view bytes,
                             const struct stat* like, std::string_view shown);

/// Makes a change of the folder's entries durable.
Result<void> sync_folder(int folder, std::string_view shown);

}  // namespace daybook::executor
