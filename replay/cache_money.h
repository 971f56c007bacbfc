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
  std::optional<Money> write;  // of a lifetime that is not told
  std::optional<Money> write_5m;
  std::optional<Money> write_1h;
  std::optional<Money> output;
  std::optional<Money> search;  // one
};

/// The prices at the time of the call, and what it cost as `daybook cost` tells it. They have two
/// ends where the call does not tell of which class tokens are.
struct CallPrice {
  CacheRates low, high;
  MoneyRange total;                   // of what is priced
  std::uint64_t unpriced_tokens = 0;  // of classes without a price
  std::uint64_t unpriced_searches = 0;
};
CallPrice price_of(const PriceBook& book, const CacheCall& call);

/// What each class costs such a call, whatever this one used: the lower price where two may hold.
CacheRates rates_of(const PriceBook& book, const CacheCall& call);

/// The same for many calls: a model's rows are looked up once. The book must outlive it.
class CallPrices {
 public:
  explicit CallPrices(const PriceBook& book) : book_(book) {}
  CallPrice of(const CacheCall& call);

 private:
  const PriceBook& book_;
  std::map<std::pair<std::string, std::string>, std::vector<const PriceRow*>> rows_;
};

/// Extra cost of one portion of lost tokens.
struct CacheWaste {
  MoneyRange point;  // lost tokens are spread over the paid classes in proportion, at both ends
  Money low;         // they were the cheapest ones, at the low end
  Money high;        // they were the dearest ones, at the high end
};

/// At each end total == ideal + waste.
struct CallMoney {
  bool priced = false;                // every class that has tokens has a price
  std::uint64_t unpriced_tokens = 0;  // of classes without a price
  MoneyRange total;                   // of input and output, as far as it is priced
  MoneyRange ideal;                   // the same, had every lost token been read
  std::vector<CacheWaste> waste;      // by portion of verdict.lost; nothing where not priced
  /// What the writes that are left cost more when they are to live an hour, had every token that
  /// expired been read; absent: the provider has no such writes. At the low end.
  std::optional<Money> hour_extra;
  Money searches;  // fees of web searches, in total and ideal alike
  std::uint64_t unpriced_searches = 0;
  Money ping;                   // what reading the whole prefix once more costs, at the low end
  bool writes_missing = false;  // writes have a price, and were not reported: all is a lower bound

  MoneyRange wasted() const;
};

/// Of a call that is not measured: what it did report is paid, and nothing is lost.
CallMoney money_of(const CallVerdict& verdict, const CallPrice& price);

/// Requests that would have kept alive what the call goes on from.
struct KeepWarm {
  std::uint64_t pings = 0;
  Money cost;
};
/// For the longest that the gap can have been. Nothing when times, lifetime or prices are not
/// known.
std::optional<KeepWarm> keep_warm(const CallVerdict& verdict, const CallMoney& money);

/// Tokens of the classes that are not reads.
struct PaidClasses {
  std::uint64_t uncached = 0;
  std::uint64_t write_5m = 0;
  std::uint64_t write_1h = 0;
  std::uint64_t write = 0;  // of a lifetime that is not told
  std::uint64_t all() const { return uncached + write_5m + write_1h + write; }
};
PaidClasses paid_classes(const CacheCall& call);

}  // namespace daybook::replay
