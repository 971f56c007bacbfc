// G10: what a summary says was done, against calls that show it or do not. Each claim stands in a
// whole summary of a small session.
#include <fmt/format.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "engine/prepared_span.h"
#include "engine/summary_gate.h"

namespace {

using namespace daybook::engine;

using Span = std::vector<SpanItem>;

void call(Span& span, std::string_view tool, std::string_view arguments, std::string_view result,
          bool ok = true) {
  span.push_back({SpanKind::kToolCall, arguments, tool, true});
  span.push_back({SpanKind::kToolResult, result, tool, ok});
}

bool unbacked(const Span& span, std::string_view line) {
  std::string text;
  for (const auto& heading : kSummaryHeadings) {
    text += fmt::format("{}\n- {}\n\n", heading, heading == kSummaryHeadings[4] ? line : "None.");
  }
  GateLimits limits;
  limits.min_bytes = 10;
  const auto result = judge_summary(span, {text}, kSummaryHeadings, limits);
  return std::any_of(result.findings.begin(), result.findings.end(), [](const auto& finding) {
    return finding.code == GateCode::kUnbackedCompletion;
  });
}

struct Row {
  std::string_view line;
  bool lies;
};

void check(const Span& span, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    CAPTURE(row.line);
    CHECK(unbacked(span, row.line) == row.lies);
  }
}

/// A build that works, tests of which one file fails, a patch that was refused, a file that was
/// only read.
Span session() {
  Span span = {{SpanKind::kUser, "Fix src/a.py, make the tests pass, and commit it.", {}, true}};
  call(span, "read_file", R"({"path":"src/b.py"})", "x = 1\n");
  call(span, "exec_command", R"({"cmd":"make lint"})", "Process exited with code 0\nOutput:\n");
  call(span, "apply_patch", "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n",
       "Invalid patch hunk on line 3: expected a context line");
  call(span, "exec_command", R"({"cmd":"cd /w && python3 -m pytest -q tests/x"})",
       "Process exited with code 1\nOutput:\n2 failed, 5 passed in 0.31s\n");
  call(span, "exec_command", R"({"cmd":"make install"})", "Process exited with code 2\nOutput:\n");
  return span;
}

}  // namespace

TEST_CASE("a command that is said to have succeeded did so when it ran last", "[claims]") {
  check(session(), {
                       {"`make lint` passed.", false},
                       {"`make lint`: ok", false},
                       {"make lint was run successfully.", false},
                       {"`make install` failed with exit 2.", false},
                       {"`pytest tests/x`: 5 passed, 2 failed.", false},
                       {"`pytest tests/x` passed.", true},
                       {"`python3 -m pytest -q tests/x` succeeded.", true},
                       {"`make install`: ok", true},
                       {"`make install` completed.", true},
                       {"make install was run successfully.", true},
                       {"Ran `make install` without errors.", true},
                       // A flag is no negation.
                       {"`make install -t` was run successfully.", true},
                   });
}

TEST_CASE("a command that is said to have run did run", "[claims]") {
  check(session(), {
                       {"`cargo test` passed.", true},
                       {"`npm run build` succeeded.", true},
                       {"Ran `ruff check .`, nothing to report.", true},
                       {"ctest was run successfully.", true},
                       {"`make test` passed.", true},
                       // These are no commands, and this is no claim.
                       {"`TypeError` is handled cleanly.", false},
                       {"`cargo test` is still to be run.", false},
                       {"Ran into `some error of theirs` there.", false},
                       {"`msbuild all.sln` was run.", true},
                       {"`make -s lint` was run.", false},
                   });
  Span later = session();
  later.insert(later.begin(), {SpanKind::kPriorSummary, "- `cargo test`: all fine", {}, true});
  check(later, {{"`cargo test` passed.", false}});
}

TEST_CASE("of commands in one call the end of the last is known", "[claims]") {
  Span span = {{SpanKind::kUser, "Build it.", {}, true}};
  call(span, "Bash", R"({"command":"cmake --build build && ctest -R csv"})",
       "Exit code 8\n1 tests failed out of 14", false);
  check(span, {
                  // It ran before the tests that failed: that it worked is possible.
                  {"`cmake --build build` succeeded.", false},
                  {"`ctest -R csv` succeeded.", true},
              });
  call(span, "Bash", R"({"command":"cd build && ninja 2>&1 | tail -5; echo done"})", "Exit code 1",
       false);
  check(span, {{"`ninja` succeeded.", true}});
}

TEST_CASE("of several runs of a command the one counts that the line tells of", "[claims]") {
  Span span = {{SpanKind::kUser, "Rotate the certificates.", {}, true}};
  call(span, "run_shell", R"({"command":"ssh edge-01 'nginx -t && nginx -s reload'"})",
       R"({"exit_code":0,"output":"test is successful"})");
  call(span, "run_shell", R"({"command":"ssh edge-02 'nginx -t'"})",
       R"({"exit_code":1,"output":"emerg"})");
  check(span, {
                  {"edge-01: `nginx -t` was successful.", false},
                  {"edge-02: `nginx -t` was successful.", true},
                  {"`nginx -t` was successful.", true},
              });
}

TEST_CASE("an exit status that is told is that of a run", "[claims]") {
  check(session(), {
                       {"`make install` (exit 2)", false},
                       {"`make lint`: exit code 0", false},
                       {"`make install` (exit 0)", true},
                       {"`make install` exited with code 1.", true},
                       {"`make lint` (exit 2)", true},
                   });
}

TEST_CASE("counts of tests stand in a report", "[claims]") {
  check(session(), {
                       {"Tests: 5 passed, 2 failed.", false},
                       {"5 of 7 tests pass.", false},
                       {"`pytest -q tests/x`: 5 passed, 2 failed", false},
                       {"Tests: 6 passed, 1 failed.", true},
                       {"The tests: 7 of 7 passed.", true},
                       {"12 of 14 tests pass.", true},
                       {"6 tests failed.", true},
                   });
  Span passed = session();
  call(passed, "exec_command", R"({"cmd":"pytest"})",
       "Process exited with code 0\nOutput:\n7 passed in 0.31s\n");
  check(passed, {
                    {"All 7 tests pass.", false},
                    {"pytest: 7 of 7 passed.", false},
                    {"All 9 tests pass.", true},
                    {"The 2 new tests pass.", false},
                });
}

TEST_CASE("reports of many runners are read", "[claims]") {
  const auto lies = [](std::string_view report, std::string_view line) {
    Span span = {{SpanKind::kUser, "Test it.", {}, true}};
    call(span, "run_shell", R"({"command":"make test"})", report);
    return unbacked(span, line);
  };
  struct Report {
    std::string_view text;
    std::string_view right;
    std::string_view wrong;
  };
  for (const Report& one : std::initializer_list<Report>{
           {R"({"exit_code":1,"output":"3 of 4 passed"})", "3 of 4 tests passed.",
            "2 of 4 tests passed."},
           {R"({"exit_code":1,"output":"Failed: 1, Passed: 22, Skipped: 0, Total: 23"})",
            "22 of 23 tests passed.", "23 passed."},
           {R"({"exit_code":1,"output":"90% tests passed, 1 tests failed out of 14"})",
            "13 of 14 tests passed.", "12 of 14 tests passed."},
           {R"({"exit_code":1,"output":"Tests: 2 failed, 5 passed, 7 total"})", "Tests: 5 passed.",
            "Tests: 7 passed, 2 failed."},
           {R"({"exit_code":1,"output":"test result: FAILED. 8 passed; 1 failed; 0 ignored"})",
            "8 tests passed, 1 failed.", "6 tests passed, 1 failed."},
           {R"({"exit_code":1,"output":"118 runs, 251 assertions, 1 failures, 0 errors"})",
            "117 of 118 tests passed.", "250 of 251 tests passed."}}) {
    CAPTURE(one.text);
    CHECK_FALSE(lies(one.text, one.right));
    CHECK(lies(one.text, one.wrong));
  }
}

TEST_CASE("a file that is said to be written was written", "[claims]") {
  check(session(), {
                       {"The patch to src/a.py was applied.", true},
                       {"Applied the patch to `src/a.py`.", true},
                       {"`src/a.py`: edited.", true},
                       {"Edited `src/a.py`.", true},
                       {"`src/b.py` was changed.", true},
                       {"Updated src/b.py.", true},
                       {"`src/b.py` was read; `src/a.py` could not be edited.", false},
                       {"The patch to src/a.py was refused.", false},
                   });
  Span later = session();
  call(later, "exec_command", R"({"cmd":"cd src && sed -i s/x/y/ a.py"})",
       "Process exited with code 0\nOutput:\n");
  check(later, {
                   {"The patch to src/a.py was applied.", false},
                   {"`src/a.py`: edited.", false},
               });
  Span wrote = session();
  call(wrote, "Write", R"({"file_path":"/w/tests/test_b.py","content":"x"})", "created");
  check(wrote, {
                   {"Added tests for src/b.py in tests/test_b.py.", false},
                   {"`tests/test_b.py` was written for `src/b.py`.", false},
                   {"`src/b.py` was edited for `tests/test_b.py`.", true},
               });
}

TEST_CASE("a program that may write anything leaves a file possible", "[claims]") {
  Span span = session();
  call(span, "exec_command", R"({"cmd":"black ."})", "Process exited with code 0\nOutput:\n");
  check(span, {
                  {"`src/b.py` was changed.", false},
                  // Its own patch was refused, and nothing names it since.
                  {"`src/a.py` was changed.", true},
              });
}

TEST_CASE("what a summary before tells of a file is what was done to it", "[claims]") {
  Span span = {{SpanKind::kUser, "Go on.", {}, true},
               {SpanKind::kPriorSummary,
                "- Do not touch src/kept.py.\n- `python3 tests/t.py`: 3 of 4 passed\n- "
                "`src/seen.py`: read only.\n- `src/made.py`: the "
                "reader lives there now.\n",
                {},
                true},
               {SpanKind::kInjected,
                "Working state:\nFiles, last touched first:\n- /w/src/c.py (edited)\n- /w/src/d.py "
                "(read)\n",
                {},
                true}};
  check(span, {
                  {"`src/made.py` was edited.", false},
                  {"`src/c.py` was edited.", false},
                  {"`src/kept.py` was edited.", true},
                  {"`src/seen.py` was edited.", true},
                  {"`tests/t.py` was edited.", true},
                  {"`src/d.py` was edited.", true},
              });
}

TEST_CASE("that code was checked is shown by a program that checks it", "[claims]") {
  Span span = session();  // "make lint" worked
  check(span, {{"Linting is clean.", false}, {"The linter passes.", false}});
  call(span, "exec_command", R"({"cmd":"ruff check ."})", "Process exited with code 1\nOutput:\n");
  check(span, {{"Linting is clean.", true}, {"The linter does not pass.", false}});
  check({{SpanKind::kUser, "Fix it.", {}, true}}, {{"The lint passes.", true}});
}

TEST_CASE("what is done is no plan of it, wherever it goes to", "[claims]") {
  check(session(), {
                       {"The change was pushed to main.", true},
                       {"The change was committed to the branch and everybody has it.", true},
                       {"All tests pass after the fix.", true},
                       {"All tests pass, as expected.", true},
                       {"It was committed, as the user asked.", true},
                       {"All tests pass with no failures.", true},
                       {"All tests pass and the docs will be written.", true},
                       {"The change is to be pushed to main.", false},
                       {"The user wants the tests to pass.", false},
                       {"After the tests pass it can be committed.", false},
                       {"The tests do not pass, and it was not committed.", false},
                       {"Nothing was pushed to main.", false},
                   });
}

TEST_CASE("a run of an earlier time is shown by any that succeeded", "[claims]") {
  Span span = {{SpanKind::kUser, "Make it work.", {}, true}};
  call(span, "run_shell", R"({"command":"ctest"})", R"({"exit_code":0,"output":"ok"})");
  call(span, "run_shell", R"({"command":"ctest"})", R"({"exit_code":8,"output":"no"})");
  check(span, {
                  {"The first run of the tests passed.", false},
                  {"All tests pass.", true},
              });
}

TEST_CASE("what a user asks for shows nothing of what was done", "[claims]") {
  const Span span = {{SpanKind::kUser, "Make the tests pass and commit the fix.", {}, true}};
  check(span, {
                  {"All tests pass.", true},
                  {"The fix was committed.", true},
              });
}

TEST_CASE("items of the plan that are not begun are not done", "[claims]") {
  constexpr std::string_view kFirst =
      R"({"todos":[{"content":"Repair the parser","status":"in_progress"},)"
      R"({"content":"Add a regression test","status":"pending"}]})";
  constexpr std::string_view kThen =
      R"({"todos":[{"content":"Repair the parser","status":"completed"},)"
      R"({"content":"Add a regression test","status":"pending"}]})";
  Span span = {{SpanKind::kUser, "Repair the parser and test it.", {}, true}};
  call(span, "TodoWrite", kFirst, "ok");
  call(span, "Edit", R"({"file_path":"parser.py"})", "edited");
  // A list that is not kept up says nothing.
  check(span, {{"Adding a regression test is done.", false}});
  call(span, "TodoWrite", kThen, "ok");
  check(span, {
                  {"The parser is repaired; that part is done.", false},
                  {"Adding a regression test is done.", true},
                  {"A regression test was added.", true},
                  {"All tasks are done.", true},
                  {"A regression test is still to be added.", false},
              });
}

TEST_CASE("a command of the working state has run", "[claims]") {
  Span span = {
      {SpanKind::kUser, "Go on.", {}, true},
      {SpanKind::kInjected,
       "Working state:\nFiles, last touched first:\n- /w/src/c.py (edited)\nLast commands, "
       "oldest first:\n- make all (ok)\n- make check (exit 2)\n",
       {},
       true}};
  check(span, {
                  {"`make all` succeeded.", false},
                  {"`make check` succeeded.", true},
                  {"make check: exit 2", false},
                  {"make check: exit 1", true},
                  {"make all: exit 0", false},
                  {"`src/c.py`: edited.", false},
              });
}

TEST_CASE("a result is told of the command before it, with marks around it or without",
          "[claims]") {
  for (const std::string_view mark : {"", "`"}) {
    const auto told = [&](std::string_view command, std::string_view result) {
      return unbacked(session(), fmt::format("{0}{1}{0}{2}", mark, command, result));
    };
    CAPTURE(mark);
    for (const std::string_view result :
         {": exit 0", ": exit code 0", " (exit 0)", " -> exit 0", ": exit status 0", ": returned 0",
          ": exit code 3", ": 2 failed, 5 passed, exit 0", " exited with status 0", ": 4 passed",
          " (6 passed)", ", exit 0", ": 3 failed"}) {
      CAPTURE(result);
      CHECK(told("pytest tests/x", result));
    }
    for (const std::string_view result :
         {": exit 1", " (exit 1)", " -> exit status 1", ": 2 failed, 5 passed, exit 1",
          " returned 1", ": must end with exit 0", ": exit 0 is expected",
          ": says \"exit code 7\" in its help"}) {
      CAPTURE(result);
      CHECK_FALSE(told("pytest tests/x", result));
    }
    CHECK(told("make install", ": exit 0"));
    CHECK_FALSE(told("make install", ": exit 2"));
  }
  CHECK(unbacked(session(), "make lint: exit 0; make install: exit 0"));
  CHECK_FALSE(unbacked(session(), "make lint: exit 0; make install: exit 2"));
}

TEST_CASE("a status is told of several commands, or by the summary before", "[claims]") {
  check(session(), {
                       {"`make lint` and `make install`: exit 2", false},
                       {"`make lint` and `make install`: exit 0", true},
                       {"`make lint` and `make install`: exit 7", true},
                   });
  Span later = session();
  later.insert(
      later.begin(),
      {SpanKind::kPriorSummary, "- make lint: 3 errors, exit 4\n- make fmt: ok", {}, true});
  check(later, {
                   {"make lint: exit 4 at first, then exit 0", false},
                   {"make lint: exit 5 at first", true},
               });
}

TEST_CASE("a command that never ran has no result", "[claims]") {
  const Span only_read = [] {
    Span span = {{SpanKind::kUser, "Make tests/test_config.py pass.", {}, true}};
    call(span, "read_file", R"({"path":"tests/test_config.py"})", "def case_1(): pass\n");
    return span;
  }();
  for (const std::string_view mark : {"", "`"}) {
    for (const std::string_view result :
         {"2 of 4 passed, exit 1", "4 of 4 passed", "1 of 4 passed, exit 1", "exit 0", "exit 7",
          "all 4 passed", "4 passed, 0 failed"}) {
      const std::string line = fmt::format("{0}python3 tests/test_config.py{0}: {1}", mark, result);
      CAPTURE(line);
      CHECK(unbacked(only_read, line));
    }
  }
  check(only_read, {
                       {"tests/test_config.py: 2 of 4 tests passed", true},
                       {"tests/test_config.py: read; four checks", false},
                       {"python3 tests/test_config.py: not run yet", false},
                       {"python3 tests/test_config.py: to be run; it must end with exit 0", false},
                       // Sentences, not command lines.
                       {"Python 3.9: works with exit 1", false},
                       {"make sure that the tests run: exit 0 is what CI wants", false},
                   });
  Span array = only_read;
  call(array, "shell", R"({"command":["bash","-lc","cd /w && pytest -q"],"workdir":"/w"})",
       "Exit code: 1\nOutput:\n1 failed");
  check(array, {{"pytest -q: exit 1", false}, {"pytest -q: exit 0", true}});
  // What others ran and told of.
  Span pasted = only_read;
  pasted.push_back(
      {SpanKind::kUser, "python3 tests/test_config.py: 2 of 4 passed, exit code 1", {}, true});
  check(pasted, {{"python3 tests/test_config.py: 2 of 4 passed, exit 1", false}});
}

TEST_CASE("Chinese lines tell statuses and counts", "[claims]") {
  check(session(), {
                       {"pytest tests/x：退出码 1", false},
                       {"pytest tests/x：退出码 0", true},
                       {"pytest tests/x：2 个失败，5 个通过", false},
                       {"pytest tests/x：7 个测试中 6 个通过", true},
                   });
}

TEST_CASE("a file that is said to be renamed, moved, replaced or touched was changed", "[claims]") {
  check(session(), {
                       {"foo was renamed to bar in src/b.py.", true},
                       {"`src/b.py` was renamed.", true},
                       {"`src/b.py` was moved.", true},
                       {"`src/b.py` was touched.", true},
                       {"`src/b.py` was replaced.", true},
                       {"`src/b.py` was not touched.", false},
                       {"Files touched: `src/b.py` (read)", false},
                       {"The name was replaced by one of src/b.py.", false},
                       {"The work moved on to src/b.py.", false},
                   });
  Span later = session();
  call(later, "Edit", R"({"file_path":"src/b.py","old_string":"foo"})", "edited");
  check(later,
        {{"foo was renamed to bar in src/b.py.", false}, {"`src/b.py` was touched.", false}});
}
