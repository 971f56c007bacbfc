#include "replay/statistics.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <string>
#include <vector>

using namespace daybook::replay;

// Expected values come from separate programs in exact rational arithmetic (50-digit decimals
// where a root is taken), which count or enumerate instead of using this code's recurrences.

namespace {

Approx near(double value) {
  return Approx(value).epsilon(1e-9).margin(1e-12);
}

void check_interval(const Interval& interval, double low, double high) {
  CHECK(interval.low == near(low));
  CHECK(interval.high == near(high));
}

/// Eight sessions of one to three pairs; every number is exact in binary.
const std::vector<ClusteredDifference> kPairs = {
    {"a", 0.25},   {"a", 0.5},   {"b", -0.125}, {"c", 0.75},  {"c", 0.625},
    {"c", 0},      {"d", 0.375}, {"e", -0.25},  {"e", 0.125}, {"f", 1},
    {"g", 0.0625}, {"h", 0.5},   {"h", 0.25}};

double width(const ClusteredMean& mean) {
  return mean.interval.value().high - mean.interval.value().low;
}

/// 1 to `last`, every third one negative.
std::vector<double> thirds_negative(int last) {
  std::vector<double> values;
  for (int i = 1; i <= last; ++i) values.push_back(i % 3 == 0 ? -i : i);
  return values;
}

}  // namespace

TEST_CASE("a proportion's interval is Wilson's") {
  // Roots of the score equation with z = 1.959963984540054235...
  check_interval(wilson(7, 103), 0.033307739110, 0.133682294699);
  check_interval(wilson(4, 20), 0.080657662580, 0.416017432252);
  check_interval(wilson(18, 20), 0.698966354772, 0.972133518786);
  check_interval(wilson(20, 20), 0.838874841947, 1);
  check_interval(wilson(33, 45), 0.589611622469, 0.840350964789);
  check_interval(wilson(54, 75), 0.609593098119, 0.808968411188);
  // z = 2.575829303548900760...
  check_interval(wilson(7, 103, 0.99), 0.026898801921, 0.161315874617);
}

TEST_CASE("a proportion's interval holds it, stays in range and mirrors its complement") {
  for (std::uint64_t n = 1; n <= 40; ++n) {
    for (std::uint64_t good = 0; good <= n; ++good) {
      const auto interval = wilson(good, n), mirrored = wilson(n - good, n);
      const double share = static_cast<double>(good) / static_cast<double>(n);
      INFO(good << " of " << n);
      CHECK((0 <= interval.low && interval.low <= share));
      CHECK((share <= interval.high && interval.high <= 1));
      CHECK(interval.low == near(1 - mirrored.high));
    }
  }
  CHECK(wilson(0, 0) == Interval{0, 1});
}

TEST_CASE("tries of one case are one say in a rate's interval") {
  // Nine cases, each good in 5 of 10: as sure as 4.5 of 9, whose roots these are; 45 of 90 would be
  // 0.399 to 0.601. One session and nine say the same, because no session differs.
  const std::vector<ClusteredShare> one(9, {"s", 0.5, 10});
  const ClusteredRate rate = clustered_rate(one);
  CHECK(rate.rate == 0.5);
  CHECK(rate.effective == near(9));
  check_interval(rate.interval, 0.226529229889, 0.773470770111);
  std::vector<ClusteredShare> many;
  for (int i = 0; i < 9; ++i) many.push_back({std::string(1, static_cast<char>('a' + i)), 0.5, 10});
  CHECK(clustered_rate(many).interval == rate.interval);
}

TEST_CASE("a case a cluster, each tried once, has Wilson's interval") {
  for (std::uint64_t n : {1U, 2U, 7U, 20U}) {
    for (std::uint64_t good = 0; good <= n; ++good) {
      std::vector<ClusteredShare> cases;
      for (std::uint64_t i = 0; i < n; ++i) {
        cases.push_back({std::to_string(i), i < good ? 1.0 : 0.0, 1});
      }
      const auto expected = wilson(good, n);
      const auto rate = clustered_rate(cases);
      INFO(good << " of " << n);
      CHECK(rate.effective == near(static_cast<double>(n)));
      check_interval(rate.interval, expected.low, expected.high);
    }
  }
  CHECK(clustered_rate({}).interval == Interval{0, 1});
}

TEST_CASE("clusters that differ more than chance widen a rate's interval") {
  // Exact fractions. Design effect: [m/(m-1) * sum over clusters of (sum of residuals)^2] over
  // [n/(n-1) * n p (1-p)]; here 4/3 * 17 over 20/19 * 5, so that 20 cases count as 4.64.
  std::vector<ClusteredShare> cases;
  const int good_of_five[] = {5, 4, 1, 0};
  for (int session = 0; session < 4; ++session) {
    for (int i = 0; i < 5; ++i) {
      cases.push_back({std::to_string(session), i < good_of_five[session] ? 1.0 : 0.0, 1});
    }
  }
  const ClusteredRate apart = clustered_rate(cases);
  CHECK(apart.effective == near(4.643962848297));
  check_interval(apart.interval, 0.163580329603, 0.836419670397);
  // The same outcomes spread evenly are no less sure than independent ones, and no surer.
  std::vector<ClusteredShare> even = cases;
  for (std::size_t i = 0; i < even.size(); ++i) even[i].share = i % 2 == 0 ? 1 : 0;
  const auto independent = wilson(10, 20);
  check_interval(clustered_rate(even).interval, independent.low, independent.high);
  // Unequal tries, as in a run that was stopped: Kish's number of cases, over the design effect.
  const std::vector<ClusteredShare> unequal = {
      {"a", 1, 3}, {"a", 0.5, 2}, {"b", 0, 1}, {"c", 2.0 / 3, 3}};
  const ClusteredRate stopped = clustered_rate(unequal);
  CHECK(stopped.rate == near(2.0 / 3));
  CHECK(stopped.effective == near(3.521739130435));
  check_interval(stopped.interval, 0.228294470016, 0.931135311890);
}

TEST_CASE("the exact McNemar test counts splits of the discordant pairs") {
  CHECK(mcnemar_exact(6, 0) == near(1.0 / 32));  // 2 of 64 splits: the least that is below 0.05
  CHECK(mcnemar_exact(5, 0) == near(1.0 / 16));
  CHECK(mcnemar_exact(7, 1) == near(9.0 / 128));
  CHECK(mcnemar_exact(10, 2) == near(79.0 / 2048));
  CHECK(mcnemar_exact(9, 2) == near(67.0 / 1024));
  CHECK(mcnemar_exact(121, 59) == near(4.434449263755176e-06));
  CHECK(mcnemar_exact(1200, 1000) == near(2.1817026407914712e-05));
  CHECK(mcnemar_exact(0, 0) == 1);
  CHECK(mcnemar_exact(1'000'000'000, 0) == 0);  // too small for a double, and not a long loop
  CHECK(mcnemar_exact(1000, 0) == Approx(std::ldexp(1.0, -999)).epsilon(1e-9));
}

TEST_CASE("the exact McNemar test does not care which arm is which, and knows its least evidence") {
  for (std::uint64_t b = 0; b <= 30; ++b) {
    for (std::uint64_t c = 0; c <= b; ++c) {
      const double p = mcnemar_exact(b, c);
      INFO(b << " against " << c);
      CHECK(p == mcnemar_exact(c, b));
      CHECK((p > 0 && p <= 1));
      if (b - c <= 1) CHECK(p == 1);        // no split is less uneven
      if (b + c < 6) CHECK(p >= 0.05);      // five pairs never suffice
      CHECK(mcnemar_exact(b + 1, c) <= p);  // more on the larger side is more evidence
    }
  }
}

TEST_CASE("the difference of paired proportions has Newcombe's interval") {
  // Two published examples: 14, 5, 0, 22 (correlated) and 1, 1, 7, 12, known as -0.507 to -0.026,
  // where half a pair's care takes the correlation to nothing.
  check_interval(newcombe_paired({14, 5, 0, 22}), 0.011483241383, 0.226492684351);
  check_interval(newcombe_paired({1, 1, 7, 12}), -0.506920226686, -0.025559124165);
  check_interval(newcombe_paired({20, 12, 2, 6}), 0.070720966046, 0.408619976923);
  check_interval(newcombe_paired({59, 6, 16, 80}), -0.118621195639, -0.004625113933);
  // Arms that disagree more than chance: a negative correlation, which is taken whole.
  check_interval(newcombe_paired({2, 10, 15, 3}), -0.452347307513, 0.153468583546);
  // Empty margins: no correlation to speak of.
  check_interval(newcombe_paired({20, 0, 0, 0}), -0.161125158053, 0.161125158053);
  check_interval(newcombe_paired({0, 20, 0, 0}), 0.772134616242, 1);
  CHECK(newcombe_paired({}) == Interval{-1, 1});
}

TEST_CASE("with a case a session, each tried once, paired rates are McNemar's and Newcombe's") {
  std::vector<PairedShares> cases;
  const auto add = [&](int count, double was, double now) {
    for (int i = 0; i < count; ++i) cases.push_back({std::to_string(cases.size()), was, now});
  };
  add(14, 1, 1);
  add(5, 0, 1);
  add(22, 0, 0);
  const PairedRates rates = paired_rates(cases);
  CHECK(rates.gained == 5);
  CHECK(rates.lost == 0);
  check_interval(rates.difference, 0.011483241383, 0.226492684351);
  CHECK(paired_rates({}).difference == Interval{-1, 1});
}

TEST_CASE("a tie of an even number of tries is half of either, whichever arm has it") {
  // Exact fractions. All of 18 cases good in 2 of 2 and in 1 of 2: half a point, not a whole one.
  const std::vector<PairedShares> cases(18, {"s", 1, 0.5});
  const PairedRates down = paired_rates(cases);
  CHECK(down.was == 1);
  CHECK(down.now == 0.5);
  CHECK(down.lost == 18);
  CHECK(down.effective == near(18));
  check_interval(down.difference, -0.709689784948, -0.226315314235);
  const PairedRates up = paired_rates(std::vector<PairedShares>(18, {"s", 0.5, 1}));
  CHECK(up.gained == 18);
  check_interval(up.difference, 0.226315314235, 0.709689784948);
  // Both tied: no difference, and no pair that speaks for either.
  const PairedRates tied = paired_rates(std::vector<PairedShares>(18, {"s", 0.5, 0.5}));
  CHECK(tied.gained + tied.lost == 0);
  CHECK(tied.difference.low == near(-tied.difference.high));
}

TEST_CASE("sessions that differ more than chance widen the interval of a difference") {
  // Exact fractions; two tries a case, four sessions.
  const std::vector<PairedShares> twice = {
      {"a", 1, 0.5}, {"a", 0.5, 1}, {"a", 1, 0},   {"b", 0, 1}, {"b", 0.5, 1},
      {"c", 1, 0},   {"c", 1, 0},   {"c", 1, 0.5}, {"d", 0, 0}, {"d", 0.5, 0.5}};
  const PairedRates rates = paired_rates(twice);
  CHECK(rates.was == near(0.65));
  CHECK(rates.now == near(0.45));
  CHECK(rates.effective == near(6.741821396994));
  check_interval(rates.difference, -0.617682404743, 0.333475121589);
  // One try a case: 7 gained and 2 lost of 14, but 7 of them in two sessions and both in a third.
  std::vector<PairedShares> once(4, {"a", 0, 1});
  once.insert(once.end(), 4, {"b", 1, 1});
  once.insert(once.end(), 2, {"c", 1, 0});
  once.push_back({"c", 0, 0});
  once.insert(once.end(), 3, {"d", 0, 1});
  const PairedRates apart = paired_rates(once);
  CHECK(apart.gained == 7);
  CHECK(apart.lost == 2);
  CHECK(apart.effective == near(3.741010042835));
  check_interval(apart.difference, -0.325648668314, 0.760689724957);
}

TEST_CASE("the interval of a difference holds it, stays in range and turns with the arms") {
  bool sound = true;
  for (std::uint64_t code = 1; code < 7 * 7 * 7 * 7; ++code) {
    const PairedOutcomes outcomes{code % 7, code / 7 % 7, code / 49 % 7, code / 343};
    const auto [both, gained, lost, neither] = outcomes;
    const auto interval = newcombe_paired(outcomes);
    const auto turned = newcombe_paired({both, lost, gained, neither});
    const double n = static_cast<double>(both + gained + lost + neither);
    const double difference = (static_cast<double>(gained) - static_cast<double>(lost)) / n;
    const bool holds = -1 <= interval.low && interval.low <= difference + 1e-12 &&
                       difference - 1e-12 <= interval.high && interval.high <= 1;
    const bool turns = interval.low == near(-turned.high) && interval.high == near(-turned.low);
    if (!holds || !turns) {
      sound = false;
      FAIL_CHECK(both << ", " << gained << ", " << lost << ", " << neither);
    }
    const auto wider = newcombe_paired(outcomes, 0.99);
    sound = sound && wider.low <= interval.low + 1e-12 && wider.high >= interval.high - 1e-12;
  }
  CHECK(sound);
}

TEST_CASE("the power of the exact McNemar test is the sum over all tables") {
  // Integer sums over every (gained, lost), rates in hundredths, divided by 100^n at the end.
  struct Row {
    DiscordantRates rates;
    std::vector<double> powers;  // of 20, 40, 80, 120, 160 and 200 pairs
  };
  const std::vector<Row> rows = {{{0.22, 0.02},
                                  {0.20077345996589474, 0.7057673128192776, 0.9766165188853542,
                                   0.9986361682975305, 0.9999366342630162, 0.9999977198479743}},
                                 {{0.12, 0.02},
                                  {0.019297838602580605, 0.19989306332326834, 0.6023407318001461,
                                   0.8283089327368647, 0.9314022116274897, 0.9736358670139204}},
                                 {{0.08, 0.03},
                                  {0.0024339835013592126, 0.036931368853218134, 0.1626121632109642,
                                   0.2839089250891193, 0.3995056099095857, 0.4965728243094405}}};
  const std::vector<std::uint32_t> pairs = {20, 40, 80, 120, 160, 200};
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      INFO(row.rates.gained << " against " << row.rates.lost << ", " << pairs[i] << " pairs");
      CHECK(mcnemar_power(pairs[i], row.rates) == near(row.powers[i]));
      CHECK(mcnemar_power(pairs[i], {row.rates.lost, row.rates.gained}) == near(row.powers[i]));
    }
  }
}

TEST_CASE("power has its bounds") {
  CHECK(mcnemar_power(0, {0.5, 0}) == 0);
  CHECK(mcnemar_power(200, {0, 0}) == 0);
  CHECK(mcnemar_power(5, {1, 0}) == 0);
  CHECK(mcnemar_power(6, {1, 0}) == near(1));
  CHECK(mcnemar_power(7, {1, 0}, 0.01) == 0);  // 2/128 is above 0.01, 2/256 below
  CHECK(mcnemar_power(8, {1, 0}, 0.01) == near(1));
  // Equal arms are called different no more often than alpha allows.
  for (const std::uint32_t pairs : {10U, 50U, 300U}) {
    CHECK(mcnemar_power(pairs, {0.3, 0.3}) < 0.05);
    CHECK(mcnemar_power(pairs, {0.3, 0.3}) > 0);
  }
}

TEST_CASE("the pairs needed are the first number with the power") {
  // Found by the same integer sums, counting up: 46 pairs have 0.7913, 47 have 0.8031.
  CHECK(pairs_needed({0.22, 0.02}) == 47U);
  CHECK(pairs_needed({0.12, 0.02}) == 114U);  // 113: 0.7992, 114: 0.8036
  CHECK(pairs_needed({0.02, 0.12}) == 114U);
  CHECK(pairs_needed({0.22, 0.02}, 0.9) == 59U);
  CHECK(pairs_needed({1, 0}) == 6U);
  CHECK(pairs_needed({1, 0}, 0.8, 0.01) == 8U);
  CHECK(pairs_needed({0.9, 0.1}) == 12U);  // all pairs discordant: 0.6974, then 0.8891
  CHECK(pairs_needed({0.5, 0}) == 15U);    // 0.7880, then 0.8491
  CHECK_FALSE(pairs_needed({0, 0}));
}

TEST_CASE("the bootstrap's interval is the one computed elsewhere from the same draws") {
  // Resampled with splitmix64 in exact rationals; places and normal curves from a standard library.
  const auto one = bootstrap_mean(kPairs);
  CHECK(one.mean == 0.3125);  // 4.0625 / 13
  CHECK(one.pairs == 13);
  CHECK(one.clusters == 8);
  check_interval(one.interval.value(), 0.09659090909090909, 0.48611111111111105);
  check_interval(bootstrap_mean(kPairs, {.seed = 2026}).interval.value(), 0.10096153846153846,
                 0.49264705882352944);
  check_interval(
      bootstrap_mean(kPairs, {.seed = 7, .draws = 2000, .confidence = 0.9}).interval.value(), 0.125,
      0.45257409751927513);
}

TEST_CASE("many draws come near to all draws") {
  // All 8^8 resamples, weighed: 0.1015625 to 0.48863636...
  for (std::uint64_t seed = 10; seed < 14; ++seed) {
    const auto interval = bootstrap_mean(kPairs, {.seed = seed}).interval.value();
    CHECK(interval.low == Approx(0.1015625).margin(0.012));
    CHECK(interval.high == Approx(0.4886363636).margin(0.012));
  }
}

TEST_CASE("the bootstrap depends on the seed, not on order or names") {
  const auto first = bootstrap_mean(kPairs);
  CHECK(bootstrap_mean(kPairs) == first);
  CHECK_FALSE(bootstrap_mean(kPairs, {.seed = 2}) == first);
  auto pairs = kPairs;
  // Thirds are not exact in binary: their sums would show the order.
  for (auto& pair : pairs) pair.difference /= 3;
  const auto thirds = bootstrap_mean(pairs);
  std::reverse(pairs.begin(), pairs.end());
  CHECK(bootstrap_mean(pairs) == thirds);
  std::rotate(pairs.begin(), pairs.begin() + 5, pairs.end());
  CHECK(bootstrap_mean(pairs) == thirds);
  for (auto& pair : pairs)
    pair.cluster = std::string(1, static_cast<char>('z' - pair.cluster[0] + 'a'));
  CHECK(bootstrap_mean(pairs) == thirds);
}

TEST_CASE("repeating what is in a cluster adds no certainty, taking clusters apart would") {
  auto twice = kPairs;
  twice.insert(twice.end(), kPairs.begin(), kPairs.end());
  CHECK(bootstrap_mean(twice).interval == bootstrap_mean(kPairs).interval);
  auto apart = twice;
  for (std::size_t i = 0; i < apart.size(); ++i) apart[i].cluster = std::to_string(i);
  CHECK(width(bootstrap_mean(apart)) < 0.8 * width(bootstrap_mean(twice)));
}

TEST_CASE("the bootstrap moves and scales with the scores") {
  auto pairs = kPairs;
  for (auto& pair : pairs) pair.difference = pair.difference * 4 + 8;
  const auto plain = bootstrap_mean(kPairs), moved = bootstrap_mean(pairs);
  check_interval(moved.interval.value(), plain.interval->low * 4 + 8, plain.interval->high * 4 + 8);
  CHECK(width(bootstrap_mean(kPairs, {.confidence = 0.99})) > width(plain));
}

TEST_CASE("data that cannot say gets no interval") {
  CHECK(bootstrap_mean({}) == ClusteredMean{});
  const auto one = bootstrap_mean(std::vector<ClusteredDifference>{{"a", 1}, {"a", 2}, {"a", 6}});
  CHECK(one.mean == 3);
  CHECK(one.clusters == 1);
  CHECK_FALSE(one.interval);
  // 0.1 three times and once: the means differ in the last bit only.
  const auto equal = bootstrap_mean(
      std::vector<ClusteredDifference>{{"a", 0.1}, {"a", 0.1}, {"a", 0.1}, {"b", 0.1}});
  CHECK(equal.clusters == 2);
  CHECK_FALSE(equal.interval);
  CHECK_FALSE(
      bootstrap_mean(std::vector<ClusteredDifference>{{"a", 1}, {"a", 3}, {"b", 2}}).interval);
  // One gain among a hundred: acceleration 0.164, and z = 6.8 lies where it has no place to go.
  std::vector<ClusteredDifference> skewed;
  for (int i = 0; i < 100; ++i) skewed.push_back({std::to_string(i), i == 0 ? 1.0 : 0.0});
  CHECK(bootstrap_mean(skewed).interval);
  CHECK_FALSE(bootstrap_mean(skewed, {.confidence = 1 - 1e-11}).interval);
}

TEST_CASE("signed ranks of small samples are counted over all signs") {
  // Enumerated: the share of sign patterns whose rank sum is as far from the middle.
  const auto p = [](std::vector<double> values) { return wilcoxon_signed_rank(values); };
  CHECK(p({1, 2, 3, 4, 5, 6}) == near(1.0 / 32));
  CHECK(p({6, -1, 2, 8, -4, 5, 10, 3, -7, 9}) == near(67.0 / 512));
  CHECK(p({1, -2, -3, 4}) == 1);
  CHECK(p(thirds_negative(25)) == near(4982148.0 / 33554432));
  // With ties and zeros, where the approximation would say 0.120 and 0.025.
  CHECK(p({1, 1, -1, 2, 2, 0, 3, -2, 4, 0}) == near(21.0 / 128));
  CHECK(p({1, 1, 1, 1, 1}) == near(1.0 / 16));
  CHECK(p({}) == 1);
  CHECK(p({0, 0, -0.0}) == 1);
}

TEST_CASE("signed ranks of larger samples follow the normal curve, corrected for ties") {
  // erfc(|W - n(n+1)/4| / sqrt(2 (n(n+1)(2n+1)/24 - sum(t^3 - t)/48))), from exact sums.
  CHECK(wilcoxon_signed_rank(thirds_negative(26)) == near(0.08646199403769575));
  std::vector<double> tied;  // -2 to 4 over and over: 34 remain, W = 445
  for (int i = 0; i < 40; ++i) tied.push_back(i % 7 - 2);
  CHECK(wilcoxon_signed_rank(tied) == near(0.010759596249504103));
}

TEST_CASE("signed ranks care neither for order, nor sign, nor unit") {
  for (const int n : {12, 60}) {
    auto values = thirds_negative(n);
    const double p = wilcoxon_signed_rank(values);
    std::rotate(values.begin(), values.begin() + n / 3, values.end());
    CHECK(wilcoxon_signed_rank(values) == p);
    for (auto& value : values) value *= -0.5;
    CHECK(wilcoxon_signed_rank(values) == near(p));
  }
}

TEST_CASE("Holm's adjustment steps down and keeps the order given") {
  // 0.01 * 4, 0.03 * 3 = 0.09, then 0.04 * 2 and 0.05, which may not fall below it.
  const auto adjusted = holm_adjusted(std::vector{0.04, 0.01, 0.05, 0.03});
  REQUIRE(adjusted.size() == 4);
  CHECK(adjusted[0] == near(0.09));
  CHECK(adjusted[1] == near(0.04));
  CHECK(adjusted[2] == near(0.09));
  CHECK(adjusted[3] == near(0.09));
  CHECK(holm_adjusted(std::vector{0.6, 0.7}) == std::vector{1.0, 1.0});
  CHECK(holm_adjusted(std::vector{0.2}) == std::vector{0.2});
  CHECK(holm_adjusted({}).empty());
}

TEST_CASE("Holm's adjustment is monotone: never below the p-value, never out of its order") {
  std::vector<double> p_values;
  for (int i = 0; i < 50; ++i) p_values.push_back(i * 37 % 50 / 400.0);
  const auto adjusted = holm_adjusted(p_values);
  for (std::size_t i = 0; i < p_values.size(); ++i) {
    CHECK((adjusted[i] >= p_values[i] && adjusted[i] <= 1));
    for (std::size_t j = 0; j < p_values.size(); ++j) {
      if (p_values[i] < p_values[j]) CHECK(adjusted[i] <= adjusted[j]);
    }
  }
}
