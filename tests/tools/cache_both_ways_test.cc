// The same log as figures alone and as rebuilt transcripts: where both can tell a cause, they tell
// the same one.
#include <map>

#include "tests/tools/both_ways.h"

namespace daybook::tests {
namespace {

std::string line(int at, const char* type, const std::string& payload) {
  return fmt::format(R"({{"timestamp":"2026-10-02T10:{:02}:{:02}.000Z","type":"{}","payload":{}}})",
                     at / 60, at % 60, type, payload) +
         "\n";
}

struct Turn {
  std::string model;
  int input = 0;
  int cached = 0;
};

/// A thread whose prompts are `words` long, with these figures, 20 s after one another.
std::string rollout(const std::vector<Turn>& turns, std::size_t words = 40) {
  std::string text = line(1, "session_meta", R"({"id":"9f01","cwd":"/p"})");
  int at = 2;
  int number = 0;
  for (const Turn& turn : turns) {
    text += line(at, "turn_context", fmt::format(R"({{"cwd":"/p","model":"{}"}})", turn.model));
    text += line(at + 1, "response_item",
                 fmt::format(R"({{"type":"message","role":"user","content":[{{"type":"input_text",)"
                             R"("text":"{}{}"}}]}})",
                             ++number, std::string(words, 'w')));
    text += line(at + 3, "response_item",
                 R"({"type":"message","role":"assistant","content":[{"type":"output_text",)"
                 R"("text":"ok"}]})");
    text += line(at + 4, "token_usage_record",
                 fmt::format(R"({{"thread_id":"9f01","session_id":"9f01","response_id":"r{}",)"
                             R"("usage":{{"input_tokens":{},"cached_input_tokens":{},)"
                             R"("cache_write_input_tokens":0,"output_tokens":20}}}})",
                             number, turn.input, turn.cached));
    at += 20;
  }
  return text;
}

/// Whether the journal counts the tokens of a last block that is not whole.
enum class Rounding { separate, whole };

/// What figures alone tell, in whole blocks. The journal must tell the same, with the tokens of a
/// last block that is not whole: as a loss of its own, or in the one there is.
Causes both(const std::string& text, Rounding rounding = Rounding::separate) {
  BothWays log("rollout-2026-10-02T10-00-00-9f01.jsonl", text);
  const Causes figures = causes_of(log.path({"cache", "--json"}));
  Causes stored = causes_of(log.cli.run({"cache", "--json"}));
  if (rounding == Rounding::whole) {
    for (auto& [cause, tokens] : stored) tokens -= tokens % 128;
  } else if (stored.contains("R1")) {
    CHECK(stored["R1"] < 128);
    stored.erase("R1");
  }
  CHECK(stored == figures);
  return figures;
}

TEST_CASE("both ways: prompts shorter than what is cached are P7, whole") {
  CHECK(both(rollout({{"gpt-5.5", 600, 0}, {"gpt-5.5", 700, 0}, {"gpt-5.5", 800, 0}})) ==
        Causes{{"P7", 600 + 700}});
  CHECK(both(rollout({{"gpt-5.5", 600, 0}, {"gpt-5.6-sol", 700, 0}})) ==
        Causes{{"joint{P1,P7}", 600}});
}

TEST_CASE("both ways: a change to another family's model loses what the first had cached") {
  // Whole blocks of 128 of 9,000 tokens; without blocks all of them.
  CHECK(both(rollout({{"gpt-5.5", 9'000, 0}, {"gpt-5.6-sol", 9'100, 0}})) ==
        Causes{{"P1", 70 * 128}});
  CHECK(both(rollout({{"gpt-5.2", 9'000, 0}, {"gpt-5.5", 9'100, 0}})) == Causes{{"P1", 70 * 128}});
}

TEST_CASE("both ways: less than a block may be the block's or what changed") {
  // 1,408 are eleven blocks of 128, and less than one of 2,048: GPT-5.5's may be either.
  CHECK(both(rollout({{"gpt-5.5", 1'500, 0}, {"gpt-5.6-sol", 1'600, 0}}), Rounding::whole) ==
        Causes{{"one_of{P1,R1}", 1'408}});
  CHECK(both(rollout({{"gpt-5.5", 1'500, 0}, {"gpt-5.5", 1'600, 0}}), Rounding::whole) ==
        Causes{{"R1", 1'408}});
}

TEST_CASE("both ways: what a call left that wrote nothing is told by its figures") {
  CHECK(both(rollout({{"gpt-5.6-sol", 9'000, 0}, {"gpt-5.6-sol", 19'000, 0}})) ==
        Causes{{"one_of{P6.missing,U1}", 9'000}});
}

TEST_CASE("both ways: a prompt that is shorter, although no message is gone, may have been cut") {
  BothWays log("rollout-2026-10-02T10-00-00-9f01.jsonl",
               rollout({{"gpt-5.5", 90'000, 0}, {"gpt-5.5", 19'000, 0}}));
  for (const CliRun& run : {log.path({"cache", "--json"}), log.cli.run({"cache", "--json"})}) {
    const std::string cause = causes_of(run).begin()->first;
    for (const char* leaf : {"E2", "E3", "P4.deleted", "P2", "P5", "U1"}) {
      CHECK_THAT(cause, Catch::Contains(leaf));
    }
  }
}

}  // namespace
}  // namespace daybook::tests
