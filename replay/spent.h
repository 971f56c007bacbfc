// What calls of models came to.
#pragma once

#include <cstdint>
#include <optional>
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
  /// Nothing came back, but it may have been billed: `usage` is the most that it can have used.
  bool at_most = false;
};

/// Whether the call that this event ends without an answer may have been billed.
bool may_have_been_billed(const schema::Event& event);

/// Tokens that the reply to a recorded request may have; nothing when its parameters do not say.
std::optional<std::uint64_t> reply_limit_of(const schema::ModelRequested& request);

/// One token in two bytes of its body is more than any text has.
CallUsage most_usage(std::uint64_t body_bytes, std::uint64_t reply_tokens);

/// What calls came to.
struct Spent {
  Money money;  // the upper bound where a price is an interval
  std::uint64_t unpriced_tokens = 0;
  std::size_t unknown_calls = 0;  // answered without a usage
  std::size_t at_most_calls = 0;  // in `money` with the most that they may have cost
  void add(const PriceBook& prices, const PaidCall& call);
};

}  // namespace daybook::replay
