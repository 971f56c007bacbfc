// What the commands that only read logs say of lines that they cannot use.
#include <filesystem>

#include "tests/tools/both_ways.h"
#include "tests/tools/importing.h"

namespace daybook::tests {
namespace {

using Catch::Contains;

const std::string kGood = claude_answer("m1", "10:00:00", claude_usage_json(3, 0, 50, 20));

std::string nested(int levels) {
  return R"({"type":"user","sessionId":"s1","uuid":"deep","timestamp":)"
         R"("2026-10-01T10:00:01Z","x":)" +
         std::string(static_cast<std::size_t>(levels), '[') +
         std::string(static_cast<std::size_t>(levels), ']') + "}\n";
}

TEST_CASE("log losses: each damaged line is named with file and offset") {
  const std::string bad = R"({"type":"assistant","sessionId":"s1","uuid":"u)"
                          "\n";
  for (const std::string command : {"cost", "cache"}) {
    BothWays log("s1.jsonl", kGood + bad + bad);
    const CliRun run = log.path({command});
    CHECK(run.code == 10);
    CHECK_THAT(run.err, Contains(fmt::format("daybook: {}, offset {}: is not JSON\n", log.file(),
                                             kGood.size())));
    CHECK_THAT(run.err, Contains(fmt::format("daybook: {}, offset {}: is not JSON\n", log.file(),
                                             kGood.size() + bad.size())));
    CHECK_THAT(run.err, Contains("daybook: 2 damaged lines were left out, wholly or in part\n"));
  }
}

TEST_CASE("log losses: of many damaged lines the first are named, and how many there are") {
  std::string text = kGood;
  for (int i = 0; i < 9; ++i) text += "{\"assistant\"\n";
  BothWays log("s1.jsonl", text);
  const CliRun run = log.path({"cost"});
  const auto lines = lines_of(run.err);
  REQUIRE(lines.size() == 6);
  CHECK_THAT(lines[4], Contains(", offset "));
  CHECK(lines[5] ==
        "daybook: 9 damaged lines were left out, wholly or in part; `daybook import --dry-run` "
        "names more places\n");
}

TEST_CASE("log losses: a line that nests too deep is sound JSON, and is told so") {
  // The record itself is one level.
  BothWays sound("s1.jsonl", kGood + nested(511));
  CHECK(sound.imported.code == 0);
  CHECK(sound.path({"cost"}).code == 0);
  BothWays deep("s1.jsonl", kGood + nested(512));
  const std::string told = fmt::format("{}, offset {}: nests deeper than the limit of 512 levels\n",
                                       deep.file(), kGood.size());
  CHECK(deep.imported.code == 10);
  CHECK_THAT(deep.imported.out, Contains(told));
  CHECK_THAT(deep.path({"cost"}).err, Contains(told));
  // Also as the last line, without an end.
  std::string cut = nested(600);
  cut.pop_back();
  BothWays last("s1.jsonl", kGood + cut);
  CHECK_THAT(last.imported.out, Contains("nests deeper than the limit of 512 levels\n"));
  BothWays document("trajectory.json", R"({"schema_version":"ATIF-v1.7","steps":)" +
                                           std::string(600, '[') + std::string(600, ']') + "}");
  CHECK_THAT(document.imported.out + document.imported.err, !Contains("not a JSON document"));
}

TEST_CASE("log losses: records glued together on a last line without an end are all read") {
  std::string glued = claude_answer("m1", "10:00:00", claude_usage_json(3, 0, 50, 20));
  glued.pop_back();
  std::string second = claude_answer("m2", "10:00:05", claude_usage_json(3, 50, 0, 30));
  second.pop_back();
  BothWays whole("s1.jsonl", glued + second);
  const Json total = whole.json({"cost"}).back();
  CHECK(total["calls"] == 2);
  CHECK(total["tokens"]["output"] == 50);
  CHECK(whole.path({"cost"}).code == 0);
  CHECK_THAT(whole.imported.out, Contains("2 new") || Contains("model calls: 2"));
  // While the second is being written, the line is left for the next time.
  BothWays cut("s1.jsonl", kGood + glued + second.substr(0, second.size() - 9));
  CHECK(cut.json({"cost"}).back()["calls"] == 1);
  CHECK(cut.path({"cost"}).code == 0);
}

TEST_CASE("log losses: a response that grew in one file is no copy") {
  const auto state = [](const char* uuid, int output) {
    std::string line = claude_answer("m1", "10:00:00", claude_usage_json(3, 0, 50, output));
    return line.replace(line.find("\"uuid\":\"m1\""), 11, fmt::format("\"uuid\":\"{}\"", uuid));
  };
  const std::string between = claude_answer("m2", "10:00:01", claude_usage_json(3, 50, 0, 30));
  BothWays log("s1.jsonl", state("u1", 5) + between + state("u2", 700));
  const Json total = log.json({"cost"}).back();
  CHECK(total["calls"] == 2);
  CHECK(total["tokens"]["output"] == 730);
  CHECK(total["copies"] == 0);
  CHECK_THAT(log.out({"cost"}), !Contains("found again"));
  // Nor is it one when it was imported while it grew.
  const TempDir dir;
  const std::string file = dir.str("s1.jsonl");
  Cli grown;
  for (const std::string& text : {state("u1", 5), state("u1", 5) + state("u2", 700)}) {
    write_file(file, text);
    import(grown, {file});
  }
  CHECK_THAT(grown.run({"cost"}).out, !Contains("found again"));
  // In another file it is.
  write_file(dir.path() / "other.jsonl", state("u1", 5));
  CHECK_THAT(grown.run({"cost", dir.str()}).out,
             Contains("1 call found again in other sessions or files, counted once\n"));
}

TEST_CASE("log losses: an empty path is not the folder the command was given in") {
  Cli cli;
  const TempDir dir;
  cli.environment["PWD"] = dir.str();
  for (const std::string command : {"cost", "cache", "import"}) {
    const CliRun run = cli.run({command, ""});
    CHECK(run.code == 2);
    CHECK(run.out.empty());
    CHECK(run.err == "daybook: PATH is empty: name a log file or a folder\n");
  }
}

TEST_CASE("log losses: no name in a log or of a file drives the terminal") {
  const TempDir dir;
  const std::string file = dir.str("s1\x1b[31m.jsonl");
  std::string odd = kGood;
  odd.replace(odd.find("claude-sonnet-5"), 15, R"(evil\u001b[2J\nmodel)");
  write_file(file, odd + "{\"assistant\"\n");
  Cli cli;
  const std::vector<std::vector<std::string>> commands = {{"cost"},
                                                          {"cost", "--by", "model"},
                                                          {"cost", "--explain", "s1:1"},
                                                          {"cost", "--session", "no\x1b[2Jne"},
                                                          {"cache"},
                                                          {"cache", "--why", "s1:1"}};
  for (const auto& arguments : commands) {
    auto with_file = arguments;
    with_file.push_back(file);
    const CliRun run = cli.run(with_file);
    INFO(arguments.back());
    CHECK(run.out.find('\x1b') == std::string::npos);
    CHECK(run.err.find('\x1b') == std::string::npos);
  }
  const std::string out = cli.run({"cost", file}).out;
  CHECK_THAT(out, Contains("unpriced: anthropic:evil"));
  // The footer keeps it on one line.
  CHECK_THAT(out, !Contains("\nmodel"));
  CHECK_THAT(cli.run({"cost", file}).err, Contains("[31m.jsonl, offset "));
}

TEST_CASE("log losses: a copy of an imported file is known wherever it lies") {
  const TempDir dir;
  std::filesystem::create_directories(dir.path() / "a");
  std::filesystem::create_directories(dir.path() / "b");
  const std::string prompt =
      R"({"type":"user","sessionId":"s1","uuid":"p","timestamp":"2026-10-01T09:59:00Z",)"
      R"("cwd":"/p","message":{"role":"user","content":"go"}})"
      "\n";
  // A title first, which names no session.
  const std::string text = R"({"type":"summary","summary":"A title","leafUuid":"m1"})"
                           "\n" +
                           prompt + kGood;
  write_file(dir.path() / "a/s1.jsonl", text);
  write_file(dir.path() / "b/copy-of-it.jsonl", text);
  Cli cli;
  import(cli, {dir.str("a")});
  const auto order = cli.store->order.size();
  const Json again = import(cli, {dir.str("b")});
  CHECK(again["unchanged"] == 1);
  CHECK(again["lines"] == 0);
  CHECK(cli.store->order.size() == order);
  // In one import, too, and when it is dry.
  for (const bool dry : {true, false}) {
    Cli fresh;
    std::vector<std::string> arguments = {"import", dir.str(), "--json"};
    if (dry) arguments.emplace_back("--dry-run");
    const Json both = json_lines(fresh.run(arguments).out).back();
    CHECK(both["files"] == 2);
    CHECK(both["unchanged"] == 0);
    CHECK(both["copies"] == 1);
  }
  // What an earlier import had is unchanged, however often it is there.
  Cli fresh;
  const auto files = json_lines(fresh.run({"import", dir.str(), "--json"}).out);
  REQUIRE(files.size() == 3);
  CHECK(files[0]["copy_of"] == "");
  CHECK(files[1]["copy_of"] == files[0]["file"]);
  CHECK(files[1]["unchanged"] == false);
  CHECK_THAT(fresh.run({"import", dir.str()}).out,
             Catch::StartsWith("imported: 2 files (2 unchanged), 0 new sessions"));
  CHECK_THAT(Cli().run({"import", dir.str()}).out,
             Catch::StartsWith("imported: 2 files (0 unchanged, 1 a copy of another), 1 new "));
}

TEST_CASE("log losses: a copy of an export is one, too") {
  const TempDir dir;
  Cli from = with_demo();
  const std::string text = from.run({"export", "demo"}).out;
  for (const char* name : {"a.jsonl", "b.jsonl", "c.jsonl"}) write_file(dir.path() / name, text);
  Cli cli;
  CHECK_THAT(cli.run({"import", dir.str()}).out,
             Catch::StartsWith("imported: 3 files (0 unchanged, 2 copies of others), 1 new "));
  CHECK_THAT(cli.run({"import", dir.str()}).out,
             Catch::StartsWith("imported: 3 files (3 unchanged), 0 new "));
}

TEST_CASE("log losses: where the name is the session, a copy under another is another session") {
  const TempDir dir;
  const std::string text =
      R"({"role":"user","content":"a","ts":1759398000.5})"
      "\n"
      R"({"role":"assistant","content":"b","ts":1759398001.5,"usage":{"model":"p:m","input":1,)"
      R"("output":2,"cache_read":0,"cache_write":0}})"
      "\n";
  write_file(dir.path() / "one.jsonl", text);
  write_file(dir.path() / "two.jsonl", text);
  Cli cli;
  const Json both = import(cli, {dir.str()});
  CHECK(both["unchanged"] == 0);
  CHECK(both["new_sessions"] == 2);
}

}  // namespace
}  // namespace daybook::tests
