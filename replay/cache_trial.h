// One call against its baseline: simulated again with every subset of the causes repaired.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "replay/cache_attribution.h"

namespace daybook::replay {

struct TrialResult {
  std::vector<CacheCause> causes;
  CacheRead predicted;
  std::vector<CachePortion> lost;
  bool contradicted = false;
};

class CacheTrial {
 public:
  /// `cold`: the baseline is only the beginning that two chains have in common. `own`: where the
  /// baseline left something elsewhere, what the chain last left where the call reads, if anything.
  CacheTrial(const CacheCall& before, const CacheCall& now, const CacheRuleBook& book,
             const CacheStore& store, const TokenScale& scale, bool cold, const SegmentBytes& bytes,
             const CacheCall* own = nullptr);

  TrialResult run();

 private:
  using Mask = std::uint32_t;

  void find_causes();
  void find_marker_cause();
  void find_time_causes();
  void note_expiry(const CacheEntry& entry);
  void note_own_expiry();
  bool may_be_dead();
  void choose_world();
  std::vector<CacheWorld> worlds() const { return worlds_of(rules_, open_expiry_); }
  void leave_open(CachePortion& portion) const;
  CacheCall repaired(Mask mask) const;
  void repair(CacheCall& call, Leaf leaf) const;
  void mark_well(CacheCall& call, std::size_t goal, schema::CacheTtl ttl) const;
  const CacheRules& rules_for(const CacheCall& call) const;
  CacheRead read(Mask mask, bool fine);
  std::uint64_t reach(Mask mask);
  std::vector<CachePortion> split(std::uint64_t from, std::uint64_t ideal);
  CachePortion portion(std::uint64_t level, std::uint64_t tokens);
  std::optional<std::uint64_t> left_by_baseline() const;
  CauseSet undecided(std::uint64_t read) const;
  std::vector<Leaf> unseen_causes(std::uint64_t read) const;
  CauseSet rounding(std::uint64_t tokens, const CacheRules& rules) const;
  std::optional<std::size_t> baseline_point() const;

  const CacheCall& before_;
  const CacheCall& now_;
  const CacheCall* own_;
  const CacheRules& rules_;
  const CacheRules& before_rules_;
  const CacheStore& store_;
  const TokenScale& scale_;
  const bool cold_;
  const SegmentBytes& bytes_;
  CacheWorld world_;
  std::vector<CacheCause> causes_;
  Expiry expiry_;
  bool open_expiry_ = false;  // of a transcript: nothing beside it is decided alone
  bool too_short_ = false;    // the baseline is known to be shorter than what is cached
  Prompt before_prompt_;
  std::map<Mask, std::uint64_t> reach_;
  /// What is read with nothing repaired: as simulated, as it was.
  std::optional<std::pair<std::uint64_t, std::uint64_t>> floor_;
};

}  // namespace daybook::replay
