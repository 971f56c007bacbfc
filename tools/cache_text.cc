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
using replay::Money;

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

std::string money_text(Money money, bool priced) {
  return priced ? money.shown() : "unpriced";
}

template <class Key>
std::vector<std::pair<Key, CacheSum>> by_weight(const std::map<Key, CacheSum>& sums) {
  std::vector<std::pair<Key, CacheSum>> rows(sums.begin(), sums.end());
  std::ranges::stable_sort(rows, [](const auto& a, const auto& b) {
    if (a.second.waste != b.second.waste) return a.second.waste > b.second.waste;
    return a.second.tokens > b.second.tokens;
  });
  return rows;
}

std::string meaning_of(const replay::CauseSet& causes) {
  if (causes.relation == replay::CauseSet::Relation::sole) {
    return std::string(info_of(causes.leaves.front()).meaning);
  }
  return causes.relation == replay::CauseSet::Relation::joint ? "each of them suffices"
                                                              : "the evidence does not say which";
}

std::string kind_of(const replay::CauseSet& causes) {
  const auto kind = info_of(causes.leaves.front()).kind;
  const bool same = std::ranges::all_of(
      causes.leaves, [&](replay::Leaf leaf) { return info_of(leaf).kind == kind; });
  return same ? std::string(name_of(kind)) : "mixed";
}

void print_totals(Context& context, const CacheReport& report) {
  std::uint64_t fresh = 0;
  for (const auto& [code, sum] : report.fresh) fresh += sum.tokens;
  context.out << fmt::format("{}, {} input tokens = {} read + {} lost + {} new\n",
                             counted(report.calls, "call", "calls"), grouped(report.input),
                             grouped(report.read), grouped(report.lost), grouped(fresh));
  if (report.unpriced_calls < report.calls) {
    context.out << fmt::format("{} spent = {} with every cached token read + {} lost\n",
                               report.total.shown(), report.ideal.shown(), report.waste.shown());
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
  if (report.unmeasured_calls > 0) {
    context.out << counted(report.unmeasured_calls, "call", "calls") << " reported no usage\n";
  }
  if (report.without_output > 0) {
    context.out << fmt::format(
        "{} did not report the output: what it cost is not known and in no sum\n",
        counted(report.without_output, "call", "calls"));
  }
  if (report.contradictions > 0) {
    context.out << fmt::format(
        "{} read more than the cache rules allow: the rules are wrong there, or the cache is "
        "shared more widely\n",
        counted(report.contradictions, "call", "calls"));
  }
}

bool all_unpriced(const CacheSum& sum) {
  return sum.unpriced_tokens == sum.tokens;
}

std::string recoverable_text(const CacheReport& report, const replay::CauseSet& causes,
                             const CacheSum& sum) {
  if (all_unpriced(sum)) return "unpriced";
  const auto money = report.recoverable(causes);
  return money ? money->shown() : "not known";
}

void print_calls(Context& context, const CacheReport& report) {
  Table table({"CALL", "EVIDENCE", "LOST", "OF INPUT", "WASTE", "CAUSE", "INTRODUCED BY"}, 6);
  for (const auto& call : report.costly()) {
    table.add({replay::call_name(call.session, call.version, call.id),
               std::string(evidence_name(call.evidence)), grouped(call.lost), grouped(call.input),
               money_text(call.waste, call.priced), call.causes, call.introduced});
  }
  table.print(context.out, context.columns, context.colour());
}

void write_sum(JsonWriter& out, const CacheSum& sum) {
  out.member("calls", sum.calls).member("tokens", sum.tokens);
  out.member("waste_usd", sum.waste.exact());
  out.member("unpriced_tokens", sum.unpriced_tokens);
}

/// The texts on both sides of a difference of segments.
struct Sides {
  const replay::CacheCause* cause = nullptr;
  replay::TextDifference difference;
};

std::optional<Sides> sides_of(const replay::CallVerdict& verdict,
                              const replay::SegmentBytes& bytes) {
  const replay::CacheCause* first = nullptr;
  for (const auto& cause : verdict.causes) {
    if (cause.segment && (first == nullptr || *cause.segment < *first->segment)) first = &cause;
  }
  if (first == nullptr || verdict.baseline == nullptr || !bytes) return std::nullopt;
  const auto text = [&](const replay::CacheCall& call, std::uint32_t index) -> std::string {
    if (index >= call.segments.size()) return {};
    const auto& segment = call.segments[index];
    return bytes(BlobRef{segment.raw, segment.bytes}).value_or("");
  };
  const std::string before = text(*verdict.baseline, first->before.value_or(*first->segment));
  const std::string after = text(*verdict.call, *first->segment);
  return Sides{first, replay::first_difference(before, after)};
}

/// What would have helped this call; for expiry that depends on how long the gap was.
std::string remedy_of(replay::Leaf leaf, const replay::CallVerdict& verdict,
                      const replay::CacheRules& rules) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const auto& info = info_of(leaf);
  if (remedy_cost(leaf) != replay::RemedyCost::hour) return std::string(info.remedy);
  const std::uint64_t prefix = verdict.read + verdict.lost_tokens();
  if (prefix < rules.min_tokens.least) {
    return fmt::format("none: no lifetime helps {} tokens, {} is the least that is cached",
                       grouped(prefix), grouped(rules.min_tokens.least));
  }
  const auto gap =
      static_cast<std::uint64_t>(verdict.since == 0 ? 0 : verdict.call->start - verdict.since);
  const std::string pings =
      fmt::format("a ping at least every {}, each of which reads the prefix",
                  duration(rules.ttl_s.least * static_cast<std::uint64_t>(kSecond)));
  if (rules.ttl_1h_s.most == 0) return pings + "; this provider sells no longer lifetime";
  if (gap >= rules.ttl_1h_s.least * static_cast<std::uint64_t>(kSecond)) {
    return fmt::format(
        "the gap of {} outlasts one-hour markers too: {}; or compact before such a "
        "pause, so that less is written again",
        duration(gap), pings);
  }
  return std::string(info.remedy);
}

std::string name_of_call(const replay::CacheCall& call) {
  return replay::call_name(call.session, call.version, call.id);
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
                money_text(sum.waste, !all_unpriced(sum)), recoverable_text(report, cause, sum),
                meaning_of(cause)});
  }
  causes.print(context.out, context.columns, context.colour());
  context.out << '\n';
  Table introduced({"INTRODUCED BY", "CALLS", "TOKENS", "WASTE"}, 0);
  shown = 0;
  for (const auto& [what, sum] : by_weight(report.by_introduced)) {
    if (++shown > kCausesShown) break;
    introduced.add(
        {what, grouped(sum.calls), grouped(sum.tokens), money_text(sum.waste, !all_unpriced(sum))});
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
                  grouped(sum.lost), sum.waste.shown()});
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

void print_cache_json(std::ostream& out, const CacheReport& report) {
  {
    JsonWriter line;
    line.begin_object().member("line", "total").member("calls", report.calls);
    line.member("input", report.input).member("read", report.read).member("lost", report.lost);
    for (const auto& [code, sum] : report.fresh) line.member("new_" + code, sum.tokens);
    line.member("total_usd", report.total.exact());
    line.member("ideal_usd", report.ideal.exact());
    line.member("waste_usd", report.waste.exact());
    line.member("recoverable_usd", report.recoverable().exact());
    line.member("unpriced_calls", report.unpriced_calls);
    line.member("unpriced_tokens", report.unpriced_tokens);
    line.member("unmeasured_calls", report.unmeasured_calls);
    line.member("without_output", report.without_output);
    line.member("contradictions", report.contradictions).member("conserved", report.conserved());
    out << line.end_object().text() << '\n';
  }
  for (const auto& [cause, sum] : by_weight(report.by_cause)) {
    JsonWriter line;
    line.begin_object().member("line", "cause").member("cause", cause.code());
    line.member("kind", kind_of(cause));
    write_sum(line, sum);
    if (const auto money = report.recoverable(cause)) {
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
    line.member("lost", sum.lost).member("total_usd", sum.total.exact());
    line.member("waste_usd", sum.waste.exact());
    line.key("evidence").begin_array();
    for (const auto each : sum.evidence) line.value(evidence_name(each));
    out << line.end_array().end_object().text() << '\n';
  }
  for (const auto& call : report.costly()) {
    JsonWriter line;
    line.begin_object().member("line", "call").member("session", call.session);
    line.member("version", call.version).member("id", call.id).member("model", call.model);
    line.member("started_at", rfc3339(call.start));
    line.member("evidence", evidence_name(call.evidence)).member("cause", call.causes);
    line.member("introduced_by", call.introduced).member("lost", call.lost);
    line.member("input", call.input).member("priced", call.priced);
    line.member("waste_usd", call.waste.exact());
    out << line.end_object().text() << '\n';
  }
  for (const auto& [key, count] : report.vendor) {
    JsonWriter line;
    line.begin_object().member("line", "vendor").member("label", key.first);
    line.member("agreement", name_of(key.second)).member("calls", count);
    out << line.end_object().text() << '\n';
  }
}

void print_cache_call(Context& context, const replay::CallVerdict& verdict,
                      const replay::CallMoney& money, const replay::CacheRules& rules,
                      const replay::SegmentBytes& bytes) {
  auto& out = context.out;
  out << fmt::format("{}  {}  {}  {}\n", name_of_call(*verdict.call),
                     short_time(verdict.call->start), one_line(verdict.call->scope.model),
                     evidence_name(verdict.call->evidence));
  if (!verdict.measured) {
    out << "the call reported no usage\n";
    return;
  }
  out << fmt::format("input {} = {} read + {} lost + {} new ({})\n", grouped(verdict.input),
                     grouped(verdict.read), grouped(verdict.lost_tokens()), grouped(verdict.fresh),
                     code_of(verdict.fresh_leaf));
  if (verdict.baseline != nullptr) {
    out << fmt::format("compared with {}\n", name_of_call(*verdict.baseline));
  }
  for (std::size_t i = 0; i < verdict.lost.size(); ++i) {
    const auto& portion = verdict.lost[i];
    out << fmt::format("\n{}: {} tokens, {}\n", portion.causes.code(), grouped(portion.tokens),
                       money.priced
                           ? fmt::format("{} extra ({} to {})", money.waste[i].point.shown(),
                                         money.waste[i].low.shown(), money.waste[i].high.shown())
                           : "unpriced");
    for (const auto leaf : portion.causes.leaves) {
      if (portion.causes.relation == replay::CauseSet::Relation::one_of) break;
      const auto& info = info_of(leaf);
      const auto cause = std::ranges::find(verdict.causes, leaf, &replay::CacheCause::leaf);
      out << fmt::format("  {}: {}{}\n", info.code, info.meaning,
                         cause == verdict.causes.end() ? "" : "; " + one_line(cause->detail));
      if (const std::string remedy = remedy_of(leaf, verdict, rules); !remedy.empty()) {
        out << fmt::format("  remedy: {}\n", remedy);
      }
      if (leaf == replay::Leaf::provider) out << fmt::format("  hint: {}\n", verdict.hint);
    }
  }
  if (const auto sides = sides_of(verdict, bytes)) {
    out << fmt::format("\nfirst difference: {}, byte {}\n", one_line(sides->cause->detail),
                       sides->difference.byte);
    out << fmt::format("  before: {}\n", one_line(sides->difference.before));
    out << fmt::format("  now:    {}\n", one_line(sides->difference.after));
  }
  out << fmt::format("\nrules: {}; minimum {} tokens; lives {} s\n", rules.family,
                     rules.min_tokens.least, rules.ttl_s.least);
  if (const auto label = replay::vendor_verdict(verdict.call->verdict)) {
    out << fmt::format("the provider said: {} ({})\n", one_line(label->label),
                       name_of(compare(*label, verdict)));
  }
}

void print_cache_call_json(std::ostream& out, const replay::CallVerdict& verdict,
                           const replay::CallMoney& money, const replay::SegmentBytes& bytes) {
  JsonWriter line;
  line.begin_object().member("session", verdict.call->session);
  line.member("version", verdict.call->version).member("model", verdict.call->scope.model);
  line.member("evidence", evidence_name(verdict.call->evidence));
  line.member("measured", verdict.measured).member("input", verdict.input);
  line.member("read", verdict.read).member("new", verdict.fresh);
  line.member("new_code", code_of(verdict.fresh_leaf));
  if (verdict.baseline) line.member("compared_with", verdict.baseline->version);
  line.key("lost").begin_array();
  for (std::size_t i = 0; i < verdict.lost.size(); ++i) {
    const auto& portion = verdict.lost[i];
    line.begin_object().member("cause", portion.causes.code()).member("tokens", portion.tokens);
    if (money.priced) {
      line.member("waste_usd", money.waste[i].point.exact());
      line.member("waste_low_usd", money.waste[i].low.exact());
      line.member("waste_high_usd", money.waste[i].high.exact());
    }
    if (!portion.shares.empty()) {
      line.key("shares").begin_array();
      for (const auto share : portion.shares) line.value(share);
      line.end_array();
    }
    line.end_object();
  }
  line.end_array();
  line.key("differences").begin_array();
  for (const auto& cause : verdict.causes) {
    line.begin_object().member("leaf", code_of(cause.leaf)).member("detail", cause.detail);
    line.end_object();
  }
  line.end_array();
  if (const auto sides = sides_of(verdict, bytes)) {
    line.key("first_difference").begin_object().member("where", sides->cause->detail);
    line.member("byte", sides->difference.byte).member("before", sides->difference.before);
    line.member("now", sides->difference.after).end_object();
  }
  if (const auto label = replay::vendor_verdict(verdict.call->verdict)) {
    line.key("vendor").begin_object().member("label", label->label);
    line.member("agreement", name_of(compare(*label, verdict))).end_object();
  }
  out << line.end_object().text() << '\n';
}

}  // namespace daybook::tools
