// Logs that are imported while they are written: line by line, they come to the same as at once.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>

#include "tests/tools/both_ways.h"
#include "tests/tools/codex_counters.h"
#include "tests/tools/importing.h"

namespace daybook::tests {
namespace {

namespace fs = std::filesystem;
using Lines = std::vector<std::string>;

std::string codex_line(int at, const std::string& type, const std::string& payload) {
  return fmt::format(R"({{"timestamp":"2026-10-02T10:00:{:02}.000Z","type":"{}","payload":{}}})",
                     at, type, payload) +
         "\n";
}

std::string counter(int at, const std::string& total, const std::string& last) {
  return codex_line(at, "event_msg", codex_token_count(total, last));
}

std::string record(int at, const std::string& response, const std::string& used) {
  return codex_line(at, "token_usage_record",
                    fmt::format(R"({{"thread_id":"9a01","session_id":"9a01","turn_id":"t",)"
                                R"("response_id":"{}","usage":{}}})",
                                response, used));
}

std::string item(int at, const std::string& payload) {
  return codex_line(at, "response_item", payload);
}

std::string said(const std::string& role, const std::string& text) {
  const char* kind = role == "user" ? "input_text" : "output_text";
  return fmt::format(R"({{"type":"message","role":"{}","content":[{{"type":"{}","text":"{}"}}]}})",
                     role, kind, text);
}

std::string ran(const std::string& id) {
  return fmt::format(
      R"({{"type":"function_call","name":"exec_command","arguments":"{{}}","call_id":"{}"}})", id);
}

std::string gave(const std::string& id) {
  return fmt::format(R"({{"type":"function_call_output","call_id":"{}","output":"ok"}})", id);
}

const std::string kMeta =
    codex_line(1, "session_meta", R"({"id":"9a01","cwd":"/home/dev/api","cli_version":"0.150.0"})");
const std::string kContext =
    codex_line(2, "turn_context", R"({"cwd":"/home/dev/api","model":"gpt-5.6-sol"})");
const std::string kStarted = codex_line(3, "event_msg", R"({"type":"task_started","turn_id":"t"})");
const std::string kDone = codex_line(40, "event_msg", R"({"type":"task_complete","turn_id":"t"})");

/// Two calls in the first turn, one in the second; an output comes before its response's figures.
Lines codex_counters() {
  return {kMeta,
          kStarted,
          kContext,
          item(4, said("user", "Fix it")),
          codex_line(5, "event_msg", R"({"type":"user_message","message":"Fix it"})"),
          item(6, R"({"type":"reasoning","summary":[]})"),
          item(7, ran("k1")),
          item(8, gave("k1")),
          counter(9, codex_usage(1000, 0, 100), codex_usage(1000, 0, 100)),
          item(10, said("assistant", "Half of it")),
          counter(11, codex_usage(2200, 900, 150), codex_usage(1200, 900, 50)),
          kDone,
          kStarted,
          item(13, said("user", "And the rest?")),
          item(14, ran("k2")),
          counter(15, codex_usage(3500, 2000, 190), codex_usage(1300, 1100, 40)),
          counter(16, codex_usage(3500, 2000, 190), codex_usage(1300, 1100, 40)),
          item(17, gave("k2"))};
}

/// Logs of the time before turns were told begin with a response, too.
Lines codex_without_turns() {
  return {kMeta,
          kContext,
          item(4, said("user", "Fix it")),
          item(5, R"({"type":"reasoning","summary":[]})"),
          item(6, ran("k1")),
          counter(7, codex_usage(1000, 0, 100), codex_usage(1000, 0, 100)),
          item(8, gave("k1")),
          item(9, said("assistant", "Done")),
          counter(10, codex_usage(2200, 900, 150), codex_usage(1200, 900, 50))};
}

/// Records from the start, the counters behind them.
Lines codex_records() {
  return {kMeta,
          kStarted,
          kContext,
          item(4, said("user", "Fix it")),
          item(5, ran("k1")),
          record(6, "r1", codex_usage(1000, 0, 100)),
          counter(7, codex_usage(1000, 0, 100), codex_usage(1000, 0, 100)),
          item(8, gave("k1")),
          item(9, said("assistant", "Done")),
          record(10, "r2", codex_usage(1100, 1000, 20)),
          counter(11, codex_usage(2100, 1000, 120), codex_usage(1100, 1000, 20)),
          kDone};
}

/// The first response's counter comes before its record.
Lines codex_confirmed() {
  return {kMeta,
          kStarted,
          kContext,
          item(4, said("user", "Fix it")),
          item(5, said("assistant", "Done")),
          counter(6, codex_usage(1000, 0, 100), codex_usage(1000, 0, 100)),
          record(7, "r1", codex_usage(1000, 0, 100)),
          kDone};
}

std::string claude_line(int at, const std::string& type, const std::string& rest) {
  return fmt::format(
             R"({{"cwd":"/home/dev/shop","sessionId":"grown","version":"2.1.60","uuid":"u{}",)"
             R"("timestamp":"2026-10-01T10:00:{:02}Z","type":"{}",{}}})",
             at, at, type, rest) +
         "\n";
}

std::string asked(int at, const std::string& text) {
  return claude_line(at, "user", R"("message":{"role":"user","content":")" + text + "\"}");
}

std::string answered(int at, const std::string& id, int output, const std::string& stop,
                     const std::string& block) {
  return claude_line(
      at, "assistant",
      fmt::format(R"("requestId":"req_{}","message":{{"id":"{}","role":"assistant",)"
                  R"("model":"claude-sonnet-5","stop_reason":{},"usage":{{"input_tokens":9,)"
                  R"("cache_read_input_tokens":100,"output_tokens":{}}},"content":[{}]}})",
                  id, id, stop, output, block));
}

std::string used(const std::string& id) {
  return fmt::format(R"({{"type":"tool_use","id":"{}","name":"Read","input":{{"path":"{}"}}}})", id,
                     id);
}

std::string text_block(const std::string& text) {
  return R"({"type":"text","text":")" + text + "\"}";
}

std::string resulted(int at, const std::string& id) {
  return claude_line(at, "user",
                     R"("message":{"role":"user","content":[{"type":"tool_result",)"
                     R"("tool_use_id":")" +
                         id + R"(","content":"a file"}]})");
}

/// Titles first, a response in three lines, a prompt between them, results one by one.
Lines claude() {
  return {R"({"type":"summary","summary":"Looking","leafUuid":"u9"})"
          "\n",
          asked(1, "look at it"),
          answered(2, "m1", 1, "null", text_block("I look.")),
          answered(3, "m1", 1, "null", used("t1")),
          asked(4, "be quick"),
          answered(5, "m1", 60, R"("tool_use")", used("t2")),
          resulted(6, "t1"),
          resulted(7, "t2"),
          answered(8, "m2", 20, R"("end_turn")", text_block("Done.")),
          asked(9, "and now?"),
          answered(10, "m3", 5, R"("end_turn")", text_block("Nothing."))};
}

Lines openworker() {
  return {R"({"role":"user","content":"List","ts":1759398000.5})"
          "\n",
          R"({"role":"assistant","content":"","ts":1759398002.0,"usage":{"model":"anthropic:m",)"
          R"("input":10,"output":40},"tool_calls":[{"id":"c1","type":"function","function":)"
          R"({"name":"list_files","arguments":"{}"}}]})"
          "\n",
          R"({"role":"tool","tool_call_id":"c1","content":"a.txt","ts":1759398003.0})"
          "\n",
          R"({"role":"assistant","content":"One.","ts":1759398005.0,"usage":)"
          R"({"model":"anthropic:m","input":12,"output":8,"cache_read":900}})"
          "\n",
          R"({"role":"user","content":"Thanks","ts":1759398060.0})"
          "\n",
          R"({"role":"assistant","content":"Welcome.","ts":1759398061.0})"
          "\n"};
}

/// The document as its program writes it after each step.
std::string atif(std::size_t steps) {
  const Lines all = {
      R"({"step_id":1,"timestamp":"2026-10-03T09:00:01Z","source":"user","message":"Fix"})",
      R"({"step_id":2,"timestamp":"2026-10-03T09:00:05Z","source":"agent","message":"Looking",)"
      R"("tool_calls":[{"tool_call_id":"t1","function_name":"grep","arguments":{}}],)"
      R"("metrics":{"prompt_tokens":1000,"completion_tokens":50,"cached_tokens":0}})",
      R"({"step_id":3,"timestamp":"2026-10-03T09:00:09Z","source":"agent","message":"Fixed",)"
      R"("metrics":{"prompt_tokens":1200,"completion_tokens":30,"cached_tokens":1000}})"};
  std::string text = R"({"schema_version":"ATIF-v1.7","session_id":"trial","agent":)"
                     R"({"name":"w","version":"1","model_name":"anthropic/m"},"steps":[)";
  for (std::size_t i = 0; i < steps; ++i) text += (i == 0 ? "" : ",") + all[i];
  return text + "]}\n";
}

/// What a journal says of its sessions and calls; not how many events, and unfinished copies of a
/// call, it holds for that.
std::string told(Cli& cli) {
  std::string text;
  for (Json row : json_lines(cli.run({"cost", "--by", "session", "--json"}).out)) {
    row.erase("copies");
    text += row.dump() + "\n";
  }
  for (const Json& row : json_lines(cli.run({"sessions", "--json"}).out)) {
    for (const char* key : {"session", "status", "title", "agent", "model", "workspace", "turns",
                            "started_at", "last_at", "needs_reconcile"}) {
      text += fmt::format("{} {}\n", key, row.at(key).dump());
    }
  }
  const EventSink held = held_by(cli);
  for (const replay::Call& call : calls_of_events(held)) {
    text += fmt::format("{} {} {} {} {}/{}/{}\n", call.id.str(), call.session->id, call.model(),
                        call.started_at, call.usage.input_uncached.value_or(0),
                        call.usage.cache_read.value_or(0), call.usage.output.value_or(0));
    for (const std::string& tool : call.tools_called) text += "  " + tool + "\n";
  }
  for (const auto& [session, events] : held.sessions) {
    const auto dispatched = payloads<schema::ToolDispatchedT>(held, session);
    const auto completed = payloads<schema::ToolCompletedT>(held, session);
    text += fmt::format("{} dispatched, {} completed\n", dispatched.size(), completed.size());
  }
  return text;
}

struct Growing {
  std::string file;
  std::size_t steps;
  std::function<std::string(std::size_t)> text;  // of the file behind each step
};

void check_growing(const Growing& log) {
  INFO(log.file);
  const TempDir dir;
  const fs::path file = dir.path() / log.file;
  Cli whole;
  write_file(file, log.text(log.steps));
  import(whole, {file.string()});
  const std::string expected = told(whole);
  REQUIRE_FALSE(journalled(whole).empty());
  CHECK(json_lines(whole.run({"verify", "--json"}).out).back()["unreferenced_blobs"] == 0);
  Cli grown;
  for (std::size_t step = 1; step <= log.steps; ++step) {
    write_file(file, log.text(step));
    import(grown, {file.string()});
    import(grown, {file.string()});
  }
  CHECK(told(grown) == expected);
  CHECK(grown.run({"verify"}).code == 0);
}

Growing growing(const std::string& file, const Lines& lines) {
  return {file, lines.size(), [lines](std::size_t count) { return joined(lines, 0, count); }};
}

const std::string kRollout = "rollout-2026-10-02T10-00-00-9a01.jsonl";

TEST_CASE("import: a log imported behind every line is what it is at once") {
  check_growing(growing(kRollout, codex_records()));
  check_growing(growing(kRollout, codex_counters()));
  check_growing(growing(kRollout, codex_without_turns()));
  check_growing(growing("grown.jsonl", claude()));
  check_growing(growing("ow.jsonl", openworker()));
  check_growing({"trajectory.json", 3, atif});
}

TEST_CASE("import: an answer that grew behind an import is no second one") {
  // With figures, but without turns that say so; and of before there were figures.
  for (const std::string name :
       {"rollout-2026-10-02T10-00-00-2a02.jsonl", "rollout-2025-07-01T10-00-00-2a01.jsonl"}) {
    check_growing(growing(name, lines_of(read_file(log_fixture("codex/" + name)))));
  }
}

TEST_CASE("import: a response cut between blocks of equal output keeps all its tools") {
  const auto block = [](const std::string& uuid, const std::string& content) {
    return fmt::format(
        R"({{"type":"assistant","sessionId":"g1","uuid":"{0}","requestId":"r1","timestamp":)"
        R"("2026-10-01T10:00:01Z","cwd":"/p","message":{{"id":"m1","role":"assistant","model":)"
        R"("claude-sonnet-5","content":[{1}],"usage":{{"input_tokens":3,)"
        R"("cache_read_input_tokens":0,"cache_creation_input_tokens":0,"output_tokens":90}}}}}})"
        "\n",
        uuid, content);
  };
  const Lines lines = {
      R"({"type":"user","sessionId":"g1","uuid":"u1","timestamp":"2026-10-01T10:00:00Z",)"
      R"("cwd":"/p","message":{"role":"user","content":"go"}})"
      "\n",
      block("a1", R"({"type":"text","text":"Looking."})"),
      block("a2", R"({"type":"tool_use","id":"t1","name":"Read","input":{}})"),
      block("a3", R"({"type":"tool_use","id":"t2","name":"Grep","input":{}})")};
  const TempDir dir;
  const fs::path file = dir.path() / "g1.jsonl";
  Cli cli;
  for (std::size_t count = 1; count <= lines.size(); ++count) {
    write_file(file, joined(lines, 0, count));
    import(cli, {file.string()});
  }
  const auto rows = json_lines(cli.run({"cost", "--by", "tool", "--json"}).out);
  CHECK(rows.at(0)["tool"] == "Grep+Read");
  CHECK(rows == json_lines(cli.run({"cost", "--by", "tool", "--json", file.string()}).out));
}

TEST_CASE("import: a counter that a record confirms later is one call") {
  const Lines lines = codex_confirmed();
  const TempDir dir;
  const fs::path file = dir.path() / kRollout;
  Cli cli;
  for (std::size_t count = 1; count <= lines.size(); ++count) {
    write_file(file, joined(lines, 0, count));
    import(cli, {file.string()});
  }
  CHECK(totals_of(journalled(cli)) == Totals{1, 1000, 0, 0, 100});
  Cli whole;
  import(whole, {file.string()});
  CHECK(journalled(whole).at(0).id == journalled(cli).at(0).id);
  CHECK(journalled(whole).at(0).usage.authority == schema::Authority::exact);
}

TEST_CASE("import: an answer without its figures waits for them, line by line kept") {
  const Lines lines = codex_counters();
  const TempDir dir;
  const fs::path file = dir.path() / kRollout;
  Cli cli;
  // The call's output is there, its figures are not.
  write_file(file, joined(lines, 0, 8));
  const Json first = import(cli, {file.string()});
  CHECK(first.at("calls") == 0);
  CHECK(journalled(cli).empty());
  CHECK(first.at("notes").at(0).get<std::string>().find("no calls so far") != std::string::npos);
  std::string raw;
  const EventSink held = held_by(cli);
  for (const std::string& bytes : held.sessions.begin()->second) {
    const auto* event = view_event(as_bytes(bytes)).value();
    if (event->provenance() == nullptr || event->provenance()->raw() == nullptr) continue;
    raw += inline_bytes(*event->provenance()->raw());
  }
  for (std::size_t line = 5; line <= 7; ++line) {
    INFO(lines[line]);
    CHECK(raw.find(lines[line].substr(0, lines[line].size() - 1)) != std::string::npos);
  }
  // The turn's end settles what figures do not.
  write_file(file, joined(lines, 0, 8) + kDone);
  import(cli, {file.string()});
  CHECK(journalled(cli).size() == 1);
}

TEST_CASE("import: logs older than figures give their last answer at once") {
  const TempDir dir;
  const fs::path file = dir.path() / kRollout;
  std::string text = kMeta + item(4, said("user", "Fix")) + item(5, said("assistant", "Done"));
  write_file(file, text);
  Cli later;
  CHECK(import(later, {file.string()}).at("calls") == 0);
  for (std::size_t at = 0; (at = text.find("2026-10", at)) != std::string::npos;) {
    text.replace(at, 7, "2025-07");
  }
  write_file(file, text);
  Cli cli;
  CHECK(import(cli, {file.string()}).at("calls") == 1);
}

TEST_CASE("import: a prompt between the lines of a response takes nothing from it") {
  const TempDir dir;
  write_file(dir.path() / "grown.jsonl", joined(claude(), 0, claude().size()));
  Cli cli;
  import(cli, {dir.str()});
  const auto calls = journalled(cli);
  REQUIRE(calls.size() == 3);
  CHECK(calls[0].tools_called == std::vector<std::string>{"Read", "Read"});
  CHECK(calls[0].usage.output == 60u);
  const EventSink held = held_by(cli);
  const auto dispatched = payloads<schema::ToolDispatchedT>(held, "claude-grown");
  REQUIRE(dispatched.size() == 2);
  CHECK(dispatched[0].call_id == "t1");
  CHECK(dispatched[1].call_id == "t2");
  CHECK(payloads<schema::ToolCompletedT>(held, "claude-grown").size() == 2);
  CHECK(payloads<schema::ToolOutcomeUnknownT>(held, "claude-grown").empty());
  CHECK(payloads<schema::TurnStartedT>(held, "claude-grown").size() == 3);
}

}  // namespace
TEST_CASE("the order in which copies of a log are imported does not matter") {
  const auto answer = [](const std::string& id, const std::string& time, const std::string& part,
                         const std::string& usage) {
    return fmt::format(
               R"({{"type":"assistant","sessionId":"s1","uuid":"{0}{2}","requestId":"r-{0}",)"
               R"("timestamp":"2026-10-01T{1}Z","cwd":"/p","version":"2.0.0","message":)"
               R"({{"id":"{0}","type":"message","role":"assistant","model":"claude-sonnet-5",)"
               R"("content":[{{"type":"text","text":"{2}"}}],"stop_reason":"end_turn",)"
               R"("usage":{3}}}}})",
               id, time, part, usage) +
           "\n";
  };
  const std::string early = answer("m1", "10:00:02", "a", claude_usage_json(3, 0, 2000, 5));
  const std::string grown = answer("m1", "10:00:02", "b", claude_usage_json(3, 0, 2000, 20));
  const std::string next = answer("m2", "10:00:22", "a", claude_usage_json(3, 2000, 50, 5));
  const TempDir dir;
  write_file(dir.str("a.jsonl"), early + next);
  write_file(dir.str("b.jsonl"), early + grown + next);
  std::vector<std::string> outputs;
  for (const std::vector<std::string>& order :
       {std::vector<std::string>{"b.jsonl"}, {"a.jsonl", "b.jsonl"}, {"b.jsonl", "a.jsonl"}}) {
    Cli cli;
    cli.environment["TZ"] = "UTC";
    for (const auto& name : order) REQUIRE(cli.run({"import", dir.str(name)}).code == 0);
    outputs.push_back(cli.run({"cache"}).out);
  }
  CHECK(outputs[0].find("= 2,000 read + 0 lost") != std::string::npos);
  CHECK(outputs[1] == outputs[0]);
  CHECK(outputs[2] == outputs[0]);
}

TEST_CASE("import: lines that say the same again are new once, wherever the file begins") {
  const std::string mode = R"({"type":"mode","mode":"plan","sessionId":"s1"})"
                           "\n";
  const std::string untold = R"({"type":"summary","summary":"Shop","leafUuid":"l1"})"
                             "\n";
  const std::string usage = claude_usage_json(3, 0, 200, 20);
  const Lines lines = {untold, mode,   claude_answer("m1", "10:00:01", usage),
                       mode,   untold, claude_answer("m2", "10:00:09", usage)};
  Cli cli;
  const TempDir dir;
  const std::string file = dir.str("s1.jsonl");
  write_file(file, joined(lines, 0, lines.size()));
  import(cli, {file});
  // Another session in the same file begins alike.
  std::string other = mode + mode + claude_answer("m4", "10:01:01", usage);
  for (std::size_t at = 0; (at = other.find("\"s1\"", at)) != std::string::npos;) {
    other.replace(at, 4, "\"s2\"");
  }
  const std::string grown =
      joined(lines, 0, lines.size()) + claude_answer("m3", "10:00:19", usage) + other;
  write_file(file, grown);
  // A request and an answer; the second session's header, its two lines, a request and an answer.
  CHECK(import(cli, {file})["appended"] == 2 + 5);
  write_file(file, grown + claude_answer("m5", "10:02:01", usage));
  CHECK(import(cli, {file})["appended"] == 2);
  CHECK(journalled(cli).size() == 5);
}

}  // namespace daybook::tests
