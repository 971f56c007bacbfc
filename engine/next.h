// What comes next: a pure function of the folded state. There is no resume path: a process that
// starts on a half-finished session asks the same function.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "engine/compaction.h"
#include "engine/state.h"
#include "executor/executor.h"

namespace daybook::engine {

/// What `next` knows of tools: whether to ask, and what a crash means.
struct ToolTraits {
  executor::Risk risk = executor::Risk::read;
  schema::Effect effect = schema::Effect::read_only;
  bool in_order = false;
};
using ToolTable = std::map<std::string, ToolTraits, std::less<>>;

/// From outside the journal: a person or a deadline wants the turn to end.
struct Signals {
  bool stop = false;
  std::string reason;  // "interrupted by the user", "timed out after 30 s"
};

struct Limits {
  std::uint32_t max_attempts = 6;            // of one model request
  std::int64_t first_backoff_ms = 500;       // doubled with every failure, with jitter
  std::int64_t longest_backoff_ms = 30'000;  // a provider's Retry-After may be longer
  CompactionLimits compaction;
};

namespace step {

/// No turn is open.
struct Idle {};

/// A request without an outcome, of the turn or of its compaction: a process died meanwhile.
struct AbandonModel {};

struct RequestModel {
  std::uint32_t attempt = 1;
  std::int64_t not_before_ns = 0;  // UTC
};

/// The view has become too long: its head is to be replaced.
struct StartCompaction {
  CutPoint cut;
};

/// Ask the summariser; the reply before it, if there was one, was not accepted.
struct RequestSummary {
  std::uint32_t attempt = 1;
  std::int64_t not_before_ns = 0;  // UTC
};

/// Put the block in place: with the summary, or without one for this reason.
struct CommitCompaction {
  std::string reason;
  bool refused = false;  // there were summaries, and the gate accepted none
};

struct CancelCompaction {
  std::string reason;
};

/// A call that cannot run, and what the model is told.
struct RefuseCall {
  std::string call_id;
  std::string reason;
};

/// A person decides; `asked` when an earlier process asked already.
struct AskApproval {
  std::string call_id;
  bool asked = false;
};

/// Calls to run together: one, or several that only read. `decided_by` is empty when a decision
/// is recorded already.
struct RunCalls {
  struct Item {
    std::string call_id;
    std::string decided_by;
  };
  std::vector<Item> items;
};

/// An intent without an outcome, left by a crash.
struct SettleCall {
  std::string call_id;
};

/// Nothing can go on until a person says what became of these calls.
struct AwaitReconcile {
  std::vector<std::string> call_ids;
};

/// Calls still open are answered with `unanswered`, then the turn ends.
struct EndTurn {
  schema::TurnOutcome outcome = schema::TurnOutcome::completed;
  std::string message;
  std::vector<std::string> unanswered;
  bool clear_approvals = false;
};

}  // namespace step

using Step = std::variant<step::Idle, step::AbandonModel, step::RequestModel, step::StartCompaction,
                          step::RequestSummary, step::CommitCompaction, step::CancelCompaction,
                          step::RefuseCall, step::AskApproval, step::RunCalls, step::SettleCall,
                          step::AwaitReconcile, step::EndTurn>;

Step next(const SessionState& state, const ToolTable& tools, const Signals& signals,
          const Limits& limits);

}  // namespace daybook::engine
