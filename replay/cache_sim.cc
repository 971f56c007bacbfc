#include "replay/cache_sim.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_set>

namespace daybook::replay {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
/// No entry of any known provider lives longer.
constexpr std::int64_t kLongestLife_s = std::int64_t{7} * 86'400;
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

/// What tells apart the ways in which one list of segments can be laid out, but for stripping.
Digest layout_key(const Digest& seed, const CacheCall& call, const CacheRules& rules) {
  Digest key = chained(seed, call.scope.model);
  for (const CacheArea area : {CacheArea::system, CacheArea::messages}) {
    key = with_params(chained(key, rules.family), call, rules, area);
  }
  return key;
}

/// When the later of two requests was sent.
TimeSpan later_of(const TimeSpan& a, const TimeSpan& b) {
  return {std::max(a.earliest, b.earliest), std::max(a.latest, b.latest)};
}

std::uint64_t floored(std::uint64_t tokens, std::uint64_t block) {
  return block <= 1 ? tokens : tokens - tokens % block;
}

}  // namespace

struct PromptChains {
  struct Chain {
    Digest key;
    std::size_t strip = 0;
    GrowingList<PromptPoint> points;  // of the longest list that was laid out
  };
  std::vector<Chain> chains;
  std::size_t next = 0;  // that gives way

  Chain& of(const Digest& key, std::size_t strip) {
    constexpr std::size_t kMost = 8;
    const auto found = std::ranges::find(chains, key, &Chain::key);
    if (found != chains.end()) return *found;
    if (chains.size() < kMost) return chains.emplace_back(Chain{key, strip, {}});
    Chain& chain = chains[next++ % kMost];
    chain = {key, strip, {}};
    return chain;
  }
};

std::vector<CacheWorld> worlds_of(const CacheRules& rules, bool open_life) {
  const bool life = open_life || !rules.ttl_s.settled() || !rules.ttl_1h_s.settled();
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
  const std::size_t end = rules.strips_reasoning ? call.segments.plain_user_end() : 0;
  return end == 0 ? 0 : end - 1;
}

namespace {

/// Keeps the points up to the first that another `strip` changes.
void strip_otherwise(PromptChains::Chain& chain, const SegmentList& segments, std::size_t strip) {
  const std::size_t from = std::min(chain.strip, strip);
  const std::size_t to = std::max(chain.strip, strip);
  chain.strip = strip;
  for (std::size_t i = from; i < std::min(to, chain.points.size()); ++i) {
    if (!segments[i].stripped.is_zero()) return chain.points.shorten(i);
  }
}

/// Lays out what the chain does not have yet.
void extend(PromptChains::Chain& chain, const CacheCall& call, const CacheRules& rules,
            const Digest& seed) {
  PromptPoint at;
  at.cache = seed;
  at.content = Digest::of(call.scope.model);
  CacheArea area = CacheArea::tools;
  if (const std::size_t have = chain.points.size(); have > 0) {
    at = chain.points.back();
    area = call.segments[have - 1].area;
  }
  for (std::size_t i = chain.points.size(); i < call.segments.size(); ++i) {
    const CacheSegment& segment = call.segments[i];
    while (area < segment.area) {
      area = static_cast<CacheArea>(static_cast<int>(area) + 1);
      at.cache = with_params(at.cache, call, rules, area);
    }
    const bool stripped = i < chain.strip && !segment.stripped.is_zero();
    const Digest& content = stripped ? segment.stripped : segment.content;
    const std::uint64_t bytes = stripped ? segment.stripped_bytes : segment.bytes;
    // The area counts: the same text as a tool and as a message are two things.
    at.cache = chained(at.cache, content, static_cast<std::uint64_t>(segment.area));
    at.content = chained(at.content, content, static_cast<std::uint64_t>(segment.area));
    at.bytes += bytes;
    at.blocks += segment.blocks;
    at.message = segment.area == CacheArea::messages;
    chain.points.push_back(at);
  }
}

}  // namespace

Prompt layout(const CacheCall& call, const CacheRules& rules, const LayoutOptions& options) {
  Prompt prompt;
  prompt.seed =
      with_params(scope_seed(call, rules, options.maybe_scopes), call, rules, CacheArea::tools);
  prompt.marks = accepted_marks(call, rules);
  const std::size_t strip = options.strip_before.value_or(strip_before(call, rules));
  auto& chains = call.segments.chains();
  if (chains == nullptr) chains = std::make_shared<PromptChains>();
  PromptChains::Chain& chain = chains->of(layout_key(prompt.seed, call, rules), strip);
  if (chain.strip != strip) strip_otherwise(chain, call.segments, strip);
  if (chain.points.size() < call.segments.size()) extend(chain, call, rules, prompt.seed);
  prompt.points = chain.points;
  prompt.points.shorten(call.segments.size());
  return prompt;
}

// ------------------------------------------------------------------------------ tokens

std::optional<TokenScale::Known> TokenScale::known(const Prompt& prompt, std::size_t point) const {
  const PromptPoint& at = prompt.points[point];
  const auto found = pins_.find(at.content);
  if (found == pins_.end()) return std::nullopt;
  return Known{at.bytes, found->second};
}

std::optional<TokenScale::Known> TokenScale::known_before(const Prompt& prompt,
                                                          std::size_t point) const {
  std::optional<Known> found;
  while (!found && point > 0) found = known(prompt, --point);
  return found;
}

std::optional<TokenScale::Known> TokenScale::known_behind(const Prompt& prompt,
                                                          std::size_t point) const {
  std::optional<Known> found;
  while (!found && ++point < prompt.points.size()) found = known(prompt, point);
  return found;
}

void TokenScale::pin(const Prompt& prompt, std::size_t point, std::uint64_t tokens) {
  if (known(prompt, point)) return;
  const auto before = known_before(prompt, point);
  const auto behind = known_behind(prompt, point);
  if ((before && before->tokens > tokens) || (behind && behind->tokens < tokens)) return;
  pins_.emplace(prompt.points[point].content, tokens);
  bytes_ += static_cast<double>(prompt.points[point].bytes);
  tokens_ += static_cast<double>(tokens);
}

double TokenScale::tokens_per_byte() const {
  return bytes_ > 0 && tokens_ > 0 ? tokens_ / bytes_ : kTokensPerByte;
}

TokenCount TokenScale::at(const Prompt& prompt, std::size_t point) const {
  if (const auto exact = known(prompt, point)) {
    return {exact->tokens, exact->tokens, exact->tokens};
  }
  const Known low = known_before(prompt, point).value_or(Known{});
  auto high = known_behind(prompt, point);
  // Calls that share a beginning may have reported figures that contradict each other.
  if (high && high->tokens < low.tokens) high.reset();
  const double above = static_cast<double>(prompt.points[point].bytes - low.bytes);
  double ratio = tokens_per_byte();
  double reach = above * ratio;
  if (high && high->bytes > low.bytes) {
    const double bytes = static_cast<double>(high->bytes - low.bytes);
    ratio = static_cast<double>(high->tokens - low.tokens) / bytes;
    reach = std::min(above, bytes - above) * ratio;
  }
  TokenCount count;
  count.tokens =
      static_cast<std::uint64_t>(std::llround(static_cast<double>(low.tokens) + above * ratio));
  const auto spread = static_cast<std::uint64_t>(std::ceil(kSpread * reach));
  count.least = count.tokens - std::min(spread, count.tokens - low.tokens);
  count.most = count.tokens + spread;
  if (high) count.most = std::min(count.most, high->tokens);
  return count;
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

std::optional<CacheEntry> CacheStore::find(const Digest& prefix, schema::CacheTtl ttl,
                                           const CacheRules& rules) const {
  const auto found = places_.find(prefix);
  if (found == places_.end()) return std::nullopt;
  std::optional<CacheEntry> best;
  for (const CacheEntry& entry : found->second.entries) {
    if (rules.ttl_flip_misses && entry.ttl != ttl) continue;
    if (!best || entry.touched.latest > best->touched.latest) best = entry;
  }
  if (best && !found->second.next.empty()) {
    constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();
    best->touched = {latest_use(found->second, &TimeSpan::earliest, kAll, nullptr),
                     latest_use(found->second, &TimeSpan::latest, kAll, nullptr)};
  }
  return best;
}

bool CacheStore::alive(const Digest& prefix, schema::CacheTtl ttl, const CacheRules& rules,
                       const TimeSpan& sent, const ReadOptions& options) const {
  const auto usable = [&](const CacheEntry& entry) {
    if (rules.ttl_flip_misses && entry.ttl != ttl) return false;
    const RuleRange life = rules.life_s(entry.ttl);
    const bool early = options.world.short_life;
    const std::int64_t gap =
        early ? sent.latest - entry.touched.earliest : sent.earliest - entry.touched.latest;
    const auto seconds = static_cast<std::int64_t>(early ? life.least : life.most);
    const bool lives = options.ignore_life || gap < seconds * kSecond;
    const bool readable = options.ignore_readable || !rules.readable_at_first_byte ||
                          entry.readable_at <= sent.latest;
    return lives && readable;
  };
  if (options.assumed && options.assumed->first == prefix && usable(options.assumed->second)) {
    return true;
  }
  const auto found = places_.find(prefix);
  return found != places_.end() && std::ranges::any_of(found->second.entries, usable);
}

CacheRead CacheStore::read_marks(const Prompt& prompt, const CacheRules& rules,
                                 const TimeSpan& sent, const ReadOptions& options,
                                 const TokenScale& scale) const {
  const std::uint64_t back =
      options.world.near_lookback ? rules.lookback.least : rules.lookback.most;
  std::optional<std::size_t> best;
  for (auto mark = prompt.marks.rbegin(); mark != prompt.marks.rend(); ++mark) {
    const std::uint64_t from = prompt.points[mark->segment].blocks;
    for (std::size_t i = mark->segment + 1; i > 0; --i) {
      const PromptPoint& point = prompt.points[i - 1];
      if (back != 0 && from - point.blocks >= back) break;
      if (best && i - 1 <= *best) break;
      if (alive(point.cache, mark->ttl, rules, sent, options)) {
        best = i - 1;
        break;
      }
    }
  }
  if (!best) return {};
  const TokenCount count = scale.at(prompt, *best);
  return {count.tokens, count.least, count.most, best};
}

CacheRead CacheStore::read_endings(const Prompt& prompt, const CacheRules& rules,
                                   const TimeSpan& sent, const ReadOptions& options,
                                   const TokenScale& scale) const {
  const std::uint64_t back =
      options.world.near_lookback ? rules.lookback.least : rules.lookback.most;
  std::uint64_t seen = 0;
  for (std::size_t i = prompt.points.size(); i > 0; --i) {
    const PromptPoint& point = prompt.points[i - 1];
    if (!point.message) break;
    if (back != 0 && seen++ == back) break;
    if (alive(point.cache, schema::CacheTtl::none, rules, sent, options)) {
      const TokenCount count = scale.at(prompt, i - 1);
      return {count.tokens, count.least, count.most, i - 1};
    }
  }
  return {};
}

/// When a place was last used, be it for a longer prefix, by one end of the times: the latest use,
/// or the first found that is `enough`. `except`: one of the next places that is known to be older.
std::int64_t CacheStore::latest_use(const Place& place, std::int64_t TimeSpan::*end,
                                    std::int64_t enough, const Digest* except) const {
  std::int64_t latest = std::numeric_limits<std::int64_t>::min();
  std::vector<const Place*> open = {&place};
  while (!open.empty()) {
    const Place* at = open.back();
    open.pop_back();
    for (const CacheEntry& entry : at->entries) latest = std::max(latest, entry.touched.*end);
    if (latest >= enough) break;
    for (const Digest& next : at->next) {
      if (at == &place && except != nullptr && next == *except) continue;
      if (const auto found = places_.find(next); found != places_.end()) {
        open.push_back(&found->second);
      }
    }
  }
  return latest;
}

/// How many points of the prompt can be read, where any prefix counts; nothing: not even what
/// stands before the first.
std::optional<std::size_t> CacheStore::longest_prefix(const Prompt& prompt, const CacheRules& rules,
                                                      const TimeSpan& sent,
                                                      const ReadOptions& options) const {
  const RuleRange life = rules.life_s(schema::CacheTtl::none);
  const bool early = options.world.short_life;
  const auto seconds = static_cast<std::int64_t>(early ? life.least : life.most);
  const std::int64_t enough = (early ? sent.latest : sent.earliest) - seconds * kSecond + 1;
  const auto end = early ? &TimeSpan::earliest : &TimeSpan::latest;
  bool lives = options.ignore_life;
  const Digest* below = nullptr;
  for (std::size_t i = prompt.points.size() + 1; i-- > 0;) {
    const Digest& prefix = i == 0 ? prompt.seed : prompt.points[i - 1].cache;
    const auto found = places_.find(prefix);
    if (found == places_.end()) continue;
    // Whoever used a longer one used this one.
    lives = lives || latest_use(found->second, end, enough, below) >= enough;
    below = &prefix;
    const bool readable = options.ignore_readable || !rules.readable_at_first_byte ||
                          found->second.entries.front().readable_at <= sent.latest;
    if (lives && readable) return i;
  }
  return std::nullopt;
}

CacheRead CacheStore::read_prefix(const Prompt& prompt, const CacheRules& rules,
                                  const TimeSpan& sent, const ReadOptions& options,
                                  const TokenScale& scale) const {
  const auto longest = longest_prefix(prompt, rules, sent, options);
  const std::size_t length = longest.value_or(0);
  CacheRead read;
  const bool whole = length == prompt.points.size();
  const bool exact = options.ignore_granularity || (whole && rules.exact_resend);
  const std::uint64_t fine = exact ? 1 : rules.granularity.least;
  const std::uint64_t coarse = exact ? 1 : rules.granularity.most;
  if (length > 0) {
    const TokenCount count = scale.at(prompt, length - 1);
    read = {floored(count.tokens, fine), floored(count.least, coarse), floored(count.most, fine),
            length - 1};
  }
  // The two prompts may go on alike for a while within the next segment.
  if (!whole && longest) read.most = floored(scale.at(prompt, length).most, fine);
  return read;
}

CacheRead CacheStore::read(const Prompt& prompt, const CacheRules& rules, const TimeSpan& sent,
                           const ReadOptions& options, const TokenScale& scale) const {
  CacheRead read;
  switch (rules.lookup) {
    case CacheLookup::markers:
      read = read_marks(prompt, rules, sent, options, scale);
      break;
    case CacheLookup::endings:
      read = read_endings(prompt, rules, sent, options, scale);
      break;
    case CacheLookup::prefix:
      read = read_prefix(prompt, rules, sent, options, scale);
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
                       const TimeSpan& sent, std::int64_t first_byte) {
  auto& entries = places_[prefix].entries;
  const auto found =
      std::ranges::find_if(entries, [&](const CacheEntry& entry) { return entry.ttl == ttl; });
  if (found == entries.end()) {
    entries.push_back({sent, first_byte, ttl});
    return;
  }
  const auto life = static_cast<std::int64_t>(rules.life_s(ttl).most) * kSecond;
  const bool lives = sent.earliest - found->touched.latest < life;
  found->readable_at = lives ? std::min(found->readable_at, first_byte) : first_byte;
  found->touched = later_of(found->touched, sent);
}

namespace {

const Digest& prefix_of(const Prompt& prompt, std::size_t length) {
  return length == 0 ? prompt.seed : prompt.points[length - 1].cache;
}

}  // namespace

/// How many prefixes are there, from none on.
std::size_t CacheStore::known_prefix(const Prompt& prompt) const {
  std::size_t known = prompt.points.size() + 1;
  while (known > 0 && !places_.contains(prefix_of(prompt, known - 1))) --known;
  return known;
}

/// How many of those that are known live.
std::size_t CacheStore::living_prefix(const Prompt& prompt, const CacheRules& rules,
                                      const TimeSpan& sent, std::size_t known) const {
  const auto life = static_cast<std::int64_t>(rules.life_s(schema::CacheTtl::none).most) * kSecond;
  const std::int64_t dead = sent.earliest - life;
  const Digest* below = nullptr;
  for (; known > 0; --known) {
    const Digest& prefix = prefix_of(prompt, known - 1);
    if (latest_use(places_.at(prefix), &TimeSpan::latest, dead + 1, below) > dead) break;
    below = &prefix;
  }
  return known;
}

/// Leaves every prefix of the prompt. Of those that were there, only the longest that lives is
/// noted as used: the shorter ones are by that.
void CacheStore::write_prefix(const Prompt& prompt, const CacheRules& rules, const TimeSpan& sent,
                              std::int64_t first_byte) {
  const CacheEntry fresh{sent, first_byte, schema::CacheTtl::none};
  const std::size_t known = known_prefix(prompt);
  const std::size_t living = living_prefix(prompt, rules, sent, known);
  for (std::size_t i = living; i < known; ++i) places_.at(prefix_of(prompt, i)).entries = {fresh};
  for (std::size_t i = living; i > 0; --i) {
    CacheEntry& entry = places_.at(prefix_of(prompt, i - 1)).entries.front();
    if (i == living) entry.touched = later_of(entry.touched, sent);
    // Shorter ones can be read no later.
    if (entry.readable_at <= first_byte) break;
    entry.readable_at = first_byte;
  }
  for (std::size_t i = known; i <= prompt.points.size(); ++i) {
    places_[prefix_of(prompt, i)].entries = {fresh};
    if (i > 0) places_.at(prefix_of(prompt, i - 1)).next.push_back(prefix_of(prompt, i));
  }
}

void CacheStore::refresh(const Prompt& prompt, const CacheRules& rules, const TimeSpan& sent,
                         const CacheRead& read) {
  if (rules.lookup == CacheLookup::prefix) {
    const std::size_t living = living_prefix(prompt, rules, sent, known_prefix(prompt));
    if (living == 0) return;
    CacheEntry& entry = places_.at(prefix_of(prompt, living - 1)).entries.front();
    entry.touched = later_of(entry.touched, sent);
    return;
  }
  if (!read.point) return;
  const auto found = places_.find(prompt.points[*read.point].cache);
  if (found == places_.end()) return;
  for (CacheEntry& entry : found->second.entries) {
    const auto life = static_cast<std::int64_t>(rules.life_s(entry.ttl).most) * kSecond;
    if (sent.earliest - entry.touched.latest >= life) continue;
    entry.touched = later_of(entry.touched, sent);
  }
}

void CacheStore::write(const Prompt& prompt, const CacheRules& rules, const TimeSpan& sent,
                       std::int64_t first_byte, const CacheRead& read) {
  if (rules.lookup == CacheLookup::prefix) {
    write_prefix(prompt, rules, sent, first_byte);
  } else {
    refresh(prompt, rules, sent, read);
    for (const CacheMark& mark : written_at(prompt, rules)) {
      touch(prompt.points[mark.segment].cache, mark.ttl, rules, sent, first_byte);
    }
  }
  if (places_.size() > sweep_at_) forget_dead(sent.latest);
}

void CacheStore::forget_dead(std::int64_t now) {
  std::unordered_map<Digest, Digest, Hash> before;
  for (const auto& [prefix, place] : places_) {
    for (const Digest& next : place.next) before.emplace(next, prefix);
  }
  std::unordered_set<Digest, Hash> kept;
  for (auto& [prefix, place] : places_) {
    if (place.next.empty()) {
      std::erase_if(place.entries, [&](const CacheEntry& entry) {
        return now - entry.touched.latest > kLongestLife_s * kSecond;
      });
    }
    const bool lives = std::ranges::any_of(place.entries, [&](const CacheEntry& entry) {
      return now - entry.touched.latest <= kLongestLife_s * kSecond;
    });
    // What a prefix that lives begins with lives, too.
    Digest at = prefix;
    while (lives && kept.insert(at).second) {
      const auto found = before.find(at);
      if (found == before.end()) break;
      at = found->second;
    }
  }
  std::erase_if(places_, [&](const auto& item) { return !kept.contains(item.first); });
  for (auto& [prefix, place] : places_) {
    std::erase_if(place.next, [&](const Digest& next) { return !kept.contains(next); });
  }
  sweep_at_ = std::max<std::size_t>(1 << 16, places_.size() * 2);
}

}  // namespace daybook::replay
