// What calls cost, by whatever they have in common. Every call is in exactly one row, and the rows
// add up to the total to the last digit.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/calendar.h"
#include "replay/call_table.h"
#include "replay/price_call.h"

namespace daybook::replay {

enum class GroupBy { day, week, month, session, project, model, agent, tool };
std::string_view name_of(GroupBy group);
std::optional<GroupBy> parse_group(std::string_view name);
std::vector<std::string> group_names();

struct CostQuery {
  std::vector<GroupBy> by;                // one row for each combination
  std::optional<std::int64_t> since;      // UTC ns, included
  std::optional<std::int64_t> until;      // not included
  std::optional<std::int64_t> prices_at;  // prices of that moment; absent: of the call's
  std::string session = {};               // CallSession::name; "": all
};

struct CostSums {
  std::uint64_t calls = 0;
  std::array<std::uint64_t, kTokenClasses> counts{};
  MoneyRange cost;
  std::uint64_t unpriced_calls = 0;  // with anything that has no price
  std::uint64_t unpriced_tokens = 0;
  std::uint64_t unpriced_searches = 0;
  std::uint64_t without_usage = 0;  // calls that reported nothing; they may have been billed
  /// Calls with usage that did not report a class: what it cost is in no sum.
  std::uint64_t without_input = 0;
  std::uint64_t without_read = 0;
  std::uint64_t without_write = 0;
  std::uint64_t without_output = 0;
  std::uint64_t without_searches = 0;           // calls that may have made more than they told
  std::uint64_t unfinished = 0;                 // calls whose log lacks the final figures
  std::array<std::uint64_t, 4> by_authority{};  // calls with usage, by authority_of

  std::uint64_t of(TokenClass what) const { return counts[index_of(what)]; }
  std::uint64_t written() const;
  bool operator==(const CostSums&) const = default;
  void add(const CallCost& cost, const CallUsage& usage);
  void add(const CostSums& other);
};

struct CostRow {
  std::vector<std::string> keys;  // as CostQuery::by
  CostSums sums;
};

/// Calls without a price, by model and reason.
struct UnpricedRow {
  std::string provider, model;
  Unpriced why = Unpriced::no;
  std::string what;  // the tier, speed, region or classes that have no price
  std::uint64_t calls = 0, tokens = 0, searches = 0;
};

struct CostReport {
  std::vector<CostRow> rows;  // times rising; otherwise the most expensive first
  CostSums total;
  std::vector<UnpricedRow> unpriced;   // most tokens first
  std::uint64_t undated_left_out = 0;  // calls without a time, when since or until are given
};

/// "(no date)", "(no tool)", "(unknown)": keys of calls that do not say. On as many threads as
/// told, where there are calls enough; the sums do not depend on their order, and so not on
/// `threads`.
CostReport cost_report(const CallTable& table, const PriceBook& book, const Calendar& calendar,
                       const CostQuery& query, unsigned threads = 1);

}  // namespace daybook::replay
