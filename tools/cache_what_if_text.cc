#include "tools/cache_what_if_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "replay/cache_report.h"
#include "tools/cache_text.h"
#include "tools/cost_print.h"
#include "tools/counted.h"
#include "tools/format.h"
#include "tools/json_writer.h"
#include "tools/table.h"

namespace daybook::tools {
namespace {

std::uint64_t distance(const replay::SimulatedUsage& a, const replay::SimulatedUsage& b) {
  return a.read > b.read ? a.read - b.read : b.read - a.read;
}

/// "$0.0206 less", "$1.2248 more", "nothing".
std::string difference_text(const replay::Money& more) {
  if (more.is_zero()) return "nothing";
  return more < replay::Money() ? (replay::Money() - more).shown() + " less"
                                : more.shown() + " more";
}

/// Pings read a prefix and answer a token; summaries read a history and answer a summary.
replay::SimulatedUsage reading(std::uint64_t tokens) {
  return {tokens, tokens, 0, 0};
}

}  // namespace

void WhatIfReport::note(const std::string& reason, std::uint64_t calls) {
  notes_.push_back(
      fmt::format("{}: {} as recorded.", reason, counted(calls, "call stays", "calls stay")));
}

std::vector<std::string> WhatIfReport::unknowns() const {
  std::vector<std::string> out = policy_.unknowns();
  out.insert(out.end(), notes_.begin(), notes_.end());
  if (rebuilt_calls_ > 0) {
    out.push_back(fmt::format(
        "Where {} had markers: transcripts do not show them, and they are taken to stand behind "
        "the tools and the system prompt, where the call before ended, and at the end.",
        counted(rebuilt_calls_, "rebuilt request", "rebuilt requests")));
  }
  return out;
}

void WhatIfReport::keep(Row row) {
  const auto before = [](const Row& a, const Row& b) {
    const auto weight = [](const Row& one) {
      return one.saved < replay::Money() ? replay::Money() - one.saved : one.saved;
    };
    if (weight(a) != weight(b)) return weight(a) > weight(b);
    return distance(a.recorded, a.changed) > distance(b.recorded, b.changed);
  };
  rows_.insert(std::ranges::upper_bound(rows_, row, before), std::move(row));
  if (rows_.size() > kept_) rows_.pop_back();
}

void WhatIfReport::add(const replay::WhatIfCall& call, const replay::MoneyRange& spent,
                       const replay::CacheRates& rates, const ChangedRates& changed) {
  ++calls_;
  spent_ += spent;
  rebuilt_calls_ += call.call->evidence == schema::Evidence::rebuilt ? 1 : 0;
  recorded_.input += call.recorded.input;
  recorded_.read += call.recorded.read;
  recorded_.write += call.recorded.write_5m + call.recorded.write_1h;
  changed_.input += call.changed.input;
  changed_.read += call.changed.read;
  changed_.write += call.changed.write_5m + call.changed.write_1h;
  pings_ += call.pings;
  summaries_ += call.summary_output > 0 ? 1 : 0;
  const bool contradicted = call.recorded.read != call.call->read();
  contradicted_ += contradicted ? 1 : 0;
  const std::uint64_t output = call.call->usage.output.value_or(0);
  const auto before = replay::cost_of(call.recorded, output, rates);
  auto after = replay::cost_of(call.changed, output, changed.call);
  const auto pings =
      replay::cost_of(reading(call.ping_tokens), call.pings * replay::kPingTokens, changed.pinged);
  const auto summary =
      replay::cost_of(reading(call.summary_input), call.summary_output, changed.call);
  const bool priced = before && after && pings && summary;
  Row row{call.call->session, call.call->version, call.recorded, call.changed, {}, priced};
  if (priced) {
    *after += *pings + *summary;
    recorded_.money += *before;
    changed_.money += *after;
    row.saved = *before - *after;
    if (contradicted) doubtful_ += *after - *before;
  } else {
    ++unpriced_calls_;
  }
  if (call.recorded == call.changed && call.pings == 0 && row.saved.is_zero()) return;
  ++changed_calls_;
  keep(std::move(row));
}

void WhatIfReport::add_late(const replay::LatePings& late, const replay::CacheRates& rates) {
  late_pings_ += late.pings;
  const auto cost = replay::cost_of(reading(late.tokens), late.pings * replay::kPingTokens, rates);
  late_priced_ = late_priced_ && cost;
  if (cost) late_money_ += *cost;
}

void WhatIfReport::print_sums(Context& context) const {
  auto& out = context.out;
  if (unpriced_calls_ < calls_)
    out << fmt::format("spent as recorded ({}): {}\n\n", counted(calls_, "call", "calls"),
                       spent_.shown());
  Table sums({"", "INPUT", "READ", "WRITTEN", "COST"});
  const auto row = [&](const char* name, const Sum& sum) {
    sums.add({name, grouped(sum.input), grouped(sum.read), grouped(sum.write),
              unpriced_calls_ == calls_ ? "unpriced" : sum.money.shown()});
  };
  row("simulated as recorded", recorded_);
  row("simulated under the policy", changed_);
  sums.print(out, context.columns, context.colour());
  if (unpriced_calls_ < calls_) {
    out << fmt::format("the policy would have cost {}\n",
                       difference_text(changed_.money - recorded_.money));
    if (!doubtful_.is_zero()) {
      out << fmt::format(
          "calls whose simulation as recorded is not what was reported: {}, which would have cost "
          "{}\n",
          grouped(contradicted_), difference_text(doubtful_));
    }
    if (unpriced_calls_ > 0) {
      out << fmt::format("{} without a price: the tokens are in the table, and no cost of them\n",
                         counted(unpriced_calls_, "call", "calls"));
    }
  }
  out << fmt::format("{} of {} changed\n", grouped(changed_calls_),
                     counted(calls_, "call", "calls"));
  if (pings_ > 0) out << counted(pings_, "ping", "pings") << '\n';
  if (late_pings_ > 0) {
    out << fmt::format("{} behind the last call of each session, in no sum above: {}\n",
                       counted(late_pings_, "more ping", "more pings"),
                       late_priced_ ? late_money_.shown() : "unpriced");
  }
  if (summaries_ > 0) out << counted(summaries_, "summary", "summaries") << '\n';
}

void WhatIfReport::print(Context& context) const {
  auto& out = context.out;
  print_sums(context);
  if (!rows_.empty()) {
    out << '\n';
    Table table({"CALL", "READ", "READ THEN", "SAVED"});
    for (const Row& each : rows_) {
      table.add({replay::call_name(each.session, each.version, ""), grouped(each.recorded.read),
                 grouped(each.changed.read), each.priced ? each.saved.shown() : "unpriced"});
    }
    table.print(out, context.columns, context.colour());
  }
  out << "\nnot known:\n";
  for (const std::string& each : unknowns()) out << "  " << each << '\n';
  if (skipped_ > 0) {
    out << fmt::format("  {}, of which the request or the usage was not recorded.\n",
                       counted(skipped_, "call", "calls"));
  }
  if (contradicted_ > 0) {
    out << fmt::format("  Why {} otherwise than simulated as recorded.\n",
                       counted(contradicted_, "call read", "calls read"));
  }
}

void WhatIfReport::print_json(std::ostream& out, std::uint64_t undated) const {
  JsonWriter total;
  total.begin_object().member("line", "total").member("calls", calls_);
  total.member("changed_calls", changed_calls_).member("skipped_calls", skipped_);
  total.member("undated_left_out", undated);
  total.member("unpriced_calls", unpriced_calls_);
  total.member("differs_from_reported", contradicted_);
  write_money(total, "spent_usd", spent_);
  total.member("differing_usd", doubtful_.exact());
  total.member("recorded_input", recorded_.input).member("recorded_read", recorded_.read);
  total.member("recorded_usd", recorded_.money.exact());
  total.member("changed_input", changed_.input).member("changed_read", changed_.read);
  total.member("changed_usd", changed_.money.exact());
  total.member("pings", pings_).member("summaries", summaries_);
  total.member("late_pings", late_pings_).key("late_pings_usd");
  late_priced_ ? total.value(late_money_.exact()) : total.null();
  total.key("not_known").begin_array();
  for (const std::string& each : unknowns()) total.value(each);
  out << total.end_array().end_object().text() << '\n';
  for (const Row& each : rows_) {
    JsonWriter line;
    line.begin_object().member("line", "call").member("session", each.session);
    line.member("version", each.version).member("recorded_read", each.recorded.read);
    line.member("changed_read", each.changed.read).member("priced", each.priced);
    line.member("saved_usd", each.saved.exact());
    out << line.end_object().text() << '\n';
  }
}

}  // namespace daybook::tools
