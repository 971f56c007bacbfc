// What a clean close leaves behind, and what the next opening may spare because of it.
#include <catch2/catch.hpp>
#include <map>
#include <mutex>

#include "journal/manifest.h"
#include "journal/owner_lock.h"
#include "journal/rocks_journal.h"
#include "tests/support/journal_events.h"
#include "tests/support/memory_dir.h"
#include "tests/support/memory_files.h"
#include "tests/support/temp_dir.h"

namespace daybook::tests {
namespace {

namespace stdfs = std::filesystem;
using journal::append_and_wait;
using journal::OpenMode;

/// Counts how often each file is read from its start, and tells when the database lets go.
class WatchedFiles : public rocksdb::FileSystemWrapper {
 public:
  explicit WatchedFiles(std::function<void()> on_unlock = {})
      : FileSystemWrapper(memory_files()), on_unlock_(std::move(on_unlock)) {}
  const char* Name() const override { return "DaybookWatchedFiles"; }

  rocksdb::IOStatus NewRandomAccessFile(const std::string& path,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        rocksdb::IODebugContext* debug) override {
    {
      const std::lock_guard lock(mutex_);
      if (path.ends_with(".sst")) ++opened_[path];
    }
    return target()->NewRandomAccessFile(path, options, file, debug);
  }
  rocksdb::IOStatus UnlockFile(rocksdb::FileLock* lock, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override {
    if (on_unlock_) on_unlock_();
    return target()->UnlockFile(lock, options, debug);
  }

  std::map<std::string, int> opened() {
    const std::lock_guard lock(mutex_);
    return opened_;
  }

 private:
  const std::function<void()> on_unlock_;
  std::mutex mutex_;
  std::map<std::string, int> opened_;
};

std::unique_ptr<journal::Journal> open_with(const std::string& folder, OpenMode mode,
                                            std::shared_ptr<rocksdb::FileSystem> fs) {
  auto opened = journal::open_rocks_journal(
      {.folder = folder, .mode = mode, .owner = "test", .post = {}, .file_system = std::move(fs)});
  INFO((opened ? "" : opened.error().message));
  REQUIRE(opened.has_value());
  return std::move(*opened);
}

/// Opens twice: what the log held the second time is in a table by then.
void make_journal(const std::string& folder) {
  auto pen = pen_for(session_id("demo"));
  {
    const auto journal = open_with(folder, OpenMode::create, memory_files());
    REQUIRE(append_and_wait(*journal, acquire(pen)).has_value());
  }
  const auto journal = open_with(folder, OpenMode::write, memory_files());
  REQUIRE(append_and_wait(*journal, notice(pen, "in the log")).has_value());
}

/// The most often that opening the journal for writing opens one of the tables that are there.
int looks_when_opening(const std::string& folder, std::size_t events = 2) {
  std::vector<std::string> tables;
  for (const auto& item : stdfs::directory_iterator(folder + "/db")) {
    if (item.path().extension() == ".sst") tables.push_back(item.path().filename());
  }
  REQUIRE_FALSE(tables.empty());
  const auto fs = std::make_shared<WatchedFiles>();
  const auto journal = open_with(folder, OpenMode::write, fs);
  int most = 0;
  for (const auto& [path, times] : fs->opened()) {
    if (std::find(tables.begin(), tables.end(), stdfs::path(path).filename()) != tables.end()) {
      most = std::max(most, times);
    }
  }
  CHECK((*event_bytes(*journal, session_id("demo"))).size() == events);
  return most;
}

using Files = std::map<std::string, std::string>;

/// Contents by path below the folder, but for who holds the lock.
Files files_of(const std::string& folder) {
  Files files;
  for (const auto& item : stdfs::recursive_directory_iterator(folder)) {
    const std::string name = stdfs::relative(item.path(), folder).string();
    if (item.is_regular_file() && name != "lock") files[name] = read_file(item.path());
  }
  return files;
}

}  // namespace

TEST_CASE("the next writer is let in only when the database is closed") {
  const MemoryDir dir;
  const std::string folder = dir.str("journal");
  int unlocked = 0;
  bool let_in = false;
  const auto fs = std::make_shared<WatchedFiles>([&] {
    ++unlocked;
    let_in = let_in || journal::OwnerLock::take(folder + "/lock", "the next").has_value();
  });
  open_with(folder, OpenMode::create, fs).reset();
  CHECK(unlocked == 1);
  CHECK_FALSE(let_in);
  CHECK(journal::OwnerLock::take(folder + "/lock", "the next").has_value());
}

TEST_CASE("a journal that was closed and left alone is opened without a look") {
  const MemoryDir dir;
  const std::string folder = dir.str("journal");
  make_journal(folder);
  const std::string copy = dir.str("copy");
  stdfs::copy(folder, copy, stdfs::copy_options::recursive);
  CHECK(looks_when_opening(copy) == 1);
  CHECK(looks_when_opening(copy) == 1);

  SECTION("not without the note") {
    stdfs::remove(folder + "/closed");
  }
  SECTION("not with a damaged note") {
    write_file(folder + "/closed", read_file(folder + "/closed") + " ");
  }
  SECTION("not when a file came") {
    write_file(folder + "/db/000000.dbtmp", "");
  }
  SECTION("not when a log's end is no record") {
    for (const auto& item : stdfs::directory_iterator(folder + "/db")) {
      if (item.path().extension() != ".log") continue;
      std::string bytes = read_file(item.path());
      if (bytes.empty()) continue;
      bytes.back() = static_cast<char>(bytes.back() ^ 1);
      write_file(item.path(), bytes);
      // The look says what is missing, and nothing has changed.
      const auto opened = journal::open_rocks_journal(
          {.folder = folder, .owner = "test", .post = {}, .file_system = memory_files()});
      REQUIRE_FALSE(opened.has_value());
      CHECK(opened.error().message.find("acknowledged") != std::string::npos);
      CHECK(read_file(item.path()) == bytes);
      return;
    }
    FAIL("no log holds anything");
  }
  CHECK(looks_when_opening(folder) == 2);
  // And that was a clean close again.
  CHECK(looks_when_opening(folder) == 1);
}

TEST_CASE("what is missing from a journal since it was closed refuses a writer, unchanged") {
  const MemoryDir dir;
  const std::string folder = dir.str("journal");
  make_journal(folder);
  {
    // A blob in a file of its own, and an opening that takes it out of the log.
    const auto journal = open_with(folder, OpenMode::write, memory_files());
    auto pen = pen_for(session_id("demo"), *journal->head(session_id("demo")));
    REQUIRE(append_and_wait(*journal, notice_with_blob(pen, std::string(4200, 'b'))).has_value());
  }
  open_with(folder, OpenMode::write, memory_files()).reset();
  const Files whole = files_of(folder);
  std::size_t checked = 0;
  const auto refuses = [&](const std::string& name, const std::string& what) {
    CAPTURE(name);
    const Files before = files_of(folder);
    const auto opened = journal::open_rocks_journal({.folder = folder,
                                                     .mode = OpenMode::write,
                                                     .owner = "test",
                                                     .post = {},
                                                     .file_system = memory_files()});
    REQUIRE_FALSE(opened.has_value());
    CHECK(opened.error().code == ErrorCode::corrupt);
    CHECK(opened.error().message.find(name + " " + what) != std::string::npos);
    CHECK(files_of(folder) == before);
    write_file(folder + "/" + name, whole.at(name));
    ++checked;
  };
  for (const auto& [name, bytes] : whole) {
    const std::string extension = stdfs::path(name).extension();
    if (extension == ".sst" || extension == ".blob") {
      stdfs::remove(folder + "/" + name);
      refuses(name, "is missing");
    }
    if (name.find("MANIFEST-") == std::string::npos) continue;
    // At the end of a record: RocksDB takes the rest for all there is.
    for (std::size_t size = bytes.size() - 1; size > 0; --size) {
      if (journal::whole_records(std::string_view(bytes).substr(0, size)) != size) continue;
      write_file(folder + "/" + name, bytes.substr(0, size));
      refuses(name, "has " + std::to_string(size) + " bytes instead of");
    }
  }
  CHECK(checked > 5);
  CHECK(looks_when_opening(folder, 3) == 1);
}

TEST_CASE("to a reader a content whose file is gone is damage") {
  const MemoryDir dir;
  const std::string folder = dir.str("journal");
  const std::string content(4200, 'b');
  {
    const auto journal = open_with(folder, OpenMode::create, memory_files());
    auto pen = pen_for(session_id("demo"));
    REQUIRE(append_and_wait(*journal, acquire(pen)).has_value());
    REQUIRE(append_and_wait(*journal, notice_with_blob(pen, content)).has_value());
  }
  open_with(folder, OpenMode::write, memory_files()).reset();  // takes it out of the log
  std::size_t removed = 0;
  for (const auto& [name, bytes] : files_of(folder)) {
    if (name.ends_with(".blob")) removed += stdfs::remove(folder + "/" + name) ? 1 : 0;
  }
  REQUIRE(removed == 1);
  const auto journal = open_with(folder, OpenMode::read_only, memory_files());
  const auto read = journal->blob(BlobRef::of(content));
  REQUIRE_FALSE(read.has_value());
  CHECK(read.error().code == ErrorCode::corrupt);
  CHECK(read.error().message.find("restore that file or a backup") != std::string::npos);
}

TEST_CASE("to a reader a table whose file is gone is damage, and named as it was") {
  const MemoryDir dir;
  const std::string folder = dir.str("journal");
  make_journal(folder);
  open_with(folder, OpenMode::write, memory_files()).reset();
  std::vector<std::string> gone;
  for (const auto& [name, bytes] : files_of(folder)) {
    if (name.ends_with(".sst") && stdfs::remove(folder + "/" + name)) gone.push_back(name);
  }
  REQUIRE_FALSE(gone.empty());
  const auto opened = journal::open_rocks_journal({.folder = folder,
                                                   .mode = OpenMode::read_only,
                                                   .owner = "test",
                                                   .post = {},
                                                   .file_system = memory_files()});
  REQUIRE_FALSE(opened.has_value());
  CHECK(opened.error().code == ErrorCode::corrupt);
  CAPTURE(opened.error().message);
  CHECK(std::ranges::any_of(gone, [&](const std::string& name) {
    return opened.error().message.find(stdfs::path(name).filename().string()) != std::string::npos;
  }));
}

TEST_CASE("a database older than its witness is refused as it is, though it was closed") {
  const MemoryDir dir;
  const std::string folder = dir.str("journal");
  make_journal(folder);
  const std::string older = dir.str("older");
  stdfs::copy(folder, older, stdfs::copy_options::recursive);
  {
    const auto journal = open_with(folder, OpenMode::write, memory_files());
    auto pen = pen_for(session_id("demo"), *journal->head(session_id("demo")));
    REQUIRE(append_and_wait(*journal, notice(pen, "newer")).has_value());
  }
  stdfs::copy_file(folder + "/witness", older + "/witness",
                   stdfs::copy_options::overwrite_existing);
  const Files before = files_of(older);
  const auto opened = journal::open_rocks_journal({.folder = older,
                                                   .mode = OpenMode::write,
                                                   .owner = "test",
                                                   .post = {},
                                                   .file_system = memory_files()});
  REQUIRE_FALSE(opened.has_value());
  CHECK(opened.error().message.find("acknowledged") != std::string::npos);
  CHECK(files_of(older) == before);
}

TEST_CASE("after a kill the note says nothing") {
  const MemoryDir dir;
  const std::string folder = dir.str("journal");
  make_journal(folder);
  const std::string killed = dir.str("killed");
  {
    const auto journal = open_with(folder, OpenMode::write, memory_files());
    stdfs::copy(folder, killed, stdfs::copy_options::recursive);
  }
  CHECK(looks_when_opening(killed) == 2);
}

}  // namespace daybook::tests
