#include "replay/money.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

using namespace daybook::replay;

namespace {

Money dollars(double amount) {
  return Money::of(1'000'000, rate_of(amount).value());
}

}  // namespace

TEST_CASE("prices become whole picodollars, however binary fractions write them") {
  CHECK(rate_of(0.003625)->picodollars == 3'625);
  CHECK(rate_of(0.1)->picodollars == 100'000);
  CHECK(rate_of(6.25)->picodollars == 6'250'000);
  CHECK(rate_of(0)->picodollars == 0);
  CHECK(rate_of(10, 1'000)->picodollars == 10'000'000'000);  // a cent a search
  CHECK_FALSE(rate_of(0.0000001));
  CHECK_FALSE(rate_of(-1));
  CHECK_FALSE(rate_of(10'001));
  CHECK_FALSE(rate_of(0.0 / 0.0));
}

TEST_CASE("multipliers are whole thousandths above zero") {
  CHECK(multiplier_of(1.1)->thousandths == 1100);
  CHECK(multiplier_of(0.5)->thousandths == 500);
  CHECK_FALSE(multiplier_of(0));
  CHECK_FALSE(multiplier_of(1.0001));
  CHECK_FALSE(multiplier_of(101));
}

TEST_CASE("amounts are exact to the last digit") {
  CHECK(Money().exact() == "0");
  CHECK(dollars(0.003625).exact() == "0.003625");
  CHECK(Money::of(1, Rate{3'625}, {Multiplier{1100}, Multiplier{2500}, Multiplier{333}}).exact() ==
        "0.00000000331959375");  // 3.625e-9 * 1.1 * 2.5 * 0.333
  CHECK(Money::of(4'000'000'000, rate_of(10'000).value(), {Multiplier{100'000}}).exact() ==
        "4000000000");
  CHECK((dollars(1) - dollars(2.5)).exact() == "-1.5");
  CHECK((dollars(0.3) * 3).exact() == "0.9");
}

TEST_CASE("amounts for people are never zero unless they are") {
  CHECK(Money().shown() == "$0.00");
  CHECK(dollars(0.294).shown() == "$0.2940");
  CHECK(dollars(1234.56).shown() == "$1,234.56");
  CHECK(dollars(1234.567).shown() == "$1,234.57");
  CHECK(dollars(99.99999).shown() == "$100.0000");
  CHECK(dollars(0.01).shown() == "$0.0100");
  CHECK(dollars(0.009999).shown() == "$0.01000");
  CHECK(dollars(0.00012).shown() == "$0.000120");
  CHECK(dollars(0.000294).shown() == "$0.000294");
  CHECK(Money::of(1, Rate{1}).shown() == "$0.00000000000100");
  CHECK(Money::of(1, Rate{1}, {Multiplier{1}, Multiplier{1}, Multiplier{1}}).shown() ==
        "$0.000000000000000000001");
  CHECK((Money() - dollars(0.5)).shown() == "-$0.5000");
  CHECK((dollars(9'000) * 1'000).exact() == "9000000");
  CHECK((MoneyRange{dollars(0.1), dollars(0.16)}).shown() == "$0.1000–$0.1600");
  CHECK((MoneyRange{dollars(0.1), dollars(0.1)}).shown() == "$0.1000");
}

TEST_CASE("sums are the same in any order") {
  std::mt19937 random(7);
  std::vector<Money> parts;
  for (int i = 0; i < 2'000; ++i) {
    const Rate rate{random() % 100'000'000};
    parts.push_back(Money::of(random() % 1'000'000, rate, {Multiplier{500}, Multiplier{1100}}));
  }
  const auto total = [&] {
    Money sum;
    for (const Money part : parts) sum += part;
    return sum;
  };
  const Money first = total();
  CHECK_FALSE(first.is_zero());
  for (int i = 0; i < 5; ++i) {
    std::shuffle(parts.begin(), parts.end(), random);
    CHECK(total() == first);
  }
}

TEST_CASE("a sum beyond what is representable stays at the limit") {
  const Money huge = Money::of(~std::uint64_t{0}, Rate{~std::uint64_t{0} >> 1});
  Money sum;
  for (int i = 0; i < 3; ++i) sum += huge;
  CHECK(sum == huge + huge + huge);
  CHECK(sum >= huge);
}
