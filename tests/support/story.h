// A session told event by event, for tests of the fold.
#pragma once

#include <string>
#include <vector>

#include "engine/next.h"
#include "engine/state.h"
#include "journal/session_writer.h"

namespace daybook::tests {

class Story {
 public:
  explicit Story(const std::string& name = "story");

  /// Adds one event and folds it; the result is evolve's.
  template <class PayloadT>
  Result<void> tell(PayloadT payload) {
    journal::Batch batch;
    batch.add(draft(std::move(payload), state.turn->number));
    return take(std::move(batch));
  }

  /// Folds raw bytes as the next event.
  Result<void> take_bytes(const std::string& bytes);

  // Whole passages.
  void start(schema::ApprovalMode mode = schema::ApprovalMode::bypass_approvals,
             std::uint32_t max_iterations = 10, const std::string& prompt = "do it");
  void start_turn(const std::string& prompt) {
    start(schema::ApprovalMode::bypass_approvals, 10, prompt);
  }
  void end_turn();
  /// The segments have the sizes of the messages' contents.
  void request(std::uint64_t body_size = 0);
  void respond_text(const std::string& text, schema::StopReason stop = schema::StopReason::end,
                    std::unique_ptr<schema::UsageT> usage = nullptr);
  struct Call {
    std::string tool;
    std::string arguments = "{}";
    schema::ArgumentsState state = schema::ArgumentsState::valid;
  };
  void respond_calls(const std::vector<Call>& calls);
  void fail_model(schema::FailureKind kind, std::int64_t retry_at = 0);
  Result<void> decide(const std::string& call_id, schema::Decision decision,
                      const std::string& by = "rule:test");
  Result<void> dispatch(const std::string& call_id,
                        schema::Effect effect = schema::Effect::uncheckable);
  Result<void> complete(const std::string& call_id, const std::string& result = "done");
  /// Decides, dispatches and completes every open call.
  void answer_calls(const std::string& result);

  engine::Step next(const engine::Signals& signals = {}, const engine::Limits& limits = {}) const;

  engine::SessionState state = engine::empty_state();
  engine::ToolTable tools;
  std::vector<std::string> events;  // encoded, in order

 private:
  Result<void> take(journal::Batch batch);
  journal::SessionWriter writer_;
};

}  // namespace daybook::tests
