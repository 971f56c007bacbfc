// A session's state from the journal: the newest usable checkpoint, then the events after it.
#pragma once

#include "engine/state.h"
#include "journal/journal.h"

namespace daybook::engine {

/// Name of the projection that checkpoints of SessionState are kept under.
inline constexpr std::string_view kStateProjection = "session";

/// Strict: damage is an error naming session and version. A session without events gives
/// empty_state().
Result<SessionState> load_state(journal::Journal& journal, const SessionId& session);

/// State as of `version`; `not_found` beyond the last event.
Result<SessionState> load_state_at(journal::Journal& journal, const SessionId& session,
                                   std::uint64_t version);

/// Saves a checkpoint when enough events came since the last one to be worth it.
Result<void> save_checkpoint_if_due(journal::Journal& journal, const SessionState& state);

/// For Journal::verify: state bytes at the checkpoint's version, folded from zero.
journal::Refold refold(journal::Journal& journal);

/// The answer to the turn that `request_version` (of an append with a request id) started,
/// following its continuations.
struct RecordedAnswer {
  bool completed = false;
  bool last_turn = false;  // no other turn came after it: it can still be continued
  std::string text;
};
Result<RecordedAnswer> recorded_answer(journal::Journal& journal, const SessionId& session,
                                       std::uint64_t request_version);

}  // namespace daybook::engine
