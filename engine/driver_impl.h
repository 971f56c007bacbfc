// The driver's inside, shared by its .cc files. Heavy: nothing else includes it.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "engine/block_source.h"
#include "engine/driver.h"
#include "engine/summary_request.h"
#include "engine/tool_run.h"

namespace daybook::engine {

namespace asio = boost::asio;

class Driver::Impl {
 public:
  Impl(asio::io_context& io, World world, TurnRequest request);

  asio::awaitable<Result<TurnReport>> run();
  asio::io_context& io_context() { return io_; }
  void stop(std::string reason);
  const SessionState& state() const { return state_; }

 private:
  using Report = asio::awaitable<Result<std::optional<TurnReport>>>;

  Result<void> check_recorded();
  asio::awaitable<Result<void>> acquire();
  asio::awaitable<Result<TurnReport>> loop();
  asio::awaitable<Result<void>> append(journal::Batch batch);
  asio::awaitable<Result<void>> write(journal::Append append);
  Result<void> evolve_all(const std::vector<std::string>& events);

  Report perform(Step step);
  Report abandon_model();
  Report request_model(step::RequestModel step);
  Report start_compaction(step::StartCompaction step);
  Report request_summary(step::RequestSummary step);
  Report commit_compaction(step::CommitCompaction step);
  Report cancel_compaction(step::CancelCompaction step);
  Report refuse_call(step::RefuseCall step);
  Report ask_approval(step::AskApproval step);
  Report run_calls(step::RunCalls step);
  Report settle_call(step::SettleCall step);
  Report end_turn(step::EndTurn step);

  /// Waits until `not_before_ns`; false: the turn is to be stopped.
  asio::awaitable<bool> wait_until(std::int64_t not_before_ns);
  asio::awaitable<std::shared_ptr<ModelOutcome>> ask(ModelCall call, DeltaSink sink);
  ModelCall model_call(std::shared_ptr<const std::string> body) const;
  /// Everything about an outcome, behind what it observed of rate limits.
  void add_outcome(journal::Batch& batch, const ModelOutcome& outcome, std::uint64_t causation,
                   std::uint32_t failures);
  std::int64_t retry_time(const Failure& failure, std::uint32_t failures);
  Result<std::vector<PastItem>> compacted_span();
  Result<std::string> summariser_failure();
  asio::awaitable<Answer> ask_summary(const std::string& why);
  asio::awaitable<std::string> spill_transcript(std::string transcript);
  schema::CompactionCommittedT committed(journal::Batch& batch, SourcedBlock sourced);
  Result<std::string> answer_text();
  Result<executor::ToolRequest> tool_request(const CallState& call);
  struct Planned {
    executor::ToolRequest request;
    executor::Plan plan;
  };
  asio::awaitable<std::shared_ptr<Result<executor::Plan>>> plan_one(executor::ToolRequest request);
  asio::awaitable<Result<void>> plan_call(step::RunCalls::Item item, journal::Batch& intents,
                                          std::vector<Planned>& planned);
  asio::awaitable<Result<void>> run_planned(std::vector<Planned> planned);
  asio::awaitable<ToolDone> run_one(executor::ToolRequest request, executor::Plan plan);
  void add_completed(journal::Batch& batch, const std::string& call_id, ToolDone done);
  void add_decided(journal::Batch& batch, const CallState& call, schema::Decision decision,
                   const std::string& by, std::string_view result);
  template <class PayloadT>
  EventDraft in_turn(PayloadT payload, std::uint64_t causation = 0) {
    return draft(std::move(payload), state_.turn->number, causation);
  }

  asio::io_context& io_;
  World world_;
  TurnRequest request_;
  SessionState state_;
  journal::SessionWriter writer_;
  RequestBuilder builder_;
  ToolRunner runner_;
  ToolTable tools_;
  Preamble preamble_;
  Signals signals_;
  std::stop_source stop_source_;
};

}  // namespace daybook::engine
