#include "replay/summary_score.h"

#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>

#include "engine/prepared_span.h"
#include "tests/support/compaction_case.h"

namespace {

using namespace daybook::replay;
using daybook::engine::PreparedSpan;
using daybook::engine::SpanItem;
using daybook::engine::SpanKind;
using daybook::tests::compaction_cases;

SummaryScore score(const std::vector<SpanItem>& items, std::string_view text) {
  const PreparedSpan span(items);
  return score_text(span, extract_facts(span, {}, FactLimits{}), text);
}

const TypeScore& of(const SummaryScore& score, FactType type) {
  return score.types.at(static_cast<std::size_t>(type));
}

FactStatus status_of(const SummaryScore& score, std::string_view text) {
  const auto found = std::find_if(score.lines.begin(), score.lines.end(), [&](const auto& line) {
    return line.text.find(text) != std::string::npos;
  });
  REQUIRE(found != score.lines.end());
  return found->status;
}

/// A text that holds exactly these facts, each on its own line.
std::string text_of(const std::vector<Fact>& facts) {
  std::string text;
  for (const Fact& fact : facts) text += fact.text + "\n";
  return text;
}

const std::vector<SpanItem> kSpan = {
    {SpanKind::kUser, "Fix the export in src/export.cc. Never touch config/prod.toml.", {}, true},
    {SpanKind::kToolCall, R"({"path":"src/export.cc","old":"a","new":"b"})", "replace_in_file",
     true},
    {SpanKind::kToolResult, "{}", "replace_in_file", true},
    {SpanKind::kAssistant,
     "The timeout is 30 s now. Decided to stream, because memory is short.",
     {},
     true},
    {SpanKind::kToolCall, R"({"command":"make test"})", "run_shell", true},
    {SpanKind::kToolResult, R"({"exit_code":2,"output":"error: undefined symbol flush_rows"})",
     "run_shell", true},
};

}  // namespace

TEST_CASE("facts are present, missing, contradicted or invented", "[score]") {
  const SummaryScore good = score(
      kSpan,
      "The export in `export.cc` is being fixed; config/prod.toml must never be touched. The "
      "timeout is 30 s. We stream because memory is short. `make test` said: error: undefined "
      "symbol flush_rows.");
  CHECK(status_of(good, "src/export.cc") == FactStatus::present);
  CHECK(status_of(good, "Never touch") == FactStatus::present);
  CHECK(status_of(good, "30 s") == FactStatus::present);
  CHECK(status_of(good, "undefined symbol") == FactStatus::present);
  CHECK(good.contradictions == 0);
  CHECK(good.invented == 0);

  const SummaryScore bad =
      score(kSpan, "You may touch config/prod.toml. The timeout is 31 s. See src/import.cc.");
  CHECK(status_of(bad, "Never touch") == FactStatus::contradicted);
  CHECK(status_of(bad, "30 s") == FactStatus::contradicted);
  CHECK(status_of(bad, "undefined symbol") == FactStatus::missing);
  CHECK(status_of(bad, "src/import.cc") == FactStatus::invented);
  CHECK(bad.contradictions == 2);
  CHECK(bad.invented == 2);
  CHECK(bad.entity_precision.value_or(1) < 1);
}

TEST_CASE("a demand is judged by the clause that speaks of its file", "[score]") {
  const std::vector<SpanItem> span = {
      {SpanKind::kUser, "Never edit keep.py. Do not restart the database.", {}, true}};
  const auto says = [&](std::string_view text) {
    return status_of(score(span, text), "Never edit keep.py");
  };
  for (const std::string_view text :
       {"h3.py was edited; keep.py was left alone.", "h3.py was edited and keep.py left alone.",
        "Edited h3.py, keep.py is untouched.", "h3.py: edited\nkeep.py: unchanged",
        "keep.py was not edited, h3.py was.", "h3.py and keep.py were not edited.",
        "`src/keep.py` must never be changed.", "The user said: \"Never edit keep.py.\""}) {
    CAPTURE(text);
    CHECK(says(text) == FactStatus::present);
  }
  for (const std::string_view text :
       {"keep.py was edited; h3.py was left alone.", "Edited keep.py and left h3.py alone.",
        "You may edit keep.py, but never h3.py.", "keep.py and h3.py were changed.",
        "Nothing is open. keep.py was edited."}) {
    CAPTURE(text);
    CHECK(says(text) == FactStatus::contradicted);
  }
  // These say nothing of it.
  for (const std::string_view text :
       {"h3.py was edited; see keep.py for the settings.", "keep.py holds the table.",
        "h3.py was never edited.", "Edited h3.py and ran the tests."}) {
    CAPTURE(text);
    CHECK(says(text) == FactStatus::missing);
  }
  CHECK(status_of(score(span, "The database was restarted."), "restart") ==
        FactStatus::contradicted);
  CHECK(status_of(score(span, "The database has not been restarted."), "restart") ==
        FactStatus::present);
}

TEST_CASE("that a forbidden thing was done counts, however often the rule is quoted", "[score]") {
  const std::vector<SpanItem> span = {
      {SpanKind::kUser,
       "Never edit src/keep.py. Do not touch lib/y.c, others build it.",
       {},
       true}};
  const std::string goal =
      "## Goal and constraints\n- The user said: \"Never edit src/keep.py. Do not touch lib/y.c, "
      "others build it.\"\n\n## State of the work\n- ";
  const auto says = [&](std::string_view state, std::string_view demand) {
    return status_of(score(span, goal + std::string(state) + "\n\n## Next step\n- Wait.\n"),
                     demand);
  };
  for (const std::string_view state :
       {"src/keep.py was edited.", "src/keep.py was changed.", "Edited src/keep.py.",
        "a.py and src/keep.py were rewritten."}) {
    CAPTURE(state);
    CHECK(says(state, "Never edit") == FactStatus::contradicted);
    CHECK(says(state, "Do not touch") == FactStatus::present);
  }
  CHECK(says("lib/y.c was touched.", "Do not touch") == FactStatus::contradicted);
  for (const std::string_view state :
       {"src/keep.py was not edited.", "src/keep.py is untouched.",
        "src/keep.py must not be edited.", "a.py was edited; src/keep.py was read.",
        "It would help if src/keep.py were edited.", "An edit of src/keep.py was refused.",
        "The user wrote \"src/keep.py was edited by Ann\".", "Nothing is done."}) {
    CAPTURE(state);
    CHECK(says(state, "Never edit") == FactStatus::present);
  }
  // A demand, and what the user's own message says, is no statement of the summary.
  CHECK(status_of(score(span,
                        "<user-message>\nNever edit src/keep.py. src/keep.py was edited by "
                        "Ann.\n</user-message>\n"),
                  "Never edit") == FactStatus::present);
}

TEST_CASE("a contradiction is quoted to its line's end", "[score]") {
  const std::vector<SpanItem> span = {{SpanKind::kUser, "Never edit src/keep.py.", {}, true}};
  const SummaryScore result =
      score(span, "## State of the work\nsrc/keep.py was edited.\n\n## Next step\nWait.\n");
  REQUIRE(result.contradictions == 1);
  CHECK(result.lines.front().other == "src/keep.py was edited.");
}

TEST_CASE("another figure for the same thing contradicts what else is right", "[score]") {
  const std::vector<SpanItem> timeout = {{SpanKind::kUser, "Timeout must be 30 s.", {}, true}};
  const SummaryScore turned = score(timeout, "Timeout must be 31 s.\nThe timeout 31 s is set.");
  CHECK(of(turned, FactType::number).present == 0);
  CHECK(status_of(turned, "Timeout must") == FactStatus::contradicted);
  CHECK(status_of(turned, "30 s") == FactStatus::contradicted);
  CHECK(score(timeout, "Timeout must be 30 s.").contradictions == 0);

  const std::vector<SpanItem> port = {
      {SpanKind::kUser, "Keep the default port 8443. The tests listen on 9000.", {}, true}};
  const std::string quoted = "The user said: \"Keep the default port 8443.\"\n";
  for (const std::string_view line :
       {"The default port was changed to 9443.", "The port was changed from 8443 to 9443."}) {
    CAPTURE(line);
    const SummaryScore moved = score(port, quoted + std::string(line));
    CHECK(status_of(moved, "Keep the default") == FactStatus::contradicted);
  }
  // What the span has somewhere is no other value of what is there as well.
  CHECK(score(port, quoted + "Port 9000 is the tests'.").contradictions == 0);
}

TEST_CASE("demands that stand in one sentence are kept and lost one by one", "[score]") {
  const std::vector<SpanItem> span = {
      {SpanKind::kUser, "Do not touch src/relay.py, and keep the default port 8443.", {}, true}};
  const SummaryScore turned =
      score(span, "The user wants src/relay.py to be edited; the default port is kept at 8443.");
  CHECK(of(turned, FactType::mandate).facts == 2);
  CHECK(status_of(turned, "Do not touch") == FactStatus::contradicted);
  CHECK(status_of(turned, "keep the default") == FactStatus::present);
  // A reason is no demand of its own.
  const std::vector<SpanItem> one = {
      {SpanKind::kUser, "Never change the header, and others will be glad.", {}, true}};
  CHECK(of(score(one, ""), FactType::mandate).facts == 1);
}

TEST_CASE("what is not done yet does not turn a demand around", "[score]") {
  const std::vector<SpanItem> span = {
      {SpanKind::kUser, "Make tests/test_config.py pass. Keep the default port 8443.", {}, true}};
  const auto says = [&](std::string_view text, std::string_view demand) {
    return status_of(score(span, text), demand);
  };
  CHECK(says("tests/test_config.py is to be made to pass.", "Make tests") == FactStatus::present);
  CHECK(says("tests/test_config.py does not pass yet.", "Make tests") != FactStatus::contradicted);
  CHECK(says("tests/test_config.py must not be made to pass.", "Make tests") ==
        FactStatus::contradicted);
  CHECK(says("The default port 8443 was not changed.", "Keep the default") == FactStatus::present);
  CHECK(says("Do not keep the default port 8443.", "Keep the default") == FactStatus::contradicted);
}

TEST_CASE("of a text that names nothing there is no precision", "[score]") {
  CHECK_FALSE(score(kSpan, "").entity_precision.has_value());
  CHECK_FALSE(score(kSpan, "The export is being fixed.").entity_precision.has_value());
  CHECK(score(kSpan, "See src/export.cc.").entity_precision == 1);
  CHECK(score(kSpan, "See src/made_up.cc.").entity_precision == 0);
}

TEST_CASE("a quantity may be rounded and written in another unit", "[score]") {
  const std::vector<SpanItem> span = {
      {SpanKind::kUser, "It took 90 seconds and wrote 1523871 bytes.", {}, true}};
  const SummaryScore rounded = score(span, "It took 1.5 min and wrote 1.5 MB.");
  CHECK(of(rounded, FactType::number).present == 2);
  const SummaryScore off = score(span, "It took 1.6 min and wrote 1.7 MB.");
  CHECK(of(off, FactType::number).present == 0);
}

TEST_CASE("what the continuation uses weighs more and is counted on its own", "[score]") {
  const PreparedSpan span(kSpan);
  const std::vector<std::string_view> continuation = {R"({"path":"src/export.cc"})"};
  const FactSet facts = extract_facts(span, continuation, FactLimits{});
  const SummaryScore kept = score_text(span, facts, "Go on in src/export.cc.");
  const SummaryScore lost = score_text(span, facts, "Go on with the export.");
  CHECK(kept.needed.facts >= 1);
  CHECK(kept.needed_recall() > lost.needed_recall());
  const FactSet plain = extract_facts(span, {}, FactLimits{});
  CHECK(score_text(span, plain, "x").needed.facts == 0);
}

TEST_CASE("the block can keep what the summary lost", "[score]") {
  const PreparedSpan span(kSpan);
  const FactSet facts = extract_facts(span, {}, FactLimits{});
  const std::string summary = "The export is being fixed.";
  const std::string block = summary + "\nFirst message: " + std::string(kSpan[0].text);
  const CompactionScore both = score_compaction(span, facts, summary, block);
  CHECK(of(both.summary, FactType::mandate).survival() < 1);
  CHECK(of(both.block, FactType::mandate).survival() == 1);
}

TEST_CASE("the first mandate's loss shows", "[score]") {
  for (const auto& one : compaction_cases()) {
    INFO(one->name);
    const PreparedSpan span(one->span);
    const FactSet facts = extract_facts(span, one->continuation, FactLimits{});
    const SummaryScore whole = score_text(span, facts, one->summary);
    // Its section is the first.
    const SummaryScore cut =
        score_text(span, facts, one->summary.substr(one->summary.find("## Decisions")));
    CHECK(of(whole, FactType::mandate).facts > 0);
    CHECK(of(cut, FactType::mandate).survival() < of(whole, FactType::mandate).survival());
    CHECK(cut.survival() < whole.survival());
  }
}

TEST_CASE("good summaries keep most and make nothing up", "[score]") {
  fmt::print("{:<14} {:>6} {:>9} {:>7} {:>13} {:>9}\n", "case", "facts", "survival", "needed",
             "contradicted", "precision");
  for (const auto& one : compaction_cases()) {
    const PreparedSpan span(one->span);
    const FactSet facts = extract_facts(span, one->continuation, FactLimits{});
    const SummaryScore result = score_text(span, facts, one->summary);
    fmt::print("{:<14} {:>6} {:>9.2f} {:>7.2f} {:>13} {:>9.2f}\n", one->name, result.all.facts,
               result.survival(), result.needed_recall(), result.contradictions,
               result.entity_precision.value_or(0));
    INFO(one->name);
    CHECK(result.survival() >= 0.4);
    CHECK(result.contradictions == 0);
    CHECK(result.entity_precision >= 0.95);
  }
}

TEST_CASE("deleting facts never raises a score, adding true ones never lowers it", "[score]") {
  std::mt19937 random(20260314);
  for (const auto& one : compaction_cases()) {
    const PreparedSpan span(one->span);
    const FactSet facts = extract_facts(span, one->continuation, FactLimits{});
    for (int round = 0; round < 20; ++round) {
      std::vector<Fact> order = facts.facts;
      std::shuffle(order.begin(), order.end(), random);
      std::vector<Fact> some;
      SummaryScore before = score_text(span, facts, text_of(some));
      while (some.size() < order.size()) {
        const std::size_t more = 1 + random() % 8;
        for (std::size_t i = 0; i < more && some.size() < order.size(); ++i) {
          some.push_back(order[some.size()]);
        }
        const SummaryScore after = score_text(span, facts, text_of(some));
        INFO(one->name << ", " << some.size() << " facts");
        REQUIRE(after.all.present_weight >= before.all.present_weight - 1e-9);
        REQUIRE(after.needed.present_weight >= before.needed.present_weight - 1e-9);
        for (std::size_t type = 0; type < kFactTypes; ++type) {
          REQUIRE(after.types.at(type).present >= before.types.at(type).present);
        }
        before = after;
      }
      REQUIRE(before.all.present == before.all.facts);
    }
  }
}

TEST_CASE("adding what is false lowers precision, and no survival", "[score]") {
  for (const auto& one : compaction_cases()) {
    const PreparedSpan span(one->span);
    const FactSet facts = extract_facts(span, {}, FactLimits{});
    double precision = 1;
    std::string text = one->summary;
    const SummaryScore good = score_text(span, facts, text);
    for (int i = 0; i < 5; ++i) {
      text += fmt::format("See also lib/made_up_{}.cc.\n", i);
      const SummaryScore worse = score_text(span, facts, text);
      INFO(one->name);
      REQUIRE(worse.entity_precision.has_value());
      CHECK(*worse.entity_precision < precision);
      CHECK(worse.all.present >= good.all.present);
      precision = *worse.entity_precision;
    }
  }
}

TEST_CASE("equal input gives equal facts and scores", "[score]") {
  for (const auto& one : compaction_cases()) {
    const auto text = [&] {
      const PreparedSpan span(one->span);
      const FactSet facts = extract_facts(span, one->continuation, FactLimits{});
      std::string all;
      for (const auto& line : score_text(span, facts, one->summary).lines) {
        all += fmt::format("{} {} {} {} {}\n", name_of(line.status), name_of(line.type), line.text,
                           line.weight, line.other);
      }
      return all;
    };
    CHECK(text() == text());
  }
}
