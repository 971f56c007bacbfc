// Compactions of Codex rollouts as users have them: what became of the calls is told in several
// forms, and a summary that says otherwise is found out.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/cli.h"
#include "tests/support/temp_dir.h"

namespace daybook::tests {
namespace {

using Catch::Contains;

/// A rollout, line by line.
class Rollout {
 public:
  Rollout() {
    add("session_meta", {{"id", "thread-one"},
                         {"timestamp", "2026-10-02T10:00:00.000Z"},
                         {"cwd", "/w"},
                         {"originator", "codex_cli_rs"},
                         {"cli_version", "0.150.0"},
                         {"model_provider", "openai"}});
    add("turn_context", {{"turn_id", "t0"}, {"cwd", "/w"}, {"model", "gpt-5.6-sol"}});
  }
  void said(const char* role, const std::string& text) {
    const char* kind = role == std::string("user") ? "input_text" : "output_text";
    add("response_item", {{"type", "message"},
                          {"role", role},
                          {"content", Json::array({{{"type", kind}, {"text", text}}})}});
  }
  void call(const std::string& tool, const Json& arguments, const std::string& result) {
    const std::string id = fmt::format("c{}", ++calls_);
    add("response_item", {{"type", "function_call"},
                          {"name", tool},
                          {"arguments", dump_json(arguments)},
                          {"call_id", id}});
    add("response_item", {{"type", "function_call_output"}, {"call_id", id}, {"output", result}});
  }
  void patch(const std::string& file, const std::string& result) {
    const std::string id = fmt::format("c{}", ++calls_);
    add("response_item",
        {{"type", "custom_tool_call"},
         {"status", "completed"},
         {"name", "apply_patch"},
         {"input",
          fmt::format("*** Begin Patch\n*** Update File: {}\n@@\n-x\n+y\n*** End Patch\n", file)},
         {"call_id", id}});
    add("response_item",
        {{"type", "custom_tool_call_output"}, {"call_id", id}, {"output", result}});
  }
  void compacted(const std::string& summary) { add("compacted", {{"message", summary}}); }
  const std::string& text() const { return text_; }

 private:
  void add(const char* type, const Json& payload) {
    const Json line = {
        {"timestamp", fmt::format("2026-10-02T10:{:02}:{:02}.000Z", lines_ / 60, lines_ % 60)},
        {"type", type},
        {"payload", payload}};
    text_ += dump_json(line) + "\n";
    ++lines_;
  }
  std::string text_;
  int lines_ = 0;
  int calls_ = 0;
};

std::string summary(const std::string& files, const std::string& state) {
  return fmt::format(
      "## Goal and constraints\nThe importer is to be fixed so that its tests pass again.\n\n"
      "## Decisions\nnone\n\n## Files\n{}\n\n## Identifiers and numbers\nnone\n\n"
      "## Commands and results\nThe tests of the importer were started from the shell, and what "
      "they "
      "said of the row that is refused has been read to its end.\n\n"
      "## Errors and failed attempts\nnone\n\n## State of the work\n{}\n\n"
      "## Next step\nLook into the importer once more and find out why the row is refused.\n",
      files, state);
}

std::string old_shell(int code, const std::string& output) {
  return dump_json(
      Json{{"output", output}, {"metadata", {{"exit_code", code}, {"duration_seconds", 0.1}}}});
}

/// The journal with the rollout.
struct Imported {
  TempDir place;
  Cli cli;

  explicit Imported(const Rollout& rollout) {
    const std::string name = "rollout-2026-10-02T10-00-00-thread-one.jsonl";
    write_file(place.path() / name, rollout.text());
    const auto run = cli.run({"import", place.str() + "/" + name});
    INFO(run.err);
    REQUIRE(run.code == 0);
  }
  Json listed() { return json_lines(cli.run({"replay", "list", "--json"}).out).at(0); }
  Json shown() {
    const std::string id = listed()["id"];
    const auto run = cli.run({"replay", "show", id, "--json"});
    INFO(run.err);
    REQUIRE(run.code == 0);
    return json_lines(run.out).at(0);
  }
  /// What the mechanical arm makes of it.
  std::string mechanical() {
    REQUIRE(cli.run({"replay", "run", "--name", "m", "--only", "mechanical"}).code == 0);
    return json_lines(cli.run({"replay", "show", "m", "--json"}).out).at(0)["text"];
  }
};

std::string findings(const Json& shown) {
  std::string text;
  for (const auto& each : shown["findings"]) text += each["code"].get<std::string>() + " ";
  return text;
}

}  // namespace

TEST_CASE("codex: claims are judged by the forms in which calls tell their end") {
  struct Form {
    const char* name;
    std::string tool;
    Json arguments;
    std::string failed;
    std::string passed;
  };
  const std::vector<Form> forms = {
      {"shell_command", "shell_command", Json{{"command", "pytest -q"}, {"workdir", "/w"}},
       "Exit code: 2\nWall time: 1.5 seconds\nOutput:\nE   ValueError: bad row\n",
       "Exit code: 0\nWall time: 1.5 seconds\nOutput:\n9 passed\n"},
      {"old shell", "shell", Json{{"command", {"bash", "-lc", "pytest -q"}}},
       old_shell(2, "E   ValueError: bad row\n"), old_shell(0, "9 passed\n")},
      {"exec_command", "exec_command", Json{{"cmd", "pytest -q"}},
       "Chunk ID: 1\nWall time: 1 seconds\nProcess exited with code 1\nOutput:\nE   ValueError: "
       "bad "
       "row\n",
       "Chunk ID: 1\nWall time: 1 seconds\nProcess exited with code 0\nOutput:\n9 passed\n"},
  };
  for (const auto& form : forms) {
    for (const bool passes : {false, true}) {
      CAPTURE(form.name, passes);
      Rollout rollout;
      rollout.said("user", "Fix the importer so that its tests pass again, please.");
      rollout.call(form.tool, form.arguments, passes ? form.passed : form.failed);
      rollout.said("assistant", "That is where the importer stands now.");
      rollout.compacted(summary("none", "All tests pass."));
      Imported imported(rollout);
      const std::string codes = findings(imported.shown());
      if (passes) {
        CHECK(codes.empty());
      } else {
        CHECK_THAT(codes, Contains("G10-unbacked-completion"));
      }
      const std::string text = imported.mechanical();
      CHECK_THAT(text, Contains(fmt::format("`pytest -q` ({})", passes ? "ok"
                                                                : form.tool == "exec_command"
                                                                    ? "exit 1"
                                                                    : "exit 2")));
      CHECK_THAT(text, !Contains("metadata") && !Contains("\\n") && !Contains("Wall time"));
      if (!passes) CHECK_THAT(text, Contains("ValueError: bad row"));
    }
  }
}

TEST_CASE("codex: a patch that failed changed no file") {
  const std::vector<std::string> forms = {
      "apply_patch verification failed: Failed to find expected lines in src/bad.py",
      "Exit code: 1\nWall time: 0 seconds\nOutput:\nFailed to find expected lines",
      old_shell(1, "Failed to find expected lines")};
  for (const std::string& failed : forms) {
    CAPTURE(failed);
    Rollout rollout;
    rollout.said("user", "Fix the importer so that its tests pass again, please.");
    rollout.patch("src/bad.py", failed);
    rollout.patch("src/good.py", "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess.\n");
    rollout.said("assistant", "That is where the importer stands now.");
    rollout.compacted(summary("- src/good.py was edited.\n- src/bad.py was edited.",
                              "The importer is not finished yet."));
    Imported imported(rollout);
    const Json shown = imported.shown();
    CHECK_THAT(findings(shown), Contains("G10-unbacked-completion"));
    const std::string text = imported.mechanical();
    CHECK_THAT(text, Contains("- src/good.py (changed)"));
    CHECK_THAT(text, !Contains("src/bad.py (changed)"));
  }
}

TEST_CASE("codex: what tells the end of a call is no fact of the work") {
  Rollout rollout;
  rollout.said("user", "Fix the importer so that its tests pass again, please.");
  rollout.call("shell", Json{{"command", {"bash", "-lc", "ls"}}}, old_shell(0, "took 7 seconds\n"));
  rollout.call("exec_command", Json{{"cmd", "cargo test"}},
               "Wall time: 10.0 seconds\nProcess running with session ID 7\nOutput:\n");
  rollout.call("write_stdin", Json{{"session_id", 7}, {"chars", ""}},
               "Wall time: 2.5 seconds\nProcess exited with code 101\nOutput:\nbroken\n");
  rollout.said("assistant", "That is where the importer stands now.");
  rollout.compacted(summary("none", "The importer is not finished yet."));
  Imported imported(rollout);
  const std::string id = imported.listed()["id"];
  const auto shown = imported.cli.run({"replay", "show", id});
  CHECK_THAT(shown.out, Contains("7 seconds"));
  CHECK_THAT(shown.out, !Contains("10.0 seconds") && !Contains("2.5 seconds") && !Contains("0.1") &&
                            !Contains("write_stdin"));
  CHECK_THAT(shown.out, Contains("missing       failed       exec_command cargo test") &&
                            Contains("missing       last-action  exec_command cargo test"));
}

TEST_CASE("codex: a compaction is listed and shown with the same figures, by a part of its name") {
  Rollout rollout;
  rollout.said("user", "Fix the importer so that its tests pass again, please.");
  rollout.call("shell_command", Json{{"command", "ls"}}, "Exit code: 0\nOutput:\na.py\n");
  rollout.said("assistant", "That is where the importer stands now.");
  rollout.compacted(summary("none", "The importer is not finished yet."));
  Imported imported(rollout);
  const Json listed = imported.listed();
  // The log does not tell which calls were the summariser's: the table has a question mark.
  CHECK_FALSE(listed.contains("calls"));
  const std::string id = listed["id"];
  const std::string version = id.substr(id.rfind('@'));
  const auto shown = imported.cli.run({"replay", "show", id.substr(0, 5) + version});
  INFO(shown.err);
  REQUIRE(shown.code == 0);
  CHECK_THAT(shown.out, Contains(fmt::format("{}: {} pieces, ", id, listed["pieces"].get<int>())));
  write_file(imported.place.path() / "mine.md", summary("none", "Not finished yet."));
  const auto scored = imported.cli.run(
      {"replay", "score", imported.place.str() + "/mine.md", "--case", id.substr(0, 5) + version});
  CHECK(scored.code == 0);
  CHECK(imported.cli.run({"replay", "show", "none" + version}).code == 3);
}

}  // namespace daybook::tests
