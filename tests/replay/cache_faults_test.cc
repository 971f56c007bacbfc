#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <iostream>

#include "tests/support/cache_session.h"

using namespace daybook;
using replay::CallVerdict;
using replay::CauseSet;
using replay::Leaf;
using schema::Evidence;
using tests::FaultPlan;
using tests::ProviderTable;
using tests::SessionRun;

namespace {

constexpr unsigned kSeeds = 6;

/// Plans under which a fault has an effect, by the provider whose rules say so.
FaultPlan plan_for(const std::string& fault, unsigned seed) {
  FaultPlan plan;
  plan.seed = seed;
  plan.faults = {fault};
  if (fault == "P5.verbosity" || fault == "P8.key" || fault == "P8.tier") {
    plan.provider = "openai";
    plan.model = "gpt-5.6-sol";
    plan.table = ProviderTable::openai();
  }
  if (fault == "P5.format" && seed % 2 == 0) {
    plan.provider = "openai";
    plan.model = "gpt-5.2";
    plan.table = ProviderTable::openai_before();
  }
  if (fault == "S1") {
    plan.model = "claude-haiku-4-5";
    plan.table.drops_thinking = true;
    plan.table.shortest = 4096;
  }
  if (fault == "P7") plan.small = true;
  return plan;
}

Leaf leaf_named(const std::string& fault) {
  return fault == "P4.mutated0" ? Leaf::message_mutated : *replay::leaf_of(fault);
}

const std::vector<std::string>& single_faults() {
  static const std::vector<std::string> kFaults = {"E2",
                                                   "E3",
                                                   "P1",
                                                   "P2.added",
                                                   "P2.removed",
                                                   "P2.reordered",
                                                   "P2.schema",
                                                   "P2.keyorder",
                                                   "P3.clock",
                                                   "P3.uuid",
                                                   "P3.path",
                                                   "P3.other",
                                                   "P4.mutated",
                                                   "P4.mutated0",
                                                   "P4.deleted",
                                                   "P4.inserted",
                                                   "P4.reordered",
                                                   "P4.reserialized",
                                                   "P5.tool_choice",
                                                   "P5.thinking",
                                                   "P5.verbosity",
                                                   "P5.format",
                                                   "P5.betas",
                                                   "P5.context_management",
                                                   "P5.image",
                                                   "P5.speed",
                                                   "P6.missing",
                                                   "P6.lookback",
                                                   "P6.ttl_flip",
                                                   "P6.count",
                                                   "P6.ttl_order",
                                                   "P7",
                                                   "P8.key",
                                                   "P8.tier",
                                                   "P8.workspace",
                                                   "P8.region",
                                                   "P8.provider",
                                                   "T1",
                                                   "T2",
                                                   "C1",
                                                   "S1",
                                                   "U1",
                                                   "U2"};
  return kFaults;
}

struct Score {
  int right = 0;
  int total = 0;
  std::map<std::pair<std::string, std::string>, int> confusion;
  void add(const std::string& truth, const std::string& said, bool good) {
    right += good ? 1 : 0;
    ++total;
    ++confusion[{truth, said}];
  }
  double share() const { return total == 0 ? 0 : static_cast<double>(right) / total; }
  void print(const std::string& title) const {
    std::cout << fmt::format("{}: {} of {} right\n", title, right, total);
    for (const auto& [key, count] : confusion) {
      std::cout << fmt::format("  {:<24} -> {:<60} {}\n", key.first, key.second.substr(0, 60),
                               count);
    }
  }
};

void check_conserved(const CallVerdict& verdict) {
  CHECK(verdict.input == verdict.read + verdict.fresh + verdict.lost_tokens());
}

std::string said(const std::optional<CauseSet>& cause) {
  return cause ? cause->code() : "(no loss)";
}

Score score_singles(Evidence evidence, const replay::CacheRuleBook& book) {
  Score score;
  for (const std::string& fault : single_faults()) {
    for (unsigned seed = 1; seed <= kSeeds; ++seed) {
      const SessionRun run = tests::run_session(plan_for(fault, seed));
      const auto verdicts = tests::judge(run, evidence, book);
      for (const auto& verdict : verdicts) check_conserved(verdict);
      const auto cause = tests::main_cause(verdicts[run.fault_call]);
      const Leaf truth = leaf_named(fault);
      const bool good = cause && (evidence == Evidence::exact ? *cause == CauseSet::sole(truth)
                                                              : cause->contains(truth));
      score.add(fault, said(cause), good);
    }
  }
  return score;
}

}  // namespace

TEST_CASE("with exact bytes every single fault gets its leaf") {
  const Score score = score_singles(Evidence::exact, replay::CacheRuleBook::shipped());
  score.print("exact bytes, one fault");
  CHECK(score.right == score.total);
}

TEST_CASE("a rebuilt transcript names the leaf or says between which it cannot decide") {
  const Score score = score_singles(Evidence::rebuilt, replay::CacheRuleBook::shipped());
  score.print("rebuilt transcript, one fault");
  CHECK(score.share() >= 0.95);
}

TEST_CASE("usage figures alone report a set that holds the leaf") {
  const Score score = score_singles(Evidence::usage_only, replay::CacheRuleBook::shipped());
  score.print("usage only, one fault");
  CHECK(score.share() >= 0.90);
}
