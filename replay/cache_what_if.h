// The same calls under another policy: what their cache would have done, and cost.
//
// Recorded requests are changed as the policy says and simulated again; nothing is asked of a
// provider. What a policy would have changed in the answers is not known and not guessed.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "replay/cache_complete.h"
#include "replay/cache_money.h"

namespace daybook::replay {

struct CachePolicy {
  bool hour_markers = false;
  bool stable_tools = false;   // the first request's tools, for the whole chain
  bool stable_system = false;  // and its system prompt
  bool stable_first_message = false;
  /// Pings keep the cache alive for this long after a call, or until the next. 0: none.
  std::uint64_t keep_warm_s = 0;
  /// The history is summarised when a request is longer. 0: as recorded.
  std::uint64_t compact_above = 0;
  std::string provider;  // with model: another one's rules and prices
  std::string model;

  /// "1h", "stable-tools", "stable-system", "no-clock" (system and first message), "keep-warm",
  /// "keep-warm=SECONDS", "compact=TOKENS", "model=PROVIDER:MODEL". Several go together.
  static Result<void> add(CachePolicy& policy, std::string_view text);
  /// What the simulation cannot know under this policy, one sentence each.
  std::vector<std::string> unknowns() const;
  /// Why the policy cannot be simulated for such a call; "": it can.
  std::string refusal(const CacheCall& call, const CacheRules& rules) const;
};

/// What one call would report.
struct SimulatedUsage {
  std::uint64_t input = 0;
  std::uint64_t read = 0;
  std::uint64_t write_5m = 0;
  std::uint64_t write_1h = 0;
  std::uint64_t uncached() const { return input - read - write_5m - write_1h; }
  bool operator==(const SimulatedUsage&) const = default;
};

struct WhatIfCall {
  std::shared_ptr<const CacheCall> call;
  SimulatedUsage recorded;  // simulated as recorded
  SimulatedUsage changed;   // simulated under the policy
  std::uint64_t pings = 0;  // before the call
  std::uint64_t ping_tokens = 0;
  std::shared_ptr<const CacheCall> pinged;  // the call whose prompt they read; null: none
  std::uint64_t summary_input = 0;          // of a summary made before the call
  std::uint64_t summary_output = 0;
};

/// Pings that nothing comes of: nobody knew that the call before them was the last.
struct LatePings {
  std::shared_ptr<const CacheCall> call;  // the session's last
  std::uint64_t pings = 0;
  std::uint64_t tokens = 0;
};

/// Tokens of a summary, and of the answer to a ping.
inline constexpr std::uint64_t kSummaryTokens = 4'000;
inline constexpr std::uint64_t kPingTokens = 1;

/// A simulated cache of one policy. Calls come in the order of their starts.
class CacheReplay {
 public:
  CacheReplay(const CacheRuleBook& book, CachePolicy policy);
  ~CacheReplay();
  /// `made` gets usage, pings and summary.
  SimulatedUsage take(const CacheCall& call, WhatIfCall& made, const CacheWorld& world = {});
  /// A copy, behind its original: later calls of its session go on from it.
  void adopt(const CacheCall& copy);
  std::vector<LatePings> late_pings() const;
  /// Whether the cache had expired, where the times leave it open: as the call's figures tell.
  CacheWorld world_of(const CacheCall& call) const;
  double tokens_per_byte() const { return scale_.tokens_per_byte(); }

 private:
  struct Chain;
  CacheCall changed(const CacheCall& call, Chain& chain, WhatIfCall& made);
  std::uint64_t learn(const CacheCall& call);
  void other_model(CacheCall& call) const;
  void keep_stable(CacheCall& call, Chain& chain) const;
  void compact(CacheCall& call, Chain& chain, WhatIfCall& made);
  void keep_warm(Chain& chain, const CacheCall& call, const CacheWorld& world, WhatIfCall& made);
  std::uint64_t tokens_of(const CacheCall& call) const;

  const CacheRuleBook& book_;
  CachePolicy policy_;
  CacheStore store_;
  TokenScale scale_;
  std::map<std::string, Chain> chains_;
  std::map<std::string, std::int64_t> pinged_;  // by the id of a call: the last ping behind it
  std::set<std::string> continued_;             // ids of calls that other sessions went on from
};

/// Both replays side by side, of the same requests: those of transcripts are completed first.
class WhatIf {
 public:
  WhatIf(const CacheRuleBook& book, const CachePolicy& policy)
      : completer_(book), recorded_(book, {}), changed_(book, policy) {}
  /// Nothing for calls that did not report their input, or whose request is not known.
  std::optional<WhatIfCall> take(CacheCall call);
  /// As CacheReplay::adopt().
  void adopt(CacheCall copy);
  /// At the end: of each session that would be kept warm.
  std::vector<LatePings> late_pings() const { return changed_.late_pings(); }

 private:
  StartBounds bounds_;
  RequestCompleter completer_;
  CacheReplay recorded_;
  CacheReplay changed_;
};

/// Cost of a simulated usage; nothing when a class has no price.
std::optional<Money> cost_of(const SimulatedUsage& usage, std::uint64_t output,
                             const CacheRates& rates);

}  // namespace daybook::replay
