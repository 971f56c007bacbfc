#include "replay/cache_what_if.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "engine/nearest.h"
#include "replay/cache_diff.h"

namespace daybook::replay {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kWarmByDefault_s = 3600;
/// Messages that stay behind a summary.
constexpr std::size_t kTailMessages = 2;

bool read_number(std::string_view text, std::uint64_t& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size() && out > 0;
}

std::vector<CacheSegment> with_area(const CacheCall& call, CacheArea area,
                                    const std::vector<CacheSegment>& by) {
  std::vector<CacheSegment> made;
  bool placed = false;
  for (const CacheSegment& segment : call.segments) {
    if (!placed && segment.area >= area) {
      made.insert(made.end(), by.begin(), by.end());
      placed = true;
    }
    if (segment.area != area) made.push_back(segment);
  }
  if (!placed) made.insert(made.end(), by.begin(), by.end());
  return made;
}

}  // namespace

struct CacheReplay::Chain {
  bool any = false;
  std::vector<CacheSegment> tools;
  std::vector<CacheSegment> system;
  std::optional<CacheSegment> first_message;
  std::size_t dropped = 0;  // leading messages that a summary stands for
  std::vector<CacheSegment> dropped_messages;
  CacheSegment summary;
  std::uint64_t summaries = 0;
  std::shared_ptr<CacheCall> last;  // as sent under the policy
  std::int64_t last_start = 0;
};

Result<void> CachePolicy::add(CachePolicy& policy, std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string name(text.substr(0, equals));
  const std::string_view value =
      equals == std::string_view::npos ? std::string_view() : text.substr(equals + 1);
  const bool bare = equals == std::string_view::npos;
  if (name == "1h" && bare) {
    policy.hour_markers = true;
  } else if (name == "stable-tools" && bare) {
    policy.stable_tools = true;
  } else if (name == "stable-system" && bare) {
    policy.stable_system = true;
  } else if (name == "no-clock" && bare) {
    policy.stable_system = policy.stable_first_message = true;
  } else if (name == "keep-warm" && bare) {
    policy.keep_warm_s = kWarmByDefault_s;
  } else if ((name == "keep-warm" && read_number(value, policy.keep_warm_s)) ||
             (name == "compact" && read_number(value, policy.compact_above))) {
    return {};
  } else if (const auto colon = value.find(':'); name == "model" &&
                                                 colon != std::string_view::npos && colon > 0 &&
                                                 colon + 1 < value.size()) {
    policy.provider = value.substr(0, colon);
    policy.model = value.substr(colon + 1);
  } else {
    const std::vector<std::string> known = {
        "1h",        "stable-tools",      "stable-system",  "no-clock",
        "keep-warm", "keep-warm=SECONDS", "compact=TOKENS", "model=PROVIDER:MODEL"};
    return fail(ErrorCode::invalid_argument,
                fmt::format("there is no policy '{}'{}", text, engine::suggestion(name, known)));
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
  if (keep_warm_s != 0) out.push_back("How pings count against rate limits.");
  return out;
}

CacheReplay::CacheReplay(const CacheRuleBook& book, CachePolicy policy)
    : book_(book), policy_(std::move(policy)) {}
CacheReplay::~CacheReplay() = default;

std::uint64_t CacheReplay::tokens_of(const CacheCall& call) const {
  Prompt prompt = layout(call, book_.rules(call), {});
  scale_.estimate(prompt);
  return prompt.points.empty() ? 0 : prompt.points.back().tokens;
}

/// A summary in the place of what came before the last messages, as long as the history it stands
/// for is a part of the call.
void CacheReplay::compact(CacheCall& call, Chain& chain, WhatIfCall& made) {
  const CacheRules& rules = book_.rules(call);
  const auto replace_head = [&] {
    std::vector<CacheSegment> messages = area_of(call, CacheArea::messages);
    messages.erase(messages.begin(), messages.begin() + static_cast<std::ptrdiff_t>(chain.dropped));
    messages.insert(messages.begin(), chain.summary);
    const std::size_t before = call.segments.size();
    call.segments = with_area(call, CacheArea::messages, messages);
    const std::size_t cut = before - call.segments.size();
    const std::size_t head = call.segments.size() - messages.size();
    std::vector<CacheMark> marks;
    for (CacheMark mark : call.marks) {
      if (mark.segment >= head + cut) {
        mark.segment -= static_cast<std::uint32_t>(cut);
      } else if (mark.segment >= head) {
        continue;
      }
      marks.push_back(mark);
    }
    call.marks = std::move(marks);
  };
  const std::vector<CacheSegment> messages = area_of(call, CacheArea::messages);
  const bool continues =
      chain.dropped > 0 && messages.size() >= chain.dropped &&
      std::equal(chain.dropped_messages.begin(), chain.dropped_messages.end(), messages.begin());
  if (!continues) chain.dropped = 0;
  const CacheCall whole = call;
  if (chain.dropped > 0) replace_head();
  if (tokens_of(call) <= policy_.compact_above || messages.size() <= kTailMessages + 1) return;
  if (messages.size() - kTailMessages <= chain.dropped + 1) return;
  // The summary is made from what the last request held, at the price of reading it.
  made.summary_input = chain.last ? tokens_of(*chain.last) : 0;
  made.summary_output = kSummaryTokens;
  chain.dropped = messages.size() - kTailMessages;
  chain.dropped_messages.assign(messages.begin(),
                                messages.begin() + static_cast<std::ptrdiff_t>(chain.dropped));
  chain.summary = {};
  chain.summary.content =
      Digest::of(fmt::format("summary {} of {} {}", ++chain.summaries, call.session, call.lineage));
  chain.summary.bytes =
      static_cast<std::uint64_t>(static_cast<double>(kSummaryTokens) / scale_.tokens_per_byte());
  chain.summary.plain_user = true;
  call = whole;
  replace_head();
  if (call.marks.empty() && rules.lookup == CacheLookup::markers && !whole.marks.empty()) {
    call.marks = {{static_cast<std::uint32_t>(call.segments.size() - 1), whole.marks.back().ttl}};
  }
}

CacheCall CacheReplay::changed(const CacheCall& recorded, Chain& chain, WhatIfCall& made) {
  CacheCall call = recorded;
  if (!policy_.model.empty()) {
    call.scope.provider = policy_.provider;
    call.scope.model = policy_.model;
    call.provider_kind = policy_.provider;
    if (book_.rules(call).lookup == CacheLookup::markers && call.marks.empty() &&
        !call.segments.empty()) {
      const std::size_t head = call.segments.size() - area_of(call, CacheArea::messages).size();
      const auto last = static_cast<std::uint32_t>(call.segments.size() - 1);
      if (head > 0 && head <= last) {
        call.marks.push_back({static_cast<std::uint32_t>(head - 1), schema::CacheTtl::minutes_5});
      }
      call.marks.push_back({last, schema::CacheTtl::minutes_5});
    }
  }
  if (policy_.hour_markers) {
    for (CacheMark& mark : call.marks) mark.ttl = schema::CacheTtl::hour_1;
  }
  const auto messages = area_of(call, CacheArea::messages);
  if (!chain.any) {
    chain.tools = area_of(call, CacheArea::tools);
    chain.system = area_of(call, CacheArea::system);
    if (!messages.empty()) chain.first_message = messages.front();
    chain.any = true;
  }
  const auto replace = [&](CacheArea area, const std::vector<CacheSegment>& by) {
    const std::size_t before = call.segments.size();
    const std::size_t from = static_cast<std::size_t>(
        std::ranges::lower_bound(call.segments, area, {}, &CacheSegment::area) -
        call.segments.begin());
    const std::size_t old = area_of(call, area).size();
    call.segments = with_area(call, area, by);
    for (CacheMark& mark : call.marks) {
      if (mark.segment + 1 < from + old) continue;
      mark.segment = static_cast<std::uint32_t>(mark.segment + call.segments.size() - before);
    }
  };
  if (policy_.stable_tools) replace(CacheArea::tools, chain.tools);
  if (policy_.stable_system) replace(CacheArea::system, chain.system);
  if (policy_.stable_first_message && chain.first_message && !messages.empty() &&
      !call.after_compaction) {
    call.segments[call.segments.size() - messages.size()] = *chain.first_message;
  }
  if (policy_.compact_above != 0) compact(call, chain, made);
  return call;
}

/// Requests that read what the last call left, often enough that it does not die.
void CacheReplay::keep_warm(Chain& chain, const CacheCall& call, WhatIfCall& made) {
  if (!chain.last || chain.last->segments.empty()) return;
  const CacheRules& rules = book_.rules(*chain.last);
  const schema::CacheTtl ttl =
      chain.last->marks.empty() ? schema::CacheTtl::none : chain.last->marks.back().ttl;
  const auto life = static_cast<std::int64_t>(rules.life_s(ttl).least) * kSecond;
  const std::int64_t step = life * 9 / 10;
  const std::int64_t until = std::min<std::int64_t>(
      call.start, chain.last_start + static_cast<std::int64_t>(policy_.keep_warm_s) * kSecond);
  if (call.start - chain.last_start < life) return;
  Prompt prompt = layout(*chain.last, rules, {});
  scale_.estimate(prompt);
  for (std::int64_t at = chain.last_start + step; at < until; at += step) {
    const CacheRead read = store_.read(prompt, rules, at, {});
    store_.write(prompt, rules, at, at, read);
    ++made.pings;
    made.ping_tokens += prompt.points.back().tokens;
  }
}

SimulatedUsage CacheReplay::take(const CacheCall& recorded, WhatIfCall& made) {
  Chain& chain = chains_[recorded.session + '\n' + recorded.lineage];
  std::uint64_t tail = 0;
  {
    // Totals are those of the recorded prompts; the changed ones are estimated from them.
    const CacheRules& rules = book_.rules(recorded);
    CacheCall known = recorded;
    if (!policy_.model.empty()) known.scope.model = policy_.model;
    const Prompt prompt = layout(known, rules, {});
    if (!prompt.points.empty()) {
      const std::uint64_t cached = recorded.read() + recorded.usage.cache_write.value_or(0);
      if (rules.lookup == CacheLookup::markers && !prompt.marks.empty() && cached > 0) {
        const std::size_t marked = prompt.marks.back().segment;
        scale_.pin(prompt.points[marked], cached);
        // A few tokens follow the last marker, whatever it marks.
        if (marked + 1 == prompt.points.size()) tail = *recorded.input() - cached;
      }
      scale_.pin(prompt.points.back(), *recorded.input());
    }
  }
  const CacheCall call = changed(recorded, chain, made);
  const CacheRules& rules = book_.rules(call);
  if (policy_.keep_warm_s != 0) keep_warm(chain, call, made);
  Prompt prompt = layout(call, rules, {});
  scale_.estimate(prompt);
  SimulatedUsage usage;
  if (prompt.points.empty()) return usage;
  usage.input = prompt.points.back().tokens + tail;
  const CacheRead read = store_.read(prompt, rules, call.start, {});
  usage.read = std::min(read.tokens, usage.input);
  std::uint64_t covered = usage.read;
  for (const CacheMark& mark : written_at(prompt, rules)) {
    const std::uint64_t tokens = prompt.points[mark.segment].tokens;
    if (!rules.reports_writes || tokens < rules.min_tokens.least || tokens <= covered) continue;
    const bool hour = mark.ttl == schema::CacheTtl::hour_1;
    (hour ? usage.write_1h : usage.write_5m) += tokens - covered;
    covered = tokens;
  }
  const std::int64_t first_byte = call.first_byte != 0 ? call.first_byte : call.end;
  if (call.answered || call.first_byte != 0) {
    store_.write(prompt, rules, call.start, std::max(first_byte, call.start), read);
  }
  chain.last = std::make_shared<CacheCall>(call);
  chain.last_start = call.start;
  return usage;
}

std::optional<WhatIfCall> WhatIf::take(const CacheCall& call) {
  if (!call.input() || call.segments.empty()) return std::nullopt;
  WhatIfCall made;
  made.call = std::make_shared<const CacheCall>(call);
  WhatIfCall as_recorded;
  made.recorded = recorded_.take(call, as_recorded);
  made.changed = changed_.take(call, made);
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
