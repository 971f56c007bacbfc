#include "replay/spent.h"

#include "replay/price_call.h"

namespace daybook::replay {

bool may_have_been_billed(const schema::Event& event) {
  if (event.payload_type() == schema::Payload::ModelAbandoned) return true;
  const auto* failed = event.payload_as_ModelFailed();
  if (failed == nullptr) return false;
  using enum schema::FailureKind;
  const auto kind = failed->kind();
  return kind == connection || kind == stream_cut || kind == bad_response || kind == cancelled;
}

CallUsage most_usage(std::uint64_t body_bytes, std::uint64_t reply_tokens) {
  CallUsage usage;
  usage.input_total = body_bytes / 2;
  usage.input_uncached = usage.input_total;
  usage.output = reply_tokens;
  return usage;
}

void Spent::add(const PriceBook& prices, const PaidCall& call) {
  const auto rows = prices.rows_for(call.provider, call.model);
  const CallCost cost = price_call(rows, call.usage, {call.at, call.at});
  unpriced_tokens += cost.unpriced_tokens;
  money += cost.total.high;
  unknown_calls += call.answered && !call.usage.any() ? 1 : 0;
  at_most_calls += call.at_most ? 1 : 0;
}

}  // namespace daybook::replay
