// The arithmetic of one call's cost.
#pragma once

#include "journal/journal.h"
#include "replay/price_book.h"
#include "tools/command.h"

namespace daybook::tools {

/// `call` is SESSION:VERSION (of its response or its request) or the id of the event. Errors:
/// `invalid_argument`, `not_found`.
Result<int> explain_cost(Context& context, journal::Journal& journal, const replay::PriceBook& book,
                         std::string_view call, std::optional<std::int64_t> prices_at, bool json);

}  // namespace daybook::tools
