// When the history is compacted, and where it is cut. Pure; docs/compaction.md explains the policy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "engine/state.h"

namespace daybook::engine {

/// Sizes are tokens.
struct CompactionLimits {
  bool enabled = true;
  std::uint64_t window = 128'000;  // of the model
  std::uint64_t reply = 8'192;     // the model's longest answer, which the window holds too
  std::uint64_t cap = 250'000;     // on the trigger (compaction_cap_tokens)
  std::uint64_t summary = 16'000;  // on a summary (compaction_summary_max_tokens)
  std::uint32_t max_replies = 2;   // of the summariser: one, and one retry
};

/// Budgets of one compaction, from the limits. Together they leave the new view below the trigger.
struct CompactionBudgets {
  std::uint64_t trigger = 0;  // min(80 % of the window, window less the reply, cap)
  std::uint64_t kept = 0;     // messages that stay: a quarter of the trigger
  std::uint64_t summary = 0;  // at most a quarter of the trigger, and the longest reply
  std::uint64_t pinned = 0;   // the first user message: 4,000, at most an eighth
  std::uint64_t users = 0;  // newest user messages: 8 % between 2,000 and 20,000, at most an eighth
  std::uint64_t work = 0;   // working state: 2,000, at most a sixteenth
};
CompactionBudgets budgets_of(const CompactionLimits& limits);

/// The limits that one compaction keeps to. A provider that refused `tokens` has a smaller window
/// than is configured: everything is then measured by half of what it refused, so that each pass
/// leaves much less than the one before.
CompactionLimits limits_of(const CompactionLimits& limits, std::string_view trigger,
                           std::uint64_t tokens);

/// Whether a view of `after` tokens in place of `before` is worth the change: shorter, and after a
/// refusal by a tenth at least.
bool gains_enough(std::string_view trigger, std::uint64_t before, std::uint64_t after);

/// Tokens of `bytes`, by what this session's provider last reported, else one in four bytes.
std::uint64_t estimate_tokens(const SessionState& state, std::uint64_t bytes);

/// Tokens of the request that would be sent now: reported figures for what was sent, estimates for
/// what came since.
std::uint64_t view_tokens(const SessionState& state);

/// The same, were a block of so many bytes put in place of what the open compaction replaces.
std::uint64_t tokens_after(const SessionState& state, std::uint64_t block_bytes);

/// Where the view is cut: its first `replaced` messages go, `kept` stay.
struct CutPoint {
  std::string trigger;  // "auto", "overflow"
  std::uint32_t replaced = 0;
  std::uint32_t kept = 0;
  std::uint64_t first = 0;  // versions of the events of what goes; an old block's are left out
  std::uint64_t last = 0;
  std::uint64_t tokens = 0;
  bool within_turn = false;
};

/// The compaction that has to come before the next request; nothing when none is due or none would
/// help. The cut is the earliest start of a turn from which what stays fits `kept`; inside one
/// giant turn it is before an answer of the model. It never parts a call from its result.
std::optional<CutPoint> due_compaction(const SessionState& state, const CompactionLimits& limits);

}  // namespace daybook::engine
