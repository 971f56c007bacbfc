#include "executor/shell.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/support/commands.h"
#include "tests/support/temp_dir.h"

using namespace daybook;
using namespace daybook::executor;
using namespace daybook::tests;
using schema::ExitKind;

namespace {

struct Session {
  explicit Session(std::vector<std::string> more_env = {}) {
    auto parent = process_environment();
    parent.push_back("TMPDIR=" + tmp.str());
    parent.insert(parent.end(), more_env.begin(), more_env.end());
    ShellOptions options;
    options.cwd = work.str();
    options.env = command_environment(parent);
    options.mask = SecretMask(parent);
    options.ladder = short_ladder();
    shell = std::make_unique<Shell>(std::move(options));
  }
  ShellResult run(const std::string& command, std::int64_t timeout_ms = 20'000) {
    return shell->run(command, timeout_ms, {}, {});
  }
  std::string out(const std::string& command) { return run(command).output.head; }
  bool usable() { return out("echo usable") == "usable\n"; }

  TempDir work;
  TempDir tmp;
  std::unique_ptr<Shell> shell;
};

}  // namespace

TEST_CASE("variables, functions and the folder last", "[shell]") {
  Session s;
  CHECK(s.out("x=5; f() { echo \"f $1\"; }; export y=6") == "");
  CHECK(s.out("echo $x; f 7; printenv y") == "5\nf 7\n6\n");
  std::filesystem::create_directory(s.work.path() / "sub");
  const auto moved = s.run("cd sub");
  CHECK(moved.cwd_before == s.work.str());
  CHECK(moved.cwd_after == s.work.str("sub"));
  CHECK(s.out("pwd") == s.work.str("sub") + "\n");
  CHECK(s.shell->cwd() == s.work.str("sub"));
}

TEST_CASE("output is what the command wrote, byte for byte", "[shell]") {
  Session s;
  CHECK(s.out("printf abc") == "abc");
  CHECK(s.out("echo abc") == "abc\n");
  CHECK(s.out("echo a; echo b >&2; echo c") == "a\nb\nc\n");
  CHECK(s.out("printf 'a\\xff'") == "a\xff");
  CHECK(s.usable());
  CHECK(s.run("exec 9>&1; (exit 42)").code == 42);
  CHECK(s.run("true").code == 0);
  CHECK(s.run("return 9").code == 9);
  CHECK(s.run("kill -SEGV $BASHPID & wait $!").code == 139);
  CHECK(s.run("").code == 0);
}

TEST_CASE("messages of the shell do not name its private folder", "[shell]") {
  Session s;
  CHECK(s.out("no-such-command") == "bash: line 1: no-such-command: command not found\n");
}

TEST_CASE("a syntax error does not reach the shell", "[shell]") {
  Session s;
  s.run("x=1");
  for (const char* broken : {"echo before; echo 'open", "if true; then", "echo )", "x=2; {"}) {
    CAPTURE(broken);
    const auto result = s.run(broken);
    CHECK(result.exit == ExitKind::exited);
    CHECK(result.code == 2);
    CHECK(result.output.head.starts_with("bash: line "));
    CHECK(result.output.head.find("before") == std::string::npos);
    CHECK(result.notes.empty());
  }
  CHECK(s.out("echo $x") == "1\n");
}

TEST_CASE("heredocs, readers of stdin and closed descriptors leave the shell usable", "[shell]") {
  Session s;
  CHECK(s.out("cat <<EOF\na\nb\nEOF") == "a\nb\n");
  CHECK(s.usable());
  CHECK(s.out("cat <<EOF\nunterminated").find("unterminated\n") != std::string::npos);
  CHECK(s.usable());
  CHECK(s.out("cat; read x; cat -") == "");
  CHECK(s.usable());
  CHECK(s.out("exec <&- >&- 2>&-; echo gone") == "");
  CHECK(s.usable());
  CHECK(s.out("for i in $(seq 3 250); do eval \"exec $i>&-\"; done 2>/dev/null; echo closed") ==
        "closed\n");
  CHECK(s.usable());
  CHECK(s.out("exec >/dev/null; echo lost") == "");
  CHECK(s.usable());
}

TEST_CASE("a shell that ended is replaced, where it was, and says so once", "[shell]") {
  Session s;
  std::filesystem::create_directory(s.work.path() / "sub");
  s.run("cd sub; x=1");
  struct Case {
    const char* command;
    int code;
    const char* output;
  };
  for (const Case& c :
       {Case{"exit 3", 3, ""}, Case{"exec echo replaced", 0, "replaced\n"},
        Case{"set -e; false; echo no", 1, ""}, Case{"set -u; echo $undefined_one", 127, nullptr},
        Case{"trap 'echo bye' EXIT; exit 5", 5, "bye\n"}, Case{"f() { exit 6; }; f", 6, ""}}) {
    CAPTURE(c.command);
    const auto result = s.run(c.command);
    CHECK(result.exit == ExitKind::exited);
    if (c.output != nullptr) {
      CHECK(result.code == c.code);
      CHECK(result.output.head == c.output);
    } else {
      CHECK(result.code != 0);
    }
    CHECK(result.notes.size() == 1);
    const auto next = s.run("echo \"<$x>\"; pwd; x=1");
    CHECK(next.output.head == "<>\n" + s.work.str("sub") + "\n");
    CHECK(next.notes.empty());
  }
  const auto killed = s.run("kill -KILL $$");
  CHECK(killed.exit == ExitKind::signalled);
  CHECK(killed.code == SIGKILL);
  CHECK(s.usable());
}

TEST_CASE("options and traps that stay set do no harm", "[shell]") {
  Session s;
  s.run("set -e");
  CHECK(s.out("echo a") == "a\n");
  CHECK(s.run("false").code == 1);  // as in any script: the shell ends
  CHECK(s.usable());
  s.run("set -x");
  CHECK(s.out("echo a").find("+ echo a\na\n") != std::string::npos);
  CHECK(s.run("set +x; trap 'echo debugged' DEBUG").code == 0);
  CHECK(s.run("true").code == 0);
  s.run("trap - DEBUG; trap 'echo err' ERR; trap 'echo ret' RETURN");
  CHECK(s.run("(exit 4)").code == 4);
  s.run("trap - ERR RETURN; set -o noclobber; shopt -s extglob");
  CHECK(s.out("echo !(*)") == "!(*)\n");
  CHECK(s.usable());
}

TEST_CASE("a timeout ends the command's tree and keeps the shell where it can", "[shell]") {
  Session s;
  s.run("x=kept");
  const std::string marker = unique_marker();
  for (const std::string& command :
       {"sleep " + marker, "sleep " + marker + "; echo next",
        std::string("while :; do :; done; echo next"), "(sleep " + marker + "; echo next)",
        "y=$(sleep " + marker + "); echo next", "sleep " + marker + " | cat; echo next",
        "sleep " + marker + " & wait; echo next"}) {
    CAPTURE(command);
    const auto result = s.run(command, 100);
    CHECK(result.exit == ExitKind::timed_out);
    CHECK(result.output.head == "");
    CHECK(result.notes.empty());
    CHECK(count_marked(marker) == 0);
    CHECK(s.out("echo $x") == "kept\n");
  }
  const auto result = s.run("f() { sleep " + marker + "; echo in; }; f; echo after", 100);
  CAPTURE(result.error);
  CHECK(result.exit == ExitKind::timed_out);
  CHECK(result.output.head == "");  // nothing after the interrupted step ran
  CHECK(result.notes.size() == 1);
  CHECK(s.usable());
}

TEST_CASE("what ignores every signal is ended within the ladder", "[shell]") {
  Session s;
  const std::string marker = unique_marker();
  for (const std::string& command :
       {"trap '' INT TERM; while :; do sleep " + marker + "; done",
        "setsid bash -c \"trap '' INT TERM HUP; sleep " + marker + "; sleep " + marker + "\"",
        std::string("kill -STOP $$")}) {
    CAPTURE(command);
    ShellResult result;
    const auto took = ms_of([&] { result = s.run(command, 100); });
    CHECK(result.exit == ExitKind::timed_out);
    CHECK(took < kPromptMs);
    CHECK(count_marked(marker) == 0);
    CHECK(s.usable());
  }
}

TEST_CASE("what a command leaves running is ended, and stays out of the next result", "[shell]") {
  Session s;
  const std::string marker = unique_marker();
  const auto result =
      s.run("x=1; sleep " + marker + " & (setsid sleep " + marker +
            " &) ; until [ $(pgrep -fxc 'sleep " + marker + "') = 2 ]; do :; done; echo on");
  CHECK(result.output.head == "on\n");
  CHECK(result.survivors_killed == 2);
  CHECK(count_marked(marker) == 0);
  const auto next = s.run("echo $x; jobs");
  CHECK(next.output.head == "1\n");
  CHECK(next.survivors_killed == 0);
}

TEST_CASE("a command sees three descriptors and cannot forge a status", "[shell]") {
  Session s;
  CHECK(s.out("ls /proc/self/fd") == "0\n1\n2\n3\n");
  CHECK(s.out("echo 00000000000000000000000000000000 77 >&198; echo on").find("on\n") !=
        std::string::npos);
  const auto result = s.run("printf 'x 7\\n' >/proc/$$/fd/198; (exit 5)");
  CHECK(result.code == 5);
}

TEST_CASE("a stop request ends a shell command at once", "[shell]") {
  Session s;
  std::stop_source source;
  const std::string marker = unique_marker();
  ShellResult result;
  std::jthread runner(
      [&] { result = s.shell->run("x=1; sleep " + marker, 0, {}, source.get_token()); });
  REQUIRE(eventually([&] { return count_marked(marker) == 1; }));
  const auto took = ms_of([&] {
    source.request_stop();
    runner.join();
  });
  CHECK(took < kPromptMs);
  CHECK(result.exit == ExitKind::user_stop);
  CHECK(s.out("echo $x") == "1\n");
  CHECK(s.shell->run("echo no", 0, {}, source.get_token()).exit == ExitKind::user_stop);
}

TEST_CASE("closing ends the command under way", "[shell]") {
  Session s;
  const std::string marker = unique_marker();
  ShellResult result;
  std::jthread runner([&] { result = s.run("sleep " + marker, 0); });
  REQUIRE(eventually([&] { return count_marked(marker) == 1; }));
  CHECK(ms_of([&] { s.shell->close(); }) < kPromptMs);
  runner.join();
  CHECK(result.exit == ExitKind::user_stop);
  CHECK(count_marked(marker) == 0);
  CHECK(s.run("echo no").exit == ExitKind::user_stop);
}

TEST_CASE("a folder that was removed is left", "[shell]") {
  Session s;
  std::filesystem::create_directory(s.work.path() / "sub");
  s.run("cd sub; x=1");
  s.run("rmdir ../sub");
  CHECK(s.out("echo $x") == "1\n");
  s.run("exit");
  const auto result = s.run("pwd");
  CHECK(result.output.head == s.work.str() + "\n");
  CHECK(result.notes.size() == 1);
}

TEST_CASE("a command may remove the private folder", "[shell]") {
  Session s;
  CHECK(s.run("rm -rf " + s.tmp.str("*") + "; (exit 3)").code == 3);
  CHECK(s.usable());
}

TEST_CASE("command texts are private and do not stay", "[shell]") {
  Session s;
  CHECK(s.out("stat -c %a \"${BASH_SOURCE[0]}\" \"$(dirname \"${BASH_SOURCE[0]}\")\"") ==
        "600\n700\n");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(s.tmp.path())) {
    CAPTURE(entry.path());
    CHECK((!entry.is_regular_file() || entry.path().filename() == "lock"));
  }
}

TEST_CASE("secrets reach neither commands nor results", "[shell]") {
  Session s({"MY_API_KEY=hush-hush-hush"});
  CHECK(s.out("printenv MY_API_KEY; echo hush-hush-hush") == "***\n");
}

TEST_CASE("the death of the host ends the shell and its commands", "[shell]") {
  const std::string marker = unique_marker();
  TempDir work;
  const pid_t host = ::fork();
  if (host == 0) {
    Session s;
    s.run("setsid bash -c 'trap \"\" INT TERM HUP; sleep " + marker + "' & sleep " + marker, 0);
    ::_exit(0);
  }
  REQUIRE(host > 0);
  CHECK(eventually([&] { return count_marked(marker) == 2; }));
  ::kill(host, SIGKILL);
  ::waitpid(host, nullptr, 0);
  CHECK(eventually([&] { return count_marked(marker) == 0; }));
}

TEST_CASE("a resumed session's first result says what is lost", "[shell]") {
  TempDir work;
  ShellOptions options;
  options.cwd = work.str();
  options.env = command_environment(process_environment());
  options.resumed = true;
  Shell shell(options);
  CHECK(shell.run("echo a", 10'000, {}, {}).notes.size() == 1);
  CHECK(shell.run("echo a", 10'000, {}, {}).notes.empty());
}
