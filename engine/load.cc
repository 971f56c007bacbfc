#include "engine/load.h"

#include <fmt/format.h>

namespace daybook::engine {
namespace {

/// Folding this many events takes a few milliseconds; below it a checkpoint saves nothing.
constexpr std::uint64_t kEventsPerCheckpoint = 1000;

Result<void> fold_from(journal::Journal& journal, const SessionId& session, SessionState& state,
                       std::uint64_t last) {
  Result<void> status;
  auto read = journal.read(session, state.version + 1, journal::ReadMode::strict,
                           [&](const journal::Entry& entry) {
                             if (entry.version > last) return false;
                             status = evolve(state, *entry.event, entry.bytes);
                             return status.has_value();
                           });
  if (!read) return fail(std::move(read.error()));
  return status;
}

/// The checkpoint if it is this build's, reads, and is of events that exist; otherwise nothing, and
/// the fold starts at zero.
std::optional<SessionState> from_checkpoint(journal::Journal& journal, const SessionId& session) {
  auto stored = journal.load_checkpoint(session, kStateProjection);
  if (!stored || !*stored || (*stored)->fingerprint != fold_fingerprint()) return std::nullopt;
  auto state = unpack_state((*stored)->state);
  if (!state || state->version != (*stored)->version || state->session != session.str()) {
    return std::nullopt;
  }
  const auto head = journal.head(session);
  if (!head || head->version < state->version) return std::nullopt;
  // With events after it, the first of them proves that it is of the same past.
  if (head->version == state->version && head->hash != state_hash(*state)) return std::nullopt;
  return std::move(*state);
}

}  // namespace

Result<SessionState> load_state(journal::Journal& journal, const SessionId& session) {
  if (auto state = from_checkpoint(journal, session)) {
    // A checkpoint that the events do not continue is a stale cache, not damage: fold from zero,
    // which tells the one from the other.
    if (fold_from(journal, session, *state, UINT64_MAX)) return std::move(*state);
  }
  SessionState state = empty_state();
  DAYBOOK_TRY(fold_from(journal, session, state, UINT64_MAX));
  return state;
}

Result<SessionState> load_state_at(journal::Journal& journal, const SessionId& session,
                                   std::uint64_t version) {
  SessionState state = empty_state();
  DAYBOOK_TRY(fold_from(journal, session, state, version));
  if (state.version != version) {
    return fail(ErrorCode::not_found, fmt::format("session {} has versions 1 to {}, not {}",
                                                  session.str(), state.version, version));
  }
  return state;
}

Result<void> save_checkpoint_if_due(journal::Journal& journal, const SessionState& state) {
  auto session = SessionId::parse(state.session);
  if (!session) return fail(std::move(session.error()));
  auto stored = journal.load_checkpoint(*session, kStateProjection);
  const std::uint64_t covered =
      stored && *stored && (*stored)->fingerprint == fold_fingerprint() ? (*stored)->version : 0;
  if (state.version < covered + kEventsPerCheckpoint) return {};
  return journal.save_checkpoint(
      *session, kStateProjection,
      {state.version, std::string(fold_fingerprint()), pack_state(state)});
}

journal::Refold refold(journal::Journal& journal) {
  return [&journal](const SessionId& session, std::string_view projection,
                    const journal::Checkpoint& checkpoint) -> Result<std::optional<std::string>> {
    if (projection != kStateProjection || checkpoint.fingerprint != fold_fingerprint()) {
      return std::nullopt;
    }
    auto state = load_state_at(journal, session, checkpoint.version);
    if (!state) return fail(std::move(state.error()));
    return pack_state(*state);
  };
}

Result<RecordedAnswer> recorded_answer(journal::Journal& journal, const SessionId& session,
                                       std::uint64_t request_version) {
  RecordedAnswer answer;
  std::uint32_t turn = 0;  // the last turn of the chain
  Result<void> status;
  auto read = journal.read(
      session, request_version, journal::ReadMode::strict, [&](const journal::Entry& entry) {
        const auto* started = entry.event->payload_as_TurnStarted();
        if (started != nullptr) {
          const bool ours = turn == 0 || (!answer.completed && started->continues() == turn);
          if (ours) turn = started->turn();
          answer.last_turn = ours;
          return true;
        }
        const auto* ended = entry.event->payload_as_TurnEnded();
        if (ended == nullptr || ended->turn() != turn || !answer.last_turn) return true;
        if (ended->outcome() != schema::TurnOutcome::completed) return true;
        auto text = journal::content_bytes(journal, ended->answer());
        if (!text) {
          status = fail(std::move(text.error()));
        } else {
          answer.completed = true;
          answer.text = std::move(*text);
        }
        return false;
      });
  if (!read) return fail(std::move(read.error()));
  if (!status) return fail(std::move(status.error()));
  return answer;
}

}  // namespace daybook::engine
