// Where only usage figures are known: which boundaries a chain of calls has ever cached, and what
// a read that ends at one of them says. Where several causes fit, all of them are named.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "replay/cache_call.h"
#include "replay/cache_leaf.h"
#include "replay/cache_rules.h"

namespace daybook::replay {

/// Whether what a call left had expired when the next one was sent.
struct Expiry {
  bool sure = false;
  std::vector<Leaf> leaves;  // T1, T2: which it was, or may have been; empty: it lived

  /// Exactly one cause, for sure.
  bool decided() const { return sure && leaves.size() == 1; }
  /// There may have been none, or it may have been the other.
  bool open() const { return !leaves.empty() && !decided(); }
};
/// `end`: of the answer that the call before got; 0: not known.
/// "320 s since the last use, lives 300 s"; with two ends where they are not the same.
std::string expiry_detail(const TimeGap& gap, const RuleRange& life_s);
/// Whole seconds: "320", or "285 to 320".
std::string seconds_text(const TimeGap& gap);
Expiry expiry(const TimeGap& gap, std::int64_t end, const TimeSpan& now, const RuleRange& life_s);

using CachePart = std::pair<CauseSet, std::uint64_t>;  // tokens

class CacheLadder {
 public:
  struct Finding {
    std::uint64_t reusable = 0;  // what could have been read
    bool first = false;          // of its chain
    TimeSpan since;              // when the call before was sent
    std::uint64_t life_s = 0;    // of what the call before left; 0: there is none
    std::vector<Leaf> expired;   // T1, T2: which of them may be a cause; empty: none
    bool contradicted = false;   // read more than any call of its scope is known to have left
    std::vector<CachePart> lost;
    /// Tokens of the call's beginning that other sessions of its history used so lately that they
    /// may have been there: in the scope of this call, and in that of the one before.
    std::uint64_t kept = 0;
    std::uint64_t kept_before = 0;
  };

  /// `call` must have input(). Calls of a chain come in the order of their starts. `rules` must
  /// outlive the ladder.
  Finding take(const CacheCall& call, const CacheRules& rules);
  /// A copy, when its original was taken: what its chain goes on from.
  void adopt(const CacheCall& copy, const CacheRules& rules);
  /// A call without input(): what it left is not known, and it kept alive what was there.
  void pass(const CacheCall& call);

 private:
  struct Step {
    TimeSpan sent;
    std::int64_t first_byte = 0;
    std::int64_t end = 0;
    std::uint64_t input = 0;
    std::uint64_t cached = 0;  // read or written; where writes are not told, all of the input
    bool writes_told = false;  // also where the provider has none to tell: no
    bool cached_known = true;  // false: its input is not, or that of a later call
    std::string model;
    std::string tier;
    std::string provider;
    std::string region;
    schema::CacheTtl ttl = schema::CacheTtl::none;
    const CacheRules* rules = nullptr;  // by which it was served

    CacheScope scope() const { return {provider, model, "", tier, "", region}; }
  };
  struct Chain {
    bool any = false;
    Step last;
    std::map<std::string, Step> by_model;  // the latest with each
    std::uint64_t floor = 0;  // what precedes the first message, as far as a read has shown
    std::vector<std::uint64_t> rungs;
    std::uint64_t used = 0;
    /// Chains of other sessions that hold calls of this one: tokens that both begin with.
    std::map<std::string, std::uint64_t> shared;
  };

  static const Step* own_before(const Chain& chain, const Step& now);
  CauseSet explain(const Chain& chain, const Step& now, const CacheCall& call) const;
  static Expiry expiry_of(const Step& last, const Step& now);
  static std::vector<Leaf> certain_causes(const Step& last, const Step& now);
  static CauseSet rounding(std::uint64_t lost, const Step& last, const Step& now,
                           const CacheCall& call);
  static CauseSet too_short(const Step& last, const Step& now, const CacheCall& call);
  void find_losses(Finding& finding, const Chain& chain, const Step& now,
                   const CacheCall& call) const;
  bool contradicts(const Chain& chain, const Step& now, const CacheCall& call,
                   const CacheRules& rules);
  void remember(Chain& chain, const Step& now, const CacheCall& call);
  Chain& chain_of(const CacheCall& call);
  static Step step_of(const CacheCall& call, const CacheRules& rules, const Chain& chain);
  std::map<std::string, std::uint64_t> relatives(const std::string& key) const;
  void note_others(Finding& finding, const Chain& chain, const Step& now,
                   const CacheCall& call) const;

  std::map<std::string, Chain> chains_;
  /// The most that a call is known to have left in the cache, by provider and model.
  std::map<std::string, std::uint64_t> left_;
  std::uint64_t clock_ = 0;
};

/// Losses from `read` tokens on: what expired for a session, or changed, did not for others that
/// share its beginning. As far as the finding says, the causes are left open.
std::vector<CachePart> shared_left_open(std::vector<CachePart> lost, std::uint64_t read,
                                        const CacheLadder::Finding& finding);

/// The lifetime that the call's writes had, as its usage tells; none: it does not.
schema::CacheTtl written_ttl(const CacheCall& call);

}  // namespace daybook::replay
