// Logs that repeat the calls of others: which session a call counts in, whoever asks.
#include <filesystem>

#include "tests/tools/both_ways.h"
#include "tests/tools/importing.h"

namespace daybook::tests {
namespace {

using Catch::Contains;

/// Lines of one session, each call with 10 fresh tokens and 1,000 written.
std::string claude(const std::string& session, const std::vector<std::string>& ids, int minute) {
  std::string text;
  for (const std::string& id : ids) {
    std::string line = claude_answer(id, fmt::format("10:{:02}:00", minute++),
                                     claude_usage_json(10, 0, 1000, 100));
    line.replace(line.find("\"s1\""), 4, '"' + session + '"');
    text += line;
  }
  return text;
}

/// An original of four calls, its copy with one more, and a copy of its first two with another.
void write_copies(const TempDir& dir) {
  const std::string original = claude("orig", {"m0", "m1", "m2", "m3"}, 0);
  const auto as = [](std::string text, const std::string& session) {
    for (std::size_t at = 0; (at = text.find("\"orig\"", at)) != std::string::npos;) {
      text.replace(at, 6, '"' + session + '"');
    }
    return text;
  };
  write_file(dir.path() / "orig.jsonl", original);
  write_file(dir.path() / "a-resumed.jsonl",
             as(original, "a-resumed") + claude("a-resumed", {"m4"}, 20));
  write_file(dir.path() / "b-forked.jsonl",
             as(claude("orig", {"m0", "m1"}, 0), "b-forked") + claude("b-forked", {"m5"}, 30));
}

std::map<std::string, Json> rows_of(Cli& cli, std::vector<std::string> arguments) {
  std::map<std::string, Json> rows;
  arguments.insert(arguments.begin(), {"cost", "--by", "session", "--json"});
  for (const Json& row : json_lines(cli.run(arguments).out)) {
    if (row["line"] == "row") rows[row["session"]] = row;
  }
  return rows;
}

TEST_CASE("copies: a call counts in the session that had it first") {
  const TempDir dir;
  write_copies(dir);
  Cli cli;
  auto rows = rows_of(cli, {dir.str()});
  CHECK(rows.at("orig")["calls"] == 4);
  CHECK(rows.at("a-resumed")["calls"] == 1);
  CHECK(rows.at("b-forked")["calls"] == 1);
  import(cli, {dir.str()});
  rows = rows_of(cli, {});
  CHECK(rows.at("claude-orig")["calls"] == 4);
  CHECK(rows.at("claude-a-resumed")["calls"] == 1);
}

TEST_CASE("copies: --session gives the row of --by session, and cache the same") {
  const TempDir dir;
  write_copies(dir);
  Cli cli;
  import(cli, {dir.str()});
  for (const std::vector<std::string>& from : {std::vector<std::string>{}, {dir.str()}}) {
    const auto rows = rows_of(cli, from);
    REQUIRE(rows.size() == 3);
    for (const auto& [session, row] : rows) {
      INFO(session);
      std::vector<std::string> one = {"--session", session};
      one.insert(one.end(), from.begin(), from.end());
      const auto alone = rows_of(cli, one);
      REQUIRE(alone.size() == 1);
      CHECK(alone.at(session) == row);
      one.insert(one.begin(), {"cache", "--json"});
      const Json cached = json_lines(cli.run(one).out).front();
      CHECK(cached["calls"] == row["calls"]);
      CHECK(cached["total_usd"] == row["cost_usd"]);
    }
  }
}

TEST_CASE("copies: a session of which every call counts elsewhere is no empty one") {
  const TempDir dir;
  write_copies(dir);
  write_file(dir.path() / "z.jsonl", claude("z", {"m0", "m1", "m2", "m3"}, 0));
  Cli cli;
  const CliRun run = cli.run({"cost", "--session", "z", dir.str()});
  CHECK(run.code == 0);
  CHECK(run.err == "daybook: no call counts in session z: copies count in another\n");
  CHECK(cli.run({"cost", "--session", "no-such", dir.str()}).code == 3);
}

TEST_CASE("copies: a call without a time keeps its place in its file") {
  std::string text;
  const char* times[] = {"10:00:00", "yesterday", "10:02:00"};
  for (int i = 0; i < 3; ++i) {
    text +=
        claude_answer(fmt::format("m{}", i), times[i], claude_usage_json(10, i * 1010, 1010, 5));
  }
  const TempDir dir;
  write_file(dir.path() / "s1.jsonl", text);
  std::vector<std::string> order;
  for (const auto& call : figures_of({dir.str()}).calls) order.push_back(call.response_id);
  CHECK(order == std::vector<std::string>{"m0", "m1", "m2"});
  Cli cli;
  std::uint64_t version = 0;
  for (const Json& line : json_lines(cli.run({"cache", "--json", dir.str()}).out)) {
    if (line["line"] == "total") CHECK(line["lost"] == 0);
    if (line["line"] == "call") CHECK(line["version"].get<std::uint64_t>() >= ++version);
  }
  // The first one, too.
  text = claude_answer("m0", "never", claude_usage_json(10, 0, 1010, 5)) +
         text.substr(text.find('\n') + 1);
  write_file(dir.path() / "s1.jsonl", text);
  order.clear();
  for (const auto& call : figures_of({dir.str()}).calls) order.push_back(call.response_id);
  CHECK(order == std::vector<std::string>{"m0", "m1", "m2"});
}

TEST_CASE("copies: of several columns of names the widest give way to a narrow terminal") {
  const TempDir dir;
  std::string line = claude_answer("m1", "10:00:00", claude_usage_json(10, 0, 1000, 100));
  line.replace(line.find("\"/p\""), 4, "\"/home/" + std::string(200, 'x') + "\"");
  write_file(dir.path() / "s1.jsonl", line);
  Cli cli;
  cli.terminal = true;
  cli.columns = 80;
  const CliRun run = cli.run({"cost", "--by", "project", "--by", "model", dir.str()});
  const auto lines = lines_of(run.out);
  REQUIRE(lines.size() >= 3);
  for (std::size_t i = 0; i < 3; ++i) CHECK(lines[i].size() <= 100);  // bytes, some of colour
  CHECK_THAT(lines[1], Contains("claude-sonnet-5") && Contains("/home/xx"));
}

}  // namespace
}  // namespace daybook::tests
