#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "journal/session_writer.h"
#include "schema/json.h"
#include "tests/support/cli.h"
#include "tests/support/journal_events.h"
#include "tests/support/temp_dir.h"

namespace daybook::tests {
namespace {

using Catch::Contains;
using Catch::StartsWith;

TEST_CASE("mistakes on the command line are one sentence and exit 2") {
  Cli cli;
  const auto usage = [&](const std::vector<std::string>& arguments) {
    const CliRun run = cli.run(arguments);
    CHECK(run.code == 2);
    CHECK(run.out.empty());
    return run.err;
  };
  CHECK(usage({"sesions"}) == "daybook: there is no command 'sesions'; did you mean 'sessions'?\n");
  CHECK(usage({"log", "x", "--folow"}) ==
        "daybook: 'log' has no option '--folow'; did you mean '--follow'?\n");
  CHECK(usage({"log", "x", "--folow=1"}) ==
        "daybook: 'log' has no option '--folow'; did you mean '--follow'?\n");
  CHECK(usage({"log", "x", "y"}) == "daybook: 'log' takes no further argument 'y'\n");
  CHECK(usage({"log"}) == "daybook: 'log' needs SESSION: name of a session, or a start of it\n");
  CHECK(usage({"log", "x", "--from", "-1"}) ==
        "daybook: --from: '-1' is not a whole number of 0 or more\n");
  CHECK(usage({"log", "x", "--from"}) == "daybook: --from needs a value, VERSION\n");
  CHECK(usage({"log", "x", "--from", "1", "--from", "2"}) ==
        "daybook: --from is given twice; give it once\n");
  CHECK(usage({"log", "x", "--full=3"}) == "daybook: --full takes no value\n");
  CHECK_THAT(usage({"--json", "log", "x"}), StartsWith("daybook: unknown option '--json'"));
  CHECK_THAT(usage({}), Contains("Subcommands:"));
}

TEST_CASE("help and version are data: on stdout, exit 0") {
  Cli cli;
  CHECK(cli.run({"--version"}).out == "daybook 0.1.0\n");
  const CliRun help = cli.run({"show", "--help"});
  CHECK(help.code == 0);
  CHECK_THAT(help.out, Contains("--at VERSION") && Contains("--journal DIR"));
}

TEST_CASE("a session is found by name or unique start") {
  Cli cli;
  MemoryJournal journal(cli.store);
  CHECK(cli.run({"show", "demo"}).err ==
        "daybook: there is no session 'demo': the journal is empty\n");
  write_demo(journal, "demo");
  write_demo(journal, "demo-2");
  write_demo(journal, "other");
  CHECK(cli.run({"show", "ot"}).code == 0);
  CHECK(cli.run({"show", "demo"}).code == 0);
  const CliRun ambiguous = cli.run({"show", "de"});
  CHECK(ambiguous.code == 2);
  CHECK(ambiguous.err ==
        "daybook: 'de' is the start of several sessions: demo, demo-2; write "
        "more of the name\n");
  const CliRun unknown = cli.run({"show", "dmeo"});
  CHECK(unknown.code == 3);
  CHECK(unknown.err == "daybook: there is no session 'dmeo'; did you mean 'demo'?\n");
  CHECK(cli.run({"show", "zzz"}).err ==
        "daybook: there is no session 'zzz'; there are: demo, demo-2, other\n");
  CHECK(cli.run({"show", "../x"}).code == 2);
}

TEST_CASE("sessions: a table for people") {
  Cli cli = with_demo();
  CHECK(cli.run({"sessions"}).out ==
        "SESSION  STATUS     TURNS  LAST ACTIVITY         MODEL             WORKSPACE    TITLE\n"
        "demo     completed  1      2026-01-01 00:00:15Z  script:demo.toml  /work space  List the "
        "files\n");
  cli.terminal = true;
  cli.columns = 91;
  CHECK(cli.run({"sessions"}).out ==
        "\x1b[1mSESSION  STATUS     TURNS  LAST ACTIVITY         MODEL             WORKSPACE    "
        "TITLE\x1b[0m\n"
        "demo     completed  1      2026-01-01 00:00:15Z  script:demo.toml  /work space  List "
        "the f…\n");
  cli.environment["NO_COLOR"] = "1";
  CHECK_THAT(cli.run({"sessions"}).out, StartsWith("SESSION"));
}

TEST_CASE("sessions --json: one stable object a line") {
  CHECK(with_demo().run({"sessions", "--json"}).out ==
        R"({"session":"demo","status":"completed","title":"List the files","agent":"cowork",)"
        R"("model":"script:demo.toml","workspace":"/work space","turns":1,"version":15,)"
        R"("started_at":"2026-01-01T00:00:01.000000000Z",)"
        R"("last_at":"2026-01-01T00:00:15.000000000Z","waiting_approval":[],)"
        R"("needs_reconcile":[]})"
        "\n");
}

/// Status of "demo" cut after so many events, with `more` appended.
std::string status_after(std::size_t events, std::vector<EventDraft> more = {}) {
  const Cli whole = with_demo();
  Cli cut;
  const auto& all = whole.store->sessions.at("demo").events;
  journal::Append append{.session = session_id("demo"),
                         .expected_version = 0,
                         .epoch = 1,
                         .acquire = true,
                         .events = {},
                         .blobs = {},
                         .request = {}};
  for (std::size_t i = 0; i < events; ++i) append.events.push_back(*all[i]);
  MemoryJournal journal(cut.store);
  const auto appended = append_and_wait(journal, append);
  REQUIRE(appended.has_value());
  if (!more.empty()) {
    journal::Batch batch;
    for (EventDraft& draft : more) batch.add(std::move(draft));
    auto pen = pen_for(session_id("demo"), appended->head);
    REQUIRE(append_and_wait(journal, pen.next(std::move(batch))).has_value());
  }
  return json_text(json_lines(cut.run({"sessions", "--json"}).out).at(0), "status");
}

TEST_CASE("status is computed from the events") {
  CHECK(status_after(3) == "new");
  CHECK(status_after(4) == "interrupted");
  CHECK(status_after(7) == "waiting-approval");
  CHECK(status_after(8) == "interrupted");
  CHECK(status_after(14) == "completed");
  const auto ended = [](schema::TurnOutcome outcome) {
    schema::TurnEndedT end;
    end.outcome = outcome;
    std::vector<EventDraft> drafts;
    drafts.push_back(draft(std::move(end)));
    return drafts;
  };
  CHECK(status_after(5, ended(schema::TurnOutcome::failed)) == "failed");
  CHECK(status_after(5, ended(schema::TurnOutcome::interrupted)) == "interrupted");
  CHECK(status_after(5, ended(schema::TurnOutcome::iteration_limit)) == "iteration-limit");
  schema::ToolOutcomeUnknownT unknown;
  unknown.call_id = "c1";
  std::vector<EventDraft> lost;
  lost.push_back(draft(unknown));
  CHECK(status_after(10, std::move(lost)) == "needs-reconcile");
  // A dead process left it running, and its effect cannot be checked.
  CHECK(status_after(10) == "needs-reconcile");
  schema::ToolReconciledT reconciled;
  reconciled.call_id = "c1";
  std::vector<EventDraft> settled;
  settled.push_back(draft(unknown));
  settled.push_back(draft(std::move(reconciled)));
  CHECK(status_after(10, std::move(settled)) == "interrupted");
  schema::ApprovalClearedT cleared;
  cleared.call_id = "c1";
  std::vector<EventDraft> no_longer;
  no_longer.push_back(draft(std::move(cleared)));
  CHECK(status_after(7, std::move(no_longer)) == "interrupted");
}

TEST_CASE("show: a transcript, long results cut, escapes made visible") {
  const std::string out = with_demo().run({"show", "demo"}).out;
  CHECK_THAT(out,
             StartsWith("    1  owner: pid 1 on tester (daybook run) (start)\n"
                        "    2  session started by daybook 0.1.0, agent cowork, workspace /work "
                        "space\n"
                        "    3  policy 1: interactive, /work space; set by start\n"
                        "    4  turn 1 started with script:demo.toml\n"
                        "    4  user\n"
                        "    List the files\n"
                        "    6  assistant\n"
                        "    I will look.\n"
                        "    6  c1: call of run_shell\n"
                        "    {\"command\":\"ls\"}\n"
                        "    7  c1: approval of run_shell asked for\n"
                        "    run `ls`\n"
                        "    8  c1: allow by tester for this call\n"
                        "    9  c1: run_shell allowed by person:tester, policy 1\n"
                        "   10  c1: started, attempt 1\n"
                        "   11  c1: exited 3, 1.2 s\n"
                        "    größe.txt\n"
                        "    \\x1b[31mred\n"));
  CHECK_THAT(out, Contains("    line\n    ... 2929 more bytes\n   13  assistant\n    There is one "
                           "file: größe.txt\n   14  turn 1 completed\n"));
}

TEST_CASE("show --at stops after a version") {
  Cli cli = with_demo();
  CHECK(cli.run({"show", "demo", "--at", "1"}).out ==
        "    1  owner: pid 1 on tester (daybook run) (start)\n");
}

TEST_CASE("a version that a session does not have is refused the same way everywhere") {
  Cli cli = with_demo();
  for (const std::string version : {"0", "16", "99"}) {
    for (const auto& command : {std::vector<std::string>{"show", "demo", "--at", version},
                                std::vector<std::string>{"log", "demo", "--from", version}}) {
      const CliRun run = cli.run(command);
      CHECK(run.code == 3);
      CHECK(run.out.empty());
      CHECK(run.err ==
            "daybook: session demo has no version " + version + "; its versions are 1 to 15\n");
    }
  }
  CHECK(cli.run({"log", "demo", "--from", "15"}).code == 0);
  CHECK(cli.run({"log", "demo", "--from", "0", "--follow"}).code == 3);
}

TEST_CASE("log --follow may start at the version that comes next") {
  Cli cli = with_demo();
  std::stop_source source;
  source.request_stop();
  cli.stop = source.get_token();
  const CliRun run = cli.run({"log", "demo", "--from", "16", "--follow"});
  CHECK(run.code == 0);
  CHECK(run.out.empty());
}

TEST_CASE("show --json: items with whole bodies") {
  const auto items = json_lines(with_demo().run({"show", "demo", "--json"}).out);
  REQUIRE(items.size() == 15);
  CHECK(items[4].dump() ==
        R"({"version":4,"recorded_at":"2026-01-01T00:00:04.000000000Z","turn":1,)"
        R"("kind":"prompt","title":"user","body":"List the files"})");
  CHECK(items[12].at("kind") == "text");
  CHECK(items[11].at("body") == demo_result());
}

TEST_CASE("show leaves visible holes where events or contents are damaged, and exits 6") {
  Cli cli = with_demo();
  cli.store->damage_event("demo", 3);
  cli.store->lose_event("demo", 4);
  cli.store->damage_blob(Digest::of(demo_result()));
  const CliRun run = cli.run({"show", "demo"});
  CHECK(run.code == 6);
  CHECK_THAT(run.out,
             Contains("    3  this event cannot be read\n") &&
                 Contains("    4  this event cannot be read\n    the event is missing\n") &&
                 Contains("   11  content cannot be read\n    blob ") &&
                 Contains("   14  turn 1 completed\n"));
}

TEST_CASE("log: every event as JSON, from a version on") {
  Cli cli = with_demo();
  const auto lines = json_lines(cli.run({"log", "demo"}).out);
  REQUIRE(lines.size() == 15);
  CHECK(lines[0].at("version") == 1);
  CHECK(lines[14].at("payload_type") == "OwnerReleased");
  CHECK(json_lines(cli.run({"log", "demo", "--from", "14"}).out).size() == 2);
  CHECK(cli.run({"log", "demo", "--from", "99"}).out.empty());
}

TEST_CASE("log: one event's JSON, member by member") {
  Cli cli = with_demo();
  const std::string line = cli.run({"log", "demo", "--from", "15"}).out;
  const auto& events = cli.store->sessions.at("demo").events;
  CHECK(line ==
        R"({"schema_major":1,"schema_minor":3,"id":"019b76da-e298-7007-)" +
            json_lines(line)[0].at("id").get<std::string>().substr(19, 17) +
            R"(","session":"demo","version":15,"recorded_at":"2026-01-01T00:00:15.000000000Z",)"
            R"("epoch":1,"turn":0,"causation":0,"prev_hash":")" +
            Digest::of(*events[13]).hex() +
            R"(","payload_type":"OwnerReleased","payload":{"reason":"end"}})"
            "\n");
}

TEST_CASE("log: enums, times, digests, blobs and absent values") {
  const auto lines = json_lines(with_demo().run({"log", "demo"}).out);
  const Json& response = lines[5].at("payload");
  CHECK(response.at("stop") == "tool-calls");
  CHECK(response.at("started_at") == "2026-01-01T00:00:00.000000005Z");
  CHECK(response.at("ended_at").is_null());
  CHECK(response.at("usage").at("input_total") == 12);
  CHECK_FALSE(response.at("usage").contains("cache_read"));
  CHECK(response.at("blocks")[1].at("kind") == "tool-call");
  CHECK(response.at("blocks")[1].at("text").dump() ==
        R"j({"size":16,"text":"{\"command\":\"ls\"}"})j");
  CHECK(lines[4].at("payload").at("appended")[0].dump() ==
        R"({"digest":")" + Digest::of("segment of the request").hex() + R"(","size":22})");
  CHECK(lines[7].at("payload").at("arguments_digest") == Digest::of(R"({"command":"ls"})").hex());
  const Json& receipt = lines[10].at("payload").at("receipt");
  CHECK(receipt.at("code") == 3);
  CHECK(receipt.at("files")[0].at("kind") == "create");
  CHECK_FALSE(receipt.at("files")[0].contains("before"));
  const Json& result = lines[10].at("payload").at("result");
  CHECK(result.at("blob") == Digest::of(demo_result()).hex());
  CHECK(result.at("text") == demo_result());
  CHECK(lines[2].at("payload").at("roots")[0].dump() ==
        R"({"path":"/work space","writable":true})");
}

TEST_CASE("log cuts long contents between characters unless --full is given") {
  Cli cli;
  MemoryJournal journal(cli.store);
  auto pen = pen_for(session_id("s"));
  REQUIRE(append_and_wait(journal, acquire(pen)).has_value());
  std::string text = "x";
  while (text.size() < 5'000) text += "ö";
  journal::Batch batch;
  schema::TurnEndedT ended;
  ended.answer = batch.content(text);
  batch.add(draft(std::move(ended)));
  schema::TurnEndedT binary;
  binary.answer = batch.content("\xff\x01");
  batch.add(draft(std::move(binary)));
  REQUIRE(append_and_wait(journal, pen.next(std::move(batch))).has_value());

  const auto cut = json_lines(cli.run({"log", "s"}).out);
  const Json& answer = cut[1].at("payload").at("answer");
  CHECK(answer.at("cut") == true);
  CHECK(answer.at("size") == 5'001);
  CHECK(answer.at("text").get<std::string>() == text.substr(0, 4'095));
  CHECK(cut[2].at("payload").at("answer").dump() == R"({"size":2,"base64":"/wE="})");
  const auto full = json_lines(cli.run({"log", "s", "--full"}).out);
  CHECK(full[1].at("payload").at("answer").at("text") == text);
  CHECK_FALSE(full[1].at("payload").at("answer").contains("cut"));
}

TEST_CASE("log shows damage as lines of its own and exits 6") {
  Cli cli = with_demo();
  cli.store->lose_event("demo", 2);
  cli.store->lose_blob(Digest::of(demo_result()));
  const CliRun run = cli.run({"log", "demo"});
  CHECK(run.code == 6);
  const auto lines = json_lines(run.out);
  REQUIRE(lines.size() == 15);
  CHECK(lines[1].dump() == R"({"version":2,"damage":"the event is missing"})");
  CHECK(lines[10].at("payload").at("result").contains("damage"));
}

TEST_CASE("log exits 6 when only a content is lost") {
  Cli cli = with_demo();
  cli.store->lose_blob(Digest::of(demo_result()));
  CHECK(cli.run({"log", "demo"}).code == 6);
}

/// Bytes of `bytes` with the payload's type, which is stored as one byte, changed to `type`.
std::string with_payload_type(std::string bytes, std::uint8_t type) {
  auto* event = flatbuffers::GetMutableRoot<flatbuffers::Table>(bytes.data());
  const bool changed = event->SetField<std::uint8_t>(schema::Event::VT_PAYLOAD_TYPE, type, 0);
  REQUIRE(changed);
  return bytes;
}

TEST_CASE("a payload of a kind from the future is shown as unknown, everywhere") {
  Cli cli;
  MemoryJournal journal(cli.store);
  auto pen = pen_for(session_id("s"));
  REQUIRE(append_and_wait(journal, acquire(pen)).has_value());
  journal::Append append = notice(pen, "later");
  append.events[0] = with_payload_type(append.events[0], 200);
  REQUIRE(append_and_wait(journal, append).has_value());

  const auto lines = json_lines(cli.run({"log", "s"}).out);
  CHECK(lines[1].at("payload_type") == "Unknown(200)");
  CHECK(lines[1].at("payload").at("unknown") == 200);
  CHECK_THAT(cli.run({"show", "s"}).out,
             Contains("event of a kind that this build does not know: Unknown(200)"));
  const CliRun audited = cli.run({"audit", "s"});
  CHECK(audited.code == 6);
  CHECK_THAT(audited.out, Contains("anomaly: version 2: an event of kind Unknown(200)"));
  const CliRun exported = cli.run({"export", "s"});
  CHECK(exported.code == 1);
  CHECK(json_lines(exported.out).back().at("complete") == false);
}

TEST_CASE("log --follow goes on with new events until it is stopped") {
  TempDir dir;
  const std::string folder = dir.str("journal");
  auto writer =
      journal::open_rocks_journal({folder, journal::OpenMode::create, "", {}, {}}).value();
  write_demo(*writer);

  // The reader's first poll finds the events of a writer that is still open; the test ends it
  // from the stream itself, once it has seen what it waits for.
  std::stop_source source;
  struct Watch : std::stringbuf {
    std::function<void(const std::string&)> on_flush;
    int sync() override {
      on_flush(str());
      return 0;
    }
  } buffer;
  bool appended = false;
  buffer.on_flush = [&](const std::string& text) {
    if (!appended && text.find("\"version\":15") != std::string::npos) {
      appended = true;
      auto pen = pen_for(session_id("demo"), *writer->head(session_id("demo")));
      REQUIRE(append_and_wait(*writer, acquire(pen, "second")).has_value());
    }
    if (text.find("\"version\":16") != std::string::npos) source.request_stop();
  };
  std::ostream out(&buffer);
  std::istringstream in;
  std::ostringstream err;
  tools::Context context{in, out, err, {}, "/", false, false, 0, source.get_token(), {}};
  context.open_journal = [](const std::string& where, journal::OpenMode mode) {
    return journal::open_rocks_journal({where, mode, "", {}, {}});
  };
  const std::vector<std::string> arguments = {"log", "demo", "--follow", "--journal", folder};
  CHECK(tools::run_cli(arguments, context) == 0);
  CHECK(err.str().empty());
  CHECK(json_lines(buffer.str()).size() == 16);
}

TEST_CASE("verify prints a summary, and each finding on its line with exit 6") {
  Cli cli = with_demo();
  const CliRun good = cli.run({"verify"});
  CHECK(good.code == 0);
  CHECK(good.out ==
        "1 session, 15 events, 2 blobs (3023 bytes, 0 unreferenced), 0 checkpoints: "
        "no damage\n");
  cli.store->lose_event("demo", 3);
  const CliRun bad = cli.run({"verify"});
  CHECK(bad.code == 6);
  CHECK_THAT(bad.out, StartsWith("session demo, version 3: the event is missing\n") &&
                          Contains("1 damaged\n"));
  const auto report = json_lines(cli.run({"verify", "--json"}).out).at(0);
  CHECK(report.at("damage")[0].at("where") == "session demo, version 3");
}

std::string from_base64(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6 | static_cast<std::uint32_t>(digits.find(c));
    count += 6;
    if (count >= 8) {
      count -= 8;
      bytes += static_cast<char>(bits >> count & 0xff);
    }
  }
  return bytes;
}

TEST_CASE("export holds everything that restores the session byte by byte") {
  Cli cli = with_demo();
  {
    MemoryJournal journal(cli.store);
    auto pen = pen_for(session_id("demo"), *journal.head(session_id("demo")));
    journal::Batch batch;
    schema::OwnerAcquiredT owner;
    batch.add(draft(std::move(owner)));
    schema::TurnEndedT binary;
    binary.answer = batch.content(std::string(2'000, '\xff'));
    batch.add(draft(std::move(binary)));
    REQUIRE(append_and_wait(journal, pen.acquire(std::move(batch))).has_value());
  }
  const CliRun run = cli.run({"export", "demo"});
  REQUIRE(run.code == 0);
  const auto lines = json_lines(run.out);
  CHECK(lines.front().at("daybook_export") == 1);
  CHECK(lines.front().at("version") == 17);
  CHECK(lines.back().dump() == R"({"line":"end","events":17,"blobs":3,"complete":true})");

  std::map<std::string, std::string> blobs;
  std::vector<std::string> events;
  for (const Json& line : lines) {
    if (line.at("line") == "blob") {
      blobs[line.at("digest")] = line.contains("text") ? line.at("text").get<std::string>()
                                                       : from_base64(line.at("base64"));
    } else if (line.at("line") == "event") {
      events.push_back(from_base64(line.at("bytes")));
    }
  }
  for (const auto& [digest, bytes] : blobs) CHECK(Digest::of(bytes).hex() == digest);
  CHECK(blobs.size() == cli.store->blobs.size());
  MemoryJournal journal(cli.store);
  CHECK(events == *event_bytes(journal, session_id("demo")));
}

TEST_CASE("export of a damaged session fails and leaves no end line") {
  Cli cli = with_demo();
  cli.store->lose_blob(Digest::of(demo_result()));
  const CliRun run = cli.run({"export", "demo"});
  CHECK(run.code == 6);
  CHECK(run.out.find("\"line\":\"end\"") == std::string::npos);
}

TEST_CASE("on disk: no journal, the writer's lock, a backup that verifies") {
  TempDir dir;
  Cli cli;
  cli.on_disk = true;
  cli.environment["DAYBOOK_HOME"] = dir.str("journal");
  const CliRun missing = cli.run({"sessions"});
  CHECK(missing.code == 3);
  CHECK_THAT(missing.err, StartsWith("daybook: there is no journal in " + dir.str("journal")));

  auto writer = journal::open_rocks_journal(
                    {dir.str("journal"), journal::OpenMode::create, "the writer", {}, {}})
                    .value();
  write_demo(*writer);
  CHECK_THAT(cli.run({"sessions"}).out, Contains("completed"));
  const CliRun verified = cli.run({"verify"});
  INFO(verified.out);
  CHECK(verified.code == 0);
  writer.reset();
  CHECK(cli.run({"backup", dir.str("copy")}).out ==
        "copied the journal to " + dir.str("copy") + "\n");
  CHECK(cli.run({"backup", dir.str("copy")}).code != 0);
  CHECK(cli.run({"verify", "--journal", dir.str("copy")}).code == 0);
  CHECK(cli.run({"export", "demo", "--journal", dir.str("copy")}).out ==
        cli.run({"export", "demo"}).out);
}

TEST_CASE("a session is running while the owner it names holds the journal") {
  TempDir dir;
  Cli cli;
  cli.on_disk = true;
  cli.environment["DAYBOOK_HOME"] = dir.str("journal");
  const auto open = [&](const std::string& owner) {
    return journal::open_rocks_journal(
               {dir.str("journal"), journal::OpenMode::create, owner, {}, {}})
        .value();
  };
  const auto status = [&] {
    return json_text(json_lines(cli.run({"sessions", "--json"}).out).at(0), "status");
  };
  auto writer = open("pid 7 (test)");
  journal::Batch batch;
  schema::OwnerAcquiredT owner;
  owner.owner = "pid 7 (test)";
  batch.add(draft(std::move(owner)));
  schema::TurnStartedT turn;
  turn.turn = 1;
  batch.add(draft(std::move(turn)));
  auto pen = pen_for(session_id("demo"));
  REQUIRE(append_and_wait(*writer, pen.acquire(std::move(batch))).has_value());
  CHECK(status() == "running");
  writer.reset();
  writer = open("pid 8 (another)");
  CHECK(status() == "interrupted");
}

TEST_CASE("a configuration that cannot be read is a usage error") {
  TempDir dir;
  Cli cli;
  cli.environment["DAYBOOK_CONFIG"] = dir.str("config.toml");
  write_file(dir.path() / "config.toml", "jurnal = 'x'");
  const CliRun run = cli.run({"sessions"});
  CHECK(run.code == 2);
  CHECK(run.err == "daybook: " + dir.str("config.toml") +
                       ":1: unknown key 'jurnal'; did you mean 'journal'?\n");
}

}  // namespace
}  // namespace daybook::tests
