#include "tools/cache_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "tools/cost_print.h"
#include "tools/counted.h"
#include "tools/format.h"
#include "tools/json_writer.h"
#include "tools/table.h"

namespace daybook::tools {

using replay::CacheReport;
using replay::CacheSum;
using replay::MoneyRange;

void write_money(JsonWriter& out, std::string_view name, const MoneyRange& money) {
  out.key(name).begin_object().member("low", money.low.exact());
  out.member("high", money.high.exact()).end_object();
}

std::string_view evidence_name(schema::Evidence evidence) {
  switch (evidence) {
    case schema::Evidence::exact:
      return "exact bytes";
    case schema::Evidence::rebuilt:
      return "rebuilt transcript";
    case schema::Evidence::usage_only:
      break;
  }
  return "usage only";
}

namespace {

constexpr std::size_t kCausesShown = 20;

/// What of the lost tokens has no price is in no sum.
std::string priced_part(const replay::MoneyRange& waste, std::uint64_t tokens,
                        std::uint64_t unpriced) {
  if (unpriced == 0) return waste.shown();
  return unpriced == tokens ? "unpriced" : waste.shown() + " + unpriced";
}

/// Of tokens: nobody knows what those cost that were not reported.
std::string waste_text(const CacheSum& sum) {
  if (sum.tokens == 0) return "not known";
  return priced_part(sum.waste, sum.tokens, sum.unpriced_tokens);
}

template <class Key>
std::vector<std::pair<Key, CacheSum>> by_weight(const std::map<Key, CacheSum>& sums) {
  std::vector<std::pair<Key, CacheSum>> rows(sums.begin(), sums.end());
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) {
    if (a.second.waste != b.second.waste) return dearer(a.second.waste, b.second.waste);
    return a.second.tokens > b.second.tokens;
  });
  return rows;
}

std::string meaning_of(const replay::CauseSet& causes) {
  if (causes.relation == replay::CauseSet::Relation::sole) {
    return std::string(info_of(causes.leaves.front()).meaning);
  }
  return causes.relation == replay::CauseSet::Relation::joint
             ? "each of them alone would have lost it"
             : "the evidence does not say which";
}

std::string kind_of(const replay::CauseSet& causes) {
  const auto kind = info_of(causes.leaves.front()).kind;
  const bool same = std::ranges::all_of(
      causes.leaves, [&](replay::Leaf leaf) { return info_of(leaf).kind == kind; });
  return same ? std::string(name_of(kind)) : "mixed";
}

/// What no sum holds, and what does not fit.
void print_unknowns(Context& context, const CacheReport& report) {
  const auto say = [&](std::uint64_t calls, std::string_view what) {
    if (calls > 0) context.out << counted(calls, "call", "calls") << ' ' << what << '\n';
  };
  say(report.without_usage, "reported no usage");
  say(report.unmeasured_calls - report.without_usage,
      "did not report the whole input: no sum holds its tokens, and what was reported is in the "
      "money");
  say(report.without_write,
      "did not report what was written to the cache: its tokens and money are in no sum");
  say(report.without_output, "did not report the output: what it cost is not known and in no sum");
  say(report.without_searches,
      "may have made more web searches than was told: their fees are in no sum");
  say(report.contradictions,
      "read more than the cache rules allow: the rules are wrong there, or the cache is shared "
      "more widely");
}

void print_totals(Context& context, const CacheReport& report) {
  std::uint64_t fresh = 0;
  for (const auto& [code, sum] : report.fresh) fresh += sum.tokens;
  context.out << fmt::format("{}, {} input tokens = {} read + {} lost + {} new\n",
                             counted(report.calls, "call", "calls"), grouped(report.input),
                             grouped(report.read), grouped(report.lost), grouped(fresh));
  // Zero only where everything has a price and was reported.
  const bool known = report.unpriced_calls == 0 && report.without_usage < report.calls;
  if (known || !report.total.high.is_zero()) {
    context.out << fmt::format("{} spent = {} with every cached token read + {} lost\n",
                               report.total.shown(), report.ideal.shown(), report.waste.shown());
    if (!report.total.is_exact()) {
      context.out << "a cost of two figures: the calls do not tell the class of some tokens; it is "
                     "between them\n";
    }
    if (!report.search_fees.is_zero()) {
      context.out << fmt::format("{} of what was spent for {}\n", report.search_fees.shown(),
                                 counted(report.searches, "web search", "web searches"));
    }
    if (!report.recoverable().is_zero()) {
      context.out << fmt::format(
          "{} of what was lost would come back by the remedies, what they cost taken off\n",
          report.recoverable().shown());
    }
  }
  if (report.unpriced_tokens > 0) {
    context.out << fmt::format("{} tokens of {} have no price\n", grouped(report.unpriced_tokens),
                               counted(report.unpriced_calls, "call", "calls"));
  }
  if (report.unpriced_searches > 0) {
    context.out << counted(report.unpriced_searches, "web search", "web searches")
                << " without a price\n";
  }
  print_unknowns(context, report);
}

std::string recoverable_text(const CacheReport& report, const replay::CauseSet& causes,
                             const CacheSum& sum) {
  if (sum.tokens > 0 && sum.unpriced_tokens == sum.tokens) return "unpriced";
  const auto money = report.recoverable(causes);
  return money && sum.tokens > 0 ? money->shown() : "not known";
}

void print_calls(Context& context, const CacheReport& report) {
  Table table({"CALL", "EVIDENCE", "LOST", "OF INPUT", "WASTE", "CAUSE", "INTRODUCED BY"}, 6);
  for (const auto& call : report.costly()) {
    table.add({replay::call_name(call.session, call.version, call.id),
               std::string(evidence_name(call.evidence)), grouped(call.lost), grouped(call.input),
               call.priced ? call.waste.shown() : "unpriced", call.causes, call.introduced});
  }
  table.print(context.out, context.columns, context.colour());
}

void write_sum(JsonWriter& out, const CacheSum& sum) {
  out.member("calls", sum.calls).member("tokens", sum.tokens);
  if (sum.tokens > 0) {
    write_money(out, "waste_usd", sum.waste);
  } else {
    out.key("waste_usd").null();
  }
  out.member("unpriced_tokens", sum.unpriced_tokens);
}

}  // namespace

void print_cache_report(Context& context, const CacheReport& report) {
  print_totals(context, report);
  if (report.by_cause.empty()) return;
  context.out << '\n';
  Table causes({"CAUSE", "KIND", "CALLS", "TOKENS", "WASTE", "RECOVERABLE", "MEANING"}, 6);
  std::size_t shown = 0;
  for (const auto& [cause, sum] : by_weight(report.by_cause)) {
    if (++shown > kCausesShown) break;
    causes.add({cause.code(), kind_of(cause), grouped(sum.calls), grouped(sum.tokens),
                waste_text(sum), recoverable_text(report, cause, sum), meaning_of(cause)});
  }
  causes.print(context.out, context.columns, context.colour());
  context.out << '\n';
  Table introduced({"INTRODUCED BY", "CALLS", "TOKENS", "WASTE"}, 0);
  shown = 0;
  for (const auto& [what, sum] : by_weight(report.by_introduced)) {
    if (++shown > kCausesShown) break;
    introduced.add({what, grouped(sum.calls), grouped(sum.tokens), waste_text(sum)});
  }
  introduced.print(context.out, context.columns, context.colour());
  context.out << '\n';
  Table sessions({"SESSION", "EVIDENCE", "CALLS", "INPUT", "READ", "LOST", "WASTE"}, 0);
  for (const auto& [name, sum] : report.by_session) {
    std::string evidence;
    for (const auto each : sum.evidence) {
      evidence += (evidence.empty() ? "" : ", ") + std::string(evidence_name(each));
    }
    sessions.add({name, evidence, grouped(sum.calls), grouped(sum.input), grouped(sum.read),
                  grouped(sum.lost), priced_part(sum.waste, sum.lost, sum.unpriced_tokens)});
  }
  sessions.print(context.out, context.columns, context.colour());
  if (!report.costly().empty()) {
    context.out << '\n';
    print_calls(context, report);
  }
  for (const auto& [key, count] : report.vendor) {
    context.out << fmt::format("the provider said {} of {}: {}\n", one_line(key.first),
                               counted(count, "call", "calls"), name_of(key.second));
  }
}

void print_cache_json(std::ostream& out, const CacheReport& report, std::uint64_t undated) {
  {
    JsonWriter line;
    line.begin_object().member("line", "total").member("calls", report.calls);
    line.member("input", report.input).member("read", report.read).member("lost", report.lost);
    for (const std::string code : {"E0", "E1"}) {
      const auto fresh = report.fresh.find(code);
      line.member("new_" + code, fresh == report.fresh.end() ? 0 : fresh->second.tokens);
    }
    write_money(line, "total_usd", report.total);
    write_money(line, "ideal_usd", report.ideal);
    write_money(line, "waste_usd", report.waste);
    line.member("recoverable_usd", report.recoverable().exact());
    line.member("unpriced_calls", report.unpriced_calls);
    line.member("unpriced_tokens", report.unpriced_tokens);
    line.member("unmeasured_calls", report.unmeasured_calls);
    line.member("without_usage", report.without_usage);
    line.member("without_cache_write", report.without_write);
    line.member("without_output", report.without_output);
    line.member("without_web_searches", report.without_searches);
    line.member("web_searches", report.searches);
    line.member("web_searches_usd", report.search_fees.exact());
    line.member("unpriced_web_searches", report.unpriced_searches);
    line.member("undated_left_out", undated);
    line.member("contradictions", report.contradictions).member("conserved", report.conserved());
    out << line.end_object().text() << '\n';
  }
  for (const auto& [cause, sum] : by_weight(report.by_cause)) {
    JsonWriter line;
    line.begin_object().member("line", "cause").member("cause", cause.code());
    line.member("kind", kind_of(cause));
    write_sum(line, sum);
    if (const auto money = report.recoverable(cause); money && sum.tokens > 0) {
      line.member("recoverable_usd", money->exact());
    } else {
      line.key("recoverable_usd").raw("null");
    }
    out << line.end_object().text() << '\n';
  }
  for (const auto& [what, sum] : by_weight(report.by_introduced)) {
    JsonWriter line;
    line.begin_object().member("line", "introduced").member("by", what);
    write_sum(line, sum);
    out << line.end_object().text() << '\n';
  }
  for (const auto& [name, sum] : report.by_session) {
    JsonWriter line;
    line.begin_object().member("line", "session").member("session", name);
    line.member("calls", sum.calls).member("input", sum.input).member("read", sum.read);
    line.member("lost", sum.lost);
    write_money(line, "total_usd", sum.total);
    write_money(line, "waste_usd", sum.waste);
    line.member("unpriced_tokens", sum.unpriced_tokens);
    line.key("evidence").begin_array();
    for (const auto each : sum.evidence) line.value(evidence_name(each));
    out << line.end_array().end_object().text() << '\n';
  }
  for (const auto& call : report.costly()) {
    JsonWriter line;
    line.begin_object().member("line", "call").member("session", call.session);
    line.member("version", call.version).member("id", call.id).member("model", call.model);
    write_log_time(line, "started_at", call.start);
    line.member("evidence", evidence_name(call.evidence)).member("cause", call.causes);
    line.member("introduced_by", call.introduced).member("lost", call.lost);
    line.member("input", call.input).member("priced", call.priced);
    write_money(line, "waste_usd", call.waste);
    out << line.end_object().text() << '\n';
  }
  for (const auto& [key, count] : report.vendor) {
    JsonWriter line;
    line.begin_object().member("line", "vendor").member("label", key.first);
    line.member("agreement", name_of(key.second)).member("calls", count);
    out << line.end_object().text() << '\n';
  }
}

}  // namespace daybook::tools
