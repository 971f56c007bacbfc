// What figures alone may claim, and that transcripts of the same log claim nothing else.
#include "tests/tools/both_ways.h"

namespace daybook::tests {
namespace {

using Catch::Contains;

/// A trajectory of ATIF, which tells reads and no writes. Minutes, tokens in, tokens read.
struct Step {
  int minute = 0;
  int input = 0;
  int read = 0;
  std::string model = "claude-sonnet-4-5";
};

std::string trajectory(const std::vector<Step>& steps) {
  std::string text = R"({"schema_version":"ATIF-v1.4","session_id":"at1","agent":{"name":"a",)"
                     R"("version":"1"},"steps":[)";
  int number = 0;
  for (const Step& step : steps) {
    if (number > 0) text += ',';
    const auto line = [&](const char* source, const std::string& more) {
      text +=
          fmt::format(R"({{"step_id":{},"timestamp":"2026-10-01T{:02}:{:02}:{:02}Z","source":"{}",)"
                      R"("message":"x"{}}})",
                      number, 10 + step.minute / 60, step.minute % 60, number % 2, source, more);
      ++number;
    };
    line("user", "");
    text += ',';
    line("agent",
         fmt::format(R"(,"model_name":"{}","metrics":{{"prompt_tokens":{},"cached_tokens":{},)"
                     R"("completion_tokens":9}})",
                     step.model, step.input, step.read));
  }
  return text + "]}";
}

Causes of_trajectory(const std::vector<Step>& steps) {
  BothWays log("trajectory.json", trajectory(steps));
  return causes_of(log.path({"cache", "--json"}));
}

}  // namespace

TEST_CASE("figures: writes that are not told are taken for what clients write") {
  CHECK(of_trajectory({{0, 5'010, 0}, {120, 6'010, 0}}) == Causes{{"T1", 5'010}});
  CHECK(of_trajectory({{0, 5'010, 0}, {1, 6'010, 0, "claude-opus-4-8"}}) == Causes{{"P1", 5'010}});
  const Causes open = of_trajectory({{0, 5'010, 0}, {1, 6'010, 0}});
  REQUIRE(open.size() == 1);
  CHECK_THAT(open.begin()->first, Contains("P6") && Contains("U1") && !Contains("T1"));
  // A tail that is too short to be cached of its own may not have been written.
  CHECK(of_trajectory({{0, 5'010, 0}, {1, 6'010, 4'992}}).empty());
}

TEST_CASE("figures: a session that reads what it sent contradicts nothing") {
  std::vector<Step> steps = {{0, 5'000, 0}};
  for (int i = 1; i < 6; ++i) steps.push_back({i, 5'000 + 1'000 * i, 4'000 + 1'000 * i});
  BothWays log("trajectory.json", trajectory(steps));
  CHECK(json_lines(log.path({"cache", "--json"}).out)[0]["contradictions"] == 0);
  steps.back().read = 50'000;
  steps.back().input = 51'000;
  BothWays wrong("trajectory.json", trajectory(steps));
  for (const CliRun& run : {wrong.path({"cache", "--json"}), wrong.cli.run({"cache", "--json"})}) {
    CHECK(json_lines(run.out)[0]["contradictions"] == 1);
  }
}

TEST_CASE("figures: more read than sent is an estimate, and what `cost` counts is counted") {
  BothWays log("trajectory.json", trajectory({{0, 100, 200}}));
  const Json cost = json_lines(log.path({"cost", "--json"}).out).back();
  CHECK(cost["tokens"]["cache_read"] == 100);
  CHECK(cost["authority"]["estimate"] == 1);
  CHECK(json_lines(log.path({"cache", "--json"}).out)[0]["read"] == 100);
}

TEST_CASE("figures: behind a call without figures nothing is claimed of what it left") {
  const auto line = [](int at, const std::string& id, const std::string& usage) {
    return fmt::format(R"({{"type":"user","sessionId":"s1","uuid":"u-{0}",)"
                       R"("timestamp":"2026-10-01T10:00:{1:02}Z",)"
                       R"("cwd":"/p","message":{{"role":"user","content":"{2}"}}}})",
                       id, at, std::string(40'000, 'w')) +
           "\n" + claude_answer(id, fmt::format("10:00:{:02}", at + 2), usage);
  };
  // Only the first says which tier it had.
  std::string first = claude_usage_json(10, 0, 5'000, 9);
  first.insert(1, R"("service_tier":"standard",)");
  BothWays log("s1.jsonl", line(0, "m1", first) + line(10, "m2", "{}") +
                               line(20, "m3", claude_usage_json(10, 0, 60'000, 9)));
  for (const CliRun& run : {log.path({"cache", "--json"}), log.cli.run({"cache", "--json"})}) {
    INFO(run.out);
    // The first call's 5,000 are all that is known to have been there.
    CHECK(json_lines(run.out)[0]["lost"] == 5'000);
  }
}

TEST_CASE("figures: of an answer of several lines the first tells when it was sent") {
  const auto part = [](const std::string& id, const std::string& time, int written, int output) {
    std::string line = claude_answer(id, time, claude_usage_json(10, 0, written, output));
    const std::string uuid = "\"uuid\":\"" + id;
    return line.replace(line.find(uuid), uuid.size(), uuid + "-" + time);
  };
  // An answer that took 311 s; the next call was sent 314 to 318 s behind the first.
  const std::string user =
      R"({"type":"user","sessionId":"s1","uuid":"u0","timestamp":"2026-10-01T10:00:00Z",)"
      R"("cwd":"/p","message":{"role":"user","content":"go"}})"
      "\n";
  const std::string next =
      R"({"type":"user","sessionId":"s1","uuid":"u1","timestamp":"2026-10-01T10:05:16Z",)"
      R"("cwd":"/p","message":{"role":"user","content":"on"}})"
      "\n";
  BothWays log("s1.jsonl",
               user + part("m1", "10:00:02", 20'000, 1) + part("m1", "10:05:11", 20'000, 900) +
                   next + part("m2", "10:05:18", 21'000, 1) + part("m2", "10:05:50", 21'000, 700));
  for (const CliRun& run : {log.path({"cache", "--json"}), log.cli.run({"cache", "--json"})}) {
    INFO(run.out);
    CHECK(causes_of(run).contains("T2"));
  }
}

TEST_CASE("figures: behind a compaction at which nothing is read more than it may be lost") {
  const std::string compaction =
      R"({"type":"system","subtype":"compact_boundary","sessionId":"s1","uuid":"b1",)"
      R"("timestamp":"2026-10-01T10:01:00.000Z","cwd":"/p","content":"Conversation compacted",)"
      R"("compactMetadata":{"trigger":"manual","preTokens":20000}})"
      "\n";
  const auto lost = [&](int read) {
    BothWays log("s1.jsonl",
                 claude_answer("m1", "10:00:00", claude_usage_json(10, 0, 20'000, 1)) + compaction +
                     claude_answer("m2", "10:01:10", claude_usage_json(10, read, 9'000 - read, 1)));
    return causes_of(log.path({"cache", "--json"}));
  };
  CHECK(lost(3'000) == Causes{{"E2", 6'010}});
  CHECK(lost(0) == Causes{{"one_of{E2,P2,P3,P5,P6,P8,U1}", 9'010}});
}

TEST_CASE("figures: a summary that the API made is a request of its own") {
  const std::string usage =
      R"({"input_tokens":10,"cache_read_input_tokens":0,"cache_creation_input_tokens":5000,)"
      R"("output_tokens":9,"iterations":[{"type":"compaction","input_tokens":50000,)"
      R"("output_tokens":700,"cache_read_input_tokens":0,"cache_creation_input_tokens":0},)"
      R"({"type":"message","input_tokens":10,"output_tokens":9,"cache_read_input_tokens":0,)"
      R"("cache_creation_input_tokens":5000}]})";
  BothWays log("s1.jsonl",
               claude_answer("m1", "10:00:00", usage) +
                   claude_answer("m2", "10:00:30", claude_usage_json(10, 5'000, 90, 9)));
  CHECK(causes_of(log.path({"cache", "--json"})).empty());
  CHECK(causes_of(log.cli.run({"cache", "--json"})).empty());
}

TEST_CASE("figures: a vendor before the model's name is who billed") {
  const auto cost = [](const std::string& model) {
    BothWays log("s1.jsonl",
                 claude_answer("m1", "10:00:00", claude_usage_json(10, 0, 5'000, 9), model));
    return json_lines(log.path({"cost", "--json"}).out).back();
  };
  CHECK(cost("anthropic/claude-opus-4-5")["unpriced"]["calls"] == 0);
  CHECK(cost("openai/claude-opus-4-5")["unpriced"]["calls"] == 1);
}

TEST_CASE("figures: no more is lost than the call before is known to have left") {
  // The input shrinks and grows by what no transcript shows.
  BothWays log("s1.jsonl",
               claude_answer("m1", "10:00:00", claude_usage_json(3, 0, 40'000, 9)) +
                   claude_answer("m2", "10:00:20", claude_usage_json(3, 40'000, 1'000, 9)) +
                   claude_answer("m3", "10:00:40", claude_usage_json(3, 0, 10'000, 9)) +
                   claude_answer("m4", "10:01:00", claude_usage_json(3, 10'000, 1'000, 9)) +
                   claude_answer("m5", "10:01:20", claude_usage_json(3, 11'000, 50'000, 9)));
  for (const CliRun& run : {log.path({"cache", "--json"}), log.cli.run({"cache", "--json"})}) {
    // Of the third call alone: all of its 10,003.
    CHECK(json_lines(run.out)[0]["lost"] == 10'003);
  }
}

TEST_CASE("figures: what was too short to be cached had no lifetime, and did not expire") {
  for (const auto& [usage, minute] :
       {std::pair(R"({"input_tokens":10,"cache_read_input_tokens":0,)"
                  R"("cache_creation_input_tokens":5390,"output_tokens":9,)"
                  R"("cache_creation":{"ephemeral_5m_input_tokens":0,)"
                  R"("ephemeral_1h_input_tokens":5390}})",
                  0),
        std::pair(R"({"input_tokens":10,"cache_read_input_tokens":0,)"
                  R"("cache_creation_input_tokens":5390,"output_tokens":9})",
                  8)}) {
    BothWays log("s1.jsonl", claude_answer("m1", "10:00:00",
                                           R"({"input_tokens":3600,"cache_read_input_tokens":0,)"
                                           R"("cache_creation_input_tokens":0,"output_tokens":9})",
                                           "claude-haiku-4-5") +
                                 claude_answer("m2", fmt::format("10:{:02}:10", minute), usage,
                                               "claude-haiku-4-5"));
    CHECK(causes_of(log.path({"cache", "--json"})) == Causes{{"P7", 3'600}});
    CHECK(causes_of(log.cli.run({"cache", "--json"})) == Causes{{"P7", 3'600}});
  }
}

}  // namespace daybook::tests
