// The price book of a command that counts money.
#pragma once

#include "replay/price_book.h"
#include "tools/command.h"

namespace daybook::tools {

/// The shipped prices with those of --prices, or else of the configuration's file, over them.
Result<replay::PriceBook> open_prices(const Context& context, const Arguments& arguments);

/// Whose prices a model has that is called without a provider, when all are one vendor's. "": not
/// known.
std::string vendor_of(const replay::PriceBook& book, std::string_view model);

}  // namespace daybook::tools
