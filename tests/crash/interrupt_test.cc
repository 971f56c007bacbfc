// Ctrl-C, deadlines, limits, repeated commands and a second process.
#include <fmt/format.h>
#include <signal.h>

#include <catch2/catch.hpp>

#include "tests/crash/bench.h"
#include "tests/support/commands.h"

namespace daybook::tests {
namespace {

using Catch::Contains;

/// A session whose first command runs until it is ended. A heedless one goes on after SIGINT and
/// SIGTERM, and tells when one has reached it.
struct Long {
  Bench bench;
  std::string marker = unique_marker();

  explicit Long(bool heedless = false) {
    bench.put_scenario(fmt::format(R"(
[[response]]
[[response.call]]
tool = "run_shell"
arguments = {{ command = '{}echo begun >> log; while :; do sleep {} || {}; done' }}
[[response.call]]
tool = "write_file"
arguments = {{ path = "later.txt", content = "later" }}

[[response]]
[[response.call]]
tool = "run_shell"
arguments = {{ command = 'echo second >> log' }}

[[response]]
text = "Done."
)",
                                   heedless ? "trap \"echo stopping >> log\" INT TERM; " : "",
                                   marker, heedless ? "true" : "break"));
  }

  std::vector<std::string> arguments(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> all = {"--approval-mode", "bypass-approvals"};
    all.insert(all.end(), more.begin(), more.end());
    return bench.run_arguments(all);
  }
  std::unique_ptr<Child> begun(const std::vector<std::string>& more = {},
                               bool terminal = false) const {
    auto child = bench.start(arguments(more), "", terminal);
    REQUIRE(eventually([&] { return bench.file("log") == "begun\n"; }, 20'000));
    return child;
  }
  bool nothing_runs() const {
    return eventually([&] { return count_marked(marker) == 0; });
  }
  /// Every call that was made has its answer, and the journal is whole.
  void check_clean() const {
    const SessionView view = bench.view();
    CHECK(view.faults.empty());
    CHECK_FALSE(view.turn_open);
    for (const auto& [id, call] : view.calls) {
      INFO(id);
      CHECK(call.outcomes == 1);
    }
    CHECK(bench.check({"verify"}) == 0);
    CHECK(bench.check({"audit", "s"}) == 0);
  }
  void check_goes_on(const std::string& log, std::vector<std::string> outcomes) const {
    const ChildExit exit = bench.run({"resume", "s"});
    INFO(exit.err);
    CHECK(exit.code == 0);
    CHECK(exit.out == "Done.\n");
    CHECK(bench.file("log") == log);
    outcomes.emplace_back("completed");
    const SessionView view = bench.view();
    CHECK(view.outcomes == outcomes);
    for (const auto& sent : view.requests) CHECK(pairing_fault(sent.body) == "");
    check_clean();
  }
};

TEST_CASE("Ctrl-C while a command runs ends the turn with every call answered") {
  const Long session;
  const bool on_terminal = GENERATE(false, true);
  const auto child = session.begun({}, on_terminal);
  if (on_terminal) {
    child->type("\x03");
  } else {
    child->signal(SIGINT);
  }
  const ChildExit exit = child->wait();
  CHECK(exit.code == 7);
  CHECK_THAT(exit.err, Contains("interrupted by Ctrl-C; go on with: daybook resume s"));
  CHECK(session.nothing_runs());
  session.check_clean();
  const SessionView view = session.bench.view();
  CHECK(view.outcomes == std::vector<std::string>{"interrupted"});
  CHECK(view.calls.at("call-1").receipt_exit == "user_stop");
  CHECK(view.calls.at("call-2").intents == 0);
  CHECK(session.bench.file("later.txt").empty());
  session.check_goes_on("begun\nsecond\n", {"interrupted"});
}

TEST_CASE("SIGTERM and SIGHUP end the turn like Ctrl-C, and say which it was") {
  const auto [signal, name] = GENERATE(table<int, const char*>({
      {SIGTERM, "SIGTERM"},
      {SIGHUP, "SIGHUP"},
  }));
  const Long session;
  const auto child = session.begun();
  child->signal(signal);
  const ChildExit exit = child->wait();
  CHECK(exit.code == 7);
  CHECK_THAT(exit.err, Contains(fmt::format("the process was told to stop ({})", name)));
  CHECK(session.nothing_runs());
  session.check_clean();
}

TEST_CASE("a second Ctrl-C leaves at once, and the session can be resumed") {
  const Long session(true);
  const auto child = session.begun();
  child->signal(SIGINT);
  REQUIRE(eventually([&] { return session.bench.file("log") != "begun\n"; }, 20'000));
  child->signal(SIGINT);
  CHECK(child->wait().code == 128 + SIGINT);
  CHECK(session.nothing_runs());
  CHECK(session.bench.check({"verify"}) == 0);
  CHECK(session.bench.run({"resume", "s"}).code == 5);
  CHECK(session.bench.run({"reconcile", "s", "call-1", "--outcome", "applied"}).code == 0);
  const ChildExit exit = session.bench.run({"resume", "s"});
  CHECK(exit.out == "Done.\n");
  CHECK(session.bench.file("later.txt") == "later");
  session.check_clean();
}

TEST_CASE("SIGKILL leaves no command behind") {
  const Long session;
  const auto child = session.begun();
  REQUIRE(eventually([&] { return count_marked(session.marker) > 0; }));
  child->signal(SIGKILL);
  CHECK(child->wait().signal == SIGKILL);
  CHECK(session.nothing_runs());
}

TEST_CASE("Ctrl-C while a person is asked ends the turn; the call was not run") {
  Bench bench;
  bench.put_scenario(R"(
[[response]]
[[response.call]]
tool = "run_shell"
arguments = { command = 'echo ran >> log' }
[[response]]
text = "Then not."
)");
  const bool typed = GENERATE(false, true);
  const auto child = bench.start(bench.run_arguments(), "", true);
  REQUIRE(child->shows("(a remark may follow): "));
  if (typed) {
    child->type("\x03");
  } else {
    child->signal(SIGINT);
  }
  CHECK(child->wait().code == 7);
  const SessionView view = bench.view();
  CHECK(view.faults.empty());
  CHECK(view.outcomes == std::vector<std::string>{"interrupted"});
  CHECK(view.calls.at("call-1").outcomes == 1);
  CHECK(view.calls.at("call-1").intents == 0);
  CHECK(bench.check({"audit", "s"}) == 0);
  const ChildExit resumed = bench.run({"resume", "s"});
  CHECK(resumed.code == 0);
  CHECK(resumed.out == "Then not.\n");
  CHECK(bench.file("log").empty());
}

TEST_CASE("a question without a terminal stays open, and is asked again by resume") {
  Bench bench;
  bench.put_scenario(R"(
[[response]]
[[response.call]]
tool = "run_shell"
arguments = { command = 'echo ran >> log' }
[[response]]
text = "It ran."
)");
  const ChildExit exit = bench.run(bench.run_arguments());
  CHECK(exit.code == 5);
  CHECK_THAT(exit.err, Contains("call-1 waits for approval"));
  CHECK(bench.run({"resume", "s"}).code == 5);
  CHECK(bench.file("log").empty());
  const auto child = bench.start({"resume", "s"}, "", true);
  const ChildExit answered = child->wait([](const std::string&) { return "y\n"; });
  CHECK(answered.code == 0);
  CHECK(answered.out == "It ran.\n");
  CHECK(bench.file("log") == "ran\n");
}

TEST_CASE("a second process on the same session is refused, and told who has it") {
  const Long session;
  const auto first = session.begun();
  for (const auto& arguments :
       {std::vector<std::string>{"resume", "s"}, session.arguments(),
        std::vector<std::string>{"reconcile", "s", "call-1", "--outcome", "retry"}}) {
    const ChildExit second = session.bench.run(arguments);
    CHECK(second.code == 4);
    CHECK_THAT(second.err, Contains(fmt::format("pid {}", first->pid())));
  }
  // Reading is not refused.
  CHECK(session.bench.check({"show", "s"}) == 0);
  first->signal(SIGINT);
  CHECK(first->wait().code == 7);
  CHECK(session.bench.view().owners.size() == 1);
  CHECK(session.bench.file("log") == "begun\n");
}

TEST_CASE("--timeout ends the turn cleanly") {
  const Long session;
  const ChildExit exit = session.bench.run(session.arguments({"--timeout", "1"}));
  CHECK(exit.code == 7);
  CHECK_THAT(exit.err, Contains("timed out after 1 s"));
  CHECK(session.nothing_runs());
  session.check_clean();
}

struct Quick {
  Bench bench;
  Quick() {
    bench.put_scenario(R"(
[[response]]
[[response.call]]
tool = "run_shell"
arguments = { command = 'echo first >> log' }
[[response]]
[[response.call]]
tool = "run_shell"
arguments = { command = 'echo second >> log' }
[[response]]
text = "Answer."
)");
  }
  std::vector<std::string> arguments(const std::vector<std::string>& more) const {
    std::vector<std::string> all = {"--approval-mode", "bypass-approvals"};
    all.insert(all.end(), more.begin(), more.end());
    return bench.run_arguments(all);
  }
};

TEST_CASE("--max-iterations ends the turn; resume goes on") {
  const Quick session;
  const ChildExit exit = session.bench.run(session.arguments({"--max-iterations", "1"}));
  CHECK(exit.code == 9);
  CHECK(session.bench.file("log") == "first\n");
  CHECK(session.bench.view().outcomes == std::vector<std::string>{"iteration_limit"});
  CHECK(session.bench.run({"resume", "s"}).out == "Answer.\n");
  CHECK(session.bench.file("log") == "first\nsecond\n");
}

TEST_CASE("a request id is answered once") {
  const Quick session;
  const auto& bench = session.bench;
  const auto command = session.arguments({"--request-id", "r1"});
  CHECK(bench.run(command).out == "Answer.\n");
  const auto version = bench.view().version;
  const ChildExit again = bench.run(command);
  CHECK(again.code == 0);
  CHECK(again.out == "Answer.\n");
  CHECK(bench.file("log") == "first\nsecond\n");
  CHECK(bench.view().version == version);
  auto other = command;
  other.back() = "Another prompt.";
  const ChildExit refused = bench.run(other);
  CHECK(refused.code == 4);
  CHECK_THAT(refused.err, Contains("r1"));
  CHECK(bench.view().version == version);
}

TEST_CASE("a command with a request id that was interrupted goes on when it is repeated") {
  const Quick session;
  const auto& bench = session.bench;
  const auto command = session.arguments({"--request-id", "r1"});
  SECTION("killed, without the name of its session") {
    auto nameless = command;
    nameless.erase(nameless.begin() + 1, nameless.begin() + 3);
    REQUIRE(bench.start(nameless, "append:7:before")->wait().signal == SIGKILL);
    CHECK(bench.run(nameless).out == "Answer.\n");
    CHECK(bench.run(nameless).out == "Answer.\n");
    CHECK(bench.check({"sessions"}) == 0);
  }
  SECTION("ended by its limit") {
    auto limited = command;
    limited.insert(limited.end() - 1, {"--max-iterations", "1"});
    CHECK(bench.run(limited).code == 9);
    CHECK(bench.run(command).out == "Answer.\n");
    CHECK(bench.run(command).out == "Answer.\n");
    CHECK(bench.view().outcomes == std::vector<std::string>{"iteration_limit", "completed"});
  }
  CHECK(bench.file("log") == "first\nsecond\n");
}

}  // namespace
}  // namespace daybook::tests
