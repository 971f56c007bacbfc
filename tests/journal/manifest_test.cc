// A manifest whose last record is damaged: mended when that loses nothing, refused otherwise.
#include "journal/manifest.h"

#include <catch2/catch.hpp>
#include <map>

#include "journal/rocks_journal.h"
#include "tests/support/faulty_fs.h"
#include "tests/support/journal_events.h"
#include "tests/support/memory_dir.h"
#include "tests/support/memory_files.h"
#include "tests/support/temp_dir.h"

namespace daybook::tests {
namespace {

namespace stdfs = std::filesystem;
using journal::append_and_wait;
using journal::Journal;
using journal::OpenMode;
using journal::whole_records;

/// CRC-32C bit by bit.
std::uint32_t crc32c(std::string_view bytes) {
  std::uint32_t crc = ~0u;
  for (const char byte : bytes) {
    crc ^= static_cast<std::uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0);
  }
  return ~crc;
}

void add_number(std::string& out, std::uint32_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> 8 * i);
}

/// One piece: 1 a whole record, 2 its first part, 3 a part in the middle, 4 the last.
void add_piece(std::string& log, int type, std::size_t size) {
  const std::string typed = static_cast<char>(type) + std::string(size, 'x');
  const std::uint32_t crc = crc32c(typed);
  add_number(log, (crc >> 15 | crc << 17) + 0xa282ead8u, 4);
  add_number(log, static_cast<std::uint32_t>(size), 2);
  log += typed;
}

std::string flipped(std::string bytes, std::size_t at) {
  bytes[at] = static_cast<char>(bytes[at] ^ 0x10);
  return bytes;
}

Result<std::unique_ptr<Journal>> open_as(const std::string& folder, OpenMode mode,
                                         std::shared_ptr<rocksdb::FileSystem> fs = memory_files()) {
  return journal::open_rocks_journal({.folder = folder,
                                      .mode = mode,
                                      .owner = "test",
                                      .post = {},
                                      .file_system = std::move(fs),
                                      .clock = std::make_shared<HastyClock>()});
}

using Files = std::map<std::string, std::string>;

Files files_of(const std::string& folder) {
  Files files;
  for (const auto& item : stdfs::recursive_directory_iterator(folder)) {
    if (item.is_regular_file() && item.path().filename() != "lock") {
      files[stdfs::relative(item.path(), folder)] = read_file(item.path());
    }
  }
  return files;
}

void put_files(const std::string& folder, const Files& files) {
  stdfs::remove_all(folder);
  stdfs::create_directories(folder + "/db");
  for (const auto& [name, bytes] : files) write_file(folder + "/" + name, bytes);
}

/// A journal with events and a blob in tables, and its files as they are while it is open.
struct Bench {
  MemoryDir dir;
  std::string folder = dir.str("journal");
  Files before;  // as the last opening found it: the events are in the log
  Files after;   // as it left it: in tables, which the manifest's last records name
  std::string manifest;
  std::vector<std::string> items;

  Bench() {
    {
      auto opened = open_as(folder, OpenMode::create);
      REQUIRE(opened.has_value());
      auto pen = pen_for(session_id("s"));
      REQUIRE(append_and_wait(**opened, acquire(pen)).has_value());
      REQUIRE(append_and_wait(**opened, notice_with_blob(pen, std::string(4200, 'b'))).has_value());
      items = *everything(**opened);
    }
    before = files_of(folder);
    REQUIRE(open_as(folder, OpenMode::write).has_value());
    after = files_of(folder);
    manifest = "db/" + after["db/CURRENT"].substr(0, after["db/CURRENT"].find('\n'));
  }

  /// As when the power goes while opening writes the records of the tables: the log is there, too.
  Files both() const {
    Files files = before;
    for (const auto& [name, bytes] : after) files[name] = bytes;
    return files;
  }
};

}  // namespace

TEST_CASE("the whole records of a log end before the first damage") {
  REQUIRE(crc32c("123456789") == 0xE3069283u);
  std::string log;
  add_piece(log, 1, 10);
  const std::size_t one = log.size();
  add_piece(log, 2, (32 << 10) - one - 7);  // fills the block
  REQUIRE(log.size() == 32 << 10);
  add_piece(log, 3, (32 << 10) - 7);
  add_piece(log, 4, 5);
  const std::size_t two = log.size();
  add_piece(log, 1, (32 << 10) - 12 - 7 - 3);  // leaves 3 bytes, too few for a header
  const std::size_t three = log.size();
  log += std::string(3, '\0');
  add_piece(log, 1, 0);
  const std::size_t four = log.size();
  CHECK(whole_records("") == 0);
  CHECK(whole_records(log) == four);
  const std::size_t ends[] = {0, one, two, three, four};
  for (std::size_t record = 0; record < 4; ++record) {
    for (const std::size_t at : {ends[record], ends[record] + 5, ends[record] + 6,
                                 (ends[record] + ends[record + 1]) / 2, ends[record + 1] - 1}) {
      CAPTURE(record, at);
      if (record == 3 && at < three + 3) continue;  // the padding is not read
      if (at >= ends[record + 1]) continue;
      CHECK(whole_records(flipped(log, at)) == ends[record]);
      CHECK(whole_records(log.substr(0, at)) == ends[record]);
    }
  }
}

TEST_CASE("pieces in a wrong order are damage") {
  std::string good;
  add_piece(good, 1, 3);
  for (const std::vector<int>& types :
       {std::vector{3}, {4}, {2, 1}, {2, 2}, {2}, {2, 3}, {2, 3, 1}, {0}, {5}}) {
    std::string log = good;
    for (const int type : types) add_piece(log, type, 3);
    CHECK(whole_records(log) == good.size());
  }
}

TEST_CASE("a manifest damaged anywhere is mended without loss, or refused and left alone") {
  Bench bench;
  const std::string& manifest = bench.after[bench.manifest];
  REQUIRE(whole_records(manifest) == manifest.size());
  std::size_t opened_whole = 0;
  std::size_t refused = 0;
  for (std::size_t at = 0; at < manifest.size(); at += 3) {
    CAPTURE(at);
    Files files = bench.after;
    files[bench.manifest] = flipped(manifest, at);
    put_files(bench.folder, files);
    auto opened = open_as(bench.folder, OpenMode::write);
    if (opened) {
      ++opened_whole;
      CHECK(*everything(**opened) == bench.items);
      CHECK((*opened)->verify({})->damage.empty());
      continue;
    }
    ++refused;
    CHECK(opened.error().code == ErrorCode::corrupt);
    const std::string& said = opened.error().message;
    CHECK(said.find("nothing was changed") == said.rfind("nothing was changed"));
    CHECK(files_of(bench.folder) == files);
  }
  // The tables' records cannot go: the log with their events is gone.
  CHECK(refused > manifest.size() / 9);
  CHECK(opened_whole + refused == (manifest.size() + 2) / 3);
}

TEST_CASE("an unfinished last record of the manifest is cut by a writer and named by a reader") {
  Bench bench;
  Files files = bench.both();
  const std::string& manifest = bench.after[bench.manifest];
  std::size_t mended = 0;
  std::size_t read_anyway = 0;
  for (std::size_t at = manifest.size() - 1; at > 0; at -= std::min<std::size_t>(at, 5)) {
    CAPTURE(at);
    const std::string damaged = flipped(manifest, at);
    files[bench.manifest] = damaged;
    put_files(bench.folder, files);
    const auto read = open_as(bench.folder, OpenMode::read_only);
    CHECK(files_of(bench.folder) == files);
    const auto written = open_as(bench.folder, OpenMode::write);
    if (!written) continue;
    ++mended;
    CHECK(*everything(**written) == bench.items);
    if (read) ++read_anyway;
    if (read) continue;
    CHECK(read.error().code == ErrorCode::corrupt);
    CHECK(read.error().message.find("open the journal for writing once") != std::string::npos);
    CHECK(read_file(bench.folder + "/" + bench.manifest + ".damaged") == damaged);
  }
  CHECK(mended > read_anyway);
}

TEST_CASE("a loss of power while a manifest is mended leaves the damaged one or the mended one") {
  Bench bench;
  Files files = bench.both();
  std::string& manifest = files[bench.manifest];
  manifest = flipped(manifest, manifest.size() - 1);
  put_files(bench.folder, files);
  REQUIRE_FALSE(open_as(bench.folder, OpenMode::read_only).has_value());
  std::uint64_t step = 0;
  for (bool opened = false; !opened; ++step) {
    for (const auto mode : {UnsyncedBytes::drop, UnsyncedBytes::keep, UnsyncedBytes::tear}) {
      CAPTURE(step, static_cast<int>(mode));
      put_files(bench.folder, files);
      const auto fs = std::make_shared<FaultyFs>(bench.folder);
      fs->lose_power_at(step);
      opened = open_as(bench.folder, OpenMode::write, fs).has_value();
      fs->settle_after_power_loss(mode, static_cast<std::uint32_t>(step));
      const auto again = open_as(bench.folder, OpenMode::write);
      INFO((again ? "" : again.error().message));
      REQUIRE(again.has_value());
      CHECK(*everything(**again) == bench.items);
      CHECK((*again)->verify({})->damage.empty());
    }
  }
  CHECK(step > 10);
}

}  // namespace daybook::tests
