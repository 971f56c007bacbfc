#include "replay/spent.h"

#include "replay/price_call.h"

namespace daybook::replay {

void Spent::add(const PriceBook& prices, const PaidCall& call) {
  const auto rows = prices.rows_for(call.provider, call.model);
  const CallCost cost = price_call(rows, call.usage, {call.at, call.at});
  unpriced_tokens += cost.unpriced_tokens;
  money += cost.total.high;
  unknown_calls += call.answered && !call.usage.any() ? 1 : 0;
}

}  // namespace daybook::replay
