// Sessions that hold copies of each other's calls: --session is the row of --by session, in cost
// and in cache, of files and of the journal.
#include <filesystem>

#include "tests/tools/both_ways.h"

namespace daybook::tests {
namespace {

std::string at(int second) {
  return fmt::format("10:{:02}:{:02}.000", second / 60, second % 60);
}

std::string with_session(std::string lines, const std::string& name) {
  const std::string old = R"("sessionId":"s1")";
  const std::string now = R"("sessionId":")" + name + "\"";
  for (std::size_t i = lines.find(old); i != std::string::npos; i = lines.find(old, i)) {
    lines.replace(i, old.size(), now);
  }
  return lines;
}

std::string call(int number, int second) {
  return claude_answer(fmt::format("m{}", number), at(second),
                       claude_usage_json(10, number * 1'000, 1'000, 100));
}

/// An original of four calls; what resumed it copies them and adds one; a fork copies the first
/// two and adds one. Nothing in the lines tells which is which.
struct Family {
  TempDir dir;
  Cli cli;
  std::string folder = dir.str("logs");

  /// `names`: of the original, of what resumed it, and of the fork.
  explicit Family(const std::vector<std::string>& names) {
    std::filesystem::create_directory(folder);
    std::string all;
    for (int i = 0; i < 4; ++i) all += call(i, i * 60 + 5);
    const std::string two = call(0, 5) + call(1, 65);
    write_file(folder + "/" + names[0] + ".jsonl", with_session(all, names[0]));
    write_file(folder + "/" + names[1] + ".jsonl", with_session(all + call(4, 305), names[1]));
    write_file(folder + "/" + names[2] + ".jsonl", with_session(two + call(7, 405), names[2]));
    cli.environment["TZ"] = "UTC";
    REQUIRE(cli.run({"import", folder}).code == 0);
  }

  std::vector<Json> rows(std::vector<std::string> arguments, bool files) {
    arguments.emplace_back("--json");
    if (files) arguments.push_back(folder);
    const CliRun run = cli.run(arguments);
    INFO(run.out << run.err);
    REQUIRE(run.code == 0);
    return json_lines(run.out);
  }
};

/// Calls and cost by the name that the session has in files.
std::map<std::string, std::pair<int, std::string>> by_session(const std::vector<Json>& lines,
                                                              const char* cost) {
  std::map<std::string, std::pair<int, std::string>> made;
  for (const Json& line : lines) {
    if (!line.contains("session")) continue;
    std::string name = line["session"];
    if (name.starts_with("claude-")) name = name.substr(7);
    made[name] = {line["calls"], line[cost]["low"]};
  }
  return made;
}

}  // namespace

TEST_CASE("copies: --session is the session's row, and the original keeps its calls") {
  // Whatever the names, which say nothing.
  for (const std::vector<std::string>& names :
       {std::vector<std::string>{"orig", "resumed", "forked"},
        std::vector<std::string>{"zz", "aa", "mm"}}) {
    Family family(names);
    for (const bool files : {true, false}) {
      const auto cost = family.rows({"cost", "--by", "session"}, files);
      auto rows = by_session(cost, "cost_usd");
      REQUIRE(rows.size() == 3);
      CHECK(rows[names[0]].first == 4);
      CHECK(rows[names[1]].first == 1);
      CHECK(rows[names[2]].first == 1);
      CHECK(by_session(family.rows({"cache"}, files), "total_usd") == rows);
      for (const auto& [name, row] : rows) {
        INFO(name << (files ? " in files" : " in the journal"));
        const std::string given = files ? name : "claude-" + name;
        const auto one = family.rows({"cost", "--by", "session", "--session", given}, files);
        CHECK(by_session(one, "cost_usd") == decltype(rows){{name, row}});
        const auto cache = family.rows({"cache", "--session", given}, files);
        CHECK(cache[0]["calls"] == row.first);
        CHECK(cache[0]["total_usd"]["low"] == row.second);
      }
    }
  }
}

TEST_CASE("copies: the calls of a session that count for another are said") {
  Family family({"orig", "resumed", "forked"});
  const auto total = [&](const char* session) {
    return family.rows({"cost", "--session", session}, true).back();
  };
  CHECK(total("orig")["copies"] == 0);
  CHECK(total("resumed")["copies"] == 4);
  CHECK(total("forked")["copies"] == 2);
}

TEST_CASE("spans: what is reported is of the span, and what was cached before it still was") {
  TempDir dir;
  Cli cli;
  cli.environment["TZ"] = "UTC";
  const std::string file = dir.str("s1.jsonl");
  // The second reads nothing of what the first left.
  write_file(file,
             claude_answer("m1", "10:00:00.000", claude_usage_json(10, 0, 20'000, 1)) +
                 claude_answer("m2", "10:01:00.000", claude_usage_json(10, 0, 21'000, 1)) +
                 claude_answer("m3", "10:02:00.000", claude_usage_json(10, 21'000, 1'000, 1)));
  REQUIRE(cli.run({"import", file}).code == 0);
  for (const bool files : {true, false}) {
    const auto total = [&](std::vector<std::string> arguments) {
      arguments.insert(arguments.begin(), {"cache", "--json"});
      if (files) arguments.push_back(file);
      const CliRun run = cli.run(arguments);
      INFO(run.err);
      REQUIRE(run.code == 0);
      return json_lines(run.out)[0];
    };
    const Json all = total({});
    const Json late = total({"--since", "2026-10-01T10:01:00Z"});
    CHECK(late["calls"] == 2);
    CHECK(late["input"] == 21'010 + 22'010);
    CHECK(late["lost"] == all["lost"]);
    CHECK(late["conserved"] == true);
    const Json early = total({"--until", "2026-10-01T10:01:00Z"});
    CHECK(early["calls"] == 1);
    CHECK(early["new_E0"] == 20'010);
    // A day of Honolulu, which began at 10:00 UTC, and the one before it.
    CHECK(total({"--until", "2026-09-30", "--timezone", "Pacific/Honolulu"})["calls"] == 0);
    CHECK(total({"--since", "2026-10-01", "--timezone", "Pacific/Honolulu"})["calls"] == 3);
  }
  const CliRun none = cli.run({"cache", "--since", "2030-01-01", file});
  CHECK(none.code == 0);
  CHECK_THAT(none.err, Catch::Contains("no call is of this span"));
  const CliRun then = cli.run({"cache", "--since", "2030-01-01", "--what-if", "1h"});
  CHECK(then.out == "0 calls to compare\n");
  const CliRun wrong = cli.run({"cache", "--why", "s1:1", "--since", "2026-10-01", file});
  CHECK(wrong.code == 2);
  CHECK_THAT(wrong.err, Catch::Contains("--since does not go with it"));
  CHECK(cli.run({"cache", "--since", "2026-10-02", "--until", "2026-10-01", file}).code == 2);
}

TEST_CASE("a model without a vendor has the rules of whose price it has, or none that decide") {
  TempDir dir;
  Cli cli;
  const auto why = [&](const std::string& model) {
    const std::string step =
        R"({{"step_id":{},"timestamp":"2026-10-01T10:0{}:00Z","source":"{}","message":"x"{}}})";
    const std::string metrics =
        R"(,"metrics":{"prompt_tokens":6000,"completion_tokens":100,"cached_tokens":5000})";
    const std::string file = dir.str("one.json");
    write_file(file, R"({"schema_version":"ATIF-v1.4","session_id":"at1","agent":{"name":"a",)"
                     R"("version":"1","model_name":")" +
                         model + R"("},"steps":[)" +
                         fmt::format(fmt::runtime(step), 1, 0, "user", "") + "," +
                         fmt::format(fmt::runtime(step), 2, 1, "agent", metrics) + "," +
                         fmt::format(fmt::runtime(step), 3, 2, "agent", metrics) + "]}");
    const CliRun run = cli.run({"cache", "--why", "at1:2", file});
    INFO(run.out << run.err);
    REQUIRE(run.code == 0);
    return run.out;
  };
  CHECK_THAT(why("claude-opus-4-5"), Catch::Contains("rules: anthropic; minimum 4096 tokens"));
  CHECK_THAT(why("gpt-5.5"), Catch::Contains("rules: openai-before-5.6;"));
  const std::string unknown = why("somebody-7b");
  CHECK_THAT(unknown, Catch::Contains("rules: not known for this provider"));
  CHECK_THAT(unknown, Catch::Contains("one_of{") && !Catch::Contains("R1: "));
}

}  // namespace daybook::tests
