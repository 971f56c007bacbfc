#include "replay/cache_what_if.h"

#include <catch2/catch.hpp>

#include "tests/support/cache_session.h"

using namespace daybook;
using replay::CachePolicy;
using replay::SimulatedUsage;
using replay::WhatIf;
using tests::FaultPlan;
using tests::ProviderTable;
using tests::ProviderUsage;
using tests::SessionRun;

namespace {

CachePolicy policy(std::string_view text) {
  CachePolicy made;
  REQUIRE(CachePolicy::add(made, text));
  return made;
}

std::vector<replay::WhatIfCall> replayed(const SessionRun& run, const CachePolicy& changed) {
  WhatIf what_if(replay::CacheRuleBook::shipped(), changed);
  std::vector<replay::WhatIfCall> made;
  for (const auto& call : run.calls) {
    auto one = what_if.take(call);
    REQUIRE(one);
    made.push_back(*one);
  }
  return made;
}

SimulatedUsage as_simulated(const ProviderUsage& usage) {
  return {usage.total, usage.read, usage.written_5m, usage.written_1h};
}

void check_near(std::uint64_t a, std::uint64_t b) {
  CHECK(static_cast<double>(a) == Approx(static_cast<double>(b)).epsilon(0.06).margin(400));
}

}  // namespace

TEST_CASE("the recorded policy is simulated to what the provider reported") {
  for (const char* fault : {"none", "T1", "P2.reordered", "P4.reordered", "C1", "P6.ttl_flip"}) {
    FaultPlan plan;
    plan.faults = {fault};
    const SessionRun run = tests::run_session(plan);
    const auto made = replayed(run, {});
    for (std::size_t i = 0; i < made.size(); ++i) {
      INFO(fault << " call " << i);
      CHECK(made[i].recorded == as_simulated(run.usages[i]));
      CHECK(made[i].changed == made[i].recorded);
    }
  }
}

TEST_CASE("one-hour markers give what the provider gives when they are really sent") {
  FaultPlan plan;
  plan.faults = {"T1"};
  const SessionRun run = tests::run_session(plan);
  plan.table.life_s = 300;
  plan.hour = true;
  const SessionRun brute = tests::run_session(plan);
  const auto made = replayed(run, policy("1h"));
  for (std::size_t i = 0; i < made.size(); ++i) {
    CHECK(made[i].changed == as_simulated(brute.usages[i]));
  }
  CHECK(made[run.fault_call].recorded.read == 0);
  CHECK(made[run.fault_call].changed.read > 0);
}

TEST_CASE("another provider's rules give what that provider gives") {
  FaultPlan plan;
  plan.faults = {"T1"};
  const SessionRun run = tests::run_session(plan);
  FaultPlan other = plan;
  other.provider = "openai";
  other.model = "gpt-5.6-sol";
  other.table = ProviderTable::openai();
  other.table.life_s = plan.table.life_s;  // the gap is made of it
  const SessionRun pace = tests::run_session(other);
  const auto made = replayed(run, policy("model=openai:gpt-5.6-sol"));
  for (std::size_t i = 0; i < made.size(); ++i) {
    // Only the gap is longer than that copy's life; this provider keeps entries longer.
    if (i == run.fault_call) continue;
    CHECK(made[i].changed == as_simulated(pace.usages[i]));
  }
  CHECK(made[run.fault_call].changed.read > 0);
}

TEST_CASE("stable tools and no clock remove what their change cost") {
  const std::pair<const char*, const char*> cases[] = {
      {"P2.reordered", "stable-tools"}, {"P3.clock", "no-clock"}, {"P4.mutated0", "no-clock"}};
  for (const auto& [fault, text] : cases) {
    FaultPlan plan;
    plan.faults = {fault};
    const SessionRun run = tests::run_session(plan);
    plan.faults = {"none"};
    const SessionRun brute = tests::run_session(plan);
    const auto made = replayed(run, policy(text));
    for (std::size_t i = 0; i < made.size(); ++i) {
      INFO(fault << " call " << i);
      check_near(made[i].changed.read, brute.usages[i].read);
      check_near(made[i].changed.write_5m, brute.usages[i].written_5m);
    }
    CHECK(made[run.fault_call].changed.read > made[run.fault_call].recorded.read);
  }
}

TEST_CASE("pings keep the cache through a gap, and are paid") {
  FaultPlan plan;
  plan.faults = {"T1"};
  const SessionRun run = tests::run_session(plan);
  const auto made = replayed(run, policy("keep-warm=1800"));
  const auto& call = made[run.fault_call];
  CHECK(call.pings == 1);
  CHECK(call.ping_tokens == run.usages[run.fault_call - 1].total);
  plan.faults = {"none"};
  CHECK(call.changed.read == tests::run_session(plan).usages[run.fault_call].read);
  for (std::size_t i = 0; i < made.size(); ++i) CHECK((made[i].pings > 0) == (i == run.fault_call));
}

TEST_CASE("a compaction cap bounds the requests and charges the summary") {
  FaultPlan plan;
  plan.turns = 14;
  plan.fault_turn = 13;
  const SessionRun run = tests::run_session(plan);
  const auto made = replayed(run, policy("compact=9000"));
  std::uint64_t summaries = 0;
  for (const auto& call : made) {
    CHECK(call.changed.input <= 10'000);
    CHECK(call.changed.read <= call.changed.input);
    summaries += call.summary_output > 0 ? 1 : 0;
    if (call.summary_output > 0) {
      CHECK(call.summary_input > 5'000);
      CHECK(call.changed.read < call.changed.input / 2 + 2'000);  // the history is a new one
    }
  }
  CHECK(run.usages.back().total > 9'000);
  CHECK(summaries >= 1);
}

TEST_CASE("a policy that does not exist is named with its neighbours") {
  CachePolicy made;
  const auto bad = CachePolicy::add(made, "stable-tool");
  REQUIRE_FALSE(bad);
  CHECK(bad.error().message == "there is no policy 'stable-tool'; did you mean 'stable-tools'?");
  CHECK_FALSE(CachePolicy::add(made, "compact=0"));
  CHECK_FALSE(CachePolicy::add(made, "model=openai"));
}

TEST_CASE("the cost of a simulated usage needs a price for every class it has") {
  replay::CacheRates rates;
  rates.uncached = replay::Money::of(1, replay::Rate{5});
  rates.read = replay::Money::of(1, replay::Rate{1});
  CHECK(*replay::cost_of({100, 60, 0, 0}, 0, rates) == replay::Money::of(260, replay::Rate{1}));
  CHECK_FALSE(replay::cost_of({100, 60, 40, 0}, 0, rates));
}
