// Results of other agents' tools: what their first lines say of the end, and what follows from it
// for the calls. The forms are those that Codex and Claude Code write.
#include "engine/span_result.h"

#include <catch2/catch.hpp>

#include "engine/span_calls.h"

using namespace daybook::engine;
using End = ResultHead::End;

namespace {

/// Outcome of the last of the calls.
CallOutcome outcome(const std::vector<SpanItem>& items) {
  return pair_calls(items).back().outcome;
}

CallOutcome outcome(std::string_view tool, std::string_view call, std::string_view result) {
  return outcome({{SpanKind::kToolCall, call, tool, true}, {SpanKind::kToolResult, result, tool}});
}

constexpr std::string_view kPatch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n";

}  // namespace

TEST_CASE("the first lines of a result say how it ended") {
  const ResultHead shell =
      read_result_head("Exit code: 2\nWall time: 0.4 seconds\nOutput:\nlib.c:1: error: x\n");
  CHECK((shell.end == End::code && shell.code == 2 && shell.failed()));
  CHECK(shell.output == "lib.c:1: error: x\n");

  const ResultHead unified = read_result_head(
      "Chunk ID: 6e6db0\nWall time: 1.0 seconds\nProcess exited with code 0\nOriginal token count: "
      "9\nOutput:\nall fine");
  CHECK((unified.end == End::code && unified.code == 0 && !unified.failed()));
  CHECK(unified.output == "all fine");

  const ResultHead claude = read_result_head("Exit code 1\nmake: *** [all] Error 1");
  CHECK((claude.code == 1 && claude.failed()));
  CHECK(claude.output == "make: *** [all] Error 1");

  const ResultHead running = read_result_head(
      "Chunk ID: a\nWall time: 1 seconds\nProcess running with session ID 42\nOutput:\nBuilding\n");
  CHECK((running.end == End::running && running.session == "42" && !running.failed()));

  CHECK(read_result_head("Exit code: -1\nOutput:\n").failed());
  CHECK(read_result_head("apply_patch verification failed: Failed to find lines in a.py").failed());
  CHECK(read_result_head("Wall time: 3.2 seconds\naborted by user").failed());
  // What a file says of exit codes is no head.
  for (const char* text : {"", "Exit code 3 means that the disk is full.\n", "int main() {\n",
                           "Output:\nnothing", "The program ended.\nExit code: 2\n"}) {
    const ResultHead none = read_result_head(text);
    CHECK(none.end == End::untold);
    CHECK(none.output == text);
  }
}

TEST_CASE("calls and results of Codex come in one form, all others as they are") {
  const std::string argv = R"({"command":["bash","-lc","make test"],"workdir":"/w"})";
  CHECK(call_in_one_form("shell", argv) == R"({"command":"make test","workdir":"/w"})");
  CHECK(call_in_one_form("shell", R"({"command":["grep","a b","x.c"]})") ==
        R"({"command":"grep 'a b' x.c"})");
  CHECK(call_in_one_form("shell",
                         R"({"command":["powershell.exe","-NoProfile","-Command","dir"]})") ==
        R"({"command":"dir"})");
  CHECK(call_in_one_form("run_shell", argv) == argv);
  CHECK(call_in_one_form("shell", "{\"command\":[") == "{\"command\":[");
  CHECK(shell_command(R"({"cmd":"ls","workdir":"/w"})") == "ls");
  CHECK(shell_command(R"({"path":"x"})").empty());

  const std::string envelope =
      R"({"output":"a\nb \"c\"\n","metadata":{"exit_code":1,"duration_seconds":0.1}})";
  CHECK(result_in_one_form("shell", envelope) == "Exit code: 1\nOutput:\na\nb \"c\"\n");
  CHECK(result_in_one_form("apply_patch", envelope).starts_with("Exit code: 1\n"));
  for (const char* tool : {"run_shell", "read_file", "Bash"}) {
    CHECK(result_in_one_form(tool, envelope) == envelope);
  }
  const std::string other = R"({"output":"a","metadata":{}})";
  CHECK(result_in_one_form("shell", other) == other);
}

TEST_CASE("commands have failed when the lines before their output say so") {
  const auto of = [](std::string_view result) {
    return outcome("shell_command", R"({"command":"npm test"})", result);
  };
  CHECK(of("Exit code: 2\nWall time: 3 seconds\nOutput:\nboom\n") == CallOutcome::failed);
  CHECK(of("Exit code: 0\nWall time: 3 seconds\nOutput:\nok\n") == CallOutcome::succeeded);
  // The head tells; what the command wrote does not.
  CHECK(of("Exit code: 0\nWall time: 3 seconds\nOutput:\ngrep found: exit code 7\n") ==
        CallOutcome::succeeded);
  CHECK(of("Process exited with code 1\nOutput:\n") == CallOutcome::failed);
  // A pipe hides the status, and the report still counts.
  CHECK(of("Exit code: 0\nOutput:\n2 failed, 3 passed\n") == CallOutcome::failed);
  CHECK(of("execution error: sandbox denied") == CallOutcome::failed);
  CHECK(of("command timed out after 10000 milliseconds\npart of its output") ==
        CallOutcome::failed);
  // Daybook's own results have their status before the output.
  CHECK(outcome("run_shell", "{}", R"({"command":"x","exit_code":0,"output":"exit code 3"})") ==
        CallOutcome::succeeded);
  CHECK(outcome("run_shell", "{}", R"({"command":"x","exit_code":3,"output":"exit code 0"})") ==
        CallOutcome::failed);
}

TEST_CASE("an edit has failed when its result begins so, never for what a file holds") {
  const auto of = [](std::string_view result) { return outcome("apply_patch", kPatch, result); };
  CHECK(of("apply_patch verification failed: Failed to find expected lines in a.py:\nx") ==
        CallOutcome::failed);
  CHECK(of("Exit code: 1\nWall time: 0 seconds\nOutput:\nFailed to find lines") ==
        CallOutcome::failed);
  CHECK(of("Exit code: 0\nOutput:\napply_patch verification failed: x") == CallOutcome::failed);
  CHECK(of("Exit code: 0\nWall time: 0 seconds\nOutput:\nSuccess. Updated the following files:\nM "
           "a.py\n") == CallOutcome::succeeded);
  CHECK(of("Success. Updated the following files:\nM a.py\n\nExit code: 1\n") ==
        CallOutcome::succeeded);
  CHECK(outcome("Edit", "{}", "1\tint run() {\n2\t  // exit code 2: no such file\n") ==
        CallOutcome::succeeded);
}

TEST_CASE("an edit that was refused has failed, in every form in which that is told") {
  for (const std::string_view result :
       {"Invalid patch hunk on line 2: Expected update hunk to start with a @@ context marker",
        "failed to apply patch: no such file", "Error: io", "Failed to read file to update a.py",
        "Exit code: 0\nOutput:\nfailed to apply patch: x", R"({"content":"boom","success":false})",
        R"({ "content": "a \"b\"", "success": false })", R"({"success":false,"content":"boom"})",
        R"({"content":[],"isError":true})"}) {
    CAPTURE(result);
    CHECK(outcome("apply_patch", kPatch, result) == CallOutcome::failed);
  }
  for (const std::string_view result :
       {R"({"content":"fine","success":true})", R"({"files":["a.py"]})", "Done!",
        R"({"content":"\"success\":false","success":true})"}) {
    CAPTURE(result);
    CHECK(outcome("apply_patch", kPatch, result) == CallOutcome::succeeded);
  }
  // An object that a command printed says nothing of the command.
  CHECK(outcome("Bash", R"({"command":"curl x"})", R"({"success":false,"error":"no"})") ==
        CallOutcome::succeeded);
  CHECK(outcome("exec_command", R"({"cmd":"make"})", R"({"content":"boom","success":false})") ==
        CallOutcome::failed);
  CHECK(outcome("Read", R"({"file_path":"a"})", R"({"content":"boom","success":false})") ==
        CallOutcome::failed);
}

TEST_CASE("a command that is not waited for has neither succeeded nor failed") {
  constexpr std::string_view kStarted =
      "Command running in background with ID: bt2k. Output is being written to: /tmp/bt2k.output";
  CHECK(outcome("Bash", R"({"command":"npm test"})", kStarted) == CallOutcome::unknown);
  CHECK(outcome("run_shell", R"({"command":"npm test"})",
                R"({"task_id":"t1","command":"npm test","status":"running","note":"x"})") ==
        CallOutcome::unknown);
  const auto asked = [&](std::string_view started, std::string_view tool, std::string_view call,
                         std::string_view result) {
    const std::vector<SpanItem> items = {{SpanKind::kToolCall, R"({"command":"npm test"})", "Bash"},
                                         {SpanKind::kToolResult, started, "Bash"},
                                         {SpanKind::kToolCall, call, tool},
                                         {SpanKind::kToolResult, result, tool}};
    return pair_calls(items).back();
  };
  constexpr std::string_view kAsk = R"({"bash_id":"bt2k"})";
  const auto done = asked(kStarted, "BashOutput", kAsk,
                          "<status>completed</status>\n\n<exit_code>1</exit_code>\n\n<stdout>\nx");
  CHECK(done.outcome == CallOutcome::failed);
  CHECK(done.begun == 0);
  CHECK((done.classes & kTests) != 0);
  CHECK(asked(kStarted, "BashOutput", kAsk,
              "<status>completed</status>\n\n<exit_code>0</exit_code>\n\n<stdout>\nx")
            .outcome == CallOutcome::succeeded);
  CHECK(asked(kStarted, "BashOutput", kAsk, "<status>running</status>\n\n<stdout>\nx").outcome ==
        CallOutcome::unknown);
  CHECK(asked(kStarted, "BashOutput", kAsk, "<status>killed</status>\n").outcome ==
        CallOutcome::failed);
  const auto own = asked(R"({"task_id":"t1","command":"x","status":"running"})",
                         "shell_task_output", R"({"task_id":"t1"})",
                         R"({"task_id":"t1","status":"exited","exit_code":3,"output":""})");
  CHECK(own.outcome == CallOutcome::failed);
  CHECK(own.begun == 0);
  CHECK(outcome("shell_task_output", R"({"task_id":"t1"})",
                R"({"task_id":"t1","status":"killed","exit_code":null,"output":""})") ==
        CallOutcome::failed);
}

TEST_CASE("a command that goes on in the background ends where its session is asked again") {
  std::vector<SpanItem> items = {
      {SpanKind::kToolCall, R"({"cmd":"cargo test"})", "exec_command", true},
      {SpanKind::kToolResult, "Process running with session ID 42\nOutput:\n", "exec_command",
       true}};
  CHECK(outcome(items) == CallOutcome::unknown);
  items.push_back({SpanKind::kToolCall, R"({"session_id":42,"chars":""})", "write_stdin", true});
  const std::size_t result = items.size();
  items.push_back(
      {SpanKind::kToolResult, "Process exited with code 101\nOutput:\n", "write_stdin"});
  const auto failed = pair_calls(items).back();
  CHECK(failed.outcome == CallOutcome::failed);
  CHECK((failed.classes & kTests) != 0);
  CHECK(failed.begun == 0);
  items[result].text = "Process exited with code 0\nOutput:\n1 failed\n";
  CHECK(outcome(items) == CallOutcome::failed);  // it can show what tests can
  items[result - 1].text = R"({"session_id":43,"chars":""})";
  CHECK((pair_calls(items).back().classes & kTests) == 0);
}

TEST_CASE("where a command runs says nothing of what it is") {
  const std::vector<SpanItem> items = {
      {SpanKind::kToolCall, R"({"command":"ls","workdir":"/w/test"})", "shell", true}};
  CHECK((pair_calls(items).front().classes & kTests) == 0);
  CHECK(folder_of(R"({"command":"cd src && make","workdir":"/w"})") == "src");
  CHECK(folder_of(R"({"command":"cd "a b" && make"})") == "a b");
  CHECK(folder_of(R"({"command":"rm -rf out && cd src && make"})") == "src");
  CHECK(folder_of(R"({"command":"make"})").empty());
  CHECK(folder_of(R"({"command":"cd $HOME && make"})").empty());
}
