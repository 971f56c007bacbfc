// Money as integers, so that sums are exact and come out the same in any order.
//
// A list price is a whole number of picodollars a token (a thousandth of a nanodollar: $0.003625 a
// million tokens is 3,625). Multipliers are thousandths. The product of a price and three
// multipliers is then a whole number of 10^-21 dollars, which is what sums are kept in: 128 bits
// hold 1.7 * 10^17 dollars.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace daybook::replay {

__extension__ typedef __int128 Int128;

/// A factor in thousandths: 1100 is 1.1.
struct Multiplier {
  std::uint32_t thousandths = 1000;
  auto operator<=>(const Multiplier&) const = default;
};

/// What one token, or one request, costs before multipliers.
struct Rate {
  std::uint64_t picodollars = 0;
  auto operator<=>(const Rate&) const = default;
};

inline constexpr double kMostDollarsPerMillion = 10'000;
inline constexpr double kMostMultiplier = 100;

/// Dollars per million tokens, or per `units` of anything. Nothing when negative, beyond the most,
/// or with more than six decimals per million.
std::optional<Rate> rate_of(double dollars, std::uint64_t units = 1'000'000);
/// Nothing when not above zero, beyond the most, or with more than three decimals.
std::optional<Multiplier> multiplier_of(double factor);

/// An exact amount. Sums that leave 128 bits stay at the limit, whatever their order.
class Money {
 public:
  constexpr Money() = default;
  /// `count` units at `rate`, times the multipliers.
  static Money of(std::uint64_t count, Rate rate, const std::array<Multiplier, 3>& factors = {});

  Money& operator+=(Money other);
  Money& operator-=(Money other);
  friend Money operator+(Money a, Money b) { return a += b; }
  friend Money operator-(Money a, Money b) { return a -= b; }
  friend Money operator*(Money a, std::uint64_t count);
  /// An equal part of it, rounded towards zero. `parts` is not 0.
  friend Money divided(Money whole, std::uint64_t parts);
  auto operator<=>(const Money&) const = default;
  bool is_zero() const { return parts_ == 0; }

  /// All digits: "0.294", "0", "-1.5".
  std::string exact() const;
  /// For people: "$0.2940", "$1,234.56", "$0.000120"; what is not zero never looks like zero.
  std::string shown() const;

 private:
  Int128 parts_ = 0;  // 10^-21 dollars
};

/// An amount between two bounds; they are the same when it is known.
struct MoneyRange {
  Money low, high;

  bool is_exact() const { return low == high; }
  MoneyRange& operator+=(const MoneyRange& other) {
    low += other.low;
    high += other.high;
    return *this;
  }
  bool operator==(const MoneyRange&) const = default;
  /// "$0.2940", or "$0.10–$0.16" with the precision of the lower bound.
  std::string shown() const;
};

}  // namespace daybook::replay
