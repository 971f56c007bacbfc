#include "journal/manifest.h"

#include <fmt/format.h>

#include <boost/crc.hpp>
#include <filesystem>

#include "journal/folder.h"

namespace daybook::journal {
namespace {

namespace stdfs = std::filesystem;

constexpr std::size_t kBlockSize = 32 << 10;
constexpr std::size_t kHeaderSize = 7;  // checksum(4) length(2) type(1), little-endian
constexpr std::size_t kTypeAt = 6;

enum class PieceType : std::uint8_t { full = 1, first = 2, middle = 3, last = 4 };

std::uint32_t little_endian(std::string_view bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    value = value << 8 | static_cast<std::uint8_t>(bytes[i]);
  }
  return value;
}

/// CRC-32C, masked as RocksDB does, so that a checksum of checksums stays a good one.
std::uint32_t masked_crc(std::string_view bytes) {
  boost::crc_optimal<32, 0x1EDC6F41, 0xFFFFFFFF, 0xFFFFFFFF, true, true> crc;
  crc.process_bytes(bytes.data(), bytes.size());
  const std::uint32_t value = crc.checksum();
  return (value >> 15 | value << 17) + 0xa282ead8u;
}

struct Piece {
  PieceType type;
  std::size_t size = 0;  // with its header
};

/// The piece at the start of `rest`, the rest of one block.
std::optional<Piece> piece_at(std::string_view rest) {
  if (rest.size() < kHeaderSize) return {};
  const std::size_t length = little_endian(rest.substr(4, 2));
  const auto type = static_cast<std::uint8_t>(rest[kTypeAt]);
  if (type < 1 || type > 4 || kHeaderSize + length > rest.size()) return {};
  if (little_endian(rest.substr(0, 4)) != masked_crc(rest.substr(kTypeAt, 1 + length))) return {};
  return Piece{static_cast<PieceType>(type), kHeaderSize + length};
}

/// A file that is read from memory.
class BytesFile : public rocksdb::FSSequentialFile {
 public:
  explicit BytesFile(std::string bytes) : bytes_(std::move(bytes)) {}

  rocksdb::IOStatus Read(std::size_t size, const rocksdb::IOOptions&, rocksdb::Slice* result,
                         char* scratch, rocksdb::IODebugContext*) override {
    const std::size_t count = bytes_.copy(scratch, size, at_);
    at_ += count;
    *result = rocksdb::Slice(scratch, count);
    return rocksdb::IOStatus::OK();
  }
  rocksdb::IOStatus Skip(std::uint64_t size) override {
    at_ += std::min<std::uint64_t>(size, bytes_.size() - at_);
    return rocksdb::IOStatus::OK();
  }

 private:
  const std::string bytes_;
  std::size_t at_ = 0;
};

/// The manifest that CURRENT names; nothing when that is no manifest's name.
Result<std::optional<TornManifest>> read_manifest(rocksdb::FileSystem& fs, const std::string& db) {
  auto current = read_whole(fs, db + "/CURRENT");
  if (!current) return fail(std::move(current.error()));
  const std::string name = current->substr(0, current->find('\n'));
  if (!name.starts_with("MANIFEST-") || name.find('/') != std::string::npos) {
    return std::optional<TornManifest>();
  }
  TornManifest manifest{db + "/" + name, {}, 0};
  auto bytes = read_whole(fs, manifest.path);
  if (!bytes) return fail(std::move(bytes.error()));
  manifest.bytes = std::move(*bytes);
  manifest.whole_bytes = whole_records(manifest.bytes);
  return std::optional(std::move(manifest));
}

class CutView : public rocksdb::FileSystemWrapper {
 public:
  CutView(const std::shared_ptr<rocksdb::FileSystem>& base, const TornManifest& torn)
      : FileSystemWrapper(base), path_(torn.path), bytes_(torn.bytes, 0, torn.whole_bytes) {}
  const char* Name() const override { return "DaybookCutView"; }

  rocksdb::IOStatus NewSequentialFile(const std::string& path, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSSequentialFile>* file,
                                      rocksdb::IODebugContext* debug) override {
    if (path != path_) return target()->NewSequentialFile(path, options, file, debug);
    *file = std::make_unique<BytesFile>(bytes_);
    return rocksdb::IOStatus::OK();
  }

 private:
  const std::string path_;
  const std::string bytes_;
};

}  // namespace

std::size_t whole_records(std::string_view log) {
  std::size_t whole = 0;
  bool inside = false;  // of a record whose last piece is still to come
  for (std::size_t at = 0; at < log.size();) {
    const std::size_t left = kBlockSize - at % kBlockSize;
    if (left < kHeaderSize) {
      at += left;  // padding
      continue;
    }
    const auto piece = piece_at(log.substr(at, left));
    if (!piece) break;
    const bool starts = piece->type == PieceType::full || piece->type == PieceType::first;
    if (starts == inside) break;
    inside = piece->type == PieceType::first || piece->type == PieceType::middle;
    at += piece->size;
    if (!inside) whole = at;
  }
  return whole;
}

bool manifest_is_whole(rocksdb::FileSystem& fs, const std::string& db) {
  const auto manifest = read_manifest(fs, db);
  return manifest && *manifest && (*manifest)->whole_bytes > 0 &&
         (*manifest)->whole_bytes == (*manifest)->bytes.size();
}

Result<std::optional<TornManifest>> find_torn_manifest(rocksdb::FileSystem& fs,
                                                       const std::string& db) {
  auto manifest = read_manifest(fs, db);
  if (!manifest || !*manifest) return manifest;
  const TornManifest& found = **manifest;
  if (found.whole_bytes == 0 || found.whole_bytes == found.bytes.size()) manifest->reset();
  return manifest;
}

std::shared_ptr<rocksdb::FileSystem> without_torn_end(
    const std::shared_ptr<rocksdb::FileSystem>& base, const TornManifest& torn) {
  return std::make_shared<CutView>(base, torn);
}

Result<std::string> cut_manifest(rocksdb::FileSystem& fs, const TornManifest& torn) {
  const std::string folder = stdfs::path(torn.path).parent_path().string();
  const std::string kept = torn.path + ".damaged";     // not a name that RocksDB knows and removes
  const std::string fresh = folder + "/000000.dbtmp";  // one that it does, should it stay here
  DAYBOOK_TRY(write_durably(fs, kept, torn.bytes));
  DAYBOOK_TRY(write_durably(fs, fresh, torn.bytes.substr(0, torn.whole_bytes)));
  DAYBOOK_TRY(sync_folder(fs, folder));
  const auto status = fs.RenameFile(fresh, torn.path, rocksdb::IOOptions(), nullptr);
  if (!status.ok()) return fail(error_of(status, fmt::format("replacing {}", torn.path)));
  DAYBOOK_TRY(sync_folder(fs, folder));
  return kept;
}

}  // namespace daybook::journal
