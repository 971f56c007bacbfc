// What calls of models came to.
#pragma once

#include <cstdint>
#include <string>

#include "replay/call.h"
#include "replay/price_book.h"

namespace daybook::replay {

/// A call that was made, whatever came of it.
struct PaidCall {
  std::string provider;
  std::string model;
  CallUsage usage;
  std::int64_t at = 0;  // UTC ns
  bool answered = true;
};

/// What calls came to.
struct Spent {
  Money money;  // the upper bound where a price is an interval
  std::uint64_t unpriced_tokens = 0;
  std::size_t unknown_calls = 0;  // answered without a usage
  void add(const PriceBook& prices, const PaidCall& call);
};

}  // namespace daybook::replay
