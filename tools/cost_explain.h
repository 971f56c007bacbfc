// The arithmetic of one call's cost.
#pragma once

#include "replay/price_book.h"
#include "tools/command.h"
#include "tools/cost_calls.h"
#include "tools/wanted_call.h"

namespace daybook::tools {

/// Errors: `not_found`, or those of `calls`.
Result<int> explain_cost(Context& context, const CallSource& calls, const WantedCall& wanted,
                         const replay::PriceBook& book, std::optional<std::int64_t> prices_at,
                         bool json);

}  // namespace daybook::tools
