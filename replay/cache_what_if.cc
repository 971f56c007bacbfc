#include "replay/cache_what_if.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <span>

#include "engine/nearest.h"
#include "replay/cache_diff.h"

namespace daybook::replay {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kWarmByDefault_s = 3600;
constexpr std::uint64_t kMostWarm_s = std::uint64_t{30} * 86'400;
constexpr std::uint64_t kMostCompactTokens = 1'000'000'000;
/// Messages that stay behind a summary.
constexpr std::size_t kTailMessages = 2;

bool read_number(std::string_view text, std::uint64_t most, std::uint64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size() && out > 0 && out <= most;
}

std::vector<CacheSegment> copy_of(std::span<const CacheSegment> segments) {
  return {segments.begin(), segments.end()};
}

/// Of one history there is one summary: a fork goes on from that of its original.
Digest summary_of(const SegmentList& history) {
  std::vector<std::uint64_t> words;
  for (const CacheSegment& segment : history) {
    words.push_back(segment.content.hi);
    words.push_back(segment.content.lo);
  }
  const Digest content = Digest::of(std::as_bytes(std::span(words)));
  return Digest::of(fmt::format("summary of {:x} {:x}", content.hi, content.lo));
}

schema::CacheTtl ttl_of(const CacheCall& call) {
  return call.marks.empty() ? schema::CacheTtl::none : call.marks.back().ttl;
}

/// A list of other segments in the place of a call's, kept up as the call's grows.
struct Rewritten {
  SegmentList from;
  SegmentList to;

  /// Whether `now` only adds to what was rewritten; then `to` has it as well.
  bool follow(const SegmentList& now) {
    if (to.empty() || !now.shares(from) || now.size() < from.size()) return false;
    for (std::size_t i = from.size(); i < now.size(); ++i) to.push_back(now[i]);
    from = now;
    return true;
  }
};

}  // namespace

struct CacheReplay::Chain {
  bool any = false;
  std::vector<CacheSegment> tools;
  std::vector<CacheSegment> system;
  std::optional<CacheSegment> first_message;
  Rewritten stable;
  std::size_t dropped = 0;    // leading messages that a summary stands for
  SegmentList dropped_up_to;  // what precedes the messages, and those
  CacheSegment summary;
  Rewritten compacted;
  std::shared_ptr<CacheCall> last;  // as sent under the policy
};

Result<void> CachePolicy::add(CachePolicy& policy, std::string_view text) {
  static const std::vector<std::string> kKnown = {
      "1h",        "stable-tools",      "stable-system",  "no-clock",
      "keep-warm", "keep-warm=SECONDS", "compact=TOKENS", "model=PROVIDER:MODEL"};
  const std::size_t equals = text.find('=');
  const std::string name(text.substr(0, equals));
  const bool bare = equals == std::string_view::npos;
  const std::string_view value = bare ? std::string_view() : text.substr(equals + 1);
  const auto wrong = [&](std::string_view what) {
    return fail(ErrorCode::invalid_argument, fmt::format("--what-if {}: {}", text, what));
  };
  const auto set = [&](std::uint64_t& into, std::uint64_t number) -> Result<void> {
    if (into != 0 && into != number) return wrong("another value of this policy is given as well");
    into = number;
    return {};
  };
  const auto twice = [&] { return wrong("another value of this policy is given as well"); };
  if (name == "model") {
    const auto colon = value.find(':');
    if (colon == std::string_view::npos || colon == 0 || colon + 1 == value.size()) {
      return wrong("name the model as model=PROVIDER:MODEL, such as model=openai:gpt-5.5");
    }
    const std::string provider(value.substr(0, colon)), model(value.substr(colon + 1));
    if (!policy.model.empty() && (policy.provider != provider || policy.model != model)) {
      return twice();
    }
    policy.provider = provider;
    policy.model = model;
    return {};
  }
  if (name == "compact") {
    std::uint64_t above = 0;
    if (read_number(value, kMostCompactTokens, above)) return set(policy.compact_above, above);
    return wrong("write a number of tokens from 1 on, as in compact=100000");
  }
  if (name == "keep-warm" && !bare) {
    std::uint64_t warm_s = 0;
    if (read_number(value, kMostWarm_s, warm_s)) return set(policy.keep_warm_s, warm_s);
    return wrong("write a number of seconds from 1 to 2592000, as in keep-warm=3600");
  }
  const bool known = std::ranges::find(kKnown, name) != kKnown.end();
  if (known && !bare) return wrong(fmt::format("{} takes no value", name));
  policy.hour_markers |= name == "1h";
  policy.stable_tools |= name == "stable-tools";
  policy.stable_system |= name == "stable-system" || name == "no-clock";
  policy.stable_first_message |= name == "no-clock";
  if (name == "keep-warm") return set(policy.keep_warm_s, kWarmByDefault_s);
  if (known) return {};
  const std::string near = engine::nearest(name, kKnown);
  const bool is_path = text.find('/') != std::string_view::npos || text.ends_with(".jsonl");
  return fail(ErrorCode::invalid_argument,
              fmt::format("there is no policy '{}'{}; the policies are {}{}", text,
                          near.empty() ? "" : fmt::format("; did you mean '{}'?", near),
                          fmt::join(kKnown, ", "),
                          is_path ? "; a PATH goes behind the policy: --what-if 1h PATH" : ""));
}

std::string CachePolicy::refusal(const CacheCall& call, const CacheRules& rules) const {
  const bool is_rebuilt = call.evidence == schema::Evidence::rebuilt;
  if (stable_tools && is_rebuilt) {
    return "stable-tools needs the tools of each request, which transcripts do not show";
  }
  if (stable_system && !stable_first_message && is_rebuilt &&
      area_of(call, CacheArea::system).empty()) {
    return "stable-system needs the system prompts, which these transcripts do not show";
  }
  if (hour_markers && rules.ttl_1h_s.most == 0) {
    return "1h needs a provider that sells cache writes which live an hour";
  }
  return {};
}

std::vector<std::string> CachePolicy::unknowns() const {
  std::vector<std::string> out = {
      "The answers are taken as recorded: what the model would have said is not known.",
      "Evictions and routing of the provider are not simulated."};
  if (stable_tools) out.push_back("Whether the session could have done with its first tools.");
  if (stable_system || stable_first_message) {
    out.push_back("Whether the model would have asked for the time with a tool, at a cost.");
  }
  if (compact_above != 0) {
    out.push_back(
        fmt::format("What a summary would have left out, and what fetching it again "
                    "would have cost; a summary is taken to have {} tokens.",
                    kSummaryTokens));
  }
  if (!model.empty()) {
    out.push_back(
        "How many tokens the other model's tokenizer makes of the same text, and how "
        "long its answers are.");
  }
  if (keep_warm_s != 0) {
    out.push_back("How pings count against rate limits.");
    out.push_back(
        "Whether a session's last call is the last: the pings that would follow it are in no sum.");
  }
  return out;
}

CacheReplay::CacheReplay(const CacheRuleBook& book, CachePolicy policy)
    : book_(book), policy_(std::move(policy)) {}
CacheReplay::~CacheReplay() = default;

std::uint64_t CacheReplay::tokens_of(const CacheCall& call) const {
  const Prompt prompt = layout(call, book_.rules(call), {});
  return prompt.points.empty() ? 0 : scale_.at(prompt, prompt.points.size() - 1).tokens;
}

/// A summary in the place of what came before the last messages, as long as the history it stands
/// for is a part of the call.
void CacheReplay::compact(CacheCall& call, Chain& chain, WhatIfCall& made) {
  const SegmentList whole = call.segments;
  const std::vector<CacheMark> marks = call.marks;
  const std::size_t messages = area_of(call, CacheArea::messages).size();
  const std::size_t head = whole.size() - messages;
  const auto replace_head = [&] {
    if (!chain.compacted.follow(whole)) {
      SegmentList list = whole;
      list.shorten(head);
      list.push_back(chain.summary);
      for (std::size_t i = head + chain.dropped; i < whole.size(); ++i) list.push_back(whole[i]);
      chain.compacted = {whole, std::move(list)};
    }
    call.segments = chain.compacted.to;
    call.marks.clear();
    const std::size_t cut = chain.dropped - 1;
    for (CacheMark mark : marks) {
      if (mark.segment >= head && mark.segment < head + cut) continue;
      if (mark.segment >= head) mark.segment -= static_cast<std::uint32_t>(cut);
      call.marks.push_back(mark);
    }
  };
  const bool continues =
      chain.dropped > 0 && common_prefix(whole, chain.dropped_up_to) == chain.dropped_up_to.size();
  if (!continues) {
    chain.dropped = 0;
    chain.compacted = {};
  }
  if (chain.dropped > 0) replace_head();
  if (tokens_of(call) <= policy_.compact_above || messages <= kTailMessages + 1) return;
  if (messages - kTailMessages <= chain.dropped + 1) return;
  // The summary is made from what the last request held, at the price of reading it.
  made.summary_input = chain.last ? tokens_of(*chain.last) : 0;
  made.summary_output = kSummaryTokens;
  chain.dropped = messages - kTailMessages;
  chain.dropped_up_to = whole;
  chain.dropped_up_to.shorten(head + chain.dropped);
  chain.summary = {};
  chain.summary.content = summary_of(chain.dropped_up_to);
  chain.summary.bytes =
      static_cast<std::uint64_t>(static_cast<double>(kSummaryTokens) / scale_.tokens_per_byte());
  chain.summary.plain_user = true;
  chain.compacted = {};
  replace_head();
  if (call.marks.empty() && book_.rules(call).lookup == CacheLookup::markers && !marks.empty()) {
    call.marks = {{static_cast<std::uint32_t>(call.segments.size() - 1), marks.back().ttl}};
  }
}

/// As a client of the other model would send it.
void CacheReplay::other_model(CacheCall& call) const {
  const bool had_markers = book_.rules(call).lookup == CacheLookup::markers;
  call.scope.provider = policy_.provider;
  call.scope.model = policy_.model;
  call.provider_kind = policy_.provider;
  const bool wants = book_.rules(call).lookup == CacheLookup::markers && !had_markers;
  if (!wants || !call.marks.empty() || call.segments.empty()) return;
  const std::size_t head = call.segments.size() - area_of(call, CacheArea::messages).size();
  const auto last = static_cast<std::uint32_t>(call.segments.size() - 1);
  if (head > 0 && head <= last) {
    call.marks.push_back({static_cast<std::uint32_t>(head - 1), schema::CacheTtl::minutes_5});
  }
  call.marks.push_back({last, schema::CacheTtl::minutes_5});
}

/// The first request's tools, system prompt and first message, as far as the policy keeps them.
void CacheReplay::keep_stable(CacheCall& call, Chain& chain) const {
  const std::size_t tools = area_of(call, CacheArea::tools).size();
  const std::size_t messages = area_of(call, CacheArea::messages).size();
  const std::size_t head = call.segments.size() - messages;
  const auto tools_then = policy_.stable_tools ? chain.tools.size() : tools;
  const auto head_then = tools_then + (policy_.stable_system ? chain.system.size() : head - tools);
  if (!chain.stable.follow(call.segments)) {
    SegmentList list;
    const auto add = [&](std::span<const CacheSegment> some) {
      for (const CacheSegment& each : some) list.push_back(each);
    };
    add(policy_.stable_tools ? std::span<const CacheSegment>(chain.tools)
                             : area_of(call, CacheArea::tools));
    add(policy_.stable_system ? std::span<const CacheSegment>(chain.system)
                              : area_of(call, CacheArea::system));
    for (std::size_t i = 0; i < messages; ++i) {
      const bool first = i == 0 && policy_.stable_first_message && chain.first_message;
      list.push_back(first ? *chain.first_message : call.segments[head + i]);
    }
    // Most calls are as the policy wants them, and keep what they share with others.
    const bool same =
        list.size() == call.segments.size() && common_prefix(list, call.segments) == list.size();
    chain.stable = {call.segments, same ? call.segments : std::move(list)};
  }
  call.segments = chain.stable.to;
  for (CacheMark& mark : call.marks) {
    if (mark.segment + 1 >= head) {
      mark.segment = static_cast<std::uint32_t>(mark.segment + head_then - head);
    } else if (mark.segment + 1 >= tools) {
      mark.segment = static_cast<std::uint32_t>(mark.segment + tools_then - tools);
    }
  }
}

CacheCall CacheReplay::changed(const CacheCall& recorded, Chain& chain, WhatIfCall& made) {
  CacheCall call = recorded;
  if (!policy_.model.empty()) other_model(call);
  if (policy_.hour_markers) {
    for (CacheMark& mark : call.marks) mark.ttl = schema::CacheTtl::hour_1;
  }
  const auto messages = area_of(call, CacheArea::messages);
  // Behind a compaction the history begins with its summary.
  const bool begins = !chain.any || call.after_compaction;
  if (begins && !messages.empty()) chain.first_message = messages.front();
  if (!chain.any) {
    chain.tools = copy_of(area_of(call, CacheArea::tools));
    chain.system = copy_of(area_of(call, CacheArea::system));
    chain.any = true;
  }
  if (policy_.stable_tools || policy_.stable_system || policy_.stable_first_message) {
    keep_stable(call, chain);
  }
  if (policy_.compact_above != 0) compact(call, chain, made);
  return call;
}

/// Requests that read what the last call left, often enough that it does not die.
void CacheReplay::keep_warm(Chain& chain, const CacheCall& call, const CacheWorld& world,
                            WhatIfCall& made) {
  if (!chain.last || chain.last->segments.empty()) return;
  const CacheRules& rules = book_.rules(*chain.last);
  const auto life = static_cast<std::int64_t>(rules.life_s(ttl_of(*chain.last)).least) * kSecond;
  const std::int64_t step = life * 9 / 10;
  const auto gap = gap_between(chain.last->sent(), call.sent());
  if (!gap) return;
  const std::int64_t from =
      world.short_life ? chain.last->sent().earliest : chain.last->sent().latest;
  const std::int64_t passed = world.short_life ? gap->most : gap->least;
  if (passed < life) return;
  const std::int64_t until =
      from +
      std::min<std::int64_t>(passed, static_cast<std::int64_t>(policy_.keep_warm_s) * kSecond);
  const Prompt prompt = layout(*chain.last, rules, {});
  // Of several that go on from one call, the first is kept warm for.
  std::int64_t& pinged = pinged_[chain.last->id];
  for (std::int64_t at = from + step; at < until; at += step) {
    if (at <= pinged) continue;
    pinged = at;
    const CacheRead read = store_.read(prompt, rules, {at, at}, {}, scale_);
    store_.write(prompt, rules, {at, at}, at, read);
    ++made.pings;
    made.pinged = chain.last;
    made.ping_tokens += scale_.at(prompt, prompt.points.size() - 1).tokens;
  }
}

std::vector<LatePings> CacheReplay::late_pings() const {
  std::map<std::string, std::shared_ptr<CacheCall>> last;  // by session
  if (policy_.keep_warm_s == 0) return {};
  for (const auto& [key, chain] : chains_) {
    if (!chain.last || chain.last->original || !chain.last->sent().known()) continue;
    if (continued_.contains(chain.last->id)) continue;
    auto& latest = last[chain.last->session];
    if (latest == nullptr || latest->sent().latest < chain.last->sent().latest) latest = chain.last;
  }
  std::vector<LatePings> made;
  for (const auto& [session, call] : last) {
    const std::uint64_t step_s = book_.rules(*call).life_s(ttl_of(*call)).least * 9 / 10;
    if (step_s == 0) continue;
    const std::uint64_t pings = (policy_.keep_warm_s - 1) / step_s;
    if (pings > 0) made.push_back({call, pings, pings * tokens_of(*call)});
  }
  return made;
}

/// Totals are those of the recorded prompts; the changed ones are estimated from them. Returns the
/// tokens behind the last marker: a few follow it, whatever it marks.
std::uint64_t CacheReplay::learn(const CacheCall& recorded) {
  const CacheRules& rules = book_.rules(recorded);
  CacheCall known = recorded;
  if (!policy_.model.empty()) known.scope.model = policy_.model;
  const Prompt prompt = layout(known, rules, {});
  if (prompt.points.empty()) return 0;
  std::uint64_t tail = 0;
  const std::size_t last = prompt.points.size() - 1;
  const std::uint64_t cached = recorded.read() + recorded.usage.cache_write.value_or(0);
  if (rules.lookup == CacheLookup::markers && !prompt.marks.empty() && cached > 0) {
    const std::size_t marked = prompt.marks.back().segment;
    scale_.pin(prompt, marked, cached);
    if (marked == last) tail = *recorded.input() - std::min(*recorded.input(), cached);
  }
  scale_.pin(prompt, last, *recorded.input());
  return tail;
}

CacheWorld CacheReplay::world_of(const CacheCall& call) const {
  const TimeSpan sent = call.sent();
  if (sent.earliest == sent.latest && call.start_exact) return {};
  const CacheRules& rules = book_.rules(call);
  const Prompt prompt = layout(call, rules, {});
  if (prompt.points.empty()) return {};
  ReadOptions late;
  late.world.short_life = true;
  const std::uint64_t alive = store_.read(prompt, rules, sent, {}, scale_).tokens;
  const std::uint64_t dead = store_.read(prompt, rules, sent, late, scale_).tokens;
  const auto off = [&](std::uint64_t read) {
    return read > call.read() ? read - call.read() : call.read() - read;
  };
  return off(dead) < off(alive) ? late.world : CacheWorld{};
}

SimulatedUsage CacheReplay::take(const CacheCall& recorded, WhatIfCall& made,
                                 const CacheWorld& world) {
  Chain& chain = chains_[chain_key(recorded.session, recorded.lineage)];
  if (chain.last && chain.last->original) continued_.insert(chain.last->id);
  const std::uint64_t tail = learn(recorded);
  const CacheCall call = changed(recorded, chain, made);
  const CacheRules& rules = book_.rules(call);
  if (policy_.keep_warm_s != 0) keep_warm(chain, call, world, made);
  const Prompt prompt = layout(call, rules, {});
  SimulatedUsage usage;
  if (prompt.points.empty()) return usage;
  usage.input = scale_.at(prompt, prompt.points.size() - 1).tokens + tail;
  ReadOptions options;
  options.world = world;
  const CacheRead read = store_.read(prompt, rules, call.sent(), options, scale_);
  usage.read = std::min(read.tokens, usage.input);
  std::uint64_t covered = usage.read;
  if (rules.reports_writes) {
    for (const CacheMark& mark : written_at(prompt, rules)) {
      const std::uint64_t tokens = std::min(scale_.at(prompt, mark.segment).tokens, usage.input);
      if (tokens < rules.min_tokens.least || tokens <= covered) continue;
      const bool hour = mark.ttl == schema::CacheTtl::hour_1;
      (hour ? usage.write_1h : usage.write_5m) += tokens - covered;
      covered = tokens;
    }
  }
  const std::int64_t first_byte = call.first_byte != 0 ? call.first_byte : call.end;
  if (call.answered || call.first_byte != 0) {
    store_.write(prompt, rules, call.sent(), std::max(first_byte, call.start), read);
  }
  chain.last = std::make_shared<CacheCall>(call);
  return usage;
}

void CacheReplay::adopt(const CacheCall& copy) {
  Chain& chain = chains_[chain_key(copy.session, copy.lineage)];
  WhatIfCall charged_to_original;
  learn(copy);
  chain.last = std::make_shared<CacheCall>(changed(copy, chain, charged_to_original));
}

void WhatIf::adopt(CacheCall copy) {
  if (!copy.input() || copy.segments.empty()) return;
  bounds_.narrow(copy);
  completer_.complete(copy);
  recorded_.adopt(copy);
  changed_.adopt(copy);
}

std::optional<WhatIfCall> WhatIf::take(CacheCall call) {
  if (!call.input() || call.segments.empty()) return std::nullopt;
  bounds_.narrow(call);
  completer_.complete(call);
  WhatIfCall made;
  made.call = std::make_shared<const CacheCall>(std::move(call));
  WhatIfCall as_recorded;
  const CacheWorld world = recorded_.world_of(*made.call);
  made.recorded = recorded_.take(*made.call, as_recorded, world);
  made.changed = changed_.take(*made.call, made, world);
  return made;
}

std::optional<Money> cost_of(const SimulatedUsage& usage, std::uint64_t output,
                             const CacheRates& rates) {
  Money sum;
  const std::pair<std::uint64_t, const std::optional<Money>*> parts[] = {
      {usage.uncached(), &rates.uncached},
      {usage.read, &rates.read},
      {usage.write_5m, &rates.write_5m},
      {usage.write_1h, &rates.write_1h},
      {output, &rates.output}};
  for (const auto& [tokens, rate] : parts) {
    if (tokens == 0) continue;
    if (!rate->has_value()) return std::nullopt;
    sum += **rate * tokens;
  }
  return sum;
}

}  // namespace daybook::replay
