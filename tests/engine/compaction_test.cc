// Where the history is cut, and when: the policy, on states made of events.
#include "engine/compaction.h"

#include <catch2/catch.hpp>

#include "tests/support/story.h"

using namespace daybook;
using namespace daybook::engine;
using daybook::tests::Story;

namespace {

/// A window of 40,000 tokens: trigger 32,000 less what the reply needs, kept 8,000.
CompactionLimits limits() {
  CompactionLimits made;
  made.window = 40'000;
  made.reply = 8'000;
  return made;
}

std::string tokens(std::size_t count) {
  return std::string(count * 4, 'x');  // one token in four bytes until a provider says otherwise
}

}  // namespace

TEST_CASE("budgets follow the window, the reply and the cap") {
  CompactionLimits each;
  each.window = 200'000;
  each.reply = 8'000;
  CHECK(budgets_of(each).trigger == 160'000);  // 80 %
  each.reply = 64'000;
  CHECK(budgets_of(each).trigger == 136'000);  // the reply has to fit as well
  each.reply = 8'000;
  each.window = 1'000'000;
  CHECK(budgets_of(each).trigger == 250'000);  // the cap
  CHECK(budgets_of(each).kept == 62'500);
  CHECK(budgets_of(each).summary == 8'000);  // no more than the model can write
  each.reply = 64'000;
  CHECK(budgets_of(each).summary == 16'000);
  CHECK(budgets_of(each).pinned == 4'000);
  CHECK(budgets_of(each).users == 20'000);
  each.reply = 8'000;
  each.window = 8'000;
  each.reply = 8'000;
  CHECK(budgets_of(each).trigger == 4'000);  // half of a window that a reply could fill
  CHECK(budgets_of(each).summary == 1'000);
  CHECK(budgets_of(each).users == 500);
}

TEST_CASE("whatever the window, a new view is below the trigger") {
  for (std::uint64_t window = 1'000; window < 3'000'000; window = window * 3 / 2) {
    CompactionLimits each;
    each.window = window;
    const auto b = budgets_of(each);
    CAPTURE(window);
    CHECK(b.kept + b.summary + b.pinned + b.users + b.work < b.trigger);
  }
}

TEST_CASE("nothing is compacted below the trigger, or when it is off") {
  Story story;
  story.start_turn(tokens(1'000));
  story.request();
  story.respond_text(tokens(20'000));
  story.end_turn();
  story.start_turn(tokens(1'000));
  CHECK_FALSE(due_compaction(story.state, limits()));
  story.request();
  story.respond_text(tokens(20'000));
  story.end_turn();
  story.start_turn("and now?");
  CHECK(due_compaction(story.state, limits()));
  auto off = limits();
  off.enabled = false;
  CHECK_FALSE(due_compaction(story.state, off));
}

TEST_CASE("the cut is the earliest start of a turn that fits what may stay") {
  Story story;
  story.start_turn("first");
  for (const std::size_t size : {30'000, 3'000, 3'000}) {
    story.request();
    story.respond_text(tokens(size));
    story.end_turn();
    story.start_turn("go on");
  }
  // Turn 1 has 30,000 tokens; turns 2 to 4 have 6,000 and fit the 8,000.
  const auto cut = due_compaction(story.state, limits());
  REQUIRE(cut);
  CHECK(cut->trigger == "auto");
  CHECK(cut->replaced == 2);
  CHECK(cut->kept == 5);
  CHECK_FALSE(cut->within_turn);
  CHECK(cut->first == story.state.request->marks.at(0).first());
  CHECK(cut->last == story.state.request->marks.at(2).first() - 1);
}

TEST_CASE("inside one giant turn the cut is before an answer, never before a result") {
  Story story;
  story.start_turn("do it all");
  for (int i = 0; i < 8; ++i) {
    story.request();
    story.respond_calls({Story::Call{"read_file"}});
    story.answer_calls(tokens(5'000));
  }
  const auto cut = due_compaction(story.state, limits());
  REQUIRE(cut);
  CHECK(cut->within_turn);
  // user, then eight times answer and result: one pair of 5,000 fits the 8,000.
  CHECK(cut->replaced == 15);
  CHECK(cut->kept == 2);
}

TEST_CASE("a provider that refuses what should fit is believed, and each pass cuts deeper") {
  Story story;
  story.start_turn("go");
  for (int i = 0; i < 4; ++i) {
    story.request();
    story.respond_text(tokens(1'000));
    story.end_turn();
    story.start_turn("go on");
  }
  CHECK_FALSE(due_compaction(story.state, limits()));
  story.request();
  story.fail_model(schema::FailureKind::context_overflow);
  const auto cut = due_compaction(story.state, limits());
  REQUIRE(cut);
  CHECK(cut->trigger == "overflow");
  CHECK(cut->replaced == 8);  // only the newest message is within a quarter of the 4,000
  CHECK(std::holds_alternative<step::StartCompaction>(story.next()));
}

TEST_CASE("a prompt that alone is too long cannot be compacted") {
  Story story;
  story.start_turn(tokens(50'000));
  CHECK_FALSE(due_compaction(story.state, limits()));
  story.request();
  story.fail_model(schema::FailureKind::context_overflow);
  CHECK_FALSE(due_compaction(story.state, limits()));
  CHECK(std::holds_alternative<step::EndTurn>(story.next()));
}

TEST_CASE("the measure of a token is what the provider reported") {
  Story story;
  story.start_turn(tokens(1'000));
  CHECK(estimate_tokens(story.state, 4'000) == 1'000);
  story.request(6'000);  // bytes of the body
  auto usage = std::make_unique<schema::UsageT>();
  usage->input_uncached = 1'000;
  usage->cache_read = 2'000;
  usage->output = 10;
  story.respond_text("x", schema::StopReason::end, std::move(usage));
  CHECK(estimate_tokens(story.state, 4'000) == 2'000);
  // 3,000 read, 10 answered, and what came since.
  CHECK(view_tokens(story.state) == 3'010);
  // A request that was refused holds what came since those figures: half a token a byte.
  story.end_turn();
  story.start_turn("and this");
  story.request(14'000);
  story.fail_model(schema::FailureKind::context_overflow);
  CHECK(view_tokens(story.state) == 7'000);
}

TEST_CASE("after a refusal every budget is of half of what was refused") {
  CompactionLimits each;
  each.window = 1'000'000;  // what the configuration believes
  each.reply = 8'000;
  const auto first = budgets_of(limits_of(each, "overflow", 40'000));
  CHECK(first.trigger == 20'000);
  CHECK(first.kept == 5'000);
  // All that a pass may leave, and the next one leaves half of that.
  const auto most = [](const CompactionBudgets& b) {
    return b.kept + b.summary + b.pinned + b.users + b.work;
  };
  CHECK(most(first) <= 20'000);
  const auto second = budgets_of(limits_of(each, "overflow", most(first)));
  CHECK(second.kept < first.kept);
  CHECK(most(second) <= most(first) / 2 + 1);
  CHECK(limits_of(each, "auto", 40'000).cap == each.cap);
}

TEST_CASE("a pass after a refusal frees a tenth, or is none") {
  CHECK(gains_enough("overflow", 10'000, 9'000));
  CHECK_FALSE(gains_enough("overflow", 10'000, 9'001));
  CHECK(gains_enough("auto", 10'000, 9'999));
  CHECK_FALSE(gains_enough("auto", 10'000, 10'000));
}
