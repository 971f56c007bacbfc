#include "tests/journal/conformance.h"

#include <atomic>
#include <barrier>
#include <catch2/catch.hpp>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "tests/support/journal_events.h"

namespace daybook::tests {
namespace {

using journal::Append;
using journal::append_and_wait;
using journal::Appended;
using journal::Checkpoint;
using journal::Entry;
using journal::Head;
using journal::Journal;
using journal::ReadMode;
using journal::RequestKey;

ErrorCode code_of(const Result<Appended>& result) {
  REQUIRE_FALSE(result.has_value());
  return result.error().code;
}

void must(Journal& journal, Append append) {
  const auto result = append_and_wait(journal, std::move(append));
  INFO((result ? "" : result.error().message));
  REQUIRE(result.has_value());
}

std::vector<std::uint64_t> versions(Journal& journal, const SessionId& session,
                                    std::uint64_t from) {
  std::vector<std::uint64_t> seen;
  const auto read = journal.read(session, from, ReadMode::strict, [&](const Entry& entry) {
    seen.push_back(entry.version);
    return true;
  });
  REQUIRE(read.has_value());
  return seen;
}

void appends(Journal& journal) {
  const SessionId demo = session_id("demo");
  auto pen = pen_for(demo);
  SECTION("an append raises version, epoch and position, and is read back byte by byte") {
    REQUIRE(journal.head(demo)->version == 0);
    const Append first = acquire(pen);
    const auto one = append_and_wait(journal, first);
    REQUIRE(one.has_value());
    CHECK(one->head.version == 1);
    CHECK(one->head.epoch == 1);
    CHECK(one->position == 1);
    CHECK(one->head.hash == Digest::of(first.events[0]));
    const Append second = notice(pen, "hello");
    const auto two = append_and_wait(journal, second);
    REQUIRE(two.has_value());
    CHECK(two->head.version == 2);
    CHECK(two->position == 2);
    CHECK(journal.head(demo)->hash == Digest::of(second.events[0]));
    CHECK(*event_bytes(journal, demo) ==
          std::vector<std::string>{first.events[0], second.events[0]});
  }
  SECTION("a wrong expected version is a conflict and leaves nothing") {
    must(journal, acquire(pen));
    auto stale = pen_for(demo, *journal.head(demo));
    must(journal, notice(pen, "first"));
    CHECK(code_of(append_and_wait(journal, notice(stale, "second"))) == ErrorCode::conflict);
    auto early = pen_for(demo, Head{9, 1, {}});
    CHECK(code_of(append_and_wait(journal, notice(early, "third"))) == ErrorCode::conflict);
    CHECK(event_bytes(journal, demo)->size() == 2);
  }
  SECTION("an older epoch is fenced, whatever version it names") {
    must(journal, acquire(pen));
    auto taker = pen_for(demo, *journal.head(demo));
    must(journal, acquire(taker, "taker"));
    CHECK(journal.head(demo)->epoch == 2);
    CHECK(code_of(append_and_wait(journal, notice(pen, "late"))) == ErrorCode::fenced);
    Head seen = *journal.head(demo);
    seen.epoch = 1;
    auto zombie = pen_for(demo, seen);
    CHECK(code_of(append_and_wait(journal, notice(zombie, "late"))) == ErrorCode::fenced);
    CHECK(event_bytes(journal, demo)->size() == 2);
  }
  SECTION("an epoch that nobody acquired is refused, and so is a jump") {
    auto unowned = pen_for(demo, Head{0, 1, {}});
    CHECK(code_of(append_and_wait(journal, notice(unowned, "x"))) == ErrorCode::invalid_argument);
    auto jump = pen_for(demo, Head{0, 1, {}});
    CHECK(code_of(append_and_wait(journal, acquire(jump))) == ErrorCode::invalid_argument);
  }
  SECTION("a malformed append is refused whole") {
    must(journal, acquire(pen));
    const Head head = *journal.head(demo);
    const auto refused = [&](Append append) {
      const ErrorCode code = code_of(append_and_wait(journal, std::move(append)));
      return code == ErrorCode::invalid_argument && journal.head(demo)->version == 1;
    };
    auto other = pen_for(session_id("other"), head);
    auto fresh = [&] { return pen_for(demo, head); };
    auto make = [&] {
      auto writer = fresh();
      return notice(writer, "x");
    };
    Append wrong = make();
    wrong.events.clear();
    CHECK(refused(wrong));
    wrong = make();
    wrong.events = notice(other, "x").events;  // another session's event
    CHECK(refused(wrong));
    wrong = make();
    wrong.events.push_back(make().events[0]);  // the second repeats the first's version
    CHECK(refused(wrong));
    auto unlinked = pen_for(demo, Head{1, 1, Digest{1, 2}});
    wrong = make();
    wrong.events = notice(unlinked, "x").events;
    CHECK(refused(wrong));
    auto other_epoch = pen_for(demo, Head{1, 7, head.hash});
    wrong = make();
    wrong.events = notice(other_epoch, "x").events;
    CHECK(refused(wrong));
    wrong = make();
    wrong.events[0].resize(wrong.events[0].size() / 2);
    CHECK(refused(wrong));
    wrong = make();
    wrong.blobs.push_back({BlobRef::of("one"), "two"});
    CHECK(refused(wrong));
    CHECK(journal.blob(BlobRef::of("two")).error().code == ErrorCode::not_found);
  }
}

void batches(Journal& journal) {
  SECTION("refused appends do not harm accepted ones that arrive with them") {
    constexpr int kSessions = 64;
    std::vector<Result<Appended>> good(kSessions, fail(ErrorCode::io, "unset"));
    std::vector<Result<Appended>> bad(kSessions, fail(ErrorCode::io, "unset"));
    std::barrier<> done(2);
    std::atomic<int> left = 2 * kSessions;
    const auto into = [&](Result<Appended>& slot) {
      return [&](Result<Appended> result) {
        slot = std::move(result);
        if (--left == 0) std::ignore = done.arrive();
      };
    };
    for (std::size_t i = 0; i < kSessions; ++i) {
      auto pen = pen_for(session_id("s" + std::to_string(i)));
      journal.append(acquire(pen), into(good[i]));
      auto late = pen_for(session_id("s" + std::to_string(i)));
      Append refused = acquire(late);
      refused.blobs.push_back({BlobRef::of(std::to_string(i)), std::to_string(i)});
      journal.append(std::move(refused), into(bad[i]));
    }
    done.arrive_and_wait();
    std::set<std::uint64_t> positions;
    for (std::size_t i = 0; i < kSessions; ++i) {
      REQUIRE(good[i].has_value());
      positions.insert(good[i]->position);
      CHECK(code_of(bad[i]) == ErrorCode::conflict);
      CHECK_FALSE(journal.blob(BlobRef::of(std::to_string(i))).has_value());
    }
    CHECK(positions.size() == kSessions);
    CHECK(*positions.rbegin() == kSessions);
  }
  SECTION("an append may build on one that is still queued") {
    auto pen = pen_for(session_id("demo"));
    journal.append(acquire(pen), {});
    for (int i = 0; i < 200; ++i) journal.append(notice(pen, std::to_string(i)), {});
    must(journal, notice(pen, "last"));
    CHECK(journal.head(session_id("demo"))->version == 202);
  }
}

void races(Journal& journal) {
  SECTION("of writers that expect the same version exactly one wins, 500 rounds") {
    constexpr int kThreads = 4;
    constexpr int kRounds = 500;
    const SessionId demo = session_id("contested");
    std::vector<int> wins(kRounds, 0);
    std::mutex mutex;
    std::barrier<> round_start(kThreads);
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        for (std::size_t round = 0; round < kRounds; ++round) {
          round_start.arrive_and_wait();
          auto pen = pen_for(demo, *journal.head(demo));
          round_start.arrive_and_wait();  // everybody has read the same head
          const auto result = append_and_wait(journal, acquire(pen, std::to_string(t)));
          const std::lock_guard lock(mutex);
          if (result) ++wins[round];
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wins == std::vector<int>(kRounds, 1));
    CHECK(journal.head(demo)->version == kRounds);
    CHECK(journal.head(demo)->epoch == kRounds);
  }
  SECTION("64 sessions written at once keep their own order and share one order of positions") {
    constexpr int kSessions = 64;
    constexpr int kEvents = 10;
    std::vector<std::thread> threads;
    for (int s = 0; s < kSessions; ++s) {
      threads.emplace_back([&journal, s] {
        auto pen = pen_for(session_id("s" + std::to_string(s)));
        bool good = append_and_wait(journal, acquire(pen)).has_value();
        for (int i = 1; i < kEvents && good; ++i) {
          good = append_and_wait(journal, notice(pen, std::to_string(i))).has_value();
        }
        DAYBOOK_CHECK(good);
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::map<std::string, std::uint64_t> last;
    std::uint64_t position = 0;
    const auto read = journal.tail(1, [&](const Entry& entry) {
      CHECK(entry.position == ++position);
      CHECK(entry.version == ++last[std::string(text_of(entry.event->session()))]);
      return true;
    });
    REQUIRE(read.has_value());
    CHECK(position == kSessions * kEvents);
    CHECK(journal.sessions("")->size() == kSessions);
    CHECK(journal.verify({})->damage.empty());
  }
}

void reads(Journal& journal) {
  auto a = pen_for(session_id("a"));
  auto ab = pen_for(session_id("ab"));
  must(journal, acquire(a));
  must(journal, acquire(ab));
  for (int i = 0; i < 5; ++i) {
    must(journal, notice(a, std::to_string(i)));
    must(journal, notice(ab, std::to_string(i)));
  }
  SECTION("reading starts and stops where asked, within its own session") {
    CHECK(versions(journal, session_id("a"), 1) == std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6});
    CHECK(versions(journal, session_id("a"), 5) == std::vector<std::uint64_t>{5, 6});
    CHECK(versions(journal, session_id("a"), 7).empty());
    CHECK(versions(journal, session_id("nobody"), 1).empty());
    int seen = 0;
    const auto stopped = journal.read(session_id("a"), 1, ReadMode::strict,
                                      [&](const Entry&) { return ++seen < 3; });
    CHECK(stopped.has_value());
    CHECK(seen == 3);
  }
  SECTION("the tail starts at any position and counts on") {
    std::vector<std::uint64_t> positions;
    const auto read = journal.tail(9, [&](const Entry& entry) {
      positions.push_back(entry.position);
      return true;
    });
    REQUIRE(read.has_value());
    CHECK(positions == std::vector<std::uint64_t>{9, 10, 11, 12});
    CHECK(journal.tail(13, [](const Entry&) { return false; }).has_value());
  }
  SECTION("sessions are listed by name and prefix") {
    auto b = pen_for(session_id("b"));
    must(journal, acquire(b));
    const auto all = journal.sessions("");
    REQUIRE(all->size() == 3);
    CHECK((*all)[0].session.str() == "a");
    CHECK((*all)[1].session.str() == "ab");
    CHECK((*all)[2].head.version == 1);
    CHECK(journal.sessions("a")->size() == 2);
    CHECK(journal.sessions("z")->empty());
  }
  SECTION("a visitor may ask the journal for more") {
    std::size_t heads = 0;
    const auto read = journal.read(session_id("a"), 1, ReadMode::lenient, [&](const Entry& entry) {
      heads += journal.head(session_id("ab"))->version;
      return entry.event != nullptr;
    });
    CHECK(read.has_value());
    CHECK(heads == 36);
  }
}

void blobs(Journal& journal) {
  auto pen = pen_for(session_id("demo"));
  must(journal, acquire(pen));
  SECTION("a blob is stored once and read by its digest") {
    const std::string bytes(100'000, 'x');
    must(journal, notice_with_blob(pen, bytes));
    must(journal, notice_with_blob(pen, bytes));
    CHECK(*journal.blob(BlobRef::of(bytes)) == bytes);
    CHECK(journal.blob(BlobRef::of("never stored")).error().code == ErrorCode::not_found);
    BlobRef lied = BlobRef::of(bytes);
    lied.size = 5;
    CHECK(journal.blob(lied).error().code == ErrorCode::corrupt);
    const auto report = journal.verify({});
    CHECK(report->blobs == 1);
    CHECK(report->blob_bytes == 100'000);
    CHECK(report->unreferenced_blobs == 0);
    CHECK(report->damage.empty());
  }
  SECTION("contents move to blobs by themselves when long, and come back the same") {
    journal::Batch batch;
    const std::string small(kInlineBytes, 's');
    const std::string big(kInlineBytes + 1, 'b');
    const auto small_content = batch.content(small);
    const auto big_content = batch.content(big);
    CHECK(small_content->blob == nullptr);
    REQUIRE(big_content->blob != nullptr);
    CHECK(big_content->bytes.empty());
    schema::TurnEndedT ended;
    ended.answer = std::make_unique<schema::ContentT>(*big_content);
    batch.add(draft(std::move(ended)));
    must(journal, pen.next(std::move(batch)));
    const auto read =
        journal.read(session_id("demo"), 2, ReadMode::strict, [&](const Entry& entry) {
          CHECK(*content_bytes(journal, entry.event->payload_as_TurnEnded()->answer()) == big);
          return true;
        });
    CHECK(read.has_value());
    CHECK(content_bytes(journal, static_cast<const schema::Content*>(nullptr))->empty());
  }
  SECTION("a payload of 20 MB and an empty one") {
    std::string bytes(20 << 20, '\0');
    for (std::size_t i = 0; i < bytes.size(); i += 7) bytes[i] = static_cast<char>(i);
    must(journal, notice_with_blob(pen, bytes));
    must(journal, notice_with_blob(pen, ""));
    must(journal, notice(pen, bytes.substr(0, 5 << 20)));
    CHECK(*journal.blob(BlobRef::of(bytes)) == bytes);
    CHECK(journal.blob(BlobRef::of(""))->empty());
    CHECK(event_bytes(journal, session_id("demo"))->size() == 4);
  }
  SECTION("a blob nobody names is counted, one that is missing is damage") {
    Append extra = notice(pen, "x");
    extra.blobs.push_back({BlobRef::of("stray"), "stray"});
    must(journal, extra);
    Append lost = notice_with_blob(pen, "promised");
    lost.blobs.clear();
    must(journal, lost);
    const auto report = journal.verify({});
    CHECK(report->unreferenced_blobs == 1);
    REQUIRE(report->damage.size() == 1);
    CHECK(report->damage[0].where == "session demo, version 3");
    CHECK(report->damage[0].what.find(Digest::of("promised").hex()) != std::string::npos);
  }
}

void requests(JournalPlace& place) {
  auto journal = place.open();
  const SessionId demo = session_id("demo");
  auto pen = pen_for(demo);
  must(*journal, acquire(pen));
  Append first = notice(pen, "first");
  first.request = RequestKey{"steer", "r1", Digest::of("content")};
  must(*journal, first);

  SECTION("the first answer is found for ever, and the id is never answered again") {
    for (int round = 0; round < 2; ++round) {
      const auto record = journal->find_request("steer", "r1");
      REQUIRE(record->has_value());
      CHECK((*record)->content == Digest::of("content"));
      CHECK((*record)->session == demo);
      CHECK((*record)->version == 2);
      auto again = pen_for(demo, *journal->head(demo));
      Append same = notice(again, "again");
      same.request = first.request;
      const auto known = append_and_wait(*journal, same);
      CHECK(code_of(known) == ErrorCode::conflict);
      CHECK(known.error().message.find("known") != std::string::npos);
      same.request->content = Digest::of("other");
      const auto other = append_and_wait(*journal, same);
      CHECK(code_of(other) == ErrorCode::conflict);
      CHECK(other.error().message.find("other content") != std::string::npos);
      CHECK(journal->head(demo)->version == 2);
      journal.reset();
      journal = place.open();
    }
  }
  SECTION("the same id in another scope is another request") {
    auto more = pen_for(demo, *journal->head(demo));
    Append scoped = notice(more, "scoped");
    scoped.request = RequestKey{"run", "r1", Digest::of("content")};
    must(*journal, scoped);
    CHECK((*journal->find_request("run", "r1"))->version == 3);
    // Scope and id do not run into each other.
    CHECK_FALSE(journal->find_request("ru", "nr1")->has_value());
  }
  SECTION("two queued appends with one id: one is answered") {
    auto more = pen_for(demo, *journal->head(demo));
    std::vector<Append> both;
    for (int i = 0; i < 2; ++i) {
      both.push_back(notice(more, "twin"));
      both.back().request = RequestKey{"steer", "r2", Digest::of("content")};
    }
    Result<Appended> one = fail(ErrorCode::io, "unset");
    journal->append(both[0], [&](Result<Appended> result) { one = std::move(result); });
    CHECK(code_of(append_and_wait(*journal, both[1])) == ErrorCode::conflict);
    CHECK(one.has_value());
  }
}

void reopening(JournalPlace& place) {
  SECTION("everything is there after reopening, and the chain goes on") {
    auto journal = place.open();
    auto pen = pen_for(session_id("demo"));
    must(*journal, acquire(pen));
    must(*journal, notice_with_blob(pen, std::string(9000, 'z')));
    const auto before = everything(*journal);
    REQUIRE(before.has_value());
    journal.reset();
    journal = place.open();
    CHECK(*everything(*journal) == *before);
    auto next = pen_for(session_id("demo"), *journal->head(session_id("demo")));
    const auto appended = append_and_wait(*journal, acquire(next, "second"));
    REQUIRE(appended.has_value());
    CHECK(appended->position == 3);
    CHECK(appended->head.epoch == 2);
    CHECK(journal->verify({})->damage.empty());
  }
  SECTION("queued appends are finished before the journal closes") {
    auto journal = place.open();
    auto pen = pen_for(session_id("demo"));
    std::atomic<int> told = 0;
    const auto count = [&](const Result<Appended>& result) { told += result.has_value() ? 1 : 0; };
    journal->append(acquire(pen), count);
    for (int i = 0; i < 300; ++i) journal->append(notice(pen, std::to_string(i)), count);
    journal.reset();
    CHECK(told == 301);
    CHECK(place.open()->head(session_id("demo"))->version == 301);
  }
}

void checkpoints(JournalPlace& place) {
  auto journal = place.open();
  const SessionId demo = session_id("demo");
  auto pen = pen_for(demo);
  must(*journal, acquire(pen));
  SECTION("a checkpoint is loaded as saved, by session and projection") {
    CHECK_FALSE(journal->load_checkpoint(demo, "cost")->has_value());
    REQUIRE(journal->save_checkpoint(demo, "cost", {1, "v1", std::string("st\0ate", 6)}));
    REQUIRE(journal->save_checkpoint(demo, "cost2", {1, "v1", "other"}));
    const auto loaded = journal->load_checkpoint(demo, "cost");
    REQUIRE(loaded->has_value());
    CHECK((*loaded)->version == 1);
    CHECK((*loaded)->fingerprint == "v1");
    CHECK((*loaded)->state == std::string("st\0ate", 6));
  }
  SECTION("a checkpoint of any size replaces another of any size") {
    for (const std::size_t size : {0, 1, 200'000, 65'000, 131'072, 5'000'000, 70'000, 3}) {
      std::string state(size, '\0');
      for (std::size_t i = 0; i < size; ++i) state[i] = static_cast<char>(i % 251);
      REQUIRE(journal->save_checkpoint(demo, "p", {1, "f", state}));
      REQUIRE(journal->save_checkpoint(demo, "p2", {1, "f", "beside"}));
      const auto loaded = journal->load_checkpoint(demo, "p");
      REQUIRE(loaded->has_value());
      CHECK((*loaded)->state == state);
      CHECK((*journal->load_checkpoint(demo, "p2"))->state == "beside");
      const auto report = journal->verify({});
      CHECK(report->damage.empty());
      CHECK(report->checkpoints == 2);
    }
  }
  SECTION("verify compares checkpoints with the fold") {
    REQUIRE(journal->save_checkpoint(demo, "good", {1, "f", "right"}));
    REQUIRE(journal->save_checkpoint(demo, "foreign", {1, "older build", "anything"}));
    const journal::Refold refold =
        [](const SessionId&, std::string_view,
           const Checkpoint& checkpoint) -> Result<std::optional<std::string>> {
      if (checkpoint.fingerprint != "f") return std::optional<std::string>();
      return std::optional<std::string>("right");
    };
    CHECK(journal->verify(refold)->damage.empty());
    CHECK(journal->verify(refold)->checkpoints == 2);
    REQUIRE(journal->save_checkpoint(demo, "bad", {1, "f", "wrong"}));
    REQUIRE(journal->save_checkpoint(demo, "beyond", {7, "f", "right"}));
    const auto report = journal->verify(refold);
    REQUIRE(report->damage.size() == 2);
    CHECK(report->damage[0].where == "checkpoint bad of session demo");
    CHECK(report->damage[1].where == "checkpoint beyond of session demo");
  }
}

}  // namespace

void journal_conformance(const MakePlace& make_place) {
  const auto place = make_place();
  SECTION("appends") {
    appends(*place->open());
  }
  SECTION("batches") {
    batches(*place->open());
  }
  SECTION("races") {
    races(*place->open());
  }
  SECTION("reads") {
    reads(*place->open());
  }
  SECTION("blobs") {
    blobs(*place->open());
  }
  SECTION("requests") {
    requests(*place);
  }
  SECTION("reopening") {
    reopening(*place);
  }
  SECTION("checkpoints") {
    checkpoints(*place);
  }
}

}  // namespace daybook::tests
