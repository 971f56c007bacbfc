#include "replay/replay_report.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "replay/case_score.h"
#include "replay/price_call.h"

namespace daybook::replay {
namespace {

double dollars(const Money& money) {
  const std::string text = money.exact();
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// What tokens of one class cost with the session's model at that time; nothing when unpriced.
std::optional<double> class_cost(const PriceBook& prices, const std::string& model, std::int64_t at,
                                 CallUsage usage) {
  const auto colon = model.find(':');
  if (colon == std::string::npos) return std::nullopt;
  usage.output = 0;
  const auto rows = prices.rows_for(model.substr(0, colon), model.substr(colon + 1));
  const CallCost cost = price_call(rows, usage, {at, at});
  if (cost.unpriced_tokens > 0) return std::nullopt;
  return dollars(cost.total.high);
}

/// Turns of the session after which a compaction with this summary has paid for itself: what it
/// cost, and the new prefix written instead of the old one read, over what each turn reads less.
std::optional<double> payback(const PriceBook& prices, const CompactionCase& of,
                              std::size_t span_bytes, std::size_t block_bytes, double cost) {
  constexpr std::size_t kBytesPerToken = 4;
  const double before = static_cast<double>(of.recorded.tokens_before);
  const double cut =
      (static_cast<double>(span_bytes) - static_cast<double>(block_bytes)) / kBytesPerToken;
  if (before == 0 || cut <= 0 || cut >= before) return std::nullopt;
  const double after = before - cut;
  CallUsage read;
  read.cache_read = 1'000'000;
  read.input_uncached = 0;
  CallUsage write;
  write.cache_write = 1'000'000;
  write.input_uncached = 0;
  const auto read_price = class_cost(prices, of.model, of.recorded.at, read);
  auto write_price = class_cost(prices, of.model, of.recorded.at, write);
  if (!write_price) {
    // Providers that do not charge for writing take such tokens as uncached input.
    CallUsage input;
    input.input_uncached = 1'000'000;
    write_price = class_cost(prices, of.model, of.recorded.at, input);
  }
  if (!read_price || !write_price || *read_price <= 0) return std::nullopt;
  const double once = cost + (after * *write_price - before * *read_price) / 1e6;
  return std::max(0.0, once / (cut * *read_price / 1e6));
}

class Reporter {
 public:
  Reporter(journal::Journal& journal, const PriceBook& prices, const ReplayState& state)
      : journal_(journal), prices_(prices), state_(state) {}

  Result<ReplayReport> make();

 private:
  Result<UnitScore> score(const UnitKey& key, const UnitState& unit, const PreparedCase& of);
  void sum_up(ReplayReport& report) const;
  PairReport compare(const ReplayReport& report, std::size_t a, std::size_t b) const;

  journal::Journal& journal_;
  const PriceBook& prices_;
  const ReplayState& state_;
  std::vector<std::string> clusters_;  // session of each case
};

Result<UnitScore> Reporter::score(const UnitKey& key, const UnitState& unit,
                                  const PreparedCase& of) {
  UnitScore made;
  made.key = key;
  made.calls = unit.calls.size();
  Spent spent;
  for (const auto& call : unit.calls) spent.add(prices_, call);
  made.cost = spent.money;
  made.unpriced_tokens = spent.unpriced_tokens;
  made.unknown_calls = spent.unknown_calls;
  made.at_most_calls = spent.at_most_calls;
  const AttemptMade& last = unit.attempts.back();
  auto text = attempt_text(journal_, last);
  if (!text) return fail(std::move(text.error()));
  made.codes = last.codes;
  made.usable = last.verdict == schema::GateVerdict::usable;
  if (last.summary && last.gate_version != engine::kGateVersion) {
    const auto again = of.judge({*text, last.stop});
    made.usable = again.verdict == engine::GateVerdict::kUsable;
    made.codes.clear();
    for (const auto& finding : again.findings) made.codes.push_back(code_of(finding.code));
  }
  // A summary that is not usable is not put in place: the block then stands without one.
  const std::string_view used = made.usable ? std::string_view(*text) : std::string_view();
  const CompactionScore scored = of.score(used);
  made.needs = scored.summary.needed.facts > 0;
  made.needed_recall = scored.summary.needed_recall();
  made.survival = scored.summary.survival();
  made.precision = scored.summary.entity_precision;
  made.block_recall = scored.block.needed_recall();
  made.block_survival = scored.block.survival();
  const bool known =
      made.unpriced_tokens == 0 && made.unknown_calls == 0 && made.at_most_calls == 0;
  if (made.usable && known) {
    made.payback_turns =
        payback(prices_, of.recorded(), of.span_bytes(), of.block_bytes(used), dollars(made.cost));
  }
  return made;
}

double mean(const std::vector<const UnitScore*>& units, double UnitScore::*of) {
  double sum = 0;
  for (const auto* unit : units) sum += unit->*of;
  return units.empty() ? 0 : sum / static_cast<double>(units.size());
}

/// Of a summary that names nothing, nothing is right or wrong: it has no say.
std::optional<double> mean_precision(const std::vector<const UnitScore*>& units) {
  double sum = 0;
  std::size_t count = 0;
  for (const auto* unit : units) {
    if (!unit->precision) continue;
    sum += *unit->precision;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

/// Replicates of one compaction are no independent summaries: each arm has one say per compaction.
std::map<std::uint32_t, std::vector<const UnitScore*>> by_case(const ReplayReport& report,
                                                               std::size_t arm) {
  std::map<std::uint32_t, std::vector<const UnitScore*>> units;
  for (const auto& unit : report.units) {
    if (unit.key.arm == arm) units[unit.key.item].push_back(&unit);
  }
  return units;
}

double usable_share(const std::vector<const UnitScore*>& units) {
  const auto usable = std::ranges::count_if(units, [](const auto* unit) { return unit->usable; });
  return static_cast<double>(usable) / static_cast<double>(units.size());
}

void Reporter::sum_up(ReplayReport& report) const {
  for (std::uint32_t i = 0; i < state_.arms.size(); ++i) {
    ArmReport arm;
    arm.arm = state_.arms[i];
    if (const auto limit = state_.reply_limits.find(i); limit != state_.reply_limits.end()) {
      if (limit->second < arm.arm.summary_tokens) arm.lowered_to = limit->second;
    }
    std::vector<const UnitScore*> units;
    std::vector<double> paybacks;
    for (const auto& unit : report.units) {
      if (unit.key.arm != i) continue;
      units.push_back(&unit);
      arm.usable += unit.usable ? 1 : 0;
      arm.calls += unit.calls;
      arm.cost += unit.cost;
      arm.unpriced_tokens += unit.unpriced_tokens;
      arm.unknown_calls += unit.unknown_calls;
      arm.at_most_calls += unit.at_most_calls;
      if (unit.payback_turns) paybacks.push_back(*unit.payback_turns);
      if (unit.usable) continue;
      for (const auto& code : std::set<std::string>(unit.codes.begin(), unit.codes.end())) {
        ++arm.codes[code];
      }
    }
    arm.units = units.size();
    std::vector<ClusteredShare> shares;
    for (const auto& [item, made] : by_case(report, i)) {
      shares.push_back({clusters_.at(item), usable_share(made), static_cast<double>(made.size())});
    }
    arm.usable_rate = clustered_rate(shares);
    if (arm.usable > 0) arm.cost_per_usable = divided(arm.cost, arm.usable);
    arm.survival = mean(units, &UnitScore::survival);
    arm.precision = mean_precision(units);
    arm.block_survival = mean(units, &UnitScore::block_survival);
    std::erase_if(units, [](const UnitScore* unit) { return !unit->needs; });
    if (!units.empty()) {
      arm.needed_recall = mean(units, &UnitScore::needed_recall);
      arm.block_recall = mean(units, &UnitScore::block_recall);
    }
    if (!paybacks.empty()) {
      std::ranges::sort(paybacks);
      arm.payback_turns = paybacks[paybacks.size() / 2];
    }
    report.arms.push_back(std::move(arm));
  }
}

PairReport Reporter::compare(const ReplayReport& report, std::size_t a, std::size_t b) const {
  PairReport pair;
  pair.a = a;
  pair.b = b;
  const auto of_a = by_case(report, a);
  std::vector<PairedShares> shares;
  std::vector<ClusteredDifference> recalls;
  std::vector<double> differences;
  for (const auto& [item, units] : by_case(report, b)) {
    const auto found = of_a.find(item);
    if (found == of_a.end()) continue;
    shares.push_back({clusters_.at(item), usable_share(found->second), usable_share(units)});
    if (!units.front()->needs) continue;
    const double difference =
        mean(units, &UnitScore::needed_recall) - mean(found->second, &UnitScore::needed_recall);
    recalls.push_back({clusters_.at(item), difference});
    differences.push_back(difference);
  }
  pair.pairs = shares.size();
  pair.usable = paired_rates(shares);
  pair.p = mcnemar_exact(pair.usable.gained, pair.usable.lost);
  pair.recall_pairs = recalls.size();
  const auto bootstrapped = bootstrap_mean(recalls);
  pair.recall_difference = bootstrapped.mean;
  pair.recall_interval = bootstrapped.interval;
  pair.recall_p = wilcoxon_signed_rank(differences);
  if (pair.pairs > 0) {
    const double n = static_cast<double>(pair.pairs);
    pair.pairs_needed = pairs_needed(
        {static_cast<double>(pair.usable.gained) / n, static_cast<double>(pair.usable.lost) / n});
  }
  return pair;
}

Result<ReplayReport> Reporter::make() {
  ReplayReport report;
  report.cases = state_.cases.size();
  report.replicates = state_.replicates;
  report.all = state_.cases.size() * state_.arms.size() * state_.replicates;
  for (const auto& id : state_.cases) clusters_.push_back(id.substr(0, id.rfind('@')));
  report.sessions = std::set<std::string>(clusters_.begin(), clusters_.end()).size();
  // Case by case: a span is read and prepared once for all its summaries.
  for (std::uint32_t item = 0; item < state_.cases.size(); ++item) {
    std::unique_ptr<PreparedCase> prepared;
    for (const auto& [key, unit] : state_.units) {
      if (key.item != item || !unit.done || unit.attempts.empty()) continue;
      if (!prepared) {
        auto loaded = PreparedCase::load(journal_, state_.cases[item]);
        if (!loaded) return fail(std::move(loaded.error()));
        prepared = std::move(*loaded);
      }
      auto scored = score(key, unit, *prepared);
      if (!scored) return fail(std::move(scored.error()));
      report.units.push_back(std::move(*scored));
    }
  }
  report.done = report.units.size();
  sum_up(report);
  std::vector<double> p_values;
  for (std::size_t a = 0; a < report.arms.size(); ++a) {
    for (std::size_t b = a + 1; b < report.arms.size(); ++b) {
      report.pairs.push_back(compare(report, a, b));
      p_values.push_back(report.pairs.back().p);
    }
  }
  const auto adjusted = holm_adjusted(p_values);
  for (std::size_t i = 0; i < adjusted.size(); ++i) report.pairs[i].p_holm = adjusted[i];
  return report;
}

}  // namespace

Result<ReplayReport> make_report(journal::Journal& journal, const SessionId& session,
                                 const PriceBook& prices) {
  auto state = load_replay(journal, session);
  if (!state) return fail(std::move(state.error()));
  return Reporter(journal, prices, *state).make();
}

}  // namespace daybook::replay
