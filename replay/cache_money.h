// What lost tokens cost: each was paid at what the call paid for tokens it did not read, and would
// have been paid at the price of a read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "replay/cache_attribution.h"
#include "replay/price_book.h"

namespace daybook::replay {

/// Prices of one call, a token. An absent one is not known.
struct CacheRates {
  std::optional<Money> uncached;
  std::optional<Money> read;
  std::optional<Money> write_5m;  // and of writes whose lifetime is not told
  std::optional<Money> write_1h;
  std::optional<Money> output;
  std::optional<Money> search;  // one
};

/// The prices at the time of the call. Where they are not known exactly, the lower bound.
CacheRates rates_of(const PriceBook& book, const CacheCall& call);

/// The same for many calls: a model's rows are looked up once. The book must outlive it.
class CallPrices {
 public:
  explicit CallPrices(const PriceBook& book) : book_(book) {}
  CacheRates of(const CacheCall& call);

 private:
  const PriceBook& book_;
  std::map<std::pair<std::string, std::string>, std::vector<const PriceRow*>> rows_;
};

/// Extra cost of one portion of lost tokens.
struct CacheWaste {
  Money point;  // lost tokens are spread over the paid classes in proportion
  Money low;    // they were the cheapest ones
  Money high;   // they were the dearest ones
};

struct CallMoney {
  bool priced = false;                // every class that has tokens has a price
  std::uint64_t unpriced_tokens = 0;  // of the call, when it is not priced
  Money total;                        // of input and output
  Money ideal;                        // the same, had every lost token been read
  std::vector<CacheWaste> waste;      // by portion of verdict.lost; total == ideal + their points
  /// What the writes that are left cost more when they are to live an hour, had every token that
  /// expired been read; absent: the provider has no such writes.
  std::optional<Money> hour_extra;
  Money searches;  // fees of web searches, in total and ideal alike
  std::uint64_t unpriced_searches = 0;
  Money ping;                   // what reading the whole prefix once more costs
  bool writes_missing = false;  // writes have a price, and were not reported: all is a lower bound

  Money wasted() const;
};

/// Of a call that is not measured: what it did report is paid, and nothing is lost.
CallMoney money_of(const CallVerdict& verdict, const CacheRates& rates);

/// Requests that would have kept alive what the call goes on from.
struct KeepWarm {
  std::uint64_t pings = 0;
  Money cost;
};
/// Nothing when times, lifetime or prices are not known.
std::optional<KeepWarm> keep_warm(const CallVerdict& verdict, const CallMoney& money);

/// Tokens of the classes that are not reads, in this order: uncached, 5 minutes, 1 hour.
struct PaidClasses {
  std::uint64_t uncached = 0;
  std::uint64_t write_5m = 0;  // and writes of a lifetime that is not told
  std::uint64_t write_1h = 0;
};
PaidClasses paid_classes(const CacheCall& call);

}  // namespace daybook::replay
