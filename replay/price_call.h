// What one call cost: exact where the price and the class of every token are known, an interval
// where a class is ambiguous, and unpriced tokens where no price is known.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "replay/call.h"
#include "replay/price_book.h"

namespace daybook::replay {

/// More tokens than this in one figure is damage, not usage: no context is a thousandth as long.
inline constexpr std::uint64_t kMostTokens = 1'000'000'000;

/// A usage in classes that do not overlap, whichever way the provider counts: input with cache
/// tokens (OpenAI) or without (Anthropic).
struct ClassCounts {
  std::array<std::uint64_t, kTokenClasses> of{};
  /// Tokens in `input` may also be of these classes, which the provider did not tell apart.
  bool input_may_be_read = false;
  bool input_may_be_written = false;
  /// Whether the log tells a class, by itself or inside a total. What it does not tell is not zero:
  /// whoever counts reads and writes apart from the input always writes them.
  bool input_known = false;
  bool read_known = false;
  bool write_known = false;
  bool output_known = false;
  bool searches_known = true;
  bool plausible = true;  // every figure is at most kMostTokens

  std::uint64_t operator[](TokenClass what) const { return of[index_of(what)]; }
  /// Uncached, read and written.
  std::uint64_t whole_input() const;
  std::uint64_t tokens() const;  // without web searches
  bool whole() const {
    return input_known && read_known && write_known && output_known && searches_known;
  }
};
ClassCounts class_counts(const CallUsage& usage);

/// How far the figures can be trusted: with a class missing they are a lower bound.
schema::Authority authority_of(const CallUsage& usage, const ClassCounts& counts);

/// Why something has no price.
enum class Unpriced : std::uint8_t {
  no,
  model,        // no row names it
  date,         // rows do, but none for that date
  stale,        // the row was read too long before
  no_date,      // the time of the call is not known, and prices changed
  tier,         // the row does not list the service tier,
  speed,        // the speed,
  region,       // the region
  token_class,  // or the class
  implausible,  // a count that cannot be
};
/// One clause for people: "no price for this model".
std::string_view name_of(Unpriced why);

/// Both UTC ns; 0: not known.
struct PriceMoment {
  std::int64_t priced_at = 0;  // selects rows by date
  std::int64_t called_at = 0;  // tells peak hours
};

/// The prices that hold for one call.
struct CallRates {
  const PriceRow* row = nullptr;  // lives as long as the book
  Unpriced why = Unpriced::no;    // when row is null, or a multiplier is missing
  const LongContext* long_context = nullptr;
  bool at_peak = false;
  bool peak_unknown = false;  // no time: either price may hold
  Multiplier tier, speed, region;
  Rates low, high;  // per token, before multipliers; they differ when peak_unknown

  bool usable() const { return row != nullptr && why == Unpriced::no; }
  /// Of `count` tokens of a class; nothing when the class has no price. Web searches take no
  /// multipliers.
  std::optional<MoneyRange> price(TokenClass what, std::uint64_t count) const;
};

/// `rows` as PriceBook::rows_for gives them; `whole_input` decides about long-context prices.
CallRates call_rates(std::span<const PriceRow* const> rows, const CallUsage& usage,
                     std::uint64_t whole_input, PriceMoment moment);

/// What `count` tokens of a class cost the call: an interval where it does not tell which class
/// they are of; nothing when there is no price.
std::optional<MoneyRange> price_tokens(const CallRates& rates, const ClassCounts& counts,
                                       TokenClass what, std::uint64_t count);

/// The part of a call's cost that is of one class.
struct CostLine {
  TokenClass what = TokenClass::input;
  std::uint64_t count = 0;
  std::optional<MoneyRange> cost;  // absent: unpriced
};

struct CallCost {
  CallRates rates;
  ClassCounts counts;  // writes that are not told count as told where they have no price
  std::array<CostLine, kTokenClasses> lines;  // of the classes that were used
  std::size_t line_count = 0;
  MoneyRange total;  // of what is priced
  std::uint64_t unpriced_tokens = 0;
  std::uint64_t unpriced_searches = 0;
  Unpriced why = Unpriced::no;  // the first reason there is

  std::span<const CostLine> used() const { return {lines.data(), line_count}; }
};

CallCost price_call(std::span<const PriceRow* const> rows, const CallUsage& usage,
                    PriceMoment moment);

}  // namespace daybook::replay
