#include "replay/case_score.h"

#include "engine/block_source.h"
#include "engine/load.h"

namespace daybook::replay {

PreparedCase::PreparedCase(CompactionCase loaded)
    : case_(std::move(loaded)),
      items_(engine::gate_items(case_.items)),
      span_(std::make_unique<engine::PreparedSpan>(items_)) {
  std::vector<std::string_view> continuation;
  continuation.reserve(case_.continuation.size());
  for (const auto& item : case_.continuation) continuation.emplace_back(item.text);
  facts_ = extract_facts(*span_, continuation, {});
  for (const auto& item : items_) span_bytes_ += item.text.size();
}

Result<std::unique_ptr<PreparedCase>> PreparedCase::load(journal::Journal& journal,
                                                         std::string_view id) {
  auto loaded = load_case(journal, id);
  if (!loaded) return fail(std::move(loaded.error()));
  const bool own = loaded->recorded.source == "daybook";
  std::unique_ptr<PreparedCase> made(new PreparedCase(std::move(*loaded)));
  if (own) DAYBOOK_TRY(made->prepare_block(journal));
  return made;
}

Result<void> PreparedCase::prepare_block(journal::Journal& journal) {
  constexpr std::string_view kMark = "\x01";  // no text that is recorded holds it alone on a line
  const auto& at = case_.recorded;
  auto state = engine::load_state_at(journal, at.session, at.version);
  if (!state) return fail(std::move(state.error()));
  // The budgets that the session had.
  engine::CompactionLimits limits;
  if (at.trigger_tokens > 0) {
    limits.window = at.trigger_tokens * 4;
    limits.cap = at.trigger_tokens;
  }
  limits = engine::limits_of(limits, at.trigger, at.tokens_before);
  auto sourced = engine::source_block(journal, *state, limits,
                                      std::span(case_.items).subspan(case_.span_at), kMark, "", "");
  if (!sourced) return fail(std::move(sourced.error()));
  frame_ = std::move(sourced->block.text);
  const std::size_t mark = frame_.find("\n\x01\n");
  DAYBOOK_CHECK(mark != std::string::npos);
  frame_.erase(mark + 1, kMark.size());
  summary_at_ = mark + 1;
  const SummaryScore scored = score_text(*span_, facts_, frame_);
  for (std::size_t i = 0; i < facts_.facts.size(); ++i) {
    in_frame_.push_back(scored.lines[i].status == FactStatus::present);
  }
  return {};
}

engine::GateResult PreparedCase::judge(const engine::SummaryReply& reply) const {
  return engine::judge_summary(*span_, reply, engine::kSummaryHeadings, {});
}

std::string PreparedCase::block(std::string_view summary) const {
  std::string text = frame_;
  return text.insert(summary_at_, summary);
}

CompactionScore PreparedCase::score(std::string_view summary) const {
  CompactionScore score;
  score.summary = score_text(*span_, facts_, summary);
  score.block = score.summary;
  // A fact is in the block when it is in the summary or in what stands around it. What the summary
  // contradicts, the block does, whatever else it says.
  for (std::size_t i = 0; i < in_frame_.size(); ++i) {
    if (!in_frame_[i] || score.summary.lines[i].status != FactStatus::missing) continue;
    const Fact& fact = facts_.facts[i];
    const auto add = [&](TypeScore& to) {
      ++to.present;
      to.present_weight += fact.weight;
    };
    add(score.block.types[static_cast<std::size_t>(fact.type)]);
    add(score.block.all);
    if (fact.needed) add(score.block.needed);
    score.block.lines[i].status = FactStatus::present;
  }
  return score;
}

}  // namespace daybook::replay
