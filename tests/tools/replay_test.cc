// Recorded compactions replayed through the command line, against a model server that fails as
// models were seen to fail: asked first and read last it goes on with the session, and a small
// budget is spent on reasoning.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>

#include "tests/support/build_paths.h"
#include "tests/support/cli.h"
#include "tests/support/temp_dir.h"
#include "tests/tools/recorded_sessions.h"

namespace daybook::tests {
namespace {

using Catch::Contains;

constexpr std::size_t kSessions = 4;
constexpr std::size_t kCases = 20;
constexpr std::size_t kUsableOld = 4;     // of the 20, by the shape that failed
constexpr std::size_t kUsableMoved = 18;  // with the instruction moved behind the transcript

/// Knows the cases by their transcripts, in the order it first sees them.
class FailingModel {
 public:
  ServerScript operator()(const SeenRequest& request) {
    const auto body = parse_json(request.body);
    const std::string prompt = (*body)["messages"].back()["content"];
    const auto budget = (*body)["max_tokens"].get<int>();
    const auto at = prompt.find("<transcript ");
    const auto known = cases_.emplace(prompt.substr(at, 24), cases_.size());
    const std::size_t number = known.first->second;
    const bool asked_first = at > 0;
    if (asked_first) {
      return {send(number < kUsableOld ? good() : failing(number))};
    }
    const bool thinks_too_long = budget < 16'000 && number >= kUsableMoved;
    return {send(thinks_too_long ? streamed("", "Let me think about it.", "length") : good())};
  }

 private:
  static std::string good() { return streamed(good_summary(), "", "stop"); }
  static std::string failing(std::size_t number) {
    switch (number % 4) {
      case 0:  // goes on in the transcript's voice
        return streamed("Now I will read the next file.", "", "stop");
      case 1:  // spends the budget on reasoning
        return streamed("", "Let me think about it.", "length");
      case 2:  // stops early
        return streamed("## Goal and constraints\nRead", "", "stop");
      default:
        return streamed("", "", "stop");
    }
  }

  std::map<std::string, std::size_t> cases_;
};

struct Recorded : RecordedSessions {
  Recorded() : RecordedSessions(kSessions) { server.answer_with(FailingModel()); }

  CliRun run_arms(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {
        "run",    "--name",     "r",      "--model",     "fake:m",   "--only", "old-3000",
        "--only", "moved-3000", "--only", "moved-16000", "--prices", prices()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return replay(arguments);
  }
};

}  // namespace

TEST_CASE("the failures that were recorded come out of a replay with their shape") {
  Recorded recorded;
  const auto listed = json_lines(recorded.replay({"list", "--json"}).out);
  REQUIRE(listed.size() == kCases);
  CHECK(listed[0]["source"] == "daybook");
  CHECK(listed[0]["end"] == "summary");

  const auto run = recorded.run_arms();
  INFO(run.err);
  REQUIRE(run.code == 0);
  CHECK(recorded.server.requests().size() == 3 * kCases);
  CHECK(recorded.cli.run({"verify", "--requests"}).code == 0);
  const auto shown = recorded.replay({"report", "r", "--prices", recorded.prices(), "--json"});
  INFO(shown.err);
  REQUIRE(shown.code == 0);
  const Json report = json_lines(shown.out).at(0);
  CHECK(report["cases"] == kCases);
  CHECK(report["sessions"] == kSessions);

  const Json& old_shape = arm(report, "old-3000");
  const Json& moved = arm(report, "moved-3000");
  const Json& roomy = arm(report, "moved-16000");
  CHECK(old_shape["usable"] == 4);
  CHECK(moved["usable"] == 18);
  CHECK(roomy["usable"] == 20);
  // Wilson's limits at 95 %, by Python with z = 1.959963984540054.
  CHECK(old_shape["usable_low"].get<double>() == Approx(0.080658).margin(1e-6));
  CHECK(old_shape["usable_high"].get<double>() == Approx(0.416017).margin(1e-6));
  CHECK(moved["usable_low"].get<double>() == Approx(0.698966).margin(1e-6));
  CHECK(moved["usable_high"].get<double>() == Approx(0.972134).margin(1e-6));
  CHECK(roomy["usable_low"].get<double>() == Approx(0.838875).margin(1e-6));
  // 20 calls of 2,000 tokens at $1 and 500 at $2 a million: $0.06; a usable one: a quarter of that.
  CHECK(old_shape["cost_usd"] == "0.06");
  CHECK(old_shape["cost_per_usable_usd"] == "0.015");
  CHECK(roomy["cost_per_usable_usd"] == "0.003");
  CHECK(old_shape["refused_for"]["G5-next-action"] == 4);
  CHECK(moved["refused_for"]["G1-empty"] == 2);

  for (const auto& pair : report["pairs"]) {
    const std::string names = pair["a"].get<std::string>() + " " + pair["b"].get<std::string>();
    // Exact binomial tails: 2 * 0.5^14, 2 * 0.5^16, and 2 against 0; Holm multiplies by 2, 3, 1.
    std::map<std::string, std::pair<double, double>> expected = {
        {"old-3000 moved-3000", {1.220703e-4, 2.441406e-4}},
        {"old-3000 moved-16000", {3.0517578e-5, 9.1552734e-5}},
        {"moved-3000 moved-16000", {0.5, 0.5}},
        {"moved-3000 old-3000", {1.220703e-4, 2.441406e-4}},
        {"moved-16000 old-3000", {3.0517578e-5, 9.1552734e-5}},
        {"moved-16000 moved-3000", {0.5, 0.5}},
    };
    CAPTURE(names);
    CHECK(pair["mcnemar_p"].get<double>() == Approx(expected.at(names).first).margin(1e-6));
    CHECK(pair["holm_p"].get<double>() == Approx(expected.at(names).second).margin(1e-6));
  }
}

TEST_CASE("the report for people says the same") {
  Recorded recorded;
  REQUIRE(recorded.run_arms().code == 0);
  const auto shown = recorded.replay({"report", "r", "--prices", recorded.prices()});
  CHECK_THAT(shown.out, Contains("4/20    8 to 42%"));
  CHECK_THAT(shown.out, Contains("18/20   70 to 97%"));
  CHECK_THAT(shown.out, Contains("20/20   84 to 100%"));
  CHECK_THAT(shown.out, Contains("p = 0.0001, with all comparisons (Holm) p = 0.0002: differ"));
  CHECK_THAT(shown.out,
             Contains("p = 0.5000, with all comparisons (Holm) p = 0.5000: no difference"));
}

TEST_CASE("a replay that ends early goes on, and pays for no call again") {
  Recorded recorded;
  const auto stopped = recorded.run_arms({"--max-cost", "0.05"});
  INFO(stopped.err);
  CHECK(stopped.code == 7);
  CHECK_THAT(stopped.err, Contains("--max-cost"));
  const std::size_t before = recorded.server.requests().size();
  CHECK(before > 0);
  CHECK(before < 3 * kCases);
  const auto again = recorded.replay({"run", "--name", "r"});
  INFO(again.err);
  CHECK(again.code == 0);
  CHECK(recorded.server.requests().size() == 3 * kCases);
  const auto third = recorded.replay({"run", "--name", "r"});
  CHECK(third.code == 0);
  CHECK(recorded.server.requests().size() == 3 * kCases);
  CHECK_THAT(third.out, Contains("60 of 60 summaries made"));
}

TEST_CASE("a replay that has made nothing yet shows no rates, and how to go on") {
  Recorded recorded;
  CHECK(recorded.run_arms({"--max-cost", "0"}).code == 7);
  const auto report = recorded.replay({"report", "r", "--prices", recorded.prices()});
  CHECK(report.code == 0);
  CHECK_THAT(report.out, Contains("0 of 60 summaries made"));
  CHECK_THAT(report.out, !Contains("0/0") && !Contains("against"));
  const auto shown = recorded.replay({"show", "r"});
  CHECK(shown.code == 0);
  CHECK_THAT(shown.err, Contains("0 of 60 summaries made, none to show; go on with: daybook replay "
                                 "run --name r"));
}

TEST_CASE("a refused key says nothing about an arm: its summary is made by the next run") {
  Recorded recorded;
  recorded.server.on_request(
      {send(response(401, "application/json", R"({"error":{"message":"no such key"}})"))});
  const auto refused = recorded.run_arms();
  CHECK(refused.code == 1);
  CHECK_THAT(refused.err, Contains("no such key"));
  CHECK_THAT(refused.err, Contains("replay run --name r"));
  const auto again = recorded.replay({"run", "--name", "r", "--prices", recorded.prices()});
  INFO(again.err);
  CHECK(again.code == 0);
  CHECK(recorded.server.requests().size() == 3 * kCases + 1);
  CHECK_THAT(again.out, Contains("60 of 60 summaries made"));
}

TEST_CASE("without a model only what code can do is done, and nothing leaves the machine") {
  Recorded recorded;
  REQUIRE(recorded.replay({"run", "--name", "m"}).code == 0);
  CHECK(recorded.server.requests().empty());
  const auto shown = recorded.replay({"report", "m"});
  CHECK_THAT(shown.out, Contains("mechanical"));
  CHECK_THAT(shown.out, !Contains("old-3000"));
}

TEST_CASE("a summary from anywhere is scored against a recorded compaction") {
  Recorded recorded;
  const auto listed = json_lines(recorded.replay({"list", "--json"}).out);
  const std::string id = listed.at(0)["id"];
  write_file(recorded.place.path() / "mine.md", good_summary());
  const auto scored =
      recorded.replay({"score", recorded.place.str() + "/mine.md", "--case", id, "--json"});
  INFO(scored.err);
  REQUIRE(scored.code == 0);
  CHECK(json_lines(scored.out).at(0)["verdict"] == "usable");
  write_file(recorded.place.path() / "bad.md", "Now I will read the next file.");
  const auto bad =
      recorded.replay({"score", recorded.place.str() + "/bad.md", "--case", id, "--json"});
  CHECK(json_lines(bad.out).at(0)["verdict"] == "unusable");
}

TEST_CASE("the shipped session replays as the guide shows") {
  Cli cli;
  const auto imported = cli.run({"import", source_path("/docs/examples/repair-session.jsonl")});
  INFO(imported.err);
  REQUIRE(imported.code == 0);
  // As many as it has ModelResponded events: eight answers of the agent and three summaries.
  CHECK_THAT(imported.out, Contains("model calls: 11\n"));
  const auto again =
      cli.run({"import", "--json", source_path("/docs/examples/repair-session.jsonl")});
  CHECK(json_lines(again.out).back()["calls"] == 11);
  const auto listed = json_lines(cli.run({"replay", "list", "--json"}).out);
  REQUIRE(listed.size() == 2);
  CHECK(listed[0]["id"] == "repair@21");
  CHECK(listed[0]["calls"] == 2);
  CHECK(listed[1]["id"] == "repair@63");
  CHECK_THAT(cli.run({"replay", "show", "repair@63"}).out, Contains("gate: usable"));
  REQUIRE(cli.run({"replay", "run", "--name", "first"}).code == 0);
  const std::string guide = read_file(source_path("/docs/replay.md"));
  // The row of the report stands in the guide as it is printed.
  const std::string report = cli.run({"replay", "report", "first"}).out;
  const auto row = report.find("mechanical  ");
  REQUIRE(row != std::string::npos);
  CHECK_THAT(guide, Contains(report.substr(row, report.find('\n', row) - row)));
  CHECK(cli.run({"replay", "session", "repair"}).code == 0);
}

TEST_CASE("the summaries of a replay are shown with their arm and their text") {
  Cli cli;
  REQUIRE(cli.run({"import", source_path("/docs/examples/repair-session.jsonl")}).code == 0);
  REQUIRE(cli.run({"replay", "run", "--name", "first"}).code == 0);
  const auto lines = json_lines(cli.run({"replay", "show", "first", "--json"}).out);
  REQUIRE(lines.size() == 2);
  for (const auto& line : lines) {
    CHECK(line["arm"] == "mechanical");
    CHECK(line["replicate"] == 1);
    CHECK(line["attempt"] == 1);
    CHECK(line["done"] == true);
    CHECK(line["verdict"] == "usable");
    CHECK_THAT(line["text"].get<std::string>(), Contains("## Next step"));
  }
  // The goal and the commands are in it, from the span alone.
  const std::string text = lines[1]["text"];
  CHECK_THAT(text, Contains("Make tests/test_config.py pass."));
  CHECK_THAT(text, Contains("tests/test_config.py"));
  const auto near = cli.run({"replay", "run", "--name", "fir"});
  CHECK(near.code == 0);
  CHECK_THAT(near.err, Contains("'fir' is a new replay") && Contains("'first' is another"));
}

TEST_CASE("what is sent when a summary is refused is the block without it, and it is scored") {
  TempDir place;
  Cli cli;
  REQUIRE(cli.run({"import", source_path("/docs/examples/repair-session.jsonl")}).code == 0);
  // A scenario for a replay needs no response.
  write_file(place.path() / "bad.toml",
             "[[summary]]\ntext = 'Now I read on.'\n[[summary]]\ntext = 'Now I read on.'\n");
  const auto run = cli.run({"replay", "run", "--name", "bad", "--only", "moved-16000", "--model",
                            "script:" + place.str() + "/bad.toml"});
  INFO(run.err);
  REQUIRE(run.code == 0);
  const auto report = json_lines(cli.run({"replay", "report", "bad", "--json"}).out).at(0);
  const Json& arm = report["arms"].at(0);
  CHECK(arm["usable"] == 0);
  CHECK(arm["needed_recall"] == 0);
  CHECK(arm["block_needed_recall"].get<double>() > 0.2);
  CHECK(arm["block_survival"].get<double>() > 0.2);
  // Nothing was sent that names anything: there is no share of what is right in it.
  CHECK_FALSE(arm.contains("precision"));
  const std::string row = cli.run({"replay", "report", "bad"}).out;
  CHECK_THAT(row, Contains(" 0%    -          74% "));
}

TEST_CASE("results of tests that never ran, and a rule that is quoted and broken, are told") {
  TempDir place;
  Cli cli;
  REQUIRE(cli.run({"import", source_path("/docs/examples/repair-session.jsonl")}).code == 0);
  // The tests ran only behind the span of the shipped session's first compaction.
  const auto shown = cli.run({"replay", "show", "repair@21"});
  CHECK_THAT(shown.out,
             Contains("gate: repairable\n") &&
                 Contains("G10-unbacked-completion: python3 tests/test_config.py: 2 of 4 "
                          "passed\n") &&
                 Contains("G10-unbacked-completion: exit 1\n"));
  const auto scored = [&](std::string_view results, std::string_view state) {
    std::string text =
        "## Goal and constraints\n\"Make tests/test_config.py pass.\" \"Do not touch "
        "src/relay.py\", and \"keep the default port 8443\".\n\n## Decisions\nnone\n\n## "
        "Files\n- src/config.py: edited, parse_line strips the value now\n\n## Identifiers and "
        "numbers\nport 8443\n\n## Commands and results\n- ";
    text += results;
    text +=
        "\n\n## Errors and failed attempts\nFAIL inline comment, which parse_line kept\n\n## "
        "State of the work\n";
    text += state;
    text += "\n\n## Next step\nTell the user.\n";
    write_file(place.path() / "mine.md", text);
    const std::string file = place.str() + "/mine.md";
    return json_lines(cli.run({"replay", "score", file, "--case", "repair@63", "--json"}).out)
        .at(0);
  };
  const auto good = scored("python3 tests/test_config.py: 4 of 4 passed, exit 0", "All is done.");
  CHECK(good["verdict"] == "usable");
  CHECK(good["block_needed_recall"] == 1);
  CHECK(scored("python3 tests/test_config.py: 3 of 4 passed, exit 7", "All is done.")["verdict"] ==
        "repairable");
  const auto broken = scored("python3 tests/test_config.py: 4 of 4 passed, exit 0",
                             "The default port was changed to 9443.");
  // The rule stands in the block as the user wrote it, and is broken there as well.
  CHECK(broken["needed_recall"].get<double>() < 1);
  CHECK(broken["block_needed_recall"].get<double>() < 1);
}

TEST_CASE("of a summary that names nothing no precision is shown") {
  TempDir place;
  Cli cli;
  REQUIRE(cli.run({"import", source_path("/docs/examples/repair-session.jsonl")}).code == 0);
  write_file(place.path() / "empty.md", "");
  const std::string file = place.str() + "/empty.md";
  CHECK_THAT(cli.run({"replay", "score", file, "--case", "repair@63"}).out,
             Contains("precision of names and figures: -\n"));
  const auto scored =
      json_lines(cli.run({"replay", "score", file, "--case", "repair@63", "--json"}).out).at(0);
  CHECK_FALSE(scored.contains("precision"));
  CHECK(scored["survival"] == 0);
  CHECK(scored["needed_recall"] == 0);
}

TEST_CASE("a replay whose recorded sessions are not here says which one, and what to do") {
  TempDir place;
  Cli first;
  REQUIRE(first.run({"import", source_path("/docs/examples/repair-session.jsonl")}).code == 0);
  REQUIRE(first.run({"replay", "run", "--name", "first"}).code == 0);
  write_file(place.path() / "first.jsonl", first.run({"export", "first"}).out);
  Cli second;
  REQUIRE(second.run({"import", place.str() + "/first.jsonl"}).code == 0);
  for (const char* action : {"report", "show"}) {
    const auto run = second.run({"replay", action, "first"});
    CHECK(run.code == 3);
    CHECK_THAT(run.err, Contains("session repair") && Contains("is not in this journal") &&
                            Contains("daybook import"));
  }
}

TEST_CASE("an imported compaction without summary or span says what is missing") {
  TempDir place;
  Cli cli;
  const std::string common =
      R"("isSidechain":false,"userType":"external","cwd":"/w","version":"2.1.60",)";
  const auto user = [&](const std::string& id, const std::string& parent, const std::string& text) {
    return fmt::format(
        R"({{"parentUuid":{},{}"sessionId":"empty","type":"user","uuid":"{}",)"
        R"("timestamp":"2026-10-01T10:00:0{}.000Z","message":{{"role":"user","content":"{}"}}}})"
        "\n",
        parent, common, id, id.back(), text);
  };
  const auto boundary = [&](const std::string& id) {
    return fmt::format(R"({{"parentUuid":null,{}"sessionId":"empty","type":"system","uuid":"{}",)"
                       R"("timestamp":"2026-10-01T10:00:0{}.000Z","subtype":"compact_boundary",)"
                       R"("compactMetadata":{{"trigger":"auto","preTokens":155103}}}})"
                       "\n",
                       common, id, id.back());
  };
  write_file(place.path() / "empty.jsonl", user("u1", "null", "Build it") + boundary("u2") +
                                               boundary("u3") + user("u4", "\"u3\"", "Next"));
  const auto imported = cli.run({"import", place.str() + "/empty.jsonl"});
  INFO(imported.err);
  REQUIRE(imported.code == 0);
  const auto listed = cli.run({"replay", "list", "--json"});
  const auto lines = json_lines(listed.out);
  REQUIRE(lines.size() == 2);
  CHECK(lines[0]["end"] == "unknown");
  CHECK_THAT(lines[0]["missing"].get<std::string>(), Contains("the summary that was used"));
  CHECK(lines[0]["pieces"] == 1);
  CHECK(lines[1]["pieces"] == 0);
  CHECK_THAT(lines[1]["missing"].get<std::string>(), Contains("everything that it replaced"));
  const auto table = cli.run({"replay", "list"});
  CHECK_THAT(table.err, Contains("END is unknown of 2") && Contains("1 compaction cannot be"));
  const auto run = cli.run({"replay", "run", "--name", "r"});
  CHECK(run.code == 0);
  CHECK_THAT(run.err, Contains("1 compaction is left out"));
  CHECK_THAT(run.out, Contains("1 of 1 summary made"));
}

TEST_CASE("a model that refuses from the start leaves the replay open") {
  Recorded recorded;
  recorded.server.answer_with([](const SeenRequest&) -> ServerScript {
    return {
        send("HTTP/1.1 404 Not Found\r\nContent-Type: application/json\r\nContent-Length: 38\r\n"
             "\r\n{\"error\":{\"message\":\"no such model\"}}  ")};
  });
  const auto refused = recorded.run_arms();
  CHECK(refused.code == 1);
  CHECK_THAT(refused.err, Contains("answered HTTP 404: no such model"));
  recorded.server.answer_with(FailingModel());
  const auto again = recorded.replay({"run", "--name", "r", "--prices", recorded.prices()});
  CHECK(again.code == 0);
  CHECK_THAT(again.out, Contains("60 of 60 summaries made"));
}

TEST_CASE("a reply that was cut off costs at most its price, in the report as in the run") {
  Recorded recorded;
  std::size_t asked = 0;
  FailingModel model;
  recorded.server.answer_with([&](const SeenRequest& request) -> ServerScript {
    // Cut once, in the middle of the stream.
    if (++asked == 1) {
      return {send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: "
                   "900\r\n\r\ndata: {\"id\":\"r\",\"choices\":[]}\n\n"),
              cut()};
    }
    return model(request);
  });
  const auto run =
      recorded.replay({"run", "--name", "r", "--model", "fake:m", "--only", "moved-16000",
                       "--sessions", "s1", "--prices", recorded.prices()});
  INFO(run.err);
  REQUIRE(run.code == 0);
  // Why it waited is said.
  CHECK_THAT(run.err, Contains("fake:m at ") && Contains("trying again in ") &&
                          Contains("(attempt 2 of 5)"));
  CHECK_THAT(run.out, Contains("at most (1 call without an answer may have been billed)"));
  const auto shown = recorded.replay({"report", "r", "--prices", recorded.prices()});
  CHECK_THAT(shown.out, Contains("at most $") && !Contains("not known"));
  const Json report =
      json_lines(recorded.replay({"report", "r", "--prices", recorded.prices(), "--json"}).out)
          .at(0);
  CHECK(arm(report, "moved-16000")["at_most_calls"] == 1);
  CHECK(arm(report, "moved-16000")["unknown_calls"] == 0);
}

TEST_CASE("mistakes around replays are named") {
  Recorded recorded;
  const auto expect = [&](std::vector<std::string> arguments, int code, const std::string& said) {
    const auto run = recorded.replay(std::move(arguments));
    CAPTURE(run.err);
    CHECK(run.code == code);
    CHECK_THAT(run.err, Contains(said));
  };
  expect({"lst"}, 2, "did you mean 'list'?");
  expect({"show"}, 2, "needs a recorded compaction");
  expect({"show", "s1@1"}, 3, "has no compaction at version 1");
  expect({"show", "s1@x"}, 2, "SESSION@VERSION");
  expect({"show", "s9@20"}, 3, "there is no session 's9'");
  expect({"report", "s1"}, 2, "is not a replay");
  expect({"run", "--only", "old"}, 2, "there is no arm 'old'");
  expect({"run", "--only", "old-3000"}, 2, "names no model");
  expect({"run", "--model", "fake:m", "--max-cost", "much"}, 2, "amount in dollars");
  expect({"run", "--model", "fake:m", "--max-cost", "1"}, 2, "there is no price for fake:m");
  expect({"run", "--name", "m", "--only", "mechanical"}, 0, "");
  expect({"run", "--name", "m", "--seed", "3"}, 2, "--seed does not go with it");
  expect({"run", "--replicates", "0"}, 2, "--replicates must be");
  expect({"session", "s1", "s2"}, 2, "takes nothing else");
  expect({"session", "m"}, 2, "session m is a replay");
  expect({"run", "--model", "fake:m\x1b[2J"}, 2, "control characters");
  expect({"list", "--seed", "3"}, 2, "'replay list' takes no --seed; its options are: --sessions");
  expect({"show", "s1@20", "--case", "x"}, 2, "'replay show' takes no --case");
  expect({"list", "--sessions", "s9"}, 3, "there is no session 's9'");
  expect({"score", "nothing.md", "--case", "s1@20"}, 3, "cannot read 'nothing.md'");
}

}  // namespace daybook::tests
