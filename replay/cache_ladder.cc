#include "replay/cache_ladder.h"

#include <fmt/format.h>

#include <algorithm>

namespace daybook::replay {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::size_t kRungsKept = 256;
constexpr std::size_t kChainsKept = 4096;
constexpr std::size_t kModelsKept = 16;  // of a chain
/// A context that is smaller than this share of the one before was cut, not edited.
constexpr std::uint64_t kDropPercent = 60;

std::uint64_t tolerance(const CacheRules& rules) {
  return std::max<std::uint64_t>(rules.granularity.most, 1);
}

/// As much of that many tokens as the provider can serve: whole blocks, of the least size at least.
std::uint64_t servable(std::uint64_t tokens, const CacheRules& rules) {
  return tokens - tokens % std::max<std::uint64_t>(rules.granularity.least, 1);
}

/// Why a call of `input` tokens wrote nothing and read nothing.
CauseSet left_nothing(std::uint64_t input, const CacheRules& rules) {
  if (input < rules.min_tokens.least) return CauseSet::sole(Leaf::below_minimum);
  auto leaves = leaves_of({"P6.missing", "U1"});
  if (input < rules.min_tokens.most) leaves.push_back(Leaf::below_minimum);
  return CauseSet::of(CauseSet::Relation::one_of, std::move(leaves));
}

}  // namespace

schema::CacheTtl written_ttl(const CacheCall& call) {
  if (call.usage.cache_write_1h.value_or(0) > 0) return schema::CacheTtl::hour_1;
  if (call.usage.cache_write_5m.value_or(0) > 0) return schema::CacheTtl::minutes_5;
  return schema::CacheTtl::none;
}

std::string seconds_text(const TimeGap& gap) {
  const std::int64_t least = std::max<std::int64_t>(gap.least, 0) / kSecond;
  const std::int64_t most = std::max<std::int64_t>(gap.most, 0) / kSecond;
  return least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most);
}

std::string expiry_detail(const TimeGap& gap, const RuleRange& life_s) {
  return fmt::format("{} s since the last use, lives {} s", seconds_text(gap), life_s.least);
}

Expiry expiry(const TimeGap& gap, std::int64_t end, const TimeSpan& now, const RuleRange& life_s) {
  const auto least = static_cast<std::int64_t>(life_s.least) * kSecond;
  const auto most = static_cast<std::int64_t>(life_s.most) * kSecond;
  Expiry made;
  if (gap.most < least) return made;
  made.sure = gap.least >= most;
  // T2 where the time since the answer alone would not have been too long.
  if (end == 0 || now.latest - end >= least) made.leaves.push_back(Leaf::ttl);
  if (end != 0 && now.earliest - end < least) made.leaves.push_back(Leaf::ttl_by_generation);
  return made;
}

Expiry CacheLadder::expiry_of(const Step& last, const Step& now) {
  const auto gap = gap_between(last.sent, now.sent);
  if (gap) return expiry(*gap, last.end, now.sent, last.rules->life_s(last.ttl));
  // Of calls without a time nobody knows how far they are apart.
  Expiry unknown;
  unknown.leaves = {Leaf::ttl, Leaf::ttl_by_generation};
  return unknown;
}

/// Causes that keep a call from reading what the last one left, whatever it was.
std::vector<Leaf> CacheLadder::certain_causes(const Step& last, const Step& now) {
  const CacheRules& rules = *now.rules;
  const auto changed = [&](ScopePart part, const std::string& a, const std::string& b) {
    return rules.scope[static_cast<std::size_t>(part)] == RuleTruth::yes && a != b && !a.empty() &&
           !b.empty();
  };
  std::vector<Leaf> certain;
  if (changed(ScopePart::model, last.model, now.model)) certain.push_back(Leaf::model);
  if (changed(ScopePart::tier, last.tier, now.tier)) certain.push_back(Leaf::scope_tier);
  if (changed(ScopePart::region, last.region, now.region)) certain.push_back(Leaf::scope_region);
  if (changed(ScopePart::provider, last.provider, now.provider)) {
    certain.push_back(Leaf::scope_provider);
  }
  if (rules.ttl_flip_misses && last.ttl != schema::CacheTtl::none &&
      now.ttl != schema::CacheTtl::none && last.ttl != now.ttl) {
    certain.push_back(Leaf::marker_ttl_flip);
  }
  if (!now.sent.known() || !last.sent.known()) return certain;
  if (const Expiry expired = expiry_of(last, now); expired.decided()) {
    certain.push_back(expired.leaves.front());
  }
  if (last.rules->readable_at_first_byte && last.first_byte > now.sent.latest) {
    certain.push_back(Leaf::concurrency);
  }
  return certain;
}

/// Of a call that changes the model: the chain's latest one that had it; null: none.
const CacheLadder::Step* CacheLadder::own_before(const Chain& chain, const Step& now) {
  if (chain.last.model == now.model) return nullptr;
  const auto found = chain.by_model.find(now.model);
  return found == chain.by_model.end() ? nullptr : &found->second;
}

CauseSet CacheLadder::explain(const Chain& chain, const Step& now, const CacheCall& call) const {
  const Step& last = chain.last;
  const std::uint64_t read = call.read();
  // What changed the scope, or let time pass, explains a read of nothing whatever else happened.
  const std::uint64_t slack = tolerance(*now.rules);
  const bool nothing = read < slack;
  const Expiry expired = expiry_of(last, now);
  std::vector<Leaf> possible;
  if (expired.open()) possible = expired.leaves;
  const bool cut = now.input * 100 < last.input * kDropPercent;
  auto certain = certain_causes(last, now);
  if (call.after_compaction) {
    if (!nothing && certain.empty() && possible.empty()) return CauseSet::sole(Leaf::compaction);
    // What precedes the messages was not compacted, and not read either. How much of it that is no
    // figure says.
    auto leaves = certain.empty() ? leaves_of({"P2", "P3", "P5", "P6", "P8", "U1"}) : certain;
    leaves.insert(leaves.end(), possible.begin(), possible.end());
    leaves.push_back(Leaf::compaction);
    return CauseSet::of(CauseSet::Relation::one_of, std::move(leaves));
  }
  const Step* own = own_before(chain, now);
  if (own != nullptr && own->cached > read + slack) {
    // What this model had left itself was there, or was lost for a reason of its own.
    const Expiry its_own = expiry_of(*own, now);
    possible.insert(possible.end(), its_own.leaves.begin(), its_own.leaves.end());
    if (!its_own.sure) {
      for (const Leaf leaf : leaves_of({"E3", "P2", "P3", "P4", "P5", "P6", "P8", "S1", "U1"})) {
        possible.push_back(leaf);
      }
    }
  }
  if (!certain.empty()) {
    // What is no longer sent was lost to no clock.
    if (cut) {
      for (const Leaf leaf : leaves_of({"E2", "E3", "P4.deleted"})) possible.push_back(leaf);
    }
    const bool all = possible.empty();
    certain.insert(certain.end(), possible.begin(), possible.end());
    return CauseSet::of(all ? CauseSet::Relation::joint : CauseSet::Relation::one_of,
                        std::move(certain));
  }
  // Of T1 and T2 one, and nothing else.
  if (expired.sure) return CauseSet::of(CauseSet::Relation::one_of, std::move(possible));
  const auto add = [&](std::initializer_list<std::string_view> families) {
    const auto more = leaves_of(families);
    possible.insert(possible.end(), more.begin(), more.end());
  };
  if (cut) {
    add({"E2", "E3", "P4.deleted"});
    if (nothing) add({"P2", "P3", "P5", "U1"});
    return CauseSet::of(CauseSet::Relation::one_of, std::move(possible));
  }
  if (now.input < last.input) add({"E2", "E3"});
  if (nothing) {
    // Nothing at all: from the tools on, or the system, or nothing was marked, or it is gone.
    // Without a rung behind the system prompt the messages may be meant, too.
    add({"P2", "P3", "P4", "P5", "P6", "P8", "S1", "U1"});
    // What is known to have been cached was long enough.
    if (!last.writes_told && last.cached < last.rules->min_tokens.most) add({"P7"});
  } else {
    // Up to the end of an earlier call: the history diverged behind it. Anywhere else may be the
    // end of the system prompt or of the tools.
    const bool on_rung = std::ranges::any_of(chain.rungs, [&](std::uint64_t rung) {
      return rung > chain.floor + slack && rung + slack > read && read + slack > rung;
    });
    add({"E3", "P4", "P6", "S1", "U1"});
    if (!on_rung) add({"P3", "P5"});
    // Where any prefix counts, some of the tools may have been read.
    if (!on_rung && now.rules->lookup == CacheLookup::prefix) add({"P2"});
  }
  return CauseSet::of(CauseSet::Relation::one_of, std::move(possible));
}

/// Of less than a block. From the smallest block on, and where nothing was read, it may also be
/// what changed, or the time, that kept it from being read.
CauseSet CacheLadder::rounding(std::uint64_t lost, const Step& last, const Step& now,
                               const CacheCall& call) {
  const RuleRange& block = last.rules->granularity;
  if (lost < std::max<std::uint64_t>(block.least, 1)) return CauseSet::sole(Leaf::granularity);
  if (call.read() > 0) {
    return CauseSet::of(CauseSet::Relation::one_of,
                        call.after_compaction ? leaves_of({"E2", "R1"}) : leaves_of({"R1"}));
  }
  auto leaves = certain_causes(last, now);
  if (call.after_compaction) leaves.push_back(Leaf::compaction);
  const Expiry expired = expiry_of(last, now);
  leaves.insert(leaves.end(), expired.leaves.begin(), expired.leaves.end());
  leaves.push_back(Leaf::granularity);
  return CauseSet::of(CauseSet::Relation::one_of, std::move(leaves));
}

/// What the last call left was shorter than what is cached at all, whatever else happened.
CauseSet CacheLadder::too_short(const Step& last, const Step& now, const CacheCall& call) {
  auto leaves = certain_causes(last, now);
  if (call.after_compaction) leaves.push_back(Leaf::compaction);
  leaves.push_back(Leaf::below_minimum);
  return CauseSet::of(CauseSet::Relation::joint, std::move(leaves));
}

/// The sessions that share a history, and how many tokens of it with this one.
std::map<std::string, std::uint64_t> CacheLadder::relatives(const std::string& key) const {
  std::map<std::string, std::uint64_t> found;
  std::vector<std::string> open = {key};
  while (!open.empty()) {
    const std::string at = std::move(open.back());
    open.pop_back();
    const auto chain = chains_.find(at);
    if (chain == chains_.end()) continue;
    for (const auto& [other, tokens] : chain->second.shared) {
      const std::uint64_t both = at == key ? tokens : std::min(tokens, found.at(at));
      if (other == key || both <= found[other]) continue;
      found[other] = both;
      open.push_back(other);
    }
  }
  return found;
}

void CacheLadder::note_others(Finding& finding, const Chain& chain, const Step& now,
                              const CacheCall& call) const {
  if (chain.shared.empty()) return;
  for (const auto& [key, tokens] : relatives(chain_key(call.session, call.lineage))) {
    const auto found = chains_.find(key);
    if (found == chains_.end()) continue;
    const Step& used = found->second.last;
    if (expiry_of(used, now).sure) continue;
    if (used.scope().may_be(now.scope())) finding.kept = std::max(finding.kept, tokens);
    if (used.scope().may_be(chain.last.scope())) {
      finding.kept_before = std::max(finding.kept_before, tokens);
    }
  }
}

std::vector<CachePart> shared_left_open(std::vector<CachePart> lost, std::uint64_t read,
                                        const CacheLadder::Finding& finding) {
  const auto all_of = [](const CauseSet& causes, std::initializer_list<std::string_view> families) {
    return std::ranges::all_of(causes.leaves, [&](Leaf leaf) {
      return std::ranges::find(families, info_of(leaf).family) != families.end();
    });
  };
  std::vector<CachePart> parts;
  for (CachePart& part : lost) {
    const bool decided = part.first.relation != CauseSet::Relation::one_of;
    const bool time_or_scope = all_of(part.first, {"T1", "T2", "P1", "P8"});
    // In the scope before only a clock can have been in the way, if anything was.
    const bool clock = !all_of(part.first, {"P1", "P8"}) || !finding.expired.empty();
    const std::uint64_t kept = clock ? std::max(finding.kept, finding.kept_before) : finding.kept;
    const std::uint64_t end = read + part.second;
    if (decided && time_or_scope && read < kept) {
      auto leaves = leaves_of({"P2", "P3", "P4", "P5", "P6", "P8", "S1", "U1", "T1", "T2"});
      leaves.insert(leaves.end(), part.first.leaves.begin(), part.first.leaves.end());
      const std::uint64_t until = std::min(end, kept);
      parts.emplace_back(CauseSet::of(CauseSet::Relation::one_of, std::move(leaves)), until - read);
      part.second = end - until;
    }
    if (part.second > 0) parts.push_back(std::move(part));
    read = end;
  }
  return parts;
}

void CacheLadder::remember(Chain& chain, const Step& now, const CacheCall& call) {
  if (!chain.any) chain.floor = call.read();
  const std::uint64_t read = call.read();
  if (read != 0 && (chain.floor == 0 || read < chain.floor)) chain.floor = read;
  chain.any = true;
  chain.last = now;
  if (chain.by_model.size() < kModelsKept || chain.by_model.contains(now.model)) {
    chain.by_model.insert_or_assign(now.model, now);
  }
  if (std::ranges::find(chain.rungs, now.cached) == chain.rungs.end()) {
    chain.rungs.push_back(now.cached);
  }
  if (chain.rungs.size() > kRungsKept) chain.rungs.erase(chain.rungs.begin());
}

CacheLadder::Chain& CacheLadder::chain_of(const CacheCall& call) {
  if (chains_.size() > kChainsKept) {
    chains_.erase(
        std::ranges::min_element(chains_, {}, [](const auto& item) { return item.second.used; }));
  }
  Chain& chain = chains_[chain_key(call.session, call.lineage)];
  chain.used = ++clock_;
  return chain;
}

/// More than anybody of the same scope is known to have left. What the first call of a chain reads,
/// or the first with another model, may be older than the log.
bool CacheLadder::contradicts(const Chain& chain, const Step& now, const CacheCall& call,
                              const CacheRules& rules) {
  std::uint64_t& left = left_[now.provider + '\n' + now.model];
  const bool known = chain.any && chain.last.cached_known && chain.last.model == now.model &&
                     chain.last.provider == now.provider;
  const bool more = known && call.read() > left + tolerance(rules);
  // Where writes are not reported, an answer may have been cached with its request.
  const std::uint64_t answer = now.writes_told ? 0 : call.usage.output.value_or(0);
  left = std::max({left, now.cached + answer, call.read()});
  return more;
}

/// What the call before left is what its own rules let it leave.
void CacheLadder::find_losses(Finding& finding, const Chain& chain, const Step& now,
                              const CacheCall& call) const {
  const Step& last = chain.last;
  const CacheRules& rules = *last.rules;
  const std::uint64_t read = std::min(call.read(), now.input);
  const Step* own = own_before(chain, now);
  const Step& used = own == nullptr ? last : *own;
  finding.since = used.sent;
  finding.expired = expiry_of(last, now).leaves;
  finding.life_s = used.rules->life_s(used.ttl).least;
  const std::uint64_t common = std::min(last.cached, now.input);
  if (!call.usage.cache_read) {
    finding.reusable = servable(common, rules);
    if (finding.reusable > 0) {
      finding.lost.emplace_back(CauseSet::sole(Leaf::unmeasured), finding.reusable);
    }
    return;
  }
  if (last.cached == 0 && last.writes_told && read == 0) {
    // The call before left nothing: it was too short, or had no marker.
    if (!last.cached_known) return;
    finding.reusable = std::min(last.input, now.input);
    finding.lost.emplace_back(left_nothing(last.input, rules), finding.reusable);
    return;
  }
  const bool short_of_it = !last.writes_told && common < rules.min_tokens.least;
  finding.reusable = short_of_it ? common : servable(common, rules);
  if (read >= finding.reusable) return;
  const std::uint64_t lost = finding.reusable - read;
  // Of writes that are not told, what is too short to be one of its own may not have been written.
  const bool untold = rules.known && rules.reports_writes && !last.writes_told;
  if (untold && read > 0 && lost < rules.min_tokens.least) return;
  const bool rest = lost < tolerance(rules);
  CauseSet causes = short_of_it           ? too_short(last, now, call)
                    : rest && rules.known ? rounding(lost, last, now, call)
                                          : explain(chain, now, call);
  if (!short_of_it && rest && !rules.known) {
    causes.leaves.push_back(Leaf::granularity);
    causes = CauseSet::of(CauseSet::Relation::one_of, std::move(causes.leaves));
  }
  const bool decided = causes.relation != CauseSet::Relation::one_of;
  const bool shorter = now.input < last.cached && !call.after_compaction && !rest && !short_of_it;
  if (decided && shorter) {
    // What is no longer sent was lost to no clock, and from where on that is no figure says.
    for (const Leaf leaf : leaves_of({"E2", "E3", "P4.deleted"})) causes.leaves.push_back(leaf);
    causes = CauseSet::of(CauseSet::Relation::one_of, std::move(causes.leaves));
  }
  finding.lost.emplace_back(std::move(causes), lost);
}

CacheLadder::Step CacheLadder::step_of(const CacheCall& call, const CacheRules& rules,
                                       const Chain& chain) {
  const std::uint64_t input = *call.input();
  const std::uint64_t read = std::min(call.read(), input);
  const bool told = rules.reports_writes && call.usage.cache_write.has_value();
  // Without its writes an input that is no total is a part of it.
  const bool part = rules.reports_writes && !told && !call.usage.input_total;
  Step now{call.sent(),
           call.first_byte,
           call.end,
           input,
           told   ? read + *call.usage.cache_write
           : part ? read
                  : input,
           told,
           !part,
           call.scope.model,
           call.scope.tier,
           call.scope.provider,
           call.scope.region,
           written_ttl(call),
           &rules};
  if (now.ttl == schema::CacheTtl::none && chain.any) now.ttl = chain.last.ttl;
  return now;
}

CacheLadder::Finding CacheLadder::take(const CacheCall& call, const CacheRules& rules) {
  Chain& chain = chain_of(call);
  const Step now = step_of(call, rules, chain);
  Finding finding;
  finding.first = !chain.any;
  finding.contradicted = contradicts(chain, now, call, rules);
  if (chain.any) {
    find_losses(finding, chain, now, call);
    note_others(finding, chain, now, call);
    finding.lost =
        shared_left_open(std::move(finding.lost), std::min(call.read(), now.input), finding);
  }
  remember(chain, now, call);
  return finding;
}

void CacheLadder::adopt(const CacheCall& copy, const CacheRules& rules) {
  const std::string key = chain_key(copy.session, copy.lineage);
  const std::string from = chain_key(copy.original->session, copy.original->lineage);
  Chain& chain = chain_of(copy);
  if (!copy.input()) return pass(copy);
  const Step step = step_of(copy, rules, chain);
  remember(chain, step, copy);
  chain.shared[from] = step.cached;
  if (const auto original = chains_.find(from); original != chains_.end()) {
    original->second.shared[key] = step.cached;
  }
}

void CacheLadder::pass(const CacheCall& call) {
  Chain& chain = chain_of(call);
  if (!chain.any) return;
  Step& last = chain.last;
  const bool same = call.scope.may_be(last.scope());
  // What lies before a compaction, or in another scope, is not what the next call goes on from.
  if (!same || call.after_compaction) last.cached = 0;
  last.cached_known = false;
  last.sent = call.sent();
  last.first_byte = call.first_byte;
  last.end = call.end;
  const auto set = [](std::string& part, const std::string& told) {
    if (!told.empty()) part = told;
  };
  set(last.model, call.scope.model);
  set(last.tier, call.scope.tier);
  set(last.provider, call.scope.provider);
  set(last.region, call.scope.region);
}

}  // namespace daybook::replay
