#include "replay/replay_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "replay/facts.h"
#include "tools/counted.h"
#include "tools/json_writer.h"
#include "tools/open_prices.h"
#include "tools/read_journal.h"
#include "tools/replay_actions.h"
#include "tools/table.h"

namespace daybook::tools {
namespace {

using replay::ArmReport;
using replay::PairReport;
using replay::ReplayReport;

/// Of fewer, no statistic can tell well how much sessions differ.
constexpr std::size_t kFewSessions = 10;

std::string percent(double share) {
  return fmt::format("{:.0f}%", share * 100);
}

std::string percent(const std::optional<double>& share) {
  return share ? percent(*share) : "-";
}

std::string range(const replay::Interval& interval) {
  return fmt::format("{:.0f} to {:.0f}%", interval.low * 100, interval.high * 100);
}

std::string money(const ArmReport& arm, const std::optional<replay::Money>& amount) {
  if (arm.unpriced_tokens > 0) return "unpriced";
  if (arm.unknown_calls > 0) return "not known";
  if (!amount) return "-";
  return arm.at_most_calls > 0 ? "at most " + amount->shown() : amount->shown();
}

void print_arms(Context& context, const ReplayReport& report) {
  Table table({"ARM", "USABLE", "95% INTERVAL", "RECALL", "KEPT", "PRECISION", "BLOCK RECALL",
               "CALLS", "COST", "A USABLE ONE", "PAYBACK"});
  for (const ArmReport& arm : report.arms) {
    if (arm.units == 0) {
      // Of nothing there is no rate.
      table.add(
          {arm.arm.name, "-", "-", "-", "-", "-", "-", std::to_string(arm.calls), "-", "-", "-"});
      continue;
    }
    table.add({arm.arm.name, fmt::format("{}/{}", arm.usable, arm.units),
               range(arm.usable_rate.interval), percent(arm.needed_recall), percent(arm.survival),
               percent(arm.precision), percent(arm.block_recall), std::to_string(arm.calls),
               money(arm, arm.cost), money(arm, arm.cost_per_usable),
               arm.payback_turns ? fmt::format("{:.1f} turns", *arm.payback_turns) : "-"});
  }
  table.print(context.out, context.columns, context.colour());
}

/// What the intervals and p-values take for a say of its own, where that is not plain.
void print_unit(Context& context, const ReplayReport& report) {
  if (report.replicates > 1) {
    context.out << fmt::format(
        "intervals and tests count compactions, not summaries: the {} replicates of one are one "
        "say\n",
        report.replicates);
  }
  if (report.sessions < kFewSessions && report.sessions < report.cases) {
    context.out << fmt::format(
        "compactions of one session are alike: of only {} the intervals and p-values are too "
        "sure\n",
        counted(report.sessions, "session"));
  }
}

void print_budgets(Context& context, const ReplayReport& report) {
  for (const ArmReport& arm : report.arms) {
    if (!arm.lowered_to) continue;
    context.out << fmt::format(
        "{} asked for summaries of {}, not {}: its model's limits allow no more\n", arm.arm.name,
        counted(*arm.lowered_to, "token"), counted(arm.arm.summary_tokens, "token"));
  }
}

void print_codes(Context& context, const ReplayReport& report) {
  for (const ArmReport& arm : report.arms) {
    if (arm.codes.empty()) continue;
    std::string codes;
    for (const auto& [code, count] : arm.codes) {
      codes += fmt::format("{}{} {}", codes.empty() ? "" : ", ", code, count);
    }
    context.out << fmt::format("{} was refused for: {}\n", arm.arm.name, codes);
  }
}

std::string verdict(const PairReport& pair) {
  return pair.p_holm < 0.05 ? "differ" : "no difference shown";
}

std::string p_value(double p) {
  return p < 0.0001 ? "p < 0.0001" : fmt::format("p = {:.4f}", p);
}

void print_pair(Context& context, const ReplayReport& report, const PairReport& pair) {
  const std::string& a = report.arms[pair.a].arm.name;
  const std::string& b = report.arms[pair.b].arm.name;
  if (pair.pairs == 0) return;  // one of the two has nothing yet
  const auto& usable = pair.usable;
  // Of several replicates the sign test compares how often, of one it is McNemar's.
  const bool repeated = report.replicates > 1;
  context.out << fmt::format(
      "{} against {}: {}, usable {} in {}: {}, in {}: {}; exact {} {}, with all comparisons (Holm) "
      "{}: {}\n",
      b, a, counted(pair.pairs, "pair"), repeated ? "more often" : "only", b, usable.gained, a,
      usable.lost, repeated ? "sign test" : "McNemar", p_value(pair.p), p_value(pair.p_holm),
      verdict(pair));
  context.out << fmt::format(
      "  usable, {} less {}: {:+.0f} points ({} against {}), 95% interval {:+.0f} to {:+.0f}\n", b,
      a, (usable.now - usable.was) * 100, percent(usable.now), percent(usable.was),
      usable.difference.low * 100, usable.difference.high * 100);
  if (pair.recall_pairs > 0) {
    const std::string interval =
        pair.recall_interval
            ? fmt::format("95% interval {:+.1f} to {:+.1f}", pair.recall_interval->low * 100,
                          pair.recall_interval->high * 100)
            : "no interval: the sessions are too few or too alike";
    context.out << fmt::format("  recall, {} less {}: {:+.1f} points, {} ({} of {}); Wilcoxon {}\n",
                               b, a, pair.recall_difference * 100, interval,
                               counted(pair.recall_pairs, "pair"),
                               counted(report.sessions, "session"), p_value(pair.recall_p));
  }
  if (usable.gained + usable.lost == 0) return;
  context.out << (pair.pairs_needed
                      ? fmt::format("  to show a difference of this size with 80% power: {}\n",
                                    counted(*pair.pairs_needed, "pair"))
                      : std::string("  a difference of this size needs more than 5,000 pairs\n"));
}

void add_arm(JsonWriter& out, const ArmReport& arm) {
  out.begin_object().member("arm", arm.arm.name).member("model", arm.arm.model);
  out.member("units", std::uint64_t{arm.units}).member("usable", std::uint64_t{arm.usable});
  const auto number = [&](const char* name, double value) {
    out.key(name).raw(fmt::format("{:.6f}", value));
  };
  number("usable_low", arm.usable_rate.interval.low);
  number("usable_high", arm.usable_rate.interval.high);
  number("effective_compactions", arm.usable_rate.effective);
  if (arm.needed_recall) number("needed_recall", *arm.needed_recall);
  number("survival", arm.survival);
  if (arm.precision) number("precision", *arm.precision);
  if (arm.block_recall) number("block_needed_recall", *arm.block_recall);
  number("block_survival", arm.block_survival);
  out.member("calls", std::uint64_t{arm.calls}).member("cost_usd", arm.cost.exact());
  out.member("unpriced_tokens", arm.unpriced_tokens);
  out.member("unknown_calls", std::uint64_t{arm.unknown_calls});
  out.member("at_most_calls", std::uint64_t{arm.at_most_calls});
  if (arm.cost_per_usable && arm.unpriced_tokens == 0 && arm.unknown_calls == 0) {
    out.member("cost_per_usable_usd", arm.cost_per_usable->exact());
  }
  if (arm.payback_turns) number("payback_turns", *arm.payback_turns);
  if (!arm.arm.mechanical) {
    out.member("summary_max_tokens", std::uint64_t{arm.arm.summary_tokens});
    if (arm.lowered_to) out.member("lowered_to_tokens", *arm.lowered_to);
  }
  out.key("refused_for").begin_object();
  for (const auto& [code, count] : arm.codes) out.member(code, std::uint64_t{count});
  out.end_object().end_object();
}

void add_pair(JsonWriter& out, const ReplayReport& report, const PairReport& pair) {
  out.begin_object().member("a", report.arms[pair.a].arm.name);
  out.member("b", report.arms[pair.b].arm.name).member("pairs", std::uint64_t{pair.pairs});
  out.member("only_a", pair.usable.lost).member("only_b", pair.usable.gained);
  const auto number = [&](const char* name, double value) {
    out.key(name).raw(fmt::format("{:.6f}", value));
  };
  number("mcnemar_p", pair.p);
  number("holm_p", pair.p_holm);
  number("usable_a", pair.usable.was);
  number("usable_b", pair.usable.now);
  number("effective_pairs", pair.usable.effective);
  number("difference_low", pair.usable.difference.low);
  number("difference_high", pair.usable.difference.high);
  number("recall_difference", pair.recall_difference);
  if (pair.recall_interval) {
    number("recall_low", pair.recall_interval->low);
    number("recall_high", pair.recall_interval->high);
  }
  number("wilcoxon_p", pair.recall_p);
  if (pair.pairs_needed) out.member("pairs_needed", std::uint64_t{*pair.pairs_needed});
  out.end_object();
}

std::string json_of(const SessionId& session, const ReplayReport& report) {
  JsonWriter out;
  out.begin_object().member("replay", session.str());
  out.member("cases", std::uint64_t{report.cases});
  out.member("sessions", std::uint64_t{report.sessions});
  out.member("replicates", std::uint64_t{report.replicates});
  out.member("done", std::uint64_t{report.done}).member("all", std::uint64_t{report.all});
  out.member("gate_version", engine::kGateVersion);
  out.member("scorer_version", replay::kScorerVersion);
  out.key("arms").begin_array();
  for (const auto& arm : report.arms) add_arm(out, arm);
  out.end_array().key("pairs").begin_array();
  for (const auto& pair : report.pairs) add_pair(out, report, pair);
  return out.end_array().end_object().text();
}

}  // namespace

Result<int> replay_report(Context& context, const Arguments& arguments) {
  auto given = replay_operand(arguments, "the name of a replay");
  if (!given) return fail(std::move(given.error()));
  auto prices = open_prices(context, arguments);
  if (!prices) return fail(std::move(prices.error()));
  auto journal = open_for_reading(context, arguments);
  if (!journal) return fail(std::move(journal.error()));
  auto info = find_session(**journal, *given);
  if (!info) return fail(std::move(info.error()));
  auto report = replay::make_report(**journal, info->session, *prices);
  if (!report) return fail(std::move(report.error()));
  if (arguments.flag("--json")) {
    context.out << json_of(info->session, *report) << '\n';
    return kExitOk;
  }
  context.out << fmt::format("replay {}: {} of {}, {} of {} made\n", info->session.str(),
                             counted(report->cases, "compaction"),
                             counted(report->sessions, "session"), report->done,
                             counted(report->all, "summary", "summaries"));
  print_arms(context, *report);
  print_unit(context, *report);
  print_budgets(context, *report);
  print_codes(context, *report);
  for (const auto& pair : report->pairs) print_pair(context, *report, pair);
  if (report->done < report->all) {
    context.err << fmt::format("not finished; go on with: daybook replay run --name {}\n",
                               info->session.str());
  }
  return kExitOk;
}

}  // namespace daybook::tools
