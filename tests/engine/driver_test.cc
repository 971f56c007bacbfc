#include "engine/driver.h"

#include <atomic>
#include <boost/asio/post.hpp>
#include <catch2/catch.hpp>
#include <condition_variable>
#include <filesystem>
#include <latch>
#include <mutex>

#include "replay/requests.h"
#include "tests/engine/stage.h"

using namespace daybook;
using namespace daybook::engine;
using schema::FailureKind;
using Kind = TurnReport::Kind;

TEST_CASE("calls that only read really run at the same time") {
  Stage stage;
  // Each waits for the other two: one after the other, none would ever return.
  std::latch all(3);
  stage.executor.on_run = [&](const auto& request, std::stop_token) {
    all.arrive_and_wait();
    return "result of " + request.call_id;
  };
  const auto report = stage.play(calls("read_file", 3) + kDone, "go");
  REQUIRE(report);
  CHECK(report->answer == "done");
}

TEST_CASE("retries wait as long as the provider asks, and back off otherwise") {
  Stage stage;
  SECTION("Retry-After") {
    const auto report = stage.play(
        "[[response]]\ntext = \"ok\"\n"
        "fail = { kind = \"retryable_status\", status = 503, times = 2, retry_after_ms = 9000 }\n",
        "go");
    REQUIRE(report);
    CHECK(report->kind == Kind::completed);
    CHECK(stage.clock.waits_ms == std::vector<std::int64_t>{9000, 9000});
    CHECK(stage.observer.count("ModelFailed") == 2);
    CHECK(stage.observer.count("ModelRequested") == 3);
  }
  SECTION("doubling, half of it without jitter") {
    const auto report = stage.play(
        "[[response]]\ntext = \"ok\"\nfail = { kind = \"stream_cut\", times = 4 }\n", "go");
    REQUIRE(report);
    CHECK(stage.clock.waits_ms == std::vector<std::int64_t>{250, 500, 1000, 2000});
  }
  SECTION("not for ever") {
    const auto report = stage.play(
        "[[response]]\ntext = \"ok\"\n"
        "fail = { kind = \"connection\", times = 99, message = \"refused\" }\n",
        "go");
    REQUIRE(report);
    CHECK(report->kind == Kind::failed);
    CHECK(report->message == "script:m: refused");
    CHECK(stage.observer.count("ModelRequested") == 6);
  }
  SECTION("never for a permanent failure") {
    const auto report = stage.play(
        "[[response]]\nfail = { kind = \"permanent\", times = 1 }\ntext = \"x\"\n", "go");
    REQUIRE(report);
    CHECK(report->kind == Kind::failed);
    CHECK(stage.observer.count("ModelRequested") == 1);
  }
}

TEST_CASE("a failed turn goes on where it was") {
  Stage stage;
  const std::string scenario =
      "[[response]]\nfail = { kind = \"permanent\", times = 1 }\ntext = \"second try\"\n";
  REQUIRE(stage.play(scenario, "go")->kind == Kind::failed);
  const auto report = stage.play(scenario, std::nullopt);
  REQUIRE(report);
  CHECK(report->answer == "second try");
  const auto state = stage.state();
  CHECK(state->turn->number == 2);
  CHECK(state->turn->origin == 1);
}

TEST_CASE("a stop during a tool ends it, answers every call and interrupts the turn") {
  Stage stage;
  stage.executor.on_run = [&](const auto&, std::stop_token stop) {
    boost::asio::post(*stage.io, [&] { stage.driver->stop("Ctrl-C"); });
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any().wait(lock, stop, [] { return false; });
    return std::string("stopped");
  };
  const auto report = stage.play(calls("run_shell", 3) + kDone, "go");
  REQUIRE(report);
  CHECK(report->kind == Kind::interrupted);
  CHECK(report->message == "Ctrl-C");
  const auto state = stage.state();
  CHECK(state->calls.empty());
  CHECK_FALSE(state->turn->open);
  CHECK(state->pending.back()->results.size() == 3);

  SECTION("and the session goes on") {
    stage.executor.on_run = nullptr;
    CHECK(stage.play(calls("run_shell", 3) + kDone, std::nullopt)->answer == "done");
  }
}

TEST_CASE("a stop while waiting for a retry ends the wait") {
  Stage stage;
  stage.clock.on_wait = [&] { stage.driver->stop("Ctrl-C"); };
  const auto report =
      stage.play("[[response]]\ntext = \"x\"\nfail = { kind = \"stream_cut\", times = 9 }\n", "go");
  REQUIRE(report);
  CHECK(report->kind == Kind::interrupted);
  CHECK(stage.observer.count("ModelRequested") == 1);
}

TEST_CASE("an approval for the session is a new policy generation, and is not asked for again") {
  Stage stage;
  stage.mode = schema::ApprovalMode::interactive;
  stage.approver.answer = Answer::Kind::allow_session;
  const auto report = stage.play(calls("run_shell", 2) + kDone, "go");
  REQUIRE(report);
  CHECK(report->answer == "done");
  CHECK(stage.approver.asked == std::vector<std::string>{"call-1"});
  const auto state = stage.state();
  CHECK(state->policy->generation == 2);
  CHECK(state->policy->grants == std::vector<std::string>{"run_shell"});
}

TEST_CASE("a question that nobody can answer stays open, and is asked again") {
  Stage stage;
  stage.mode = schema::ApprovalMode::interactive;
  stage.approver.answer = Answer::Kind::unavailable;
  const auto waiting = stage.play(calls("run_shell", 1) + kDone, "go");
  REQUIRE(waiting);
  CHECK(waiting->kind == Kind::needs_approval);
  CHECK(waiting->calls == std::vector<std::string>{"call-1"});
  stage.approver.answer = Answer::Kind::deny;
  CHECK(stage.play(calls("run_shell", 1) + kDone, std::nullopt)->answer == "done");
  CHECK(stage.observer.count("ApprovalRequested") == 1);
  CHECK(stage.observer.count("ApprovalDecided") == 1);
  CHECK(stage.observer.count("ToolDispatched") == 0);
}

TEST_CASE("a waiting question is decided by the rule of a new approval mode") {
  Stage stage;
  stage.mode = schema::ApprovalMode::interactive;
  stage.approver.answer = Answer::Kind::unavailable;
  REQUIRE(stage.play(calls("run_shell", 1) + kDone, "go")->kind == Kind::needs_approval);
  stage.mode = schema::ApprovalMode::bypass_approvals;
  CHECK(stage.play(calls("run_shell", 1) + kDone, std::nullopt)->answer == "done");
  CHECK(stage.approver.asked.size() == 1);
  CHECK(stage.observer.count("ApprovalCleared") == 1);
  CHECK(stage.observer.count("ApprovalDecided") == 0);
  MemoryJournal journal(stage.store);
  std::string by;
  REQUIRE(journal.read(stage.session, 1, journal::ReadMode::strict, [&](const auto& entry) {
    if (const auto* decided = entry.event->payload_as_ToolDecided()) {
      by = text_of(decided->decided_by());
      CHECK(decided->policy_generation() == 2);
    }
    return true;
  }));
  CHECK(by == "rule:bypass-approvals");
}

TEST_CASE("nobody is asked about a call that cannot run") {
  Stage stage;
  stage.mode = schema::ApprovalMode::interactive;
  stage.executor.refuse_plans = true;
  CHECK(stage.play(calls("run_shell", 1) + kDone, "go")->answer == "done");
  CHECK(stage.approver.asked.empty());
  MemoryJournal journal(stage.store);
  std::string told;
  REQUIRE(journal.read(stage.session, 1, journal::ReadMode::strict, [&](const auto& entry) {
    if (const auto* decided = entry.event->payload_as_ToolDecided()) {
      CHECK(decided->decision() == schema::Decision::refuse);
      told = inline_bytes(*decided->result());
    }
    return true;
  }));
  CHECK(told == "The call was not run: no such file: call-1");
  CHECK(stage.observer.count("ApprovalRequested") == 0);
  CHECK(stage.observer.count("ToolDispatched") == 0);
}

TEST_CASE("recorded bytes that are gone stop a turn before it writes anything") {
  Stage stage;
  const std::string long_prompt(40'000, 'p');
  REQUIRE(stage.play(kDone, long_prompt)->kind == Kind::completed);
  const auto before = stage.state()->version;
  stage.store->blobs.clear();
  const auto report = stage.play(kDone + kDone, "more");
  REQUIRE_FALSE(report);
  CHECK(report.error().code == ErrorCode::corrupt);
  CHECK(report.error().message.starts_with("session stage cannot go on: "));
  CHECK(stage.state()->version == before);
}

TEST_CASE("a stopped call tells the model what stopped it") {
  Stage stage;
  stage.executor.stopped = true;
  stage.executor.on_run = [&](const auto&, std::stop_token stop) {
    boost::asio::post(*stage.io, [&] { stage.driver->stop("the turn's time was up"); });
    std::mutex mutex;
    std::unique_lock lock(mutex);
    std::condition_variable_any().wait(lock, stop, [] { return false; });
    return std::string(R"({"error":"the command was stopped","output":"x"})");
  };
  REQUIRE(stage.play(calls("run_shell", 1) + kDone, "go")->kind == Kind::interrupted);
  const auto state = stage.state();
  const auto& result = state->pending.back()->results.at(0);
  CHECK(std::string(result->text->bytes.begin(), result->text->bytes.end()) ==
        R"({"error":"the command was stopped: the turn's time was up","output":"x"})");
}

TEST_CASE("a result whose output had a limit of its own is not called whole") {
  Stage stage;
  stage.executor.output_bytes = 9'000'000;
  stage.executor.output_kept = 30'000;
  stage.executor.on_run = [&](const auto&, std::stop_token) { return std::string(40'000, 'x'); };
  REQUIRE(stage.play(calls("run_shell", 1) + kDone, "go"));
  MemoryJournal journal(stage.store);
  std::string told;
  std::string file;
  REQUIRE(journal.read(stage.session, 1, journal::ReadMode::strict, [&](const auto& entry) {
    const auto* completed = entry.event->payload_as_ToolCompleted();
    if (completed == nullptr) return true;
    told = *journal::content_bytes(journal, completed->result());
    file = completed->spill_path()->str();
    return false;
  }));
  CHECK_THAT(told, Catch::Contains("; the first and last of the output's 9000000 bytes, 30000 in "
                                   "all, are in " +
                                   file + " ..."));
  CHECK_THAT(told, !Catch::Contains("the full text"));
  // What tools wrote is for the journal's owner alone.
  using std::filesystem::perms;
  CHECK((status(std::filesystem::path(file)).permissions() & perms::mask) ==
        (perms::owner_read | perms::owner_write));
  CHECK((status(std::filesystem::path(file).parent_path()).permissions() & perms::mask) ==
        perms::owner_all);
}

TEST_CASE("a plan that is refused has a receipt, and nothing ran") {
  Stage stage;
  stage.executor.refuse_plans = true;
  bool ran = false;
  stage.executor.on_run = [&](const auto&, std::stop_token) {
    ran = true;
    return std::string();
  };
  REQUIRE(stage.play(calls("read_file", 1) + kDone, "go"));
  CHECK_FALSE(ran);
  MemoryJournal journal(stage.store);
  bool found = false;
  REQUIRE(journal.read(stage.session, 1, journal::ReadMode::strict, [&](const auto& entry) {
    const auto* completed = entry.event->payload_as_ToolCompleted();
    if (completed == nullptr) return true;
    found = true;
    CHECK(completed->receipt()->exit() == schema::ExitKind::not_run);
    CHECK(inline_bytes(*completed->result()) == "Error: no such file: call-1");
    CHECK(completed->is_error());
    return false;
  }));
  CHECK(found);
}

TEST_CASE("a long result is cut, kept whole as a blob, and spilled to a file") {
  Stage stage;
  const std::string whole = "BEGIN" + std::string(40'000, 'x') + "END";
  stage.executor.on_run = [&](const auto&, std::stop_token) { return whole; };
  REQUIRE(stage.play(calls("run_shell", 1) + kDone, "go"));
  MemoryJournal journal(stage.store);
  bool found = false;
  REQUIRE(journal.read(stage.session, 1, journal::ReadMode::strict, [&](const auto& entry) {
    const auto* completed = entry.event->payload_as_ToolCompleted();
    if (completed == nullptr) return true;
    found = true;
    CHECK(journal::content_bytes(journal, completed->result())->size() <= 10'000);
    CHECK(*journal.blob(BlobRef::from(completed->full_output())) == whole);
    CHECK(tests::read_file(completed->spill_path()->str()) == whole);
    return false;
  }));
  CHECK(found);
}

TEST_CASE("a journal that fails ends the turn with the error, once no tool runs any more") {
  Stage stage;
  int appends = 0;
  stage.hooks.before_write = [&](const journal::Append&) -> std::optional<Error> {
    // 1 start, 2 request, 3 response, 4 intents, 5 the first outcome
    if (++appends < 5) return std::nullopt;
    return Error{ErrorCode::no_space, "the disk is full"};
  };
  std::atomic<int> running = 0;
  stage.executor.on_run = [&](const auto&, std::stop_token) {
    ++running;
    --running;
    return std::string("ok");
  };
  const auto report = stage.play(calls("read_file", 3) + kDone, "go");
  REQUIRE_FALSE(report);
  CHECK(report.error().code == ErrorCode::no_space);
  CHECK(running == 0);
}

TEST_CASE("another provider gets the whole history in its own format, without foreign reasoning") {
  Stage stage;
  REQUIRE(stage.play("[[response]]\nreasoning = \"secret thoughts\"\ntext = \"one\"\n", "first"));
  stage.codec = find_codec("openai-chat");
  REQUIRE(stage.play("[[response]]\ntext = \"one\"\n[[response]]\ntext = \"two\"\n", "second"));
  MemoryJournal journal(stage.store);
  std::vector<std::string> bodies;
  REQUIRE(replay::rebuild_requests(journal, stage.session, [&](const auto& request) {
    CHECK(request.identical);
    bodies.push_back(request.body);
    return true;
  }));
  REQUIRE(bodies.size() == 2);
  CHECK(bodies[0].find("first") != std::string::npos);
  CHECK(bodies[1].find("first") != std::string::npos);
  CHECK(bodies[1].find("one") != std::string::npos);
  CHECK(bodies[1].find("second") != std::string::npos);
  CHECK(bodies[1].find("secret thoughts") == std::string::npos);
}

TEST_CASE("arguments that do not parse are answered, and never shown to the model again") {
  Stage stage;
  const std::string scenario =
      "[[response]]\n[[response.call]]\ntool = \"run_shell\"\narguments = \"{\\\"comm\"\n" + kDone;
  REQUIRE(stage.play(scenario, "go")->answer == "done");
  MemoryJournal journal(stage.store);
  std::string last;
  REQUIRE(replay::rebuild_requests(journal, stage.session, [&](const auto& request) {
    last = request.body;
    return true;
  }));
  CHECK(last.find("cannot be used") != std::string::npos);
  CHECK(last.find("{\\\"comm") == std::string::npos);
  CHECK(last.find("\"arguments\":{}") != std::string::npos);
}

TEST_CASE("a refused answer and a full context are failures that say what to do") {
  Stage stage;
  const auto report = stage.play(
      "[[response]]\ntext = \"x\"\nfail = { kind = \"context_overflow\", message = \"too long\" "
      "}\n",
      "go");
  REQUIRE(report);
  CHECK(report->kind == Kind::failed);
  CHECK(report->message.find("too long") != std::string::npos);
  CHECK(report->message.find("start a new session") != std::string::npos);
}
