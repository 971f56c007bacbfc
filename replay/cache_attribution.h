// Why a call did not read from the cache what it could have: every lost token gets its cause.
//
// A simulated cache is fed with every call in the order of their starts. For each call the
// difference between what it would have read, had nothing been in the way, and what it did read
// is split among the causes: the simulation is repeated with every subset of them repaired. What
// the simulation would have read and the provider did not is the provider's.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "replay/cache_complete.h"
#include "replay/cache_diff.h"
#include "replay/cache_ladder.h"
#include "replay/cache_leaf.h"
#include "replay/cache_rules.h"
#include "replay/cache_sim.h"

namespace daybook::replay {

/// Lost tokens with one cause. Portions of a call follow each other from what was read on.
struct CachePortion {
  CauseSet causes;
  std::uint64_t tokens = 0;
  /// Shapley shares of the leaves, in their order: tokens, of the same sum. Only for joint ones.
  std::vector<std::uint64_t> shares = {};

  /// With equal shares: of joint causes each is worth the same.
  static CachePortion of(CauseSet causes, std::uint64_t tokens);
};

struct CallVerdict {
  std::shared_ptr<const CacheCall> call;
  std::shared_ptr<const CacheCall> baseline;  // what it could have read from; null: nothing
  TimeSpan since;                             // when the call it goes on from was sent
  std::uint64_t life_s = 0;                   // of what that one left; 0: not known
  bool measured = false;                      // the input tokens were reported
  std::uint64_t input = 0;
  std::uint64_t read = 0;
  std::uint64_t fresh = 0;           // never cached before: cold or new_tail
  Leaf fresh_leaf = Leaf::new_tail;  // cold, new_tail
  std::vector<CachePortion> lost;    // input == read + fresh + the sum of these
  std::vector<CacheCause> causes;    // every difference found, those without effect included
  CacheRead predicted;               // by the simulation, as things were; exact and rebuilt only
  bool contradicted = false;         // read more than the rules allow
  std::string hint;                  // about losses that are the provider's

  /// Between the call it goes on from and this one; nothing when a time is not known.
  std::optional<TimeGap> gap() const { return gap_between(since, call->sent()); }
  std::uint64_t lost_tokens() const;
  /// The portion with the most tokens; null without losses.
  const CachePortion* main_loss() const;
};

/// Takes calls in the order of their starts. Where a call's start is known within bounds only, so
/// is the gap before it: what expires within them is one of several causes. Keeps a bounded number
/// of past calls.
class CacheAttributor {
 public:
  explicit CacheAttributor(const CacheRuleBook& book, SegmentBytes bytes = {});
  ~CacheAttributor();

  CallVerdict take(CacheCall call);
  /// A copy (CacheCall::original), behind its original: later calls of its session go on from it.
  void adopt(CacheCall copy);

 private:
  using Shared = std::shared_ptr<const CacheCall>;
  struct Baseline {
    Shared call;
    bool cold = false;  // another chain's: only the common beginning can be read
  };
  struct Trial;

  Baseline baseline_of(const CacheCall& call, Shared before) const;
  void bound_start(CacheCall& call, const Shared& before);
  Shared last_in_scope(const CacheCall& call) const;
  static Shared open_branch(const std::vector<Shared>& pool, const CacheCall& call);
  Shared predecessor(const CacheCall& call) const;
  static bool is_refuted(const CallVerdict& verdict);
  Shared shared_beginning(const CacheCall& call) const;
  void by_figures(CallVerdict& verdict);
  void note_last_use(CallVerdict& verdict) const;
  void attribute(CallVerdict& verdict, const Baseline& baseline);
  void compare_with_figures(CallVerdict& verdict);
  void pass(const CacheCall& call);
  bool has_lost_track(const CacheCall& call) const;
  void remember(const CallVerdict& verdict);
  void extend_chain(const Shared& call);
  std::string provider_hint(const CacheCall& call) const;

  const CacheRuleBook& book_;
  SegmentBytes bytes_;
  CacheStore store_;
  TokenScale scale_;  // its points belong to one model each
  struct Chain {
    std::deque<Shared> calls;  // the latest, newest last
    bool turns = false;        // branches that take turns: its lines do not follow each other
    std::uint64_t used = 0;    // clock of the last use
  };
  std::map<std::string, Chain> chains_;  // by session and lineage
  std::deque<Shared> recent_;            // of all chains
  std::uint64_t clock_ = 0;
  StartBounds bounds_;
  CacheLadder ladder_;
  RequestCompleter completer_;
};

}  // namespace daybook::replay
