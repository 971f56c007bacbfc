// What a person sees of compactions while a turn runs.
#include <catch2/catch.hpp>
#include <sstream>

#include "tests/support/journal_events.h"
#include "tools/progress.h"
#include "tools/terminal_approver.h"

namespace daybook::tests {
namespace {

using Catch::Contains;
using engine::Answer;

/// The lines for compactions from and to these sizes, one after the other.
std::string shown(const std::vector<std::pair<std::uint64_t, std::uint64_t>>& sizes,
                  const char* trigger = "auto") {
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  tools::Context context{in, out, err, {}, "/", false, false, 0, {}, {}, {}};
  const auto progress = tools::make_progress(context, "here");
  auto pen = pen_for(session_id("s"));
  static_cast<void>(acquire(pen));
  std::uint32_t number = 0;
  for (const auto& [before, after] : sizes) {
    schema::CompactionCommittedT event;
    event.number = ++number;
    event.trigger = trigger;
    event.tokens_before = before;
    event.tokens_after = after;
    journal::Batch batch;
    batch.add(draft(std::move(event)));
    for (const auto& bytes : pen.next(std::move(batch)).events) {
      progress->on_event(**view_event(as_bytes(bytes)), as_bytes(bytes));
    }
  }
  return err.str();
}

std::size_t warnings(const std::string& text) {
  std::size_t found = 0;
  for (auto at = text.find("warning:"); at != std::string::npos; at = text.find("warning:", at + 1))
    ++found;
  return found;
}

}  // namespace

TEST_CASE("compactions that free little are warned of once") {
  CHECK(warnings(shown({{1'000, 800}, {1'000, 800}})) == 0);
  CHECK(warnings(shown({{1'000, 800}, {1'000, 800}, {1'000, 750}})) == 0);
  CHECK(warnings(shown({{1'000, 800}, {1'000, 500}, {1'000, 800}, {1'000, 800}})) == 0);
  const std::string text =
      shown({{1'000, 800}, {1'000, 800}, {1'000, 751}, {1'000, 900}, {1'000, 900}});
  CHECK(warnings(text) == 1);
  CHECK_THAT(text, Contains("the last 3 compactions each freed less than a quarter") &&
                       Contains("compaction_cap_tokens"));
}

TEST_CASE("compactions that a provider's refusal began say nothing of the cap") {
  CHECK(warnings(shown({{1'000, 900}, {1'000, 900}, {1'000, 900}}, "overflow")) == 0);
}

TEST_CASE("a refused summary is tried again or left out by one letter or word") {
  for (const char* line : {"r\n", " retry \n"}) {
    const auto answer = tools::parse_summary_answer(line);
    REQUIRE(answer);
    CHECK(answer->kind == Answer::Kind::allow_once);
  }
  for (const char* line : {"t\n", "trim\n"}) {
    const auto answer = tools::parse_summary_answer(line);
    REQUIRE(answer);
    CHECK(answer->kind == Answer::Kind::deny);
  }
  for (const char* line : {"", "\n", "y\n", "retry now\n"}) {
    CHECK_FALSE(tools::parse_summary_answer(line));
  }
}

}  // namespace daybook::tests
