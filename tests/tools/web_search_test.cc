// Fees of web searches: counted where a log tells them, a lower bound where it may tell too few.
#include "tests/tools/both_ways.h"

namespace daybook::tests {
namespace {

using Catch::Contains;

std::string usage_with(const std::string& server_tools) {
  return R"({"input_tokens":3,"cache_read_input_tokens":0,"cache_creation_input_tokens":0,)"
         R"("output_tokens":9,"server_tool_use":)" +
         server_tools + "}";
}

TEST_CASE("web searches: a count that is null is not none") {
  for (const auto& [tools, open] :
       {std::pair{R"({"web_search_requests":null})", true},
        std::pair{R"({"web_fetch_requests":1})", true}, std::pair{"null", false},
        std::pair{R"({"web_search_requests":0,"web_fetch_requests":0})", false}}) {
    INFO(tools);
    BothWays log("s1.jsonl", claude_answer("m1", "10:00:00", usage_with(tools)));
    const Json total = log.json({"cost"}).back();
    CHECK(total["without_web_searches"] == (open ? 1 : 0));
    CHECK(total["authority"]["lower_bound"] == (open ? 1 : 0));
    CHECK(total["authority"]["exact"] == (open ? 0 : 1));
    const std::string text = log.out({"cost"});
    CHECK(
        (text.find("≥ lower bound: 1 call may have made more web searches than the log tells\n") !=
         std::string::npos) == open);
    const Json cache = json_lines(log.path({"cache", "--json"}).out).at(0);
    CHECK(cache["without_web_searches"] == (open ? 1 : 0));
    CHECK(json_lines(log.cli.run({"cache", "--json"}).out).at(0)["without_web_searches"] ==
          cache["without_web_searches"]);
    const Json call = json_lines(log.path({"cost", "--explain", "s1:1", "--json"}).out).at(0);
    CHECK(call["missing"] == (open ? Json::array({"web_search"}) : Json::array()));
  }
}

TEST_CASE("web searches: their fee is the tool's that made them") {
  std::string answer = claude_answer("m1", "10:00:00", usage_with(R"({"web_search_requests":2})")) +
                       claude_answer("m2", "10:01:00", usage_with(R"({"web_search_requests":1})"));
  const std::string block = R"({"type":"text","text":"ok"})";
  answer.replace(answer.rfind(block), block.size(),
                 R"({"type":"tool_use","id":"t1","name":"Read","input":{}})");
  BothWays log("s1.jsonl", answer);
  const auto rows = log.json({"cost", "--by", "tool"});
  REQUIRE(rows.size() == 3);
  CHECK(rows[0]["tool"] == "web_search");
  CHECK(rows[0]["web_searches"] == 2);
  CHECK(rows[1]["tool"] == "Read+web_search");
  CHECK(rows[1]["web_searches"] == 1);
}

std::string codex_line(int at, const std::string& type, const std::string& payload) {
  return fmt::format(R"({{"timestamp":"2026-10-02T10:00:{:02}.000Z","type":"{}","payload":{}}})",
                     at, type, payload) +
         "\n";
}

std::string searching(int at, const std::string& action) {
  return codex_line(at, "response_item",
                    R"({"type":"web_search_call","status":"completed")" + action + "}");
}

std::string codex_log(const std::string& items) {
  return codex_line(1, "session_meta", R"({"id":"9e01","cwd":"/p"})") +
         codex_line(2, "turn_context", R"({"cwd":"/p","model":"gpt-5.6-sol"})") +
         codex_line(3, "response_item",
                    R"({"type":"message","role":"user","content":[{"type":"input_text",)"
                    R"("text":"Look it up"}]})") +
         items +
         codex_line(8, "response_item",
                    R"({"type":"message","role":"assistant","content":[{"type":"output_text",)"
                    R"("text":"Done"}]})") +
         codex_line(9, "event_msg",
                    R"({"type":"token_count","info":{"total_token_usage":{"input_tokens":1000,)"
                    R"("cached_input_tokens":0,"cache_write_input_tokens":0,"output_tokens":50,)"
                    R"("total_tokens":1050}}})");
}

constexpr const char* kRollout = "rollout-2026-10-02T10-00-00-9e01.jsonl";

TEST_CASE("web searches: Codex's items count, at least, and what opens a page does not") {
  const std::string search = R"(,"action":{"type":"search","query":"x"})";
  const std::string page = R"(,"action":{"type":"open_page","url":"https://example.com"})";
  BothWays log(kRollout,
               codex_log(searching(4, search) + searching(5, page) + searching(6, search) +
                         codex_line(7, "event_msg",
                                    R"({"type":"web_search_end",)"
                                    R"("call_id":"w1","query":"x"})")));
  const auto rows = log.json({"cost", "--by", "tool"});
  const Json& total = rows.back();
  CHECK(rows[0]["tool"] == "web_search");
  CHECK(total["web_searches"] == 2);
  // No shipped row has their price: that is said, and it is not free.
  CHECK(total["unpriced"]["web_searches"] == 2);
  CHECK(total["without_web_searches"] == 1);
  CHECK(total["authority"]["lower_bound"] == 1);
  const std::string tokens = total["cost_usd"]["low"];
  CHECK(tokens == total["cost_usd"]["high"]);
  const TempDir dir;
  write_file(dir.path() / "prices.toml",
             "[[price]]\nprovider = \"openai\"\nmodels = [\"gpt-5.6-sol\"]\ninput = 4\n"
             "cache_read = 0.4\ncache_write = 5\noutput = 20\nweb_search_per_1000 = 10\n");
  const Json priced = log.json({"cost", "--prices", dir.str("prices.toml")}).back();
  // 1,000 x $4 and 50 x $20 a million, 2 x $0.01.
  CHECK(priced["cost_usd"]["low"] == "0.025");
  CHECK(tokens == "0.005");
  const Json cache =
      json_lines(log.path({"cache", "--json", "--prices", dir.str("prices.toml")}).out).at(0);
  CHECK(cache["total_usd"] == priced["cost_usd"]);
}

TEST_CASE("web searches: an item that does not say what it did leaves the number open") {
  BothWays unsaid(kRollout, codex_log(searching(4, "")));
  CHECK(unsaid.json({"cost"}).back()["web_searches"] == 0);
  CHECK(unsaid.json({"cost"}).back()["without_web_searches"] == 1);
  BothWays pages(kRollout, codex_log(searching(4, R"(,"action":{"type":"find_in_page"})")));
  CHECK(pages.json({"cost"}).back()["without_web_searches"] == 0);
  CHECK(pages.json({"cost"}).back()["authority"]["derived"] == 1);
}

TEST_CASE("web searches: the output of codex exec tells them, too, for a whole turn") {
  const std::string usage = R"({"input_tokens":1000,"cached_input_tokens":400,"output_tokens":20})";
  const auto searched = [](const char* action) {
    return fmt::format(
        R"({{"type":"item.completed","item":{{"type":"web_search","action":{{"type":"{}"}}}}}})"
        "\n",
        action);
  };
  BothWays log("exec.jsonl", R"({"type":"thread.started","thread_id":"9e01"})"
                             "\n" +
                                 searched("search") + searched("open_page") + searched("search") +
                                 R"({"type":"turn.completed","usage":)" + usage + "}\n");
  const auto rows = log.json({"cost", "--by", "tool"});
  REQUIRE(rows.size() > 1);
  CHECK(rows[0]["tool"] == "web_search");
  CHECK(rows[0]["web_searches"] == 2);
  CHECK(rows[0]["without_web_searches"] == 1);
}

}  // namespace
}  // namespace daybook::tests
