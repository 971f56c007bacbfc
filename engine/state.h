// The fold: a session's state as a function of its events. Pure: no clock, no I/O, no randomness.
#pragma once

#include <string>
#include <string_view>

#include "schema/checkpoint_generated.h"
#include "schema/event.h"

namespace daybook::engine {

/// The generated native type, so that a checkpoint is the state itself, packed.
using SessionState = schema::SessionStateT;
using CallState = schema::CallStateT;

/// State of a session that has no events yet. Every nested table is present, always.
SessionState empty_state();

/// Applies one event. `bytes` are the event's own, for the chain. An event that cannot follow the
/// state (a gap, a broken chain, a second outcome for one intent, an outcome without intent) is
/// `corrupt` and leaves the state unusable.
Result<void> evolve(SessionState& state, const schema::Event& event,
                    std::span<const std::byte> bytes);

/// Bytes of a checkpoint, and back. A damaged or foreign byte string is an error.
std::string pack_state(const SessionState& state);
Result<SessionState> unpack_state(std::string_view bytes);

/// Identifies the code that folds: the digest of its sources and of the schemas.
std::string_view fold_fingerprint();

inline Digest state_hash(const SessionState& state) {
  return Digest::from(state.hash.get());
}

/// The call with this id among those of the last assistant message; null if there is none.
const CallState* find_call(const SessionState& state, std::string_view call_id);

}  // namespace daybook::engine
