#include "replay/cache_attribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>
#include <unordered_set>

#include "replay/cache_trial.h"

namespace daybook::replay {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::size_t kCallsKept = 64;    // of a chain
constexpr std::size_t kRecentKept = 128;  // of all chains
constexpr std::size_t kChainsKept = 1024;
/// Requests a minute with one cache key from which on some go to another machine.
constexpr std::size_t kOverflowPerMinute = 15;

struct DigestHash {
  std::size_t operator()(const Digest& digest) const { return digest.lo; }
};

bool same_scope(const CacheCall& a, const CacheCall& b, const CacheRules& rules) {
  const auto counts = [&](ScopePart part) {
    return rules.scope[static_cast<std::size_t>(part)] == RuleTruth::yes;
  };
  return (!counts(ScopePart::provider) || a.scope.provider == b.scope.provider) &&
         (!counts(ScopePart::model) || a.scope.model == b.scope.model) &&
         (!counts(ScopePart::key) || a.scope.key == b.scope.key) &&
         (!counts(ScopePart::tier) || a.scope.tier == b.scope.tier) &&
         (!counts(ScopePart::workspace) || a.scope.workspace == b.scope.workspace) &&
         (!counts(ScopePart::region) || a.scope.region == b.scope.region);
}

}  // namespace

CachePortion CachePortion::of(CauseSet causes, std::uint64_t tokens) {
  CachePortion made{std::move(causes), tokens, {}};
  if (made.causes.relation != CauseSet::Relation::joint) return made;
  const std::size_t parts = made.causes.leaves.size();
  for (std::size_t i = 0; i < parts; ++i) {
    made.shares.push_back(tokens * (i + 1) / parts - tokens * i / parts);
  }
  return made;
}

std::uint64_t CallVerdict::lost_tokens() const {
  std::uint64_t sum = 0;
  for (const CachePortion& portion : lost) sum += portion.tokens;
  return sum;
}

const CachePortion* CallVerdict::main_loss() const {
  const auto found = std::ranges::max_element(lost, {}, &CachePortion::tokens);
  return found == lost.end() ? nullptr : &*found;
}

CacheAttributor::CacheAttributor(const CacheRuleBook& book, SegmentBytes bytes)
    : book_(book), bytes_(std::move(bytes)), completer_(book) {}

CacheAttributor::~CacheAttributor() = default;

/// Of branches that take turns, the one that the call goes on with: the longest call that it begins
/// with, unless another one goes on from there already. Then it branches.
CacheAttributor::Shared CacheAttributor::open_branch(const std::vector<Shared>& pool,
                                                     const CacheCall& call) {
  const auto begins_with = [](const CacheCall& longer, const CacheCall& shorter) {
    return common_prefix(shorter.segments, longer.segments) == shorter.segments.size();
  };
  Shared longest;
  for (const Shared& each : pool) {
    const bool longer = longest == nullptr || each->segments.size() > longest->segments.size();
    if (longer && begins_with(call, *each)) longest = each;
  }
  if (longest == nullptr) return nullptr;
  const bool continued = std::ranges::any_of(pool, [&](const Shared& each) {
    return each->segments.size() > longest->segments.size() && begins_with(*each, *longest);
  });
  return continued ? nullptr : longest;
}

/// The call of the same chain that this one goes on from.
CacheAttributor::Shared CacheAttributor::predecessor(const CacheCall& call) const {
  const auto found = chains_.find(chain_key(call.session, call.lineage));
  if (found != chains_.end() && !found->second.calls.empty()) {
    const Shared& last = found->second.calls.back();
    if (common_prefix(last->segments, call.segments) == last->segments.size()) return last;
  }
  std::vector<Shared> pool;
  if (found != chains_.end()) pool.assign(found->second.calls.begin(), found->second.calls.end());
  if (pool.empty() && call.forked) {
    const auto ours = [&](const Shared& each) { return each->session == call.parent; };
    std::ranges::copy_if(recent_, std::back_inserter(pool), ours);
  }
  if (pool.empty()) return nullptr;
  if (common_prefix(pool.back()->segments, call.segments) == pool.back()->segments.size()) {
    return pool.back();
  }
  if (auto branch = open_branch(pool, call)) return branch;
  if (call.base_version != 0 && call.evidence == schema::Evidence::exact) {
    const auto base = std::ranges::find(pool, call.base_version,
                                        [](const Shared& each) { return each->request_version; });
    if (base != pool.end()) return *base;
  }
  // The one it shares most with; of several the latest.
  std::unordered_set<Digest, DigestHash> ours;
  for (const CacheSegment& segment : call.segments) ours.insert(segment.content);
  Shared best;
  std::uint64_t most = 0;
  bool best_has_message = false;
  for (auto each = pool.rbegin(); each != pool.rend(); ++each) {
    std::uint64_t bytes = 0;
    bool message = false;
    for (const CacheSegment& segment : (*each)->segments) {
      if (!ours.contains(segment.content)) continue;
      bytes += segment.bytes + 1;
      message = message || segment.area == CacheArea::messages;
    }
    if (best != nullptr && bytes <= most) continue;
    best = *each;
    most = bytes;
    best_has_message = message;
  }
  if (best_has_message || call.after_compaction) return best;
  // Without a message in common it is a chain of its own, unless it has grown.
  const std::size_t now = area_of(call, CacheArea::messages).size();
  const std::size_t before = area_of(*best, CacheArea::messages).size();
  return now > before ? best : nullptr;
}

/// Whether a transcript lets a request go on from one that was larger: then it was another request,
/// made of something that the transcript does not show.
bool CacheAttributor::is_refuted(const CallVerdict& verdict) {
  const CacheCall& call = *verdict.call;
  const CacheCall* before = verdict.baseline.get();
  if (call.evidence != schema::Evidence::rebuilt || !verdict.measured || before == nullptr ||
      !before->input() || verdict.input >= *before->input()) {
    return false;
  }
  // Reasoning that is no longer sent makes a request smaller, too.
  const auto strips = [](const CacheSegment& segment) { return segment.stripped != Digest{}; };
  return common_prefix(before->segments, call.segments) == before->segments.size() &&
         std::ranges::none_of(before->segments, strips);
}

/// A call of another chain with the same beginning, cut to it.
CacheAttributor::Shared CacheAttributor::shared_beginning(const CacheCall& call) const {
  const CacheRules& rules = book_.rules(call);
  const auto life = static_cast<std::int64_t>(rules.ttl_s.most) * kSecond;
  Shared best;
  std::size_t length = 0;
  for (auto each = recent_.rbegin(); each != recent_.rend(); ++each) {
    const auto gap = gap_between((*each)->sent(), call.sent());
    if (gap && gap->least >= life) continue;
    if (!same_scope(**each, call, rules)) continue;
    if (&book_.rules(**each) != &rules) continue;
    const std::size_t shared = common_prefix((*each)->segments, call.segments);
    if (shared <= length) continue;
    if (rules.lookup == CacheLookup::endings && shared < (*each)->segments.size()) continue;
    best = *each;
    length = shared;
  }
  if (best == nullptr) return nullptr;
  auto cut = std::make_shared<CacheCall>(*best);
  cut->segments.shorten(length);
  std::erase_if(cut->marks, [&](const CacheMark& mark) { return mark.segment >= length; });
  if (rules.lookup == CacheLookup::markers) {
    if (cut->marks.empty()) return nullptr;
    cut->segments.shorten(cut->marks.back().segment + 1);
  }
  // Its total is that of the whole request, not of this beginning.
  cut->usage.input_total.reset();
  cut->usage.input_uncached.reset();
  return cut;
}

CacheAttributor::Baseline CacheAttributor::baseline_of(const CacheCall& call, Shared before) const {
  if (before != nullptr) return {std::move(before), false};
  return {shared_beginning(call), true};
}

/// Where branches take turns, a call waited for the answer that it goes on from, and not for the
/// lines of the others.
void CacheAttributor::bound_start(CacheCall& call, const Shared& before) {
  if (before != nullptr && call.evidence == schema::Evidence::rebuilt) {
    Chain& chain = chains_[chain_key(call.session, call.lineage)];
    const bool whole = common_prefix(before->segments, call.segments) == before->segments.size();
    const bool other = !chain.calls.empty() && chain.calls.back() != before;
    chain.turns = chain.turns || (whole && other);
    if (chain.turns) {
      call.not_before = before->end;
      return;
    }
  }
  bounds_.narrow(call);
}

/// The chain's latest call that left something where this one reads.
CacheAttributor::Shared CacheAttributor::last_in_scope(const CacheCall& call) const {
  const auto found = chains_.find(chain_key(call.session, call.lineage));
  if (found == chains_.end()) return nullptr;
  const CacheRules& rules = book_.rules(call);
  const auto& calls = found->second.calls;
  const auto last = std::find_if(calls.rbegin(), calls.rend(), [&](const Shared& each) {
    return same_scope(*each, call, rules);
  });
  return last == calls.rend() ? nullptr : *last;
}

std::string CacheAttributor::provider_hint(const CacheCall& call) const {
  const auto busy = std::ranges::count_if(recent_, [&](const Shared& each) {
    return call.start - each->start < 60 * kSecond && each->scope == call.scope;
  });
  return static_cast<std::size_t>(busy) > kOverflowPerMinute
             ? fmt::format("{} calls of this scope in a minute: some go to another machine", busy)
             : "evicted early, or answered by another machine";
}

void CacheAttributor::attribute(CallVerdict& verdict, const Baseline& baseline) {
  const CacheCall& call = *verdict.call;
  const bool elsewhere = !baseline.cold && !same_scope(*baseline.call, call, book_.rules(call));
  const Shared own = elsewhere ? last_in_scope(call) : nullptr;
  CacheTrial trial(*baseline.call, call, book_, store_, scale_, baseline.cold, bytes_, own.get());
  TrialResult result = trial.run();
  verdict.causes = std::move(result.causes);
  // Elsewhere the trial looks at what the baseline left.
  const auto gap = own == nullptr ? std::nullopt : verdict.gap();
  for (CacheCause& cause : verdict.causes) {
    const bool time = cause.leaf == Leaf::ttl || cause.leaf == Leaf::ttl_by_generation;
    const RuleRange life{verdict.life_s, verdict.life_s};
    if (time && gap) cause.detail = expiry_detail(*gap, life);
  }
  verdict.predicted = result.predicted;
  verdict.lost = std::move(result.lost);
  verdict.contradicted = result.contradicted;
  const auto is_provider = [](const CachePortion& portion) {
    return portion.causes.contains(Leaf::provider);
  };
  if (std::ranges::any_of(verdict.lost, is_provider)) verdict.hint = provider_hint(call);
}

void CacheAttributor::by_figures(CallVerdict& verdict) {
  const CacheCall& call = *verdict.call;
  if (!verdict.measured) {
    ladder_.pass(call);
    return;
  }
  auto finding = ladder_.take(call, book_.rules(call));
  if (finding.first) verdict.fresh_leaf = Leaf::cold;
  verdict.since = finding.since;
  verdict.life_s = finding.life_s;
  verdict.contradicted = finding.contradicted;
  if (const auto gap = verdict.gap()) {
    const RuleRange life{finding.life_s, finding.life_s};
    for (const Leaf leaf : finding.expired) {
      verdict.causes.push_back({leaf, expiry_detail(*gap, life), std::nullopt, std::nullopt});
    }
  }
  for (auto& [causes, tokens] : finding.lost) {
    verdict.lost.push_back({std::move(causes), tokens});
  }
  verdict.fresh = verdict.input - verdict.read - verdict.lost_tokens();
}

/// Behind a change of the model and back it is the use before the change that matters.
void CacheAttributor::note_last_use(CallVerdict& verdict) const {
  const CacheCall& call = *verdict.call;
  const bool same = same_scope(*verdict.baseline, call, book_.rules(call));
  Shared own = same ? nullptr : last_in_scope(call);
  const CacheCall& used = own == nullptr ? *verdict.baseline : *own;
  verdict.since = used.sent();
  verdict.life_s = book_.rules(used)
                       .life_s(used.marks.empty() ? schema::CacheTtl::none : used.marks.back().ttl)
                       .least;
}

CallVerdict CacheAttributor::take(CacheCall given) {
  completer_.complete(given);
  Shared before = given.evidence == schema::Evidence::usage_only ? nullptr : predecessor(given);
  bound_start(given, before);
  CallVerdict verdict;
  verdict.call = std::make_shared<const CacheCall>(std::move(given));
  const CacheCall& call = *verdict.call;
  verdict.measured = call.input().has_value();
  if (verdict.measured) {
    verdict.input = *call.input();
    verdict.read = std::min(call.read(), verdict.input);
  }
  if (call.evidence == schema::Evidence::usage_only) {
    by_figures(verdict);
    return verdict;
  }
  const Baseline baseline = baseline_of(call, std::move(before));
  const bool begins = baseline.call == nullptr || baseline.cold;
  if (begins && !has_lost_track(call)) verdict.fresh_leaf = Leaf::cold;
  if (!baseline.cold) verdict.baseline = baseline.call;
  if (verdict.baseline != nullptr) note_last_use(verdict);
  if (verdict.measured && !call.segments.empty()) {
    const Prompt prompt = layout(call, book_.rules(call), {});
    // The figure for a marker goes first: providers count a few tokens behind the last one.
    const std::uint64_t cached = verdict.read + call.usage.cache_write.value_or(0);
    if (book_.rules(call).lookup == CacheLookup::markers && !prompt.marks.empty() && cached > 0) {
      scale_.pin(prompt, prompt.marks.back().segment, cached);
    }
    scale_.pin(prompt, prompt.points.size() - 1, verdict.input);
  }
  if (is_refuted(verdict)) {
    by_figures(verdict);
  } else {
    if (baseline.call != nullptr && verdict.measured) attribute(verdict, baseline);
    if (call.evidence == schema::Evidence::rebuilt) compare_with_figures(verdict);
  }
  DAYBOOK_CHECK(verdict.read + verdict.lost_tokens() <= verdict.input);
  verdict.fresh = verdict.input - verdict.read - verdict.lost_tokens();
  remember(verdict);
  return verdict;
}

/// A transcript's tokens are estimates: whether a call read too much is told by the figures. And
/// what others used lives where their markers stood, which no transcript shows.
void CacheAttributor::compare_with_figures(CallVerdict& verdict) {
  const CacheCall& call = *verdict.call;
  if (!verdict.measured) return ladder_.pass(call);
  const auto finding = ladder_.take(call, book_.rules(call));
  verdict.contradicted = verdict.contradicted || finding.contradicted;
  if (finding.kept == 0 && finding.kept_before == 0) return;
  std::vector<CachePart> parts;
  for (CachePortion& portion : verdict.lost) {
    parts.emplace_back(std::move(portion.causes), portion.tokens);
  }
  verdict.lost.clear();
  for (auto& [causes, tokens] : shared_left_open(std::move(parts), verdict.read, finding)) {
    verdict.lost.push_back(CachePortion::of(std::move(causes), tokens));
  }
}

/// What a call left whose input is not known, another model's or a compacted one, is not what the
/// chain had before it, and not known.
void CacheAttributor::pass(const CacheCall& call) {
  const auto found = chains_.find(chain_key(call.session, call.lineage));
  if (found == chains_.end() || found->second.calls.empty()) return;
  const bool same = call.scope.may_be(found->second.calls.back()->scope);
  if (!same || call.after_compaction) found->second.calls.clear();
}

/// Whether the chain began, and nothing is known of what it left.
bool CacheAttributor::has_lost_track(const CacheCall& call) const {
  const auto found = chains_.find(chain_key(call.session, call.lineage));
  return found != chains_.end() && found->second.calls.empty();
}

void CacheAttributor::adopt(CacheCall copy) {
  bounds_.narrow(copy);
  completer_.complete(copy);
  if (copy.evidence != schema::Evidence::exact) ladder_.adopt(copy, book_.rules(copy));
  if (copy.evidence == schema::Evidence::usage_only) return;
  if (!copy.input()) return pass(copy);
  if (copy.answered) extend_chain(std::make_shared<const CacheCall>(std::move(copy)));
}

void CacheAttributor::remember(const CallVerdict& verdict) {
  const CacheCall& call = *verdict.call;
  if (!verdict.measured) pass(call);
  const CacheRules& rules = book_.rules(call);
  const std::int64_t first_byte = call.first_byte != 0 ? call.first_byte : call.end;
  // Without a byte of an answer nothing says that the request was processed.
  if (!call.answered && call.first_byte == 0) return;
  const Prompt prompt = layout(call, rules, {});
  const CacheRead read = store_.read(prompt, rules, call.sent(), {}, scale_);
  // A read that ends at a marker tells how many tokens precede it.
  if (rules.lookup == CacheLookup::markers && read.point && verdict.read > 0 &&
      read.allows(verdict.read)) {
    scale_.pin(prompt, *read.point, verdict.read);
  }
  const auto use = [&](const Prompt& used, const CacheRead& reads) {
    // Of a call whose input is not known nobody knows what it left.
    verdict.measured
        ? store_.write(used, rules, call.sent(), std::max(first_byte, call.start), reads)
        : store_.refresh(used, rules, call.sent(), reads);
  };
  use(prompt, read);
  if (std::ranges::find(rules.scope, RuleTruth::maybe) != std::end(rules.scope)) {
    const Prompt apart = layout(call, rules, {true, std::nullopt});
    use(apart, store_.read(apart, rules, call.sent(), {}, scale_));
  }
  if (!call.answered || !verdict.measured) return;
  extend_chain(verdict.call);
  recent_.push_back(verdict.call);
  if (recent_.size() > kRecentKept) recent_.pop_front();
}

void CacheAttributor::extend_chain(const Shared& call) {
  Chain& chain = chains_[chain_key(call->session, call->lineage)];
  chain.used = ++clock_;
  chain.calls.push_back(call);
  if (chain.calls.size() > kCallsKept) chain.calls.pop_front();
  if (chains_.size() > kChainsKept) {
    chains_.erase(
        std::ranges::min_element(chains_, {}, [](const auto& item) { return item.second.used; }));
  }
}

}  // namespace daybook::replay
