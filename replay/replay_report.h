// What a replay says: how often each arm's summaries are usable, what they keep, what they cost,
// and whether two arms differ by more than chance. Needs no model: recorded replies are scored
// again by this build.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "replay/price_book.h"
#include "replay/replay_state.h"
#include "replay/statistics.h"

namespace daybook::replay {

/// The last reply of a unit, scored. Shares are from 0 to 1.
struct UnitScore {
  UnitKey key;
  bool usable = false;
  std::vector<std::string> codes;  // of the gate, when not usable
  bool needs = false;        // the continuation used a fact of the span: recalls say something
  double needed_recall = 0;  // of such facts, in the summary
  double survival = 0;       // of all facts, weighted, in the summary
  std::optional<double> precision;  // of the entities that the summary names; absent: none
  double block_recall = 0;          // as needed_recall, in the whole block
  double block_survival = 0;
  Money cost;  // of all calls of the unit, the upper bound where a price is an interval
  std::uint64_t unpriced_tokens = 0;
  std::size_t unknown_calls = 0;  // answered without a usage
  std::size_t at_most_calls = 0;  // without an answer, in `cost` with the most they may have cost
  std::size_t calls = 0;
  std::optional<double> payback_turns;
};

struct ArmReport {
  Arm arm;
  std::size_t units = 0;
  std::size_t usable = 0;
  ClusteredRate usable_rate;                 // over compactions; 95 %
  std::map<std::string, std::size_t> codes;  // units that were refused for it
  std::size_t calls = 0;
  Money cost;
  std::uint64_t unpriced_tokens = 0;
  std::size_t unknown_calls = 0;         // answered without a usage
  std::size_t at_most_calls = 0;         // as in UnitScore
  std::optional<Money> cost_per_usable;  // absent: none usable
  std::optional<double> needed_recall;   // means over the units; absent: nothing was needed
  double survival = 0;
  std::optional<double> precision;  // mean over the units that name an entity; absent: none does
  std::optional<double> block_recall;
  double block_survival = 0;
  std::optional<double> payback_turns;  // median over the units that have one
  /// Tokens that its requests asked for, at the least, where its model's limits lowered them.
  std::optional<std::uint64_t> lowered_to;
};

/// Two arms on the same cases. Each has one say per case, whatever its replicates: the share of
/// them that is usable, and the mean of their recalls.
struct PairReport {
  std::size_t a = 0;  // indexes of the arms; b is compared with a
  std::size_t b = 0;
  std::size_t pairs = 0;
  PairedRates usable;            // from a to b; with one replicate as McNemar and Newcombe
  double p = 1;                  // exact McNemar or sign test, two-sided
  double p_holm = 1;             // over all pairs of the report
  std::size_t recall_pairs = 0;  // pairs in which something was needed later
  double recall_difference = 0;  // mean of needed recall, b less a, where something was needed
  std::optional<Interval> recall_interval;  // bootstrap over sessions, BCa, 95 %
  double recall_p = 1;                      // Wilcoxon signed-rank, as a check
  std::optional<std::size_t> pairs_needed;  // for 80 % power at the rates seen
};

struct ReplayReport {
  std::vector<ArmReport> arms;
  std::vector<PairReport> pairs;
  std::vector<UnitScore> units;
  std::size_t cases = 0;
  std::size_t replicates = 1;
  std::size_t sessions = 0;  // clusters
  std::size_t done = 0;      // units
  std::size_t all = 0;
};

Result<ReplayReport> make_report(journal::Journal& journal, const SessionId& session,
                                 const PriceBook& prices);

}  // namespace daybook::replay
