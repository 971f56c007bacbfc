// What lost tokens cost: each was paid at what the call paid for tokens it did not read, and would
// have been paid at the price of a read.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "replay/cache_attribution.h"

namespace daybook::replay {

/// 10^-21 dollars: sums of products of list prices and multipliers stay whole.
__extension__ typedef __int128 CacheMoney;

/// Prices of one call, a token. An absent one is not known.
struct CacheRates {
  std::optional<CacheMoney> uncached;
  std::optional<CacheMoney> read;
  std::optional<CacheMoney> write_5m;
  std::optional<CacheMoney> write_1h;
  std::optional<CacheMoney> output;
};

/// The prices for a call; whoever has a price book gives one.
using CachePricer = std::function<CacheRates(const CacheCall&)>;

/// Extra cost of one portion of lost tokens.
struct CacheWaste {
  CacheMoney point = 0;  // lost tokens are spread over the paid classes in proportion
  CacheMoney low = 0;    // they were the cheapest ones
  CacheMoney high = 0;   // they were the dearest ones
};

struct CallMoney {
  bool priced = false;                // every class that has tokens has a price
  std::uint64_t unpriced_tokens = 0;  // of the call, when it is not priced
  CacheMoney total = 0;               // of input and output
  CacheMoney ideal = 0;               // the same, had every lost token been read
  std::vector<CacheWaste> waste;      // by portion of verdict.lost; total == ideal + their points

  CacheMoney wasted() const;
};

CallMoney money_of(const CallVerdict& verdict, const CacheRates& rates);

/// Tokens of the classes that are not reads, in this order: uncached, 5 minutes, 1 hour.
struct PaidClasses {
  std::uint64_t uncached = 0;
  std::uint64_t write_5m = 0;  // and writes of a lifetime that is not told
  std::uint64_t write_1h = 0;
};
PaidClasses paid_classes(const CacheCall& call);

/// "1.234567" dollars, all digits.
std::string exact_dollars(CacheMoney money);
/// "$1.23", "$0.000120": what is not zero never looks like zero.
std::string shown_dollars(CacheMoney money);

}  // namespace daybook::replay
