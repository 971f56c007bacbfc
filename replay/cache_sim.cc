#include "replay/cache_sim.h"

#include <algorithm>
#include <cmath>

namespace daybook::replay {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
/// No entry of any known provider lives longer.
constexpr std::int64_t kLongestLife_s = std::int64_t{7} * 86'400;
/// Before anything was measured.
constexpr double kTokensPerByte = 0.27;
/// Tokens between two known points can be this share of their distance off.
constexpr double kSpread = 0.35;

Digest chained(const Digest& before, const Digest& content, std::uint64_t size) {
  std::uint64_t words[] = {before.hi, before.lo, content.hi, content.lo, size};
  return Digest::of(std::as_bytes(std::span(words)));
}

Digest chained(const Digest& before, std::string_view text) {
  return chained(before, Digest::of(text), text.size());
}

Digest scope_seed(const CacheCall& call, const CacheRules& rules, bool maybe_scopes) {
  const std::string* parts[kScopeParts] = {&call.scope.provider,  &call.scope.model,
                                           &call.scope.key,       &call.scope.tier,
                                           &call.scope.workspace, &call.scope.region};
  Digest seed = Digest::of(rules.family);
  for (std::size_t i = 0; i < kScopeParts; ++i) {
    const bool counts =
        rules.scope[i] == RuleTruth::yes || (maybe_scopes && rules.scope[i] == RuleTruth::maybe);
    seed = chained(seed, counts ? std::string_view(*parts[i]) : std::string_view());
  }
  return seed;
}

/// Settings that make the prompt new from `area` on.
Digest with_params(Digest chain, const CacheCall& call, const CacheRules& rules, CacheArea area) {
  for (const CacheParam& param : call.params) {
    const auto found = rules.params.find(param.name);
    if (found == rules.params.end() || found->second != area) continue;
    chain = chained(chained(chain, param.name), param.value);
  }
  return chain;
}

std::vector<CacheMark> accepted_marks(const CacheCall& call, const CacheRules& rules) {
  std::vector<CacheMark> marks;
  bool short_seen = false;
  for (const CacheMark& mark : call.marks) {
    if (mark.segment >= call.segments.size()) continue;
    if (rules.max_markers != 0 && marks.size() == rules.max_markers) break;
    const bool is_long = mark.ttl == schema::CacheTtl::hour_1;
    if (is_long && short_seen && rules.longer_ttl_first) continue;
    short_seen = short_seen || !is_long;
    marks.push_back(mark);
  }
  return marks;
}

std::uint64_t floored(std::uint64_t tokens, std::uint64_t block) {
  return block <= 1 ? tokens : tokens - tokens % block;
}

}  // namespace

std::vector<CacheWorld> worlds_of(const CacheRules& rules) {
  const bool life = !rules.ttl_s.settled() || !rules.ttl_1h_s.settled();
  const bool scopes =
      std::ranges::any_of(rules.scope, [](RuleTruth truth) { return truth == RuleTruth::maybe; });
  std::vector<CacheWorld> worlds = {{}};
  const auto fork = [&](bool open, bool CacheWorld::*which) {
    if (!open) return;
    const std::size_t before = worlds.size();
    for (std::size_t i = 0; i < before; ++i) {
      worlds.push_back(worlds[i]);
      worlds.back().*which = true;
    }
  };
  fork(!rules.min_tokens.settled(), &CacheWorld::high_minimum);
  fork(scopes, &CacheWorld::maybe_scopes);
  fork(!rules.lookback.settled(), &CacheWorld::near_lookback);
  fork(life, &CacheWorld::short_life);
  return worlds;
}

std::size_t strip_before(const CacheCall& call, const CacheRules& rules) {
  if (!rules.strips_reasoning) return 0;
  for (std::size_t i = call.segments.size(); i > 0; --i) {
    if (call.segments[i - 1].plain_user) return i - 1;
  }
  return 0;
}

Prompt layout(const CacheCall& call, const CacheRules& rules, const LayoutOptions& options) {
  Prompt prompt;
  prompt.seed =
      with_params(scope_seed(call, rules, options.maybe_scopes), call, rules, CacheArea::tools);
  prompt.marks = accepted_marks(call, rules);
  prompt.points.reserve(call.segments.size());
  const std::size_t strip = options.strip_before.value_or(strip_before(call, rules));
  PromptPoint at;
  at.cache = prompt.seed;
  at.content = Digest::of(call.scope.model);
  CacheArea area = CacheArea::tools;
  for (std::size_t i = 0; i < call.segments.size(); ++i) {
    const CacheSegment& segment = call.segments[i];
    while (area < segment.area) {
      area = static_cast<CacheArea>(static_cast<int>(area) + 1);
      at.cache = with_params(at.cache, call, rules, area);
    }
    const bool stripped = i < strip && !segment.stripped.is_zero();
    const Digest& content = stripped ? segment.stripped : segment.content;
    const std::uint64_t bytes = stripped ? segment.stripped_bytes : segment.bytes;
    // The area counts: the same text as a tool and as a message are two things.
    at.cache = chained(at.cache, content, static_cast<std::uint64_t>(segment.area));
    at.content = chained(at.content, content, static_cast<std::uint64_t>(segment.area));
    at.bytes += bytes;
    at.blocks += segment.blocks;
    at.message = segment.area == CacheArea::messages;
    prompt.points.push_back(at);
  }
  return prompt;
}

// ------------------------------------------------------------------------------ tokens

void TokenScale::pin(const PromptPoint& point, std::uint64_t tokens) {
  if (!pins_.emplace(point.content, tokens).second) return;
  bytes_ += static_cast<double>(point.bytes);
  tokens_ += static_cast<double>(tokens);
}

double TokenScale::tokens_per_byte() const {
  return bytes_ > 0 && tokens_ > 0 ? tokens_ / bytes_ : kTokensPerByte;
}

void TokenScale::estimate(Prompt& prompt) const {
  auto& points = prompt.points;
  std::uint64_t low_bytes = 0;
  std::uint64_t low_tokens = 0;
  std::size_t from = 0;
  const auto fill = [&](std::size_t to, std::optional<std::pair<double, double>> high) {
    for (; from < to; ++from) {
      PromptPoint& point = points[from];
      const double above = static_cast<double>(point.bytes - low_bytes);
      double ratio = tokens_per_byte();
      double reach = above * ratio;
      if (high && high->first > 0) {
        ratio = high->second / high->first;
        reach = std::min(above, high->first - above) * ratio;
      }
      const double guess = static_cast<double>(low_tokens) + above * ratio;
      point.tokens = static_cast<std::uint64_t>(std::llround(guess));
      const auto spread = static_cast<std::uint64_t>(std::ceil(kSpread * reach));
      point.least = point.tokens - std::min(spread, point.tokens - low_tokens);
      point.most = point.tokens + spread;
      if (high) {
        const auto top = low_tokens + static_cast<std::uint64_t>(high->second);
        point.most = std::min(point.most, top);
      }
    }
  };
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto pinned = pins_.find(points[i].content);
    if (pinned == pins_.end() || pinned->second < low_tokens) continue;
    fill(i, std::pair(static_cast<double>(points[i].bytes - low_bytes),
                      static_cast<double>(pinned->second - low_tokens)));
    points[i].tokens = points[i].least = points[i].most = pinned->second;
    low_bytes = points[i].bytes;
    low_tokens = pinned->second;
    from = i + 1;
  }
  fill(points.size(), std::nullopt);
}

// ------------------------------------------------------------------------------ the store

std::vector<CacheMark> written_at(const Prompt& prompt, const CacheRules& rules) {
  if (rules.lookup == CacheLookup::markers) return prompt.marks;
  std::vector<CacheMark> marks;
  if (rules.lookup == CacheLookup::prefix) {
    for (std::size_t i = 0; i < prompt.points.size(); ++i) {
      marks.push_back({static_cast<std::uint32_t>(i), schema::CacheTtl::none});
    }
    return marks;
  }
  for (std::size_t i = prompt.points.size(); i > 0; --i) {
    if (!prompt.points[i - 1].message) continue;
    marks.push_back({static_cast<std::uint32_t>(i - 1), schema::CacheTtl::none});
    break;
  }
  return marks;
}

const CacheEntry* CacheStore::find(const Digest& prefix, schema::CacheTtl ttl,
                                   const CacheRules& rules) const {
  const auto found = entries_.find(prefix);
  if (found == entries_.end()) return nullptr;
  const CacheEntry* best = nullptr;
  for (const CacheEntry& entry : found->second) {
    if (rules.ttl_flip_misses && entry.ttl != ttl) continue;
    if (best == nullptr || entry.touched > best->touched) best = &entry;
  }
  return best;
}

bool CacheStore::alive(const Digest& prefix, schema::CacheTtl ttl, const CacheRules& rules,
                       std::int64_t start, const ReadOptions& options) const {
  const auto usable = [&](const CacheEntry& entry) {
    if (rules.ttl_flip_misses && entry.ttl != ttl) return false;
    const RuleRange life = rules.life_s(entry.ttl);
    const std::uint64_t seconds = options.world.short_life ? life.least : life.most;
    const bool lives =
        options.ignore_life || start - entry.touched < static_cast<std::int64_t>(seconds) * kSecond;
    const bool readable =
        options.ignore_readable || !rules.readable_at_first_byte || entry.readable_at <= start;
    return lives && readable;
  };
  if (options.assumed && options.assumed->first == prefix && usable(options.assumed->second)) {
    return true;
  }
  const auto found = entries_.find(prefix);
  return found != entries_.end() && std::ranges::any_of(found->second, usable);
}

CacheRead CacheStore::read_marks(const Prompt& prompt, const CacheRules& rules, std::int64_t start,
                                 const ReadOptions& options) const {
  const std::uint64_t back =
      options.world.near_lookback ? rules.lookback.least : rules.lookback.most;
  std::optional<std::size_t> best;
  for (auto mark = prompt.marks.rbegin(); mark != prompt.marks.rend(); ++mark) {
    const std::uint64_t from = prompt.points[mark->segment].blocks;
    for (std::size_t i = mark->segment + 1; i > 0; --i) {
      const PromptPoint& point = prompt.points[i - 1];
      if (back != 0 && from - point.blocks >= back) break;
      if (best && i - 1 <= *best) break;
      if (alive(point.cache, mark->ttl, rules, start, options)) {
        best = i - 1;
        break;
      }
    }
  }
  if (!best) return {};
  const PromptPoint& point = prompt.points[*best];
  return {point.tokens, point.least, point.most, best};
}

CacheRead CacheStore::read_endings(const Prompt& prompt, const CacheRules& rules,
                                   std::int64_t start, const ReadOptions& options) const {
  const std::uint64_t back =
      options.world.near_lookback ? rules.lookback.least : rules.lookback.most;
  std::uint64_t seen = 0;
  for (std::size_t i = prompt.points.size(); i > 0; --i) {
    const PromptPoint& point = prompt.points[i - 1];
    if (!point.message) break;
    if (back != 0 && seen++ == back) break;
    if (alive(point.cache, schema::CacheTtl::none, rules, start, options)) {
      return {point.tokens, point.least, point.most, i - 1};
    }
  }
  return {};
}

CacheRead CacheStore::read_prefix(const Prompt& prompt, const CacheRules& rules, std::int64_t start,
                                  const ReadOptions& options) const {
  std::size_t length = prompt.points.size();
  while (length > 0 &&
         !alive(prompt.points[length - 1].cache, schema::CacheTtl::none, rules, start, options)) {
    --length;
  }
  CacheRead read;
  const bool whole = length == prompt.points.size();
  const bool exact = options.ignore_granularity || (whole && rules.exact_resend);
  const std::uint64_t fine = exact ? 1 : rules.granularity.least;
  const std::uint64_t coarse = exact ? 1 : rules.granularity.most;
  if (length > 0) {
    const PromptPoint& point = prompt.points[length - 1];
    read = {floored(point.tokens, fine), floored(point.least, coarse), floored(point.most, fine),
            length - 1};
  }
  // The two prompts may go on alike for a while within the next segment.
  if (!whole && (length > 0 || alive(prompt.seed, schema::CacheTtl::none, rules, start, options))) {
    read.most = floored(prompt.points[length].most, fine);
  }
  return read;
}

CacheRead CacheStore::read(const Prompt& prompt, const CacheRules& rules, std::int64_t start,
                           const ReadOptions& options) const {
  CacheRead read;
  switch (rules.lookup) {
    case CacheLookup::markers:
      read = read_marks(prompt, rules, start, options);
      break;
    case CacheLookup::endings:
      read = read_endings(prompt, rules, start, options);
      break;
    case CacheLookup::prefix:
      read = read_prefix(prompt, rules, start, options);
      break;
  }
  const std::uint64_t minimum =
      options.world.high_minimum ? rules.min_tokens.most : rules.min_tokens.least;
  if (options.ignore_minimum) return read;
  if (read.least < minimum) read.least = 0;
  if (read.tokens < minimum) {
    read.tokens = 0;
    read.point.reset();
  }
  if (read.most < minimum) read.most = 0;
  return read;
}

void CacheStore::touch(const Digest& prefix, schema::CacheTtl ttl, const CacheRules& rules,
                       std::int64_t start, std::int64_t first_byte) {
  auto& entries = entries_[prefix];
  const auto found =
      std::ranges::find_if(entries, [&](const CacheEntry& entry) { return entry.ttl == ttl; });
  if (found == entries.end()) {
    entries.push_back({start, first_byte, ttl});
    return;
  }
  const auto life = static_cast<std::int64_t>(rules.life_s(ttl).most) * kSecond;
  const bool lives = start - found->touched < life;
  found->readable_at = lives ? std::min(found->readable_at, first_byte) : first_byte;
  found->touched = std::max(found->touched, start);
}

void CacheStore::write(const Prompt& prompt, const CacheRules& rules, std::int64_t start,
                       std::int64_t first_byte, const CacheRead& read) {
  if (read.point && rules.lookup != CacheLookup::prefix) {
    const Digest& prefix = prompt.points[*read.point].cache;
    const auto found = entries_.find(prefix);
    if (found != entries_.end()) {
      for (CacheEntry& entry : found->second) {
        const auto life = static_cast<std::int64_t>(rules.life_s(entry.ttl).most) * kSecond;
        if (start - entry.touched < life) entry.touched = std::max(entry.touched, start);
      }
    }
  }
  if (rules.lookup == CacheLookup::prefix) {
    touch(prompt.seed, schema::CacheTtl::none, rules, start, first_byte);
  }
  for (const CacheMark& mark : written_at(prompt, rules)) {
    touch(prompt.points[mark.segment].cache, mark.ttl, rules, start, first_byte);
  }
  if (entries_.size() > sweep_at_) forget_dead(start);
}

void CacheStore::forget_dead(std::int64_t now) {
  for (auto item = entries_.begin(); item != entries_.end();) {
    std::erase_if(item->second, [&](const CacheEntry& entry) {
      return now - entry.touched > kLongestLife_s * kSecond;
    });
    item = item->second.empty() ? entries_.erase(item) : std::next(item);
  }
  sweep_at_ = std::max<std::size_t>(1 << 16, entries_.size() * 2);
}

}  // namespace daybook::replay
