// Interrupted and failing edits: whatever the moment, the tree ends as if nothing had happened,
// or as if everything had.
#include "executor/edits.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include "tests/executor/workspace.h"

namespace daybook::executor {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPatch =
    "*** Begin Patch\n"
    "*** Add File: new/deep/a\n+added\n"
    "*** Update File: b\n@@\n-two\n+2\n"
    "*** Update File: from\n*** Move to: new/to\n@@\n-three\n+3\n"
    "*** Delete File: gone\n"
    "*** Update File: c\n@@\n-five\n+5\n"
    "*** End Patch\n";
constexpr std::size_t kOps = 6;

void fill(const Workspace& ws) {
  ws.put("b", "one\ntwo\n");
  ws.put("from", "three\n");
  ws.put("gone", "four\n");
  ws.put("c", "five");
}

/// Runs the planned call in a child that ends without any cleanup before change `stop_at`.
void run_and_die(const ToolRequest& request, const Plan& plan, std::size_t stop_at) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::size_t calls = 0;
    const CommitHook die = [&calls, stop_at](std::size_t) -> Result<void> {
      if (calls++ == stop_at) ::_exit(42);
      return {};
    };
    const auto executor = make_direct_executor(all_file_tools(die), {});
    const Outcome outcome = executor->run(request, plan, {}, {});
    ::_exit(outcome.is_error ? 1 : 0);
  }
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) == (stop_at < kOps ? 42 : 0));
}

TEST_CASE("a patch interrupted between any two files is settled and finished",
          "[executor][edits]") {
  Workspace uncrashed;
  fill(uncrashed);
  const Outcome expected = uncrashed.call("apply_patch", {{"patch", kPatch}});
  REQUIRE_FALSE(expected.is_error);
  for (std::size_t stop_at = 0; stop_at <= kOps; ++stop_at) {
    INFO("interrupted before change " << stop_at);
    Workspace ws;
    fill(ws);
    const ToolRequest request = ws.request("apply_patch", {{"patch", kPatch}});
    const Result<Plan> plan = ws.executor().plan(request);
    REQUIRE(plan);
    REQUIRE(plan->ops.size() == kOps);
    CHECK(ws.executor().settle(request, *plan) == Settlement::not_applied);
    run_and_die(request, *plan, stop_at);
    CHECK(ws.executor().settle(request, *plan) == (stop_at == 0      ? Settlement::not_applied
                                                   : stop_at == kOps ? Settlement::applied
                                                                     : Settlement::partial));
    // What a crash left is never listed.
    CHECK_FALSE(contains(ws.call("list_files", Json::object()).result, ".daybook"));
    const Outcome outcome = ws.executor().run(request, *plan, {}, {});
    CHECK_FALSE(outcome.is_error);
    CHECK(outcome.result == expected.result);
    CHECK(outcome.receipt.files.size() == kOps);
    CHECK(ws.tree() == uncrashed.tree());
    CHECK(ws.executor().settle(request, *plan) == Settlement::applied);
  }
}

TEST_CASE("a partial plan with a foreign change is a conflict and touches nothing",
          "[executor][edits]") {
  Workspace ws;
  fill(ws);
  const ToolRequest request = ws.request("apply_patch", {{"patch", kPatch}});
  const Result<Plan> plan = ws.executor().plan(request);
  run_and_die(request, *plan, 2);
  ws.put("c", "foreign");
  const auto leftovers = [&] {
    std::size_t count = 0;
    for (const auto& [name, bytes] : ws.tree()) count += contains(name, ".daybook-") ? 1 : 0;
    return count;
  };
  CHECK(leftovers() > 0);
  CHECK(ws.executor().settle(request, *plan) == Settlement::conflict);
  CHECK(leftovers() == 0);
  const Outcome outcome = ws.executor().run(request, *plan, {}, {});
  CHECK(outcome.is_error);
  CHECK(contains(outcome.receipt.error, "'c' changed after the call was planned"));
  CHECK(contains(outcome.receipt.error, "already in their new state: new/deep/a, b"));
  CHECK(outcome.receipt.files.size() == 2);
  CHECK(ws.get("from") == "three\n");
  CHECK(ws.get("c") == "foreign");
}

TEST_CASE("a failure in the middle is undone", "[executor][edits]") {
  for (std::size_t fail_at = 0; fail_at < kOps; ++fail_at) {
    INFO("fails at change " << fail_at);
    std::size_t calls = 0;
    Workspace ws([&calls, fail_at](std::size_t) -> Result<void> {
      if (calls++ == fail_at) return fail(ErrorCode::no_space, "the disk is full");
      return {};
    });
    fill(ws);
    REQUIRE(::chmod(ws.dir.str("gone").c_str(), 0640) == 0);
    REQUIRE(::chmod(ws.dir.str("b").c_str(), 0600) == 0);
    const auto before = ws.tree();
    const Outcome outcome = ws.call("apply_patch", {{"patch", kPatch}});
    CHECK(outcome.is_error);
    CHECK(contains(outcome.receipt.error, "the disk is full"));
    CHECK(contains(outcome.receipt.error, "were set back") == (fail_at > 0));
    CHECK(outcome.receipt.files.empty());
    CHECK(ws.tree() == before);
    struct stat status {};
    REQUIRE(::stat(ws.dir.str("gone").c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0640);
    REQUIRE(::stat(ws.dir.str("b").c_str(), &status) == 0);
    CHECK((status.st_mode & 0777) == 0600);
  }
}

TEST_CASE("a foreign change during the run stops it and survives the undo", "[executor][edits]") {
  std::size_t calls = 0;
  std::string folder;
  Workspace ws([&calls, &folder](std::size_t) -> Result<void> {
    // After a, b, c and the moved file: someone changes b again, and what is to be removed next.
    if (calls++ == 4) {
      tests::write_file(folder + "/b", "foreign b");
      tests::write_file(folder + "/from", "foreign from");
    }
    return {};
  });
  folder = ws.dir.str();
  fill(ws);
  const Outcome outcome = ws.call("apply_patch", {{"patch", kPatch}});
  CHECK(outcome.is_error);
  CHECK(contains(outcome.receipt.error, "'from' changed while the call ran"));
  CHECK(ws.tree() ==
        std::map<std::string, std::string>{
            {"b", "foreign b"}, {"c", "five"}, {"from", "foreign from"}, {"gone", "four\n"}});
}

TEST_CASE("a file that appears where one is to be created is not replaced", "[executor][edits]") {
  std::string folder;
  Workspace ws([&folder](std::size_t) -> Result<void> {
    tests::write_file(folder + "/f", "foreign");
    return {};
  });
  folder = ws.dir.str();
  CHECK(ws.call("write_file", {{"path", "f"}, {"content", "x"}}).is_error);
  CHECK(ws.tree() == std::map<std::string, std::string>{{"f", "foreign"}});
}

TEST_CASE("a plan of another call is refused", "[executor][edits]") {
  Workspace ws;
  const Result<Plan> plan = ws.plan("write_file", {{"path", "a"}, {"content", "x"}});
  REQUIRE(plan);
  for (const Json& arguments :
       {Json{{"path", "b"}, {"content", "x"}}, Json{{"path", "a"}, {"content", "y"}}}) {
    CHECK(ws.executor().run(ws.request("write_file", arguments), *plan, {}, {}).is_error);
  }
  CHECK(ws.executor()
            .run(ws.request("write_file", {{"path", "a"}, {"content", "x"}}), {}, {}, {})
            .is_error);
  CHECK(ws.tree().empty());
}

TEST_CASE("planning changes nothing", "[executor][edits]") {
  Workspace ws;
  fill(ws);
  const auto before = ws.tree();
  REQUIRE(ws.plan("apply_patch", {{"patch", kPatch}}));
  CHECK(ws.tree() == before);
}

TEST_CASE("settling knows the four states, and nothing of an empty plan", "[executor][edits]") {
  Workspace ws;
  ws.put("f", "1");
  const FileOp update{schema::FileOpKind::update, ws.dir.str("f"), BlobRef::of("1"),
                      BlobRef::of("2")};
  const FileOp same{schema::FileOpKind::update, ws.dir.str("s"), BlobRef::of("s"),
                    BlobRef::of("s")};
  const FileOp remove{schema::FileOpKind::remove, ws.dir.str("g"), BlobRef::of("3"), {}};
  ws.put("s", "s");
  ws.put("g", "3");
  CHECK(settle_ops({}) == Settlement::conflict);
  CHECK(settle_ops({update, same, remove}) == Settlement::not_applied);
  ws.put("f", "2");
  CHECK(settle_ops({update, same, remove}) == Settlement::partial);
  fs::remove(ws.dir.path() / "g");
  CHECK(settle_ops({update, same, remove}) == Settlement::applied);
  ws.put("s", "t");
  CHECK(settle_ops({update, same, remove}) == Settlement::conflict);
  fs::remove(ws.dir.path() / "f");
  CHECK(settle_ops({update}) == Settlement::conflict);
  fs::create_directory(ws.dir.path() / "f");
  CHECK(settle_ops({update}) == Settlement::conflict);
}

TEST_CASE("the same call on equal trees gives equal results and trees", "[executor][edits]") {
  Workspace one;
  Workspace two;
  fill(one);
  fill(two);
  for (const auto& [tool, arguments] : std::initializer_list<std::pair<std::string, Json>>{
           {"apply_patch", {{"patch", kPatch}}},
           {"write_file", {{"path", "w"}, {"content", "x"}}},
           {"replace_in_file", {{"path", "w"}, {"old", "x"}, {"new", "y"}}},
           {"apply_unified_diff", {{"diff", "--- a/w\n+++ b/w\n@@ -1 +1 @@\n-y\n+z\n"}}},
           {"list_files", Json::object()},
           {"read_file", {{"path", "w"}}},
           {"read_file", {{"path", "none"}}},
           {"apply_patch", {{"patch", kPatch}}}}) {
    CHECK(one.call(tool, arguments).result == two.call(tool, arguments).result);
  }
  CHECK(one.tree() == two.tree());
  CHECK(one.get("w") == "z");
}

// A random edit is made on a list of lines; both patches are written from the edit itself, so the
// file after it is known without any of the code under test.
struct RandomEdit {
  std::vector<std::string> before;
  std::vector<std::string> after;
  std::string diff = "--- a/f\n+++ b/f\n";
  std::string envelope = "*** Begin Patch\n*** Update File: f\n";
  std::size_t hunks = 0;
};

RandomEdit random_edit(std::mt19937& random) {
  const auto pick = [&random](std::size_t bound) { return random() % bound; };
  RandomEdit edit;
  const std::size_t count = 2 + pick(20);
  for (std::size_t i = 0; i < count; ++i) {
    edit.before.push_back(std::string("-+ \\@x")[pick(6)] + std::string("-- ") + std::to_string(i));
  }
  // The last line stays, so that no marker about its end is needed.
  for (std::size_t at = 0; at < count;) {
    std::size_t removed = 0;
    while (at + removed + 1 < count && pick(3) == 0) ++removed;
    if (removed == 0) {
      edit.after.push_back(edit.before[at++]);
      continue;
    }
    std::string lines;
    const std::size_t added = pick(3);
    const std::size_t new_start = edit.after.size() + (added > 0 ? 1 : 0);
    const std::size_t old_start = at + 1;
    for (std::size_t i = 0; i < removed; ++i) lines += "-" + edit.before[at++] + "\n";
    for (std::size_t i = 0; i < added; ++i) {
      edit.after.push_back("-- new " + std::to_string(pick(9)));
      lines += "+" + edit.after.back() + "\n";
    }
    edit.after.push_back(edit.before[at]);  // one line of context ends the run
    lines += " " + edit.before[at++] + "\n";
    edit.diff += "@@ -" + std::to_string(old_start) + "," + std::to_string(removed + 1) + " +" +
                 std::to_string(new_start) + "," + std::to_string(added + 1) + " @@\n" + lines;
    edit.envelope += "@@\n" + lines;
    ++edit.hunks;
  }
  edit.envelope += "*** End Patch\n";
  return edit;
}

std::string join(const std::vector<std::string>& lines, const std::string& end, bool last_end) {
  std::string out;
  for (const std::string& line : lines) out += line + end;
  if (!last_end) out.resize(out.size() - end.size());
  return out;
}

TEST_CASE("random patches equal an independent reference", "[executor][edits]") {
  Workspace ws;
  std::mt19937 random(11);
  std::size_t applied = 0;
  for (int round = 0; round < 120; ++round) {
    const RandomEdit edit = random_edit(random);
    if (edit.hunks == 0) continue;
    const std::string end = random() % 2 == 0 ? "\n" : "\r\n";
    const bool last_end = random() % 2 == 0;
    INFO(edit.diff << edit.envelope);
    ws.put("f", join(edit.before, end, last_end));
    ws.ok("apply_unified_diff", {{"diff", edit.diff}});
    CHECK(ws.get("f") == join(edit.after, end, last_end));
    ws.put("f", join(edit.before, end, last_end));
    ws.ok("apply_patch", {{"patch", edit.envelope}});
    CHECK(ws.get("f") == join(edit.after, end, last_end));
    ++applied;
  }
  CHECK(applied > 80);
}

}  // namespace
}  // namespace daybook::executor
