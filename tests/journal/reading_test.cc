// Strict and lenient reading, and `verify`, of journals that were tampered with behind RocksDB's
// checksums.
#include <rocksdb/db.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <optional>

#include "journal/keys.h"
#include "journal/rocks_journal.h"
#include "journal/store.h"
#include "tests/support/journal_events.h"
#include "tests/support/memory_dir.h"
#include "tests/support/memory_files.h"

namespace daybook::tests {
namespace {

using journal::append_and_wait;
using journal::Entry;
using journal::event_key;
using journal::Journal;
using journal::ReadMode;

/// A journal of one session with 6 events, two of them naming blobs.
class Tampered {
 public:
  Tampered() {
    auto opened = open();
    auto pen = pen_for(demo);
    must(*opened, acquire(pen));
    must(*opened, notice(pen, "two"));
    must(*opened, notice_with_blob(pen, std::string(2000, 'a')));
    must(*opened, notice(pen, "four"));
    must(*opened, notice_with_blob(pen, std::string(9000, 'b')));
    auto request = notice(pen, "six");
    request.request = journal::RequestKey{"s", "r", Digest{1, 2}};
    must(*opened, request);
    REQUIRE(opened->save_checkpoint(demo, "p", {2, "f", "state"}).has_value());
  }

  std::unique_ptr<Journal> open() {
    auto opened = journal::open_rocks_journal(
        {.folder = folder_, .owner = "test", .post = {}, .file_system = memory_files()});
    INFO((opened ? "" : opened.error().message));
    REQUIRE(opened.has_value());
    return std::move(*opened);
  }

  /// Changes the stored value of a key, or deletes it when `change` returns nothing.
  void tamper(const std::string& key,
              const std::function<std::optional<std::string>(std::string)>& change) {
    const auto env = rocksdb::NewCompositeEnv(memory_files());
    const auto store =
        journal::open_store(folder_ + "/db", env.get(), journal::StoreMode::writer, false);
    REQUIRE(store.has_value());
    auto family = key.size() == 16 ? (*store)->blobs() : (*store)->main();
    std::string value;
    REQUIRE((*store)->db().Get({}, family, key, &value).ok());
    const auto changed = change(value);
    REQUIRE((changed ? (*store)->db().Put({}, family, key, *changed)
                     : (*store)->db().Delete({}, family, key))
                .ok());
  }

  static void must(Journal& journal, journal::Append append) {
    REQUIRE(append_and_wait(journal, std::move(append)).has_value());
  }

  const SessionId demo = session_id("demo");

 private:
  MemoryDir dir_;
  std::string folder_ = dir_.str("journal");
};

std::optional<std::string> flip_middle(std::string value) {
  value[value.size() / 2] ^= 1;
  return value;
}
std::optional<std::string> remove(const std::string&) {
  return {};
}

struct Seen {
  std::vector<std::uint64_t> good;
  std::vector<std::uint64_t> holes;
};

Seen lenient(Journal& journal, const SessionId& session) {
  Seen seen;
  const auto read = journal.read(session, 1, ReadMode::lenient, [&](const Entry& entry) {
    (entry.event != nullptr ? seen.good : seen.holes).push_back(entry.version);
    CHECK((entry.event == nullptr) == !entry.damage.empty());
    return true;
  });
  CHECK(read.has_value());
  return seen;
}

void check_damage(Tampered& tampered, const std::string& where) {
  const auto report = tampered.open()->verify({});
  REQUIRE(report.has_value());
  std::vector<std::string> places;
  for (const journal::Finding& finding : report->damage) places.push_back(finding.where);
  CAPTURE(places);
  CHECK(std::find(places.begin(), places.end(), where) != places.end());
}

}  // namespace

TEST_CASE("damage in an event is an error that names it, or a visible hole") {
  Tampered tampered;
  std::vector<std::uint64_t> holes = {4};
  SECTION("a checksum that does not agree") {
    tampered.tamper(event_key(tampered.demo, 4), flip_middle);
  }
  SECTION("a missing event") {
    tampered.tamper(event_key(tampered.demo, 4), remove);
  }
  SECTION("an event with a good checksum that does not link to the one before") {
    tampered.tamper(event_key(tampered.demo, 4), [](std::string value) {
      value.resize(value.size() - 8);
      const auto text = value.find("four");
      value.replace(text, 4, "FOUR");
      journal::seal(value);
      return std::optional(value);
    });
    holes = {5};  // the event after it says that it changed
  }
  SECTION("bytes that are no event, with a good checksum") {
    tampered.tamper(event_key(tampered.demo, 4), [](const std::string&) {
      std::string value = "no event";
      journal::seal(value);
      return std::optional(value);
    });
  }
  const auto opened = tampered.open();
  std::vector<std::uint64_t> strict;
  const auto read = opened->read(tampered.demo, 1, ReadMode::strict, [&](const Entry& entry) {
    strict.push_back(entry.version);
    return true;
  });
  REQUIRE_FALSE(read.has_value());
  CHECK(read.error().code == ErrorCode::corrupt);
  const std::string where = "session demo, version " + std::to_string(holes[0]);
  CHECK(read.error().message.find(where) == 0);
  CHECK(strict.size() == holes[0] - 1);
  const Seen seen = lenient(*opened, tampered.demo);
  CHECK(seen.holes == holes);
  CHECK(seen.good.size() == 5);
  const auto report = opened->verify({});
  REQUIRE_FALSE(report->damage.empty());
  CHECK(report->damage[0].where == where);
}

TEST_CASE("a missing end or beginning of a session is noticed") {
  Tampered tampered;
  SECTION("the end") {
    // The events alone do not tell; the order index does.
    tampered.tamper(event_key(tampered.demo, 6), remove);
    const auto opened = tampered.open();
    CHECK(event_bytes(*opened, tampered.demo)->size() == 5);
    const auto report = opened->verify({});
    CHECK(std::ranges::any_of(report->damage, [](const auto& finding) {
      return finding.where == "session demo" &&
             finding.what.find("up to version 6, its last event is 5") != std::string::npos;
    }));
  }
  SECTION("a damaged end") {
    tampered.tamper(event_key(tampered.demo, 6), flip_middle);
    const auto opened = tampered.open();
    CHECK(opened->head(tampered.demo).error().code == ErrorCode::corrupt);
    CHECK_FALSE(event_bytes(*opened, tampered.demo).has_value());
    CHECK(lenient(*opened, tampered.demo).good.size() == 5);
    const auto sessions = opened->sessions("");
    REQUIRE(sessions.has_value());
    CHECK(sessions->front().head.version == 6);
    CHECK(sessions->front().head.hash.is_zero());
    auto pen = pen_for(tampered.demo, journal::Head{6, 1, {}});
    CHECK(append_and_wait(*opened, acquire(pen)).error().code == ErrorCode::corrupt);
  }
  SECTION("the beginning") {
    tampered.tamper(event_key(tampered.demo, 1), remove);
    const auto opened = tampered.open();
    CHECK_FALSE(event_bytes(*opened, tampered.demo).has_value());
    CHECK(lenient(*opened, tampered.demo).holes == std::vector<std::uint64_t>{1});
  }
}

TEST_CASE("reading from the middle checks the link to the event before") {
  Tampered tampered;
  tampered.tamper(event_key(tampered.demo, 4), [](std::string value) {
    value.resize(value.size() - 8);
    value.replace(value.find("four"), 4, "FOUR");
    journal::seal(value);
    return std::optional(value);
  });
  const auto opened = tampered.open();
  const auto all = [](const Entry&) { return true; };
  CHECK_FALSE(opened->read(tampered.demo, 5, ReadMode::strict, all).has_value());
  CHECK(opened->read(tampered.demo, 6, ReadMode::strict, all).has_value());
}

TEST_CASE("verify finds damage wherever it is") {
  Tampered tampered;
  const std::string small(2000, 'a');
  const std::string big(9000, 'b');
  SECTION("nothing, when there is none") {
    const auto report = tampered.open()->verify({});
    CHECK(report->sessions == 1);
    CHECK(report->events == 6);
    CHECK(report->blobs == 2);
    CHECK(report->blob_bytes == 11'000);
    CHECK(report->checkpoints == 1);
    CHECK(report->damage.empty());
  }
  SECTION("a blob's bytes") {
    tampered.tamper(journal::blob_key(Digest::of(small)), flip_middle);
    CHECK(tampered.open()->blob(BlobRef::of(small)).error().code == ErrorCode::corrupt);
    check_damage(tampered, "blob " + Digest::of(small).hex());
  }
  SECTION("a missing blob") {
    tampered.tamper(journal::blob_key(Digest::of(big)), remove);
    check_damage(tampered, "session demo, version 5");
  }
  SECTION("a damaged order record") {
    tampered.tamper(journal::order_key(3), flip_middle);
    CHECK(tampered.open()->tail(1, [](const Entry&) { return true; }).error().code ==
          ErrorCode::corrupt);
    check_damage(tampered, "position 3");
  }
  SECTION("a missing order record") {
    tampered.tamper(journal::order_key(3), remove);
    CHECK_FALSE(tampered.open()->tail(1, [](const Entry&) { return true; }).has_value());
    check_damage(tampered, "position 3");
  }
  SECTION("a request whose answer does not exist") {
    tampered.tamper(journal::request_key("s", "r"), [&](const std::string&) {
      return journal::encode_request({Digest{1, 2}, tampered.demo, 7});
    });
    check_damage(tampered, "request sr");
  }
  SECTION("a damaged request") {
    tampered.tamper(journal::request_key("s", "r"), flip_middle);
    CHECK(tampered.open()->find_request("s", "r").error().code == ErrorCode::corrupt);
    check_damage(tampered, "request sr");
  }
  SECTION("a damaged checkpoint, which a reader takes for none") {
    tampered.tamper(journal::checkpoint_key(tampered.demo, "p", 0), flip_middle);
    CHECK_FALSE(tampered.open()->load_checkpoint(tampered.demo, "p")->has_value());
    check_damage(tampered, "checkpoint p of session demo");
  }
}

TEST_CASE("a blob that is stored with other bytes refuses the append that brings it again") {
  Tampered tampered;
  const std::string small(2000, 'a');
  tampered.tamper(journal::blob_key(Digest::of(small)), flip_middle);
  const auto opened = tampered.open();
  auto pen = pen_for(tampered.demo, *opened->head(tampered.demo));
  const auto refused = append_and_wait(*opened, notice_with_blob(pen, small));
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code == ErrorCode::corrupt);
  CHECK(opened->head(tampered.demo)->version == 6);
}

TEST_CASE("an event of a kind from the future is kept and visited") {
  Tampered tampered;
  const auto opened = tampered.open();
  const journal::Head head = *opened->head(tampered.demo);
  flatbuffers::FlatBufferBuilder builder;
  const auto text = builder.CreateString("what a newer build said");
  const auto payload = schema::CreateNoticeAdded(builder, text);
  const auto session = builder.CreateString("demo");
  const schema::Uuid id(1, 2);
  const schema::Digest prev = head.hash.fb();
  schema::EventBuilder event(builder);
  event.add_schema_major(1);
  event.add_schema_minor(9);
  event.add_id(&id);
  event.add_session(session);
  event.add_version(7);
  event.add_epoch(1);
  event.add_prev_hash(&prev);
  event.add_payload_type(static_cast<schema::Payload>(200));
  event.add_payload(payload.Union());
  schema::FinishEventBuffer(builder, event.Finish());
  const std::string bytes(reinterpret_cast<const char*>(builder.GetBufferPointer()),
                          builder.GetSize());
  Tampered::must(*opened, {.session = tampered.demo,
                           .expected_version = 6,
                           .epoch = 1,
                           .acquire = false,
                           .events = {bytes},
                           .blobs = {},
                           .request = {}});
  std::string kind;
  const auto read = opened->read(tampered.demo, 7, ReadMode::strict, [&](const Entry& entry) {
    kind = payload_name(*entry.event);
    CHECK(as_text(entry.bytes) == bytes);
    return true;
  });
  REQUIRE(read.has_value());
  CHECK(kind == "Unknown(200)");
  CHECK(opened->verify({})->damage.empty());
}

}  // namespace daybook::tests
