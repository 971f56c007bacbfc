// One recorded compaction, made ready to score any number of summaries of it.
#pragma once

#include <memory>
#include <string>

#include "engine/compaction.h"
#include "replay/recorded_compaction.h"
#include "replay/summary_score.h"

namespace daybook::replay {

class PreparedCase {
 public:
  /// Reads the span, the continuation and, for Daybook's own sessions, the state that the block is
  /// made of.
  static Result<std::unique_ptr<PreparedCase>> load(journal::Journal& journal, std::string_view id);

  /// Strict gate of this build.
  engine::GateResult judge(const engine::SummaryReply& reply) const;
  /// Of the summary, and of the block that would be sent with it. For imported compactions the
  /// summary is all that is known of the block.
  CompactionScore score(std::string_view summary) const;
  /// That block.
  std::string block(std::string_view summary) const;
  std::size_t block_bytes(std::string_view summary) const { return frame_.size() + summary.size(); }

  const CompactionCase& recorded() const { return case_; }
  const FactSet& facts() const { return facts_; }
  const engine::PreparedSpan& span() const { return *span_; }
  std::size_t span_bytes() const { return span_bytes_; }

 private:
  explicit PreparedCase(CompactionCase loaded);
  Result<void> prepare_block(journal::Journal& journal);

  CompactionCase case_;
  std::vector<engine::SpanItem> items_;
  std::unique_ptr<const engine::PreparedSpan> span_;
  FactSet facts_;
  std::size_t span_bytes_ = 0;
  std::string frame_;           // a block without its summary: the same for every summary
  std::size_t summary_at_ = 0;  // where in it the summary goes
  std::vector<bool> in_frame_;  // facts that it holds
};

}  // namespace daybook::replay
