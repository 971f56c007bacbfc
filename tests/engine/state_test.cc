#include "engine/state.h"

#include <catch2/catch.hpp>

#include "tests/support/story.h"

using namespace daybook;
using daybook::tests::Story;
using schema::CallPhase;
using schema::Decision;

namespace {

/// A story that stands at a dispatched shell call.
Story dispatched_call() {
  Story story;
  story.start();
  story.request();
  story.respond_calls({{"run_shell", R"({"command":"make"})"}});
  REQUIRE(story.decide("call-1", Decision::allow));
  REQUIRE(story.dispatch("call-1"));
  return story;
}

}  // namespace

TEST_CASE("an intent has at most one outcome") {
  Story story;
  story.start();
  story.request();
  story.respond_calls({{"run_shell"}, {"run_shell"}});
  REQUIRE(story.decide("call-1", Decision::allow));
  REQUIRE(story.dispatch("call-1"));
  REQUIRE(story.complete("call-1"));
  const auto second = story.complete("call-1");
  REQUIRE_FALSE(second);
  CHECK(second.error().code == ErrorCode::corrupt);
}

TEST_CASE("an outcome needs an intent, an intent a decision") {
  Story story;
  story.start();
  story.request();
  story.respond_calls({{"run_shell"}});
  SECTION("completed without dispatch") {
    CHECK_FALSE(story.complete("call-1"));
  }
  SECTION("dispatched without decision") {
    CHECK_FALSE(story.dispatch("call-1"));
  }
  SECTION("dispatched after a denial") {
    REQUIRE(story.decide("call-1", Decision::deny));
    CHECK_FALSE(story.dispatch("call-1"));
  }
  SECTION("a call nobody made") {
    CHECK_FALSE(story.decide("call-9", Decision::allow));
  }
}

TEST_CASE("a decision binds to the arguments it was made for") {
  Story story;
  story.start();
  story.request();
  story.respond_calls({{"run_shell", R"({"command":"ls"})"}});
  schema::ToolDecidedT decided;
  decided.call_id = "call-1";
  decided.arguments_digest = std::make_unique<schema::Digest>(Digest::of("other").fb());
  CHECK_FALSE(story.tell(std::move(decided)));
}

TEST_CASE("a permission can be taken back until it is used") {
  Story story;
  story.start();
  story.request();
  story.respond_calls({{"run_shell"}});
  REQUIRE(story.decide("call-1", Decision::allow));
  SECTION("it is given once") {
    CHECK_FALSE(story.decide("call-1", Decision::allow));
  }
  SECTION("before") {
    REQUIRE(story.decide("call-1", Decision::deny));
    CHECK(story.state.calls.empty());
  }
  SECTION("not after") {
    REQUIRE(story.dispatch("call-1"));
    CHECK_FALSE(story.decide("call-1", Decision::deny));
  }
}

TEST_CASE("a turn cannot end over open work") {
  Story story;
  story.start();
  story.request();
  schema::TurnEndedT ended;
  ended.turn = 1;
  SECTION("an open request") {
    CHECK_FALSE(story.tell(std::move(ended)));
  }
  SECTION("an unanswered call") {
    story.respond_calls({{"run_shell"}});
    CHECK_FALSE(story.tell(std::move(ended)));
  }
  SECTION("another turn's number") {
    story.respond_text("done");
    ended.turn = 2;
    CHECK_FALSE(story.tell(std::move(ended)));
  }
}

TEST_CASE("results are gathered in the order of the calls, whatever finished first") {
  Story story;
  story.start();
  story.request();
  story.respond_calls({{"read_file"}, {"grep"}});
  for (const auto* id : {"call-1", "call-2"}) {
    REQUIRE(story.decide(id, Decision::allow));
    REQUIRE(story.dispatch(id, schema::Effect::read_only));
  }
  REQUIRE(story.complete("call-2", "second"));
  CHECK(story.state.pending.size() == 1);  // only the assistant message yet
  REQUIRE(story.complete("call-1", "first"));
  REQUIRE(story.state.pending.size() == 2);
  CHECK(story.state.calls.empty());
  const auto& results = story.state.pending[1]->results;
  REQUIRE(results.size() == 2);
  CHECK(std::string(results[0]->text->bytes.begin(), results[0]->text->bytes.end()) == "first");
  CHECK(std::string(results[1]->text->bytes.begin(), results[1]->text->bytes.end()) == "second");
}

TEST_CASE("the chain, the versions and the epochs must hold") {
  Story story = dispatched_call();
  const auto last = story.events.back();
  SECTION("the same event twice") {
    CHECK_FALSE(story.take_bytes(last));
  }
  SECTION("an event that names another predecessor") {
    journal::SessionWriter writer(*SessionId::parse("story"),
                                  {story.state.version, story.state.epoch, Digest{1, 2}},
                                  [] { return journal::Stamp{}; });
    journal::Batch batch;
    batch.add(draft(schema::NoticeAddedT{}));
    const auto broken = story.take_bytes(writer.next(std::move(batch)).events[0]);
    REQUIRE_FALSE(broken);
    CHECK(broken.error().message.find("chain") != std::string::npos);
  }
  SECTION("an older epoch") {
    journal::SessionWriter writer(*SessionId::parse("story"),
                                  {story.state.version, 0, engine::state_hash(story.state)},
                                  [] { return journal::Stamp{}; });
    journal::Batch batch;
    batch.add(draft(schema::NoticeAddedT{}));
    CHECK_FALSE(story.take_bytes(writer.next(std::move(batch)).events[0]));
  }
}

TEST_CASE("only an unknown outcome can be reconciled") {
  Story story = dispatched_call();
  schema::ToolReconciledT reconciled;
  reconciled.call_id = "call-1";
  reconciled.outcome = schema::Reconciliation::retry;
  SECTION("not while it may still run") {
    CHECK_FALSE(story.tell(std::move(reconciled)));
  }
  SECTION("retry opens a second attempt, no more") {
    schema::ToolOutcomeUnknownT unknown;
    unknown.call_id = "call-1";
    REQUIRE(story.tell(std::move(unknown)));
    REQUIRE(story.tell(std::move(reconciled)));
    CHECK(engine::find_call(story.state, "call-1")->phase == CallPhase::approved);
    REQUIRE(story.dispatch("call-1"));
    CHECK(engine::find_call(story.state, "call-1")->attempt == 2);
  }
}

TEST_CASE("a request shares exactly what the one before it had") {
  Story story;
  story.start();
  story.request();
  story.respond_text("hello");
  schema::TurnEndedT ended;
  ended.turn = 1;
  REQUIRE(story.tell(std::move(ended)));
  story.start();
  schema::ModelRequestedT requested;
  requested.request = 2;
  requested.attempt = 1;
  requested.base = story.state.request->version;
  requested.shared = 0;  // it was 1
  CHECK_FALSE(story.tell(std::move(requested)));
}

TEST_CASE("a checkpoint gives back the state, byte for byte") {
  const Story story = dispatched_call();
  const std::string packed = engine::pack_state(story.state);
  auto unpacked = engine::unpack_state(packed);
  REQUIRE(unpacked);
  CHECK(engine::pack_state(*unpacked) == packed);
  CHECK(unpacked->version == story.state.version);
  CHECK(unpacked->calls.at(0)->tool == "run_shell");
  CHECK_FALSE(engine::unpack_state(packed.substr(0, packed.size() / 2)));
  CHECK_FALSE(engine::unpack_state(""));
}

TEST_CASE("folding in one go equals folding from any checkpoint") {
  const Story story = dispatched_call();
  const std::string whole = engine::pack_state(story.state);
  for (std::size_t cut = 0; cut <= story.events.size(); ++cut) {
    auto state = engine::empty_state();
    for (std::size_t i = 0; i < story.events.size(); ++i) {
      if (i == cut && i > 0) state = *engine::unpack_state(engine::pack_state(state));
      const auto bytes = as_bytes(story.events[i]);
      REQUIRE(engine::evolve(state, **view_event(bytes), bytes));
    }
    CHECK(engine::pack_state(state) == whole);
  }
}
