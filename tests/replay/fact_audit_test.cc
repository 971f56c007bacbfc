// The extractor against hand-labelled text: precision and recall of every type of fact.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <set>

#include "engine/prepared_span.h"
#include "replay/fact_extract.h"
#include "replay/facts.h"
#include "tests/support/build_paths.h"

namespace {

using namespace daybook::replay;
using daybook::engine::PreparedSpan;
using daybook::engine::SpanItem;
using daybook::engine::SpanKind;

std::vector<std::string> split(const std::string& text, const std::string& by) {
  std::vector<std::string> parts;
  std::size_t from = 0;
  for (std::size_t at = text.find(by); at != std::string::npos; at = text.find(by, from)) {
    parts.push_back(text.substr(from, at - from));
    from = at + by.size();
  }
  parts.push_back(text.substr(from));
  return parts;
}

std::vector<std::vector<std::string>> rows_of(const std::string& name) {
  std::ifstream in(daybook::tests::source_path("/tests/data/compaction/audit/" + name));
  REQUIRE(in);
  std::vector<std::vector<std::string>> rows;
  for (std::string line; std::getline(in, line);) {
    if (!line.empty() && line[0] != '#') rows.push_back(split(line, "\t"));
  }
  return rows;
}

std::set<std::string> labels_of(const std::string& field, const std::string& by) {
  if (field == "-") return {};
  const auto parts = split(field, by);
  return {parts.begin(), parts.end()};
}

struct Tally {
  std::size_t right = 0;
  std::size_t extra = 0;
  std::size_t missed = 0;
  double precision() const {
    return right + extra == 0 ? 1 : static_cast<double>(right) / static_cast<double>(right + extra);
  }
  double recall() const {
    return right + missed == 0 ? 1
                               : static_cast<double>(right) / static_cast<double>(right + missed);
  }
};

using Tallies = std::map<std::string, Tally>;

void compare(Tallies& tallies, const std::set<std::string>& labelled,
             const std::set<std::string>& found, const std::string& text) {
  const auto type_of = [](const std::string& label) { return label.substr(0, label.find('=')); };
  for (const auto& label : labelled) {
    if (found.contains(label)) {
      ++tallies[type_of(label)].right;
    } else {
      ++tallies[type_of(label)].missed;
      fmt::print("  missed {}: {}\n", label, text);
    }
  }
  for (const auto& label : found) {
    if (labelled.contains(label)) continue;
    ++tallies[type_of(label)].extra;
    fmt::print("  extra  {}: {}\n", label, text);
  }
}

/// The facts of the span's own types, by type name; last-action is every span's own.
std::set<std::string> types_in(const std::vector<SpanItem>& items,
                               const std::set<std::string>& asked) {
  const FactSet facts = extract_facts(PreparedSpan(items), {}, FactLimits{});
  std::set<std::string> found;
  for (const Fact& fact : facts.facts) {
    if (asked.contains(std::string(name_of(fact.type)))) found.emplace(name_of(fact.type));
  }
  return found;
}

std::size_t audit_prose(Tallies& tallies) {
  const auto rows = rows_of("prose.tsv");
  for (const auto& row : rows) {
    REQUIRE(row.size() == 3);
    const std::string& text = row[2];
    std::vector<SpanItem> items;
    std::set<std::string> asked;
    if (row[0] == "user") {
      items = {{SpanKind::kUser, text, {}, true}};
      asked = {"mandate", "decision", "failed"};
    } else if (row[0] == "assistant") {
      items = {{SpanKind::kAssistant, text, {}, true}};
      asked = {"decision", "failed", "plan"};
    } else {
      REQUIRE(row[0] == "output");
      items = {{SpanKind::kToolCall, R"({"command":"x"})", "run_shell", true},
               {SpanKind::kToolResult, text, "run_shell", true}};
      asked = {"error"};
    }
    compare(tallies, labels_of(row[1], ","), types_in(items, asked), text);
  }
  return rows.size();
}

std::size_t audit_entities(Tallies& tallies) {
  const auto rows = rows_of("entities.tsv");
  for (const auto& row : rows) {
    REQUIRE(row.size() == 2);
    const std::vector<SpanItem> items = {{SpanKind::kUser, row[0], {}, true}};
    const FactSet facts = extract_facts(PreparedSpan(items), {}, FactLimits{});
    std::set<std::string> found;
    for (const Fact& fact : facts.facts) {
      if (fact.type == FactType::identifier || fact.type == FactType::number) {
        found.insert(fmt::format("{}={}", name_of(fact.type), fact.text));
      }
    }
    compare(tallies, labels_of(row[1], " ; "), found, row[0]);
  }
  return rows.size();
}

std::size_t audit_calls(Tallies& tallies) {
  const auto rows = rows_of("calls.tsv");
  for (const auto& row : rows) {
    REQUIRE(row.size() == 4);
    const std::vector<SpanItem> items = {{SpanKind::kToolCall, row[1], row[0], true},
                                         {SpanKind::kToolResult, "{}", row[0], row[2] == "ok"}};
    const FactSet facts = extract_facts(PreparedSpan(items), {}, FactLimits{});
    std::set<std::string> found;
    for (const Fact& fact : facts.facts) {
      if (fact.type == FactType::artifact) {
        found.insert(fmt::format("{}={}", fact.detail, fact.text));
      }
    }
    Tallies ways;
    compare(ways, labels_of(row[3], " ; "), found, row[1]);
    for (const auto& [way, tally] : ways) {
      tallies["artifact"].right += tally.right;
      tallies["artifact"].extra += tally.extra;
      tallies["artifact"].missed += tally.missed;
    }
  }
  return rows.size();
}

}  // namespace

TEST_CASE("the extractor finds what a reader finds", "[facts]") {
  Tallies tallies;
  const std::size_t labelled =
      audit_prose(tallies) + audit_entities(tallies) + audit_calls(tallies);
  CHECK(labelled >= 200);
  struct Floor {
    double precision;
    double recall;
  };
  // What was measured, rounded down: a change that finds less, or more that is none, shows.
  const std::map<std::string, Floor> floors = {
      {"mandate", {0.95, 0.9}}, {"decision", {0.95, 0.9}},  {"failed", {0.95, 0.9}},
      {"plan", {0.95, 0.9}},    {"error", {0.95, 0.95}},    {"identifier", {0.95, 0.95}},
      {"number", {0.95, 0.95}}, {"artifact", {0.95, 0.95}},
  };
  fmt::print("audit of {} labelled texts\n{:<11} {:>6} {:>6} {:>7} {:>10} {:>7}\n", labelled,
             "type", "right", "extra", "missed", "precision", "recall");
  for (const auto& [type, floor] : floors) {
    const Tally& tally = tallies[type];
    fmt::print("{:<11} {:>6} {:>6} {:>7} {:>10.3f} {:>7.3f}\n", type, tally.right, tally.extra,
               tally.missed, tally.precision(), tally.recall());
    INFO(type);
    CHECK(tally.right >= 10);
    CHECK(tally.precision() >= floor.precision);
    CHECK(tally.recall() >= floor.recall);
  }
}
