// Sessions as a client would send them, with faults put in on purpose, answered by the cache
// provider of these tests.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "replay/cache_attribution.h"
#include "tests/support/cache_provider.h"

namespace daybook::tests {

/// Texts by digest: what SegmentBytes gives.
using Texts = std::map<Digest, std::string>;

struct FaultPlan {
  std::string provider = "anthropic";
  std::string model = "claude-sonnet-4-5";
  ProviderTable table = ProviderTable::anthropic();
  std::set<std::string> faults;  // codes of leaves, and benign edits
  unsigned seed = 1;
  int turns = 9;
  int fault_turn = 6;
  bool small = false;  // the whole session stays below the minimum
  bool hour = false;   // one-hour markers
};

struct SessionRun {
  std::vector<replay::CacheCall> calls;
  std::vector<ProviderUsage> usages;
  std::size_t fault_call = 0;
  std::shared_ptr<Texts> texts = std::make_shared<Texts>();
  replay::SegmentBytes bytes() const;
};

SessionRun run_session(const FaultPlan& plan);
/// A plan under which a fault has an effect, by the provider whose rules say so.
FaultPlan plan_for_fault(const std::string& fault, unsigned seed);

/// A call as the analysis gets it, from what the client sent and the provider reported.
replay::CacheCall call_of(const ProviderRequest& request, const ProviderUsage& usage,
                          const FaultPlan& plan, Texts& texts);

/// The same call as a transcript without tools, settings and markers shows it.
replay::CacheCall rebuilt(replay::CacheCall call);
/// The same call as a log of usage figures shows it.
replay::CacheCall usage_only(replay::CacheCall call);

/// Verdicts of all calls of a run, at one level of evidence. Those from `resumed_at` on belong to
/// sessions that were resumed, and that hold copies of the calls before.
std::vector<replay::CallVerdict> judge(const SessionRun& run, schema::Evidence evidence,
                                       const replay::CacheRuleBook& book,
                                       std::size_t resumed_at = SIZE_MAX);

/// The causes of most tokens, granularity and what is new left out; nothing lost: absent.
std::optional<replay::CauseSet> main_cause(const replay::CallVerdict& verdict);

}  // namespace daybook::tests
