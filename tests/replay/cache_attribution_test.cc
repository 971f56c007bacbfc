// Sessions in which it is easy to see a miss that is none, or to name the wrong cause.
#include "replay/cache_attribution.h"

#include <catch2/catch.hpp>

#include "replay/cache_money.h"
#include "replay/cache_report.h"
#include "tests/support/cache_session.h"

using namespace daybook;
using replay::CallVerdict;
using replay::CauseSet;
using replay::Leaf;
using tests::CacheProvider;
using tests::ProviderRequest;
using tests::ProviderTable;

namespace {

std::string text(char letter, std::size_t bytes) {
  return std::string(bytes, letter);
}

/// One provider and one analysis, fed with requests of any session and lineage.
class Desk {
 public:
  explicit Desk(ProviderTable table = ProviderTable::anthropic(),
                std::string provider = "anthropic", std::string model = "claude-sonnet-4-5",
                bool usage_only = false)
      : provider_(table), attributor_(replay::CacheRuleBook::shipped()), usage_only_(usage_only) {
    plan_.provider = std::move(provider);
    plan_.model = std::move(model);
    plan_.table = std::move(table);
  }

  struct Sent {
    std::string lineage;
    std::vector<std::string> messages;
    double at_s = 0;
    double first_byte_s = 0;  // 0: a second later
    double end_s = 0;         // 0: with the first byte
    char system = 's';
    bool hour = false;
    std::string session = "s";
    std::string parent = {};
    bool compacted = false;
  };

  CallVerdict send(const Sent& sent) {
    ProviderRequest request;
    request.blocks.push_back({0, text('t', 4000), "", false});
    request.blocks.push_back({1, text(sent.system, 8000), "", false});
    for (const auto& message : sent.messages) {
      request.blocks.push_back({2, message, "", true});
    }
    if (plan_.table.kind == ProviderTable::Kind::breakpoints) {
      request.breakpoints = {{1, sent.hour}, {request.blocks.size() - 1, sent.hour}};
    }
    request.route = plan_.provider;
    request.model = plan_.model;
    request.start_s = sent.at_s;
    request.first_byte_s = sent.first_byte_s == 0 ? sent.at_s + 1 : sent.first_byte_s;
    usage = provider_.serve(request);
    replay::CacheCall call = tests::call_of(request, usage, plan_, texts_);
    call.session = sent.session;
    call.parent = sent.parent;
    call.forked = !sent.parent.empty();
    call.lineage = sent.lineage;
    call.after_compaction = sent.compacted;
    if (sent.end_s != 0) {
      call.end = call.start + static_cast<std::int64_t>((sent.end_s - sent.at_s) * 1e9);
    }
    edit(call);
    if (usage_only_) call = tests::usage_only(std::move(call));
    CallVerdict verdict = attributor_.take(std::move(call));
    CHECK(verdict.input == verdict.read + verdict.fresh + verdict.lost_tokens());
    return verdict;
  }

  std::function<void(replay::CacheCall&)> edit = [](replay::CacheCall&) {};
  tests::ProviderUsage usage;
  CacheProvider& provider() { return provider_; }

 private:
  tests::FaultPlan plan_;
  tests::Texts texts_;
  CacheProvider provider_;
  replay::CacheAttributor attributor_;
  bool usage_only_;
};

constexpr const char* kMarked = R"({"role":"user","content":[{"type":"text","text":"hi",)"
                                R"("cache_control":{"type":"ephemeral"}}]})";

const std::string kA = text('a', 6000), kB = text('b', 6000), kC = text('c', 6000),
                  kD = text('d', 6000), kE = text('e', 6000);

std::optional<CauseSet> cause(const CallVerdict& verdict) {
  return tests::main_cause(verdict);
}

}  // namespace

TEST_CASE("interleaved subagents and side calls are compared with their own chain") {
  for (const bool usage_only : {false, true}) {
    Desk desk(ProviderTable::anthropic(), "anthropic", "claude-sonnet-4-5", usage_only);
    CHECK(desk.send({"", {kA}, 0}).fresh_leaf == Leaf::cold);
    const auto sub = desk.send({"sub", {kB}, 10, 0, 0, 'u'});
    CHECK(sub.fresh_leaf == Leaf::cold);
    CHECK_FALSE(cause(sub));
    CHECK_FALSE(cause(desk.send({"", {kA, kC}, 20})));
    CHECK_FALSE(cause(desk.send({"sub", {kB, kD}, 30, 0, 0, 'u'})));
    CHECK_FALSE(cause(desk.send({"", {kA, kC, kE}, 40})));
  }
}

TEST_CASE("a side call with its own messages is no miss, nor is the call after it") {
  Desk desk;
  desk.send({"", {kA}, 0});
  desk.send({"", {kA, kB}, 10});
  const auto side = desk.send({"", {kE}, 20});
  CHECK_FALSE(cause(side));
  CHECK(side.fresh_leaf == Leaf::cold);
  CHECK(side.read > 0);  // what precedes the messages
  CHECK_FALSE(cause(desk.send({"", {kA, kB, kC}, 30})));
}

TEST_CASE("reading more than the call before left is legal") {
  for (const bool usage_only : {false, true}) {
    Desk desk(ProviderTable::anthropic(), "anthropic", "claude-sonnet-4-5", usage_only);
    desk.send({"", {kA}, 0});
    desk.send({"other", {kA, kB, kC}, 10});
    const auto verdict = desk.send({"", {kA, kB, kC, kD}, 20});
    CHECK_FALSE(cause(verdict));
    CHECK_FALSE(verdict.contradicted);
  }
}

TEST_CASE("life counts from start to start, whatever the answer took") {
  Desk desk;
  desk.send({"", {kA}, 0, 0, 200});
  CHECK_FALSE(cause(desk.send({"", {kA, kB}, 295, 0, 590})));  // 95 s after the end
  const auto late = desk.send({"", {kA, kB, kC}, 600});        // 10 s after the end, 305 s
  CHECK(cause(late) == CauseSet::sole(Leaf::ttl_by_generation));
  CHECK(cause(desk.send({"", {kA, kB, kC, kD}, 1000})) == CauseSet::sole(Leaf::ttl));
}

TEST_CASE("an entry's last use is whoever's it was") {
  Desk desk;
  desk.send({"", {kA}, 0});
  desk.send({.lineage = "", .messages = {kA}, .at_s = 200, .session = "other"});
  const auto late = desk.send({"", {kA, kB}, 600});
  REQUIRE(late.causes.size() == 1);
  CHECK(late.causes[0].leaf == Leaf::ttl);
  CHECK(late.causes[0].detail == "400 s since the last use, lives 300 s");
}

TEST_CASE("entries of one hour outlive those of five minutes between them") {
  Desk desk;
  desk.send({"", {kA}, 0, 0, 0, 's', true});
  desk.send({"", {kA, kB}, 10, 0, 0, 's', true});
  CHECK_FALSE(cause(desk.send({"", {kA, kB, kC}, 1000, 0, 0, 's', true})));
  const auto flipped = desk.send({"", {kA, kB, kC, kD}, 1010});
  CHECK(cause(flipped) == CauseSet::sole(Leaf::marker_ttl_flip));
  // Back again: the entries of one hour are still there, the one of five minutes is of no use.
  const auto back = desk.send({"", {kA, kB, kC, kD, kE}, 1020, 0, 0, 's', true});
  CHECK(cause(back) == CauseSet::sole(Leaf::marker_ttl_flip));
  CHECK(back.read == flipped.lost_tokens());
}

TEST_CASE("parallel siblings that start before the first byte are concurrent") {
  Desk desk;
  desk.send({"", {kA}, 0});
  desk.send({"", {kA, kB}, 10, 18});
  const auto early = desk.send({"", {kA, kB}, 12, 19});
  CHECK(cause(early) == CauseSet::sole(Leaf::concurrency));
  CHECK_FALSE(cause(desk.send({"", {kA, kB}, 30})));
}

TEST_CASE("parallel subagents with one beginning lose it to concurrency, once") {
  Desk desk;
  const auto first = desk.send({"one", {kA}, 0, 5});
  const auto second = desk.send({"two", {kB}, 1, 6});
  const auto third = desk.send({"three", {kC}, 20});
  CHECK_FALSE(cause(first));
  CHECK(cause(second) == CauseSet::sole(Leaf::concurrency));
  CHECK_FALSE(cause(third));
  CHECK(third.read > 0);
}

TEST_CASE("a fork of a session reads what its parent left, and goes on alone") {
  Desk desk;
  desk.send({"", {kA}, 0, 0, 0, 's', false, "parent"});
  desk.send({"", {kA, kB}, 10, 0, 0, 's', false, "parent"});
  desk.send({"", {kA, kB, kC}, 20, 0, 0, 's', false, "parent"});
  const auto fork = desk.send({"", {kA, kB, kE}, 30, 0, 0, 's', false, "child", "parent"});
  CHECK(cause(fork) == CauseSet::sole(Leaf::fork));
  CHECK(fork.read > 0);
  CHECK_FALSE(cause(desk.send({"", {kA, kB, kE, kD}, 40, 0, 0, 's', false, "child", "parent"})));
  CHECK_FALSE(cause(desk.send({"", {kA, kB, kC, kD}, 50, 0, 0, 's', false, "parent"})));
}

TEST_CASE("of branches that take turns each call is compared with its own branch") {
  Desk desk;
  desk.send({"", {kA}, 0});
  desk.send({"", {kA, kB}, 10});
  // Back to the first: what the other branch had beyond it is not read.
  CHECK(desk.send({"", {kA, kC}, 20}).lost_tokens() > 0);
  std::vector<std::string> left = {kA, kB}, right = {kA, kC};
  for (int turn = 0; turn < 2; ++turn) {
    INFO(turn);
    left.push_back(kD);
    right.push_back(kE);
    CHECK_FALSE(cause(desk.send({"", left, 30.0 + 20 * turn})));
    CHECK_FALSE(cause(desk.send({"", right, 40.0 + 20 * turn})));
  }
}

TEST_CASE("nothing is claimed of what a call left whose input is not known") {
  Desk desk;
  desk.send({"", {kA}, 0});
  desk.edit = [](replay::CacheCall& call) { call.usage = {}; };
  const auto unknown = desk.send({"", {kA, kB, kC}, 10});
  CHECK_FALSE(unknown.measured);
  // The provider lost it all: of that the first call's is known to have been there.
  desk.edit = [](replay::CacheCall& call) {
    call.usage.cache_write = *call.input();
    call.usage.cache_read = 0;
    call.usage.input_uncached = 0;
  };
  const auto next = desk.send({"", {kA, kB, kC, kD}, 20});
  CHECK(next.lost_tokens() > 4'000);
  CHECK(next.lost_tokens() < 6'000);  // 18,000 bytes of the first call, at about four a token
}

TEST_CASE("a compaction is paid once") {
  Desk desk;
  desk.send({"", {kA}, 0});
  desk.send({"", {kA, kB, kC, kD}, 10});
  const auto after = desk.send({"", {kE, kD}, 20, 0, 0, 's', false, "s", "", true});
  CHECK(cause(after) == CauseSet::sole(Leaf::compaction));
  CHECK_FALSE(cause(desk.send({"", {kE, kD, kA}, 30})));
}

TEST_CASE("a clock that runs backwards between files is no expiry") {
  Desk desk;
  desk.send({"", {kA}, 500});
  const auto verdict = desk.send({"", {kA, kB}, 100});
  CHECK(cause(verdict) != CauseSet::sole(Leaf::ttl));
}

TEST_CASE("usage that is absent is not usage of zero") {
  Desk desk;
  desk.send({"", {kA}, 0});
  desk.edit = [](replay::CacheCall& call) { call.usage = {}; };
  CHECK_FALSE(desk.send({"", {kA, kB}, 10}).measured);
  // Reads that are counted apart and not told: the whole input is not known.
  desk.edit = [](replay::CacheCall& call) { call.usage.cache_read.reset(); };
  CHECK_FALSE(desk.send({"", {kA, kB, kC}, 20}).measured);
  // A total that nothing is told of.
  desk.edit = [](replay::CacheCall& call) {
    replay::CallUsage total;
    total.input_total = call.input();
    call.usage = total;
  };
  CHECK(cause(desk.send({"", {kA, kB, kC}, 25})) == CauseSet::sole(Leaf::unmeasured));
  desk.edit = [](replay::CacheCall& call) {
    call.usage.input_uncached = *call.input();
    call.usage.cache_read = 0;
    call.usage.cache_write = 0;
  };
  CHECK(cause(desk.send({"", {kA, kB, kC, kD}, 30})) == CauseSet::sole(Leaf::provider));
}

TEST_CASE("more than the rules allow is counted as a contradiction") {
  Desk desk;
  desk.send({"", {kA}, 0});
  desk.edit = [](replay::CacheCall& call) {
    const std::uint64_t all = *call.input();
    call.usage.input_uncached = 0;
    call.usage.cache_read = all;
    call.usage.cache_write = 0;
  };
  CHECK(desk.send({"", {kA, kB}, 10}).contradicted);
}

/// Calls of one session as a log of usage figures tells them, Anthropic's classes.
class Ledger {
 public:
  explicit Ledger(std::string model = "claude-sonnet-4-5", std::string provider = "anthropic")
      : model_(std::move(model)), provider_(std::move(provider)) {}

  CallVerdict take(double at_s, std::uint64_t uncached, std::uint64_t read, std::uint64_t written) {
    replay::CallUsage usage;
    usage.input_uncached = uncached;
    usage.cache_read = read;
    usage.cache_write = written;
    return take(at_s, std::move(usage));
  }
  CallVerdict take(double at_s, replay::CallUsage usage, const std::string& model = "") {
    replay::CacheCall call;
    call.session = "s";
    call.scope.provider = call.provider_kind = provider_;
    call.scope.model = model.empty() ? model_ : model;
    call.evidence = schema::Evidence::usage_only;
    call.start = 1'790'000'000'000'000'000 + static_cast<std::int64_t>(at_s * 1e9);
    call.usage = std::move(usage);
    return attributor_.take(std::move(call));
  }

 private:
  std::string model_;
  std::string provider_;
  replay::CacheAttributor attributor_{replay::CacheRuleBook::shipped()};
};

TEST_CASE("figures alone: reading more than anybody is known to have left is a contradiction") {
  Ledger ledger;
  // What the first call reads may be older than the log.
  CHECK_FALSE(ledger.take(0, 3, 9'000, 5'000).contradicted);
  CHECK_FALSE(ledger.take(10, 3, 14'000, 1'000).contradicted);
  CHECK(ledger.take(20, 3, 15'500, 0).contradicted);
  // It is known by now.
  CHECK_FALSE(ledger.take(30, 3, 15'500, 0).contradicted);
  // Behind a call without figures nobody knows what was left.
  CHECK_FALSE(ledger.take(40, replay::CallUsage{}).measured);
  CHECK_FALSE(ledger.take(50, 3, 40'000, 0).contradicted);
}

TEST_CASE("figures alone: a call without figures keeps the cache alive, and leaves what it will") {
  Ledger ledger;
  ledger.take(0, 3, 0, 5'000);
  ledger.take(200, replay::CallUsage{});
  // 400 s after the first, but 200 after the last.
  const auto lost = ledger.take(400, 3, 0, 6'000);
  REQUIRE(cause(lost));
  CHECK_FALSE(cause(lost)->contains(Leaf::ttl));
  // Another model's answer in between: what it left is not known, and nothing is claimed.
  Ledger other;
  other.take(0, 3, 0, 5'000);
  other.take(10, replay::CallUsage{}, "claude-opus-4-8");
  CHECK_FALSE(cause(other.take(20, 3, 0, 6'000)));
}

TEST_CASE("figures alone: P7 is no candidate where the prompt is long enough") {
  // The minimum of this model is between 2,048 and 4,096.
  for (const auto& [input, possible] :
       {std::pair{50'000, false}, std::pair{3'000, true}, std::pair{4'096, false}}) {
    INFO(input);
    Ledger ledger("claude-opus-4-7");
    ledger.take(0, static_cast<std::uint64_t>(input), 0, 0);
    const auto found = cause(ledger.take(10, static_cast<std::uint64_t>(input) + 9, 0, 0));
    REQUIRE(found);
    CHECK(found->contains(Leaf::below_minimum) == possible);
    CHECK(found->contains(Leaf::marker_missing));
  }
  // What was written was long enough, however short it looks.
  Ledger written("claude-opus-4-7");
  written.take(0, 3, 0, 3'000);
  const auto found = cause(written.take(10, 3'003, 0, 0));
  REQUIRE(found);
  CHECK_FALSE(found->contains(Leaf::below_minimum));
}

TEST_CASE("figures alone: what is served in blocks is lost in blocks, and P7 below the minimum") {
  const auto second = [](std::uint64_t first, std::uint64_t then) {
    Ledger ledger("gpt-5.2", "openai");
    replay::CallUsage usage;
    usage.cache_read = 0;
    usage.input_total = first;
    ledger.take(0, usage);
    usage.input_total = then;
    return ledger.take(10, usage);
  };
  CHECK(second(5'428, 5'500).lost_tokens() == 42 * 128);
  CHECK(second(1'023, 1'100).lost_tokens() == 1'023);
  CHECK(cause(second(1'023, 1'100)) == CauseSet::sole(Leaf::below_minimum));
  CHECK_FALSE(cause(second(1'024, 1'100)) == CauseSet::sole(Leaf::below_minimum));
}

TEST_CASE("figures alone: what a model left is what its own rules let it leave") {
  // The first model's cache has blocks of 128 tokens, the second's has none; and the other way.
  const auto lost = [](const char* first, const char* then, std::uint64_t input) {
    Ledger ledger(first, "openai");
    replay::CallUsage usage;
    usage.cache_read = 0;
    usage.input_total = input;
    ledger.take(0, usage);
    usage.input_total = input + 100;
    return ledger.take(10, usage, then);
  };
  CHECK(lost("gpt-5.2", "gpt-5.6-sol", 5'428).lost_tokens() == 42 * 128);
  CHECK(cause(lost("gpt-5.2", "gpt-5.6-sol", 5'428)) == CauseSet::sole(Leaf::model));
  // Nothing of it was cached, whichever model asks for it.
  CHECK(cause(lost("gpt-5.2", "gpt-5.6-sol", 1'000)) ==
        CauseSet::of(CauseSet::Relation::joint, {Leaf::model, Leaf::below_minimum}));
}

TEST_CASE("without blocks nothing is lost to rounding, whatever the estimate says") {
  Desk desk;
  desk.send({"", {kA}, 0});
  desk.edit = [](replay::CacheCall& call) { call.usage = {}; };
  desk.send({"", {kA, kB}, 10});
  // Within what is not known of the tokens of the call before.
  desk.edit = [](replay::CacheCall& call) {
    *call.usage.cache_read -= 7;
    *call.usage.input_uncached += 7;
  };
  const auto verdict = desk.send({"", {kA, kB, kC}, 20});
  for (const auto& portion : verdict.lost) {
    CHECK_FALSE(portion.causes.contains(Leaf::granularity));
  }
}

TEST_CASE("P7 is no candidate for a prefix of which a beginning was cached") {
  Desk desk(ProviderTable::anthropic(), "anthropic", "claude-opus-4-7");
  // About 4,000 tokens, where the minimum is between 2,048 and 4,096.
  const std::string brief = text('a', 60);
  const auto first = desk.send({"", {brief}, 0});
  REQUIRE(first.call->usage.cache_write.value_or(0) > 0);
  const auto second = desk.send({"", {brief, kB}, 10});
  CHECK(std::ranges::none_of(second.causes, [](const replay::CacheCause& each) {
    return each.leaf == Leaf::below_minimum;
  }));
}

TEST_CASE("calls without a time expire from nothing") {
  Desk desk;
  desk.send({"", {kA}, 0});
  desk.edit = [](replay::CacheCall& call) { call.start = 0; };
  const auto verdict = desk.send({"", {kA, kB}, 10});
  CHECK_FALSE(verdict.contradicted);
  CHECK(std::ranges::none_of(verdict.causes, [](const replay::CacheCause& each) {
    return replay::info_of(each.leaf).family == "T1";
  }));
}

TEST_CASE("reads in blocks of 256 and totals without writes lose nothing but rounding") {
  for (const bool kimi : {true, false}) {
    Desk desk(kimi ? ProviderTable::kimi() : ProviderTable::openai_before(),
              kimi ? "moonshot" : "openai", kimi ? "kimi-k3" : "gpt-5.2");
    desk.send({"", {kA}, 0});
    for (const auto& messages : {std::vector{kA, kB}, std::vector{kA, kB, kC}}) {
      const auto verdict = desk.send({"", messages, 10.0 * static_cast<double>(messages.size())});
      CHECK_FALSE(cause(verdict));
      CHECK(verdict.lost_tokens() < 256);
    }
  }
}

TEST_CASE("a call's reader normalises what means the same, and no more") {
  const std::map<Digest, std::string> texts = [] {
    std::map<Digest, std::string> made;
    for (const char* each :
         {R"({"role":"user","content":"hi"})",
          R"({"role":"user","content":[{"type":"text","text":"hi"}]})", kMarked,
          R"({"role":"user","content":[{"type":"text","text":"ho"}]})",
          R"({"role":"user","content":[{"type":"tool_result","content":"1"},{"type":"image"}]})"}) {
      made[Digest::of(each)] = each;
    }
    return made;
  }();
  replay::CallReader reader([&](const BlobRef& ref) { return texts.at(ref.digest); });
  replay::Call call;
  call.session = std::make_shared<replay::CallSession>();
  call.usage.service_tier = "standard";
  call.head = std::make_unique<schema::ContentT>();
  const std::string head =
      R"("model":"m","max_tokens":5,"metadata":{"a":1},"service_tier":"flex","tool_choice":"auto")";
  call.head->bytes.assign(head.begin(), head.end());
  std::vector<BlobRef> list;
  for (const auto& [digest, each] : texts) list.push_back(BlobRef::of(each));
  call.request.messages = replay::GrowingList<BlobRef>(list);
  const auto made = reader.read(call);
  std::map<std::string, Digest> contents;
  for (std::size_t i = 0; i < list.size(); ++i) {
    contents[texts.at(list[i].digest)] = made.segments[i].content;
    const bool results = made.segments[i].image;
    CHECK(made.segments[i].plain_user == !results);
    CHECK(made.segments[i].blocks == (results ? 2u : 1u));
  }
  const auto& plain = contents.at(R"({"role":"user","content":[{"type":"text","text":"hi"}]})");
  CHECK(contents.at(R"({"role":"user","content":"hi"})") == plain);
  CHECK(contents.at(kMarked) == plain);
  CHECK(contents.at(R"({"role":"user","content":[{"type":"text","text":"ho"}]})") != plain);
  // What was served goes over what was asked for; settings that do not reach the prompt are left.
  CHECK(made.scope.tier == "standard");
  CHECK(made.params ==
        std::vector<replay::CacheParam>{{"image", "present"}, {"tool_choice", "\"auto\""}});
}

TEST_CASE("money is conserved to the last digit, and a missing price is not a price of zero") {
  Desk desk;
  desk.send({"", {kA}, 0});
  const auto verdict = desk.send({"", {kA, kB}, 400});
  REQUIRE(verdict.lost_tokens() > 0);
  replay::CacheRates rates;
  const auto rate = [](std::uint64_t picodollars) {
    return replay::Money::of(1, replay::Rate{picodollars});
  };
  rates.uncached = rate(3'000'001);
  rates.read = rate(300'007);
  rates.write = rates.write_5m = rate(3'750'011);
  replay::CallPrice price;
  price.low = price.high = rates;
  price.high.write = price.high.write_5m = rate(5'000'000);
  const auto money = money_of(verdict, price);
  REQUIRE(money.priced);
  replay::MoneyRange sum = money.ideal;
  sum += money.wasted();
  CHECK(money.total == sum);
  CHECK(money.waste[0].low <= money.waste[0].point.low);
  CHECK(money.waste[0].point.high <= money.waste[0].high);
  // Everything lost was written anew: no token of it was uncached.
  CHECK(money.waste[0].point.low == rate(3'450'004) * verdict.lost_tokens());
  CHECK(money.waste[0].point.high == rate(4'699'993) * verdict.lost_tokens());
  price.high.write.reset();
  price.high.write_5m.reset();
  price.total = {rate(1), rate(2)};
  price.unpriced_tokens = 7;
  const auto unpriced = money_of(verdict, price);
  CHECK_FALSE(unpriced.priced);
  CHECK(unpriced.total == price.total);
  CHECK(unpriced.ideal == price.total);
  CHECK(unpriced.wasted() == replay::MoneyRange{});
  CHECK(unpriced.unpriced_tokens == 7);
}

TEST_CASE("the provider's word is compared and never counted when it says nothing") {
  using replay::Agreement;
  Desk desk;
  desk.send({"", {kA}, 0});
  const auto miss = desk.send({"", {kA, kB}, 10, 0, 0, 'x'});
  REQUIRE(cause(miss) == CauseSet::sole(Leaf::system_other));
  const auto said = [&](const char* json) {
    const auto label = replay::vendor_verdict(json);
    REQUIRE(label);
    return replay::compare(*label, miss);
  };
  CHECK(said(R"({"cache_miss_reason":{"type":"system_changed"}})") == Agreement::finer);
  CHECK(said(R"({"cache_miss_reason":{"type":"tools_changed"}})") == Agreement::disagree);
  CHECK(said(R"({"cache_miss_reason":{"type":"unavailable"}})") == Agreement::inconclusive);
  CHECK(said(R"({"cache_miss_reason":{}})") == Agreement::inconclusive);
  // Null says that nothing differed, which a changed system prompt contradicts.
  CHECK(said(R"({"cache_miss_reason":null})") == Agreement::disagree);
  CHECK(said(R"({"type":"cache_miss","reason":"input_changed"})") == Agreement::finer);
  CHECK(said(R"({"type":"comparison_response_not_found"})") == Agreement::inconclusive);
  CHECK_FALSE(replay::vendor_verdict(""));
  CHECK_FALSE(replay::vendor_verdict("null"));
  const auto fine = desk.send({"", {kA, kB, kC}, 20, 0, 0, 'x'});
  CHECK(replay::compare(*replay::vendor_verdict(R"({"cache_miss_reason":null})"), fine) ==
        Agreement::agree);
}

TEST_CASE("volatile text is told by the first byte that differs") {
  CHECK(replay::volatile_kind("It is 10:00 now", "It is 10:02 now") == Leaf::system_clock);
  CHECK(replay::volatile_kind("on 2026-01-31", "on 2026-02-01") == Leaf::system_clock);
  CHECK(replay::volatile_kind("epoch 1780000000", "epoch 1780000060") == Leaf::system_clock);
  CHECK(replay::volatile_kind("Today is Monday", "Today is Friday") == Leaf::system_clock);
  CHECK(replay::volatile_kind("id 0f8fad5b-d9cb-469f-a165-708677289501",
                              "id 7f8fad5b-d9cb-469f-a165-708677289501") == Leaf::system_uuid);
  CHECK(replay::volatile_kind("in /home/a/x", "in /home/a/y") == Leaf::system_path);
  CHECK(replay::volatile_kind("be terse", "be brief") == Leaf::system_other);
}

TEST_CASE("wrong rule files are refused with file, line and the nearest key") {
  const auto refused = [](std::string text) {
    const auto book = replay::CacheRuleBook::parse(text, "r.toml");
    REQUIRE_FALSE(book);
    return book.error().message;
  };
  const std::string good = "[[family]]\nproviders = [\"a\"]\nmodels = [\"*\"]\n";
  CHECK(replay::CacheRuleBook::parse(good, "r.toml"));
  CHECK(refused(good + "min_token = [1, 2]\n") ==
        "r.toml:4: there is no key 'min_token'; did you mean 'min_tokens'?");
  CHECK(refused(good + "min_tokens = [2, 1]\n") == "r.toml:4: min_tokens must be [least, most]");
  CHECK(refused(good + "lookup = \"all\"\n") ==
        "r.toml:4: lookup cannot be 'all'; use markers, endings, prefix");
  CHECK(refused("") == "r.toml: holds no [[family]]");
}
