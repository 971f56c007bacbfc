#include "engine/summary_gate.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/prepared_span.h"
#include "engine/summary_text.h"

namespace daybook::engine {
namespace {

struct CodeRow {
  std::string_view check;
  std::string_view name;
  GateVerdict alone;         // what the finding means by itself
  std::string_view request;  // what the retry is told
};

const CodeRow& row_of(GateCode code) {
  using enum GateVerdict;
  static constexpr std::array<CodeRow, 15> kRows = {{
      {"G1", "empty", kUnusable,
       "The reply held no text. Think briefly, then write the summary itself."},
      {"G2", "truncated", kRepairable,
       "The summary breaks off. Write it shorter, and finish every section."},
      {"G3", "too-short", kUnusable,
       "The summary is too short to go on from. Write every section out."},
      {"G3", "too-long", kRepairable,
       "The summary is too long. Leave out what the next steps do not need."},
      {"G4", "missing-heading", kRepairable,
       "Headings are missing or out of order. Write all of them, in the order given."},
      {"G4", "empty-section", kRepairable,
       "A section is empty. Write what belongs there, or the word none."},
      {"G5", "next-action", kUnusable,
       "The reply went on with the work. Do not act and call no tool: sum up what happened."},
      {"G6", "refusal", kUnusable,
       "The reply refused, asked or announced. Write the summary, and nothing else."},
      {"G7", "copied", kRepairable,
       "The reply pastes the transcript. Say it in your own words; quote only what the user "
       "wrote."},
      {"G7", "repetitive", kUnusable, "The reply repeats itself. Say everything once."},
      {"G8", "invented-user-quote", kRepairable,
       "These words are quoted as the user's and no user wrote them. Quote exactly, or leave out."},
      {"G9", "unknown-entities", kRepairable,
       "These are nowhere in the transcript. Correct them as they stand there, or leave them out."},
      {"G10", "unbacked-completion", kRepairable,
       "No tool result shows this. Say what was really seen."},
      {"G11", "wrong-language", kRepairable, "Write the sections in the language of the user."},
      {"G11", "introduced-secret", kRepairable,
       "The summary holds what looks like a secret. Name where it is kept, never its value."},
  }};
  return kRows.at(static_cast<std::size_t>(code) - 1);
}

GateVerdict verdict_of(const GateResult& result, const SummaryText& summary) {
  GateVerdict worst = GateVerdict::kUsable;
  for (const auto& finding : result.findings) {
    GateVerdict one = row_of(finding.code).alone;
    // With its sections there, it is a summary, whatever else is said in it.
    const bool whole = summary.headings_found * 2 >= summary.sections.size();
    if (one == GateVerdict::kUnusable && whole && !summary.sections.empty() &&
        (finding.code == GateCode::kRefusal || finding.code == GateCode::kNextActionVoice)) {
      one = GateVerdict::kRepairable;
    }
    if (!whole && finding.code == GateCode::kMissingHeading) one = GateVerdict::kUnusable;
    worst = std::max(worst, one);
  }
  return worst;
}

}  // namespace

std::string_view name_of(GateCode code) {
  return row_of(code).name;
}

std::string_view check_of(GateCode code) {
  return row_of(code).check;
}

std::string_view name_of(GateVerdict verdict) {
  switch (verdict) {
    case GateVerdict::kUsable:
      return "usable";
    case GateVerdict::kRepairable:
      return "repairable";
    case GateVerdict::kUnusable:
      return "unusable";
  }
  return "unusable";
}

GateResult judge_summary(const PreparedSpan& span, const SummaryReply& reply,
                         std::span<const std::string_view> headings, const GateLimits& limits) {
  GateResult result;
  const SummaryText summary = read_summary(reply.text, headings, limits.first_heading_implied);
  const GateContext context{span, reply, summary, limits, result};
  if (summary.words.empty()) {
    context.add(GateCode::kEmpty, fmt::format("{} bytes without a word", reply.text.size()));
    if (reply.stop == SummaryStop::kOutputLimit) {
      context.add(GateCode::kTruncated, "the output limit was reached before any text");
    }
    result.verdict = GateVerdict::kUnusable;
    return result;
  }
  check_shape(context);
  check_voice(context);
  check_copies(context);
  check_quotes(context);
  check_entities(context);
  check_claims(context);
  check_language(context);
  check_secrets(context);
  std::stable_sort(result.findings.begin(), result.findings.end(),
                   [](const GateFinding& a, const GateFinding& b) { return a.code < b.code; });
  result.verdict = verdict_of(result, summary);
  return result;
}

GateResult judge_summary(std::span<const SpanItem> span, const SummaryReply& reply,
                         std::span<const std::string_view> headings, const GateLimits& limits) {
  return judge_summary(PreparedSpan(span), reply, headings, limits);
}

std::string repair_instruction(const GateResult& result) {
  if (result.verdict == GateVerdict::kUsable) return {};
  std::string text = "The summary before this one was not accepted:\n";
  for (std::size_t i = 0; i < result.findings.size();) {
    const GateCode code = result.findings[i].code;
    fmt::format_to(std::back_inserter(text), "- {}", row_of(code).request);
    std::string_view separator = " (";
    for (; i < result.findings.size() && result.findings[i].code == code; ++i) {
      fmt::format_to(std::back_inserter(text), "{}{}", separator, result.findings[i].evidence);
      separator = "; ";
    }
    text += ")\n";
  }
  text += "Write the whole summary again, with every section.\n";
  return text;
}

}  // namespace daybook::engine
