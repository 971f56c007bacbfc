// Makes the summaries of a replay, one after the other, each recorded as it comes: a run that is
// interrupted goes on where it was, and no finished call is paid again.
#pragma once

#include <functional>
#include <string>

#include "engine/clock.h"
#include "engine/context.h"
#include "journal/session_writer.h"
#include "replay/price_book.h"
#include "replay/recorded_compaction.h"
#include "replay/replay_state.h"

namespace daybook::replay {

/// What an arm calls.
struct ArmModel {
  engine::ModelChoice choice;
  engine::Model* model = nullptr;
  std::uint64_t window = 128'000;  // tokens
};

struct ReplayProgress {
  std::size_t done = 0;  // units
  std::size_t all = 0;
  Money spent;
  std::uint64_t unpriced_tokens = 0;
  std::size_t unknown_calls = 0;  // answered without a usage
};

struct ReplayWorld {
  journal::Journal& journal;
  engine::Clock& clock;
  const PriceBook& prices;
  /// Of an arm that is not mechanical, by its index; lives as long as the run.
  std::function<const ArmModel&(std::uint32_t)> model_of;
  /// Runs the event loop until `ready`.
  std::function<void(const std::function<bool()>& ready)> wait;
  std::function<bool()> stopped;
  std::function<void(const ReplayProgress&)> progress;
};

enum class ReplayEnd : std::uint8_t { done, stopped, too_dear };

struct ReplayOutcome {
  ReplayEnd end = ReplayEnd::done;
  ReplayProgress progress;
};

/// Takes the session and makes what is missing. `max_cost`: before a call that could exceed it the
/// run ends; a model without a price, or one that reports no usage, is then an error. A model that
/// cannot be reached or refuses the key ends the run with an error, and its unit stays open.
Result<ReplayOutcome> run_replay(const ReplayWorld& world, const SessionId& session,
                                 const std::string& owner, std::optional<Money> max_cost);

/// The first events of a new replay.
Result<void> start_replay(const ReplayWorld& world, const SessionId& session,
                          const std::string& owner, schema::ReplayStartedT started);

}  // namespace daybook::replay
