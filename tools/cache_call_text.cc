// One call as `daybook cache --why` explains it.
#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "tools/cache_text.h"
#include "tools/cost_print.h"
#include "tools/format.h"
#include "tools/json_writer.h"

namespace daybook::tools {

using replay::Money;

void write_log_time(JsonWriter& out, std::string_view name, std::int64_t at) {
  out.key(name);
  at == 0 ? out.null() : out.value(rfc3339(at));
}

namespace {

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

/// Whether pings over the gap would have paid: "; 24 of them cost $0.0360, more than was lost".
std::string pings_text(const replay::CallVerdict& verdict, const replay::CallMoney& money,
                       Money lost) {
  const auto pings = replay::keep_warm(verdict, money);
  if (!pings) return {};
  const bool pays = pings->cost < lost;
  return fmt::format("; {} of them cost {}, {} than was lost", grouped(pings->pings),
                     pings->cost.shown(), pays ? "less" : "not less");
}

/// What would have helped this call; for expiry that depends on how long the gap was.
std::string remedy_of(replay::Leaf leaf, const replay::CallVerdict& verdict,
                      const replay::CallMoney& money, Money lost, const replay::CacheRules& rules) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  const auto& info = info_of(leaf);
  if (remedy_cost(leaf) != replay::RemedyCost::hour) return std::string(info.remedy);
  const std::uint64_t prefix = verdict.read + verdict.lost_tokens();
  if (prefix < rules.min_tokens.least) {
    return fmt::format("none: no lifetime helps {} tokens, {} is the least that is cached",
                       grouped(prefix), grouped(rules.min_tokens.least));
  }
  const replay::TimeGap gap = verdict.gap().value_or(replay::TimeGap{});
  const std::uint64_t life_s = verdict.life_s == 0 ? rules.ttl_s.least : verdict.life_s;
  const std::string pings = fmt::format(
      "a ping at least every {}, each of which reads the prefix{}",
      duration(life_s * static_cast<std::uint64_t>(kSecond)), pings_text(verdict, money, lost));
  if (rules.ttl_1h_s.most == 0) return pings + "; this provider sells no longer lifetime";
  const auto hour = static_cast<std::int64_t>(rules.ttl_1h_s.least) * kSecond;
  if (gap.most >= hour) {
    const auto most = static_cast<std::uint64_t>(gap.most);
    return fmt::format(
        "{} one-hour markers too: {}; or compact before such a pause, so that less is written "
        "again",
        gap.least >= hour
            ? fmt::format("the gap of {} outlasts", duration(static_cast<std::uint64_t>(gap.least)))
            : fmt::format("the gap, at most {}, may outlast", duration(most)),
        pings);
  }
  return std::string(info.remedy);
}

void write_remedies(JsonWriter& out, const replay::CallVerdict& verdict,
                    const replay::CallMoney& money, std::size_t index,
                    const replay::CacheRules& rules) {
  const replay::CachePortion& portion = verdict.lost[index];
  const bool decided = portion.causes.relation != replay::CauseSet::Relation::one_of;
  out.key("remedies").begin_array();
  for (const auto leaf : portion.causes.leaves) {
    const std::string remedy =
        decided ? remedy_of(leaf, verdict, money, money.waste[index].point.low, rules) : "";
    if (remedy.empty()) continue;
    out.begin_object().member("leaf", code_of(leaf)).member("remedy", remedy).end_object();
  }
  out.end_array();
  if (decided && portion.causes.contains(replay::Leaf::provider)) {
    out.member("hint", verdict.hint);
  }
}

/// Of what the call could have read; of a first call, of what it wrote.
std::uint64_t life_of(const replay::CallVerdict& verdict, const replay::CacheRules& rules) {
  if (verdict.life_s != 0) return verdict.life_s;
  const auto& marks = verdict.call->marks;
  const auto written = replay::written_ttl(*verdict.call);
  return rules.life_s(marks.empty() ? written : marks.back().ttl).least;
}

/// "; 290 s since the call before", with two ends where a start is known within bounds only.
std::string last_use_text(const replay::CallVerdict& verdict) {
  const auto gap = verdict.gap();
  return gap ? fmt::format("; {} s since the call before", replay::seconds_text(*gap)) : "";
}

void write_gap(JsonWriter& out, const replay::CallVerdict& verdict) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  out.key("since_last_s");
  const auto gap = verdict.gap();
  if (!gap) {
    out.null();
    return;
  }
  out.begin_object().member("least", std::max<std::int64_t>(gap->least, 0) / kSecond);
  out.member("most", std::max<std::int64_t>(gap->most, 0) / kSecond).end_object();
}

/// A copy is known as its original.
replay::OriginalCall known_as(const replay::CacheCall& call) {
  if (call.original) return *call.original;
  return {call.session, call.lineage, call.version};
}

std::string name_of_call(const replay::CacheCall& call) {
  const replay::OriginalCall known = known_as(call);
  return replay::call_name(known.session, known.version, call.id);
}

}  // namespace

void print_cache_call(Context& context, const replay::CallVerdict& verdict,
                      const replay::CallMoney& money, const replay::CacheRules& rules,
                      const replay::SegmentBytes& bytes) {
  auto& out = context.out;
  out << fmt::format("{}  {}  {}  {}\n", name_of_call(*verdict.call),
                     verdict.call->start == 0 ? "time not known" : short_time(verdict.call->start),
                     one_line(verdict.call->scope.model), evidence_name(verdict.call->evidence));
  if (!verdict.measured) {
    out << (verdict.call->usage.any() ? "the call did not report its whole input\n"
                                      : "the call reported no usage\n");
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
      const std::string remedy = remedy_of(leaf, verdict, money, money.waste[i].point.low, rules);
      if (!remedy.empty()) {
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
  if (!rules.known) {
    out << fmt::format("\nrules: not known for this provider{}\n", last_use_text(verdict));
  } else {
    out << fmt::format("\nrules: {}; minimum {} tokens; lives {} s{}\n", rules.family,
                       rules.min_tokens.least, life_of(verdict, rules), last_use_text(verdict));
  }
  if (const auto label = replay::vendor_verdict(verdict.call->verdict)) {
    out << fmt::format("the provider said: {} ({})\n", one_line(label->label),
                       name_of(compare(*label, verdict)));
  }
}

void print_cache_call_json(std::ostream& out, const replay::CallVerdict& verdict,
                           const replay::CallMoney& money, const replay::CacheRules& rules,
                           const replay::SegmentBytes& bytes) {
  JsonWriter line;
  line.begin_object().member("session", verdict.call->session);
  line.member("version", verdict.call->version).member("model", verdict.call->scope.model);
  write_log_time(line, "started_at", verdict.call->start);
  line.member("evidence", evidence_name(verdict.call->evidence));
  line.member("measured", verdict.measured).member("input", verdict.input);
  line.member("read", verdict.read).member("new", verdict.fresh);
  line.member("new_code", code_of(verdict.fresh_leaf));
  line.key("compared_with");
  verdict.baseline ? line.value(known_as(*verdict.baseline).version) : line.null();
  line.key("compared_with_session");
  verdict.baseline ? line.value(known_as(*verdict.baseline).session) : line.null();
  write_gap(line, verdict);
  line.key("lost").begin_array();
  for (std::size_t i = 0; i < verdict.lost.size(); ++i) {
    const auto& portion = verdict.lost[i];
    line.begin_object().member("cause", portion.causes.code()).member("tokens", portion.tokens);
    if (money.priced) {
      write_money(line, "waste_usd", money.waste[i].point);
      line.member("bound_low_usd", money.waste[i].low.exact());
      line.member("bound_high_usd", money.waste[i].high.exact());
    }
    if (!portion.shares.empty()) {
      line.key("shares").begin_array();
      for (const auto share : portion.shares) line.value(share);
      line.end_array();
    }
    write_remedies(line, verdict, money, i, rules);
    line.end_object();
  }
  line.end_array();
  line.key("rules").begin_object().member("family", rules.family);
  line.member("min_tokens", rules.min_tokens.least).member("lives_s", life_of(verdict, rules));
  line.end_object();
  line.key("differences").begin_array();
  for (const auto& cause : verdict.causes) {
    line.begin_object().member("leaf", code_of(cause.leaf)).member("detail", cause.detail);
    line.end_object();
  }
  line.end_array();
  line.key("first_difference");
  if (const auto sides = sides_of(verdict, bytes)) {
    line.begin_object().member("where", sides->cause->detail);
    line.member("byte", sides->difference.byte).member("before", sides->difference.before);
    line.member("now", sides->difference.after).end_object();
  } else {
    line.null();
  }
  line.key("vendor");
  if (const auto label = replay::vendor_verdict(verdict.call->verdict)) {
    line.begin_object().member("label", label->label);
    line.member("agreement", name_of(compare(*label, verdict))).end_object();
  } else {
    line.null();
  }
  out << line.end_object().text() << '\n';
}

}  // namespace daybook::tools
