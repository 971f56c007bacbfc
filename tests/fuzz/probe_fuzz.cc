// Answers of a model to probes: any bytes are graded, within the grades' own bounds, and the same
// answer in other clothes gets the same grade.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "replay/probe.h"
#include "replay/probe_text.h"
#include "schema/utf8.h"

namespace {

using namespace daybook;
using engine::PastItem;
using engine::SpanKind;
using replay::Grade;

struct Asked {
  replay::CompactionCase recorded{replay::RecordedCompaction(*SessionId::parse("s"))};
  std::vector<engine::SpanItem> views;
  std::unique_ptr<engine::PreparedSpan> span;
  replay::FactSet facts;
  std::vector<replay::ClosedQuestion> questions;
  replay::NextStep next;

  Asked() {
    recorded.items = {
        {SpanKind::kUser, "You must keep the port at 8443. Never touch src/relay.py.", "", true, 1},
        {SpanKind::kToolCall, R"({"path":"src/relay.py"})", "read_file", true, 2},
        {SpanKind::kToolResult, "QUEUE = \"queue.internal:5672\" # where jobs go", "read_file",
         true, 3},
        {SpanKind::kToolCall, R"({"command":"make check"})", "run_shell", true, 4},
        {SpanKind::kToolResult, "The relay waits for an answer 30 seconds and gives up",
         "run_shell", true, 5}};
    recorded.continuation = {
        {SpanKind::kToolCall, R"({"command":"make all"})", "run_shell", true, 6}};
    views = engine::gate_items(recorded.items);
    span = std::make_unique<engine::PreparedSpan>(views);
    facts = replay::extract_facts(*span, {}, {});
    questions = replay::closed_questions(*span, facts, 16);
    next = *replay::recorded_next(recorded);
  }
};

const Asked& asked() {
  static const Asked kAsked;
  return kAsked;
}

bool is_inside(std::string_view part, std::string_view text) {
  return part.empty() || (part.data() >= text.data() && part.size() <= text.size() &&
                          part.data() + part.size() <= text.data() + text.size());
}

void check_questions(std::string_view answer) {
  for (const auto& question : asked().questions) {
    const auto& fact = asked().facts.facts.at(question.fact);
    const Grade grade = replay::grade(question, fact, answer);
    if (is_utf8(answer)) {
      const std::string quoted = fmt::format("\"{}\"", replay::bare(answer));
      DAYBOOK_CHECK(replay::grade(question, fact, quoted) == grade || replay::bare(answer).empty());
    }
    DAYBOOK_CHECK(replay::grade(question, fact, question.expected) == Grade::right);
  }
}

void check_next_step(std::string_view answer) {
  const auto grade = replay::grade_next(asked().recorded, asked().next, answer);
  DAYBOOK_CHECK(grade.similarity >= 0 && grade.similarity <= 1);
  DAYBOOK_CHECK(grade.readable || (!grade.tool && !grade.target && !grade.repeats));
  DAYBOOK_CHECK(!grade.target || (grade.tool && !grade.repeats));
}

void check_judge(std::string_view answer) {
  const auto judged = replay::read_judgement(answer, asked().recorded, "the block");
  for (const auto& grade : judged.grades) DAYBOOK_CHECK(!grade || (*grade >= 0 && *grade <= 5));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view answer(reinterpret_cast<const char*>(data), size);
  DAYBOOK_CHECK(is_inside(replay::spoken(answer), answer));
  DAYBOOK_CHECK(is_inside(replay::bare(answer), answer));
  const std::string folded = replay::folded(answer);
  DAYBOOK_CHECK(folded.size() <= answer.size() && replay::folded(folded) == folded);
  check_questions(replay::spoken(answer));
  check_next_step(answer);
  check_judge(answer);
  return 0;
}
