#include "tools/score_text.h"

#include <fmt/format.h>

#include <ostream>

#include "replay/replay_state.h"
#include "tools/format.h"
#include "tools/json_writer.h"
#include "tools/table.h"

namespace daybook::tools {
namespace {

using replay::FactStatus;
using replay::SummaryScore;

constexpr std::size_t kFactCells = 90;

std::string percent(double share) {
  return fmt::format("{:.0f}%", share * 100);
}

/// Of nothing, nothing can be kept.
std::string needed(const SummaryScore& score) {
  return score.needed.facts == 0 ? "-" : percent(score.needed_recall());
}

void print_types(Context& context, const replay::CompactionScore& score) {
  Table table({"FACTS", "IN THE SPAN", "IN THE SUMMARY", "IN THE BLOCK"}, 0);
  for (std::size_t i = 0; i < replay::kFactTypes; ++i) {
    const auto& kept = score.summary.types[i];
    if (kept.facts == 0) continue;
    table.add({std::string(replay::name_of(static_cast<replay::FactType>(i))),
               std::to_string(kept.facts), std::to_string(kept.present),
               std::to_string(score.block.types[i].present)});
  }
  table.add({"needed later", std::to_string(score.summary.needed.facts),
             std::to_string(score.summary.needed.present),
             std::to_string(score.block.needed.present)});
  table.print(context.out, context.columns, context.colour());
}

void print_lines(Context& context, const SummaryScore& score) {
  for (const auto status : {FactStatus::missing, FactStatus::contradicted, FactStatus::invented}) {
    for (const auto& line : score.lines) {
      if (line.status != status) continue;
      context.out << fmt::format(
          "{:<14}{:<13}{}{}{}\n", replay::name_of(status), replay::name_of(line.type),
          line.needed ? "(needed) " : "", fit(one_line(line.text), kFactCells),
          line.other.empty() ? "" : fmt::format("; the summary says {}", one_line(line.other)));
    }
  }
}

std::string json_of(const replay::PreparedCase& of, const engine::GateResult& gate,
                    const replay::CompactionScore& score, std::string_view summary,
                    const ScoredUnit* unit) {
  JsonWriter out;
  out.begin_object().member("case", of.recorded().recorded.id());
  if (unit != nullptr) {
    out.member("arm", unit->arm).member("replicate", unit->replicate);
    out.member("attempt", unit->attempt).member("done", unit->done);
  }
  out.member("text", summary);
  out.member("verdict", engine::name_of(gate.verdict));
  out.member("gate_version", engine::kGateVersion);
  out.member("scorer_version", score.summary.version);
  out.key("findings").begin_array();
  for (const auto& finding : gate.findings) {
    out.begin_object().member("code", replay::code_of(finding.code));
    out.member("evidence", finding.evidence).end_object();
  }
  out.end_array();
  const auto number = [&](const char* name, double value) {
    out.key(name).raw(fmt::format("{:.6f}", value));
  };
  // Of nothing there is no share.
  const bool needs = score.summary.needed.facts > 0;
  if (needs) number("needed_recall", score.summary.needed_recall());
  number("survival", score.summary.survival());
  if (score.summary.entity_precision) number("precision", *score.summary.entity_precision);
  if (needs) number("block_needed_recall", score.block.needed_recall());
  number("block_survival", score.block.survival());
  out.member("contradictions", std::uint64_t{score.summary.contradictions});
  out.member("invented", std::uint64_t{score.summary.invented});
  out.key("facts").begin_array();
  for (const auto& line : score.summary.lines) {
    out.begin_object().member("status", replay::name_of(line.status));
    out.member("type", replay::name_of(line.type)).member("text", line.text);
    if (!line.detail.empty()) out.member("detail", line.detail);
    if (!line.other.empty()) out.member("other", line.other);
    out.member("needed", line.needed).end_object();
  }
  return out.end_array().end_object().text();
}

}  // namespace

void print_score(Context& context, const replay::PreparedCase& of, std::string_view summary,
                 const engine::SummaryReply& reply, bool json, const ScoredUnit* unit) {
  const auto gate = of.judge(reply);
  const auto score = of.score(summary);
  if (json) {
    context.out << json_of(of, gate, score, summary, unit) << '\n';
    return;
  }
  context.out << fmt::format("gate: {}\n", engine::name_of(gate.verdict));
  for (const auto& finding : gate.findings) {
    context.out << fmt::format("  {}: {}\n", replay::code_of(finding.code),
                               one_line(finding.evidence));
  }
  context.out << fmt::format(
      "kept of what was needed later: {} in the summary, {} in the block; of everything: {} and "
      "{}; "
      "precision of names and figures: {}\n",
      needed(score.summary), needed(score.block), percent(score.summary.survival()),
      percent(score.block.survival()),
      score.summary.entity_precision ? percent(*score.summary.entity_precision) : "-");
  print_types(context, score);
  print_lines(context, score.summary);
}

}  // namespace daybook::tools
