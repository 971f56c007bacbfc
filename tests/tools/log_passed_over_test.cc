// Which files are logs, and what is said of those that are none.
#include <sys/stat.h>

#include <filesystem>

#include "tests/tools/both_ways.h"
#include "tests/tools/importing.h"

namespace daybook::tests {
namespace {

using Catch::Contains;

const std::string kGood = claude_answer("m1", "10:00:00", claude_usage_json(3, 0, 50, 20));

std::string repeated(const std::string& line, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) text += line + "\n";
  return text;
}

std::string atif(const std::string& schema) {
  return R"({"schema_version":")" + schema +
         R"(","session_id":"t","agent":{"name":"w","version":"1","model_name":"anthropic/m"},)"
         R"("steps":[{"step_id":1,"timestamp":"2026-10-03T09:00:05Z","source":"agent",)"
         R"("message":"x","metrics":{"prompt_tokens":10,"completion_tokens":5}}]})";
}

TEST_CASE("passed over: a log is found whatever its first lines hold") {
  for (const std::string& before :
       {std::string(R"({"type":"file-history-snapshot","messageId":"a","snapshot":{}})"),
        std::string("garbage"), std::string(R"({"a":1})"), std::string(9000, 'x')}) {
    INFO(before.substr(0, 60));
    const TempDir dir;
    write_file(dir.path() / "x.jsonl", repeated(before, 60) + kGood);
    Cli cli;
    CHECK(json_lines(cli.run({"cost", dir.str(), "--json"}).out).back()["calls"] == 1);
    const bool understood = before.find("snapshot") != std::string::npos;
    CHECK(import(cli, {dir.str()}, understood ? 0 : 10)["calls"] == 1);
  }
}

TEST_CASE("passed over: a path that cannot be looked at is unread, and may well exist") {
  const TempDir dir;
  std::filesystem::create_symlink("round", dir.path() / "round");
  Cli cli;
  const CliRun run = cli.run({"cost", dir.str("round")});
  CHECK(run.code == 10);
  CHECK_THAT(run.err, Contains("Too many levels of symbolic links"));
  CHECK(cli.run({"cost", dir.str("none")}).code == 3);
}

TEST_CASE("passed over: a file without any record is named, an empty one is not") {
  const TempDir dir;
  write_file(dir.path() / "a.jsonl", repeated(R"({"a":1})", 3));
  write_file(dir.path() / "empty.jsonl", "");
  write_file(dir.path() / "log.jsonl", kGood);
  REQUIRE(::mkfifo(dir.str("pipe.jsonl").c_str(), 0600) == 0);
  const std::string told =
      "daybook: passed over: " + dir.str("a.jsonl") +
      " holds no record of a known kind\ndaybook: passed over: " + dir.str("pipe.jsonl") +
      " is not a regular file\n";
  for (const std::string command : {"cost", "cache"}) {
    Cli cli;
    const CliRun run = cli.run({command, dir.str()});
    CHECK(run.code == 0);
    CHECK(run.err == told);
  }
  Cli cli;
  CHECK_THAT(cli.run({"import", dir.str()}).out,
             Contains("not a log: " + dir.str("pipe.jsonl") + ": is not a regular file\n"));
}

TEST_CASE("passed over: where nothing could be read no cost is told") {
  const TempDir dir;
  write_file(dir.path() / "a.jsonl.gz", "\x1f\x8b rest");
  REQUIRE(::mkfifo(dir.str("pipe.jsonl").c_str(), 0600) == 0);
  for (const std::string name : {"a.jsonl.gz", "pipe.jsonl"}) {
    for (const std::string form : {"--by=day", "--json", "--csv"}) {
      Cli cli;
      const CliRun run = cli.run({"cost", dir.str(name), form});
      CHECK(run.code == 10);
      CHECK(run.out.empty());
      // The file is named once.
      const std::size_t at = run.err.find(dir.str(name));
      REQUIRE(at != std::string::npos);
      CHECK(run.err.find(dir.str(name), at + 1) == std::string::npos);
    }
  }
}

TEST_CASE("passed over: trajectories of another major version are not read") {
  const TempDir dir;
  write_file(dir.path() / "a_trajectory.json", atif("ATIF-v2.0"));
  write_file(dir.path() / "b_trajectory.json", atif("ATIF-v1.9"));
  const std::string told =
      dir.str("a_trajectory.json") + ": is of the schema 'ATIF-v2.0', and this build reads ATIF-v1";
  Cli cli;
  const CliRun cost = cli.run({"cost", dir.str(), "--json"});
  CHECK(cost.code == 10);
  CHECK_THAT(cost.err, Contains(told));
  CHECK(json_lines(cost.out).back()["calls"] == 1);
  const CliRun imported = cli.run({"import", dir.str()});
  CHECK(imported.code == 10);
  CHECK_THAT(imported.out, Contains("not read: " + told) && Contains("1 new session"));
}

TEST_CASE("passed over: a PATH goes instead of a journal, and needs none") {
  const TempDir dir;
  write_file(dir.path() / "log.jsonl", kGood);
  for (const std::string command : {"cost", "cache"}) {
    Cli cli;
    const CliRun both = cli.run({command, "--journal", dir.str("j"), dir.str()});
    CHECK(both.code == 2);
    CHECK(both.err ==
          "daybook: a PATH is read instead of the journal: leave out --journal, or the PATH\n");
    Cli homeless;
    homeless.environment.clear();
    CHECK(homeless.run({command, dir.str()}).code == 0);
    CHECK(homeless.run({command}).code == 2);
  }
}

}  // namespace
}  // namespace daybook::tests
