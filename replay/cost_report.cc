#include "replay/cost_report.h"

#include <algorithm>
#include <functional>
#include <span>
#include <thread>
#include <tuple>

namespace daybook::replay {
namespace {

constexpr std::array<std::string_view, 8> kGroups = {"day",     "week",  "month", "session",
                                                     "project", "model", "agent", "tool"};

bool is_time(GroupBy group) {
  return group == GroupBy::day || group == GroupBy::week || group == GroupBy::month;
}

std::string or_else(const std::string& text, std::string_view otherwise) {
  return text.empty() ? std::string(otherwise) : text;
}

class Reporter {
 public:
  Reporter(const CallTable& table, const PriceBook& book, const Calendar& calendar,
           const CostQuery& query)
      : table_(table), book_(book), calendar_(calendar), query_(query) {}

  void take_all(std::span<const StoredCall> calls) {
    for (const StoredCall& call : calls) {
      if (wanted(call)) take(call);
    }
  }

  /// Adds what another one took.
  void join(const Reporter& other) {
    for (const auto& [keys, sums] : other.sums_) sums_[keys].add(sums);
    report_.total.add(other.report_.total);
    report_.undated_left_out += other.report_.undated_left_out;
    for (const auto& [key, row] : other.unpriced_) {
      UnpricedRow& own = unpriced_[key];
      own.calls += row.calls;
      own.tokens += row.tokens;
      own.searches += row.searches;
    }
  }

  CostReport finish() {
    for (auto& [keys, sums] : sums_) report_.rows.push_back({keys, sums});
    const bool by_time = !query_.by.empty() && is_time(query_.by.front());
    if (!by_time) {
      // Equal costs stay in the order of their keys.
      std::ranges::stable_sort(report_.rows, [](const CostRow& a, const CostRow& b) {
        const auto rank = [](const CostRow& row) {
          return std::tuple(row.sums.cost.high, row.sums.cost.low, row.sums.unpriced_tokens);
        };
        return rank(a) > rank(b);
      });
    }
    for (auto& [key, row] : unpriced_) {
      std::tie(row.provider, row.model, row.why, row.what) = key;
      report_.unpriced.push_back(std::move(row));
    }
    std::ranges::stable_sort(report_.unpriced, std::greater{}, &UnpricedRow::tokens);
    return std::move(report_);
  }

 private:
  using UnpricedKey = std::tuple<std::string, std::string, Unpriced, std::string>;

  bool wanted(const StoredCall& call) {
    if (!query_.session.empty() && table_.session_of(call).name() != query_.session) return false;
    if (!query_.since && !query_.until) return true;
    if (call.started_at == 0) {
      ++report_.undated_left_out;
      return false;
    }
    return (!query_.since || call.started_at >= *query_.since) &&
           (!query_.until || call.started_at < *query_.until);
  }

  const std::vector<const PriceRow*>& rows_of(const StoredCall& call) {
    const auto [found, added] = rows_by_names_.try_emplace(call.names);
    if (added) {
      const CallNames& names = table_.names_of(call);
      found->second = book_.rows_for(names.provider, names.model);
    }
    return found->second;
  }

  std::string key(const StoredCall& call, GroupBy group) {
    const CallSession& session = table_.session_of(call);
    if (is_time(group) && call.started_at == 0) return "(no date)";
    switch (group) {
      case GroupBy::day:
        return day_of(call.started_at);
      case GroupBy::week:
        return calendar_.week(call.started_at);
      case GroupBy::month:
        return calendar_.month(call.started_at);
      case GroupBy::session:
        return or_else(session.name(), "(unknown)");
      case GroupBy::project:
        return or_else(session.project, "(unknown)");
      case GroupBy::model:
        return or_else(table_.names_of(call).model, "(unknown)");
      case GroupBy::agent:
        return or_else(session.agent, "(unknown)");
      case GroupBy::tool:
        return or_else(table_.tools_of(call), "(no tool)");
    }
    return {};
  }

  /// Calls come in crowds. Since 1973 every zone is whole quarters of an hour away from UTC, so
  /// that all moments of a quarter are of one day.
  const std::string& day_of(std::int64_t at) {
    constexpr std::int64_t kQuarter = 900'000'000'000;
    constexpr std::int64_t kFrom1973 = 94'694'400'000'000'000;
    if (at < kFrom1973) return old_day_ = calendar_.day(at);
    std::string& known = days_[at / kQuarter];
    if (known.empty()) known = calendar_.day(at);
    return known;
  }

  CostSums& sums_of_key() {
    if (latest_ == nullptr || key_ != latest_key_) {
      latest_ = &sums_[key_];
      latest_key_ = key_;
    }
    return *latest_;
  }

  void take(const StoredCall& call) {
    const CallUsage usage = table_.usage_of(call);
    const PriceMoment moment = {query_.prices_at.value_or(call.started_at), call.started_at};
    const CallCost cost = price_call(rows_of(call), usage, moment);
    key_.clear();
    for (const GroupBy group : query_.by) key_.push_back(key(call, group));
    sums_of_key().add(cost, usage);
    report_.total.add(cost, usage);
    if (cost.why != Unpriced::no) note_unpriced(call, cost);
  }

  void note_unpriced(const StoredCall& call, const CallCost& cost) {
    const CallNames& names = table_.names_of(call);
    std::string what;
    if (cost.why == Unpriced::tier) what = names.service_tier;
    if (cost.why == Unpriced::speed) what = names.speed;
    if (cost.why == Unpriced::region) what = names.region;
    if (cost.why == Unpriced::token_class) {
      for (const CostLine& line : cost.used()) {
        if (!line.cost) what += (what.empty() ? "" : "+") + std::string(name_of(line.what));
      }
    }
    UnpricedRow& row = unpriced_[{names.provider, names.model, cost.why, what}];
    ++row.calls;
    row.tokens += cost.unpriced_tokens;
    row.searches += cost.unpriced_searches;
  }

  const CallTable& table_;
  const PriceBook& book_;
  const Calendar& calendar_;
  const CostQuery& query_;
  CostReport report_;
  std::vector<std::string> key_;
  std::map<std::vector<std::string>, CostSums> sums_;
  CostSums* latest_ = nullptr;  // of latest_key_
  std::vector<std::string> latest_key_;
  std::unordered_map<std::int64_t, std::string> days_;  // by quarter of an hour
  std::string old_day_;
  std::map<UnpricedKey, UnpricedRow> unpriced_;
  std::unordered_map<std::uint32_t, std::vector<const PriceRow*>> rows_by_names_;
};

}  // namespace

std::string_view name_of(GroupBy group) {
  return kGroups[static_cast<std::size_t>(group)];
}

std::optional<GroupBy> parse_group(std::string_view name) {
  const auto* const found = std::ranges::find(kGroups, name);
  if (found == kGroups.end()) return std::nullopt;
  return static_cast<GroupBy>(found - kGroups.begin());
}

std::vector<std::string> group_names() {
  return {kGroups.begin(), kGroups.end()};
}

std::uint64_t CostSums::written() const {
  return of(TokenClass::cache_write_5m) + of(TokenClass::cache_write_1h) +
         of(TokenClass::cache_write);
}

void CostSums::add(const CallCost& call_cost, const CallUsage& usage) {
  ++calls;
  for (std::size_t i = 0; i < kTokenClasses; ++i) counts[i] += call_cost.counts.of[i];
  cost += call_cost.total;
  if (call_cost.why != Unpriced::no) ++unpriced_calls;
  unpriced_tokens += call_cost.unpriced_tokens;
  unpriced_searches += call_cost.unpriced_searches;
  if (!usage.any()) {
    ++without_usage;
    return;
  }
  const ClassCounts& classes = call_cost.counts;
  without_input += classes.input_known ? 0 : 1;
  without_read += classes.read_known ? 0 : 1;
  without_write += classes.write_known ? 0 : 1;
  without_output += classes.output_known ? 0 : 1;
  without_searches += classes.searches_known ? 0 : 1;
  unfinished += usage.authority == schema::Authority::lower_bound ? 1 : 0;
  ++by_authority[static_cast<std::size_t>(authority_of(usage, classes))];
}

void CostSums::add(const CostSums& other) {
  calls += other.calls;
  for (std::size_t i = 0; i < kTokenClasses; ++i) counts[i] += other.counts[i];
  cost += other.cost;
  unpriced_calls += other.unpriced_calls;
  unpriced_tokens += other.unpriced_tokens;
  unpriced_searches += other.unpriced_searches;
  without_usage += other.without_usage;
  without_input += other.without_input;
  without_read += other.without_read;
  without_write += other.without_write;
  without_output += other.without_output;
  without_searches += other.without_searches;
  unfinished += other.unfinished;
  for (std::size_t i = 0; i < by_authority.size(); ++i) by_authority[i] += other.by_authority[i];
}

CostReport cost_report(const CallTable& table, const PriceBook& book, const Calendar& calendar,
                       const CostQuery& query, unsigned threads) {
  constexpr std::size_t kWorthAThread = 10'000;
  const std::span<const StoredCall> calls = table.calls();
  const std::size_t parts =
      std::clamp<std::size_t>(calls.size() / kWorthAThread, 1, std::max(threads, 1U));
  std::vector<Reporter> reporters(parts, Reporter(table, book, calendar, query));
  {
    std::vector<std::jthread> others;
    const std::size_t share = calls.size() / parts;
    for (std::size_t i = 1; i < parts; ++i) {
      const auto part = calls.subspan(i * share, i + 1 == parts ? std::dynamic_extent : share);
      others.emplace_back([&reporter = reporters[i], part] { reporter.take_all(part); });
    }
    reporters[0].take_all(calls.first(parts == 1 ? calls.size() : share));
  }
  for (std::size_t i = 1; i < parts; ++i) reporters[0].join(reporters[i]);
  return reporters[0].finish();
}

}  // namespace daybook::replay
