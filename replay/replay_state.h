// The fold of a replay's own session: which summaries were made, and what they cost.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/summary_gate.h"
#include "journal/journal.h"
#include "replay/arms.h"
#include "replay/spent.h"

namespace daybook::replay {

/// One summary to make: an arm on a case, once.
struct UnitKey {
  std::uint32_t arm = 0;  // indexes of ReplayStarted
  std::uint32_t item = 0;
  std::uint32_t replicate = 1;
  auto operator<=>(const UnitKey&) const = default;
};

struct AttemptMade {
  std::uint64_t version = 0;  // of its ReplayAttempted
  std::uint64_t request = 0;  // version of the last ModelRequested; 0: no model
  schema::GateVerdict verdict = schema::GateVerdict::unusable;
  std::vector<std::string> codes;                   // of the gate, as recorded
  std::vector<std::string> evidence;                // of each
  std::string repair;                               // what a retry is told of them
  std::shared_ptr<const schema::ContentT> summary;  // null: no reply came
  std::uint32_t gate_version = 0;
  engine::SummaryStop stop = engine::SummaryStop::kNatural;
};

struct UnitState {
  std::vector<AttemptMade> attempts;
  std::vector<PaidCall> calls;
  bool done = false;
};

struct ReplayState {
  std::uint64_t started_at = 0;  // version of ReplayStarted; 0: none
  std::vector<Arm> arms;
  std::vector<std::string> cases;  // "SESSION@VERSION"
  std::uint32_t replicates = 1;
  std::uint64_t seed = 0;
  std::map<UnitKey, UnitState> units;
  std::map<std::uint32_t, std::uint64_t> reply_limits;  // by arm: tokens, the least it asked for
  std::uint32_t requests = 0;                           // calls of models made
  std::uint64_t open_request = 0;                       // version of one without outcome
  std::optional<UnitKey> open_unit;

  /// All units, in the order they are to be made: shuffled by the seed.
  std::vector<UnitKey> order() const;
};

/// Folds events one after the other.
class ReplayFold {
 public:
  ReplayFold(journal::Journal& journal, const SessionId& session);
  Result<void> take(const journal::Entry& entry);
  const ReplayState& state() const { return state_; }

 private:
  void requested(const journal::Entry& entry, const schema::ModelRequested& e);
  Result<void> attempted(const journal::Entry& entry, const schema::ReplayAttempted& e);

  journal::Journal& journal_;
  ReplayState state_;
  schema::StopReason stop_ = schema::StopReason::end;  // of the last response
  std::uint64_t body_bytes_ = 0;                       // of the last request
  std::uint64_t reply_tokens_ = 0;                     // that its reply may have
  bool may_be_billed_ = false;                         // the event taken ends it without an answer
  CallFold calls_;
};

/// "G4-missing-heading": as events name a finding.
std::string code_of(engine::GateCode code);

/// Lineage of a unit's requests, and back.
std::string lineage_of(const UnitKey& key);
std::optional<UnitKey> unit_of(std::string_view lineage);

/// The state of a replay as recorded; `invalid_argument` when the session is none.
Result<ReplayState> load_replay(journal::Journal& journal, const SessionId& session);

/// The text of an attempt; "" when no reply came.
Result<std::string> attempt_text(journal::Journal& journal, const AttemptMade& attempt);

}  // namespace daybook::replay
