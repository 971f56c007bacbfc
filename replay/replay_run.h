// Makes the summaries of a replay, one after the other, each recorded as it comes: a run that is
// interrupted goes on where it was, and no finished call is paid again.
#pragma once

#include <functional>
#include <string>

#include "replay/recorded_calls.h"
#include "replay/recorded_compaction.h"
#include "replay/replay_state.h"

namespace daybook::replay {

struct ReplayProgress {
  std::size_t done = 0;  // units
  std::size_t all = 0;
  Spent spent;
};

struct ReplayWorld {
  CallWorld calls;
  /// Of an arm that is not mechanical, by its index; lives as long as the run.
  std::function<const ArmModel&(std::uint32_t)> model_of;
  std::function<void(const ReplayProgress&)> progress;
};

struct ReplayOutcome {
  CallEnd end = CallEnd::done;
  ReplayProgress progress;
  std::optional<Money> next_call;  // too_dear: the most that the call not made could cost
};

/// Tokens that a summary of the arm may take: what the arm asks for, but no more than the model's
/// longest answer, and than a quarter of its window, which the longest transcript leaves.
std::uint64_t reply_budget(const Arm& arm, const ArmModel& model);

/// Takes the session and makes what is missing. `max_cost`: before a call that could exceed it the
/// run ends; a model without a price, or one that reports no usage, is then an error. A failure
/// that is not about the request ends the run with an error, and its unit stays open.
Result<ReplayOutcome> run_replay(const ReplayWorld& world, const SessionId& session,
                                 const std::string& owner, std::optional<Money> max_cost);

/// The first events of a new replay.
Result<void> start_replay(const ReplayWorld& world, const SessionId& session,
                          const std::string& owner, schema::ReplayStartedT started);

}  // namespace daybook::replay
