#include "replay/money.h"

#include <fmt/format.h>

#include <cmath>

#include "schema/result.h"

namespace daybook::replay {
namespace {

constexpr Int128 kPartsPerPicodollar = 1'000'000'000;
constexpr Int128 kPartsPerDollar = kPartsPerPicodollar * 1'000'000'000'000;
constexpr int kFractionDigits = 21;
constexpr Int128 kMost = ~(static_cast<Int128>(1) << 127);

/// `value` as an integer when it is one but for the noise of binary fractions.
std::optional<std::uint64_t> whole(double value, double most) {
  if (!(value >= 0) || value > most) return std::nullopt;
  const double nearest = std::round(value);
  if (std::abs(value - nearest) > 1e-9 * std::max(1.0, nearest)) return std::nullopt;
  return static_cast<std::uint64_t>(nearest);
}

Int128 magnitude(Int128 parts) {
  return parts < 0 ? -parts : parts;
}

std::string whole_digits(Int128 dollars) {
  // 1.7 * 10^17 at most, which 64 bits hold.
  return std::to_string(static_cast<std::uint64_t>(dollars));
}

/// The 21 digits behind the point.
std::string fraction_digits(Int128 fraction) {
  constexpr Int128 kLowDigits = 1'000;
  return fmt::format("{:018}{:03}", static_cast<std::uint64_t>(fraction / kLowDigits),
                     static_cast<std::uint64_t>(fraction % kLowDigits));
}

std::string grouped(std::string digits) {
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

Int128 power_of_ten(int exponent) {
  Int128 power = 1;
  while (exponent-- > 0) power *= 10;
  return power;
}

/// Decimals that show `parts` sensibly: two from $100 on, four from a cent on, and below that as
/// many as three significant digits take.
int decimals_for(Int128 parts) {
  if (parts == 0 || parts >= 100 * kPartsPerDollar) return 2;
  int decimals = 4;
  for (Int128 least = kPartsPerDollar / 100; parts < least && decimals < kFractionDigits;
       least /= 10) {
    ++decimals;
  }
  return decimals;
}

std::string with_decimals(Int128 parts, int decimals) {
  const Int128 step = power_of_ten(kFractionDigits - decimals);
  const Int128 size = magnitude(parts);
  Int128 rounded = size / step * step;
  if (size - rounded >= (step + 1) / 2 && rounded <= kMost - step) rounded += step;
  std::string text = parts < 0 ? "-$" : "$";
  text += grouped(whole_digits(rounded / kPartsPerDollar));
  text += '.';
  text += fraction_digits(rounded % kPartsPerDollar).substr(0, static_cast<std::size_t>(decimals));
  return text;
}

}  // namespace

std::optional<Rate> rate_of(double dollars, std::uint64_t units) {
  if (!(dollars <= kMostDollarsPerMillion)) return std::nullopt;
  const auto picodollars = whole(dollars * (1e12 / static_cast<double>(units)), 1e15);
  if (!picodollars) return std::nullopt;
  return Rate{*picodollars};
}

std::optional<Multiplier> multiplier_of(double factor) {
  const auto thousandths = whole(factor * 1e3, kMostMultiplier * 1e3);
  if (!thousandths || *thousandths == 0) return std::nullopt;
  return Multiplier{static_cast<std::uint32_t>(*thousandths)};
}

Money Money::of(std::uint64_t count, Rate rate, const std::array<Multiplier, 3>& factors) {
  Money unit;
  unit.parts_ = static_cast<Int128>(rate.picodollars);
  for (const Multiplier factor : factors) unit.parts_ *= factor.thousandths;
  return unit * count;
}

Money& Money::operator+=(Money other) {
  if (__builtin_add_overflow(parts_, other.parts_, &parts_)) {
    parts_ = other.parts_ > 0 ? kMost : -kMost;
  }
  return *this;
}

Money& Money::operator-=(Money other) {
  DAYBOOK_CHECK(other.parts_ >= -kMost);
  other.parts_ = -other.parts_;
  return *this += other;
}

Money operator*(Money a, std::uint64_t count) {
  Money product;
  if (__builtin_mul_overflow(a.parts_, static_cast<Int128>(count), &product.parts_)) {
    product.parts_ = a.parts_ > 0 ? kMost : -kMost;
  }
  return product;
}

Money divided(Money whole, std::uint64_t parts) {
  whole.parts_ /= static_cast<Int128>(parts);
  return whole;
}

std::string Money::exact() const {
  const Int128 size = magnitude(parts_);
  std::string text = parts_ < 0 ? "-" : "";
  text += whole_digits(size / kPartsPerDollar);
  std::string fraction = fraction_digits(size % kPartsPerDollar);
  fraction.erase(fraction.find_last_not_of('0') + 1);
  return fraction.empty() ? text : text + '.' + fraction;
}

std::string Money::shown() const {
  return with_decimals(parts_, decimals_for(magnitude(parts_)));
}

std::string MoneyRange::shown() const {
  return is_exact() ? low.shown() : low.shown() + "–" + high.shown();
}

}  // namespace daybook::replay
