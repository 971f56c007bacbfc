#include "engine/next.h"

#include <catch2/catch.hpp>

#include "tests/support/story.h"

using namespace daybook;
using namespace daybook::engine;
using daybook::tests::Story;
using schema::ApprovalMode;
using schema::Decision;
using schema::FailureKind;
using schema::TurnOutcome;

namespace {

template <class T>
T as(const Step& step) {
  REQUIRE(std::holds_alternative<T>(step));
  return std::get<T>(step);
}

std::vector<std::string> ids(const step::RunCalls& run) {
  std::vector<std::string> out;
  for (const auto& item : run.items) out.push_back(item.call_id);
  return out;
}

Story at_calls(const std::vector<Story::Call>& calls,
               ApprovalMode mode = ApprovalMode::bypass_approvals) {
  Story story;
  story.start(mode);
  story.request();
  story.respond_calls(calls);
  return story;
}

}  // namespace

TEST_CASE("without an open turn there is nothing to do") {
  Story story;
  CHECK(std::holds_alternative<step::Idle>(story.next()));
}

TEST_CASE("a turn asks the model, and ends with its answer") {
  Story story;
  story.start();
  CHECK(as<step::RequestModel>(story.next()).attempt == 1);
  story.request();
  story.respond_text("the answer");
  CHECK(as<step::EndTurn>(story.next()).outcome == TurnOutcome::completed);
}

TEST_CASE("a request without an outcome was cut by a crash") {
  Story story;
  story.start();
  story.request();
  as<step::AbandonModel>(story.next());
  REQUIRE(story.tell(schema::ModelAbandonedT{}));
  const auto again = as<step::RequestModel>(story.next());
  CHECK(again.attempt == 2);
  CHECK(again.not_before_ns == 0);
}

TEST_CASE("retryable failures are tried again at their time, until the limit") {
  Story story;
  story.start();
  story.request();
  story.fail_model(FailureKind::retryable_status, 777);
  const auto again = as<step::RequestModel>(story.next());
  CHECK(again.attempt == 2);
  CHECK(again.not_before_ns == 777);
  Limits limits;
  limits.max_attempts = 1;
  const auto end = as<step::EndTurn>(story.next({}, limits));
  CHECK(end.outcome == TurnOutcome::failed);
  CHECK(end.message == "script:m: the provider's words");
}

TEST_CASE("permanent failures end the turn at once") {
  for (const auto kind : {FailureKind::permanent, FailureKind::authentication,
                          FailureKind::context_overflow, FailureKind::bad_response}) {
    Story story;
    story.start();
    story.request();
    story.fail_model(kind);
    CHECK(as<step::EndTurn>(story.next()).outcome == TurnOutcome::failed);
  }
}

TEST_CASE("calls that only read run together, the others alone and in order") {
  Story story = at_calls({{"read_file"}, {"grep"}, {"write_file"}, {"read_file"}, {"run_shell"}});
  const auto first = as<step::RunCalls>(story.next());
  CHECK(ids(first) == std::vector<std::string>{"call-1", "call-2"});
  CHECK(first.items[0].decided_by == "rule:read-only");
  const auto finish = [&](const std::string& id) {
    REQUIRE(story.decide(id, Decision::allow));
    REQUIRE(story.dispatch(id));
    REQUIRE(story.complete(id));
  };
  finish("call-1");
  finish("call-2");
  const auto second = as<step::RunCalls>(story.next());
  CHECK(ids(second) == std::vector<std::string>{"call-3"});
  CHECK(second.items[0].decided_by == "rule:bypass-approvals");
  finish("call-3");
  CHECK(ids(as<step::RunCalls>(story.next())) == std::vector<std::string>{"call-4"});
  finish("call-4");
  CHECK(ids(as<step::RunCalls>(story.next())) == std::vector<std::string>{"call-5"});
}

TEST_CASE("a call that keeps its place among those that read waits for the ones before it") {
  Story story = at_calls({{"read_file"}, {"shell_task_kill"}, {"read_file"}});
  story.tools["shell_task_kill"] = {executor::Risk::read, schema::Effect::read_only, true};
  for (const std::string id : {"call-1", "call-2", "call-3"}) {
    const auto run = as<step::RunCalls>(story.next());
    CHECK(ids(run) == std::vector<std::string>{id});
    CHECK(run.items[0].decided_by == "rule:read-only");
    REQUIRE(story.decide(id, Decision::allow));
    REQUIRE(story.dispatch(id));
    REQUIRE(story.complete(id));
  }
}

TEST_CASE("interactive mode asks for what writes or executes, once, and honours grants") {
  Story story = at_calls({{"read_file"}, {"run_shell"}}, ApprovalMode::interactive);
  CHECK(ids(as<step::RunCalls>(story.next())) == std::vector<std::string>{"call-1"});
  REQUIRE(story.decide("call-1", Decision::allow));
  REQUIRE(story.dispatch("call-1"));
  REQUIRE(story.complete("call-1"));
  CHECK_FALSE(as<step::AskApproval>(story.next()).asked);
  schema::ApprovalRequestedT asked;
  asked.call_id = "call-2";
  REQUIRE(story.tell(std::move(asked)));
  CHECK(as<step::AskApproval>(story.next()).asked);

  schema::PolicyChangedT policy;
  policy.generation = 2;
  policy.grants = {"run_shell"};
  Story granted = at_calls({{"run_shell"}}, ApprovalMode::interactive);
  REQUIRE(granted.tell(std::move(policy)));
  CHECK(as<step::RunCalls>(granted.next()).items[0].decided_by == "grant:run_shell");
}

TEST_CASE("calls that cannot run are answered with the diagnosis") {
  SECTION("arguments that do not parse") {
    Story story = at_calls({{"run_shell", "{\"comm", schema::ArgumentsState::malformed}});
    CHECK(as<step::RefuseCall>(story.next()).reason.find("cannot be used") != std::string::npos);
  }
  SECTION("arguments cut by the output limit") {
    Story story = at_calls({{"run_shell", "{\"comm", schema::ArgumentsState::cut}});
    CHECK(as<step::RefuseCall>(story.next()).reason.find("output limit") != std::string::npos);
  }
  SECTION("a tool that does not exist") {
    Story story = at_calls({{"run_shel"}});
    const auto refused = as<step::RefuseCall>(story.next());
    CHECK(refused.reason.find("run_shell") != std::string::npos);  // lists the known ones
  }
}

TEST_CASE("an intent left by a crash is settled before anything else") {
  Story story = at_calls({{"run_shell"}, {"read_file"}});
  REQUIRE(story.decide("call-1", Decision::allow));
  REQUIRE(story.dispatch("call-1"));
  CHECK(as<step::SettleCall>(story.next()).call_id == "call-1");
  schema::ToolOutcomeUnknownT unknown;
  unknown.call_id = "call-1";
  REQUIRE(story.tell(std::move(unknown)));
  CHECK(as<step::AwaitReconcile>(story.next()).call_ids == std::vector<std::string>{"call-1"});
  // Even a person's wish to stop cannot answer for the unknown call.
  as<step::AwaitReconcile>(story.next({true, "stop"}));
}

TEST_CASE("a stop answers every open call and interrupts the turn") {
  Story story = at_calls({{"run_shell"}, {"read_file"}});
  const auto end = as<step::EndTurn>(story.next({true, "Ctrl-C"}));
  CHECK(end.outcome == TurnOutcome::interrupted);
  CHECK(end.message == "Ctrl-C");
  CHECK(end.unanswered == std::vector<std::string>{"call-1", "call-2"});
}

TEST_CASE("the iteration limit ends the turn before another request") {
  Story story;
  story.start(ApprovalMode::bypass_approvals, 1);
  story.request();
  story.respond_calls({{"read_file"}});
  REQUIRE(story.decide("call-1", Decision::deny));
  CHECK(as<step::EndTurn>(story.next()).outcome == TurnOutcome::iteration_limit);
}

TEST_CASE("an answer that the output limit left empty is a failure that says so") {
  Story story;
  story.start();
  story.request();
  story.respond_text("", schema::StopReason::output_limit);
  const auto end = as<step::EndTurn>(story.next());
  CHECK(end.outcome == TurnOutcome::failed);
  CHECK(end.message.find("output limit") != std::string::npos);
}
