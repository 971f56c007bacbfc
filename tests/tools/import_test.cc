// Importing: once whatever the file is called, and the same calls however files are cut.
#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/tools/importing.h"
#include "tools/log_identity.h"

namespace daybook::tests {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

const std::string kThread = "0b01";
const std::string kName = "rollout-2026-10-02T10-00-00-0b01.jsonl";

std::string text_of_fixture(const std::string& name) {
  return read_file(log_fixture("codex/" + name));
}

/// What a report would show, as text.
std::string shown(const std::vector<replay::Call>& calls) {
  std::string text;
  for (const replay::Call& call : calls) {
    if (!call.usage.any()) continue;
    text += call.id.str() + " " + call.session->id + " " + call.model() + " " +
            std::to_string(call.started_at) + " " +
            std::to_string(call.usage.input_uncached.value_or(0)) + " " +
            std::to_string(call.usage.cache_read.value_or(0)) + " " +
            std::to_string(call.usage.output.value_or(0)) + "\n";
  }
  return text;
}

TEST_CASE("import: the same file again changes nothing") {
  Cli cli;
  const std::string path = log_fixture("codex/" + kName);
  const Json first = import(cli, {path});
  CHECK(first["appended"].get<int>() > 10);
  CHECK(first["new_sessions"] == 1);
  CHECK(first["calls"] == 3);
  const auto order = cli.store->order.size();
  const Json second = import(cli, {path});
  CHECK(second["appended"] == 0);
  CHECK(second["unchanged"] == 1);
  CHECK(cli.store->order.size() == order);
  CHECK(totals_of(journalled(cli)) == Totals{3, 1700, 2500, 0, 220});
}

TEST_CASE("import: a grown file adds what is new, wherever it was cut") {
  const auto lines = lines_of(text_of_fixture(kName));
  Cli whole;
  import(whole, {log_fixture("codex/" + kName)});
  const std::string expected = shown(journalled(whole));
  for (std::size_t cut = 1; cut < lines.size(); ++cut) {
    INFO("cut behind line " << cut);
    const TempDir dir;
    Cli cli;
    const fs::path file = dir.path() / kName;
    // The writer is in the middle of its next line.
    write_file(file, joined(lines, 0, cut) + lines[cut].substr(0, lines[cut].size() / 2));
    import(cli, {file.string()});
    write_file(file, joined(lines, 0, lines.size()));
    import(cli, {file.string()});
    CHECK(shown(journalled(cli)) == expected);
    CHECK(import(cli, {file.string()})["appended"] == 0);
  }
}

TEST_CASE("import: a log that grows line by line leaves a whole journal") {
  // Contents of one event are made while others, known already, are passed over.
  const std::string head = R"({"cwd":"/w","sessionId":"s1","timestamp":"2026-10-01T10:00:0)";
  const auto assistant = [&](int at, const std::string& id, const std::string& block) {
    return head + std::to_string(at) + R"(Z","uuid":"u)" + std::to_string(at) +
           R"(","type":"assistant","message":{"id":")" + id +
           R"(","role":"assistant","model":"claude-opus-4-6","usage":{"input_tokens":9,)"
           R"("output_tokens":5},"content":[)" +
           block + "]}}\n";
  };
  const auto user = [&](int at, const std::string& content) {
    return head + std::to_string(at) + R"(Z","uuid":"u)" + std::to_string(at) +
           R"(","type":"user","message":{"role":"user","content":)" + content + "}}\n";
  };
  const std::string call = R"({"type":"tool_use","id":"t1","name":"Read","input":{"path":"a"}})";
  const std::string result = R"([{"type":"tool_result","tool_use_id":"t1","content":"the file"}])";
  const std::vector<std::string> lines = {
      user(1, R"("look at it")"), assistant(2, "m1", R"({"type":"text","text":"I look."})"),
      assistant(3, "m1", call),   user(4, result),
      user(5, R"("and now?")"),   assistant(6, "m2", R"({"type":"text","text":"Done."})")};
  TempDir dir;
  Cli cli;
  for (std::size_t count = 1; count <= lines.size(); ++count) {
    write_file(dir.path() / "grown.jsonl", joined(lines, 0, count));
    CHECK(cli.run({"import", dir.str()}).code == 0);
  }
  const auto verified = cli.run({"verify"});
  INFO(verified.out << verified.err);
  CHECK(verified.code == 0);
}

TEST_CASE("import: a grown transcript of Claude Code adds what is new, wherever it was cut") {
  const std::string text = read_file(log_fixture("claude/four-blocks.jsonl"));
  const auto lines = lines_of(text);
  for (std::size_t cut = 1; cut < lines.size(); ++cut) {
    INFO("cut behind line " << cut);
    const TempDir dir;
    Cli cli;
    const fs::path file = dir.path() / "four-blocks.jsonl";
    write_file(file, joined(lines, 0, cut));
    import(cli, {file.string()});
    write_file(file, text);
    import(cli, {file.string()});
    CHECK(totals_of(journalled(cli)) == Totals{2, 8, 2200, 260, 300});
  }
}

TEST_CASE("import: archived and compressed copies are the same log") {
  Cli cli;
  const TempDir dir;
  const std::string plain = log_fixture(
      "codex/home/sessions/2026/10/02/"
      "rollout-2026-10-02T10-00-00-1a01.jsonl");
  CHECK(import(cli, {plain})["appended"].get<int>() > 0);
  fs::create_directories(dir.path() / "archived_sessions");
  const fs::path moved =
      dir.path() / "archived_sessions/rollout-2026-10-02T10-00-00-1a01.jsonl.zst";
  fs::copy_file(plain + ".zst", moved);
  const Json again = import(cli, {moved.string()});
  CHECK(again["appended"] == 0);
  CHECK(again["unchanged"] == 1);
}

TEST_CASE("import: bytes that changed before the end are compared event by event") {
  Cli cli;
  const TempDir dir;
  const auto lines = lines_of(text_of_fixture(kName));
  const fs::path file = dir.path() / kName;
  write_file(file, joined(lines, 0, lines.size()));
  import(cli, {file.string()});
  // A line of its own before everything that was read.
  write_file(file, lines[0] +
                       R"({"timestamp":"2026-10-02T10:00:02.500Z","type":"world_state",)"
                       R"("payload":{"full":true}})"
                       "\n" +
                       joined(lines, 1, lines.size()));
  const Json again = import(cli, {file.string()});
  CHECK(again["appended"] == 1);
  CHECK(again["known"].get<int>() > 10);
  CHECK(totals_of(journalled(cli)) == Totals{3, 1700, 2500, 0, 220});
}

TEST_CASE("import: splitting, merging, reordering and doubling files gives the same calls") {
  const std::vector<std::string> names = {"four-blocks", "branch", "compacted", "ttl", "fast"};
  std::vector<std::string> paths;
  std::vector<std::string> texts;
  for (const auto& name : names) {
    paths.push_back(log_fixture("claude/" + name + ".jsonl"));
    texts.push_back(read_file(paths.back()));
  }
  const std::string expected = shown(figures_of(paths).calls);
  REQUIRE_FALSE(expected.empty());
  const TempDir dir;
  const auto check = [&](const std::string& what) {
    INFO(what);
    CHECK(shown(figures_of({dir.str()}).calls) == expected);
    CHECK(shown(figures_of({dir.str()}, 1).calls) == expected);
    Cli cli;
    import(cli, {dir.str()});
    CHECK(shown(journalled(cli)) == expected);
  };
  SECTION("merged, in both orders") {
    std::string forward;
    std::string backward;
    for (const auto& text : texts) {
      forward += text;
      backward = text + backward;
    }
    write_file(dir.path() / "all.jsonl", forward);
    check("forward");
    write_file(dir.path() / "all.jsonl", backward);
    check("backward");
    write_file(dir.path() / "again.jsonl", forward);
    check("both");
  }
  SECTION("split at every line of one file") {
    const auto lines = lines_of(texts[1]);
    for (std::size_t cut = 1; cut < lines.size(); ++cut) {
      fs::create_directories(dir.path() / "b");
      for (std::size_t i = 0; i < names.size(); ++i) {
        write_file(dir.path() / (names[i] + ".jsonl"), texts[i]);
      }
      write_file(dir.path() / "branch.jsonl", joined(lines, 0, cut));
      write_file(dir.path() / "b/branch.jsonl", joined(lines, cut, lines.size()));
      check("cut behind line " + std::to_string(cut));
    }
  }
  SECTION("doubled under another name") {
    for (std::size_t i = 0; i < names.size(); ++i) {
      write_file(dir.path() / (names[i] + ".jsonl"), texts[i]);
      write_file(dir.path() / ("copy-of-" + names[i] + ".jsonl"), texts[i]);
    }
    check("doubled");
  }
}

TEST_CASE("import: losses have an exit code of their own and are listed") {
  Cli cli;
  const CliRun nul = cli.run({"import", log_fixture("claude/nul.jsonl")});
  CHECK(nul.code == 10);
  CHECK_THAT(nul.out, Contains("2 damaged") && Contains("nul.jsonl, offset ") &&
                          Contains("holds NUL bytes"));
  const CliRun unknown = cli.run({"import", log_fixture("claude/unknown-type.jsonl")});
  CHECK(unknown.code == 10);
  CHECK_THAT(unknown.out, Contains("2 lines of type 'hologram'"));
  CHECK(cli.run({"import", log_fixture("claude/ttl.jsonl")}).code == 0);
  CHECK(cli.run({"import", "/no/such/folder"}).code == 3);
}

TEST_CASE("import: a dry run says what would come and writes nothing") {
  Cli cli;
  const Json dry = import(cli, {log_fixture("claude/ttl.jsonl"), "--dry-run"});
  CHECK(dry["dry_run"] == true);
  CHECK(dry["appended"].get<int>() > 3);
  CHECK(cli.store->order.empty());
  const Json real = import(cli, {log_fixture("claude/ttl.jsonl")});
  CHECK(real["appended"] == dry["appended"]);
  CHECK(import(cli, {log_fixture("claude/ttl.jsonl"), "--dry-run"})["unchanged"] == 1);
}

TEST_CASE("import: the usual places are read when nothing is named") {
  const TempDir home;
  Cli cli;
  cli.environment = {{"HOME", home.str()}};
  CHECK(cli.run({"import"}).code == 3);
  fs::create_directories(home.path() / ".claude/projects/-home-dev-shop");
  fs::copy_file(log_fixture("claude/ttl.jsonl"),
                home.path() / ".claude/projects/-home-dev-shop/ttl.jsonl");
  fs::create_directories(home.path() / "elsewhere/sessions");
  fs::copy_file(log_fixture("codex/" + kName), home.path() / "elsewhere/sessions" / kName);
  cli.environment["CODEX_HOME"] = home.str("elsewhere");
  CHECK(import(cli, {})["files"] == 2);
}

TEST_CASE("import: sessions are named by kind and log, and the journal stays sound") {
  using tools::LogKind;
  CHECK(tools::session_for_log(LogKind::claude_code, "ab-12").str() == "claude-ab-12");
  const std::string agent = tools::session_for_log(LogKind::claude_code, "ab/agent-1").str();
  CHECK(agent.starts_with("claude-ab.agent-1-"));
  CHECK(tools::session_for_log(LogKind::codex, std::string(200, 'x')).str().size() == 64);
  Cli cli;
  import(cli, {log_fixture("claude/with-agent.jsonl"), log_fixture("claude/with-agent")});
  CHECK(cli.run({"verify"}).code == 0);
  const CliRun sessions = cli.run({"sessions"});
  CHECK(sessions.code == 0);
  CHECK_THAT(sessions.out, Contains("claude-with-agent"));
  CHECK(cli.run({"show", "claude-with-agent"}).code != 1);
  CHECK(cli.run({"log", "claude-with-agent"}).code == 0);
}

}  // namespace
TEST_CASE("an imported session is listed, shown and audited as one, and only read") {
  Cli cli;
  import(cli, {log_fixture("claude/four-blocks.jsonl")});
  const auto row = json_lines(cli.run({"sessions", "--json"}).out).at(0);
  CHECK(row.at("status") == "imported");
  CHECK(row.at("workspace") == "/home/dev/shop");
  CHECK(row.at("model") == "anthropic:claude-sonnet-5");
  CHECK(row.at("last_at") == "2026-10-01T10:00:08.000000000Z");
  const std::string session = row.at("session");
  const CliRun shown = cli.run({"show", session});
  CHECK_THAT(shown.out, Contains("imported from claude-code, session four-blocks"));
  CHECK_THAT(shown.out, Contains("Find the bug."));
  CHECK_THAT(shown.out, !Contains("does not know"));
  const CliRun audited = cli.run({"audit", session});
  CHECK(audited.code == 0);
  CHECK_THAT(audited.out, Contains("imported from claude-code"));
  CHECK(cli.run({"resume", session}).code == 4);
  CHECK_THAT(cli.run({"resume", session}).err, Contains("can only be read"));
}

}  // namespace daybook::tests
