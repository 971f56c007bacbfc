// The power goes, the disk fills up, or a write fails, at every single step of a small workload.
#include <catch2/catch.hpp>

#include "journal/rocks_journal.h"
#include "tests/support/faulty_fs.h"
#include "tests/support/journal_events.h"
#include "tests/support/memory_dir.h"
#include "tests/support/memory_files.h"
#include "tests/support/temp_dir.h"

namespace daybook::tests {
namespace {

using journal::Append;
using journal::append_and_wait;
using journal::Appended;
using journal::Journal;

Result<std::unique_ptr<Journal>> open_on(const std::string& folder,
                                         std::shared_ptr<rocksdb::FileSystem> fs) {
  return journal::open_rocks_journal({.folder = folder,
                                      .owner = "test",
                                      .post = {},
                                      .file_system = std::move(fs),
                                      .clock = std::make_shared<HastyClock>()});
}

/// What the outside world knows of the session: the oracle.
struct Expected {
  std::vector<std::string> acknowledged;
  std::vector<std::string> unknown;  // events of the append that did not say
  bool failed = false;

  void note(const Append& append, const Result<Appended>& result) {
    auto& into = result ? acknowledged : unknown;
    into.insert(into.end(), append.events.begin(), append.events.end());
    failed = failed || !result.has_value();
  }
};

/// One event, two events, or two events and a blob that goes to a blob file.
Append make_append(journal::SessionWriter& pen, int number) {
  journal::Batch batch;
  schema::NoticeAddedT added;
  added.text = std::to_string(number);
  batch.add(draft(std::move(added)));
  if (number % 3 > 0) {
    schema::TurnEndedT ended;
    if (number % 3 == 2) ended.answer = batch.content(std::string(5000, static_cast<char>(number)));
    batch.add(draft(std::move(ended)));
  }
  return pen.next(std::move(batch));
}

/// Creates a journal, appends, closes, opens again and appends more, until something fails.
Expected run_workload(const std::string& folder, const std::shared_ptr<rocksdb::FileSystem>& fs) {
  Expected expected;
  const SessionId demo = session_id("demo");
  for (int round = 0; round < 2 && !expected.failed; ++round) {
    auto opened = open_on(folder, fs);
    if (!opened) return expected;
    auto head = (*opened)->head(demo);
    if (!head) return expected;
    auto pen = pen_for(demo, *head);
    Append first = acquire(pen);
    expected.note(first, append_and_wait(**opened, first));
    for (int i = 0; i < 4 && !expected.failed; ++i) {
      const Append append = make_append(pen, round * 10 + i);
      expected.note(append, append_and_wait(**opened, append));
      std::ignore = (*opened)->save_checkpoint(demo, "p", {1, "f", "state"});
    }
  }
  return expected;
}

void check_survivors(const std::string& folder, const Expected& expected) {
  auto opened = open_on(folder, memory_files());
  INFO((opened ? "" : opened.error().message));
  REQUIRE(opened.has_value());
  auto events = event_bytes(**opened, session_id("demo"));
  INFO((events ? "" : events.error().message));
  REQUIRE(events.has_value());
  std::vector<std::string> whole = expected.acknowledged;
  whole.insert(whole.end(), expected.unknown.begin(), expected.unknown.end());
  const bool absent = *events == expected.acknowledged;
  const bool present = *events == whole;
  CHECK((absent || present));
  const auto report = (*opened)->verify({});
  CHECK(report->damage.empty());
  // And it can be used.
  auto pen = pen_for(session_id("demo"), *(*opened)->head(session_id("demo")));
  CHECK(append_and_wait(**opened, acquire(pen)).has_value());
}

std::uint64_t steps_of_workload() {
  MemoryDir dir;
  const auto fs = std::make_shared<FaultyFs>(dir.str());
  const Expected expected = run_workload(dir.str("journal"), fs);
  REQUIRE_FALSE(expected.failed);
  REQUIRE(expected.acknowledged.size() == 15);
  return fs->steps();
}

}  // namespace

TEST_CASE("after a power loss every acknowledged event is there, and no half append") {
  const std::uint64_t steps = steps_of_workload();
  REQUIRE(steps > 50);
  std::size_t most_acknowledged = 0;
  for (std::uint64_t step = 0; step < steps; ++step) {
    MemoryDir dir;
    const auto fs = std::make_shared<FaultyFs>(dir.str());
    fs->lose_power_at(step);
    const Expected expected = run_workload(dir.str("journal"), fs);
    // One loss of power, and each of the ways it may leave the disk.
    MemoryDir before;
    std::filesystem::copy(dir.str("journal"), before.str("journal"),
                          std::filesystem::copy_options::recursive);
    for (const auto mode : {UnsyncedBytes::drop, UnsyncedBytes::keep, UnsyncedBytes::tear}) {
      CAPTURE(step, static_cast<int>(mode));
      std::filesystem::remove_all(dir.str("journal"));
      std::filesystem::copy(before.str("journal"), dir.str("journal"),
                            std::filesystem::copy_options::recursive);
      fs->settle_after_power_loss(mode, static_cast<std::uint32_t>(step));
      check_survivors(dir.str("journal"), expected);
    }
    most_acknowledged = std::max(most_acknowledged, expected.acknowledged.size());
  }
  CHECK(most_acknowledged == 15);
}

TEST_CASE("the power loss test notices a journal that does not sync") {
  MemoryDir dir;
  const auto fs = std::make_shared<FaultyFs>(dir.str());
  write_file(dir.str("unsynced"), "");
  {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    REQUIRE(fs->NewWritableFile(dir.str("file"), {}, &file, nullptr).ok());
    REQUIRE(file->Append("synced", {}, nullptr).ok());
    REQUIRE(file->Sync({}, nullptr).ok());
    REQUIRE(file->Append("not", {}, nullptr).ok());
  }
  std::unique_ptr<rocksdb::FSDirectory> folder;
  REQUIRE(fs->NewDirectory(dir.str(), {}, &folder, nullptr).ok());
  SECTION("the name was not synced either") {
    fs->settle_after_power_loss(UnsyncedBytes::drop, 1);
    CHECK_FALSE(std::filesystem::exists(dir.str("file")));
  }
  SECTION("the name was synced") {
    REQUIRE(folder->Fsync({}, nullptr).ok());
    fs->settle_after_power_loss(UnsyncedBytes::drop, 1);
    CHECK(read_file(dir.str("file")) == "synced");
  }
  SECTION("everything arrived") {
    fs->settle_after_power_loss(UnsyncedBytes::keep, 1);
    CHECK(read_file(dir.str("file")) == "syncednot");
  }
}

TEST_CASE("a failed write or sync is settled by looking at the disk again") {
  const bool full = GENERATE(true, false);
  const bool lasting = GENERATE(true, false);
  const auto status =
      full ? rocksdb::IOStatus::NoSpace("injected") : rocksdb::IOStatus::IOError("injected");
  int written_after_all = 0;
  int not_written = 0;
  int unknown = 0;
  // Steps of one append: the log's write, its sync, the witness.
  for (std::uint64_t step = 0; step < 3; ++step) {
    CAPTURE(step, full, lasting);
    MemoryDir dir;
    const auto fs = std::make_shared<FaultyFs>(dir.str());
    auto opened = open_on(dir.str("journal"), fs);
    REQUIRE(opened.has_value());
    auto pen = pen_for(session_id("demo"));
    Expected expected;
    const Append first = acquire(pen);
    expected.note(first, append_and_wait(**opened, first));
    const Append append = make_append(pen, 2);
    const std::uint64_t now = fs->steps() + step;
    fs->fail_steps(now, lasting ? now + 1000 : now, status);
    const auto result = append_and_wait(**opened, append);
    expected.note(append, result);
    fs->fail_steps(UINT64_MAX, 0, {});
    if (!result && result.error().code == ErrorCode::outcome_unknown) {
      ++unknown;
      CHECK(result.error().message.find("open the journal again") != std::string::npos);
      auto next = pen_for(session_id("demo"), result ? result->head : journal::Head{1, 1, {}});
      const auto refused = append_and_wait(**opened, notice(next, "refused"));
      REQUIRE_FALSE(refused.has_value());
      CHECK(refused.error().code == ErrorCode::outcome_unknown);
      CHECK_FALSE((*opened)->head(session_id("demo")).has_value());
    } else {
      if (result) ++written_after_all;
      if (!result) {
        ++not_written;
        CHECK(result.error().code == (full ? ErrorCode::no_space : ErrorCode::io));
        expected.unknown.clear();  // it says that nothing was written
      }
      // Usable at once, in the same process.
      auto next = pen_for(session_id("demo"), *(*opened)->head(session_id("demo")));
      const Append more = notice(next, "more");
      const auto appended = append_and_wait(**opened, more);
      INFO((appended ? "" : appended.error().message));
      REQUIRE(appended.has_value());
      expected.acknowledged = *event_bytes(**opened, session_id("demo"));
    }
    opened->reset();
    check_survivors(dir.str("journal"), expected);
  }
  // Each outcome happened: the tests above saw it.
  CHECK(written_after_all >= 1);
  if (lasting) CHECK(unknown >= 1);
  if (!lasting) CHECK(not_written >= 1);
}

TEST_CASE("a journal cannot be opened on a full disk, and can later") {
  MemoryDir dir;
  const auto fs = std::make_shared<FaultyFs>(dir.str());
  fs->fail_steps(2, UINT64_MAX - 1, rocksdb::IOStatus::NoSpace("injected"));
  const auto refused = open_on(dir.str("journal"), fs);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::no_space);
  fs->fail_steps(UINT64_MAX, 0, {});
  CHECK(open_on(dir.str("journal"), fs).has_value());
}

}  // namespace daybook::tests
