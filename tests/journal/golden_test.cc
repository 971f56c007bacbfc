// Journals written by every released version, which must be readable for ever.
#include <catch2/catch.hpp>

#include "journal/rocks_journal.h"
#include "tests/support/build_paths.h"
#include "tests/support/journal_events.h"
#include "tests/support/sample_events.h"
#include "tests/support/temp_dir.h"

namespace daybook::tests {
namespace {

namespace stdfs = std::filesystem;
using journal::append_and_wait;
using journal::Journal;
using journal::OpenMode;

const std::string kVersion1 = source_path("/tests/data/journals/v1");

Result<std::unique_ptr<Journal>> open_as(const std::string& folder, OpenMode mode) {
  return journal::open_rocks_journal(
      {.folder = folder, .mode = mode, .owner = "test", .post = {}, .file_system = {}});
}

/// What version 1 wrote, as seen on the day it was released: each event's kind, and the bytes of a
/// blob that it names, if any.
struct Line {
  std::string kind;
  std::string blob;
};
const std::vector<Line> kVersion1Events = {
    {"SessionStarted", ""},
    {"NoticeAdded", ""},
    {"OwnerAcquired", ""},
    {"OwnerReleased", ""},
    {"PolicyChanged", ""},
    {"TurnStarted", "TurnStarted blob 0"},
    {"TurnEnded", "TurnEnded blob 0"},
    {"ModelRequested", "ModelRequested blob 3"},
    {"ModelResponded", "ModelResponded blob 3"},
    {"ModelFailed", "ModelFailed blob 0"},
    {"ModelAbandoned", ""},
    {"RateLimitObserved", ""},
    {"ToolDecided", "ToolDecided blob 0"},
    {"ToolDispatched", "ToolDispatched blob 0"},
    {"ToolCompleted", "ToolCompleted blob 1"},
    {"ToolOutcomeUnknown", ""},
    {"ToolReconciled", "ToolReconciled blob 0"},
    {"ApprovalRequested", ""},
    {"ApprovalDecided", ""},
    {"ApprovalCleared", ""},
};

}  // namespace

TEST_CASE("write the golden journal of this version", "[.generate]") {
  REQUIRE_FALSE(stdfs::exists(kVersion1));
  const SessionId session = session_id("golden");
  std::uint64_t version = 0;
  auto opened = open_as(kVersion1, OpenMode::create);
  for (const SampleEvent& sample : sample_events(session)) {
    if (version == 10) {
      // Recovery moves the first half to tables; the second stays in the log.
      opened->reset();
      opened = open_as(kVersion1, OpenMode::write);
    }
    REQUIRE(opened.has_value());
    journal::Append append{.session = session,
                           .expected_version = version,
                           .epoch = 1,
                           .acquire = version == 0,
                           .events = {sample.bytes},
                           .blobs = sample.blobs,
                           .request = {}};
    if (version == 1) append.request = journal::RequestKey{"steer", "r1", Digest{1, 2}};
    REQUIRE(append_and_wait(**opened, append).has_value());
    ++version;
  }
  REQUIRE((*opened)->save_checkpoint(session, "p", {3, "code", "state"}).has_value());
  opened->reset();
  // RocksDB does not need them to open.
  for (const char* name : {"lock", "db/LOCK"}) stdfs::remove(kVersion1 + "/" + name);
  for (const auto& item : stdfs::directory_iterator(kVersion1 + "/db")) {
    if (item.path().filename().string().starts_with("OPTIONS")) stdfs::remove(item.path());
  }
}

TEST_CASE("a journal of version 1 is read, verified and continued") {
  TempDir dir;
  stdfs::copy(kVersion1, dir.str("copy"), stdfs::copy_options::recursive);
  const SessionId session = session_id("golden");
  for (const OpenMode mode : {OpenMode::read_only, OpenMode::write}) {
    auto opened = open_as(dir.str("copy"), mode);
    INFO((opened ? "" : opened.error().message));
    REQUIRE(opened.has_value());
    std::vector<std::string> kinds;
    const auto read = (*opened)->read(session, 1, journal::ReadMode::strict, [&](const auto& it) {
      kinds.push_back(payload_name(*it.event));
      return true;
    });
    REQUIRE(read.has_value());
    REQUIRE(kinds.size() == kVersion1Events.size());
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      CHECK(kinds[i] == kVersion1Events[i].kind);
      const std::string& blob = kVersion1Events[i].blob;
      if (!blob.empty()) CHECK(*(*opened)->blob(BlobRef::of(blob)) == blob);
    }
    // The chain's end depends on every byte before it.
    CHECK((*opened)->head(session)->hash.hex() == "035c59c4719ff980b162609a6b8a1997");
    CHECK((*(*opened)->find_request("steer", "r1"))->version == 2);
    CHECK((*(*opened)->load_checkpoint(session, "p"))->state == "state");
    CHECK((*opened)->verify({})->damage.empty());
    if (mode == OpenMode::write) {
      auto pen = pen_for(session, *(*opened)->head(session));
      CHECK(append_and_wait(**opened, acquire(pen)).has_value());
    }
  }
}

}  // namespace daybook::tests
