// Which calls a Codex log tells, with which tools and agents: files and journal must agree,
// also where figures are missing.
#include "tests/tools/both_ways.h"
#include "tests/tools/importing.h"

namespace daybook::tests {
namespace {

std::string line(int at, const std::string& type, const std::string& payload) {
  return fmt::format(R"({{"timestamp":"2026-10-02T10:{:02}:{:02}.000Z","type":"{}","payload":{}}})",
                     at / 60, at % 60, type, payload) +
         "\n";
}

std::string counter(int at, int input, int output, int last_input, int last_output) {
  const auto usage = [](int in, int out) {
    return fmt::format(R"({{"input_tokens":{},"cached_input_tokens":0,"output_tokens":{},)"
                       R"("reasoning_output_tokens":0,"total_tokens":{}}})",
                       in, out, in + out);
  };
  return line(at, "event_msg",
              fmt::format(R"({{"type":"token_count","info":{{"total_token_usage":{},)"
                          R"("last_token_usage":{}}}}})",
                          usage(input, output), usage(last_input, last_output)));
}

std::string called(int at, const std::string& kind, const std::string& name,
                   const std::string& id) {
  return line(at, "response_item",
              fmt::format(R"({{"type":"{}","name":"{}","arguments":"{{}}","call_id":"{}"}})", kind,
                          name, id));
}

std::string gave(int at, const std::string& id) {
  return line(at, "response_item",
              fmt::format(R"({{"type":"function_call_output","call_id":"{}","output":"ok"}})", id));
}

std::string said(int at, const std::string& role, const std::string& text) {
  return line(at, "response_item",
              fmt::format(R"({{"type":"message","role":"{}","content":[{{"type":"text",)"
                          R"("text":"{}"}}]}})",
                          role, text));
}

const std::string kContext = line(2, "turn_context", R"({"cwd":"/p","model":"gpt-5.6-sol"})");

std::string meta(const std::string& more) {
  return line(1, "session_meta", R"({"id":"9c01","cwd":"/p","cli_version":"0.150.0")" + more + "}");
}

const std::string kName = "rollout-2026-10-02T10-00-00-9c01.jsonl";

/// The calls of a log both ways, which must be the same.
std::vector<replay::Call> calls_of(const std::string& text) {
  const TempDir dir;
  write_file(dir.path() / kName, text);
  Cli cli;
  import(cli, {dir.str(kName)});
  const auto stored = journalled(cli);
  auto figures = figures_of({dir.str(kName)}).calls;
  REQUIRE(stored.size() == figures.size());
  for (std::size_t i = 0; i < stored.size(); ++i) {
    INFO("call " << i);
    CHECK(stored[i].id == figures[i].id);
    CHECK(stored[i].usage == figures[i].usage);
    CHECK(stored[i].tools_called == figures[i].tools_called);
    CHECK(stored[i].stop == figures[i].stop);
    CHECK(stored[i].started_at == figures[i].started_at);
    CHECK(stored[i].session->agent == figures[i].session->agent);
  }
  return figures;
}

using Tools = std::vector<std::string>;

TEST_CASE("codex calls: a response without figures in the middle is a call either way") {
  const auto calls = calls_of(
      meta("") + kContext + said(3, "user", "Fix") + called(4, "function_call", "shell", "k1") +
      counter(5, 1000, 100, 1000, 100) + gave(6, "k1") +
      // No counter follows this one.
      called(7, "function_call", "read", "k2") + gave(8, "k2") +
      called(9, "custom_tool_call", "apply_patch", "k3") +
      called(10, "local_shell_call", "", "k4") + counter(11, 3000, 250, 1200, 90) + gave(12, "k3") +
      said(13, "assistant", "Done") + counter(14, 4300, 260, 1300, 10));
  REQUIRE(calls.size() == 4);
  CHECK(calls[0].tools_called == Tools{"shell"});
  CHECK(calls[0].usage.output == 100u);
  CHECK(calls[1].tools_called == Tools{"read"});
  CHECK_FALSE(calls[1].usage.any());
  CHECK(calls[2].tools_called == Tools{"apply_patch", "local_shell_call"});
  CHECK(calls[2].usage.output == 150u);
  CHECK(calls[3].tools_called.empty());
  CHECK(calls[3].usage.output == 10u);
}

TEST_CASE("codex calls: what an interrupted turn left without figures is a call either way") {
  for (const std::string& end :
       {line(6, "event_msg", R"({"type":"turn_aborted","reason":"interrupted"})"),
        line(6, "event_msg", R"({"type":"thread_rolled_back","num_turns":1})"),
        line(6, "compacted", R"({"message":"so far"})"), std::string()}) {
    INFO(end);
    const auto calls = calls_of(
        meta("") + kContext + said(3, "user", "Fix") + called(4, "function_call", "shell", "k1") +
        counter(5, 1000, 100, 1000, 100) + gave(5, "k1") + said(5, "assistant", "Half") + end +
        said(7, "user", "Go on") + said(8, "assistant", "Done") + counter(9, 2100, 120, 1100, 20));
    REQUIRE(calls.size() == 3);
    CHECK_FALSE(calls[1].usage.any());
    CHECK(calls[2].usage.output == 20u);
  }
}

TEST_CASE("codex calls: costs are grouped by the tools that responses called") {
  BothWays log(kName, meta(R"(,"originator":"codex_exec")") + kContext + said(3, "user", "Fix") +
                          called(4, "function_call", "shell", "k1") +
                          called(4, "function_call", "read", "k2") +
                          counter(5, 1000, 100, 1000, 100) + gave(6, "k1") + gave(6, "k2") +
                          said(7, "assistant", "Done") + counter(8, 2300, 150, 1300, 50));
  const auto rows = log.json({"cost", "--by", "tool"});
  REQUIRE(rows.size() == 3);
  CHECK(rows[0]["tool"] == "(no tool)");
  CHECK(rows[0]["tokens"]["output"] == 50);
  CHECK(rows[1]["tool"] == "read+shell");
  CHECK(rows[1]["tokens"]["output"] == 100);
  const auto agents = log.json({"cost", "--by", "agent"});
  CHECK(agents[0]["agent"] == "codex_exec");
}

TEST_CASE("codex calls: a subagent's role goes before the program that started it") {
  const auto calls =
      calls_of(meta(R"(,"originator":"codex-tui","source":{"subagent":{"thread_spawn":)"
                    R"({"parent_thread_id":"9c00","agent_role":"explorer"}}})") +
               kContext + said(3, "user", "Look") + said(4, "assistant", "Yes") +
               counter(5, 1000, 100, 1000, 100));
  REQUIRE(calls.size() == 1);
  CHECK(calls[0].session->agent == "explorer");
}

}  // namespace
}  // namespace daybook::tests
