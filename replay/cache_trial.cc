#include "replay/cache_trial.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>
#include <span>

namespace daybook::replay {
namespace {

/// Further causes share the last one's bit.
constexpr std::size_t kMostCauses = 10;

bool is_message_cause(Leaf leaf) {
  return leaf == Leaf::compaction || leaf == Leaf::fork || info_of(leaf).family == "P4";
}

bool is_marker_cause(Leaf leaf) {
  return info_of(leaf).family == "P6";
}

/// Puts other segments in the place of an area's; markers stay with what they mark, or with the
/// end of the area.
void replace_area(CacheCall& call, CacheArea area, std::span<const CacheSegment> by) {
  const auto first = std::ranges::lower_bound(call.segments, area, {}, &CacheSegment::area);
  const auto last = std::ranges::upper_bound(call.segments, area, {}, &CacheSegment::area);
  const auto from = static_cast<std::size_t>(first - call.segments.begin());
  const auto before = static_cast<std::size_t>(last - first);
  const std::size_t after = by.size();
  for (CacheMark& mark : call.marks) {
    if (mark.segment < from) continue;
    const std::size_t inner = mark.segment - from;
    const bool behind = inner >= before;
    const bool at_end = inner + 1 == before;
    if (!behind && !at_end && inner < after) continue;
    const std::size_t shifted = mark.segment + after;
    mark.segment = static_cast<std::uint32_t>(shifted >= before ? shifted - before : 0);
  }
  // A copy: `by` may lie in what grows here.
  const std::vector<CacheSegment> put(by.begin(), by.end());
  SegmentList made = call.segments;
  made.shorten(from);
  for (const CacheSegment& segment : put) made.push_back(segment);
  for (std::size_t i = from + before; i < call.segments.size(); ++i) {
    made.push_back(call.segments[i]);
  }
  call.segments = std::move(made);
}

/// The baseline's messages, then what the call has behind them.
std::vector<CacheSegment> continued(std::span<const CacheSegment> old,
                                    std::span<const CacheSegment> now) {
  std::vector<CacheSegment> made(old.begin(), old.end());
  std::size_t tail = std::min(old.size(), now.size());
  if (!old.empty()) {
    const auto last = std::ranges::find(now.rbegin(), now.rend(), old.back());
    if (last != now.rend()) tail = static_cast<std::size_t>(now.rend() - last);
  }
  made.insert(made.end(), now.begin() + static_cast<std::ptrdiff_t>(tail), now.end());
  return made;
}

}  // namespace

CacheTrial::CacheTrial(const CacheCall& before, const CacheCall& now, const CacheRuleBook& book,
                       const CacheStore& store, const TokenScale& scale, bool cold,
                       const SegmentBytes& bytes, const CacheCall* own)
    : before_(before),
      now_(now),
      own_(own),
      rules_(book.rules(now)),
      before_rules_(book.rules(before)),
      store_(store),
      scale_(scale),
      cold_(cold),
      bytes_(bytes),
      before_prompt_(layout(before, before_rules_, {})) {}

/// Where the baseline's longest entry ends.
std::optional<std::size_t> CacheTrial::baseline_point() const {
  if (before_prompt_.points.empty()) return std::nullopt;
  const std::size_t last = before_prompt_.points.size() - 1;
  if (before_rules_.lookup != CacheLookup::markers) return last;
  if (before_prompt_.marks.empty()) return last;
  const std::size_t marked = before_prompt_.marks.back().segment;
  const std::uint64_t whole = scale_.at(before_prompt_, last).tokens;
  const std::uint64_t tail = whole - std::min(whole, scale_.at(before_prompt_, marked).tokens);
  // A tail worth caching of its own should have been marked.
  return tail >= std::max<std::uint64_t>(before_rules_.min_tokens.least, 1) ? last : marked;
}

void CacheTrial::find_causes() {
  if (cold_) {
    CacheCall beginning = now_;
    beginning.segments.shorten(std::min(now_.segments.size(), before_.segments.size()));
    causes_ = differences(before_, beginning, rules_, bytes_);
  } else {
    causes_ = differences(before_, now_, rules_, bytes_);
  }
  const auto point = baseline_point();
  if (!point) return;
  // What was cached, or had a beginning that was, is long enough.
  const bool was_cached = !cold_ && before_rules_.reports_writes &&
                          before_.read() + before_.usage.cache_write.value_or(0) > 0;
  if (const TokenCount count = scale_.at(before_prompt_, *point);
      !was_cached && count.least < before_rules_.min_tokens.most) {
    too_short_ = count.most < before_rules_.min_tokens.least;
    causes_.push_back({Leaf::below_minimum,
                       fmt::format("about {} tokens, at least {} are cached", count.tokens,
                                   before_rules_.min_tokens.least),
                       std::nullopt, std::nullopt});
  }
  const std::size_t kept = strip_before(before_, before_rules_);
  const std::size_t keeps = std::min(strip_before(now_, rules_), before_.segments.size());
  for (std::size_t i = kept; i < keeps; ++i) {
    if (before_.segments[i].stripped.is_zero()) continue;
    causes_.push_back({Leaf::server_strip, "a plain user turn follows reasoning",
                       static_cast<std::uint32_t>(i), static_cast<std::uint32_t>(i)});
    break;
  }
  // Nothing was there that could expire, or be found by a marker.
  if (too_short_) return;
  find_time_causes();
  note_own_expiry();
  const bool marked =
      before_rules_.lookup == CacheLookup::markers && rules_.lookup == CacheLookup::markers;
  if (marked && now_.evidence == schema::Evidence::exact) {
    find_marker_cause();
  } else if (marked && !before_.marks.empty() && !now_.marks.empty() &&
             before_.marks.back().ttl != now_.marks.back().ttl) {
    // Not seen, but what was written tells the lifetime.
    causes_.push_back(
        {Leaf::marker_ttl_flip, "lifetime of what was written", std::nullopt, std::nullopt});
  }
}

/// What the chain left where this call reads may have expired while it was elsewhere.
void CacheTrial::note_own_expiry() {
  const bool noted = std::ranges::any_of(causes_, [](const CacheCause& cause) {
    return cause.leaf == Leaf::ttl || cause.leaf == Leaf::ttl_by_generation;
  });
  if (own_ == nullptr || noted) return;
  const auto gap = gap_between(own_->sent(), now_.sent());
  if (!gap) return;
  const RuleRange life =
      rules_.life_s(own_->marks.empty() ? schema::CacheTtl::none : own_->marks.back().ttl);
  const Expiry expired = expiry(*gap, own_->end, now_.sent(), life);
  if (!expired.decided()) return;
  causes_.push_back(
      {expired.leaves.front(), expiry_detail(*gap, life), std::nullopt, std::nullopt});
}

void CacheTrial::find_time_causes() {
  const std::size_t point = *baseline_point();
  const bool marked = !before_prompt_.marks.empty();
  const schema::CacheTtl ttl = marked && before_rules_.lookup == CacheLookup::markers
                                   ? before_prompt_.marks.back().ttl
                                   : schema::CacheTtl::none;
  CacheEntry entry{before_.sent(), before_.first_byte, ttl};
  if (const auto found = store_.find(before_prompt_.points[point].cache, ttl, before_rules_)) {
    entry = *found;
  }
  const TimeSpan now = now_.sent();
  if (!now.known() || !entry.touched.known()) {
    // Without a time nothing says whether anything expired.
    open_expiry_ = now_.evidence != schema::Evidence::exact;
    if (open_expiry_) expiry_.leaves = {Leaf::ttl, Leaf::ttl_by_generation};
    return;
  }
  note_expiry(entry);
  if (before_rules_.readable_at_first_byte && entry.readable_at > now.latest) {
    causes_.push_back({Leaf::concurrency,
                       fmt::format("started {} ms before the first byte of the call that writes it",
                                   (entry.readable_at - now.latest) / 1'000'000),
                       std::nullopt, std::nullopt});
  }
}

void CacheTrial::note_expiry(const CacheEntry& entry) {
  const TimeGap gap = *gap_between(entry.touched, now_.sent());
  if (gap.least < 0 && now_.evidence != schema::Evidence::exact) {
    // Another session's use, which may have come first or later.
    expiry_.leaves = leaves_of({"T1", "T2", "C1"});
    open_expiry_ = true;
    return;
  }
  const RuleRange life = before_rules_.life_s(entry.ttl);
  expiry_ = expiry(gap, before_.end, now_.sent(), life);
  if (expiry_.leaves.empty()) return;
  open_expiry_ = now_.evidence != schema::Evidence::exact && expiry_.open();
  if (open_expiry_ && !expiry_.sure && !may_be_dead()) {
    expiry_ = {};
    open_expiry_ = false;
    return;
  }
  causes_.push_back({expiry_.leaves.front(), expiry_detail(gap, life), std::nullopt, std::nullopt});
}

/// Whether the call could have read as much as it did, had everything expired that may have.
bool CacheTrial::may_be_dead() {
  const std::uint64_t actual = now_.read();
  for (const CacheWorld& world : worlds()) {
    world_ = world;
    if (world.short_life && read(0, false).most >= actual) return true;
  }
  return false;
}

/// Whether the call's markers find the baseline's entry, everything else repaired.
void CacheTrial::find_marker_cause() {
  const std::size_t goal = *baseline_point();
  const auto add = [&](Leaf leaf, std::string detail) {
    causes_.push_back({leaf, std::move(detail), std::nullopt, std::nullopt});
  };
  const bool unwritten = before_prompt_.marks.empty() || before_prompt_.marks.back().segment < goal;
  if (unwritten) return add(Leaf::marker_missing, "the end of the call before is not marked");
  if (now_.marks.empty()) return add(Leaf::marker_missing, "the call has no marker");
  const CacheCall call = repaired((Mask{1} << std::min(causes_.size(), kMostCauses)) - 1);
  const Prompt prompt = layout(call, rules_, {});
  const CacheMark wanted = before_prompt_.marks.back();
  const auto reaches = [&](const CacheMark& mark) {
    return mark.segment >= goal && mark.segment < prompt.points.size() &&
           prompt.points[mark.segment].blocks - prompt.points[goal].blocks < rules_.lookback.least;
  };
  const auto finds = [&](const CacheMark& mark) {
    return reaches(mark) && (!rules_.ttl_flip_misses || mark.ttl == wanted.ttl);
  };
  if (std::ranges::any_of(prompt.marks, finds)) return;
  if (std::ranges::any_of(call.marks, finds)) {
    return call.marks.size() > rules_.max_markers && rules_.max_markers != 0
               ? add(Leaf::marker_too_many,
                     fmt::format("{} markers, {} are taken", call.marks.size(), rules_.max_markers))
               : add(Leaf::marker_ttl_order, "a marker of one hour behind one of five minutes");
  }
  if (std::ranges::any_of(call.marks, reaches)) {
    return add(Leaf::marker_ttl_flip, wanted.ttl == schema::CacheTtl::hour_1
                                          ? "marker of one hour -> five minutes"
                                          : "marker of five minutes -> one hour");
  }
  const bool behind =
      std::ranges::any_of(call.marks, [&](const CacheMark& m) { return m.segment >= goal; });
  if (behind) return add(Leaf::marker_lookback, "the next marker is too many blocks further on");
  add(Leaf::marker_missing, "no marker behind what is cached");
}

void CacheTrial::repair(CacheCall& call, Leaf leaf) const {
  const std::string_view family = info_of(leaf).family;
  if (is_message_cause(leaf)) {
    replace_area(
        call, CacheArea::messages,
        continued(area_of(before_, CacheArea::messages), area_of(now_, CacheArea::messages)));
  } else if (family == "P2") {
    replace_area(call, CacheArea::tools, area_of(before_, CacheArea::tools));
  } else if (family == "P3") {
    replace_area(call, CacheArea::system, area_of(before_, CacheArea::system));
  } else if (family == "P5") {
    const std::string name(code_of(leaf).substr(3));
    std::erase_if(call.params, [&](const CacheParam& each) { return each.name == name; });
    const auto old = std::ranges::find(before_.params, name, &CacheParam::name);
    if (old != before_.params.end()) call.params.push_back(*old);
    std::ranges::sort(call.params, {}, &CacheParam::name);
  } else if (leaf == Leaf::model) {
    call.scope.model = before_.scope.model;
  } else if (leaf == Leaf::scope_key) {
    call.scope.key = before_.scope.key;
  } else if (leaf == Leaf::scope_tier) {
    call.scope.tier = before_.scope.tier;
  } else if (leaf == Leaf::scope_workspace) {
    call.scope.workspace = before_.scope.workspace;
  } else if (leaf == Leaf::scope_region) {
    call.scope.region = before_.scope.region;
  } else if (leaf == Leaf::scope_provider) {
    call.scope.provider = before_.scope.provider;
  }
}

CacheCall CacheTrial::repaired(Mask mask) const {
  CacheCall call = now_;
  for (std::size_t i = 0; i < causes_.size(); ++i) {
    const Mask bit = Mask{1} << std::min(i, kMostCauses - 1);
    if ((mask & bit) != 0) repair(call, causes_[i].leaf);
  }
  return call;
}

/// The markers of a client that does it right: behind what precedes the messages, where the call
/// before ended, and at the end.
void CacheTrial::mark_well(CacheCall& call, std::size_t goal, schema::CacheTtl ttl) const {
  const std::size_t size = call.segments.size();
  const std::size_t head = size - area_of(call, CacheArea::messages).size();
  std::set<std::size_t> ends = {head, common_prefix(call.segments, before_.segments), goal + 1,
                                size};
  call.marks.clear();
  for (const std::size_t end : ends) {
    if (end > 0 && end <= size) call.marks.push_back({static_cast<std::uint32_t>(end - 1), ttl});
  }
}

/// A call that the baseline's model would serve is served by its rules.
const CacheRules& CacheTrial::rules_for(const CacheCall& call) const {
  const bool as_before =
      call.scope.model == before_.scope.model && call.scope.provider == before_.scope.provider;
  return as_before ? before_rules_ : rules_;
}

CacheRead CacheTrial::read(Mask mask, bool fine) {
  CacheCall call = repaired(mask);
  ReadOptions options;
  options.world = world_;
  options.ignore_granularity = fine;
  options.ignore_life = options.ignore_readable = !now_.sent().known() || !before_.sent().known();
  LayoutOptions how{world_.maybe_scopes, std::nullopt};
  for (std::size_t i = 0; i < causes_.size(); ++i) {
    if ((mask & (Mask{1} << std::min(i, kMostCauses - 1))) == 0) continue;
    const Leaf leaf = causes_[i].leaf;
    options.ignore_life |= leaf == Leaf::ttl || leaf == Leaf::ttl_by_generation;
    options.ignore_readable |= leaf == Leaf::concurrency;
    options.ignore_minimum |= leaf == Leaf::below_minimum;
    // Then it is the minimum, not a block, that keeps it from being read.
    options.ignore_granularity |= leaf == Leaf::below_minimum && too_short_;
    if (leaf == Leaf::below_minimum && too_short_) {
      // Had it been long enough, it would be there now.
      const auto ttl = call.marks.empty() ? schema::CacheTtl::none : call.marks.back().ttl;
      const Prompt before = layout(before_, before_rules_, {world_.maybe_scopes, std::nullopt});
      options.assumed =
          std::pair(before.points[*baseline_point()].cache, CacheEntry{now_.sent(), 0, ttl});
    }
    if (leaf == Leaf::server_strip) how.strip_before = strip_before(before_, before_rules_);
    if (is_marker_cause(leaf)) {
      const std::size_t goal = *baseline_point();
      const bool any = !before_prompt_.marks.empty();
      const auto ttl = any ? before_prompt_.marks.back().ttl : schema::CacheTtl::minutes_5;
      mark_well(call, goal, ttl);
      if (!any || before_prompt_.marks.back().segment < goal) {
        const Prompt before = layout(before_, before_rules_, {world_.maybe_scopes, std::nullopt});
        const CacheEntry entry{before_.sent(), before_.first_byte, ttl};
        options.assumed = std::pair(before.points[goal].cache, entry);
      }
    }
  }
  const CacheRules& rules = rules_for(call);
  return store_.read(layout(call, rules, how), rules, now_.sent(), options, scale_);
}

std::uint64_t CacheTrial::reach(Mask mask) {
  const auto found = reach_.find(mask);
  if (found != reach_.end()) return found->second;
  std::uint64_t tokens = std::min(read(mask, false).tokens, *now_.input());
  // No set gets less far than none repaired, and that is known better than estimated.
  if (floor_ && tokens <= floor_->first) tokens = floor_->second;
  reach_.emplace(mask, tokens);
  return tokens;
}

/// The first of the possible ways that explains what was read; else the one that comes nearest.
void CacheTrial::choose_world() {
  const std::uint64_t actual = now_.read();
  std::optional<std::uint64_t> nearest;
  CacheWorld best;
  for (const CacheWorld& world : worlds()) {
    world_ = world;
    const CacheRead predicted = read(0, false);
    const std::uint64_t off = predicted.allows(actual)   ? 0
                              : actual < predicted.least ? predicted.least - actual
                                                         : actual - predicted.most;
    if (nearest && off >= *nearest) continue;
    nearest = off;
    best = world;
    if (off == 0) break;
  }
  world_ = best;
}

CauseSet CacheTrial::undecided(std::uint64_t actual) const {
  if (now_.evidence == schema::Evidence::exact) return CauseSet::sole(Leaf::provider);
  auto leaves = unseen_causes(actual);
  // What others used in the meantime lives where their markers stood, which no transcript shows.
  const auto gap = gap_between(before_.sent(), now_.sent());
  if (gap && !cold_) {
    const auto ttl = before_.marks.empty() ? schema::CacheTtl::none : before_.marks.back().ttl;
    const Expiry own = expiry(*gap, before_.end, now_.sent(), before_rules_.life_s(ttl));
    leaves.insert(leaves.end(), own.leaves.begin(), own.leaves.end());
  } else if (!cold_) {
    for (const Leaf leaf : leaves_of({"T1", "T2"})) leaves.push_back(leaf);
  }
  for (const CacheCause& cause : causes_) leaves.push_back(cause.leaf);
  return CauseSet::of(CauseSet::Relation::one_of, std::move(leaves));
}

/// Where the transcript ends, several things that it does not show can be the cause.
std::vector<Leaf> CacheTrial::unseen_causes(std::uint64_t actual) const {
  const bool left_nothing = before_rules_.reports_writes && before_.usage.cache_read == 0U &&
                            before_.usage.cache_write == 0U;
  if (left_nothing && !cold_) {
    auto leaves = leaves_of({"P6.missing", "U1"});
    const bool short_of_it = before_.input().value_or(0) < before_rules_.min_tokens.most;
    if (short_of_it) leaves.push_back(Leaf::below_minimum);
    return leaves;
  }
  const Prompt prompt = layout(now_, rules_, {});
  const bool before_messages = prompt.points.empty() || actual < scale_.at(prompt, 0).least;
  std::vector<Leaf> leaves =
      before_messages ? leaves_of({"P2", "P5", "P6", "P8", "U1"}) : leaves_of({"P5", "P6", "U1"});
  if (area_of(now_, CacheArea::system).empty()) {
    const auto system = leaves_of({"P3"});
    leaves.insert(leaves.end(), system.begin(), system.end());
  }
  // Shorter, although no message is gone: the transcript does not show what was left out.
  if (!cold_ && before_.input() && *now_.input() < *before_.input()) {
    const auto cut = leaves_of({"E2", "E3", "P4.deleted"});
    leaves.insert(leaves.end(), cut.begin(), cut.end());
  }
  return leaves;
}

/// Where nothing says whether the cache had expired, it may be that or what else is known or, when
/// nothing else is, what the transcript does not show.
void CacheTrial::leave_open(CachePortion& portion) const {
  using Relation = CauseSet::Relation;
  static constexpr Leaf kWhatever[] = {Leaf::below_minimum, Leaf::granularity, Leaf::unmeasured,
                                       Leaf::compaction};
  CauseSet& causes = portion.causes;
  const bool alone = causes.relation == Relation::sole;
  if (alone && std::ranges::find(kWhatever, causes.leaves.front()) != std::end(kWhatever)) return;
  std::vector<Leaf> leaves = causes.leaves;
  const bool only_expired = alone && causes.leaves.front() == expiry_.leaves.front();
  if (only_expired && !expiry_.sure) {
    const auto more = unseen_causes(now_.read());
    leaves.insert(leaves.end(), more.begin(), more.end());
  }
  leaves.insert(leaves.end(), expiry_.leaves.begin(), expiry_.leaves.end());
  portion.causes = CauseSet::of(Relation::one_of, std::move(leaves));
  portion.shares.clear();
}

/// Of less than a block, of which nothing was read. From the smallest block on it may also be a
/// difference that kept it from being read.
CauseSet CacheTrial::rounding(std::uint64_t tokens, const CacheRules& rules) const {
  const bool sure = now_.read() > 0 || tokens < std::max<std::uint64_t>(rules.granularity.least, 1);
  if (rules.known && (sure || causes_.empty())) return CauseSet::sole(Leaf::granularity);
  std::vector<Leaf> leaves = {Leaf::granularity};
  if (!rules.known) {
    const auto other = undecided(now_.read()).leaves;
    leaves.insert(leaves.end(), other.begin(), other.end());
  }
  for (const CacheCause& cause : causes_) leaves.push_back(cause.leaf);
  return CauseSet::of(CauseSet::Relation::one_of, std::move(leaves));
}

/// The causes of tokens that are read only when `reach` gets to `level`.
CachePortion CacheTrial::portion(std::uint64_t level, std::uint64_t tokens) {
  const std::size_t bits = std::min(causes_.size(), kMostCauses);
  const Mask all = (Mask{1} << bits) - 1;
  std::vector<Mask> least;  // sets that suffice, none of whose parts does
  for (Mask mask = 0; mask <= all; ++mask) {
    if (reach(mask) < level) continue;
    const bool minimal =
        std::ranges::none_of(least, [&](Mask smaller) { return (smaller & mask) == smaller; });
    if (minimal) {
      std::erase_if(least, [&](Mask bigger) { return (bigger & mask) == mask; });
      least.push_back(mask);
    }
  }
  Mask any = 0;
  for (const Mask mask : least) any |= mask;
  std::vector<Leaf> leaves;
  for (std::size_t i = 0; i < causes_.size(); ++i) {
    if ((any & (Mask{1} << std::min(i, kMostCauses - 1))) != 0) leaves.push_back(causes_[i].leaf);
  }
  DAYBOOK_CHECK(!leaves.empty());
  // Where each of several repairs would do, none of them is the cause.
  const auto relation = least.size() > 1 ? CauseSet::Relation::one_of : CauseSet::Relation::joint;
  return CachePortion::of(CauseSet::of(relation, std::move(leaves)), tokens);
}

std::vector<CachePortion> CacheTrial::split(std::uint64_t from, std::uint64_t ideal) {
  const std::size_t bits = std::min(causes_.size(), kMostCauses);
  std::set<std::uint64_t> levels;
  for (Mask mask = 0; mask < (Mask{1} << bits); ++mask) {
    const std::uint64_t level = std::min(reach(mask), ideal);
    if (level > from) levels.insert(level);
  }
  std::vector<CachePortion> portions;
  for (const std::uint64_t level : levels) {
    portions.push_back(portion(level, level - from));
    from = level;
  }
  return portions;
}

/// A transcript's texts may be few of the tokens: no more was there than the figures say.
std::optional<std::uint64_t> CacheTrial::left_by_baseline() const {
  if (now_.evidence == schema::Evidence::exact || !before_.input()) return std::nullopt;
  const bool told = before_rules_.reports_writes && before_.usage.cache_write.has_value();
  const std::uint64_t cached = before_.read() + before_.usage.cache_write.value_or(0);
  // One that wrote nothing should have.
  return told && cached > 0 ? cached : *before_.input();
}

TrialResult CacheTrial::run() {
  TrialResult result;
  find_causes();
  choose_world();
  const std::uint64_t actual = std::min(now_.read(), *now_.input());
  const Mask all = (Mask{1} << std::min(causes_.size(), kMostCauses)) - 1;
  result.predicted = read(0, false);
  const CacheRead full = read(all, false);
  std::uint64_t ideal = std::min(full.tokens, *now_.input());
  std::uint64_t raw = std::min(read(all, true).tokens, *now_.input());
  if (const auto left = left_by_baseline()) {
    ideal = std::min(ideal, *left);
    raw = std::min(raw, *left);
  }
  result.causes = causes_;
  if (!now_.usage.cache_read) {
    if (ideal > 0) result.lost.push_back({CauseSet::sole(Leaf::unmeasured), ideal, {}});
    return result;
  }
  result.contradicted = now_.evidence == schema::Evidence::exact && actual > result.predicted.most;
  if (full.allows(actual)) ideal = actual;
  std::uint64_t from = actual;
  if (ideal > from) {
    const std::uint64_t expected = std::min(result.predicted.tokens, ideal);
    if (!result.predicted.allows(actual) && expected > from) {
      result.lost.push_back({undecided(actual), expected - from, {}});
      from = expected;
    }
    floor_ = {result.predicted.tokens, from};
    for (CachePortion& each : split(from, ideal)) {
      from += each.tokens;
      result.lost.push_back(std::move(each));
    }
    if (ideal > from) result.lost.push_back({undecided(actual), ideal - from, {}});
  }
  const std::uint64_t top = std::max(ideal, actual);
  // Without blocks, or beyond one, it is only the estimate of the tokens that is off.
  const CacheRules& served_by = rules_for(repaired(all));
  const std::uint64_t block = std::max<std::uint64_t>(served_by.granularity.most, 1);
  if (const std::uint64_t rest = std::min(raw - std::min(raw, top), block - 1); rest > 0) {
    result.lost.push_back({rounding(rest, served_by), rest, {}});
  }
  if (open_expiry_) std::ranges::for_each(result.lost, [&](auto& each) { leave_open(each); });
  return result;
}

}  // namespace daybook::replay
