#include "engine/compaction.h"

#include <algorithm>

#include "engine/state_compaction.h"

namespace daybook::engine {
namespace {

/// Roles, names and punctuation around a message, in bytes.
constexpr std::uint64_t kFrameBytes = 48;
constexpr std::string_view kOverflow = "overflow";
/// A view that was refused is measured by half of it, but by no less than this.
constexpr std::uint64_t kLeastCap = 1'000;
/// Below this share of the trigger an automatic compaction frees too little for its price.
constexpr std::uint64_t kLeastShare = 10;

std::uint64_t bytes_of(const schema::ContentT* content) {
  if (content == nullptr) return 0;
  return content->blob ? content->blob->size() : content->bytes.size();
}

std::uint64_t bytes_of(const schema::PendingMessageT& message) {
  std::uint64_t bytes = kFrameBytes + bytes_of(message.text.get());
  for (const auto& block : message.blocks) {
    bytes += kFrameBytes + std::max(bytes_of(block->text.get()), bytes_of(block->opaque.get()));
  }
  for (const auto& result : message.results) bytes += kFrameBytes + bytes_of(result->text.get());
  return bytes;
}

std::uint64_t bytes_of(const std::vector<schema::BlobRef>& refs) {
  std::uint64_t bytes = 0;
  for (const auto& ref : refs) bytes += ref.size();
  return bytes;
}

/// The view, message by message.
struct View {
  std::vector<schema::ViewMark> marks;
  std::vector<std::uint64_t> bytes;

  explicit View(const SessionState& state) {
    const auto& r = *state.request;
    marks.reserve(1 + r.messages.size() + state.pending.size());
    bytes.reserve(marks.capacity());
    if (state.compaction->block_pending) add(block_mark(), bytes_of(state.compaction->block.get()));
    for (std::size_t i = 0; i < r.messages.size(); ++i) add(r.marks[i], r.messages[i].size());
    for (const auto& message : state.pending) add(*message->mark, bytes_of(*message));
  }

  void add(const schema::ViewMark& mark, std::uint64_t size) {
    marks.push_back(mark);
    bytes.push_back(size);
  }
};

bool starts_turn(const schema::ViewMark& mark) {
  return mark.role() == schema::MessageRole::user && !mark.is_block();
}

/// The first index from `least` on where `may_head` and the rest fits; 0: none.
template <class MayHead>
std::size_t earliest(const View& view, const std::vector<std::uint64_t>& rest, std::size_t least,
                     std::uint64_t budget, MayHead may_head) {
  for (std::size_t i = least; i < view.marks.size(); ++i) {
    if (rest[i] <= budget && may_head(view.marks[i])) return i;
  }
  return 0;
}

/// Index of the first message that stays; 0: nothing can go.
std::size_t choose(const View& view, const std::vector<std::uint64_t>& rest, std::uint64_t budget) {
  const auto answers = [](const schema::ViewMark& mark) {
    return mark.role() == schema::MessageRole::assistant;
  };
  // At least one message must go that is not the block of an earlier compaction.
  const std::size_t least = view.marks.empty() || !view.marks[0].is_block() ? 1 : 2;
  if (const auto at = earliest(view, rest, least, budget, starts_turn)) return at;
  if (const auto at = earliest(view, rest, least, budget, answers)) return at;
  // Not even the last step fits: it stays alone.
  for (std::size_t i = view.marks.size(); i-- > least;) {
    if (starts_turn(view.marks[i]) || answers(view.marks[i])) return i;
  }
  return 0;
}

}  // namespace

CompactionBudgets budgets_of(const CompactionLimits& limits) {
  CompactionBudgets budgets;
  // A model whose answer may fill most of its window still needs room to be asked.
  const std::uint64_t beside_reply =
      std::max(limits.window / 2, limits.window - std::min(limits.window, limits.reply));
  budgets.trigger = std::min({limits.window * 4 / 5, beside_reply, limits.cap});
  budgets.kept = budgets.trigger / 4;
  budgets.summary = std::min(
      {limits.summary, budgets.trigger / 4, limits.reply == 0 ? UINT64_MAX : limits.reply});
  budgets.pinned = std::min<std::uint64_t>(4'000, budgets.trigger / 8);
  budgets.users = std::min(std::clamp<std::uint64_t>(budgets.trigger * 8 / 100, 2'000, 20'000),
                           budgets.trigger / 8);
  budgets.work = std::min<std::uint64_t>(2'000, budgets.trigger / 16);
  return budgets;
}

CompactionLimits limits_of(const CompactionLimits& limits, std::string_view trigger,
                           std::uint64_t tokens) {
  CompactionLimits made = limits;
  if (trigger == kOverflow) made.cap = std::min(limits.cap, std::max(kLeastCap, tokens / 2));
  return made;
}

bool gains_enough(std::string_view trigger, std::uint64_t before, std::uint64_t after) {
  return trigger == kOverflow ? after + before / kLeastShare <= before : after < before;
}

std::uint64_t estimate_tokens(const SessionState& state, std::uint64_t bytes) {
  const std::uint64_t per_mib =
      state.request->tokens_per_mib == 0 ? 1U << 18U : state.request->tokens_per_mib;
  return (bytes * per_mib + (1U << 20U) - 1) >> 20U;
}

std::uint64_t view_tokens(const SessionState& state) {
  const auto& r = *state.request;
  std::uint64_t pending = 0;
  for (const auto& message : state.pending) pending += bytes_of(*message);
  // A request that got no answer holds more than the figures of the answer before it.
  if (r.attempts > 0 && r.body_size > 0 && !r.rebase) {
    return estimate_tokens(state, r.body_size + pending);
  }
  if (r.input_tokens == 0 || r.rebase) {
    if (state.compaction->block_pending) pending += bytes_of(state.compaction->block.get());
    return estimate_tokens(state,
                           bytes_of(r.system) + bytes_of(r.tools) + bytes_of(r.messages) + pending);
  }
  // The last answer is among the pending messages, and its size was reported.
  if (!state.pending.empty() && r.output_tokens != 0 &&
      state.pending.front()->role == schema::MessageRole::assistant) {
    pending -= bytes_of(*state.pending.front());
  }
  return r.input_tokens + r.output_tokens + estimate_tokens(state, pending);
}

std::uint64_t tokens_after(const SessionState& state, std::uint64_t block_bytes) {
  const View view(state);
  std::uint64_t bytes =
      block_bytes + bytes_of(state.request->system) + bytes_of(state.request->tools);
  for (std::size_t i = state.compaction->replaced; i < view.bytes.size(); ++i) {
    bytes += view.bytes[i];
  }
  return estimate_tokens(state, bytes);
}

std::optional<CutPoint> due_compaction(const SessionState& state, const CompactionLimits& limits) {
  if (!limits.enabled || state.compaction->gave_up) return std::nullopt;
  const bool overflow =
      state.turn->failures > 0 && state.turn->failure == schema::FailureKind::context_overflow;
  const std::uint64_t tokens = view_tokens(state);
  const std::string_view trigger = overflow ? kOverflow : "auto";
  const CompactionBudgets budgets = budgets_of(limits_of(limits, trigger, tokens));
  if (!overflow && tokens <= budgets.trigger) return std::nullopt;

  const View view(state);
  const std::size_t count = view.marks.size();
  std::vector<std::uint64_t> rest(count + 1, 0);
  for (std::size_t i = count; i-- > 0;) {
    rest[i] = rest[i + 1] + estimate_tokens(state, view.bytes[i]);
  }
  const std::size_t at = choose(view, rest, budgets.kept);
  if (at == 0) return std::nullopt;
  const std::size_t block = view.marks[0].is_block() ? 1 : 0;
  if (!overflow && rest[block] - rest[at] < budgets.trigger / kLeastShare) return std::nullopt;

  CutPoint cut;
  cut.trigger = trigger;
  cut.replaced = static_cast<std::uint32_t>(at);
  cut.kept = static_cast<std::uint32_t>(count - at);
  cut.first = view.marks[block].first();
  cut.last = view.marks[at].first() - 1;
  cut.tokens = tokens;
  cut.within_turn = !starts_turn(view.marks[at]);
  return cut;
}

}  // namespace daybook::engine
