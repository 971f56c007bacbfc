// The summary that code makes alone: over the hand-written spans, over calls in the forms of other
// programs, and over an earlier summary that the span has overtaken.
#include "replay/mechanical_summary.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <random>

#include "tests/support/compaction_case.h"

using namespace daybook;
using namespace daybook::engine;
using Catch::Contains;
using daybook::replay::mechanical_summary;

namespace {

constexpr std::size_t kRoom = 16'000;

PastItem piece(SpanKind kind, std::string text, std::string tool = "", bool ok = true) {
  return {kind, std::move(text), std::move(tool), ok, 0};
}

PastItem user(std::string text) {
  return piece(SpanKind::kUser, std::move(text));
}

PastItem said(std::string text) {
  return piece(SpanKind::kAssistant, std::move(text));
}

void call(std::vector<PastItem>& items, const std::string& tool, std::string arguments,
          std::string result, bool ok = true) {
  items.push_back(piece(SpanKind::kToolCall, std::move(arguments), tool));
  items.push_back(piece(SpanKind::kToolResult, std::move(result), tool, ok));
}

/// What stands below a heading.
std::string section(const std::string& text, std::string_view heading) {
  const auto at = text.find(heading);
  REQUIRE(at != std::string::npos);
  const auto from = at + heading.size() + 1;
  const auto end = text.find("\n## ", from);
  return text.substr(from, end == std::string::npos ? end : end - from);
}

std::string findings(const std::vector<PastItem>& items, const std::string& text) {
  const auto result =
      judge_summary(gate_items(items), {text, SummaryStop::kNatural}, kSummaryHeadings, {});
  std::string all;
  for (const auto& finding : result.findings) {
    all +=
        fmt::format("{} {}: {}\n", check_of(finding.code), name_of(finding.code), finding.evidence);
  }
  return all;
}

std::vector<PastItem> items_of(const tests::CompactionCase& one) {
  std::vector<PastItem> items;
  for (const auto& each : one.span) {
    items.push_back({each.kind, std::string(each.text), std::string(each.tool), each.ok, 0});
  }
  return items;
}

const char* const kPrior =
    "## Goal and constraints\n> Never change the file api.h, whatever comes.\n\n"
    "## Decisions\n- The parser is written by hand because the generator is slow.\n\n"
    "## Files\n- src/lexer.cc (opened)\n- src/parser.cc (opened)\n\n"
    "## Identifiers and numbers\nThe request timeout is 30 s.\n\n"
    "## Commands and results\n- `make test` (exit 2)\n\n"
    "## Errors and failed attempts\n- FAIL the last token\n\n"
    "## State of the work\nNothing has been changed.\n\n"
    "## Next step\nOpen src/parser.cc and look for the token.\n";

}  // namespace

TEST_CASE("the gate accepts what code makes of the hand-written spans") {
  const auto& cases = tests::compaction_cases();
  REQUIRE(cases.size() >= 10);
  for (const auto& one : cases) {
    CAPTURE(one->name);
    const auto items = items_of(*one);
    const std::string text = mechanical_summary(items, kRoom);
    CAPTURE(text);
    CHECK(findings(items, text) == "");
    CHECK(mechanical_summary(items, kRoom) == text);
  }
}

TEST_CASE("files and commands are found in the calls of every program") {
  std::vector<PastItem> items = {user("Fix the importer so that its tests pass.")};
  call(items, "shell", R"({"command":["bash","-lc","cat src/a.py && pytest -q"],"workdir":"/w"})",
       R"({"output":"E   ValueError: bad row 7","metadata":{"exit_code":1}})", false);
  call(items, "exec_command", R"({"cmd":"sed -n '1,80p' src/b.py"})",
       "Chunk ID: 1\nProcess exited with code 0\nOutput:\nimport os\n");
  call(items, "apply_patch",
       "*** Begin Patch\n*** Update File: src/b.py\n@@\n-x\n+y\n*** Add File: src/c.py\n+z\n"
       "*** Delete File: old.py\n*** End Patch\n",
       R"({"output":"Success. Updated the following files:\nM src/b.py\nA src/c.py\nD old.py"})");
  call(items, "exec_command",
       R"({"cmd":"apply_patch <<'EOF'\n*** Begin Patch\n*** Update File: src/d.py)"
       R"(\n+q\n*** End Patch\nEOF"})",
       "Process exited with code 0\nOutput:\nSuccess\n");
  call(items, "Read", R"({"file_path":"/w/README.md"})", "# Title");
  call(items, "Edit", R"({"file_path":"/w/src/e.py","old_string":"a","new_string":"b"})", "edited");
  call(items, "Write", R"({"file_path":"/w/src/f.py","content":"x"})", "created");
  call(items, "Write", R"({"file_path":"/w/denied.py","content":"x"})", "Permission denied", false);
  call(items, "Bash", R"({"command":"make lint > lint.log"})",
       "Exit code 3\nlint.py:9: error: unused name", false);
  call(items, "update_plan",
       R"({"plan":[{"step":"read the importer","status":"completed"},)"
       R"({"step":"run the whole suite again","status":"pending"}]})",
       "Plan updated");
  const std::string text = mechanical_summary(items, kRoom);
  CAPTURE(text);
  CHECK(findings(items, text) == "");
  CHECK_THAT(text, Contains("> Fix the importer so that its tests pass."));
  const std::string files = section(text, "## Files");
  for (const char* line :
       {"- src/b.py (changed)", "- src/c.py (new)", "- old.py (deleted)", "- src/d.py (changed)",
        "- /w/README.md (opened)", "- /w/src/e.py (changed)", "- /w/src/f.py (new)"}) {
    CHECK_THAT(files, Contains(line));
  }
  CHECK_THAT(files, !Contains("denied.py"));
  const std::string commands = section(text, "## Commands and results");
  CHECK_THAT(commands, Contains("- `cat src/a.py && pytest -q` (exit 1)"));
  CHECK_THAT(commands, Contains("- `sed -n '1,80p' src/b.py` (ok)"));
  CHECK_THAT(commands, Contains("- `make lint > lint.log` (exit 3)"));
  const std::string errors = section(text, "## Errors and failed attempts");
  CHECK_THAT(errors, Contains("ValueError: bad row 7"));
  CHECK_THAT(errors, Contains("lint.py:9: error: unused name"));
  CHECK_THAT(section(text, "## Next step"), Contains("run the whole suite again"));
  CHECK_THAT(section(text, "## Next step"), !Contains("read the importer"));
}

TEST_CASE("an edit that failed changed nothing, in whatever form its failure comes") {
  std::vector<PastItem> items = {user("Fix the importer so that its tests pass.")};
  const auto patch = [](const std::string& file) {
    return "*** Begin Patch\n*** Update File: " + file + "\n@@\n-x\n+y\n*** End Patch\n";
  };
  call(items, "apply_patch", patch("src/refused.py"),
       "apply_patch verification failed: Failed to find expected lines in src/refused.py:\nx");
  call(items, "apply_patch", patch("src/ended.py"),
       "Exit code: 1\nWall time: 0 seconds\nOutput:\nFailed to find expected lines");
  call(items, "apply_patch", patch("src/good.py"),
       "Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nM "
       "src/good.py\n");
  call(items, "shell_command", R"({"command":"pytest -q","workdir":"/w"})",
       "Exit code: 2\nWall time: 1.5 seconds\nOutput:\nE   ValueError: bad row 7\n1 failed\n");
  call(items, "exec_command", R"({"cmd":"cargo test"})",
       "Chunk ID: a\nProcess running with session ID 7\nOutput:\n");
  call(items, "write_stdin", R"({"session_id":7,"chars":""})",
       "Process exited with code 101\nOutput:\nerror: could not compile `x`\n");
  const std::string text = mechanical_summary(items, kRoom);
  CAPTURE(text);
  CHECK(findings(items, text) == "");
  const std::string files = section(text, "## Files");
  CHECK_THAT(files, Contains("- src/good.py (changed)"));
  CHECK_THAT(files, !Contains("refused.py") && !Contains("ended.py"));
  CHECK_THAT(section(text, "## Commands and results"),
             Contains("- `pytest -q` (exit 2)") && Contains("- `cargo test` (exit 101)"));
  CHECK_THAT(section(text, "## Errors and failed attempts"),
             Contains("`pytest -q`: `E   ValueError: bad row 7`") &&
                 Contains("`cargo test`: `error: could not compile 'x'`"));
}

TEST_CASE("what no result shows has changed nothing") {
  std::vector<PastItem> items = {user("Make the files that the importer needs.")};
  const auto begin = [&](const std::string& file, int session) {
    call(items, "exec_command", R"({"cmd":"touch )" + file + R"("})",
         fmt::format("Process running with session ID {}\nOutput:\n", session));
  };
  const auto end = [&](int session, int code) {
    call(items, "write_stdin", fmt::format(R"({{"session_id":{},"chars":""}})", session),
         fmt::format("Process exited with code {}\nOutput:\n", code));
  };
  begin("src/failed.py", 7);
  end(7, 3);
  begin("src/made.py", 8);
  end(8, 0);
  begin("src/running.py", 9);
  call(items, "shell_command", R"({"command":"touch src/late.py"})",
       "command timed out after 10000 milliseconds");
  items.push_back(
      piece(SpanKind::kToolCall, R"({"command":"touch src/open.py"})", "shell_command"));
  const std::string text = mechanical_summary(items, kRoom);
  CAPTURE(text);
  const std::string files = section(text, "## Files");
  CHECK_THAT(files, Contains("- src/made.py (new)"));
  for (const std::string name : {"failed.py", "running.py", "late.py", "open.py"}) {
    CHECK_THAT(files, !Contains(name));
  }
}

TEST_CASE("folders, quoted paths and moves of the shell are followed") {
  std::vector<PastItem> items = {user("Tidy the project up, please, and drop the old build.")};
  call(items, "Write", R"({"file_path":"build/out.txt","content":"x"})", "created");
  call(items, "Bash", R"({"command":"rm -rf build && cd src && sed -i 's/a/b/' main.c"})", "");
  call(items, "Bash", R"({"command":"git mv \"old name.c\" new.c"})", "");
  const std::string text = mechanical_summary(items, kRoom);
  CAPTURE(text);
  CHECK(findings(items, text) == "");
  const std::string files = section(text, "## Files");
  CHECK_THAT(files, Contains("- build (deleted)") && Contains("- src/main.c (changed)") &&
                        Contains("- old name.c (deleted)") && Contains("- new.c (new)"));
  CHECK_THAT(files, !Contains("out.txt"));
}

TEST_CASE("of a summary of Claude Code stays what it says, not what is around it") {
  std::vector<PastItem> items = {
      user("Repair the parser so that every test passes."),
      piece(SpanKind::kPriorSummary,
            "This session is being continued from a previous conversation that ran out of context. "
            "The conversation is summarized below:\n<analysis>\nLet me go through it all.\n"
            "</analysis>\n\nSummary:\n1. Primary Request and Intent:\n   - The parser is to accept "
            "empty input.\n\n3. Files and Code Sections:\n   - src/lexer.cc holds the tokens.\n\n"
            "8. Current Work:\n   The token table was being read.\n\n9. Optional Next Step:\n   "
            "Open src/lexer.cc.\n\nPlease continue the conversation from where we left it off "
            "without asking the user any further questions. Continue with the last task that you "
            "were asked to work on.\n")};
  items.push_back(said("I look at the grammar now."));
  const std::string before = mechanical_summary(items, kRoom);
  CAPTURE(before);
  CHECK_THAT(section(before, "## Goal and constraints"), Contains("accept empty input"));
  CHECK_THAT(section(before, "## Files"), Contains("src/lexer.cc holds the tokens"));
  CHECK_THAT(section(before, "## State of the work"), Contains("token table was being read"));
  for (const char* frame : {"being continued", "go through it all", "without asking the user",
                            "Continue with the last task", "Primary Request", "analysis"}) {
    CHECK_THAT(before, !Contains(frame));
  }
  // A span that worked on has a newer state.
  call(items, "run_shell", R"({"command":"ls"})", R"({"exit_code":0,"output":"a"})");
  CHECK_THAT(mechanical_summary(items, kRoom), !Contains("token table was being read"));
}

TEST_CASE("an error that a later run of the same command overtook is left out") {
  std::vector<PastItem> items = {user("Make the tests pass, please, and nothing else.")};
  call(items, "run_shell", R"({"command":"make test"})",
       R"({"exit_code":2,"output":"a.c:1: error: no such thing"})", false);
  call(items, "replace_in_file", R"({"path":"a.c","old":"a","new":"b"})", R"({"path":"a.c"})");
  call(items, "run_shell", R"({"command":"make test"})", R"({"exit_code":0,"output":"all good"})");
  items.push_back(piece(SpanKind::kToolCall, R"({"command":"make install"})", "run_shell"));
  const std::string text = mechanical_summary(items, kRoom);
  CAPTURE(text);
  CHECK_THAT(text, !Contains("no such thing"));
  CHECK_THAT(text, Contains("- `make test` (ok)"));
  CHECK_THAT(text, Contains("- `make install` (no result)"));
  CHECK_THAT(section(text, "## Next step"), Contains("`make install`: no result yet."));
}

TEST_CASE("of an earlier summary stays what the span does not overtake") {
  std::vector<PastItem> items = {user("Repair the parser so that every test passes."),
                                 piece(SpanKind::kPriorSummary, kPrior)};
  call(items, "replace_in_file", R"({"path":"src/parser.cc","old":"a","new":"b"})", "{}");
  call(items, "run_shell", R"({"command":"make test"})",
       R"({"exit_code":0,"output":"all tests passed"})");
  items.push_back(said("The request timeout is 60 s from now on."));
  const std::string text = mechanical_summary(items, kRoom);
  CAPTURE(text);
  CHECK(findings(items, text) == "");
  CHECK_THAT(text, Contains("> Never change the file api.h, whatever comes."));
  CHECK_THAT(text, Contains("The parser is written by hand"));
  CHECK_THAT(text, Contains("- src/lexer.cc (opened)"));
  CHECK_THAT(text, Contains("- src/parser.cc (changed)"));
  CHECK_THAT(text, !Contains("- src/parser.cc (opened)"));
  CHECK_THAT(text, Contains("- `make test` (ok)"));
  for (const char* old : {"exit 2", "FAIL the last token", "Nothing has been changed",
                          "Open src/parser.cc", "timeout is 30 s"}) {
    CHECK_THAT(text, !Contains(old));
  }
}

TEST_CASE("the working state of the block before counts as older records") {
  std::vector<PastItem> items = {
      user("Go on with the port of the reader to the new format."),
      piece(SpanKind::kInjected,
            "Working state:\nFiles, last touched first:\n- /w/new.cc (written)\n- /w/b.cc "
            "(edited)\nLast commands, oldest first:\n- make all (exit 2)\n")};
  call(items, "read_file", R"({"path":"b.cc"})", "int b;");
  const std::string text = mechanical_summary(items, kRoom);
  CAPTURE(text);
  CHECK(findings(items, text) == "");
  CHECK_THAT(text, Contains("- b.cc (changed)\n- /w/new.cc (new)\n"));
  CHECK_THAT(text, Contains("- `make all` (exit 2)"));
}

TEST_CASE("generated spans are summed up within their limits, and mostly usable") {
  std::mt19937 random(7);
  const auto pick = [&](int most) {
    return static_cast<int>(random() % static_cast<unsigned>(most));
  };
  constexpr int kSpans = 150;
  int usable = 0;
  std::string refused;
  for (int i = 0; i < kSpans; ++i) {
    const bool german = i % 5 == 4;
    std::vector<PastItem> items = {
        user(german ? "Bitte repariere den Leser in src/leser.cc, und ändere nie die Datei "
                      "include/leser.h, weil andere sie brauchen."
                    : "Repair the reader in src/reader.cc, and never change the file "
                      "include/reader.h because others need it.")};
    if (i % 7 == 3) items.push_back(piece(SpanKind::kPriorSummary, kPrior));
    const int steps = 1 + pick(30);
    for (int step = 0; step < steps; ++step) {
      const std::string path = fmt::format("src/part{}/file{}.cc", pick(5), pick(20));
      switch (pick(6)) {
        case 0:
          items.push_back(said(german ? fmt::format("Ich sehe mir jetzt {} an und prüfe es.", path)
                                      : fmt::format("All tests pass now and {} is done.", path)));
          break;
        case 1:
          call(items, "read_file", fmt::format(R"({{"path":"{}"}})", path),
               fmt::format("int value{} = {};\nthe file says \"hello\"", step, pick(5'000)));
          break;
        case 2:
          call(items, "Edit",
               fmt::format(R"({{"file_path":"{}","old_string":"a","new_string":"b"}})", path),
               "The file was edited.");
          break;
        case 3: {
          const int code = pick(3);
          call(items, "run_shell", fmt::format(R"({{"command":"make test-{}"}})", pick(4)),
               fmt::format(R"({{"exit_code":{},"output":"{}: error: case {} is wrong"}})", code,
                           path, step),
               code == 0);
          break;
        }
        case 4:
          call(items, "exec_command", fmt::format(R"({{"cmd":"cat {} | head -n 50"}})", path),
               "Process exited with code 0\nOutput:\n" + std::string(200, 'x'));
          break;
        default:
          items.push_back(user(german ? "Weiter so, aber lass die alte Prüfung \"streng\" stehen."
                                      : "Go on, but keep the old check called \"strict\" there."));
      }
    }
    std::size_t bytes = 0;
    for (const auto& item : items) bytes += item.text.size();
    const std::string text = mechanical_summary(items, kRoom);
    CHECK(text.size() <= std::max<std::size_t>(6'000, bytes / 4));
    const std::string found = findings(items, text);
    usable += found.empty() ? 1 : 0;
    refused += found;
  }
  CAPTURE(refused);
  CHECK(usable >= kSpans * 95 / 100);
}
