// A class of tokens that a log does not tell is not one of which there were none.
#include "tests/tools/both_ways.h"

namespace daybook::tests {
namespace {

using Catch::Contains;

Json cost_of(const std::string& usage) {
  BothWays log("s1.jsonl", claude_answer("m1", "10:00:00", usage));
  return log.json({"cost"}).back();
}

TEST_CASE("missing figures: each class that a response of Claude does not tell is a lower bound") {
  const Json whole = cost_of(claude_usage_json(3, 100, 50, 20));
  CHECK(whole["authority"]["exact"] == 1);
  struct Row {
    const char* usage;
    const char* member;
  };
  const Row rows[] = {
      {R"({"cache_read_input_tokens":100,"cache_creation_input_tokens":0,"output_tokens":20})",
       "without_input"},
      {R"({"input_tokens":null,"cache_read_input_tokens":100,"cache_creation_input_tokens":0,)"
       R"("output_tokens":20})",
       "without_input"},
      {R"({"input_tokens":3,"cache_read_input_tokens":null,"cache_creation_input_tokens":0,)"
       R"("output_tokens":20})",
       "without_cache_read"},
      {R"({"input_tokens":3,"cache_read_input_tokens":100,"output_tokens":20})",
       "without_cache_write"},
      {R"({"input_tokens":3,"cache_read_input_tokens":100,"cache_creation_input_tokens":0})",
       "without_output"},
  };
  for (const Row& row : rows) {
    INFO(row.usage);
    const Json total = cost_of(row.usage);
    for (const char* member :
         {"without_input", "without_cache_read", "without_cache_write", "without_output"}) {
      CHECK(whole[member] == 0);
      CHECK(total[member] == (std::string_view(member) == row.member ? 1 : 0));
    }
    CHECK(total["authority"]["exact"] == 0);
    CHECK(total["authority"]["lower_bound"] == 1);
    CHECK(total["without_usage"] == 0);
  }
}

TEST_CASE(
    "missing figures: the table shows a question mark, not a zero, and says what is missing") {
  const std::string usage = R"({"cache_read_input_tokens":null,"cache_creation_input_tokens":0,)"
                            R"("output_tokens":1000})";
  BothWays log("s1.jsonl", claude_answer("m1", "10:00:00", usage));
  // 1,000 tokens of output at $10 a million.
  CHECK(log.out({"cost"}) ==
        "DAY         CALLS  INPUT  READ  WRITTEN  OUTPUT     COST\n"
        "2026-10-01      1      ?     ?        0   1,000  $0.0100  ≥\n"
        "total           1      ?     ?        0   1,000  $0.0100  ≥\n"
        "≥ lower bound: 1 call did not report the input\n"
        "≥ lower bound: 1 call did not report the cache reads\n"
        "list prices at the time of each call; days and times in UTC\n");
  CHECK_THAT(log.path({"cost", "--explain", "s1:1"}).out,
             Contains("figures   lower bound: not reported: input, cache_read\n") &&
                 Catch::Matchers::Matches("(.|\n)*total +[0-9,]+ +≥ 0\\.[0-9]+\n"));
  const auto explained = json_lines(log.path({"cost", "--explain", "s1:1", "--json"}).out).at(0);
  CHECK(explained["authority"] == "lower bound");
  CHECK(explained["missing"] == Json::array({"input", "cache_read"}));
}

TEST_CASE("missing figures: a call without usage has no exact figures") {
  BothWays log("s1.jsonl", claude_answer("m1", "10:00:00", "{}"));
  CHECK_THAT(log.path({"cost", "--explain", "s1:1"}).out,
             Contains("figures   not reported\n") && !Contains("exact"));
  CHECK(json_lines(log.path({"cost", "--explain", "s1:1", "--json"}).out).at(0)["authority"] ==
        "not reported");
}

TEST_CASE("missing figures: the cache analysis measures no call whose input is not whole") {
  BothWays log(
      "s1.jsonl",
      claude_answer("m1", "10:00:00", claude_usage_json(3, 0, 5'000, 9)) +
          claude_answer("m2", "10:01:00",
                        R"({"input_tokens":3,"cache_read_input_tokens":null,)"
                        R"("cache_creation_input_tokens":0,"output_tokens":9})") +
          claude_answer("m3", "10:02:00", R"({"cache_read_input_tokens":5000,"output_tokens":9})") +
          claude_answer("m4", "10:03:00", "{}"));
  const Json total = json_lines(log.path({"cache", "--json"}).out).at(0);
  CHECK(total["calls"] == 4);
  CHECK(total["unmeasured_calls"] == 3);
  CHECK(total["without_usage"] == 1);
  CHECK(total["input"] == 5'003);
  CHECK(total["lost"] == 0);
  CHECK(total["conserved"] == true);
  // What they did report is paid, as `cost` says.
  CHECK(total["total_usd"] == log.json({"cost"}).back()["cost_usd"]);
  const std::string text = log.path({"cache"}).out;
  CHECK_THAT(text, Contains("1 call reported no usage\n"));
  CHECK_THAT(text, Contains("2 calls did not report the whole input: "));
  CHECK_THAT(log.path({"cache", "--why", "s1:2"}).out,
             Contains("the call did not report its whole input\n"));
}

TEST_CASE("missing figures: writes that are not told leave the reads measured") {
  BothWays log("s1.jsonl", claude_answer("m1", "10:00:00", claude_usage_json(3, 0, 5'000, 9)) +
                               claude_answer("m2", "10:01:00",
                                             R"({"input_tokens":3,"cache_read_input_tokens":0,)"
                                             R"("output_tokens":9})") +
                               claude_answer("m3", "10:02:00", claude_usage_json(3, 0, 0, 9)));
  const auto run = log.path({"cache", "--json"});
  const Json total = json_lines(run.out).at(0);
  CHECK(total["unmeasured_calls"] == 0);
  CHECK(total["without_cache_write"] == 1);
  // The second lost what the first wrote, as far as its three tokens go; what the second left is
  // not known, and so the third is told nothing.
  CHECK(total["lost"] == 3);
  CHECK_THAT(log.path({"cache"}).out, Contains("1 call did not report what was written"));
}

TEST_CASE("missing figures: totals of Codex that do not tell the input") {
  const auto line = [](int at, const char* type, const std::string& payload) {
    return fmt::format(R"({{"timestamp":"2026-10-02T10:00:{:02}.000Z","type":"{}","payload":{}}})",
                       at, type, payload) +
           "\n";
  };
  const auto record = [&](int at, const std::string& id, const std::string& usage) {
    return line(at, "token_usage_record",
                fmt::format(R"({{"thread_id":"9d01","session_id":"9d01","response_id":"{}",)"
                            R"("usage":{}}})",
                            id, usage));
  };
  BothWays log("rollout-2026-10-02T10-00-00-9d01.jsonl",
               line(1, "session_meta", R"({"id":"9d01","cwd":"/p"})") +
                   line(2, "turn_context", R"({"model":"gpt-5.6-sol"})") +
                   record(3, "a", R"({"cached_input_tokens":5,"output_tokens":7})") +
                   record(4, "b",
                          R"({"input_tokens":1000,"cached_input_tokens":null,)"
                          R"("output_tokens":7})"));
  const Json total = log.json({"cost"}).back();
  CHECK(total["without_input"] == 1);
  CHECK(total["without_cache_read"] == 0);
  CHECK(total["authority"]["lower_bound"] == 1);
  // What a total does not tell apart is a range.
  CHECK(total["authority"]["exact"] == 1);
  CHECK(total["cost_usd"]["low"] != total["cost_usd"]["high"]);
}

TEST_CASE("fees of web searches are in both totals") {
  const std::string usage =
      R"({"input_tokens":3,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,)"
      R"("output_tokens":9,"server_tool_use":{"web_search_requests":2}})";
  BothWays log("s1.jsonl", claude_answer("m1", "10:00:00", usage));
  // 3 x $2 and 9 x $10 a million, 2 x $0.01.
  CHECK(log.json({"cost"}).back()["cost_usd"]["low"] == "0.020096");
  const Json total = json_lines(log.path({"cache", "--json"}).out).at(0);
  CHECK(total["total_usd"]["low"] == "0.020096");
  CHECK(total["web_searches"] == 2);
  CHECK(total["web_searches_usd"] == "0.02");
  CHECK(total["conserved"] == true);
  CHECK_THAT(log.path({"cache"}).out, Contains("$0.0200 of what was spent for 2 web searches\n"));
}

}  // namespace
}  // namespace daybook::tests
