#include "replay/cache_ladder.h"

#include <algorithm>

namespace daybook::replay {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::size_t kRungsKept = 256;
constexpr std::size_t kChainsKept = 4096;
/// A context that is smaller than this share of the one before was cut, not edited.
constexpr std::uint64_t kDropPercent = 60;

std::uint64_t tolerance(const CacheRules& rules) {
  return std::max<std::uint64_t>(rules.granularity.most, 1);
}

}  // namespace

schema::CacheTtl written_ttl(const CacheCall& call) {
  if (call.usage.cache_write_1h.value_or(0) > 0) return schema::CacheTtl::hour_1;
  if (call.usage.cache_write_5m.value_or(0) > 0) return schema::CacheTtl::minutes_5;
  return schema::CacheTtl::none;
}

CauseSet CacheLadder::explain(const Chain& chain, const Step& now, const CacheCall& call,
                              const CacheRules& rules) const {
  const Step& last = chain.last;
  const std::uint64_t read = call.read();
  if (call.after_compaction) return CauseSet::sole(Leaf::compaction);
  // What changed the scope, or let time pass, explains a read of nothing whatever else happened.
  const std::uint64_t slack = tolerance(rules);
  const bool nothing = read < slack;
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
  const RuleRange life = rules.life_s(last.ttl);
  const bool timed = now.start != 0 && last.start != 0;
  const std::int64_t gap = now.start - last.start;
  const std::int64_t idle = now.start - last.end;
  const Leaf expiry =
      idle < static_cast<std::int64_t>(life.least) * kSecond ? Leaf::ttl_by_generation : Leaf::ttl;
  if (timed && gap >= static_cast<std::int64_t>(life.most) * kSecond) certain.push_back(expiry);
  if (timed && rules.readable_at_first_byte && last.first_byte > now.start) {
    certain.push_back(Leaf::concurrency);
  }
  if (!certain.empty()) return CauseSet::of(CauseSet::Relation::joint, std::move(certain));

  std::vector<Leaf> possible;
  if (timed && gap >= static_cast<std::int64_t>(life.least) * kSecond) possible.push_back(expiry);
  const auto add = [&](std::initializer_list<std::string_view> families) {
    const auto more = leaves_of(families);
    possible.insert(possible.end(), more.begin(), more.end());
  };
  if (now.input * 100 < last.input * kDropPercent) {
    add({"E2", "E3", "P4.deleted"});
    if (nothing) add({"P2", "P3", "P5", "U1"});
    return CauseSet::of(CauseSet::Relation::one_of, std::move(possible));
  }
  if (now.input < last.input) add({"E2", "E3"});
  if (nothing) {
    // Nothing at all: from the tools on, or the system, or nothing was marked, or it is gone.
    // Without a rung behind the system prompt the messages may be meant, too.
    add({"P2", "P3", "P4", "P5", "P6", "P8", "S1", "U1"});
    if (last.cached < rules.min_tokens.most) add({"P7"});
  } else {
    // Up to the end of an earlier call: the history diverged behind it. Anywhere else may be the
    // end of the system prompt or of the tools.
    const bool on_rung = std::ranges::any_of(chain.rungs, [&](std::uint64_t rung) {
      return rung > chain.floor + slack && rung + slack > read && read + slack > rung;
    });
    add({"E3", "P4", "P6", "S1", "U1"});
    if (!on_rung) add({"P3", "P5"});
  }
  return CauseSet::of(CauseSet::Relation::one_of, std::move(possible));
}

void CacheLadder::remember(Chain& chain, const Step& now, const CacheCall& call) {
  if (!chain.any) chain.floor = call.read();
  const std::uint64_t read = call.read();
  if (read != 0 && (chain.floor == 0 || read < chain.floor)) chain.floor = read;
  chain.any = true;
  chain.last = now;
  if (std::ranges::find(chain.rungs, now.cached) == chain.rungs.end()) {
    chain.rungs.push_back(now.cached);
  }
  if (chain.rungs.size() > kRungsKept) chain.rungs.erase(chain.rungs.begin());
}

CacheLadder::Finding CacheLadder::take(const CacheCall& call, const CacheRules& rules) {
  const std::uint64_t input = *call.input();
  const std::uint64_t read = std::min(call.read(), input);
  Chain& chain = chains_[call.session + '\n' + call.lineage];
  Step now{call.start,
           call.first_byte,
           call.end,
           input,
           rules.reports_writes ? read + call.usage.cache_write.value_or(0) : input,
           call.scope.model,
           call.scope.tier,
           call.scope.provider,
           call.scope.region,
           written_ttl(call)};
  if (now.ttl == schema::CacheTtl::none && chain.any) now.ttl = chain.last.ttl;
  Finding finding;
  finding.first = !chain.any;
  finding.since = chain.any ? chain.last.start : 0;
  if (chain.any && !call.usage.cache_read) {
    finding.reusable = std::min(chain.last.cached, input);
    if (finding.reusable > 0) {
      finding.lost.emplace_back(CauseSet::sole(Leaf::unmeasured), finding.reusable);
    }
  } else if (chain.any && chain.last.cached == 0 && rules.reports_writes && read == 0) {
    // The call before left nothing: it was too short, or had no marker.
    finding.reusable = std::min(chain.last.input, input);
    const bool is_short = chain.last.input < rules.min_tokens.least;
    finding.lost.emplace_back(
        is_short ? CauseSet::sole(Leaf::below_minimum)
                 : CauseSet::of(CauseSet::Relation::one_of, leaves_of({"P6.missing", "P7", "U1"})),
        finding.reusable);
  } else if (chain.any) {
    finding.reusable = std::min(chain.last.cached, input);
    if (read < finding.reusable) {
      const std::uint64_t lost = finding.reusable - read;
      finding.lost.emplace_back(lost < tolerance(rules) ? CauseSet::sole(Leaf::granularity)
                                                        : explain(chain, now, call, rules),
                                lost);
    }
  }
  remember(chain, now, call);
  chain.used = ++clock_;
  if (chains_.size() > kChainsKept) {
    const auto oldest =
        std::ranges::min_element(chains_, {}, [](const auto& item) { return item.second.used; });
    chains_.erase(oldest);
  }
  return finding;
}

}  // namespace daybook::replay
