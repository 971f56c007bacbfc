#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "journal/session_writer.h"
#include "tests/support/cli.h"
#include "tests/support/journal_events.h"

namespace daybook::tests {
namespace {

TEST_CASE("audit: one receipt a call, with the decision behind it") {
  const CliRun run = with_demo().run({"audit", "demo"});
  CHECK(run.code == 0);
  CHECK(run.out ==
        "VERSION  TURN  CALL  TOOL       STATE  BY             POLICY  EXIT      DURATION  OUTPUT"
        "             WHERE\n"
        "11       1     c1    run_shell  done   person:tester  1       exited 3  1.2 s     3001 " +
            Digest::of(demo_result()).hex().substr(0, 12) +
            "  /work space\n\n"
            "VERSION  CALL  CHANGE  BEFORE  AFTER         PATH\n"
            "11       c1    create  -       " +
            Digest::of("new").hex().substr(0, 12) + "  /work space/new.txt\n");
}

TEST_CASE("audit: a blob that an event names and the journal lost is damage at that version") {
  Cli cli = with_demo();
  cli.store->blobs.erase(Digest::of(demo_result()));
  const CliRun run = cli.run({"audit", "demo"});
  CHECK(run.code == 6);
  CHECK(run.out.empty());
  CHECK_THAT(run.err, Catch::StartsWith("daybook: session demo, version 11: blob "));
}

TEST_CASE("audit --json holds the receipt whole") {
  const auto lines = json_lines(with_demo().run({"audit", "demo", "--json"}).out);
  REQUIRE(lines.size() == 1);
  const Json& call = lines[0];
  CHECK(call.at("state") == "done");
  CHECK(call.at("arguments_digest") == Digest::of(R"({"command":"ls"})").hex());
  CHECK(call.at("enforcement") == "none");
  CHECK(call.at("receipt").at("duration_ns") == 1'250'000'000);
  CHECK(call.at("receipt").at("output_digest") == Digest::of(demo_result()).hex());
  CHECK(call.at("receipt").at("ended_at") == "2026-01-01T00:00:11.000000000Z");
}

/// The demo with another receipt: everything up to the call's start, then this end of it.
Cli demo_with(schema::ReceiptT receipt) {
  const Cli whole = with_demo();
  const auto& all = whole.store->sessions.at("demo").events;
  Cli cli;
  cli.store->blobs = whole.store->blobs;
  MemoryJournal journal(cli.store);
  journal::Append append{.session = session_id("demo"),
                         .expected_version = 0,
                         .epoch = 1,
                         .acquire = true,
                         .events = {},
                         .blobs = {},
                         .request = {}};
  for (std::size_t i = 0; i < 10; ++i) append.events.push_back(*all[i]);
  const auto appended = append_and_wait(journal, append);
  REQUIRE(appended.has_value());
  auto pen = pen_for(session_id("demo"), appended->head);
  schema::ToolCompletedT completed;
  completed.call_id = "c1";
  completed.receipt = std::make_unique<schema::ReceiptT>(std::move(receipt));
  journal::Batch batch;
  batch.add(draft(std::move(completed), 1));
  REQUIRE(append_and_wait(journal, pen.next(std::move(batch))).has_value());
  return cli;
}

TEST_CASE("audit: no output recorded is not an output of zero bytes") {
  schema::ReceiptT silent;
  silent.output = std::make_unique<schema::Stream>(0, 0, Digest::of("").fb());
  schema::ReceiptT none;
  none.output = std::make_unique<schema::Stream>();

  Cli cli = demo_with(std::move(silent));
  CHECK_THAT(cli.run({"audit", "demo"}).out,
             Catch::Contains("  0 us      0 " + Digest::of("").hex().substr(0, 12)));
  cli = demo_with(std::move(none));
  CHECK_THAT(cli.run({"audit", "demo"}).out, Catch::Contains("  ok    0 us      -"));
  const Json receipt = json_lines(cli.run({"audit", "demo", "--json"}).out).at(0).at("receipt");
  CHECK(receipt.at("output_digest").is_null());
  CHECK(receipt.at("output_bytes").is_null());
  CHECK(receipt.at("output_kept").is_null());
}

TEST_CASE("an exit has one spelling in tables, in JSON, in transcripts and in the log") {
  schema::ReceiptT receipt;
  receipt.exit = schema::ExitKind::timed_out;
  Cli cli = demo_with(std::move(receipt));
  CHECK_THAT(cli.run({"audit", "demo"}).out, Catch::Contains("  timed-out  "));
  CHECK(json_lines(cli.run({"audit", "demo", "--json"}).out).at(0).at("receipt").at("exit") ==
        "timed-out");
  CHECK_THAT(cli.run({"show", "demo"}).out, Catch::Contains("c1: timed-out, "));
  CHECK_THAT(cli.run({"log", "demo"}).out, Catch::Contains("\"exit\":\"timed-out\""));
}

TEST_CASE("audit: a call that was stopped is not done") {
  schema::ReceiptT receipt;
  receipt.exit = schema::ExitKind::user_stop;
  Cli cli = demo_with(std::move(receipt));
  const auto line = json_lines(cli.run({"audit", "demo", "--json"}).out).at(0);
  CHECK(line.at("state") == "stopped");
  CHECK(line.at("receipt").at("exit") == "user-stop");
}

TEST_CASE("audit reads strictly: damage is an error that says where, exit 6") {
  Cli cli = with_demo();
  cli.store->lose_event("demo", 9);
  const CliRun run = cli.run({"audit", "demo"});
  CHECK(run.code == 6);
  CHECK(run.out.empty());
  CHECK(run.err == "daybook: session demo, version 9: the event is missing\n");
}

/// Audits the demo's first events followed by `drafts`.
CliRun audit_after(std::size_t events, std::vector<EventDraft> drafts) {
  const Cli whole = with_demo();
  const auto& all = whole.store->sessions.at("demo").events;
  Cli cli;
  cli.store->blobs = whole.store->blobs;
  MemoryJournal journal(cli.store);
  journal::Append append{.session = session_id("demo"),
                         .expected_version = 0,
                         .epoch = 1,
                         .acquire = true,
                         .events = {},
                         .blobs = {},
                         .request = {}};
  for (std::size_t i = 0; i < events; ++i) append.events.push_back(*all[i]);
  const auto appended = append_and_wait(journal, append);
  REQUIRE(appended.has_value());
  auto pen = pen_for(session_id("demo"), appended->head);
  for (EventDraft& draft : drafts) {
    journal::Batch batch;
    batch.add(std::move(draft));
    REQUIRE(append_and_wait(journal, pen.next(std::move(batch))).has_value());
  }
  return cli.run({"audit", "demo", "--json"});
}

template <class... Payloads>
std::vector<EventDraft> drafts_of(Payloads... payloads) {
  std::vector<EventDraft> drafts;
  (drafts.push_back(draft(std::move(payloads))), ...);
  return drafts;
}

TEST_CASE("audit exits 5 while anything may have run that nobody knows of") {
  schema::ToolOutcomeUnknownT unknown;
  unknown.call_id = "c1";
  unknown.reason = "the process died";
  schema::ToolReconciledT applied;
  applied.call_id = "c1";
  applied.outcome = schema::Reconciliation::applied;
  applied.actor = "tester";

  const CliRun started = audit_after(10, {});
  CHECK(started.code == 5);
  CHECK(json_lines(started.out)[0].at("state") == "unsettled");
  const CliRun lost = audit_after(10, drafts_of(unknown));
  CHECK(lost.code == 5);
  CHECK(json_lines(lost.out)[0].at("note") == "the process died");
  const CliRun settled = audit_after(10, drafts_of(unknown, applied));
  CHECK(settled.code == 0);
  CHECK(json_lines(settled.out)[0].at("reconciled_as") == "applied");
  CHECK(json_lines(settled.out)[0].at("reconciled_by") == "tester");
  CHECK(audit_after(7, {}).code == 0);
  CHECK(json_lines(audit_after(7, {}).out)[0].at("state") == "waiting");
}

TEST_CASE("audit keeps a retry apart from the attempt before it") {
  schema::ToolOutcomeUnknownT unknown;
  unknown.call_id = "c1";
  schema::ToolReconciledT retry;
  retry.call_id = "c1";
  retry.outcome = schema::Reconciliation::retry;
  schema::ToolDispatchedT again;
  again.call_id = "c1";
  again.tool = "run_shell";
  again.attempt = 2;
  again.policy_generation = 1;
  again.arguments_digest = std::make_unique<schema::Digest>(Digest::of(R"({"command":"ls"})").fb());
  const auto lines =
      json_lines(audit_after(10, drafts_of(unknown, retry, schema::ToolDispatchedT(again))).out);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0].at("attempt") == 1);
  CHECK(lines[0].at("reconciled_as") == "retry");
  CHECK(lines[1].at("attempt") == 2);
  CHECK(lines[1].at("state") == "unsettled");
}

TEST_CASE("audit exits 6 for what the events cannot account for") {
  const auto anomaly = [](std::size_t events, std::vector<EventDraft> drafts) {
    const CliRun run = audit_after(events, std::move(drafts));
    CHECK(run.code == 6);
    return json_text(json_lines(run.out).back(), "what");
  };
  schema::ToolDispatchedT dispatched;
  dispatched.call_id = "c1";
  dispatched.attempt = 1;
  dispatched.policy_generation = 1;
  dispatched.arguments_digest =
      std::make_unique<schema::Digest>(Digest::of(R"({"command":"ls"})").fb());
  schema::ToolDispatchedT again(dispatched);
  CHECK(anomaly(8, drafts_of(schema::ToolDispatchedT(dispatched))) ==
        "version 9: call c1 ran without a decision");
  CHECK(anomaly(10, drafts_of(schema::ToolDispatchedT(dispatched))) ==
        "version 11: call c1 ran again without a decision to retry");
  again.policy_generation = 7;
  CHECK(anomaly(9, drafts_of(schema::ToolDispatchedT(again))) ==
        "version 10: call c1 ran under policy generation 7, which no event made");
  again.policy_generation = 1;
  again.arguments_digest = std::make_unique<schema::Digest>(Digest::of("{}").fb());
  CHECK(anomaly(9, drafts_of(schema::ToolDispatchedT(again))) ==
        "version 10: call c1 ran with other arguments than were decided on");
  schema::ToolCompletedT completed;
  completed.call_id = "c1";
  completed.receipt = std::make_unique<schema::ReceiptT>();
  CHECK(anomaly(9, drafts_of(schema::ToolCompletedT(completed))) ==
        "version 10: call c1 has a receipt but was never started");
  CHECK(anomaly(11, drafts_of(schema::ToolCompletedT(completed))) ==
        "version 12: call c1 has two receipts for one attempt");
  schema::ToolReconciledT reconciled;
  reconciled.call_id = "c1";
  CHECK(anomaly(11, drafts_of(schema::ToolReconciledT(reconciled))) ==
        "version 12: call c1 was reconciled though its outcome was known");
}

}  // namespace
}  // namespace daybook::tests
