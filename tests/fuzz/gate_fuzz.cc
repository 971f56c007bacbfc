// The gate and the scorer on any bytes: a span cut out of them, and a summary of it. Verdicts and
// scores stay within their bounds, and what a prepared span says is what a fresh one does.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "engine/prepared_span.h"
#include "engine/summary_gate.h"
#include "replay/facts.h"
#include "replay/mechanical_summary.h"
#include "replay/summary_score.h"
#include "schema/result.h"
#include "schema/utf8.h"

namespace {

using namespace daybook;
using engine::SpanItem;
using engine::SpanKind;

struct Piece {
  SpanKind kind;
  std::string_view tool;
  bool ok;
};

/// What a byte before a piece makes of it.
constexpr Piece kPieces[] = {{SpanKind::kUser, "", true},
                             {SpanKind::kAssistant, "", true},
                             {SpanKind::kToolCall, "run_shell", true},
                             {SpanKind::kToolResult, "run_shell", true},
                             {SpanKind::kToolCall, "apply_patch", true},
                             {SpanKind::kToolResult, "apply_patch", true},
                             {SpanKind::kToolCall, "BashOutput", true},
                             {SpanKind::kToolResult, "BashOutput", false},
                             {SpanKind::kToolCall, "TodoWrite", true},
                             {SpanKind::kToolResult, "", true},
                             {SpanKind::kPriorSummary, "", true},
                             {SpanKind::kInjected, "", true}};

/// Pieces end at bytes that no text holds; the last is the summary.
std::vector<std::string_view> pieces_of(std::string_view bytes) {
  std::vector<std::string_view> pieces;
  while (true) {
    const std::size_t end = bytes.find('\xff');
    pieces.push_back(bytes.substr(0, end));
    if (end == std::string_view::npos) return pieces;
    bytes.remove_prefix(end + 1);
  }
}

bool is_share(double share) {
  return share >= 0 && share <= 1 + 1e-9;
}

void check_gate(const std::vector<SpanItem>& items, const engine::PreparedSpan& span,
                std::string_view summary) {
  const engine::SummaryReply reply{summary};
  const auto result = engine::judge_summary(span, reply, engine::kSummaryHeadings, {});
  const auto fresh = engine::judge_summary(items, reply, engine::kSummaryHeadings, {});
  DAYBOOK_CHECK(result.verdict == fresh.verdict);
  DAYBOOK_CHECK(result.findings.size() == fresh.findings.size());
  DAYBOOK_CHECK(is_share(result.entity_precision));
  const bool usable = result.verdict == engine::GateVerdict::kUsable;
  DAYBOOK_CHECK(usable == result.findings.empty());
  DAYBOOK_CHECK(engine::repair_instruction(result).empty() == usable);
  for (const auto& finding : result.findings) DAYBOOK_CHECK(finding.evidence.size() <= 400);
}

void check_score(const engine::PreparedSpan& span, std::string_view summary) {
  const auto facts = replay::extract_facts(span, {}, {});
  const auto score = replay::score_text(span, facts, summary);
  DAYBOOK_CHECK(is_share(score.survival()) && is_share(score.needed_recall()));
  DAYBOOK_CHECK(score.all.present <= score.all.facts && score.all.facts == facts.facts.size());
  DAYBOOK_CHECK(score.entity_precision.has_value() == (score.entities > 0));
  DAYBOOK_CHECK(score.lines.size() == facts.facts.size() + score.invented);
  for (const auto& fact : facts.facts) {
    if (fact.type != replay::FactType::mandate) continue;
    // A demand in its own words is never missing, and never turned around.
    const auto own = replay::score_text(span, facts, fact.text);
    for (const auto& line : own.lines) {
      const bool same = line.type == fact.type && line.text == fact.text;
      DAYBOOK_CHECK(!same || line.status == replay::FactStatus::present);
    }
    break;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kMost = 20'000;
  const std::string_view bytes(reinterpret_cast<const char*>(data), std::min(size, kMost));
  auto pieces = pieces_of(bytes);
  const std::string_view summary = pieces.back();
  pieces.pop_back();
  std::vector<SpanItem> items;
  std::vector<engine::PastItem> past;
  for (std::string_view piece : pieces) {
    if (piece.empty()) continue;
    const Piece& as = kPieces[static_cast<unsigned char>(piece.front()) % std::size(kPieces)];
    piece.remove_prefix(1);
    items.push_back({as.kind, piece, as.tool, as.ok});
    past.push_back({as.kind, std::string(piece), std::string(as.tool), as.ok, 0});
  }
  const engine::PreparedSpan span(items);
  check_gate(items, span, summary);
  check_score(span, summary);
  // It judges what it makes again and again, and its input is the span alone.
  if (!summary.empty() && size % 8 != 0) return 0;
  constexpr std::size_t kRoom = 4'000;
  const std::string made = replay::mechanical_summary(past, kRoom);
  DAYBOOK_CHECK(replay::mechanical_summary(past, kRoom) == made);
  return 0;
}
