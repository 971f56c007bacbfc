#include "tests/crash/story.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/support/commands.h"

namespace daybook::tests {
namespace {

/// Calls are numbered in the order the scenario makes them.
const std::map<std::string, std::string> kEffects = {
    {"call-6", "alpha"}, {"call-8", "beta"}, {"call-9", "delta"}, {"call-12", "gamma"}};
constexpr std::size_t kCalls = 12;
constexpr std::size_t kRequests = 7;

/// A command that writes its line, and around that kills the program if a test asks for it.
std::string command(const std::string& effect, const std::string& marker,
                    const std::string& more = "") {
  return fmt::format(
      "at() {{ if [ -e ../kill-$1 ]; then rm ../kill-$1; kill -9 $CRASH_PID; sleep {1}; fi; }}; "
      "at before-{0}; echo {0} >> effects.log; at after-{0}{2}",
      effect, marker, more);
}

std::string shell_call(const std::string& command) {
  return fmt::format("[[response.call]]\ntool = 'run_shell'\narguments = {{ command = '{}' }}\n",
                     command);
}

std::string scenario(const std::string& marker) {
  return R"(
[[response]]
text = "I look."
[[response.call]]
tool = "list_files"
arguments = { path = "." }
[[response.call]]
tool = "read_file"
arguments = { path = "notes.txt" }
[[response.call]]
tool = "grep"
arguments = { pattern = "release" }

[[response]]
reasoning = "A file first."
[[response.call]]
tool = "write_file"
arguments = { path = "made.txt", content = "one\ntwo\n" }
[[response.call]]
tool = "read_file"
arguments = { path = "made.txt" }

[[response]]
)" + shell_call(command("alpha", marker, "; seq 1 4000")) +
         R"(
[[response]]
[[response.call]]
tool = "replace_in_file"
arguments = { path = "notes.txt", old = "release: March", new = "release: April" }
)" + shell_call(command("beta", marker)) +
         shell_call(command("delta", marker)) +
         R"([[response.call]]
tool = "read_file"
arguments = { path = "notes.txt" }

[[response]]
[[response.call]]
tool = "apply_patch"
[response.call.arguments]
patch = """
*** Begin Patch
*** Update File: made.txt
@@
 one
-two
+three
*** Add File: sub/second.txt
+second
*** End Patch
"""

[[response]]
)" + shell_call(command("gamma", marker)) +
         "\n[[response]]\ntext = \"All is done.\"\n";
}

/// The first command of a resumed session is told that its shell is new: the one difference that
/// a crash may make to what the model is sent.
std::string without_shell_note(std::string body) {
  const std::string note =
      R"(\"note\":\"This is a new shell: variables and functions of the earlier one are gone.\")";
  for (auto at = body.find(note); at != std::string::npos; at = body.find(note)) {
    const bool comma_before = at > 0 && body[at - 1] == ',';
    body.erase(at - (comma_before ? 1 : 0), note.size() + 1);
  }
  return body;
}

/// Where two texts part, in a few words; "" when they are equal.
std::string difference(const std::string& a, const std::string& b) {
  if (a == b) return "";
  const auto at = static_cast<std::size_t>(
      std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  const auto from = at < 60 ? 0 : at - 60;
  return fmt::format("at {}: {} <> {}", at, a.substr(from, 160), b.substr(from, 160));
}

std::string reply_to(const std::string& shown) {
  return shown.find("wants to run run_shell") != std::string::npos ? "y\n" : "a\n";
}

}  // namespace

Story::Story() : marker_(unique_marker()) {
  bench_.put_scenario(scenario(marker_));
  prepare();
  const ChildExit run = drive(run_arguments());
  INFO(run.err << run.terminal);
  REQUIRE(run.code == 0);
  REQUIRE(run.out == "All is done.\n");
  whole_ = bench_.view();
  REQUIRE(whole_.requests.size() == kRequests);
  check_finished(whole_);
}

void Story::prepare() {
  bench_.reset();
  bench_.put("notes.txt", "project: lighthouse\nrelease: March\n");
}

std::vector<std::string> Story::run_arguments() const {
  return bench_.run_arguments({"--request-id", "r1"});
}

ChildExit Story::drive(const std::vector<std::string>& arguments, const std::string& kill_point) {
  return bench_.start(arguments, kill_point, true)->wait(reply_to);
}

ChildExit Story::crash(const std::string& kill_point, const std::string& inside) {
  prepare();
  if (!inside.empty()) bench_.put("../kill-" + inside, "");
  return drive(run_arguments(), kill_point);
}

std::string Story::effect_of(const std::string& call) {
  const auto found = kEffects.find(call);
  return found == kEffects.end() ? "" : found->second;
}

int Story::times_in_log(const std::string& effect) const {
  const std::string log = "\n" + bench_.file("effects.log");
  int count = 0;
  for (auto at = log.find("\n" + effect + "\n"); at != std::string::npos;
       at = log.find("\n" + effect + "\n", at + 1)) {
    ++count;
  }
  return count;
}

bool Story::nothing_runs() const {
  return eventually([&] { return count_marked(marker_) == 0; });
}

int Story::reconcile(const std::string& call, const std::string& absent) {
  const bool applied = times_in_log(effect_of(call)) > 0;
  return bench_.run({"reconcile", "s", call, "--outcome", applied ? "applied" : absent}).code;
}

void Story::finish(const std::string& absent) {
  for (int processes = 0; processes < 6; ++processes) {
    // Without a session there is nothing to resume: the command itself is given again.
    const bool exists = bench_.view().version > 0;
    const ChildExit exit =
        drive(exists ? std::vector<std::string>{"resume", "s"} : run_arguments());
    if (exit.code == 0) return;
    INFO(exit.err);
    REQUIRE(exit.code == 5);
    const SessionView view = bench_.view();
    CHECK(bench_.check({"audit", "s"}) == 5);
    for (const auto& [id, call] : view.calls) {
      CHECK_FALSE((call.unknown && call.tool != "run_shell"));
      if (!call.unknown) continue;
      CHECK(exit.err.find("daybook reconcile s " + id + " ") != std::string::npos);
      CHECK(reconcile(id, absent) == 0);
    }
  }
  FAIL("the session does not come to an end");
}

void Story::check_crashed(const SessionView& crashed) {
  CHECK(crashed.faults.empty());
  CHECK(nothing_runs());
  CHECK(bench_.check({"verify"}) == 0);
  for (const auto& [id, call] : crashed.calls) {
    const std::string effect = effect_of(id);
    if (effect.empty()) continue;
    // Nothing starts before its intent is durable.
    INFO(id);
    CHECK(times_in_log(effect) <= call.intents);
    if (call.outcomes > 0) CHECK(times_in_log(effect) == 1);
  }
}

void Story::check_requests(const SessionView& view) const {
  std::set<std::uint32_t> numbers;
  for (const auto& sent : view.requests) {
    numbers.insert(sent.number);
    CHECK(pairing_fault(sent.body) == "");
    if (view.told_at != 0 && sent.version > view.told_at) continue;
    if (whole_.requests.empty()) continue;
    CHECK(difference(without_shell_note(sent.body), whole_.requests.at(sent.number - 1).body) ==
          "");
  }
  CHECK(numbers.size() == kRequests);
}

void Story::check_tree(const SessionView& view) const {
  std::map<std::string, std::string> expected = {
      {"notes.txt", "project: lighthouse\nrelease: April\n"},
      {"made.txt", "one\nthree\n"},
      {"sub/second.txt", "second\n"},
      {"effects.log", ""},
  };
  for (const auto* id : {"call-6", "call-8", "call-9", "call-12"}) {
    if (view.calls.at(id).lost) continue;
    expected["effects.log"] += effect_of(id) + "\n";
  }
  if (expected["effects.log"].empty()) expected.erase("effects.log");
  CHECK(bench_.tree() == expected);
}

void Story::check_end(const SessionView& crashed, bool last_death) {
  const SessionView view = bench_.view();
  CHECK(view.faults == std::vector<std::string>{});
  CHECK_FALSE(view.turn_open);
  CHECK(view.outcomes == std::vector<std::string>{"completed"});
  REQUIRE(view.calls.size() == kCalls);
  for (const auto& [id, call] : view.calls) {
    INFO(id << " " << call.tool);
    CHECK(call.outcomes == 1);
    CHECK_FALSE(call.unknown);
    CHECK(call.intents == 1 + call.retries);
    const auto before = crashed.calls.find(id);
    const bool cut = before != crashed.calls.end() && before->second.open_intent;
    const bool unknown = cut && call.tool == "run_shell";
    const bool settled = cut && call.effect == schema::Effect::checked;
    CHECK(call.ever_unknown >= unknown);
    CHECK(call.settled_by_hashes >= settled);
    if (!last_death) continue;
    CHECK(call.ever_unknown == unknown);
    CHECK(call.settled_by_hashes == settled);
  }
  check_requests(view);
  check_tree(view);
  CHECK(bench_.check({"verify"}) == 0);
  CHECK(bench_.check({"audit", "s"}) == 0);
}

}  // namespace daybook::tests
