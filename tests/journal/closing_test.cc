// What a clean close leaves behind, and what the next opening may spare because of it.
#include <catch2/catch.hpp>
#include <map>
#include <mutex>

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
int looks_when_opening(const std::string& folder) {
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
  CHECK((*event_bytes(*journal, session_id("demo"))).size() == 2);
  return most;
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
