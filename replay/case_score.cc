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

/// All of the block but the summary is the same for every summary.
Result<void> PreparedCase::prepare_block(journal::Journal& journal) {
  constexpr std::string_view kMark = "\x01";  // no text that is recorded holds it alone on a line
  const auto& at = case_.recorded;
  auto state = engine::load_state_at(journal, at.session, at.version);
  if (!state) return fail(std::move(state.error()));
  auto sourced = engine::source_block(journal, *state, {},
                                      std::span(case_.items).subspan(case_.span_at), kMark, "", "");
  if (!sourced) return fail(std::move(sourced.error()));
  const std::string& text = sourced->block.text;
  const std::size_t mark = text.find("\n\x01\n");
  DAYBOOK_CHECK(mark != std::string::npos);
  block_head_ = text.substr(0, mark + 1);
  block_tail_ = text.substr(mark + 2);
  return {};
}

engine::GateResult PreparedCase::judge(const engine::SummaryReply& reply) const {
  return engine::judge_summary(*span_, reply, engine::kSummaryHeadings, {});
}

CompactionScore PreparedCase::score(std::string_view summary, std::string_view block) const {
  return score_compaction(*span_, facts_, summary, block);
}

std::string PreparedCase::block(std::string_view summary) const {
  return block_head_ + std::string(summary) + block_tail_;
}

}  // namespace daybook::replay
