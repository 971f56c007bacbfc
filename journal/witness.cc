#include "journal/witness.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <optional>

#include "journal/folder.h"
#include "journal/keys.h"
#include "journal/rocks_log.h"

namespace daybook::journal {
namespace {

// Two slots in different disk sectors, written in turn: a torn write damages one of them.
constexpr std::size_t kSlotDistance = 4096;
constexpr std::size_t kFileSize = 2 * kSlotDistance;
constexpr std::size_t kSlotSize = 16;

std::string encode_slot(std::uint64_t position) {
  std::string slot = order_key(position).substr(1);
  seal(slot);
  return slot;
}

std::optional<std::uint64_t> decode_slot(std::string_view slot) {
  const auto body = unseal(slot);
  if (!body) return {};
  return parse_order_key(std::string(1, static_cast<char>(KeyKind::order)).append(*body));
}

}  // namespace

Result<void> Witness::create(rocksdb::FileSystem& fs, const std::string& path,
                             std::uint64_t position) {
  std::string bytes(kFileSize, '\0');
  bytes.replace(0, kSlotSize, encode_slot(position));
  return write_durably(fs, path, bytes);
}

Result<std::uint64_t> Witness::read(rocksdb::FileSystem& fs, const std::string& path) {
  auto bytes = read_whole(fs, path);
  if (!bytes) return fail(std::move(bytes.error()));
  std::optional<std::uint64_t> best;
  for (std::size_t at = 0; at + kSlotSize <= bytes->size(); at += kSlotDistance) {
    const auto position = decode_slot(std::string_view(*bytes).substr(at, kSlotSize));
    if (position && (!best || *position > *best)) best = position;
  }
  if (!best || bytes->size() != kFileSize) {
    return fail(ErrorCode::corrupt,
                fmt::format("{} is damaged, so nobody can tell whether the journal is complete: "
                            "restore a backup",
                            path));
  }
  return *best;
}

Result<Witness> Witness::open(rocksdb::FileSystem& fs, const std::string& path) {
  std::unique_ptr<rocksdb::FSRandomRWFile> file;
  const auto status = fs.NewRandomRWFile(path, rocksdb::FileOptions(), &file, nullptr);
  if (!status.ok()) return fail(error_of(status, fmt::format("opening {}", path)));
  return Witness(std::move(file), path);
}

void Witness::write(std::uint64_t position) {
  const std::size_t offset = (++writes_ % 2) * kSlotDistance;
  const auto status = file_->Write(offset, encode_slot(position), rocksdb::IOOptions(), nullptr);
  if (!status.ok()) journal_log()->warn("writing {} failed: {}", path_, status.ToString());
}

}  // namespace daybook::journal
