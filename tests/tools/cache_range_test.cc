// Where a call does not tell the class of some tokens, both analyses show the same two figures.
#include "tests/tools/both_ways.h"

namespace daybook::tests {
namespace {

using Catch::Contains;

/// Both ends: what was spent is what would have been, and what was lost.
void check_ends(const Json& total) {
  CHECK(total["conserved"] == true);
}

TEST_CASE("cache and cost: writes without a lifetime cost one range") {
  const auto usage = [](int input, int read, int written) {
    return fmt::format(R"({{"input_tokens":{},"cache_read_input_tokens":{},)"
                       R"("cache_creation_input_tokens":{},"output_tokens":0}})",
                       input, read, written);
  };
  BothWays log("s1.jsonl",
               claude_answer("m1", "10:00:00", usage(1'000, 0, 100'000), "claude-opus-5") +
                   claude_answer("m2", "10:01:00", usage(1'000, 0, 100'000), "claude-opus-5"));
  const Json cost = log.json({"cost"}).back();
  // 1,000 x $5, 100,000 x $6.25 or $10 a million, twice.
  CHECK(cost["cost_usd"]["low"] == "1.26");
  CHECK(cost["cost_usd"]["high"] == "2.01");
  for (const CliRun& run : {log.path({"cache", "--json"}), log.cli.run({"cache", "--json"})}) {
    const auto lines = json_lines(run.out);
    CHECK(lines[0]["total_usd"] == cost["cost_usd"]);
    check_ends(lines[0]);
    // All that the first wrote was written again, at 99,010 of them as writes for $5.75 or $9.50
    // more than a read.
    CHECK(lines[0]["lost"] == 100'000);
    CHECK(lines[0]["waste_usd"]["low"] == "0.5737625");
    CHECK(lines[0]["ideal_usd"]["low"] != lines[0]["ideal_usd"]["high"]);
    for (const Json& line : lines) {
      if (line["line"] == "session") CHECK(line["total_usd"] == cost["cost_usd"]);
    }
  }
  CHECK_THAT(log.out({"cost"}), Contains("$1.2600–$2.0100"));
  const std::string text = log.path({"cache"}).out;
  CHECK_THAT(text, Contains("$1.2600–$2.0100 spent = "));
  CHECK_THAT(text, Contains("\na cost of two figures: the calls do not tell the class of some "
                            "tokens; it is between them\n"));
}

TEST_CASE("cache and cost: reads that are not told are a range, from none lost to all") {
  const auto line = [](int at, const char* type, const std::string& payload) {
    return fmt::format(R"({{"timestamp":"2026-10-02T10:00:{:02}.000Z","type":"{}","payload":{}}})",
                       at, type, payload) +
           "\n";
  };
  const auto record = [&](int at, const std::string& id) {
    return line(at, "token_usage_record",
                fmt::format(R"({{"thread_id":"9d02","session_id":"9d02","response_id":"{}",)"
                            R"("usage":{{"input_tokens":100000,"output_tokens":0}}}})",
                            id));
  };
  BothWays log("rollout-2026-10-02T10-00-00-9d02.jsonl",
               line(1, "session_meta", R"({"id":"9d02","cwd":"/p"})") +
                   line(2, "turn_context", R"({"model":"gpt-5-codex"})") + record(3, "a") +
                   record(4, "b"));
  const Json cost = log.json({"cost"}).back();
  CHECK(cost["cost_usd"]["low"] == "0.025");
  CHECK(cost["cost_usd"]["high"] == "0.25");
  const auto lines = json_lines(log.path({"cache", "--json"}).out);
  CHECK(lines[0]["total_usd"] == cost["cost_usd"]);
  check_ends(lines[0]);
  // 99,968 tokens in whole blocks of 128; were they read, nothing was lost.
  CHECK(lines[1]["cause"] == "U2");
  CHECK(lines[1]["tokens"] == 99'968);
  CHECK(lines[1]["waste_usd"]["low"] == "0");
  CHECK(lines[1]["waste_usd"]["high"] == "0.112464");
  CHECK(json_lines(log.cli.run({"cache", "--json"}).out)[0]["total_usd"] == cost["cost_usd"]);
}

TEST_CASE("cache and cost: what of a call has a price is in both totals") {
  const auto line = [](int at, const std::string& usage) {
    return fmt::format(R"({{"role":"assistant","content":"b","ts":{}.5,"usage":{{)"
                       R"("model":"moonshot:kimi-k3",{}}}}})",
                       1759398000 + at, usage) +
           "\n";
  };
  // Nobody knows the price of its writes.
  BothWays log("one.jsonl",
               R"({"role":"user","content":"a","ts":1759398000.5})"
               "\n" +
                   line(1, R"("input":5000,"output":2000,"cache_read":90000,"cache_write":5000)") +
                   line(9, R"("input":5000,"output":2000,"cache_read":90000,"cache_write":0)"));
  const Json cost = log.json({"cost"}).back();
  CHECK(cost["unpriced"]["tokens"] == 5'000);
  const Json total = json_lines(log.path({"cache", "--json"}).out).at(0);
  CHECK(total["total_usd"] == cost["cost_usd"]);
  CHECK(total["unpriced_tokens"] == 5'000);
  CHECK(total["unpriced_calls"] == 1);
  check_ends(total);
}

TEST_CASE("cache: losses of calls without usage are not known, which is not unpriced") {
  BothWays log("s1.jsonl", claude_answer("m1", "10:00:00", claude_usage_json(3, 0, 5'000, 9)) +
                               claude_answer("m2", "10:01:00", "{}"));
  for (const CliRun& run : {log.path({"cache"}), log.cli.run({"cache"})}) {
    CHECK_THAT(run.out,
               Catch::Matches("(.|\n)*\nU2 +unknown +1 +0 +not known +not known +(.|\n)*"));
    CHECK_THAT(run.out, !Contains("unpriced"));
  }
  const auto lines = json_lines(log.path({"cache", "--json"}).out);
  CHECK(lines[1]["cause"] == "U2");
  CHECK(lines[1]["waste_usd"].is_null());
  CHECK(lines[1]["recoverable_usd"].is_null());
  CHECK(lines[0]["unpriced_calls"] == 0);
}

}  // namespace
}  // namespace daybook::tests
