#include "replay/price_call.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <random>
#include <vector>

#include "tests/replay/price_support.h"

using namespace daybook::replay;
using namespace daybook::tests;

namespace {

struct Served {
  const char* tier;
  const char* speed;
  const char* region;
};

struct Golden {
  const char* what;
  const char* provider;
  const char* model;
  std::int64_t when;
  CallUsage usage;
  Served served;
  const char* low;  // dollars, by hand from the vendors' tables
  const char* high;
  std::uint64_t unpriced_tokens;
};

// clang-format off
const std::vector<Golden>& golden() {
  static const std::vector<Golden> kTable = {
      {"all classes", "anthropic", "claude-opus-5-5", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"", "", ""}, "0.065", "0.065", 0},
      {"all classes", "anthropic", "claude-opus-5", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"", "", ""}, "0.08625", "0.08625", 0},
      {"all classes", "anthropic", "claude-opus-4-8", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"", "", ""}, "0.08625", "0.08625", 0},
      {"all classes", "anthropic", "claude-opus-4-7", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"", "", ""}, "0.08625", "0.08625", 0},
      {"all classes", "anthropic", "claude-opus-4-6", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"", "", ""}, "0.08625", "0.08625", 0},
      {"all classes", "anthropic", "claude-opus-4-5", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"", "", ""}, "0.08625", "0.08625", 0},
      {"all classes", "anthropic", "claude-fable-5-1", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"", "", ""}, "0.1575", "0.1575", 0},
      {"all classes", "anthropic", "claude-mythos-5-1", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"", "", ""}, "0.1575", "0.1575", 0},
      {"all classes", "anthropic", "claude-fable-5", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"", "", ""}, "0.1725", "0.1725", 0},
      {"all classes", "anthropic", "claude-sonnet-5", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"", "", ""}, "0.0345", "0.0345", 0},
      {"all classes", "anthropic", "claude-sonnet-4-5", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"", "", ""}, "0.05175", "0.05175", 0},
      {"all classes", "anthropic", "claude-sonnet-4", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"", "", ""}, "0.05175", "0.05175", 0},
      {"all classes", "anthropic", "claude-sonnet-4-6", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"", "", ""}, "0.05175", "0.05175", 0},
      {"all classes", "anthropic", "claude-haiku-4-5", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"", "", ""}, "0.01725", "0.01725", 0},
      {"all classes", "anthropic", "claude-haiku-5-5", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"", "", ""}, "0.001725", "0.001725", 0},
      {"all classes", "anthropic", "claude-opus-4-1", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"", "", ""}, "0.25875", "0.25875", 0},
      {"all classes", "anthropic", "claude-3-5-haiku", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"", "", ""}, "0.0138", "0.0138", 0},
      {"all classes", "anthropic", "claude-3-haiku", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"", "", ""}, "0.004375", "0.004375", 0},
      {"255k: whole request at the premium", "anthropic", "claude-sonnet-4-5-20250929", kAutumn,
       split(5000, 240000, 10000, 0, 2000, 0), {"", "", ""}, "0.294", "0.294", 0},
      {"exactly 200k: no premium", "anthropic", "claude-sonnet-4-5", kAutumn,
       split(0, 200000, 0, 0, 1000, 0), {"", "", ""}, "0.075", "0.075", 0},
      {"one token more", "anthropic", "claude-sonnet-4-5", kAutumn,
       split(1, 200000, 0, 0, 1000, 0), {"", "", ""}, "0.142506", "0.142506", 0},
      {"reads alone pass the threshold", "anthropic", "claude-sonnet-4-5", kAutumn,
       split(0, 200001, 0, 0, 0, 0), {"", "", ""}, "0.1200006", "0.1200006", 0},
      {"output does not count for the threshold", "anthropic", "claude-sonnet-4-5", kAutumn,
       split(150000, 0, 0, 0, 60000, 0), {"", "", ""}, "1.35", "1.35", 0},
      {"batch stacks on the premium", "anthropic", "claude-sonnet-4-5", kAutumn,
       split(5000, 240000, 10000, 0, 2000, 0), {"batch", "", ""}, "0.147", "0.147", 0},
      {"Opus 4.6 premium while it lasted", "anthropic", "claude-opus-4-6",
       at("2026-03-12T23:59:59Z"),
       split(250000, 0, 0, 0, 1000, 0), {"", "", ""}, "2.5375", "2.5375", 0},
      {"Opus 4.6 at standard prices since", "anthropic", "claude-opus-4-6",
       at("2026-03-13T00:00:00Z"),
       split(250000, 0, 0, 0, 1000, 0), {"", "", ""}, "1.275", "1.275", 0},
      {"Sonnet 4.6 premium while it lasted", "anthropic", "claude-sonnet-4-6",
       at("2026-03-01T00:00:00Z"),
       split(10000, 300000, 0, 2000, 1000, 0), {"", "", ""}, "0.2865", "0.2865", 0},
      {"Sonnet 4.6 at standard prices since", "anthropic", "claude-sonnet-4-6", kAutumn,
       split(10000, 300000, 0, 2000, 1000, 0), {"", "", ""}, "0.147", "0.147", 0},
      {"Opus 5 has no threshold", "anthropic", "claude-opus-5", kAutumn,
       split(700000, 0, 0, 0, 0, 0), {"", "", ""}, "3.5", "3.5", 0},
      {"Haiku 5.5 over 100k", "anthropic", "claude-haiku-5-5", kAutumn,
       split(101000, 0, 0, 0, 1000, 0), {"", "", ""}, "0.053", "0.053", 0},
      {"Sonnet 5.5 reads before the cut", "anthropic", "claude-sonnet-5-5",
       at("2026-10-06T23:59:59Z"),
       split(0, 1000000, 0, 0, 0, 0), {"", "", ""}, "0.2", "0.2", 0},
      {"Sonnet 5.5 reads since", "anthropic", "claude-sonnet-5-5", at("2026-10-07T00:00:00Z"),
       split(0, 1000000, 0, 0, 0, 0), {"", "", ""}, "0.1", "0.1", 0},
      {"batch", "anthropic", "claude-opus-5", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"batch", "", ""}, "0.043125", "0.043125", 0},
      {"fast Opus 5", "anthropic", "claude-opus-5", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"", "fast", ""}, "0.1725", "0.1725", 0},
      {"fast Opus 5.5", "anthropic", "claude-opus-5-5", kAutumn,
       split(1000000, 0, 0, 0, 1000000, 0), {"", "fast", ""}, "48", "48", 0},
      {"standard speed, named", "anthropic", "claude-opus-5-5", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0),
       {"standard", "standard", "global"}, "0.065", "0.065", 0},
      {"inference in the US: every class", "anthropic", "claude-opus-5-5", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"", "", "us"}, "0.0715", "0.0715", 0},
      {"US and fast and batch", "anthropic", "claude-opus-5", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"batch", "fast", "us"}, "0.094875", "0.094875", 0},
      {"searches have their own fee", "anthropic", "claude-opus-5", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 7), {"", "", ""}, "0.15625", "0.15625", 0},
      {"multipliers leave the fee alone", "anthropic", "claude-opus-5", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 3), {"batch", "", "us"}, "0.0774375", "0.0774375", 0},
      {"API-side compaction: the answer", "anthropic", "claude-opus-5-5", kAutumn,
       split(23000, 0, 0, 0, 1000, 0), {"", "", ""}, "0.112", "0.112", 0},
      {"API-side compaction: the summary", "anthropic", "claude-opus-5-5", kAutumn,
       split(180000, 0, 0, 0, 3500, 0), {"", "", ""}, "0.79", "0.79", 0},
      {"700k rewritten for 5 minutes", "anthropic", "claude-opus-5", kAutumn,
       split(0, 0, 700000, 0, 0, 0), {"", "", ""}, "4.375", "4.375", 0},
      {"700k rewritten for an hour", "anthropic", "claude-opus-5", kAutumn,
       split(0, 0, 0, 700000, 0, 0), {"", "", ""}, "7", "7", 0},
      {"700k read instead", "anthropic", "claude-opus-5", kAutumn,
       split(0, 700000, 0, 0, 0, 0), {"", "", ""}, "0.35", "0.35", 0},
      {"Bedrock name", "bedrock", "us.anthropic.claude-opus-4-5-20251101-v1:0", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"", "", ""}, "0.08625", "0.08625", 0},
      {"Vertex name", "vertex", "claude-sonnet-4-5@20250929", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"", "", ""}, "0.05175", "0.05175", 0},
      {"OpenRouter name", "openrouter", "anthropic/claude-opus-4.5", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"", "", ""}, "0.08625", "0.08625", 0},
      {"name with its context", "anthropic", "claude-opus-4-6[1m]", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"", "", ""}, "0.08625", "0.08625", 0},
      {"own name of the provider", "work", "claude-haiku-4-5-20251001", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"", "", ""}, "0.01725", "0.01725", 0},
      {"no provider told", "", "claude-haiku-4-5-20251001", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"", "", ""}, "0.01725", "0.01725", 0},
      {"unknown model", "anthropic", "claude-opus-9", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"", "", ""}, "0", "0", 28500},
      {"unknown tier", "anthropic", "claude-opus-5", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"priority", "", ""}, "0", "0", 28500},
      {"unknown speed", "anthropic", "claude-haiku-4-5", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"", "fast", ""}, "0", "0", 28500},
      {"unknown region", "anthropic", "claude-opus-5", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"", "", "eu"}, "0", "0", 28500},
      {"the same name run elsewhere", "ollama", "claude-opus-5", kAutumn,
       split(1000, 20000, 3000, 4000, 500, 0), {"", "", ""}, "0", "0", 28500},
      {"writes without their lifetime", "anthropic", "claude-opus-5", kAutumn,
       unsplit(1000, 0, 100000, 0), {"", "", ""}, "0.63", "1.005", 0},
      {"part of the writes without it", "anthropic", "claude-opus-5", kAutumn,
       partly_split(60000, 30000, 100000), {"", "", ""}, "0.7375", "0.775", 0},
      {"300k: long prices for the whole request", "openai", "gpt-5.6-sol", kAutumn,
       total(300000, 280000, 20000, 3000), {"", "", ""}, "0.514", "0.514", 0},
      {"exactly 272k: short", "openai", "gpt-5.6-sol", kAutumn,
       total(272000, 200000, 72000, 1000), {"", "", ""}, "0.46", "0.46", 0},
      {"one token more", "openai", "gpt-5.6-sol", kAutumn,
       total(272001, 200000, 72000, 1000), {"", "", ""}, "0.910008", "0.910008", 0},
      {"written tokens are not also input", "openai", "gpt-5.6-sol", kAutumn,
       total(100000, 50000, 20000, 1000), {"", "", ""}, "0.26", "0.26", 0},
      {"before the promotion", "openai", "gpt-5.6-sol", at("2026-08-20T23:59:59Z"),
       total(100000, 50000, 20000, 1000), {"", "", ""}, "0.33", "0.33", 0},
      {"its first moment", "openai", "gpt-5.6-sol", at("2026-08-21T00:00:00Z"),
       total(100000, 50000, 20000, 1000), {"", "", ""}, "0.26", "0.26", 0},
      {"its last moment", "openai", "gpt-5.6-sol", at("2026-11-21T23:59:59Z"),
       total(100000, 50000, 20000, 1000), {"", "", ""}, "0.26", "0.26", 0},
      {"after it: not known", "openai", "gpt-5.6-sol", at("2026-11-22T00:00:00Z"),
       total(100000, 50000, 20000, 1000), {"", "", ""}, "0", "0", 101000},
      {"flex", "openai", "gpt-5.6-sol", kAutumn,
       total(100000, 50000, 20000, 1000), {"flex", "", ""}, "0.13", "0.13", 0},
      {"batch over the threshold", "openai", "gpt-5.6-sol", kAutumn,
       total(300000, 280000, 20000, 3000), {"batch", "", ""}, "0.257", "0.257", 0},
      {"fast", "openai", "gpt-5.6-sol", kAutumn,
       total(100000, 50000, 20000, 1000), {"fast", "", ""}, "0.52", "0.52", 0},
      {"priority, its former name", "openai", "gpt-5.6-sol", kAutumn,
       total(100000, 50000, 20000, 1000), {"priority", "", ""}, "0.52", "0.52", 0},
      {"fast GPT-5.5", "openai", "gpt-5.5", kAutumn,
       total(100000, 50000, -1, 1000), {"fast", "", ""}, "0.7625", "0.7625", 0},
      {"writes are free before GPT-5.6", "openai", "gpt-5.5", kAutumn,
       total(100000, 50000, -1, 1000), {"", "", ""}, "0.305", "0.305", 0},
      {"default tier, named", "openai", "gpt-5-codex", kAutumn,
       total(100000, 64000, -1, 2000), {"default", "", ""}, "0.073", "0.073", 0},
      {"date behind the name", "openai", "gpt-5-codex-2025-09-15", kAutumn,
       total(100000, 64000, -1, 2000), {"", "", ""}, "0.073", "0.073", 0},
      {"OpenRouter", "openrouter", "openai/gpt-5", kAutumn,
       total(100000, 64000, -1, 2000), {"", "", ""}, "0.073", "0.073", 0},
      {"written tokens not told apart", "openai", "gpt-5.6-sol", kAutumn,
       total(100000, 50000, -1, 0), {"", "", ""}, "0.22", "0.27", 0},
      {"nothing told apart", "openai", "gpt-5-codex", kAutumn,
       total(100000, -1, -1, 0), {"", "", ""}, "0.0125", "0.125", 0},
      {"GPT-6 Sol", "openai", "gpt-6-sol", kAutumn,
       total(100000, 50000, 20000, 1000), {"", "", ""}, "0.13", "0.13", 0},
      {"GPT-6.1 Sol, long", "openai", "gpt-6.1-sol", kAutumn,
       total(300000, 250000, 20000, 1000), {"", "", ""}, "0.285", "0.285", 0},
      {"GPT-6 Luna", "openai", "gpt-6-luna", kAutumn,
       total(100000, 50000, 20000, 1000), {"", "", ""}, "0.0065", "0.0065", 0},
      {"GPT-5.6 Terra", "openai", "gpt-5.6-terra", kAutumn,
       total(100000, 50000, 20000, 1000), {"", "", ""}, "0.132", "0.132", 0},
      {"unknown tier", "openai", "gpt-5.6-sol", kAutumn,
       total(1000, 0, 0, 10), {"scale", "", ""}, "0", "0", 1010},
      {"off-peak", "deepseek", "deepseek-v4.1-flash", at("2026-10-14T00:59:59Z"),
       total(100000, 90000, -1, 2000), {"", "", ""}, "0.00297", "0.00297", 0},
      {"peak begins", "deepseek", "deepseek-v4.1-flash", at("2026-10-14T01:00:00Z"),
       total(100000, 90000, -1, 2000), {"", "", ""}, "0.00594", "0.00594", 0},
      {"peak ends", "deepseek", "deepseek-v4.1-flash", at("2026-10-14T04:00:00Z"),
       total(100000, 90000, -1, 2000), {"", "", ""}, "0.00297", "0.00297", 0},
      {"second peak", "deepseek", "deepseek-v4-pro", at("2026-10-14T09:59:59Z"),
       total(100000, 90000, -1, 2000), {"", "", ""}, "0.02508", "0.02508", 0},
      {"Pro off-peak", "deepseek", "deepseek-v4-pro", at("2026-10-14T10:00:00Z"),
       total(100000, 90000, -1, 2000), {"", "", ""}, "0.01254", "0.01254", 0},
      {"no peak on Saturday", "deepseek", "deepseek-v4-pro", at("2026-10-17T02:00:00Z"),
       total(100000, 90000, -1, 2000), {"", "", ""}, "0.01254", "0.01254", 0},
      {"no peak on a holiday", "deepseek", "deepseek-v4-pro", at("2026-10-01T02:00:00Z"),
       total(100000, 90000, -1, 2000), {"", "", ""}, "0.01254", "0.01254", 0},
      {"V4 Pro before peak prices", "deepseek", "deepseek-v4-pro", at("2026-08-01T02:00:00Z"),
       total(100000, 90000, -1, 2000), {"", "", ""}, "0.00641625", "0.00641625", 0},
      {"between two known prices", "deepseek", "deepseek-v4-pro", at("2026-08-20T02:00:00Z"),
       total(100000, 90000, -1, 2000), {"", "", ""}, "0", "0", 102000},
      {"at Together", "together", "deepseek-v4-pro", kAutumn,
       total(100000, 90000, -1, 2000), {"", "", ""}, "0", "0", 102000},
      {"Kimi K3", "moonshot", "kimi-k3", kAutumn,
       total(100000, 90000, 0, 2000), {"", "", ""}, "0.087", "0.087", 0},
      {"its writes have no known price", "moonshot", "kimi-k3", kAutumn,
       total(100000, 90000, 5000, 2000), {"", "", ""}, "0.072", "0.072", 5000},
      {"Responses: OpenAI bills", "openai-responses", "gpt-6.2-sol", kAutumn,
       total(100000, 80000, 10000, 2000), {"", "", ""}, "0.073", "0.073", 0},
      {"Gemini 4 Argon at its first price", "gemini", "gemini-4-argon", kAutumn,
       total(100000, 90000, -1, 2000), {"", "", ""}, "0.049", "0.049", 0},
      {"Gemini 4 Argon from December on", "google", "gemini-4-argon", at("2026-12-02T12:00:00Z"),
       total(100000, 90000, -1, 2000), {"", "", ""}, "0.098", "0.098", 0},
      {"what Gemini read was not told", "gemini", "gemini-4-argon", kAutumn,
       total(100000, -1, -1, 0), {"", "", ""}, "0.01", "0.2", 0},
      {"Gemini 4 Neon, flex", "gemini", "gemini-4-neon", kAutumn,
       total(100000, 90000, -1, 2000), {"flex", "", ""}, "0.03675", "0.03675", 0},
      {"Gemini: no row", "google", "gemini-2.5-pro", kAutumn,
       total(1000, 0, 0, 10), {"", "", ""}, "0", "0", 1010},
  };
  return kTable;
}
// clang-format on

CallCost price(const PriceBook& book, const Golden& golden_case) {
  CallUsage usage = golden_case.usage;
  usage.service_tier = golden_case.served.tier;
  usage.speed = golden_case.served.speed;
  usage.region = golden_case.served.region;
  return cost_of(book, golden_case.provider, golden_case.model, usage, golden_case.when);
}

}  // namespace

TEST_CASE("the golden prices") {
  const PriceBook book = PriceBook::shipped();
  REQUIRE(golden().size() >= 60);
  for (const Golden& it : golden()) {
    const CallCost cost = price(book, it);
    INFO(it.model << ": " << it.what);
    CHECK(cost.total.low.exact() == it.low);
    CHECK(cost.total.high.exact() == it.high);
    CHECK(cost.unpriced_tokens == it.unpriced_tokens);
    CHECK((cost.why == Unpriced::no) == (it.unpriced_tokens == 0));
  }
}

TEST_CASE("every token of every golden case is in one class, priced or not") {
  const PriceBook book = PriceBook::shipped();
  for (const Golden& it : golden()) {
    const CallCost cost = price(book, it);
    std::uint64_t tokens = 0, unpriced = 0;
    MoneyRange total;
    for (const CostLine& line : cost.used()) {
      if (line.what != TokenClass::web_search) tokens += line.count;
      if (line.cost) total += *line.cost;
      if (!line.cost) unpriced += line.count;
    }
    const CallUsage& usage = it.usage;
    const std::uint64_t reported =
        usage.input_total.value_or(usage.input_uncached.value_or(0) + usage.cache_read.value_or(0) +
                                   usage.cache_write.value_or(0)) +
        usage.output.value_or(0);
    INFO(it.model << ": " << it.what);
    CHECK(tokens == reported);
    CHECK(unpriced == cost.unpriced_tokens);
    CHECK(total == cost.total);
  }
}

TEST_CASE("the total of all golden cases does not depend on their order") {
  const PriceBook book = PriceBook::shipped();
  std::vector<MoneyRange> costs;
  for (const Golden& it : golden()) costs.push_back(price(book, it).total);
  const auto sum = [&] {
    MoneyRange total;
    for (const MoneyRange& cost : costs) total += cost;
    return total;
  };
  const MoneyRange first = sum();
  std::mt19937 random(11);
  for (int i = 0; i < 10; ++i) {
    std::shuffle(costs.begin(), costs.end(), random);
    CHECK(sum() == first);
  }
}

TEST_CASE("why something has no price is said") {
  const PriceBook book = PriceBook::shipped();
  const auto why = [&](const char* provider, const char* model, CallUsage usage,
                       std::int64_t when) {
    return cost_of(book, provider, model, usage, when).why;
  };
  const CallUsage plain = split(10, 0, 0, 0, 1);
  CHECK(why("anthropic", "claude-opus-5", plain, kAutumn) == Unpriced::no);
  CHECK(why("anthropic", "nothing-1", plain, kAutumn) == Unpriced::model);
  CHECK(why("openai", "gpt-5.6-sol", plain, at("2027-01-01T00:00:00Z")) == Unpriced::date);
  CHECK(why("openai", "gpt-5.6-sol", plain, 0) == Unpriced::no_date);
  CHECK(why("anthropic", "claude-opus-5", plain, 0) == Unpriced::no);  // one price for ever
  CallUsage odd = plain;
  odd.service_tier = "scale";
  CHECK(why("openai", "gpt-5", odd, kAutumn) == Unpriced::tier);
  odd = plain;
  odd.speed = "warp";
  CHECK(why("anthropic", "claude-opus-5", odd, kAutumn) == Unpriced::speed);
  odd = plain;
  odd.region = "mars";
  CHECK(why("anthropic", "claude-opus-5", odd, kAutumn) == Unpriced::region);
  odd = plain;
  odd.web_searches = 2;
  const CallCost search = cost_of(book, "openai", "gpt-5", odd, kAutumn);
  CHECK(search.why == Unpriced::token_class);
  CHECK(search.unpriced_searches == 2);
  CHECK(search.unpriced_tokens == 0);
  odd = plain;
  odd.cache_read = kMostTokens + 1;
  const CallCost absurd = cost_of(book, "anthropic", "claude-opus-5", odd, kAutumn);
  CHECK(absurd.why == Unpriced::implausible);
  CHECK(absurd.total == MoneyRange{});
  CHECK(absurd.unpriced_tokens == kMostTokens + 12);
}

TEST_CASE("a price that was read half a year before a call is refused, unless its end is known") {
  PriceBook book;
  const auto added = book.add(R"(
[[price]]
models = ["open"]
input = 1
read = 2026-01-01
[[price]]
models = ["closed"]
input = 1
valid_to = 2027-01-01
read = 2026-01-01
[[price]]
models = ["own"]
input = 1
)",
                              "own.toml");
  REQUIRE(added.has_value());
  // 2026-01-01 is day 20454 of the epoch; 180 days later it is day 20634, June 30.
  constexpr std::int64_t kDay = 86'400'000'000'000;
  const auto why = [&](const char* model, std::int64_t at) {
    const auto rows = book.rows_for("", model);
    return price_call(rows, split(100, 0, 0, 0, 0, 0), {at, at}).why;
  };
  CHECK(why("open", 20634 * kDay - 1) == Unpriced::no);
  CHECK(why("open", 20634 * kDay) == Unpriced::stale);
  CHECK(why("closed", 20634 * kDay) == Unpriced::no);
  CHECK(why("own", 20634 * kDay) == Unpriced::no);
  const auto refused = price_call(book.rows_for("", "open"), split(100, 0, 0, 0, 0, 0),
                                  {20634 * kDay, 20634 * kDay});
  CHECK(refused.unpriced_tokens == 100);
  CHECK(refused.total.high.is_zero());
}

TEST_CASE("nothing reported costs nothing and is not unpriced") {
  const CallCost cost = cost_of(PriceBook::shipped(), "x", "y", CallUsage{}, kAutumn);
  CHECK(cost.used().empty());
  CHECK(cost.why == Unpriced::no);
  CHECK_FALSE(cost.counts.output_known);
}

TEST_CASE("a class that is not told is unknown, unless a total holds it or nobody bills it") {
  const auto book = PriceBook::shipped();
  CallUsage usage = split(1, 2, 3, 0, 4);
  const auto counts = [&] {
    return cost_of(book, "anthropic", "claude-sonnet-5", usage, kAutumn).counts;
  };
  CHECK(counts().whole());
  CHECK(authority_of(usage, counts()) == daybook::schema::Authority::exact);
  usage.cache_write.reset();
  usage.cache_write_5m.reset();
  usage.cache_write_1h.reset();
  CHECK_FALSE(counts().write_known);
  CHECK(authority_of(usage, counts()) == daybook::schema::Authority::lower_bound);
  // A model whose writes have no price reports none.
  PriceBook own;
  REQUIRE(own.add("[[price]]\nmodels = [\"m\"]\ninput = 1\ncache_read = 1\noutput = 1\n", "f"));
  CHECK(cost_of(own, "anthropic", "m", usage, kAutumn).counts.whole());
  usage.cache_read.reset();
  CHECK_FALSE(counts().read_known);
  usage.input_total = 6;
  CHECK(counts().read_known);
  CHECK(counts().write_known);
  usage.authority = daybook::schema::Authority::estimate;
  usage.output.reset();
  CHECK(authority_of(usage, counts()) == daybook::schema::Authority::estimate);
  CHECK_FALSE(class_counts(CallUsage{}).input_known);
}

TEST_CASE("peak hours without a time of day leave an interval") {
  const auto book = PriceBook::shipped();
  const auto rows = book.rows_for("deepseek", "deepseek-v4-pro");
  const CallCost cost = price_call(rows, total(1'000'000, 0, -1, 0), {kAutumn, 0});
  CHECK(cost.total.low.exact() == "0.66");
  CHECK(cost.total.high.exact() == "1.32");
  CHECK(cost.rates.peak_unknown);
}

TEST_CASE("both ways of counting become the same classes") {
  const ClassCounts anthropic = class_counts(split(10, 200, 30, 0, 5));
  CallUsage usage = total(240, 200, 30, 5);
  const ClassCounts openai = class_counts(usage);
  CHECK(anthropic[TokenClass::input] == 10);
  CHECK(openai[TokenClass::input] == 10);
  CHECK(anthropic.whole_input() == 240);
  CHECK(openai.whole_input() == 240);
  CHECK(openai[TokenClass::cache_write] == 30);
  CHECK(anthropic[TokenClass::cache_write] == 0);
  CHECK(anthropic[TokenClass::cache_write_5m] == 30);

  usage.input_uncached = 40;  // hit and miss beside the total
  usage.cache_write.reset();
  CHECK(class_counts(usage)[TokenClass::input] == 40);
  usage.input_uncached = 10;  // 30 of the total are in no part
  CHECK(class_counts(usage)[TokenClass::input] == 40);
  CHECK(class_counts(total(100, 300, -1, 0))[TokenClass::input] == 0);  // not below zero
}
