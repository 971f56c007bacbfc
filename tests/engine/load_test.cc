#include "engine/load.h"

#include <catch2/catch.hpp>

#include "tests/support/journal_events.h"
#include "tests/support/memory_journal.h"
#include "tests/support/story.h"

using namespace daybook;
using daybook::tests::MemoryJournal;
using daybook::tests::MemoryStore;
using daybook::tests::Story;
using engine::kStateProjection;
using schema::TurnOutcome;

namespace {

/// A journal that holds the first `count` events of the story.
struct Shelf {
  explicit Shelf(const Story& story, std::size_t count = SIZE_MAX) {
    journal::Append append{.session = session,
                           .expected_version = 0,
                           .epoch = 1,
                           .acquire = true,
                           .events = story.events,
                           .blobs = {},
                           .request = {}};
    append.events.resize(std::min(count, append.events.size()));
    const auto done = append_and_wait(journal, std::move(append));
    if (!done) FAIL(done.error().message);
  }

  void save(std::uint64_t version, std::string state,
            std::string fingerprint = std::string(engine::fold_fingerprint())) {
    REQUIRE(journal.save_checkpoint(session, kStateProjection,
                                    {version, std::move(fingerprint), std::move(state)}));
  }
  std::string loaded() {
    const auto state = engine::load_state(journal, session);
    if (!state) return "error: " + state.error().message;
    return engine::pack_state(*state);
  }

  SessionId session = tests::session_id("story");
  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();
  MemoryJournal journal{store};
};

void exchange(Story& story, const std::string& answer) {
  story.start();
  story.request();
  story.respond_text(answer);
  schema::TurnEndedT ended;
  ended.turn = story.state.turn->number;
  ended.answer = std::make_unique<schema::ContentT>();
  ended.answer->bytes.assign(answer.begin(), answer.end());
  REQUIRE(story.tell(std::move(ended)));
}

void interrupt(Story& story) {
  schema::TurnEndedT ended;
  ended.turn = story.state.turn->number;
  ended.outcome = TurnOutcome::interrupted;
  REQUIRE(story.tell(std::move(ended)));
}

void go_on(Story& story) {
  schema::TurnStartedT turn;
  turn.turn = story.state.turn->number + 1;
  turn.continues = story.state.turn->number;
  turn.max_iterations = 10;
  REQUIRE(story.tell(std::move(turn)));
}

/// Two exchanges; `half` is the state after the first.
struct TwoTurns {
  TwoTurns() {
    exchange(story, "one");
    half = engine::pack_state(story.state);
    half_version = story.state.version;
    exchange(story, "two");
    whole = engine::pack_state(story.state);
  }
  Story story;
  std::string half;
  std::uint64_t half_version = 0;
  std::string whole;
};

}  // namespace

TEST_CASE("a session without events loads as the empty state") {
  MemoryJournal journal(std::make_shared<MemoryStore>());
  const auto state = engine::load_state(journal, tests::session_id("nothing"));
  REQUIRE(state);
  CHECK(state->version == 0);
  CHECK(engine::pack_state(*state) == engine::pack_state(engine::empty_state()));
}

TEST_CASE("a checkpoint stands for the events before it") {
  const TwoTurns turns;
  Shelf shelf(turns.story);
  CHECK(shelf.loaded() == turns.whole);
  shelf.save(turns.half_version, turns.half);
  CHECK(shelf.loaded() == turns.whole);
  // Only a reading that starts after the checkpoint does not meet this damage.
  shelf.store->damage_event("story", 2);
  CHECK(shelf.loaded() == turns.whole);
}

TEST_CASE("a checkpoint that is not this build's, or not this session's past, is ignored") {
  const TwoTurns turns;
  Shelf shelf(turns.story);
  auto other = engine::unpack_state(turns.half);
  REQUIRE(other);
  const auto other_bytes = [&] { return engine::pack_state(*other); };

  SECTION("another fold made it") {
    other->title = "from other code";
    shelf.save(turns.half_version, other_bytes(), "another fingerprint");
  }
  SECTION("its bytes are damaged") {
    shelf.save(turns.half_version, turns.half.substr(0, turns.half.size() / 2));
  }
  SECTION("it is no checkpoint") {
    shelf.save(turns.half_version, "nonsense");
  }
  SECTION("it is empty") {
    shelf.save(turns.half_version, "");
  }
  SECTION("its record names another version") {
    shelf.save(turns.half_version - 1, turns.half);
  }
  SECTION("it is another session's") {
    other->session = "other";
    shelf.save(turns.half_version, other_bytes());
  }
  SECTION("the events after it do not continue it") {
    other->title = "another past";
    other->hash = std::make_unique<schema::Digest>(Digest::of("another past").fb());
    shelf.save(turns.half_version, other_bytes());
  }
  SECTION("it is of the last event, but not of its bytes") {
    auto last = engine::unpack_state(turns.whole);
    REQUIRE(last);
    last->title = "another past";
    last->hash = std::make_unique<schema::Digest>(Digest::of("another past").fb());
    shelf.save(last->version, engine::pack_state(*last));
  }
  CHECK(shelf.loaded() == turns.whole);
}

TEST_CASE("a checkpoint ahead of the events is ignored") {
  const TwoTurns turns;
  Shelf shelf(turns.story, turns.half_version);
  shelf.save(turns.story.state.version, turns.whole);
  CHECK(shelf.loaded() == turns.half);
}

TEST_CASE("damage is an error that names its place, with a checkpoint before it too") {
  const TwoTurns turns;
  Shelf shelf(turns.story);
  const auto damaged = turns.half_version + 2;
  shelf.store->damage_event("story", damaged);
  const std::string place = "session story, version " + std::to_string(damaged);
  CHECK_THAT(shelf.loaded(), Catch::StartsWith("error: ") && Catch::Contains(place));
  shelf.save(turns.half_version, turns.half);
  CHECK_THAT(shelf.loaded(), Catch::StartsWith("error: ") && Catch::Contains(place));
}

TEST_CASE("the state as of every version is the fold of the events up to it") {
  const TwoTurns turns;
  Shelf shelf(turns.story);
  auto expected = engine::empty_state();
  for (std::size_t i = 0; i < turns.story.events.size(); ++i) {
    const auto bytes = as_bytes(turns.story.events[i]);
    REQUIRE(engine::evolve(expected, **view_event(bytes), bytes));
    const auto state = engine::load_state_at(shelf.journal, shelf.session, i + 1);
    REQUIRE(state);
    CHECK(engine::pack_state(*state) == engine::pack_state(expected));
  }
  const auto none = engine::load_state_at(shelf.journal, shelf.session, 0);
  REQUIRE(none);
  CHECK(engine::pack_state(*none) == engine::pack_state(engine::empty_state()));
  const auto beyond =
      engine::load_state_at(shelf.journal, shelf.session, turns.story.events.size() + 1);
  REQUIRE_FALSE(beyond);
  CHECK(beyond.error().code == ErrorCode::not_found);
}

TEST_CASE("refold recomputes this build's checkpoints, and no others") {
  const TwoTurns turns;
  Shelf shelf(turns.story);
  const auto refold = engine::refold(shelf.journal);
  const std::string ours(engine::fold_fingerprint());
  const auto again = refold(shelf.session, kStateProjection, {turns.half_version, ours, ""});
  REQUIRE(again);
  CHECK(*again == turns.half);
  CHECK_FALSE(refold(shelf.session, "another", {turns.half_version, ours, ""}).value());
  CHECK_FALSE(refold(shelf.session, kStateProjection, {turns.half_version, "old", ""}).value());
  CHECK_FALSE(refold(shelf.session, kStateProjection, {turns.half_version + 100, ours, ""}));

  // The story names blobs that it never stored; only what is said of the checkpoint counts.
  const std::size_t others = shelf.journal.verify({})->damage.size();
  shelf.save(turns.half_version, turns.half);
  CHECK(shelf.journal.verify(refold)->damage.size() == others);
  auto tampered = engine::unpack_state(turns.half);
  tampered->title = "tampered";
  shelf.save(turns.half_version, engine::pack_state(*tampered));
  CHECK(shelf.journal.verify(refold)->damage.size() == others + 1);
}

TEST_CASE("a checkpoint is saved once enough events came since the last") {
  Story story;
  exchange(story, "one");
  const auto remark = [&](std::uint64_t until) {
    while (story.state.version < until) {
      schema::NoticeAddedT notice;
      notice.text = "remark";
      REQUIRE(story.tell(std::move(notice)));
    }
  };
  MemoryJournal journal(std::make_shared<MemoryStore>());
  const auto session = tests::session_id("story");
  const auto saved = [&]() -> std::uint64_t {
    REQUIRE(engine::save_checkpoint_if_due(journal, story.state));
    const auto stored = journal.load_checkpoint(session, kStateProjection);
    REQUIRE(stored);
    return *stored ? (*stored)->version : 0;
  };
  remark(999);
  CHECK(saved() == 0);
  remark(1000);
  CHECK(saved() == 1000);
  remark(1999);
  CHECK(saved() == 1000);
  remark(2000);
  CHECK(saved() == 2000);
  CHECK((*journal.load_checkpoint(session, kStateProjection))->state ==
        engine::pack_state(story.state));

  // One from other code does not count.
  REQUIRE(journal.save_checkpoint(session, kStateProjection, {2000, "another fingerprint", "x"}));
  remark(2001);
  CHECK(saved() == 2001);
}

TEST_CASE("the recorded answer of a request") {
  Story story;
  exchange(story, "earlier");
  story.start();
  const auto request_version = story.state.version;
  const auto recorded = [&](std::uint64_t version) {
    Shelf shelf(story);
    const auto answer = engine::recorded_answer(shelf.journal, shelf.session, version);
    REQUIRE(answer);
    return *answer;
  };

  SECTION("completed, whatever came later") {
    story.request();
    story.respond_text("the answer");
    schema::TurnEndedT ended;
    ended.turn = 2;
    ended.answer = std::make_unique<schema::ContentT>();
    ended.answer->bytes = {'4', '2'};
    REQUIRE(story.tell(std::move(ended)));
    CHECK(recorded(request_version).completed);
    CHECK(recorded(request_version).text == "42");
    exchange(story, "later");
    CHECK(recorded(request_version).completed);
    CHECK(recorded(request_version).text == "42");
  }
  SECTION("still running") {
    story.request();
    CHECK_FALSE(recorded(request_version).completed);
    CHECK(recorded(request_version).last_turn);
  }
  SECTION("interrupted, then continued to the end") {
    interrupt(story);
    CHECK_FALSE(recorded(request_version).completed);
    CHECK(recorded(request_version).last_turn);
    go_on(story);
    CHECK_FALSE(recorded(request_version).completed);
    CHECK(recorded(request_version).last_turn);
    interrupt(story);
    go_on(story);
    story.request();
    story.respond_text("x");
    schema::TurnEndedT ended;
    ended.turn = 4;
    ended.answer = std::make_unique<schema::ContentT>();
    ended.answer->bytes = {'y', 'e', 's'};
    REQUIRE(story.tell(std::move(ended)));
    CHECK(recorded(request_version).completed);
    CHECK(recorded(request_version).text == "yes");
  }
  SECTION("interrupted, and another turn came: nothing can continue it") {
    interrupt(story);
    exchange(story, "another");
    const auto answer = recorded(request_version);
    CHECK_FALSE(answer.completed);
    CHECK_FALSE(answer.last_turn);
    CHECK(answer.text.empty());
    // Continuing the other turn does not continue this one.
    story.start();
    interrupt(story);
    go_on(story);
    CHECK_FALSE(recorded(request_version).last_turn);
  }
}
