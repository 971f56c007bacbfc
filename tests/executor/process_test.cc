#include "executor/process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <array>
#include <catch2/catch.hpp>
#include <fstream>

#include "schema/utf8.h"
#include "tests/support/commands.h"
#include "tests/support/temp_dir.h"

using namespace daybook;
using namespace daybook::executor;
using namespace daybook::tests;
using schema::ExitKind;

namespace {

/// Marked sleepers: `sleep` takes the marker as its duration.
std::string sleeper(const std::string& marker) {
  return "sleep " + marker;
}

long rss_kib() {
  std::ifstream in("/proc/self/statm");
  long size = 0;
  long resident = 0;
  in >> size >> resident;
  return resident * 4;
}

}  // namespace

TEST_CASE("a program's output, streams and exit code come back", "[process]") {
  auto spec = shell_spec("echo out; echo err >&2; pwd; exit 7");
  const auto result = run(spec);
  CHECK(result.exit == ExitKind::exited);
  CHECK(result.code == 7);
  CHECK(result.out.head == "out\n/tmp\n");
  CHECK(result.err.head == "err\n");
  CHECK(result.out.total == 9);
  CHECK(result.out.digest == Digest::of("out\n/tmp\n"));
  CHECK(result.survivors_killed == 0);
  CHECK(result.max_rss_kib > 0);
  spec.merge_stderr = true;
  CHECK(run(spec).out.head == "out\nerr\n/tmp\n");
}

TEST_CASE("a signal's number comes back", "[process]") {
  const auto result = run(shell_spec("kill -SEGV $$"));
  CHECK(result.exit == ExitKind::signalled);
  CHECK(result.code == SIGSEGV);
}

TEST_CASE("a program that cannot start says why", "[process]") {
  TempDir dir;
  auto spec = shell_spec("");
  SECTION("missing") {
    spec.argv = {dir.str("absent")};
    const auto result = run(spec);
    CHECK(result.exit == ExitKind::spawn_failed);
    CHECK(result.code == ENOENT);
  }
  SECTION("not executable") {
    write_file(dir.str("plain"), "text");
    spec.argv = {dir.str("plain")};
    const auto result = run(spec);
    CHECK(result.exit == ExitKind::spawn_failed);
    CHECK(result.code == EACCES);
  }
  SECTION("not in PATH") {
    spec.argv = {"no-such-program-at-all"};
    const auto result = run(spec);
    CHECK(result.exit == ExitKind::spawn_failed);
    CHECK(result.error.find("no-such-program-at-all") != std::string::npos);
  }
  SECTION("missing folder") {
    spec.cwd = dir.str("absent");
    CHECK(run(spec).code == ENOENT);
  }
}

TEST_CASE("a child has only its three descriptors, no terminal, clean signals", "[process]") {
  const int stray = ::open("/etc/passwd", O_RDONLY);  // no CLOEXEC, as a careless library would
  REQUIRE(stray >= 0);
  auto spec = shell_spec("");
  spec.argv = {"/bin/ls", "/proc/self/fd"};
  CHECK(run(spec).out.head == "0\n1\n2\n3\n");  // 3 is ls's own, of the folder
  ::close(stray);
  spec.argv = {"/bin/cat", "/proc/self/status"};
  const std::string status = run(spec).out.head;
  CHECK(status.find("SigBlk:\t0000000000000000") != std::string::npos);
  CHECK(status.find("SigIgn:\t0000000000000000") != std::string::npos);
  CHECK(run(shell_spec("exec 2>&1; exec </dev/tty")).out.head.find("/dev/tty") !=
        std::string::npos);
  CHECK(run(shell_spec("ulimit -c; cat /proc/self/oom_score_adj; readlink /proc/self/fd/0"))
            .out.head == "0\n500\n/dev/null\n");
}

TEST_CASE("a grandchild that holds the pipe does not hold the result", "[process]") {
  const std::string marker = unique_marker();
  ProcessResult result;
  const auto took = ms_of([&] { result = run(shell_spec(sleeper(marker) + " & echo done")); });
  CHECK(result.exit == ExitKind::exited);
  CHECK(result.out.head == "done\n");
  CHECK(result.survivors_killed == 1);
  CHECK(took < kPromptMs);
  CHECK(count_marked(marker) == 0);
}

TEST_CASE("the last words of what outlives the program are kept", "[process]") {
  const auto result = run(shell_spec("(sleep 0.03; echo late) & echo early"));
  CHECK(result.out.head == "early\nlate\n");
}

TEST_CASE("processes in other sessions and double forks are ended too", "[process]") {
  const std::string marker = unique_marker();
  const std::string script = "setsid sleep " + marker + " >/dev/null 2>&1 & " +
                             "(setsid bash -c 'trap \"\" TERM INT HUP; (sleep " + marker +
                             " & sleep " + marker + ") & exit' &) ; " +
                             "until [ $(pgrep -fxc 'sleep " + marker + "') = 3 ]; do :; done; ";
  SECTION("when the program ends") {
    const auto result = run(shell_spec(script + "exit 0"));
    CHECK(result.exit == ExitKind::exited);
    CHECK(result.survivors_killed >= 3);
    CHECK(result.survivors_left == 0);
  }
  SECTION("at the timeout") {
    auto spec = shell_spec(script + "sleep 100");
    spec.timeout_ms = 600;
    CHECK(run(spec).exit == ExitKind::timed_out);
  }
  CHECK(count_marked(marker) == 0);
}

TEST_CASE("a command that ignores signals is ended within the ladder", "[process]") {
  const std::string marker = unique_marker();
  auto spec =
      shell_spec("trap '' INT TERM HUP; echo ready; while :; do sleep " + marker + "; done");
  spec.timeout_ms = 2000;  // time to get ready, also on a busy machine
  ProcessResult result;
  const auto took = ms_of([&] { result = run(spec); });
  CHECK(result.exit == ExitKind::timed_out);
  CHECK(result.out.head == "ready\n");
  CHECK(took >= 2000 + 600);
  CHECK(took < kPromptMs);
  CHECK(count_marked(marker) == 0);
}

TEST_CASE("an interrupted command may end in its own way", "[process]") {
  auto spec = shell_spec("trap 'echo bye; exit 3' INT; echo hi; while :; do sleep 0.01; done");
  spec.timeout_ms = 2000;
  const auto result = run(spec);
  CHECK(result.exit == ExitKind::timed_out);
  CHECK(result.out.head == "hi\nbye\n");
}

TEST_CASE("stopped processes are ended", "[process]") {
  const std::string marker = unique_marker();
  auto spec = shell_spec("sleep " + marker + " & kill -STOP $!; kill -STOP $$");
  spec.timeout_ms = 200;
  const auto took = ms_of([&] { CHECK(run(spec).exit == ExitKind::timed_out); });
  CHECK(took < kPromptMs);
  CHECK(count_marked(marker) == 0);
}

TEST_CASE("a stop request ends a command at once", "[process]") {
  std::stop_source source;
  const std::string marker = unique_marker();
  ProcessResult result;
  std::int64_t took = 0;
  std::jthread runner(
      [&] { result = run_process(shell_spec(sleeper(marker)), {}, source.get_token()); });
  REQUIRE(eventually([&] { return count_marked(marker) == 1; }));
  took = ms_of([&] {
    source.request_stop();
    runner.join();
  });
  CHECK(result.exit == ExitKind::user_stop);
  CHECK(took < kPromptMs);
  CHECK(count_marked(marker) == 0);
}

TEST_CASE("a flood costs no memory, and its digest covers all of it", "[process]") {
  auto spec = shell_spec("exec head -c 200000000 /dev/zero");
  spec.limits = {1000, 500, 0};
  const long before = rss_kib();
  const auto result = run(spec);
  CHECK(rss_kib() - before < 8 * 1024);
  CHECK(result.out.total == 200'000'000);
  CHECK(result.out.head == std::string(1000, '\0'));
  CHECK(result.out.tail == std::string(500, '\0'));
  CHECK(result.out.dropped == 200'000'000 - 1500);
  Digester expected;
  const std::string zeros(1'000'000, '\0');
  for (int i = 0; i < 200; ++i) expected.update(zeros);
  CHECK(result.out.digest == expected.digest());
}

TEST_CASE("an endless flood meets its timeout", "[process]") {
  auto spec = shell_spec("exec yes");
  spec.timeout_ms = 2000;  // time to get ready, also on a busy machine
  ProcessResult result;
  CHECK(ms_of([&] { result = run(spec); }) < kPromptMs);
  CHECK(result.exit == ExitKind::timed_out);
  CHECK(result.out.kept() <= (2U << 20));
  CHECK(result.out.total > result.out.kept());
}

TEST_CASE("bytes that are not UTF-8 are kept, and repaired only as text", "[process]") {
  const auto result = run(shell_spec("printf 'a\\xffb\\0c\\r\\xe2\\x82'"));
  CHECK(result.out.head == std::string("a\xff"
                                       "b\0c\r\xe2\x82",
                                       8));
  CHECK(result.out.text() == std::string("a\xef\xbf\xbd"
                                         "b\0c\r\xef\xbf\xbd",
                                         11));
}

TEST_CASE("one line of 10 MB is no different", "[process]") {
  const auto result = run(shell_spec("head -c 10000000 /dev/zero | tr '\\0' x; echo"));
  CHECK(result.out.total == 10'000'001);
  CHECK(result.out.tail.ends_with("xx\n"));
}

TEST_CASE("cuts never fall inside a code point", "[process]") {
  OutputLimits limits{10, 10, 0};
  const SecretMask none;
  OutputKeeper keeper(limits, none);
  std::string euros;
  for (int i = 0; i < 20; ++i) euros += "\xe2\x82\xac";
  for (const char c : euros) keeper.add({&c, 1}, {});
  const KeptOutput kept = keeper.finish({});
  CHECK(kept.head == euros.substr(0, 9));
  CHECK(kept.tail == euros.substr(0, 9));
  CHECK(kept.dropped == 60 - 18);
  CHECK(is_utf8(kept.text()));
  CHECK(kept.text().find("\n[... 42 bytes left out ...]\n") != std::string::npos);
}

TEST_CASE("output at the border of the limits is whole", "[process]") {
  const SecretMask none;
  for (std::size_t size = 0; size <= 40; ++size) {
    std::string bytes;
    for (std::size_t i = 0; i < size; ++i) bytes += static_cast<char>('a' + i % 26);
    OutputKeeper keeper({10, 10, 0}, none);
    for (std::size_t at = 0; at < size; at += 7) keeper.add(bytes.substr(at, 7), {});
    const KeptOutput kept = keeper.finish({});
    CAPTURE(size);
    CHECK(kept.total == size);
    CHECK(bytes.starts_with(kept.head));
    CHECK(bytes.ends_with(kept.tail));
    CHECK(kept.head.size() + kept.tail.size() + kept.dropped == size);
    if (size <= 20) CHECK(kept.dropped == 0);
    if (size > 24) CHECK(kept.tail == bytes.substr(size - 10));
  }
}

TEST_CASE("stdin is written while output is read", "[process]") {
  const std::string big(8U << 20, 'x');
  auto spec = shell_spec("cat");
  spec.stdin_bytes = big;
  const auto result = run(spec);
  CHECK(result.out.total == big.size());
  CHECK(result.out.digest == Digest::of(big));
}

TEST_CASE("a program that reads none of a big stdin ends well", "[process]") {
  const std::string big(64U << 20, 'x');
  auto spec = shell_spec("exec head -c1");
  spec.stdin_bytes = big;
  const auto result = run(spec);
  CHECK(result.exit == ExitKind::exited);
  CHECK(result.code == 0);
  CHECK(result.out.head == "x");
}

TEST_CASE("a program that closes its output is still waited for", "[process]") {
  ProcessResult result;
  const auto took =
      ms_of([&] { result = run(shell_spec("echo x; exec >&- 2>&-; sleep 0.2; exit 4")); });
  CHECK(took >= 200);
  CHECK(result.code == 4);
  CHECK(result.out.head == "x\n");
}

TEST_CASE("concurrent commands do not hold each other's pipes", "[process]") {
  std::array<ProcessResult, 8> results;
  const auto took = ms_of([&] {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < results.size(); ++i) {
      threads.emplace_back([&results, i] {
        for (int round = 0; round < 5; ++round) {
          const std::string name = std::to_string(i);
          results[i] = run(shell_spec(i == 0 ? "sleep 0.3; echo 0" : "echo " + name));
        }
      });
    }
  });
  for (std::size_t i = 0; i < results.size(); ++i) {
    CHECK(results[i].out.head == std::to_string(i) + "\n");
    CHECK(results[i].survivors_killed == 0);
  }
  CHECK(took < kPromptMs);
}

TEST_CASE("the death of the host ends the tree", "[process]") {
  const std::string marker = unique_marker();
  const pid_t host = ::fork();
  if (host == 0) {
    run(shell_spec("setsid bash -c 'trap \"\" INT TERM HUP; sleep " + marker + "' & sleep " +
                   marker));
    ::_exit(0);
  }
  REQUIRE(host > 0);
  CHECK(eventually([&] { return count_marked(marker) == 2; }));
  ::kill(host, SIGKILL);
  ::waitpid(host, nullptr, 0);
  CHECK(eventually([&] { return count_marked(marker) == 0; }));
}

TEST_CASE("a command may kill its supervisor, and the call still ends", "[process]") {
  const auto result = run(shell_spec("kill -KILL $PPID; sleep 5"));
  CHECK(result.exit == ExitKind::error);
  CHECK_FALSE(result.error.empty());
  CHECK(run(shell_spec("kill -TERM $PPID; kill -INT $PPID; kill -HUP $PPID; echo on")).out.head ==
        "on\n");
}

TEST_CASE("the live view is masked and bounded", "[process]") {
  const std::array<std::string, 1> env = {"API_KEY=sekrit-value"};
  const SecretMask mask(env);
  auto spec = shell_spec("printf 'a sekrit-'; sleep 0.05; printf 'value b'; yes | head -c 100000");
  spec.mask = &mask;
  spec.limits.live_bytes = 5000;
  std::string seen;
  const auto result = run_process(
      spec, [&](std::string_view bytes) { seen += bytes; }, std::stop_token());
  CHECK(seen.size() == 5000);
  CHECK(seen.starts_with("a *** by\ny\n"));
  CHECK(result.out.head.starts_with("a *** by\ny\n"));
  CHECK(result.out.digest == Digest::of(result.out.head));
}
