// Transcripts whose calls do not simply follow each other: branches that take turns, models that
// change and change back, histories that are replaced.
#include <algorithm>

#include "tests/tools/both_ways.h"

namespace daybook::tests {
namespace {

using Catch::Contains;

constexpr const char* kSonnet = "claude-sonnet-4-5-20250929";
constexpr const char* kOpus = "claude-opus-4-5-20251101";

/// Lines of one session, each with the line that it hangs on.
class Transcript {
 public:
  Transcript& says(int second, const std::string& parent, const std::string& uuid) {
    return line(second, "user", parent, uuid,
                fmt::format(R"("message":{{"role":"user","content":"{}"}})", uuid));
  }
  Transcript& answers(int second, const std::string& parent, const std::string& uuid, int read,
                      int written, const char* model = kSonnet) {
    return line(second, "assistant", parent, uuid,
                fmt::format(R"("requestId":"r-{0}","message":{{"id":"{0}","role":"assistant",)"
                            R"("model":"{1}","content":[{{"type":"text","text":"{0}"}}],)"
                            R"("stop_reason":"end_turn","usage":{2}}})",
                            uuid, model, claude_usage_json(3, read, written, 20)));
  }
  /// A boundary and its summary; what goes on hangs on `uuid`.
  Transcript& compacts(int second, const std::string& last, const std::string& uuid) {
    line(second, "system", "", uuid + "-b",
         fmt::format(R"("subtype":"compact_boundary","logicalParentUuid":"{}",)"
                     R"("compactMetadata":{{"trigger":"manual","preTokens":20000}})",
                     last));
    return line(second, "user", uuid + "-b", uuid,
                R"("isCompactSummary":true,"message":{"role":"user","content":"So far"})");
  }
  const std::string& text() const { return text_; }

 private:
  Transcript& line(int second, const char* type, const std::string& parent, const std::string& uuid,
                   const std::string& rest) {
    text_ +=
        fmt::format(R"({{"type":"{}","sessionId":"s1","uuid":"{}","parentUuid":{},"cwd":"/p",)"
                    R"("version":"2.1.60","timestamp":"2026-10-01T{:02}:{:02}:{:02}.000Z",{}}})"
                    "\n",
                    type, uuid, parent.empty() ? "null" : "\"" + parent + "\"", 10 + second / 3600,
                    second / 60 % 60, second % 60, rest);
    return *this;
  }
  std::string text_;
};

struct Both {
  Causes figures;
  Causes transcript;
};

Both causes_of(const Transcript& log) {
  BothWays both("s1.jsonl", log.text());
  return {tests::causes_of(both.path({"cache", "--json"})),
          tests::causes_of(both.cli.run({"cache", "--json"}))};
}

/// What the journal says of a call with losses, by its session's place among those.
std::string why(const Transcript& log, int input) {
  BothWays both("s1.jsonl", log.text());
  for (const Json& each : json_lines(both.cli.run({"cache", "--json"}).out)) {
    if (each["line"] != "call" || each["input"] != input) continue;
    return both.cli.run({"cache", "--why", each["id"].get<std::string>()}).out;
  }
  return {};
}

TEST_CASE("branches: a compaction ends its own branch, wherever the line before it was") {
  Transcript log;
  log.says(0, "", "p").answers(5, "p", "a0", 0, 20'000);
  log.says(10, "a0", "pa").answers(15, "pa", "a1", 20'000, 4'000);
  log.says(20, "a0", "pb").answers(25, "pb", "b1", 20'000, 1'000);
  log.compacts(30, "a1", "sum").says(31, "sum", "pa2").answers(35, "pa2", "a2", 15'000, 2'000);
  log.says(40, "b1", "pb2").answers(45, "pb2", "b2", 21'000, 500);
  // The branch had left 24,000: of the 17,003 that it sends now, 15,000 were read.
  const Causes found = causes_of(log).transcript;
  CHECK(found.contains("E2"));
  CHECK(found.at("E3") == 1'003);
  int lost = 0;
  for (const auto& [cause, tokens] : found) lost += tokens;
  CHECK(lost - found.at("E3") == 2'003);
}

TEST_CASE("branches: what follows the compaction of another branch was not compacted") {
  Transcript log;
  log.says(0, "", "p").answers(5, "p", "a0", 0, 20'000);
  log.says(10, "a0", "pa").answers(15, "pa", "a1", 20'000, 4'000);
  log.says(20, "a0", "pb").answers(25, "pb", "b1", 20'000, 1'000);
  log.compacts(30, "a1", "sum");
  log.says(40, "b1", "pb2").answers(45, "pb2", "b2", 20'500, 1'000);
  log.says(50, "sum", "pa2").answers(55, "pa2", "a2", 15'000, 2'000);
  const Causes found = causes_of(log).transcript;
  const bool compacted = std::ranges::any_of(
      found, [](const auto& item) { return item.first.find("E2") != std::string::npos; });
  CHECK(compacted);
  CHECK(found.at("one_of{P3,P5,P6,U1}") == 500);
}

TEST_CASE("branches: a call waited for its own branch's answer, not for the others' lines") {
  Transcript log;
  log.says(0, "", "p").answers(5, "p", "a0", 0, 20'000);
  log.says(10, "a0", "pa").answers(15, "pa", "a1", 20'000, 1'000);
  log.says(20, "a0", "pb").answers(25, "pb", "b1", 20'000, 1'000);
  log.says(30, "a1", "pa2").answers(35, "pa2", "a2", 21'000, 1'000);
  // Sent at 50 s, answered at 360 s; the other branch is answered in between.
  log.says(50, "b1", "pb2").says(330, "a2", "pa3").answers(335, "pa3", "a3", 22'000, 1'000);
  log.answers(360, "pb2", "b2", 0, 22'000);
  const std::string told = why(log, 22'003);
  CHECK_THAT(told, Contains("T1") && Contains("U1") && Contains("one_of{"));
  CHECK_THAT(told, Contains("; 0 to 340 s since the call before"));
}

TEST_CASE("branches: a prompt without a parent may have replaced the history") {
  Transcript log;
  log.says(0, "", "p").answers(5, "p", "a0", 0, 20'000);
  log.says(10, "a0", "q").answers(15, "q", "a1", 20'000, 4'000);
  log.says(500, "", "p2").answers(505, "p2", "c0", 0, 21'000);
  // It is smaller than what it would go on from.
  CHECK(causes_of(log).transcript == Causes{{"one_of{E2,E3,P4.deleted,T1}", 21'003}});
  Transcript grown;
  grown.says(0, "", "p").answers(5, "p", "a0", 0, 20'000);
  grown.says(500, "", "p2").answers(505, "p2", "c0", 0, 21'000);
  CHECK(causes_of(grown).transcript == Causes{{"T1", 20'000}});
}

TEST_CASE("branches: behind another model it is the own model's last use that counts") {
  Transcript log;
  log.says(0, "", "p").answers(5, "p", "a0", 0, 20'000, kOpus);
  log.says(3000, "a0", "q").answers(3005, "q", "a1", 0, 20'500);
  log.says(6000, "a1", "r").answers(6005, "r", "a2", 0, 21'000, kOpus);
  CHECK_THAT(why(log, 21'003),
             Contains("T1: the cache expired before the call; 5995 to 6005 s since the last use"));
}

TEST_CASE("branches: where either of two repairs would do, neither is the cause") {
  Transcript log;
  log.says(0, "", "p").answers(5, "p", "a0", 0, 20'000);
  log.says(350, "a0", "q").answers(355, "q", "a1", 0, 20'500, kOpus);
  log.says(360, "a1", "r").answers(365, "r", "a2", 0, 21'000);
  const Both causes = causes_of(log);
  CHECK(causes.transcript ==
        Causes{{"joint{P1,T1}", 20'000}, {"one_of{P1,T1}", 20'000}, {"P1", 500}});
  CHECK(causes.figures == Causes{{"joint{P1,T1}", 20'000}, {"one_of{P1,T1}", 20'500}});
}

TEST_CASE("branches: a compaction behind another model is not the only cause") {
  Transcript log;
  log.says(0, "", "p").answers(5, "p", "a0", 0, 15'500);
  log.says(10, "a0", "q").answers(15, "q", "a1", 0, 17'000, kOpus);
  log.compacts(20, "a1", "sum").says(21, "sum", "r").answers(25, "r", "a2", 15'000, 1'800);
  const Both causes = causes_of(log);
  CHECK(causes.figures == Causes{{"P1", 15'500}, {"one_of{E2,P1}", 1'803}});
}

TEST_CASE("branches: an answer behind a compaction is that in every telling of it") {
  Transcript log;
  log.says(0, "", "p").answers(5, "p", "a0", 0, 20'000);
  log.compacts(10, "a0", "sum").says(11, "sum", "q");
  Transcript whole = log;
  const auto answer = [&](Transcript& to, const char* uuid, int output) {
    std::string line = Transcript().answers(15, "q", "m1", 15'000, 2'000).text();
    line.replace(line.find(R"("uuid":"m1")"), 11, fmt::format(R"("uuid":"{}")", uuid));
    line.replace(line.find(R"("output_tokens":20)"), 18,
                 fmt::format(R"("output_tokens":{})", output));
    return to.text() + line;
  };
  const std::string first = answer(whole, "u1", 10);
  const std::string second = answer(*std::make_unique<Transcript>(), "u2", 20);
  const TempDir dir;
  write_file(dir.str("a.jsonl"), first);
  write_file(dir.str("b.jsonl"), second);
  Cli parts;
  REQUIRE(parts.run({"import", dir.str("a.jsonl"), dir.str("b.jsonl")}).code == 0);
  const Causes causes = tests::causes_of(parts.run({"cache", "--json"}));
  CHECK(causes.contains("E2"));
  // What nobody knows as it was sent is not compared with it.
  const CliRun verified = parts.run({"verify", "--requests"});
  CHECK(verified.code == 0);
  CHECK_THAT(verified.out, Contains("0 requests rebuilt byte-identically: no damage"));
}

TEST_CASE("branches: losses without a price are not worth nothing") {
  Transcript log;
  log.says(0, "", "p").answers(5, "p", "a0", 0, 20'000, "mystery-9");
  log.says(500, "a0", "q").answers(505, "q", "a1", 0, 20'500, "mystery-9");
  BothWays both("s1.jsonl", log.text());
  const CliRun run = both.cli.run({"cache", "--json"});
  for (const Json& each : json_lines(run.out)) {
    if (each["line"] == "session") CHECK(each["unpriced_tokens"] == 20'000);
  }
  CHECK(both.cli.run({"cache"}).out.find("$0.00") == std::string::npos);
}

}  // namespace
}  // namespace daybook::tests
