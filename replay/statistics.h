// How sure one can be that an arm of a comparison is better: intervals, tests, and how many pairs
// are enough.
//
// Two arms are always compared on the same cases, so everything here but the rates of one arm is
// paired. All functions are pure: the same input gives the same bytes. Probabilities, proportions
// and confidences are fractions from 0 to 1, never percents. P-values are two-sided.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace daybook::replay {

struct Interval {
  double low = 0;
  double high = 0;
  bool operator==(const Interval&) const = default;
};

/// Wilson's score interval of a proportion, within [0, 1]. Of nothing (n = 0): all of [0, 1].
/// `successes` at most `n`; `confidence` strictly between 0 and 1, here and below.
Interval wilson(std::uint64_t successes, std::uint64_t n, double confidence = 0.95);

/// One case: the share of its tries that came out good, and what it belongs to. Cases of one
/// cluster (a session) are not independent of each other, and tries of one case less so.
struct ClusteredShare {
  std::string cluster;
  double share = 0;   // from 0 to 1
  double weight = 1;  // above 0: how many tries
};

struct ClusteredRate {
  double rate = 0;       // over all tries; 0 when there are none
  double effective = 0;  // as many independent cases would say as much; at most the cases
  Interval interval{0, 1};
};

/// Wilson's interval on the effective number of cases. A case counts as one, whatever its tries
/// (with unequal weights Kish's number). Where clusters differ more than independent cases would,
/// their number is divided by the design effect: the variance between clusters over the binomial
/// one, each with its degrees of freedom; below 1 it counts as 1. One cluster cannot tell how
/// clusters differ. With a case a cluster, each tried once, it is `wilson`.
ClusteredRate clustered_rate(std::span<const ClusteredShare> cases, double confidence = 0.95);

/// What became of the same cases under an old and a new arm.
struct PairedOutcomes {
  std::uint64_t both = 0;     // good under either
  std::uint64_t gained = 0;   // good under the new arm only
  std::uint64_t lost = 0;     // good under the old arm only
  std::uint64_t neither = 0;  // bad under either
  bool operator==(const PairedOutcomes&) const = default;
};

/// McNemar's exact test: how often as uneven a split of the discordant pairs, or more so, comes out
/// of arms that are equally good. Of cases that are gained or lost by their shares it is the exact
/// sign test. 1 when there are none. Below 0.05 takes at least 6 against 0.
double mcnemar_exact(std::uint64_t gained, std::uint64_t lost);

/// Newcombe's interval (1998, method 10) of the new arm's proportion less the old one's, within
/// [-1, 1]: Wilson limits of both, joined by their correlation. Of nothing: all of [-1, 1].
Interval newcombe_paired(const PairedOutcomes& outcomes, double confidence = 0.95);

/// One case under both arms: the shares of its tries that came out good.
struct PairedShares {
  std::string cluster;
  double was = 0;  // under the old arm
  double now = 0;
};

struct PairedRates {
  std::uint64_t gained = 0;  // cases that are good more often under the new arm
  std::uint64_t lost = 0;
  double was = 0;  // means over the cases, whatever their tries
  double now = 0;
  double effective = 0;  // pairs, as in ClusteredRate
  Interval difference{-1, 1};
};

/// Newcombe's interval of `now` less `was`, on the effective number of pairs. A case is one pair,
/// split over the four outcomes as tries of either arm, drawn at random, would be. No majority is
/// taken, so that there are no ties to break. With a case a cluster, each tried once, it is
/// `newcombe_paired`.
PairedRates paired_rates(std::span<const PairedShares> cases, double confidence = 0.95);

/// How often a case is gained or lost. Neither is negative, and they add up to 1 at most.
struct DiscordantRates {
  double gained = 0;
  double lost = 0;
};

/// The chance that `mcnemar_exact` on so many pairs comes out below `alpha` (in either direction).
/// 0 for no pairs. Takes time in proportion to the square of `pairs`.
double mcnemar_power(std::uint32_t pairs, DiscordantRates rates, double alpha = 0.05);

inline constexpr std::uint32_t kMostPairsNeeded = 5'000;

/// The fewest pairs that have at least this power; with one or two more it may be a little less,
/// because a p-value moves in steps. Nothing when kMostPairsNeeded are not enough.
std::optional<std::uint32_t> pairs_needed(DiscordantRates rates, double power = 0.8,
                                          double alpha = 0.05);

/// One pair's score under the new arm less that under the old one (finite, in any unit), and what
/// it belongs to: pairs of one session are not independent of each other.
struct ClusteredDifference {
  std::string cluster;
  double difference = 0;
};

struct BootstrapOptions {
  std::uint64_t seed = 1;
  std::uint32_t draws = 10'000;  // at least 1
  double confidence = 0.95;
};

struct ClusteredMean {
  double mean = 0;  // over pairs, whatever their cluster; 0 when there are none
  std::size_t pairs = 0;
  std::size_t clusters = 0;
  /// In the unit of the differences. Absent when the data cannot say: no pairs, one cluster, no
  /// variation between clusters, or a confidence too close to 1 for so skewed a sample.
  std::optional<Interval> interval;
  bool operator==(const ClusteredMean&) const = default;
};

/// The mean difference with a BCa bootstrap interval. Whole clusters are drawn, with replacement,
/// as many as there are. Depends neither on the order of the pairs nor on how clusters are called.
/// Fewer than about ten clusters make any such interval too narrow: show their number with it.
ClusteredMean bootstrap_mean(std::span<const ClusteredDifference> pairs,
                             const BootstrapOptions& options = {});

/// Wilcoxon's signed-rank test on finite differences. Zeros are left out; equal sizes share their
/// mean rank (equal to the last bit: round scores that come out of arithmetic). Up to 25 that
/// remain the p-value is exact, ties or not; beyond, the normal approximation corrected for ties,
/// without a continuity correction. 1 when none remain.
double wilcoxon_signed_rank(std::span<const double> differences);

/// Holm's adjustment of the p-values of several claims, in the order given: an adjusted value below
/// alpha is a claim that holds with all the others considered. Nothing in, nothing out.
std::vector<double> holm_adjusted(std::span<const double> p_values);

}  // namespace daybook::replay
