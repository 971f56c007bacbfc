// A compaction as the driver carries it out: what is recorded, what is sent after it, and what a
// crash or a stop at any point leaves.
#include <catch2/catch.hpp>
#include <filesystem>

#include "engine/history.h"
#include "replay/recorded_compaction.h"
#include "replay/requests.h"
#include "tests/engine/stage.h"

using namespace daybook;
using namespace daybook::engine;
using Kind = TurnReport::Kind;

namespace {

const std::string kPrompt =
    "Fix the parser in /home/ann/src/parse.cc. Never touch /home/ann/src/lexer.cc. The tests must "
    "pass.";

const std::string kSummary = R"(## Goal and constraints
The user wants the parser fixed: "Fix the parser in /home/ann/src/parse.cc."
Also demanded: "Never touch /home/ann/src/lexer.cc. The tests must pass."

## Decisions
none

## Files
- /home/ann/src/parse.cc: the parser, to be changed
- /home/ann/src/lexer.cc: must stay as it is

## Identifiers and numbers
none

## Commands and results
The output of the commands so far was read and showed nothing that helps.

## Errors and failed attempts
none

## State of the work
The parser has been looked at; no file was changed yet.

## Next step
Change the parser in /home/ann/src/parse.cc.
)";

std::string summary(const std::string& text, const std::string& more = "") {
  return "[[summary]]\ntext = '''" + text + "'''\n" + more;
}

/// Trigger 6,400 tokens, of which 1,600 may stay.
struct SmallWindow : Stage {
  SmallWindow() {
    limits.compaction.window = 8'000;
    limits.compaction.reply = 1'000;
    executor.on_run = [](const auto& request, std::stop_token) {
      std::string line = "line of " + request.call_id + "\n";
      std::string text;
      while (text.size() < 5'000) text += line;
      return text;
    };
  }
};

std::string six_calls() {
  std::string scenario;
  for (int i = 0; i < 6; ++i) scenario += calls("read_file", 1);
  return scenario + kDone;
}

struct Committed {
  std::string block;
  std::string reason;
  std::string summary;
  std::string transcript;
};

std::vector<Committed> commits(Stage& stage) {
  std::vector<Committed> found;
  MemoryJournal journal(stage.store);
  REQUIRE(journal.read(stage.session, 1, journal::ReadMode::strict, [&](const auto& entry) {
    if (const auto* e = entry.event->payload_as_CompactionCommitted()) {
      found.push_back({*journal::content_bytes(journal, e->block()),
                       std::string(text_of(e->reason())),
                       *journal::content_bytes(journal, e->summary()),
                       std::string(text_of(e->transcript_path()))});
    }
    return true;
  }));
  return found;
}

/// Every request rebuilds byte for byte, and would be sent like that again.
std::vector<replay::RebuiltRequest> requests(Stage& stage) {
  std::vector<replay::RebuiltRequest> all;
  MemoryJournal journal(stage.store);
  auto read = replay::rebuild_requests(journal, stage.session, [&](const auto& request) {
    CAPTURE(request.version, request.lineage);
    CHECK(request.identical);
    CHECK(request.first_difference == -1);
    all.push_back(request);
    return true;
  });
  INFO((read ? "" : read.error().message));
  REQUIRE(read);
  return all;
}

}  // namespace

TEST_CASE("a history that grew too long is replaced by a block with the summary") {
  SmallWindow stage;
  const auto report = stage.play(six_calls() + summary(kSummary), kPrompt);
  REQUIRE(report);
  CHECK(report->kind == Kind::completed);
  CHECK(report->answer == "done");
  const auto done = commits(stage);
  REQUIRE(done.size() == 1);
  CHECK(done[0].summary == kSummary);
  CHECK(done[0].reason.empty());
  const std::string& block = done[0].block;
  CHECK(block.find(kSummary) != std::string::npos);
  CHECK(block.find(">\n" + kPrompt + "\n</user-message ") != std::string::npos);
  CHECK(block.find(done[0].transcript) != std::string::npos);
  // The replaced messages are in the file, word for word.
  const std::string transcript = tests::read_file(done[0].transcript);
  CHECK(transcript.find(kPrompt) != std::string::npos);
  CHECK(transcript.find("line of call-1\n") != std::string::npos);

  const auto all = requests(stage);
  REQUIRE(all.size() == 8);  // seven of the turn, one for the summary
  const auto asked =
      std::find_if(all.begin(), all.end(), [](const auto& r) { return r.lineage == "compaction"; });
  REQUIRE(asked != all.end());
  // The instruction comes after the transcript, and the last thing read is the first heading.
  const auto& body = asked->body;
  CHECK(body.find("</transcript ") < body.find("Write the summary"));
  CHECK(body.find("\\n## Goal and constraints\"") != std::string::npos);
  CHECK(body.find("\"tools\":[]") != std::string::npos);
  const auto next = std::next(asked);
  CHECK(next->body.find("This message stands for the older part") != std::string::npos);
  CHECK(next->body.find("line of call-1") == std::string::npos);
  CHECK(next->body.size() < std::prev(asked)->body.size());
  CHECK(view_tokens(*stage.state()) < budgets_of(stage.limits.compaction).trigger);
}

TEST_CASE("a summary that the gate refuses is asked for once more, with the reason") {
  SmallWindow stage;
  const auto report = stage.play(
      six_calls() + summary("Now I will read the rest of the file.") + summary(kSummary), kPrompt);
  REQUIRE(report);
  CHECK(report->kind == Kind::completed);
  CHECK(stage.observer.count("CompactionAttempted") == 2);
  REQUIRE(commits(stage).size() == 1);
  CHECK(commits(stage)[0].summary == kSummary);
  std::vector<std::string> bodies;
  for (const auto& each : requests(stage)) {
    if (each.lineage == "compaction") bodies.push_back(each.body);
  }
  REQUIRE(bodies.size() == 2);
  CHECK(bodies[0].find("An earlier attempt was not accepted") == std::string::npos);
  CHECK(bodies[1].find("An earlier attempt was not accepted") != std::string::npos);
  CHECK(bodies[1].find("G4-missing-heading") != std::string::npos);
}

TEST_CASE("without a usable summary the history is trimmed, and the block says why") {
  SmallWindow stage;
  std::string how;
  std::string reason;
  SECTION("refused twice") {
    how = summary("Sorry, I cannot do that.") + summary("Now I will read on.");
    reason = "2 summaries were not accepted";
  }
  SECTION("the summariser cannot be asked") {
    how = summary("x", "fail = { kind = \"permanent\", message = \"no such model\", times = 9 }\n");
    reason = "the summariser could not be asked: script:m: no such model";
  }
  const auto report = stage.play(six_calls() + how, kPrompt);
  REQUIRE(report);
  CHECK(report->kind == Kind::completed);
  const auto done = commits(stage);
  REQUIRE(done.size() == 1);
  CHECK(done[0].summary.empty());
  CHECK_THAT(done[0].reason, Catch::StartsWith(reason));
  CHECK(done[0].block.find("[There is none: " + reason) != std::string::npos);
  CHECK(done[0].block.find(kPrompt) != std::string::npos);
  requests(stage);
}

TEST_CASE("a failing summariser is asked again as any request is") {
  SmallWindow stage;
  const auto report = stage.play(
      six_calls() + summary(kSummary, "fail = { kind = \"stream_cut\", times = 2 }\n"), kPrompt);
  REQUIRE(report);
  CHECK(commits(stage).at(0).summary == kSummary);
  CHECK(stage.clock.waits_ms == std::vector<std::int64_t>{250, 500});
  // Two calls that failed and one that was answered.
  MemoryJournal journal(stage.store);
  CHECK(replay::recorded_compactions(journal, stage.session)->at(0).calls == 3);
}

TEST_CASE("a provider that finds the context too long is obeyed") {
  SmallWindow stage;
  stage.limits.compaction.window = 1'000'000;  // what the configuration believes
  const auto report =
      stage.play(calls("read_file", 1) + calls("read_file", 1) + calls("read_file", 1) +
                     "[[response]]\ntext = \"done\"\n"
                     "fail = { kind = \"context_overflow\", message = \"too long\", times = 1 }\n" +
                     summary(kSummary),
                 kPrompt);
  REQUIRE(report);
  CHECK(report->kind == Kind::completed);
  CHECK(stage.observer.count("CompactionCommitted") == 1);
  requests(stage);
}

TEST_CASE("a context that no compaction shortens ends the turn with the reason") {
  SmallWindow stage;
  const auto report = stage.play(
      calls("read_file", 1) +
          "[[response]]\ntext = \"done\"\n"
          "fail = { kind = \"context_overflow\", message = \"too long\", times = 99 }\n" +
          summary(kSummary) + summary(kSummary) + summary(kSummary),
      kPrompt);
  REQUIRE(report);
  CHECK(report->kind == Kind::failed);
  CHECK_THAT(report->message, Catch::Contains("compaction cannot make it shorter"));
  CHECK(stage.observer.count("CompactionStarted") <= 2);
}

TEST_CASE("repeated compactions fold the summary before, and keep the first message") {
  SmallWindow stage;
  std::string scenario;
  for (int i = 0; i < 9; ++i) scenario += calls("read_file", 1);
  for (int i = 0; i < 4; ++i) scenario += summary(kSummary);
  const auto report = stage.play(scenario + kDone, kPrompt);
  REQUIRE(report);
  CHECK(report->kind == Kind::completed);
  const auto done = commits(stage);
  REQUIRE(done.size() >= 2);
  for (const auto& each : done) CHECK(each.block.find(kPrompt) != std::string::npos);
  std::vector<std::string> bodies;
  for (const auto& each : requests(stage)) {
    if (each.lineage == "compaction") bodies.push_back(each.body);
  }
  CHECK(bodies.at(0).find("summary of what came before") == std::string::npos);
  CHECK(bodies.at(1).find("[summary of what came before]") != std::string::npos);
  // The span of the second begins where the first ended.
  CHECK(bodies.at(1).find("line of call-1\\n") == std::string::npos);
}

TEST_CASE("a transcript file holds the block that was replaced, and comes back whole") {
  SmallWindow stage;
  std::string scenario;
  for (int i = 0; i < 9; ++i) scenario += calls("read_file", 1);
  // The first compaction has no summary, the second one has.
  scenario +=
      summary(kSummary, "fail = { kind = \"permanent\", status = 400, message = \"no\" }\n");
  for (int i = 0; i < 4; ++i) scenario += summary(kSummary);
  const auto report = stage.play(scenario + kDone, kPrompt);
  REQUIRE(report);
  CHECK(report->kind == Kind::completed);
  const auto done = commits(stage);
  REQUIRE(done.size() >= 2);
  CHECK(done[0].summary.empty());
  // What the state does not keep is told: the place and the status.
  CHECK(done[0].reason == "the summariser could not be asked: script:m answered HTTP 400: no");
  CHECK_THAT(done[0].block, Catch::Contains(done[0].reason));
  // The scenario lets that summary fail once, and the next compaction asks for it again.
  CHECK(done[1].reason.empty());
  CHECK_THAT(done[1].summary, Catch::Contains("Change the parser"));
  const std::string first = tests::read_file(done[0].transcript);
  const std::string second = tests::read_file(done[1].transcript);
  CHECK_THAT(first, Catch::StartsWith("[user]\n" + kPrompt));
  CHECK_THAT(second, Catch::StartsWith("[summary of what came before]\n" +
                                       done[0].block.substr(0, done[0].block.find('\n'))));
  CHECK_THAT(second, Catch::Contains("# How to go on"));
  CHECK(second.find("line of call-1\n") == std::string::npos);  // it is in the first
  std::filesystem::remove(done[0].transcript);
  std::filesystem::remove(done[1].transcript);
  REQUIRE(stage.play(scenario + kDone + kDone, "And now?"));
  CHECK(tests::read_file(done[0].transcript) == first);
  CHECK(tests::read_file(done[1].transcript) == second);
}

TEST_CASE("after a refusal the summariser is given less, for its window is the one that refused") {
  const auto transcript_of = [](std::uint64_t window, const std::string& overflow) {
    SmallWindow stage;
    stage.limits.compaction.window = window;
    std::string scenario;
    for (int i = 0; i < 6; ++i) scenario += calls("read_file", 1);
    REQUIRE(
        stage.play(scenario + overflow + summary(kSummary) + summary(kSummary) + kDone, kPrompt));
    for (const auto& each : requests(stage)) {
      if (each.lineage == "compaction") return each.body;
    }
    return std::string();
  };
  const std::string refused =
      transcript_of(1'000'000,
                    "[[response]]\ntext = \"done\"\n"
                    "fail = { kind = \"context_overflow\", message = \"too long\", times = 1 }\n");
  // Six results of 5,000 bytes: half of what was refused holds about three of them, of which the
  // transcript may take 70 %.
  CHECK_THAT(refused, Catch::Contains("shortened for this transcript"));
  CHECK(refused.size() < 15'000);
  CHECK(refused.size() > 4'000);
  const std::string roomy = transcript_of(8'000, "");
  CHECK_THAT(roomy, !Catch::Contains("shortened for this transcript"));
}

TEST_CASE("stopping while the summary is made leaves the old view, with what it cost") {
  SmallWindow stage;
  int writes = 0;
  bool stopped = false;
  stage.hooks.before_write = [&](const journal::Append& append) -> std::optional<Error> {
    ++writes;
    for (const auto& bytes : append.events) {
      const auto event = view_event(as_bytes(bytes));
      if ((*event)->payload_type() != schema::Payload::CompactionStarted || stopped) continue;
      stopped = true;
      boost::asio::post(*stage.io, [&] { stage.driver->stop("enough"); });
    }
    return std::nullopt;
  };
  const auto report = stage.play(six_calls() + summary(kSummary), kPrompt);
  REQUIRE(report);
  CHECK(report->kind == Kind::interrupted);
  CHECK(stage.observer.count("CompactionCancelled") == 1);
  CHECK(stage.observer.count("CompactionCommitted") == 0);
  const auto state = stage.state();
  CHECK_FALSE(state->compaction->open);
  CHECK(state->compaction->committed == 0);
  stage.hooks.before_write = nullptr;
  const auto again = stage.play(six_calls() + summary(kSummary) + summary(kSummary), std::nullopt);
  REQUIRE(again);
  CHECK(again->kind == Kind::completed);
  CHECK(commits(stage).size() == 1);
  requests(stage);
}

TEST_CASE("a crash before or after any write of a compaction changes nothing that is sent") {
  const std::string scenario = six_calls() + summary("Now I will read on.") + summary(kSummary) +
                               summary(kSummary) + summary(kSummary);
  SmallWindow whole;
  REQUIRE(whole.play(scenario, kPrompt)->answer == "done");
  const auto expected = commits(whole);
  REQUIRE(expected.size() == 1);
  const std::string last = requests(whole).back().body;

  int writes = 0;
  {
    SmallWindow counting;
    counting.hooks.before_write = [&](const auto&) -> std::optional<Error> {
      ++writes;
      return std::nullopt;
    };
    REQUIRE(counting.play(scenario, kPrompt));
  }
  for (int at = 2; at <= writes; ++at) {
    CAPTURE(at);
    SmallWindow stage;
    int count = 0;
    stage.hooks.before_write = [&](const auto&) -> std::optional<Error> {
      if (++count < at) return std::nullopt;
      return Error{ErrorCode::io, "the process is dead"};
    };
    CHECK_FALSE(stage.play(scenario, kPrompt));
    stage.hooks.before_write = nullptr;
    auto report = stage.play(scenario, std::nullopt);
    REQUIRE(report);
    // A process that died after the turn's end left nothing to do.
    CHECK((report->answer == "done" || report->kind == Kind::nothing_to_do));
    CHECK(stage.state()->turn->outcome == schema::TurnOutcome::completed);
    const auto done = commits(stage);
    REQUIRE(done.size() == 1);
    // But for the folder that each stage has of its own.
    const auto without = [](std::string text, const std::string& what) {
      for (auto i = text.find(what); i != std::string::npos; i = text.find(what)) {
        text.erase(i, what.size());
      }
      return text;
    };
    CHECK(without(done[0].block, stage.spill.str()) ==
          without(expected[0].block, whole.spill.str()));
    CHECK(without(requests(stage).back().body, stage.spill.str()) ==
          without(last, whole.spill.str()));
  }
}

namespace {

/// Dies at the write that holds an event of this kind.
void die_at(Stage& stage, schema::Payload kind) {
  stage.hooks.before_write = [kind](const journal::Append& append) -> std::optional<Error> {
    for (const auto& bytes : append.events) {
      if ((*view_event(as_bytes(bytes)))->payload_type() != kind) continue;
      return Error{ErrorCode::io, "the process is dead"};
    }
    return std::nullopt;
  };
}

/// A person at the terminal, with an answer for each question about a summary.
struct SummaryApprover : FakeApprover {
  void ask_summary(const std::string& why, std::function<void(Answer)> done) override {
    whys.push_back(why);
    const auto kind = answers.empty() ? Answer::Kind::unavailable : answers.front();
    if (!answers.empty()) answers.erase(answers.begin());
    done({kind, "person:ann", ""});
  }
  std::vector<Answer::Kind> answers;
  std::vector<std::string> whys;
};

std::vector<std::string> cancel_reasons(Stage& stage) {
  std::vector<std::string> reasons;
  MemoryJournal journal(stage.store);
  REQUIRE(journal.read(stage.session, 1, journal::ReadMode::strict, [&](const auto& entry) {
    const auto* e = entry.event->payload_as_CompactionCancelled();
    if (e != nullptr) reasons.emplace_back(text_of(e->reason()));
    return true;
  }));
  return reasons;
}

}  // namespace

TEST_CASE("a compaction that a crash left open is cancelled once compaction is off") {
  SmallWindow stage;
  schema::Payload died = schema::Payload::ModelRequested;
  SECTION("before its summary was asked for") {}
  SECTION("with a summary that the gate accepted") {
    died = schema::Payload::CompactionCommitted;
  }
  const std::string scenario = six_calls() + summary(kSummary) + summary(kSummary);
  bool started = false;
  stage.hooks.before_write = [&](const journal::Append& append) -> std::optional<Error> {
    for (const auto& bytes : append.events) {
      const auto kind = (*view_event(as_bytes(bytes)))->payload_type();
      if (started && kind == died) return Error{ErrorCode::io, "the process is dead"};
      started = started || kind == schema::Payload::CompactionStarted;
    }
    return std::nullopt;
  };
  REQUIRE_FALSE(stage.play(scenario, kPrompt));
  REQUIRE(stage.state()->compaction->open);
  stage.hooks.before_write = nullptr;
  stage.limits.compaction.enabled = false;
  const auto report = stage.play(scenario, std::nullopt);
  REQUIRE(report);
  CHECK(report->kind == Kind::completed);
  CHECK(commits(stage).empty());
  CHECK(cancel_reasons(stage) == std::vector<std::string>{"compaction has been turned off"});
  requests(stage);
}

TEST_CASE("transcripts that are missing are made again, the same bytes, before the next request") {
  SmallWindow stage;
  REQUIRE(stage.play(six_calls() + summary(kSummary), kPrompt));
  const auto done = commits(stage);
  REQUIRE(done.size() == 1);
  const std::string before = tests::read_file(done[0].transcript);
  std::string folder = stage.spill.str();
  SECTION("the file is gone") {}
  SECTION("the file is another") {
    tests::write_file(done[0].transcript, std::string(before.size(), 'x'));
  }
  SECTION("the journal has moved") {
    folder = stage.spill.str() + "/elsewhere";
  }
  if (tests::read_file(done[0].transcript) == before) std::filesystem::remove(done[0].transcript);
  const std::string expected = folder + "/stage/compaction-1.txt";
  bool there = false;
  stage.spill_folder = folder;
  stage.hooks.before_write = [&](const journal::Append& append) -> std::optional<Error> {
    for (const auto& bytes : append.events) {
      const auto kind = (*view_event(as_bytes(bytes)))->payload_type();
      if (kind == schema::Payload::ModelRequested) there = std::filesystem::exists(expected);
    }
    return std::nullopt;
  };
  REQUIRE(stage.play(six_calls() + kDone, "And now?"));
  CHECK(there);
  CHECK(tests::read_file(expected) == before);
}

TEST_CASE("each pass after a refusal leaves much less, until nothing is gained") {
  SmallWindow stage;
  stage.limits.compaction.window = 1'000'000;  // what the configuration believes
  std::string scenario;
  for (int i = 0; i < 8; ++i) scenario += calls("read_file", 1);
  scenario +=
      "[[response]]\ntext = \"done\"\n"
      "fail = { kind = \"context_overflow\", message = \"too long\", times = 99 }\n";
  for (int i = 0; i < 8; ++i) scenario += summary(kSummary);
  const auto report = stage.play(scenario, kPrompt);
  REQUIRE(report);
  CHECK(report->kind == Kind::failed);
  CHECK_THAT(report->message, Catch::Contains("compaction cannot make it shorter"));
  MemoryJournal journal(stage.store);
  std::size_t passes = 0;
  REQUIRE(journal.read(stage.session, 1, journal::ReadMode::strict, [&](const auto& entry) {
    const auto* e = entry.event->payload_as_CompactionCommitted();
    if (e == nullptr) return true;
    ++passes;
    CHECK(*e->tokens_after() * 10 <= *e->tokens_before() * 9);
    return true;
  }));
  CHECK(passes >= 1);
  CHECK(stage.observer.count("CompactionStarted") <= passes + 1);
}

TEST_CASE("a person who attends says whether a refused summary is tried again") {
  SmallWindow stage;
  SummaryApprover person;
  stage.attending = &person;
  stage.mode = schema::ApprovalMode::interactive;
  const std::string refused = summary("Now I will read on.");
  SECTION("try again, and the next one is good") {
    person.answers = {Answer::Kind::allow_once};
    const auto report = stage.play(six_calls() + refused + refused + summary(kSummary), kPrompt);
    REQUIRE(report);
    CHECK(report->kind == Kind::completed);
    REQUIRE(commits(stage).size() == 1);
    CHECK(commits(stage)[0].summary == kSummary);
    REQUIRE(cancel_reasons(stage).size() == 1);
    CHECK_THAT(cancel_reasons(stage)[0], Catch::StartsWith("person:ann asked for another try: 2 "));
  }
  SECTION("go on without") {
    person.answers = {Answer::Kind::deny};
    REQUIRE(stage.play(six_calls() + refused + refused, kPrompt));
    REQUIRE(commits(stage).size() == 1);
    CHECK_THAT(commits(stage)[0].reason, Catch::EndsWith("person:ann chose to go on without one"));
  }
  SECTION("asked again after a crash between the answer and its record") {
    person.answers = {Answer::Kind::allow_once, Answer::Kind::deny};
    die_at(stage, schema::Payload::CompactionCancelled);
    CHECK_FALSE(stage.play(six_calls() + refused + refused, kPrompt));
    stage.hooks.before_write = nullptr;
    REQUIRE(stage.play(six_calls() + refused + refused, std::nullopt));
    CHECK(person.whys.size() == 2);
    CHECK(commits(stage).size() == 1);
  }
  SECTION("nobody attends") {
    const auto report = stage.play(six_calls() + refused + refused, kPrompt);
    REQUIRE(report);
    CHECK(report->kind == Kind::completed);
    REQUIRE(commits(stage).size() == 1);
    CHECK_THAT(commits(stage)[0].reason, !Catch::Contains("person"));
  }
  CHECK_FALSE(person.whys.empty());
  requests(stage);
}

TEST_CASE("nobody is asked about a summary in a session that bypasses approvals") {
  SmallWindow stage;
  SummaryApprover person;
  person.answers = {Answer::Kind::allow_once};
  stage.attending = &person;
  const std::string refused = summary("Now I will read on.");
  REQUIRE(stage.play(six_calls() + refused + refused, kPrompt));
  CHECK(person.whys.empty());
  CHECK(commits(stage).size() == 1);
}
