// Background commands have no receipt of their own; what is known of their end is shown.
#include <nlohmann/json.hpp>

#include "tests/support/cli.h"
#include "tests/support/journal_events.h"
#include "tests/tools/place.h"

namespace daybook::tests {
namespace {

using Catch::Contains;

TEST_CASE("audit shows what is known of the end of a background command") {
  const Place place;
  place.scenario("tasks.toml", R"([[response]]
[[response.call]]
tool = "run_shell"
arguments = { command = "sleep 1000", run_in_background = true }
[[response.call]]
tool = "run_shell"
arguments = { command = "sleep 1000", run_in_background = true }
[[response.call]]
tool = "shell_task_kill"
arguments = { task_id = "task-1" }
[[response]]
text = "done"
)");
  REQUIRE(place("$daybook run --session s --approval-mode bypass-approvals "
                "--model script:../tasks.toml go > ../out 2> ../err") == 0);
  CHECK(place("$daybook audit s > ../out") == 0);
  const std::string table = place.file("out");
  INFO(table);
  CHECK_THAT(table, Contains("  background: killed  ") && Contains("  background: ended   "));
  CHECK(place("$daybook audit s --json > ../out") == 0);
  const auto lines = json_lines(place.file("out"));
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].at("background").dump() ==
        R"({"task_id":"task-1","status":"killed","exit_code":null})");
  CHECK(lines[1].at("background").dump() ==
        R"({"task_id":"task-2","status":"ended","exit_code":null})");
  CHECK_FALSE(lines[2].contains("background"));
}

/// One call that is decided, started and completed with this result; a long one is kept whole
/// beside the cut that the model is told.
void add_call(journal::Batch& batch, const std::string& id, const std::string& tool,
              const std::string& result, bool is_long = false) {
  schema::ToolDecidedT decided;
  decided.call_id = id;
  decided.tool = tool;
  decided.policy_generation = 1;
  batch.add(draft(std::move(decided), 1));
  schema::ToolDispatchedT dispatched;
  dispatched.call_id = id;
  dispatched.tool = tool;
  dispatched.attempt = 1;
  dispatched.policy_generation = 1;
  batch.add(draft(std::move(dispatched), 1));
  schema::ToolCompletedT completed;
  completed.call_id = id;
  completed.receipt = std::make_unique<schema::ReceiptT>();
  completed.result = batch.content(is_long ? result.substr(0, 20) : result);
  if (is_long) completed.full_output = std::make_unique<schema::BlobRef>(batch.blob(result).fb());
  batch.add(draft(std::move(completed), 1));
}

/// What audit says of the background command of "c1".
std::string seen(const std::string& output_result, bool is_long, bool owner_left = false) {
  Cli cli;
  MemoryJournal journal(cli.store);
  journal::SessionWriter pen = pen_for(session_id("s"));
  journal::Batch batch;
  batch.add(draft(schema::OwnerAcquiredT{}));
  schema::PolicyChangedT policy;
  policy.generation = 1;
  batch.add(draft(std::move(policy)));
  add_call(batch, "c1", "run_shell", R"({"task_id":"task-1","status":"running"})");
  if (owner_left) batch.add(draft(schema::OwnerReleasedT{}));
  add_call(batch, "c2", "shell_task_output", output_result, is_long);
  REQUIRE(append_and_wait(journal, pen.acquire(std::move(batch))).has_value());
  const CliRun run = cli.run({"audit", "s", "--json"});
  INFO(run.out << run.err);
  REQUIRE(run.code == 0);
  return json_lines(run.out).at(0).at("background").dump();
}

TEST_CASE("the end of a background command is what a later call told of it") {
  const std::string exited = R"({"task_id":"task-1","status":"exited","exit_code":3})";
  const std::string running = R"({"task_id":"task-1","status":"running","exit_code":null})";
  CHECK(seen(exited, false) == exited);
  CHECK(seen(running, false) == running);
  const std::string output(3'000, 'x');
  CHECK(seen(R"({"task_id":"task-1","status":"exited","exit_code":3,"output":")" + output + "\"}",
             true) == exited);
  // Another task with the same name, of a later process.
  CHECK(seen(exited, false, true) == R"({"task_id":"task-1","status":"ended","exit_code":null})");
  CHECK(seen("not JSON", false) == running);
}

}  // namespace
}  // namespace daybook::tests
