// The gate against labelled damage: every kind of damage must be found with its code, and clean
// rewordings must pass.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <functional>
#include <map>
#include <set>

#include "engine/entity_audit.h"
#include "engine/prepared_span.h"
#include "engine/summary_gate.h"
#include "engine/text_language.h"
#include "tests/support/compaction_case.h"

namespace {

using namespace daybook::engine;
using daybook::tests::compaction_cases;
using daybook::tests::CompactionCase;

struct Damaged {
  std::string text;
  SummaryStop stop = SummaryStop::kNatural;
};

/// A kind of damage: the codes of which at least one must be found, and the damaged replies.
struct Damage {
  std::string name;
  std::set<GateCode> codes;
  std::function<std::vector<Damaged>(const CompactionCase&)> make;
};

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// The section with its heading, as [from, to).
std::pair<std::size_t, std::size_t> section(const std::string& text, std::size_t number) {
  const std::size_t from = text.find(kSummaryHeadings.at(number));
  REQUIRE(from != std::string::npos);
  const std::size_t to = number + 1 < kSummaryHeadings.size()
                             ? text.find(kSummaryHeadings.at(number + 1))
                             : text.size();
  return {from, to};
}

std::string with_line(const CompactionCase& one, std::size_t number, std::string_view line) {
  std::string text = one.summary;
  const auto [from, to] = section(text, number);
  text.insert(text.find('\n', from) + 1, fmt::format("{}\n", line));
  return text;
}

std::vector<Damaged> drop_sections(const CompactionCase& one) {
  std::vector<Damaged> all;
  for (std::size_t i = 0; i < kSummaryHeadings.size(); ++i) {
    const auto [from, to] = section(one.summary, i);
    all.push_back({one.summary.substr(0, from) + one.summary.substr(to)});
  }
  return all;
}

std::vector<Damaged> empty_sections(const CompactionCase& one) {
  std::vector<Damaged> all;
  for (std::size_t i = 0; i < kSummaryHeadings.size(); ++i) {
    const auto [from, to] = section(one.summary, i);
    all.push_back({one.summary.substr(0, from) + std::string(kSummaryHeadings.at(i)) +
                   "\n- ...\n\n" + one.summary.substr(to)});
  }
  return all;
}

std::vector<Damaged> swap_sections(const CompactionCase& one) {
  const auto [a, b] = section(one.summary, 2);
  const auto [c, d] = section(one.summary, 6);
  const std::string& s = one.summary;
  return {{s.substr(0, a) + s.substr(c, d - c) + s.substr(b, c - b) + s.substr(a, b - a) +
           s.substr(d)}};
}

struct EntityCollector {
  std::vector<Entity> all;
  void word(const Word&) {}
  void chunk(const Chunk& chunk) {
    if (const Entity entity = classify(chunk, true); entity.kind != EntityKind::none) {
      all.push_back(entity);
    }
  }
  void stop(char) {}
};

std::vector<Entity> entities_of(const std::string& text, EntityKind kind) {
  EntityCollector collector;
  scan_text(text, collector);
  std::erase_if(collector.all, [&](const Entity& entity) { return entity.kind != kind; });
  return collector.all;
}

/// Each path with another name: one letter of the stem doubled.
std::vector<Damaged> swap_paths(const CompactionCase& one) {
  std::vector<Damaged> all;
  std::set<std::string> seen;
  for (const Entity& path : entities_of(one.summary, EntityKind::path)) {
    std::string name(path.text);
    if (!seen.insert(name).second) continue;
    const std::size_t dot = name.rfind('.');
    // A folder has no stem: its last letter is doubled.
    const std::size_t end = name.find_last_not_of("/\\") + 1;
    std::string other = name;
    if (dot == std::string::npos || dot < 2) {
      other.insert(end, 1, name[end - 1]);
    } else {
      other.insert(dot, "s_v2");
    }
    all.push_back({replaced(one.summary, name, other)});
  }
  REQUIRE_FALSE(all.empty());
  return all;
}

/// Each quantity, larger by one in its last printed digit.
std::vector<Damaged> off_by_one(const CompactionCase& one) {
  std::vector<Damaged> all;
  for (const Entity& number : entities_of(one.summary, EntityKind::quantity)) {
    const std::string text(number.text);
    std::size_t last = text.find_first_not_of("0123456789.,");
    if (last == std::string::npos) last = text.size();
    if (last == 0) continue;
    std::string other = text;
    char& digit = other[last - 1];
    digit = digit == '9' ? '7' : static_cast<char>(digit + 1);
    const auto at = static_cast<std::size_t>(number.text.data() - one.summary.data());
    std::string damaged = one.summary;
    damaged.replace(at, text.size(), other);
    all.push_back({damaged});
  }
  return all;
}

std::vector<Damaged> cut_by_limit(const CompactionCase& one) {
  std::vector<Damaged> all;
  for (const double share : {0.2, 0.5, 0.8, 0.97}) {
    const auto size = static_cast<std::size_t>(share * static_cast<double>(one.summary.size()));
    all.push_back({one.summary.substr(0, size), SummaryStop::kOutputLimit});
  }
  return all;
}

std::vector<Damaged> cut_silently(const CompactionCase& one) {
  std::vector<Damaged> all;
  for (const double share : {0.2, 0.4, 0.6, 0.8}) {
    const auto size = static_cast<std::size_t>(share * static_cast<double>(one.summary.size()));
    all.push_back({one.summary.substr(0, size)});
  }
  return all;
}

bool is_english(const CompactionCase& one) {
  return guess_language(one.span.front().text).language == Language::english;
}

/// The same schema in another language, without any name that could be wrong.
std::vector<Damaged> other_language(const CompactionCase& one) {
  const std::string_view german =
      "- Hier steht, was der Nutzer von der Anwendung verlangt und was dabei nicht geschehen "
      "darf.\n";
  const std::string_view english =
      "- This is what the user wants from the application and what must not happen with it.\n";
  std::string text;
  for (const auto& heading : kSummaryHeadings) {
    text += heading;
    text += '\n';
    text += is_english(one) ? german : english;
    // Not the same words again: that would be a loop.
    text +=
        fmt::format("- {} {}.\n\n", is_english(one) ? "Das ist der Abschnitt" : "That is the part",
                    heading.substr(3));
  }
  return {{text}};
}

std::vector<Damaged> paste_transcript(const CompactionCase& one) {
  std::string text;
  for (const auto& heading : kSummaryHeadings) {
    text += heading;
    text += "\n- none\n";
    if (heading != kSummaryHeadings[4]) continue;
    for (const auto& item : one.span) {
      if (item.kind == SpanKind::kUser || item.kind == SpanKind::kPriorSummary) continue;
      text += item.text;
      text += '\n';
    }
  }
  return {{text}};
}

std::vector<Damaged> loop(const CompactionCase& one) {
  std::string text = one.summary;
  for (int i = 0; i < 60; ++i) text += "- Then the same step is to be taken once more from here.\n";
  return {{text}};
}

std::vector<Damage> damages() {
  using enum GateCode;
  const auto line = [](std::size_t number, std::string text) {
    return [number, text](const CompactionCase& one) {
      return std::vector<Damaged>{{with_line(one, number, text)}};
    };
  };
  const auto reply = [](std::string text) {
    return [text](const CompactionCase&) { return std::vector<Damaged>{{text}}; };
  };
  return {
      {"section dropped", {kMissingHeading}, drop_sections},
      {"section emptied", {kEmptySection}, empty_sections},
      {"sections out of order", {kMissingHeading}, swap_sections},
      {"path swapped", {kUnknownEntities}, swap_paths},
      {"number off by one", {kUnknownEntities}, off_by_one},
      {"invented hash", {kUnknownEntities}, line(3, "- Commit 9f3ac21b77e0.")},
      {"invented URL", {kUnknownEntities}, line(3, "- See https://tracker.example.org/T/991.")},
      {"invented user quote",
       {kInventedUserQuote},
       line(0, "- The user said: \"Rewrite the whole module in Rust and delete the old tests.\"")},
      {"cut by the output limit", {kTruncated}, cut_by_limit},
      {"cut silently", {kTruncated, kMissingHeading}, cut_silently},
      {"next action",
       {kNextActionVoice},
       reply("I'll run the remaining checks now and then look at the result.")},
      {"tool call", {kNextActionVoice}, reply("<tool_call>{\"name\":\"run_shell\"}</tool_call>")},
      {"refusal",
       {kRefusal},
       reply(
           "I'm sorry, but I can't summarise this conversation. Could you tell me what you need?")},
      {"announcement", {kRefusal}, reply("I will summarise the conversation so far in detail.")},
      {"empty", {kEmpty}, reply(" \n\n ")},
      {"too short", {kTooShort}, reply("Work on the task goes on; most of it is done.")},
      {"loop", {kRepetitive}, loop},
      {"claimed completion",
       {kUnbackedCompletion},
       line(6, "- Everything was deployed and published.")},
      {"claimed release to somewhere",
       {kUnbackedCompletion},
       line(6, "- The change was pushed to main and deployed to the servers.")},
      {"command that never ran",
       {kUnbackedCompletion},
       line(4, "- `terraform apply` was run successfully.")},
      {"the same without marks",
       {kUnbackedCompletion},
       line(4, "- terraform apply was run successfully.")},
      {"other language", {kWrongLanguage}, other_language},
      {"pasted transcript", {kCopied}, paste_transcript},
      {"secret",
       {kIntroducedSecret},
       line(3, std::string("- Token: ghp") + "_16C7e42F292c6912E7710c838347Ae178B4a")},
      {"password", {kIntroducedSecret}, line(3, "- The password: hunter2x9")},
  };
}

bool found_any(const GateResult& result, const std::set<GateCode>& codes) {
  return std::any_of(result.findings.begin(), result.findings.end(),
                     [&](const GateFinding& finding) { return codes.contains(finding.code); });
}

std::string findings_of(const GateResult& result) {
  std::string text;
  for (const auto& finding : result.findings) {
    text +=
        fmt::format("{} {}: {}\n", check_of(finding.code), name_of(finding.code), finding.evidence);
  }
  return text;
}

/// Lines of bullets of a section in another order.
std::string bullets_reversed(const CompactionCase& one) {
  std::string text;
  for (std::size_t i = 0; i < kSummaryHeadings.size(); ++i) {
    const auto [from, to] = section(one.summary, i);
    std::vector<std::string> lines;
    std::string_view body = std::string_view(one.summary).substr(from, to - from);
    body.remove_prefix(body.find('\n') + 1);
    while (!body.empty()) {
      const std::size_t end = std::min(body.size(), body.find('\n'));
      if (end > 0) lines.emplace_back(body.substr(0, end));
      body.remove_prefix(std::min(body.size(), end + 1));
    }
    std::reverse(lines.begin(), lines.end());
    text += fmt::format("{}\n{}\n\n", kSummaryHeadings.at(i), fmt::join(lines, "\n"));
  }
  return text;
}

std::string with_synonyms(const CompactionCase& one) {
  static const std::vector<std::pair<std::string, std::string>> kWords = {
      {"edited", "changed"},
      {"written", "newly made"},
      {"holds", "contains"},
      {"chosen", "taken"},
      {"without", "with no"},
      {"because", "for the reason that"},
      {"still fails", "does not pass yet"},
      {"first", "initial"},
      {"measure", "take the measure of"},
      {"geändert", "angepasst"},
      {"steht noch aus", "fehlt noch"},
      {"新建", "创建"},
      {"已修改", "改过了"},
  };
  // What is quoted stays as it is.
  std::string text;
  bool quoted = false;
  std::string_view rest = one.summary;
  while (!rest.empty()) {
    const std::size_t mark = std::min(rest.size(), rest.find_first_of("\"`"));
    std::string part(rest.substr(0, mark));
    if (!quoted) {
      for (const auto& [from, to] : kWords) part = replaced(part, from, to);
    }
    text += part;
    if (mark < rest.size()) text += rest[mark];
    rest.remove_prefix(std::min(rest.size(), mark + 1));
    quoted = !quoted;
  }
  return text;
}

/// Clean rewordings of one summary, by name.
std::map<std::string, std::string> rewordings(const CompactionCase& one) {
  const std::string& text = one.summary;
  std::string numbered = text;
  for (std::size_t i = 0; i < kSummaryHeadings.size(); ++i) {
    const std::string heading(kSummaryHeadings.at(i));
    numbered = replaced(numbered, heading, fmt::format("### {}. {}:", i + 1, heading.substr(3)));
  }
  const std::size_t first = text.find('\n') + 1;
  return {
      {"as written", text},
      {"stars for bullets", replaced(text, "\n- ", "\n* ")},
      {"numbered headings", numbered},
      {"bold headings", replaced(replaced(text, "\n## ", "\n**"), "\n\n**", "\n\n**")},
      {"bullets in another order", bullets_reversed(one)},
      {"other words", with_synonyms(one)},
      {"no names in code marks", replaced(text, "`", "")},
      {"first heading left to the instruction", text.substr(first)},
      {"with an announcement", "Here is the summary of the conversation:\n\n" + text},
      {"sentences instead of bullets", replaced(text, "\n- ", "\n")},
      {"carriage returns", replaced(text, "\n", "\r\n")},
  };
}

GateResult judge(const CompactionCase& one, const Damaged& reply) {
  return judge_summary(one.span, {reply.text, reply.stop}, kSummaryHeadings, GateLimits{});
}

}  // namespace

TEST_CASE("every damage is found with its code", "[gate]") {
  REQUIRE(compaction_cases().size() >= 10);
  std::string table = fmt::format("{:<26} {:>7} {:>7}\n", "damage", "replies", "found");
  for (const Damage& damage : damages()) {
    std::size_t replies = 0;
    std::size_t found = 0;
    for (const auto& one : compaction_cases()) {
      for (const Damaged& reply : damage.make(*one)) {
        const GateResult result = judge(*one, reply);
        ++replies;
        const bool right = found_any(result, damage.codes);
        found += right ? 1U : 0U;
        INFO(one->name << ", " << damage.name << ":\n" << findings_of(result) << reply.text);
        CHECK(right);
        CHECK(result.verdict != GateVerdict::kUsable);
        CHECK_FALSE(repair_instruction(result).empty());
      }
    }
    CHECK(replies >= compaction_cases().size());
    table += fmt::format("{:<26} {:>7} {:>7}\n", damage.name, replies, found);
  }
  fmt::print("{}", table);
}

TEST_CASE("clean rewordings pass", "[gate]") {
  std::size_t replies = 0;
  std::size_t rejected = 0;
  for (const auto& one : compaction_cases()) {
    for (const auto& [name, text] : rewordings(*one)) {
      const GateResult result = judge(*one, {text});
      ++replies;
      if (result.verdict == GateVerdict::kUsable) continue;
      ++rejected;
      fmt::print("rejected: {}, {}:\n{}", one->name, name, findings_of(result));
    }
  }
  fmt::print("clean rewordings: {} of {} rejected\n", rejected, replies);
  CHECK(replies >= 50);
  CHECK(static_cast<double>(rejected) <= 0.02 * static_cast<double>(replies));
}
