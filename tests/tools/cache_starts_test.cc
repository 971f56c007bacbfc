// Logs date an answer, and the cache counts from request to request: what had expired is decided
// only where every start that the log allows says the same.
#include "tests/tools/both_ways.h"

namespace daybook::tests {
namespace {

using namespace std::string_view_literals;

std::string clock_of(int second) {
  return fmt::format("{:02}:{:02}:{:02}.000", 10 + second / 3600, second / 60 % 60, second % 60);
}

/// A prompt, or what a tool gave back, of a Claude Code log.
std::string claude_user(int second, const std::string& content = R"("go on")") {
  return fmt::format(
             R"({{"type":"user","sessionId":"s1","uuid":"u{0}","timestamp":"2026-10-01T{1}Z",)"
             R"("cwd":"/p","version":"2.0.0","message":{{"role":"user","content":{2}}}}})",
             second, clock_of(second), content) +
         "\n";
}

std::string claude(int second, int read, int written, int output = 500) {
  return claude_answer(fmt::format("a{}", second), clock_of(second),
                       claude_usage_json(10, read, written, output), "claude-sonnet-4-5-20250929");
}

/// The cause of the only loss, as both ways tell it: of figures alone, then of transcripts.
std::vector<std::string> causes(const std::string& name, const std::string& text) {
  BothWays log(name, text);
  std::vector<std::string> found;
  for (const CliRun& run : {log.path({"cache", "--json"}), log.cli.run({"cache", "--json"})}) {
    INFO(run.out << run.err);
    REQUIRE(run.code == 0);
    std::string cause;
    for (const Json& each : json_lines(run.out)) {
      if (each["line"] != "cause" || each["cause"] == "R1") continue;
      CHECK(cause.empty());
      cause = each["cause"];
    }
    found.push_back(cause);
  }
  return found;
}

/// Both ways name the leaf, and neither of them alone.
void check_open(const std::vector<std::string>& found, const std::string& leaf) {
  for (const std::string& cause : found) {
    CHECK_THAT(cause, Catch::StartsWith("one_of{"));
    CHECK_THAT(cause, Catch::Contains(leaf));
    CHECK_THAT(cause, Catch::Contains("U1"));
  }
}

std::string codex_line(int at, const char* type, const std::string& payload) {
  return fmt::format(R"({{"timestamp":"2026-10-02T{}Z","type":"{}","payload":{}}})", clock_of(at),
                     type, payload) +
         "\n";
}

/// A turn of a Codex log: its prompt, and an answer whose items and figures come at `answered`.
std::string codex_turn(int prompted, int answered, int input) {
  return codex_line(prompted, "response_item",
                    fmt::format(R"({{"type":"message","role":"user","content":[{{"type":)"
                                R"("input_text","text":"prompt {}"}}]}})",
                                prompted)) +
         codex_line(answered, "response_item",
                    R"({"type":"message","role":"assistant","content":[{"type":"output_text",)"
                    R"("text":"ok"}]})") +
         codex_line(answered, "token_usage_record",
                    fmt::format(R"({{"thread_id":"9f01","session_id":"9f01","response_id":"r{}",)"
                                R"("usage":{{"input_tokens":{},"cached_input_tokens":0,)"
                                R"("cache_write_input_tokens":{},"output_tokens":20}}}})",
                                answered, input, input - 10));
}

std::string codex(const std::vector<std::string>& turns) {
  std::string text = codex_line(0, "session_meta", R"({"id":"9f01","cwd":"/p"})") +
                     codex_line(0, "turn_context", R"({"cwd":"/p","model":"gpt-5.6-sol"})");
  for (const std::string& turn : turns) text += turn;
  return text;
}

constexpr const char* kCodexFile = "rollout-2026-10-02T10-00-00-9f01.jsonl";

}  // namespace

TEST_CASE("starts: 315 s between answers may be 290 s between requests") {
  // From 285 to 320 s, and the cache lives 300.
  const auto found = causes("s1.jsonl", claude_user(0) + claude(5, 0, 20'000) + claude_user(290) +
                                            claude(320, 0, 21'000));
  check_open(found, "T1");
}

TEST_CASE("starts: a slow answer leaves open what the time between answers seems to exclude") {
  check_open(causes("s1.jsonl", claude_user(0) + claude(200, 0, 20'000) + claude_user(310) +
                                    claude(320, 0, 21'000)),
             "T2");
  check_open(causes("s1.jsonl", claude_user(0) + claude(250, 0, 20'000) + claude_user(500) +
                                    claude(505, 0, 21'000)),
             "T2");
  // The answer of 390 s lies between the two calls, not before both.
  check_open(causes("s1.jsonl", claude_user(0) + claude(5, 0, 20'000) + claude_user(10) +
                                    claude(400, 20'000, 1'000, 30'000) + claude_user(408) +
                                    claude(412, 0, 22'000)),
             "T2");
}

TEST_CASE("starts: what every start says is decided") {
  using Both = std::vector<std::string>;
  CHECK(causes("s1.jsonl", claude_user(0) + claude(5, 0, 20'000) + claude_user(400) +
                               claude(405, 0, 21'000)) == Both{"T1", "T1"});
  const auto near = causes("s1.jsonl", claude_user(0) + claude(5, 0, 20'000) + claude_user(100) +
                                           claude(290, 0, 21'000));
  for (const std::string& cause : near) {
    CHECK_THAT(cause, !Catch::Contains("T1") && !Catch::Contains("T2") && Catch::Contains("U1"));
  }
}

TEST_CASE("starts: a tool's result leads to a request as a prompt does") {
  const std::string call =
      R"({"type":"assistant","sessionId":"s1","uuid":"a5","requestId":"r5",)"
      R"("timestamp":"2026-10-01T10:00:05.000Z","cwd":"/p","message":{"id":"a5","type":"message",)"
      R"("role":"assistant","model":"claude-sonnet-4-5-20250929","content":[{"type":"tool_use",)"
      R"("id":"t1","name":"Bash","input":{}}],"stop_reason":"tool_use","usage":)" +
      claude_usage_json(10, 0, 20'000, 50) + "}}\n";
  const std::string result =
      claude_user(400, R"([{"type":"tool_result","tool_use_id":"t1","content":"done"}])");
  // The tool took more than six minutes; without its line the answer might have.
  CHECK(causes("s1.jsonl", claude_user(0) + call + result + claude(405, 0, 21'000)) ==
        std::vector<std::string>{"T1", "T1"});
  check_open(causes("s1.jsonl", claude_user(0) + call + claude(405, 0, 21'000)), "T1");
}

TEST_CASE("starts: another model behind such a gap is not alone to blame") {
  const std::string other =
      claude_answer("b1", clock_of(320), claude_usage_json(10, 0, 21'000, 9), "claude-opus-4-8");
  const auto found =
      causes("s1.jsonl", claude_user(0) + claude(5, 0, 20'000) + claude_user(290) + other);
  CHECK(found == std::vector<std::string>{"one_of{P1,T1,T2}", "one_of{P1,T1,T2}"});
}

TEST_CASE("starts: Codex's answers are dated by their figures, and its requests by their prompts") {
  // 1,794 s from prompt to prompt: 1,790 to 1,829 s, and half an hour is the least life.
  check_open(
      causes(kCodexFile, codex({codex_turn(1, 5, 10'000), codex_turn(1'795, 1'830, 11'000)})),
      "T1");
  // 1,850 s from prompt to prompt, 1,760 s from answer to answer.
  check_open(causes(kCodexFile,
                    codex({codex_turn(2'000, 2'100, 11'000), codex_turn(3'850, 3'860, 12'000)})),
             "T2");
  for (const std::string& cause :
       causes(kCodexFile, codex({codex_turn(1, 5, 10'000), codex_turn(1'000, 1'060, 11'000)}))) {
    CHECK_THAT(cause, !Catch::Contains("T1") && !Catch::Contains("T2"));
  }
}

TEST_CASE("starts: a call without a time may have come after the cache expired") {
  std::string undated = claude_answer("m2", "10:00:00", claude_usage_json(10, 0, 21'000, 500),
                                      "claude-sonnet-4-5-20250929");
  undated.erase(undated.find(R"("timestamp")"), R"("timestamp":"2026-10-01T10:00:00Z",)"sv.size());
  const auto found = causes("undated.jsonl", claude_user(0) + claude(5, 0, 20'000) + undated);
  check_open(found, "T1");
  check_open(found, "T2");
}

TEST_CASE("starts: a time that cannot be read is said, and is none") {
  const std::string wrong = claude_answer("m2", "25:61:00", claude_usage_json(10, 0, 21'000, 500));
  BothWays log("s1.jsonl", claude_user(0) + claude(5, 0, 20'000) + wrong);
  for (const char* command : {"cost", "cache"}) {
    const CliRun run = log.path({command});
    CHECK(run.code == 10);
    CHECK_THAT(run.err, Catch::Contains("its time cannot be read") && Catch::Contains("offset"));
  }
  CHECK(log.imported.code == 10);
  CHECK_THAT(log.imported.out + log.imported.err, Catch::Contains("its time cannot be read"));
  const auto json = json_lines(log.path({"cache", "--json", "--since", "2026-10-01"}).out);
  CHECK(json[0]["calls"] == 1);
  CHECK(json[0]["undated_left_out"] == 1);
}

TEST_CASE("starts: what a compaction replaced behind a long pause, the pause lost as well") {
  const std::string compaction =
      R"({"type":"system","subtype":"compact_boundary","sessionId":"s1","uuid":"b1",)"
      R"("timestamp":"2026-10-01T10:06:40.000Z","cwd":"/p","content":"Conversation compacted",)"
      R"("compactMetadata":{"trigger":"manual","preTokens":20000}})"
      "\n"
      R"({"type":"user","sessionId":"s1","uuid":"b2","parentUuid":"b1","isCompactSummary":true,)"
      R"("timestamp":"2026-10-01T10:06:40.000Z","cwd":"/p",)"
      R"("message":{"role":"user","content":"What came before, in short."}})"
      "\n";
  const auto sums = [](const CliRun& run) {
    std::map<std::string, int> made;
    for (const Json& each : json_lines(run.out)) {
      if (each["line"] == "cause") made[each["cause"]] = each["tokens"];
    }
    return made;
  };
  BothWays log("s1.jsonl", claude_user(0) + claude(5, 0, 20'000) + compaction + claude_user(402) +
                               claude(405, 0, 9'000));
  CHECK(sums(log.path({"cache", "--json"})) ==
        std::map<std::string, int>{{"one_of{E2,T1}", 9'010}});
  int both = 0;
  for (const auto& [cause, tokens] : sums(log.cli.run({"cache", "--json"}))) {
    INFO(cause);
    CHECK((cause == "T1" || cause == "joint{E2,T1}" || cause == "R1"));
    both += tokens;
  }
  CHECK(both <= 9'010);
  CHECK(both > 8'000);
}

TEST_CASE("starts: behind a pause no figure says what a branch kept of the history") {
  // Back to the end of the first call, with a prompt of 5,000 tokens.
  BothWays log("s1.jsonl", claude_user(0) + claude(5, 0, 20'000) + claude_user(60) +
                               claude(65, 20'000, 10'000) + claude_user(500) +
                               claude(505, 0, 25'000));
  std::map<std::string, int> causes;
  for (const Json& each : json_lines(log.path({"cache", "--json"}).out)) {
    if (each["line"] == "cause") causes[each["cause"]] = each["tokens"];
  }
  CHECK(causes == std::map<std::string, int>{{"one_of{E2,E3,P4.deleted,T1}", 25'010}});
}

TEST_CASE("starts: of figures alone what is no longer sent was not lost to the clock alone") {
  const std::string text =
      claude_user(0) + claude(5, 0, 20'000) + claude_user(400) + claude(402, 0, 5'000);
  const std::string cause = causes("cut.jsonl", text)[0];
  CHECK_THAT(cause, Catch::StartsWith("one_of{") && Catch::Contains("T1"));
  CHECK_THAT(cause, Catch::Contains("E2") && Catch::Contains("E3"));
}

TEST_CASE("starts: the explanation tells the gap and the lifetime of what was written") {
  const std::string hour =
      R"({"input_tokens":10,"cache_read_input_tokens":0,"cache_creation_input_tokens":20000,)"
      R"("output_tokens":9,"cache_creation":{"ephemeral_5m_input_tokens":0,)"
      R"("ephemeral_1h_input_tokens":20000}})";
  const auto answer = [&](int second) {
    return claude_answer(fmt::format("a{}", second), clock_of(second), hour,
                         "claude-sonnet-4-5-20250929");
  };
  BothWays log("s1.jsonl", claude_user(0) + answer(5) + claude_user(4'000) + answer(4'010));
  const auto first = log.path({"cache", "--why", "s1:1"});
  CHECK_THAT(first.out, Catch::Contains("minimum 1024 tokens; lives 3600 s\n"));
  const auto second = log.path({"cache", "--why", "s1:2"});
  INFO(second.out);
  CHECK_THAT(second.out, Catch::Contains("lives 3600 s; 3995 to 4010 s since the call before\n"));
  CHECK_THAT(second.out, Catch::Contains("T1: the cache expired before the call; 3995 to 4010 s "
                                         "since the last use, lives 3600 s"));
  const auto json = json_lines(log.path({"cache", "--why", "s1:2", "--json"}).out);
  CHECK(json[0]["rules"]["lives_s"] == 3'600);
  CHECK(json[0]["since_last_s"] == Json{{"least", 3'995}, {"most", 4'010}});
  // What there is not is null, and what bounds the waste does not look like its two ends.
  for (const char* name : {"compared_with", "first_difference", "vendor"}) {
    CHECK(json[0].at(name).is_null());
  }
  CHECK(json[0]["lost"][0].contains("bound_low_usd"));
  CHECK_FALSE(json[0]["lost"][0].contains("waste_low_usd"));
}

}  // namespace daybook::tests
