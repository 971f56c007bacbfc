// Journals written by every released version, which must be readable for ever.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>

#include "journal/rocks_journal.h"
#include "tests/support/build_paths.h"
#include "tests/support/journal_events.h"
#include "tests/support/sample_events.h"
#include "tests/support/temp_dir.h"
#include "tools/log_import.h"

namespace daybook::tests {
namespace {

namespace stdfs = std::filesystem;
using journal::append_and_wait;
using journal::Journal;
using journal::OpenMode;

const std::string kVersion1 = source_path("/tests/data/journals/v1");
/// Schema 1.1: imported sessions.
const std::string kVersion1Imported = source_path("/tests/data/journals/v1.1");
/// Written by `daybook import docs/examples/repair-session.jsonl` and `daybook replay run`: a
/// session with two compactions, and a replay of them.
const std::string kVersion1Compacted = source_path("/tests/data/journals/v1.2");

/// Written by `daybook import` of a Codex thread and of a fork of it.
const std::string kVersion1Forked = source_path("/tests/data/journals/v1.3");

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

/// RocksDB does not need them to open.
void drop_side_files(const std::string& folder) {
  for (const char* name : {"lock", "db/LOCK", "db/LOG"}) stdfs::remove(folder + "/" + name);
  for (const auto& item : stdfs::directory_iterator(folder + "/db")) {
    const std::string name = item.path().filename().string();
    if (name.starts_with("OPTIONS") || name.starts_with("LOG.old")) stdfs::remove(item.path());
  }
}

/// Puts one log fixture into a journal as `daybook import` does.
void import_fixture(const std::string& folder, const std::string& fixture, OpenMode mode) {
  const std::vector<std::string> paths = {source_path("/tests/data/logs/" + fixture)};
  const auto found = tools::discover_logs(paths);
  REQUIRE(found.has_value());
  REQUIRE(found->sources.size() == 1);
  const tools::LogSource& source = found->sources[0];
  auto opened = open_as(folder, mode);
  REQUIRE(opened.has_value());
  tools::JournalSink sink(opened->get(), {"test", nullptr}, source,
                          *tools::identity_of(source, {}));
  tools::LogReadOptions options;
  options.depth = tools::Depth::whole;
  REQUIRE(tools::read_log(source, options, sink).has_value());
  REQUIRE(sink.finish().has_value());
}

}  // namespace

TEST_CASE("write the golden journal of schema 1.1", "[.generate]") {
  REQUIRE_FALSE(stdfs::exists(kVersion1Imported));
  import_fixture(kVersion1Imported, "claude/compacted.jsonl", OpenMode::create);
  // Recovery moves the first session to tables; the second stays in the log.
  import_fixture(kVersion1Imported, "codex/rollout-2026-10-02T10-00-00-0e01.jsonl",
                 OpenMode::write);
  drop_side_files(kVersion1Imported);
}

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
  drop_side_files(kVersion1);
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

/// What schema 1.1 wrote of a session: its kinds, in order, and the figures of its calls.
struct Imported {
  std::string session;
  std::string log_session;
  std::string kinds;
  std::string calls;
  std::string hash;
};

std::string calls_of(const schema::Event& event) {
  const auto* responded = event.payload_as_ModelResponded();
  if (responded == nullptr || responded->usage() == nullptr) return "";
  const auto& usage = *responded->usage();
  return fmt::format("{}+{}>{} {}; ", usage.input_uncached().value_or(0),
                     usage.cache_read().value_or(0), usage.output().value_or(0),
                     schema::EnumNameAuthority(usage.authority()));
}

TEST_CASE("a journal of schema 1.1 is read, verified and continued") {
  TempDir dir;
  stdfs::copy(kVersion1Imported, dir.str("copy"), stdfs::copy_options::recursive);
  const std::vector<Imported> sessions = {
      {"claude-compacted", "compacted",
       "OwnerAcquired SessionImported TurnStarted ModelRequested ModelResponded ImportedLine "
       "CompactionCommitted TurnEnded TurnStarted ModelRequested ModelResponded TurnEnded ",
       "3+150000>100 exact; 9+12000>50 exact; ", "36c6c805947e50108fe13a18cc4206cc"},
      {"codex-0e01", "0e01",
       "OwnerAcquired SessionImported ImportedLine ImportedLine TurnStarted ModelRequested "
       "ModelResponded ImportedLine ImportedLine ModelRequested ModelResponded ImportedLine "
       "ImportedLine CompactionCommitted ModelRequested ModelResponded ImportedLine ImportedLine "
       "ImportedLine ModelRequested ModelResponded ImportedLine ImportedLine ",
       "1000+0>100 exact; 5000+0>300 exact; 300+100>20 exact; ",
       "73eb7a2b1cd45825055f0dcf723eb485"},
  };
  for (const OpenMode mode : {OpenMode::read_only, OpenMode::write}) {
    auto opened = open_as(dir.str("copy"), mode);
    INFO((opened ? "" : opened.error().message));
    REQUIRE(opened.has_value());
    CHECK((*opened)->verify({})->damage.empty());
    for (const Imported& each : sessions) {
      const SessionId session = session_id(each.session);
      std::string kinds;
      std::string calls;
      int with_line = 0;  // events that say which line they come from
      const auto read = (*opened)->read(session, 1, journal::ReadMode::strict, [&](const auto& it) {
        kinds += payload_name(*it.event) + " ";
        calls += calls_of(*it.event);
        if (const auto* header = it.event->payload_as_SessionImported(); header != nullptr) {
          CHECK(text_of(header->log_session()) == each.log_session);
        } else if (const auto* from = it.event->provenance(); from != nullptr) {
          const bool whole = from->line_sha256() != nullptr && from->line_sha256()->size() == 32;
          with_line += whole && from->at() > 0 && from->prefix() != nullptr ? 1 : 0;
        }
        return true;
      });
      REQUIRE(read.has_value());
      INFO(each.session);
      CHECK(kinds == each.kinds);
      CHECK(calls == each.calls);
      CHECK(with_line >= 4);
      CHECK((*opened)->head(session)->hash.hex() == each.hash);
      if (mode == OpenMode::write) {
        auto pen = pen_for(session, *(*opened)->head(session));
        CHECK(append_and_wait(**opened, acquire(pen)).has_value());
      }
    }
  }
}

TEST_CASE("a journal of schema 1.2 is read and verified") {
  TempDir dir;
  stdfs::copy(kVersion1Compacted, dir.str("copy"), stdfs::copy_options::recursive);
  struct Kept {
    const char* session;
    std::size_t events;
    const char* hash;
    std::map<std::string, int> kinds;  // of what 1.2 brought
  };
  const std::vector<Kept> sessions = {
      {"repair",
       71,
       "224e69bda59ad3b5393bac1004aa5a20",
       {{"CompactionStarted", 2}, {"CompactionAttempted", 3}, {"CompactionCommitted", 2}}},
      {"first",
       6,
       "65deb42b9dc1c4755d0eab9f5f4dcca1",
       {{"ReplayStarted", 1}, {"ReplayAttempted", 2}}},
  };
  for (const OpenMode mode : {OpenMode::read_only, OpenMode::write}) {
    auto opened = open_as(dir.str("copy"), mode);
    INFO((opened ? "" : opened.error().message));
    REQUIRE(opened.has_value());
    CHECK((*opened)->verify({})->damage.empty());
    for (const Kept& each : sessions) {
      INFO(each.session);
      std::size_t events = 0;
      std::map<std::string, int> kinds;
      REQUIRE((*opened)
                  ->read(session_id(each.session), 1, journal::ReadMode::strict,
                         [&](const auto& entry) {
                           ++events;
                           const std::string kind = payload_name(*entry.event);
                           if (each.kinds.contains(kind)) ++kinds[kind];
                           return true;
                         })
                  .has_value());
      CHECK(events == each.events);
      CHECK(kinds == each.kinds);
      CHECK((*opened)->head(session_id(each.session))->hash.hex() == each.hash);
    }
  }
}

TEST_CASE("a journal of schema 1.3 is read and verified") {
  TempDir dir;
  stdfs::copy(kVersion1Forked, dir.str("copy"), stdfs::copy_options::recursive);
  for (const OpenMode mode : {OpenMode::read_only, OpenMode::write}) {
    auto opened = open_as(dir.str("copy"), mode);
    INFO((opened ? "" : opened.error().message));
    REQUIRE(opened.has_value());
    CHECK((*opened)->verify({})->damage.empty());
    std::vector<std::pair<std::uint64_t, std::uint64_t>> answers;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> repeated;
    std::size_t events = 0;
    for (const char* session : {"codex-a1", "codex-b2"}) {
      REQUIRE((*opened)
                  ->read(session_id(session), 1, journal::ReadMode::strict,
                         [&](const auto& entry) {
                           ++events;
                           const auto& event = *entry.event;
                           if (event.payload_as_ModelResponded() != nullptr) {
                             answers.emplace_back(event.id()->hi(), event.id()->lo());
                           }
                           const auto* line = event.payload_as_ImportedLine();
                           if (line == nullptr || line->repeats() == nullptr) return true;
                           for (const schema::Uuid* id : *line->repeats()) {
                             repeated.emplace_back(id->hi(), id->lo());
                           }
                           return true;
                         })
                  .has_value());
    }
    CHECK(events == 20);
    REQUIRE(answers.size() == 2);
    // The fork's history ends with the original's answer.
    REQUIRE(repeated.size() == 2);
    CHECK(repeated[0] == answers[0]);
    CHECK((*opened)->head(session_id("codex-a1"))->hash.hex() ==
          "ce07b8ff5f25dd46e00d3d428cf6d2a0");
    CHECK((*opened)->head(session_id("codex-b2"))->hash.hex() ==
          "e41fd5e764b81a7c679df946d4766152");
  }
}

}  // namespace daybook::tests
