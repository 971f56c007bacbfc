#include "replay/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numbers>
#include <numeric>
#include <tuple>

#include "schema/result.h"

namespace daybook::replay {

namespace {

__extension__ typedef unsigned __int128 Uint128;

constexpr std::size_t kMostExactRanks = 25;
/// Sums of the same numbers in another order differ by less than this part of the largest.
constexpr double kRounding = 1e-12;
constexpr double kVanished = std::numeric_limits<double>::min();

double real(std::uint64_t count) {
  return static_cast<double>(count);
}

double normal_cdf(double z) {
  return 0.5 * std::erfc(-z / std::numbers::sqrt2);
}

/// Halving is slow, exact to the last bits, and called a handful of times.
double normal_quantile(double probability) {
  if (probability > 0.5) return -normal_quantile(1 - probability);
  double low = -40, high = 0;
  for (int step = 0; step < 100; ++step) {
    const double middle = (low + high) / 2;
    (normal_cdf(middle) < probability ? low : high) = middle;
  }
  return low;
}

/// Half of what the confidence leaves out lies beyond it.
double normal_critical(double confidence) {
  DAYBOOK_CHECK(confidence > 0 && confidence < 1);
  return -normal_quantile((1 - confidence) / 2);
}

/// Wilson's limits of a share of `n`, which need not be whole numbers.
Interval wilson_of(double share, double n, double z) {
  const double weight = z * z / n;
  const double centre = (share + weight / 2) / (1 + weight);
  const double half = std::sqrt(weight * (share * (1 - share) + weight / 4)) / (1 + weight);
  return {share <= 0 ? 0 : centre - half, share >= 1 ? 1 : centre + half};
}

/// PairedOutcomes in parts of pairs.
struct PairShares {
  double both = 0, gained = 0, lost = 0, neither = 0;

  PairShares& operator+=(const PairShares& other) {
    both += other.both;
    gained += other.gained;
    lost += other.lost;
    neither += other.neither;
    return *this;
  }
  PairShares over(double part) const {
    return {both / part, gained / part, lost / part, neither / part};
  }
};

Interval newcombe_of(const PairShares& shares, double z) {
  const auto [both, gained, lost, neither] = shares;
  const double n = both + gained + lost + neither;
  if (n <= 0) return {-1, 1};
  const double p_now = std::min(1.0, (both + gained) / n);
  const double p_old = std::min(1.0, (both + lost) / n);
  const Interval now = wilson_of(p_now, n, z);
  const Interval old = wilson_of(p_old, n, z);

  const double margins = (both + gained) * (lost + neither) * (both + lost) * (gained + neither);
  double covariance = both * neither - gained * lost;
  // The method is careful with pairs that seem alike: half a pair less, down to none.
  if (covariance > 0) covariance = std::max(0.0, covariance - n / 2);
  const double phi = margins > 0 ? covariance / std::sqrt(margins) : 0;

  const auto joined = [phi](double a, double b) {
    return std::sqrt(std::max(0.0, a * a - 2 * phi * a * b + b * b));
  };
  const double difference = p_now - p_old;
  return {std::max(-1.0, difference - joined(p_now - now.low, old.high - p_old)),
          std::min(1.0, difference + joined(now.high - p_now, p_old - old.low))};
}

/// How cases deviate from their mean, by cluster.
class Residuals {
 public:
  void add(const std::string& cluster, double residual) {
    sums_[cluster] += residual;
    ++cases_;
  }

  /// The variance between clusters over that of independent cases, whose sum of squares is
  /// `independent`; at least 1, also where nothing can be told.
  double design_effect(double independent) const {
    const double clusters = real(sums_.size()), cases = real(cases_);
    if (clusters < 2 || independent <= kRounding * cases) return 1;
    double between = 0;
    for (const auto& [cluster, sum] : sums_) between += sum * sum;
    return std::max(1.0, between / independent * clusters / (clusters - 1) * (cases - 1) / cases);
  }

 private:
  std::map<std::string, double> sums_;
  std::uint64_t cases_ = 0;
};

/// P(X <= reach or X >= n - reach) of a binomial X. Weights are relative to the mode's and reach
/// out to where they vanish, so that no factorial is needed and far tails keep their digits.
double binomial_tails(std::uint64_t n, double rate, std::uint64_t reach) {
  const auto mode = std::min(n, static_cast<std::uint64_t>(std::floor(real(n + 1) * rate)));
  double total = 0, tails = 0;
  const auto add = [&](std::uint64_t count, double weight) {
    total += weight;
    if (count <= reach || count + reach >= n) tails += weight;
  };
  add(mode, 1);
  double weight = 1;
  for (auto count = mode; count > 0 && weight > kVanished; --count) {
    weight *= (real(count) * (1 - rate)) / (real(n - count + 1) * rate);
    add(count - 1, weight);
  }
  weight = 1;
  for (auto count = mode; count < n && weight > kVanished; ++count) {
    weight *= (real(n - count) * rate) / (real(count + 1) * (1 - rate));
    add(count + 1, weight);
  }
  return tails / total;
}

/// The power of the exact McNemar test, one pair more at a time.
class PowerCurve {
 public:
  PowerCurve(DiscordantRates rates, double alpha) : alpha_(alpha) {
    DAYBOOK_CHECK(rates.gained >= 0 && rates.lost >= 0 &&
                  rates.gained + rates.lost <= 1 + kRounding);
    DAYBOOK_CHECK(alpha > 0 && alpha < 1);
    discordant_ = std::min(1.0, rates.gained + rates.lost);
    gained_ = discordant_ > 0 ? rates.gained / (rates.gained + rates.lost) : 0.5;
  }

  void add_pair() {
    chances_.push_back(0);
    for (std::size_t count = chances_.size() - 1; count > 0; --count) {
      chances_[count] = chances_[count] * (1 - discordant_) + chances_[count - 1] * discordant_;
    }
    chances_[0] *= 1 - discordant_;
    add_rejection(chances_.size() - 1);
  }

  double power() const {
    return std::inner_product(chances_.begin(), chances_.end(), rejections_.begin(), 0.0);
  }

 private:
  void add_rejection(std::uint64_t discordant) {
    // The widest minority that still rejects never shrinks as pairs are added.
    while (binomial_tails(discordant, 0.5, minorities_) < alpha_) ++minorities_;
    rejections_.push_back(minorities_ > 0 ? binomial_tails(discordant, gained_, minorities_ - 1)
                                          : 0);
  }

  double alpha_;
  double discordant_ = 0;                 // chance that a pair is discordant
  double gained_ = 0;                     // chance that a discordant pair is gained
  std::uint64_t minorities_ = 0;          // how many sizes of the smaller side reject: 0, 1, ...
  std::vector<double> chances_ = {1};     // by number of discordant pairs: that there are so many,
  std::vector<double> rejections_ = {0};  // and that the test then rejects
};

/// splitmix64: the same stream everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::size_t below(std::size_t bound) {
    return static_cast<std::size_t>((static_cast<Uint128>(next()) * bound) >> 64);
  }

 private:
  std::uint64_t next() {
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t mixed = state_;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    return mixed ^ (mixed >> 31);
  }

  std::uint64_t state_;
};

struct Cluster {
  std::size_t pairs = 0;
  double sum = 0;

  Cluster& operator+=(const Cluster& other) {
    pairs += other.pairs;
    sum += other.sum;
    return *this;
  }
  double mean() const { return sum / real(pairs); }
  auto operator<=>(const Cluster&) const = default;
};

/// In an order that neither the input's order nor the names decide.
std::vector<Cluster> clusters_of(std::span<const ClusteredDifference> pairs) {
  std::vector<const ClusteredDifference*> sorted;
  for (const auto& pair : pairs) {
    DAYBOOK_CHECK(std::isfinite(pair.difference));
    sorted.push_back(&pair);
  }
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
    return std::tie(a->cluster, a->difference) < std::tie(b->cluster, b->difference);
  });
  std::vector<Cluster> clusters;
  const std::string* current = nullptr;
  for (const auto* pair : sorted) {
    if (current == nullptr || *current != pair->cluster) clusters.emplace_back();
    current = &pair->cluster;
    clusters.back() += Cluster{1, pair->difference};
  }
  std::sort(clusters.begin(), clusters.end());
  return clusters;
}

/// Means of resampled clusters, ascending.
std::vector<double> drawn_means(const std::vector<Cluster>& clusters,
                                const BootstrapOptions& options) {
  DAYBOOK_CHECK(options.draws > 0);
  Random random(options.seed);
  std::vector<double> means(options.draws);
  for (auto& mean : means) {
    Cluster drawn;
    for (std::size_t i = 0; i < clusters.size(); ++i) {
      drawn += clusters[random.below(clusters.size())];
    }
    mean = drawn.mean();
  }
  std::sort(means.begin(), means.end());
  return means;
}

/// How the spread changes with the mean, from leaving out one cluster at a time.
double acceleration_of(const std::vector<Cluster>& clusters, const Cluster& all) {
  std::vector<double> means;
  means.reserve(clusters.size());
  for (const auto& left_out : clusters) {
    means.push_back(Cluster{all.pairs - left_out.pairs, all.sum - left_out.sum}.mean());
  }
  const double centre = std::accumulate(means.begin(), means.end(), 0.0) / real(means.size());
  double squares = 0, cubes = 0;
  for (const double mean : means) {
    const double away = centre - mean;
    squares += away * away;
    cubes += away * away * away;
  }
  return cubes / (6 * std::pow(squares, 1.5));
}

/// Between the two nearest values when the place falls between them.
double quantile_of(const std::vector<double>& sorted, double probability) {
  const double place = probability * real(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const auto above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - std::floor(place));
}

/// `rounding`: means no further apart than this are the same.
std::optional<Interval> bca_interval(const std::vector<double>& sorted, double mean,
                                     double acceleration, double confidence, double rounding) {
  const auto below = std::lower_bound(sorted.begin(), sorted.end(), mean - rounding);
  const auto above = std::upper_bound(below, sorted.end(), mean + rounding);
  // Draws that hit the mean itself count half on either side.
  const double bias = normal_quantile((real(static_cast<std::uint64_t>(below - sorted.begin())) +
                                       real(static_cast<std::uint64_t>(above - sorted.begin()))) /
                                      (2 * real(sorted.size())));
  const double critical = normal_critical(confidence);
  const auto limit = [&](double z) -> std::optional<double> {
    const double stretch = 1 - acceleration * (bias + z);
    if (stretch <= 0) return std::nullopt;
    return quantile_of(sorted, normal_cdf(bias + (bias + z) / stretch));
  };
  const auto low = limit(-critical), high = limit(critical);
  if (!low || !high) return std::nullopt;
  return Interval{*low, *high};
}

/// Sizes with their signs turned into ranks, doubled so that mean ranks stay whole.
struct SignedRanks {
  std::vector<std::size_t> doubled;
  std::size_t positive = 0;  // sum of the doubled ranks of positive differences
  double ties = 0;           // sum of t^3 - t over groups of t equal sizes
};

SignedRanks signed_ranks(std::span<const double> differences) {
  std::vector<double> sorted;
  for (const double difference : differences) {
    DAYBOOK_CHECK(std::isfinite(difference));
    if (difference != 0) sorted.push_back(difference);
  }
  std::sort(sorted.begin(), sorted.end(),
            [](double a, double b) { return std::abs(a) < std::abs(b); });
  SignedRanks ranks;
  for (std::size_t first = 0, end = 0; first < sorted.size(); first = end) {
    while (end < sorted.size() && std::abs(sorted[end]) == std::abs(sorted[first])) ++end;
    const double tied = real(end - first);
    ranks.ties += tied * tied * tied - tied;
    for (std::size_t i = first; i < end; ++i) {
      ranks.doubled.push_back(first + 1 + end);
      if (sorted[i] > 0) ranks.positive += ranks.doubled.back();
    }
  }
  return ranks;
}

/// Over all ways to give these ranks signs. Counts stay below 2^25, exact in a double.
double exact_rank_test(const SignedRanks& ranks, std::size_t total) {
  std::vector<double> ways(total + 1);
  ways[0] = 1;
  for (const auto rank : ranks.doubled) {
    for (std::size_t sum = total; sum >= rank; --sum) ways[sum] += ways[sum - rank];
  }
  const auto smaller = std::min(ranks.positive, total - ranks.positive);
  const auto as_far = std::span(ways).first(smaller + 1);
  const double count = std::accumulate(as_far.begin(), as_far.end(), 0.0);
  return std::min(1.0, 2 * std::ldexp(count, -static_cast<int>(ranks.doubled.size())));
}

}  // namespace

Interval wilson(std::uint64_t successes, std::uint64_t n, double confidence) {
  DAYBOOK_CHECK(successes <= n);
  if (n == 0) return {0, 1};
  return wilson_of(real(successes) / real(n), real(n), normal_critical(confidence));
}

ClusteredRate clustered_rate(std::span<const ClusteredShare> cases, double confidence) {
  ClusteredRate made;
  double weights = 0, squares = 0, good = 0;
  for (const auto& each : cases) {
    DAYBOOK_CHECK(each.share >= 0 && each.share <= 1 && each.weight > 0);
    weights += each.weight;
    squares += each.weight * each.weight;
    good += each.weight * each.share;
  }
  if (cases.empty()) return made;
  made.rate = std::min(1.0, good / weights);
  Residuals residuals;
  for (const auto& each : cases) {
    residuals.add(each.cluster, each.weight * (each.share - made.rate));
  }
  made.effective =
      weights * weights / squares / residuals.design_effect(squares * made.rate * (1 - made.rate));
  made.interval = wilson_of(made.rate, made.effective, normal_critical(confidence));
  return made;
}

double mcnemar_exact(std::uint64_t gained, std::uint64_t lost) {
  return binomial_tails(gained + lost, 0.5, std::min(gained, lost));
}

Interval newcombe_paired(const PairedOutcomes& outcomes, double confidence) {
  const auto [both, gained, lost, neither] = outcomes;
  return newcombe_of({real(both), real(gained), real(lost), real(neither)},
                     normal_critical(confidence));
}

PairedRates paired_rates(std::span<const PairedShares> cases, double confidence) {
  PairedRates made;
  if (cases.empty()) return made;
  PairShares shares;
  for (const auto& [cluster, was, now] : cases) {
    DAYBOOK_CHECK(was >= 0 && was <= 1 && now >= 0 && now <= 1);
    made.gained += now > was ? 1 : 0;
    made.lost += now < was ? 1 : 0;
    shares += {was * now, (1 - was) * now, was * (1 - now), (1 - was) * (1 - now)};
  }
  const double n = real(cases.size());
  made.was = (shares.both + shares.lost) / n;
  made.now = (shares.both + shares.gained) / n;
  Residuals residuals;
  for (const auto& each : cases) {
    residuals.add(each.cluster, (each.now - each.was) - (made.now - made.was));
  }
  const double difference = made.now - made.was;
  const double effect =
      residuals.design_effect(shares.gained + shares.lost - n * difference * difference);
  made.effective = n / effect;
  made.difference = newcombe_of(shares.over(effect), normal_critical(confidence));
  return made;
}

double mcnemar_power(std::uint32_t pairs, DiscordantRates rates, double alpha) {
  PowerCurve curve(rates, alpha);
  for (std::uint32_t i = 0; i < pairs; ++i) curve.add_pair();
  return curve.power();
}

std::optional<std::uint32_t> pairs_needed(DiscordantRates rates, double power, double alpha) {
  PowerCurve curve(rates, alpha);
  for (std::uint32_t pairs = 1; pairs <= kMostPairsNeeded; ++pairs) {
    curve.add_pair();
    if (curve.power() >= power) return pairs;
  }
  return std::nullopt;
}

ClusteredMean bootstrap_mean(std::span<const ClusteredDifference> pairs,
                             const BootstrapOptions& options) {
  ClusteredMean result;
  const auto clusters = clusters_of(pairs);
  if (clusters.empty()) return result;
  Cluster all;
  for (const auto& cluster : clusters) all += cluster;
  result.mean = all.mean();
  result.pairs = all.pairs;
  result.clusters = clusters.size();
  if (clusters.size() < 2) return result;

  double largest = 0;
  for (const auto& pair : pairs) largest = std::max(largest, std::abs(pair.difference));
  const double rounding = kRounding * largest;
  const auto means = drawn_means(clusters, options);
  if (means.back() - means.front() <= rounding) return result;
  result.interval = bca_interval(means, result.mean, acceleration_of(clusters, all),
                                 options.confidence, rounding);
  return result;
}

double wilcoxon_signed_rank(std::span<const double> differences) {
  const auto ranks = signed_ranks(differences);
  const auto n = ranks.doubled.size();
  const auto total = n * (n + 1);
  // The approximation would call five equal gains significant (0.025 for 1/16): small samples with
  // ties are exact too.
  if (n <= kMostExactRanks) return exact_rank_test(ranks, total);
  const double variance = (real(total) * real(2 * n + 1) - ranks.ties / 2) / 6;
  const double away = std::abs(real(ranks.positive) - real(total) / 2);
  return std::erfc(away / std::sqrt(2 * variance));
}

std::vector<double> holm_adjusted(std::span<const double> p_values) {
  for (const double p : p_values) DAYBOOK_CHECK(p >= 0 && p <= 1);
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return p_values[a] < p_values[b]; });
  std::vector<double> adjusted(p_values.size());
  double floor = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    floor = std::max(floor, std::min(1.0, real(order.size() - i) * p_values[order[i]]));
    adjusted[order[i]] = floor;
  }
  return adjusted;
}

}  // namespace daybook::replay
