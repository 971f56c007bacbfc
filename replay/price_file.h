// One file of prices, read and checked.
#pragma once

#include "replay/price_book.h"

namespace daybook::replay {

/// A provider that a row or a `lists` names. It may stand in another file.
struct NamedProvider {
  std::string name;
  std::string where;  // "FILE:LINE:COLUMN"
};

/// Another name of a provider (`also`).
struct OtherName {
  std::string name;
  std::string where;
  std::string provider;
};

struct PriceFile {
  std::vector<PriceRow> rows;
  std::map<std::string, PriceProvider, std::less<>> providers;
  std::vector<NamedProvider> named;
  std::vector<OtherName> other_names;
};

/// Errors are `invalid_argument`: file, line, column, what was expected, the nearest known key.
Result<PriceFile> read_prices(std::string_view toml, std::string_view file);

/// replay/prices.toml
extern const std::string_view kPricesToml;

}  // namespace daybook::replay
