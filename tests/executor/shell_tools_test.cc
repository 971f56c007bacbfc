#include "executor/shell_tools.h"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "executor/direct.h"
#include "schema/json.h"
#include "tests/support/commands.h"
#include "tests/support/temp_dir.h"

using namespace daybook;
using namespace daybook::executor;
using namespace daybook::tests;
using schema::ExitKind;

namespace {

struct Tooling {
  explicit Tooling(ShellSettings settings = {}) {
    if (settings.environment.empty()) settings.environment = process_environment();
    settings.ladder = short_ladder();
    auto session = std::make_shared<ShellSession>(std::move(settings));
    executor = make_direct_executor(make_shell_tools(session), [session] { session->close(); });
  }
  Outcome call(const std::string& tool, const Json& arguments, const std::string& call_id = "") {
    ToolRequest request;
    request.call_id = call_id.empty() ? "call-" + std::to_string(++calls) : call_id;
    request.tool = tool;
    request.arguments = dump_json(arguments);
    request.policy.roots = {{work.str(), true}};
    const auto plan = executor->plan(request);
    if (!plan) return Outcome{{}, plan.error().message, true};
    return executor->run(request, *plan, {}, {});
  }
  Json shell(const std::string& command, const Json& more = Json::object()) {
    Json arguments{{"command", command}};
    arguments.update(more);
    return *parse_json(call("run_shell", arguments).result);
  }
  Json output(const std::string& id, const std::string& call_id = "") {
    return *parse_json(call("shell_task_output", {{"task_id", id}}, call_id).result);
  }

  TempDir work;
  int calls = 0;
  std::unique_ptr<Executor> executor;
};

}  // namespace

TEST_CASE("run_shell's result and receipt", "[shell_tools]") {
  Tooling t;
  const Outcome outcome =
      t.call("run_shell", {{"command", "echo hi; exit 3"}, {"description", "greet"}});
  CHECK(outcome.result == R"({"command":"echo hi; exit 3","cwd":")" + t.work.str() +
                              R"(","exit_code":3,"output":"hi\n","timed_out":false,)"
                              R"("truncated":false,"note":"The shell ended: its variables and )"
                              R"(functions are gone. The next command starts a new shell in )" +
                              t.work.str() + R"(."})");
  CHECK_FALSE(outcome.is_error);
  CHECK(outcome.receipt.exit == ExitKind::exited);
  CHECK(outcome.receipt.code == 3);
  CHECK(outcome.receipt.cwd_before == t.work.str());
  CHECK(outcome.receipt.output_bytes == 3);
  CHECK(outcome.receipt.output_digest == Digest::of("hi\n"));
  CHECK(outcome.receipt.duration_ns > 0);
  CHECK(t.shell("true").contains("note") == false);
}

TEST_CASE("run_shell's time limit", "[shell_tools]") {
  Tooling t;
  const Json result = t.shell("sleep 60", {{"timeout_seconds", 1}});
  CHECK(result.at("timed_out") == true);
  CHECK(result.at("exit_code").is_null());
  CHECK(result.at("error") == "the command was ended after 1 second");
}

TEST_CASE("run_shell refuses what it cannot run", "[shell_tools]") {
  Tooling t;
  CHECK(t.call("run_shell", Json::object()).is_error);
  CHECK(t.call("run_shell", {{"command", 5}}).is_error);
  CHECK(t.call("run_shell", {{"command", std::string("a\0b", 3)}}).is_error);
  CHECK(t.call("run_shell", {{"command", "true"}, {"run_in_background", "yes"}}).is_error);
}

TEST_CASE("run_shell says what it dropped and what it ended", "[shell_tools]") {
  Tooling t;
  const Json flood = t.shell("head -c 5000000 /dev/zero | tr '\\0' x");
  CHECK(flood.at("truncated") == true);
  CHECK(flood.at("output").get<std::string>().find("bytes left out") != std::string::npos);
  CHECK(flood.at("output").get<std::string>().size() < 2'100'000);
  CHECK(t.shell("sleep 1000 &").at("note").get<std::string>().starts_with("1 process that"));
}

TEST_CASE("a background task runs, is read piece by piece, and ends", "[shell_tools]") {
  Tooling t;
  const Json started = t.shell("echo one; until [ -e go ]; do sleep 0.01; done; echo two; exit 4",
                               {{"run_in_background", true}});
  CHECK(started.at("task_id") == "task-1");
  CHECK(started.at("status") == "running");
  std::string seen;
  Json last;
  auto read_until = [&](const std::string& wanted) {
    return eventually([&] {
      last = t.output("task-1");
      seen += last.at("output").get<std::string>();
      return seen == wanted;
    });
  };
  CHECK(read_until("one\n"));
  CHECK(last.at("status") == "running");
  CHECK(last.at("exit_code").is_null());
  t.shell("touch go");
  CHECK(read_until("one\ntwo\n"));
  CHECK(eventually([&] { return t.output("task-1").at("status") == "exited"; }));
  CHECK(t.output("task-1").at("exit_code") == 4);
  CHECK(t.output("task-1").at("output") == "");
}

TEST_CASE("reading a task's output again under one call id gives the same", "[shell_tools]") {
  Tooling t;
  t.shell("echo once", {{"run_in_background", true}});
  REQUIRE(eventually([&] {
    return t.output("task-1", "probe").at("status") == "exited" ||
           t.output("task-1").at("status") == "exited";
  }));
  t.shell("echo twice", {{"run_in_background", true}});
  Json first;
  int tries = 0;
  REQUIRE(eventually([&] {
    first = t.output("task-2", "read-" + std::to_string(++tries));
    return first.at("output") == "twice\n";
  }));
  CHECK(t.output("task-2", "read-" + std::to_string(tries)) == first);
  CHECK(t.output("task-2", "other").at("output") == "");
}

TEST_CASE("killing a task ends its tree, and only its tree", "[shell_tools]") {
  Tooling t;
  const std::string mine = unique_marker();
  const std::string other = unique_marker();
  t.shell("(setsid sleep " + mine + " &); trap '' INT; sleep " + mine,
          {{"run_in_background", true}});
  t.shell("sleep " + other, {{"run_in_background", true}});
  REQUIRE(eventually([&] { return count_marked(mine) == 2 && count_marked(other) == 1; }));
  t.shell("sleep 60", {{"timeout_seconds", 1}});  // a foreground timeout is no business of theirs
  CHECK(count_marked(other) == 1);
  const Outcome killed = t.call("shell_task_kill", {{"task_id", "task-1"}});
  CHECK(killed.result == R"({"task_id":"task-1","status":"killed","exit_code":null})");
  CHECK(count_marked(mine) == 0);
  CHECK(count_marked(other) == 1);
  CHECK(t.call("shell_task_kill", {{"task_id", "task-1"}}).result == killed.result);
  t.executor->close();
  CHECK(count_marked(other) == 0);
  CHECK(t.call("run_shell", {{"command", "x"}, {"run_in_background", true}}).is_error);
}

TEST_CASE("an unknown task is an error that says why", "[shell_tools]") {
  Tooling t;
  const Outcome outcome = t.call("shell_task_output", {{"task_id", "task-9"}});
  CHECK(outcome.is_error);
  CHECK(outcome.result.find("there is no background task 'task-9'") != std::string::npos);
}

TEST_CASE("a task's unread output is bounded", "[shell_tools]") {
  Tooling t;
  t.shell("head -c 5000000 /dev/zero | tr '\\0' y; printf '\\xe2\\x82\\xac'; touch done",
          {{"run_in_background", true}});
  REQUIRE(eventually([&] { return t.shell("[ -e done ]").at("exit_code") == 0; }));
  REQUIRE(eventually([&] { return count_marked("done") == 0; }));
  const Json read = t.output("task-1");
  CHECK(read.at("truncated") == true);
  CHECK(read.at("output").get<std::string>().size() <= (1U << 20));
}

TEST_CASE("a shell starts where an earlier process left it", "[shell_tools]") {
  TempDir elsewhere;
  ShellSettings settings;
  settings.cwd = elsewhere.str();
  settings.resumed = true;
  Tooling t(settings);
  const Json first = t.shell("pwd");
  CHECK(first.at("output") == elsewhere.str() + "\n");
  CHECK(first.at("note").get<std::string>().find("gone") != std::string::npos);
}

TEST_CASE("secrets are masked in commands and output", "[shell_tools]") {
  ShellSettings settings;
  settings.environment = process_environment();
  settings.environment.push_back("X_TOKEN=very-secret-value");
  Tooling t(settings);
  const Outcome outcome = t.call("run_shell", {{"command", "echo very-secret-value $X_TOKEN"}});
  CHECK(outcome.result.find("very-secret") == std::string::npos);
  CHECK(outcome.result.find("echo *** $X_TOKEN") != std::string::npos);
}
