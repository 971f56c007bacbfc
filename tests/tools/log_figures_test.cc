// Figures that logs tell in part, or that contradict each other.
#include <filesystem>

#include "tests/tools/both_ways.h"
#include "tests/tools/codex_counters.h"
#include "tests/tools/importing.h"

namespace daybook::tests {
namespace {

using Catch::Contains;

std::string trajectory(const std::string& model, const std::string& metrics) {
  return R"({"schema_version":"ATIF-v1.4","session_id":"at","agent":{"name":"w","version":"1",)"
         R"("model_name":")" +
         model +
         R"("},"steps":[{"step_id":1,"timestamp":"2026-10-03T10:00:10Z","source":"agent",)"
         R"("message":"m","metrics":)" +
         metrics + "}]}\n";
}

/// "0.0195 to 0.0375", of the file and of its import.
std::string cost_of(const std::string& model, const std::string& metrics) {
  BothWays log("a_trajectory.json", trajectory(model, metrics));
  const Json cost = log.json({"cost"}).back()["cost_usd"];
  return cost["low"].get<std::string>() + " to " + cost["high"].get<std::string>();
}

TEST_CASE("figures: cache writes that a trajectory does not tell leave a range") {
  const std::string plain = R"({"prompt_tokens":6000,"completion_tokens":100,"cached_tokens":0})";
  // 6,000 at 3 or, written for an hour, at 6; 100 at 15. At OpenAI 4 or 5, and 20.
  CHECK(cost_of("anthropic/claude-sonnet-4-5", plain) == "0.0195 to 0.0375");
  CHECK(cost_of("openai/gpt-5.6-sol", plain) == "0.026 to 0.032");
  // Nobody bills writes here: 6,000 at 1.25, 100 at 10.
  CHECK(cost_of("openai/gpt-5", plain) == "0.0085 to 0.0085");
}

TEST_CASE("figures: cache writes that a trajectory tells besides are priced as such") {
  // 1,000 at 3, 5,000 written at 3.75 or 6, 100 at 15.
  CHECK(cost_of("anthropic/claude-sonnet-4-5",
                R"({"prompt_tokens":6000,"completion_tokens":100,"cached_tokens":0,"extra":)"
                R"({"cache_creation_input_tokens":5000,"cache_read_input_tokens":0}})") ==
        "0.02325 to 0.0345");
  // 1,000 at 3, 5,000 read at 0.3.
  CHECK(cost_of("anthropic/claude-sonnet-4-5",
                R"({"prompt_tokens":6000,"completion_tokens":100,"extra":)"
                R"({"cache_creation_input_tokens":0,"cache_read_input_tokens":5000}})") ==
        "0.006 to 0.006");
}

TEST_CASE("figures: writes whose parts are more than all count alike everywhere, marked") {
  BothWays log("s1.jsonl", claude_answer("m1", "10:00:00",
                                         R"({"input_tokens":10,"cache_read_input_tokens":0,)"
                                         R"("cache_creation_input_tokens":1000,"output_tokens":5,)"
                                         R"("cache_creation":{"ephemeral_5m_input_tokens":1000,)"
                                         R"("ephemeral_1h_input_tokens":5000}})"));
  const Json total = log.json({"cost"}).back();
  CHECK(total["tokens"]["cache_write_5m"] == 1000);
  CHECK(total["tokens"]["cache_write_1h"] == 5000);
  CHECK(total["authority"]["estimate"] == 1);
  CHECK_THAT(log.out({"cost"}), Contains("~ estimate: 1 call with figures that contradict"));
  for (const CliRun& run : {log.path({"cache", "--json"}), log.cli.run({"cache", "--json"})}) {
    CHECK(json_lines(run.out).front()["input"] == 6010);
  }
}

TEST_CASE("figures: a trajectory that names no vendor has the cache rules of whose prices it has") {
  const std::string metrics = R"({"prompt_tokens":6000,"completion_tokens":100,"cached_tokens":0})";
  for (const auto& [model, rules] :
       {std::pair{"claude-opus-4-5", "anthropic"}, std::pair{"gpt-5", "openai-before-5.6"}}) {
    BothWays log("a_trajectory.json", trajectory(model, metrics));
    CHECK_THAT(log.path({"cache", "--why", "at:1"}).out, Contains(std::string("rules: ") + rules));
  }
  BothWays log("a_trajectory.json", trajectory("nobody-knows", metrics));
  CHECK_THAT(log.path({"cache", "--why", "at:1"}).out,
             Contains("rules: not known for this provider"));
}

std::string codex_line(int second, const std::string& type, const std::string& payload) {
  return fmt::format(
             R"({{"timestamp":"2026-10-07T{:02}:{:02}:{:02}.000Z","type":"{}","payload":{}}})",
             10 + second / 3600, second / 60 % 60, second % 60, type, payload) +
         "\n";
}

std::string counter(int second, const std::string& total, const std::string& last) {
  return codex_line(second, "event_msg", codex_token_count(total, last));
}

std::string said(int second, const std::string& text) {
  return codex_line(second, "response_item",
                    R"({"type":"message","role":"assistant","content":[{"type":"output_text",)"
                    R"("text":")" +
                        text + "\"}]}");
}

std::string header(int second, const std::string& thread, const std::string& more = "") {
  return codex_line(second, "session_meta", R"({"id":")" + thread + "\"" + more + "}");
}

/// The events of the same files come to the same calls.
void check_both(const std::vector<std::string>& paths, const std::vector<replay::Call>& figures) {
  EventSink sink;
  read_events(paths, sink);
  const auto calls = calls_of_events(sink);
  CHECK(totals_of(calls) == totals_of(figures));
  for (std::size_t i = 0; i < std::min(calls.size(), figures.size()); ++i) {
    CHECK(calls[i].id == figures[i].id);
  }
}

Totals totals_of_text(const std::string& text) {
  const TempDir dir;
  write_file(dir.path() / "rollout-2026-10-07T10-00-00-4444.jsonl", text);
  const Read read = figures_of({dir.str()});
  check_both({dir.str()}, read.calls);
  return totals_of(read.calls);
}

TEST_CASE("figures: a Codex counter that began again and passed the old one is no difference") {
  const std::string first = header(0, "4444") + said(5, "a") +
                            counter(5, codex_usage(10000, 0, 100), codex_usage(10000, 0, 100));
  // The total is the last response alone: 1,016 fresh, 9,984 read.
  CHECK(totals_of_text(first + said(15, "b") +
                       counter(15, codex_usage(11000, 9984, 100), codex_usage(11000, 9984, 100))) ==
        Totals{2, 11016, 9984, 0, 200});
  // Of two since then one was lost, and no 2,000 tokens hold 9,984 that were cached.
  CHECK(totals_of_text(first + said(15, "b") +
                       counter(15, codex_usage(12000, 9984, 150), codex_usage(11000, 9984, 100))) ==
        Totals{2, 11016, 9984, 0, 200});
  // A difference of what two responses used, of which one was lost, is one.
  CHECK(totals_of_text(first + said(15, "b") +
                       counter(15, codex_usage(32000, 19000, 300),
                               codex_usage(11000, 9984, 100))) == Totals{2, 13000, 19000, 0, 300});
}

std::string parent() {
  return header(0, "aaaa-0001") + said(5, "q") +
         counter(5, codex_usage(10000, 0, 100), codex_usage(10000, 0, 100)) + said(15, "z") +
         counter(15, codex_usage(21000, 9984, 300), codex_usage(11000, 9984, 200));
}

/// The history of the parent without its header, then a response of its own: 12,000/10,880/50.
std::string fork_of(int copied_at, const std::string& more) {
  return header(3600, "bbbb-0002", more) + said(copied_at, "q") +
         counter(copied_at, codex_usage(10000, 0, 100), codex_usage(10000, 0, 100)) +
         said(copied_at, "z") +
         counter(copied_at, codex_usage(21000, 9984, 300), codex_usage(11000, 9984, 200)) +
         said(3615, "own") +
         counter(3615, codex_usage(33000, 20864, 350), codex_usage(12000, 10880, 50));
}

TEST_CASE("figures: a fork that names its parent counts the parent's history nowhere") {
  const std::string named = R"(,"forked_from_id":"aaaa-0001")";
  for (const int copied_at : {5, 3600}) {
    const TempDir dir;
    write_file(dir.path() / "rollout-2026-10-07T10-00-00-aaaa-0001.jsonl", parent());
    write_file(dir.path() / "rollout-2026-10-07T11-00-00-bbbb-0002.jsonl",
               fork_of(copied_at, named));
    const Read read = figures_of({dir.str()});
    CHECK(totals_of(read.calls) == Totals{3, 12136, 20864, 0, 350});
    CHECK(read.calls.back().usage.authority == schema::Authority::derived);
    check_both({dir.str()}, read.calls);
    // Its parent's file is not there: the burst tells.
    std::filesystem::remove(dir.path() / "rollout-2026-10-07T10-00-00-aaaa-0001.jsonl");
    const Read alone = figures_of({dir.str()});
    CHECK(totals_of(alone.calls) == Totals{1, 1120, 10880, 0, 50});
    CHECK(alone.calls.back().usage.authority == schema::Authority::estimate);
  }
  // A fork that copied nothing keeps what it has.
  const TempDir dir;
  write_file(dir.path() / "rollout-2026-10-07T11-00-00-bbbb-0002.jsonl",
             header(3600, "bbbb-0002", named) + said(3610, "own") +
                 counter(3610, codex_usage(900, 0, 50), codex_usage(900, 0, 50)));
  const Read own = figures_of({dir.str()});
  CHECK(totals_of(own.calls) == Totals{1, 900, 0, 0, 50});
  CHECK(own.calls.at(0).usage.authority == schema::Authority::derived);
}

TEST_CASE("figures: a model that a log of Codex does not tell has no name of its own") {
  BothWays log(
      "rollout-2026-10-07T10-00-00-4444.jsonl",
      header(0, "4444") + said(5, "a") + counter(5, codex_usage(10, 0, 1), codex_usage(10, 0, 1)));
  const auto rows = log.json({"cost", "--by", "model"});
  CHECK(rows.at(0)["model"] == "(unknown)");
  CHECK_THAT(log.out({"cost"}), Contains("unpriced: openai:(unknown): no price for this model"));
}

}  // namespace
}  // namespace daybook::tests
