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

TEST_CASE("where times leave open what expired, the reported read tells") {
  FaultPlan plan;
  plan.faults = {"T1"};
  SessionRun run = tests::run_session(plan);
  replay::CacheCall& call = run.calls[run.fault_call];
  // Sent 280 s behind the call before, or so late that the cache has expired.
  const std::int64_t before_start = run.calls[run.fault_call - 1].start;
  REQUIRE(call.start - before_start > 300'000'000'000);
  call.start_exact = false;
  call.not_before = before_start + 280'000'000'000;
  CHECK(replayed(run, {})[run.fault_call].recorded == as_simulated(run.usages[run.fault_call]));
  const std::uint64_t before = run.usages[run.fault_call - 1].total;
  call.usage.cache_read = before;
  call.usage.cache_write = *call.usage.cache_write - before;
  CHECK(replayed(run, {})[run.fault_call].recorded.read > 0);
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

TEST_CASE("pings behind a session's last call are told apart: nobody needs them") {
  FaultPlan plan;
  plan.faults = {"T1"};
  const SessionRun run = tests::run_session(plan);
  for (const char* text : {"keep-warm=1800", "1h"}) {
    WhatIf what_if(replay::CacheRuleBook::shipped(), policy(text));
    for (const auto& call : run.calls) what_if.take(call);
    const auto late = what_if.late_pings();
    if (std::string_view(text) == "1h") {
      CHECK(late.empty());
      continue;
    }
    REQUIRE(late.size() == 1);
    CHECK(late[0].call->version == run.calls.back().version);
    // Every 270 s, within 1,800 s; each reads the whole prompt.
    CHECK(late[0].pings == 6);
    CHECK(late[0].tokens == 6 * run.usages.back().total);
  }
}

TEST_CASE("a resumed session is simulated as it would be in one file, under every policy") {
  FaultPlan plan;
  plan.faults = {"T1", "P3.clock"};
  plan.turns = 14;
  plan.fault_turn = 13;
  const SessionRun run = tests::run_session(plan);
  const std::size_t resumed_at = run.fault_call;
  for (const char* text : {"1h", "keep-warm=1800", "no-clock", "stable-tools", "compact=9000",
                           "model=openai:gpt-5.5"}) {
    const auto whole = replayed(run, policy(text));
    WhatIf what_if(replay::CacheRuleBook::shipped(), policy(text));
    for (std::size_t i = 0; i < run.calls.size(); ++i) {
      INFO(text << ", call " << i);
      replay::CacheCall call = run.calls[i];
      if (i >= resumed_at) call.session = "resumed";
      const auto made = what_if.take(call);
      REQUIRE(made);
      CHECK(made->recorded == whole[i].recorded);
      CHECK(made->changed == whole[i].changed);
      CHECK(made->pings == whole[i].pings);
      CHECK(made->summary_input == whole[i].summary_input);
      if (i >= resumed_at) continue;
      call.original = std::make_shared<const replay::OriginalCall>(
          replay::OriginalCall{call.session, call.lineage, call.version});
      call.session = "resumed";
      what_if.adopt(call);
    }
  }
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
  CHECK(bad.error().message.starts_with(
      "there is no policy 'stable-tool'; did you mean 'stable-tools'?; the policies are 1h, "));
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

namespace {

SessionRun transcript(const char* fault) {
  FaultPlan plan;
  plan.faults = {fault};
  SessionRun run = tests::run_session(plan);
  for (auto& call : run.calls) call = tests::rebuilt(std::move(call));
  return run;
}

}  // namespace

TEST_CASE("the same model changes nothing, whatever is known of the requests") {
  for (const char* fault : {"none", "T1", "P4.reordered", "P3.clock"}) {
    FaultPlan plan;
    plan.faults = {fault};
    for (const SessionRun& run : {tests::run_session(plan), transcript(fault)}) {
      for (const auto& call : replayed(run, policy("model=anthropic:claude-sonnet-4-5"))) {
        INFO(fault);
        CHECK(call.changed == call.recorded);
      }
    }
  }
}

TEST_CASE("a transcript is simulated as recorded: its markers are where clients set them") {
  const SessionRun run = transcript("T1");
  const auto made = replayed(run, policy("1h"));
  for (std::size_t i = 1; i < made.size(); ++i) {
    INFO("call " << i);
    check_near(made[i].recorded.read, run.usages[i].read);
  }
  // The cache expired before the call; an hour's markers outlast the gap.
  CHECK(made[run.fault_call].recorded.read == 0);
  check_near(made[run.fault_call].changed.read, made[run.fault_call - 1].recorded.input);
  CHECK(made.back().changed.write_5m == 0);
}

TEST_CASE("what a policy needs and the calls do not have is a reason, not a difference of zero") {
  const SessionRun run = transcript("none");
  const auto& book = replay::CacheRuleBook::shipped();
  const auto refusal = [&](const char* text, replay::CacheCall call) {
    return policy(text).refusal(call, book.rules(call));
  };
  CHECK(refusal("stable-tools", run.calls[2]).find("transcripts do not show") != std::string::npos);
  CHECK(refusal("1h", run.calls[2]).empty());
  auto other = run.calls[2];
  other.scope.provider = other.provider_kind = "openai";
  other.scope.model = "gpt-5.5";
  CHECK(refusal("1h", other).find("live an hour") != std::string::npos);
  FaultPlan plan;
  plan.faults = {"none"};
  CHECK(refusal("stable-tools", tests::run_session(plan).calls[2]).empty());
}

TEST_CASE("policies that cannot be are told with what they want") {
  const auto error = [](const char* text) {
    CachePolicy made;
    const auto added = CachePolicy::add(made, text);
    REQUIRE(!added);
    return added.error().message;
  };
  CHECK(error("keep-warm=0").find("a number of seconds from 1") != std::string::npos);
  CHECK(error("compact=0").find("a number of tokens from 1") != std::string::npos);
  CHECK(error("compact").find("a number of tokens from 1") != std::string::npos);
  CHECK(error("model=nope").find("model=PROVIDER:MODEL") != std::string::npos);
  CHECK(error("1h=2").find("takes no value") != std::string::npos);
  CHECK(error("stable-tool").find("did you mean 'stable-tools'?") != std::string::npos);
  CHECK(error("logs/claude").find("--what-if 1h PATH") != std::string::npos);
  CHECK(error("logs/claude").find("keep-warm=SECONDS") != std::string::npos);
}

TEST_CASE("two values of one policy exclude each other, the same one again does not") {
  for (const auto& [first, second] :
       {std::pair("keep-warm=100", "keep-warm=1000"), std::pair("keep-warm", "keep-warm=100"),
        std::pair("compact=10", "compact=20"), std::pair("model=a:b", "model=a:c")}) {
    CachePolicy both = policy(first);
    CHECK(CachePolicy::add(both, first));
    const auto added = CachePolicy::add(both, second);
    REQUIRE_FALSE(added);
    CHECK(added.error().message.find("another value of this policy") != std::string::npos);
  }
}
