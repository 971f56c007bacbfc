// The price book of a command that counts money.
#pragma once

#include "replay/price_book.h"
#include "tools/command.h"

namespace daybook::tools {

/// The shipped prices with those of --prices, or else of the configuration's file, over them.
Result<replay::PriceBook> open_prices(const Context& context, const Arguments& arguments);

}  // namespace daybook::tools
