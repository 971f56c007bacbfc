// Replays that go wrong, end early or are asked for by mistake, and what their reports then say.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>
#include <sstream>

#include "tests/tools/recorded_sessions.h"

namespace daybook::tests {
namespace {

using Catch::Contains;

constexpr std::size_t kCases = 5;  // of one session

std::string good() {
  return streamed(good_summary(), "", "stop");
}

std::string refusal(int status, const std::string& error) {
  return response(status, "application/json", fmt::format(R"({{"error":{}}})", error));
}

/// One session, and a server that answers well, but the third time.
struct Refused : RecordedSessions {
  std::size_t asked = 0;

  explicit Refused(std::string third) : RecordedSessions(1) {
    server.answer_with([this, third = std::move(third)](const SeenRequest&) -> ServerScript {
      return {send(++asked == 3 ? third : good())};
    });
  }

  CliRun run_arm(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments = {"run",    "--name",      "r",        "--model", "fake:m",
                                          "--only", "moved-16000", "--prices", prices()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return replay(arguments);
  }
  CliRun go_on() { return replay({"run", "--name", "r", "--prices", prices()}); }
};

std::size_t widest(const std::string& text) {
  std::istringstream lines(text);
  std::size_t most = 0;
  for (std::string line; std::getline(lines, line);) most = std::max(most, line.size());
  return most;
}

}  // namespace

TEST_CASE("a refusal that is not about the request ends the run, and its summary is made later") {
  const auto& [status, error] =
      GENERATE(std::pair<int, std::string>{402, R"({"message":"no money is left"})"},
               std::pair<int, std::string>{404, R"({"message":"no such model"})"},
               std::pair<int, std::string>{403, R"({"message":"not for this key"})"},
               std::pair<int, std::string>{
                   429, R"({"message":"quota is used up","code":"insufficient_quota"})"},
               std::pair<int, std::string>{400, R"({"message":"Your credit balance is too low"})"});
  CAPTURE(status);
  Refused refused(refusal(status, error));
  const auto stopped = refused.run_arm();
  CHECK(stopped.code == 1);
  CHECK_THAT(stopped.err, Contains(fmt::format("answered HTTP {}", status)) &&
                              Contains("go on with: daybook replay run --name r"));
  CHECK(refused.server.requests().size() == 3);
  const auto again = refused.go_on();
  INFO(again.err);
  CHECK(again.code == 0);
  CHECK_THAT(again.out, Contains("5 of 5 summaries made"));
  const Json report = refused.report("r");
  CHECK(arm(report, "moved-16000")["usable"] == kCases);
  CHECK(arm(report, "moved-16000")["refused_for"].empty());
}

TEST_CASE("a refusal of the one request is the arm's, and is shown without a verdict on no text") {
  const auto& [status, error] = GENERATE(
      std::pair<int, std::string>{
          400, R"({"message":"this is not allowed","code":"content_policy_violation"})"},
      std::pair<int, std::string>{413, R"({"message":"this is not allowed"})"},
      std::pair<int, std::string>{422, R"({"message":"this is not allowed"})"});
  CAPTURE(status);
  Refused refused(refusal(status, error));
  const auto run = refused.run_arm();
  INFO(run.err);
  CHECK(run.code == 0);
  const Json report = refused.report("r");
  CHECK(arm(report, "moved-16000")["usable"] == kCases - 1);
  CHECK(arm(report, "moved-16000")["refused_for"]["call-failed"] == 1);
  const auto shown = refused.replay({"show", "r"});
  CHECK_THAT(shown.out, Contains("no reply\n  call-failed: this is not allowed"));
  CHECK_THAT(shown.out, !Contains("G1-empty"));
  std::size_t without = 0;
  for (const auto& line : json_lines(refused.replay({"show", "r", "--json"}).out)) {
    if (line.contains("text")) continue;
    ++without;
    CHECK(line["findings"].at(0)["code"] == "call-failed");
  }
  CHECK(without == 1);
}

TEST_CASE("an arm asks for no longer summary than its model can write, and says so") {
  Refused refused(good());
  refused.configure("context_window = 100000\nmax_output_tokens = 4000");
  // A call has less than 20,000 bytes, a token in two of them at $1 a million, and 4,000 tokens of
  // a reply at $2: from 0.008 to 0.018. With 16,000 it were 0.032 or more, and none would be made.
  // Each costs 0.003 in the end, so that the money does not last for the fifth.
  const auto stopped = refused.run_arm({"--max-cost", "0.018"});
  INFO(stopped.err);
  CHECK(stopped.code == 7);
  CHECK_THAT(stopped.err,
             Contains("arm moved-16000 asks for summaries of 4,000 tokens, not 16,000 tokens: "
                      "fake:m has max_output_tokens = 4000 and context_window = 100000"));
  CHECK_THAT(stopped.err, Contains("the next call could cost $0.0") &&
                              Contains(", more than --max-cost leaves: $0.0") &&
                              Contains(" is spent; go on with a higher one"));
  REQUIRE(refused.asked > 0);
  CHECK(refused.asked < kCases);
  const auto requests = refused.server.requests();
  CHECK((*parse_json(requests.front().body))["max_tokens"] == 4'000);
  const auto line = json_lines(refused
                                   .replay({"run", "--name", "r", "--prices", refused.prices(),
                                            "--max-cost", "0.01", "--json"})
                                   .out)
                        .at(0);
  CHECK(std::stod(line["next_call_usd"].get<std::string>()) >= 0.008);
  CHECK(std::stod(line["next_call_usd"].get<std::string>()) <= 0.018);
  CHECK(refused.go_on().code == 0);
  const auto report = refused.replay({"report", "r", "--prices", refused.prices()});
  CHECK_THAT(report.out, Contains("moved-16000 asked for summaries of 4,000 tokens, not 16,000"));
  CHECK(arm(refused.report("r"), "moved-16000")["lowered_to_tokens"] == 4'000);
}

TEST_CASE("a small window leaves a quarter of it for a summary") {
  Refused refused(good());
  refused.configure("context_window = 8000\nmax_output_tokens = 100000");
  REQUIRE(refused.run_arm().code == 0);
  for (const auto& request : refused.server.requests()) {
    CHECK((*parse_json(request.body))["max_tokens"] == 2'000);
  }
}

TEST_CASE("a call cut off on the way cost at most what it asked for") {
  RecordedSessions recorded(1);
  recorded.configure("max_output_tokens = 4000");
  std::size_t asked = 0;
  recorded.server.answer_with([&](const SeenRequest&) -> ServerScript {
    if (++asked == 1) {
      return {send("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: "
                   "900\r\n\r\ndata: {\"id\":\"r\",\"choices\":[]}\n\n"),
              cut()};
    }
    return {send(good())};
  });
  REQUIRE(recorded
              .replay({"run", "--name", "r", "--model", "fake:m", "--only", "moved-16000",
                       "--prices", recorded.prices()})
              .code == 0);
  const double body = static_cast<double>(recorded.server.requests().front().body.size() / 2);
  // The cut one at its most, and five answered ones of 2,000 and 500 tokens.
  const double expected = (body + 4'000 * 2 + 5 * (2'000 + 500 * 2)) / 1e6;
  const Json report = recorded.report("r");
  CHECK(std::stod(arm(report, "moved-16000")["cost_usd"].get<std::string>()) ==
        Approx(expected).epsilon(1e-9));
}

TEST_CASE("a limit that cannot be kept is told before a replay is begun") {
  Refused refused(good());
  const auto unpriced = refused.replay(
      {"run", "--name", "k", "--model", "fake:m", "--only", "moved-16000", "--max-cost", "1"});
  CHECK(unpriced.code == 2);
  CHECK_THAT(unpriced.err, Contains("there is no price for fake:m"));
  CHECK_THAT(refused.cli.run({"sessions"}).out, !Contains("\nk "));
  CHECK(refused.replay({"report", "k"}).code == 3);
  const auto again =
      refused.replay({"run", "--name", "k", "--model", "fake:m", "--only", "moved-16000",
                      "--max-cost", "1", "--prices", refused.prices()});
  INFO(again.err);
  CHECK(again.code == 0);
  CHECK_THAT(refused.cli.run({"sessions"}).out, Contains("replay of 5 compactions with 1 arm"));
  CHECK_THAT(refused.cli.run({"sessions"}).out, !Contains("1 arms"));
}

TEST_CASE("mistakes in what is to be replayed are named for what they are") {
  RecordedSessions recorded(1);
  const auto expect = [&](std::vector<std::string> arguments, int code, const std::string& said) {
    const auto run = recorded.replay(std::move(arguments));
    CAPTURE(run.err);
    CHECK(run.code == code);
    CHECK_THAT(run.err, Contains(said));
  };
  expect({"run", "--only", "mechanical", "--name", "s1"}, 2, "s1 is not a replay");
  expect({"list", "--sessions", "s1@20"}, 2, "--sessions takes sessions, not single compactions");
  expect({"run", "--sessions", "s1@20"}, 2, "give 's1', all of whose compactions");
  // Files without an end.
  expect({"score", "/dev/zero", "--case", "s1@20"}, 2, "'/dev/zero' has more than 4194304 bytes");
  expect({"run", "--arms", "/dev/zero"}, 2, "'/dev/zero' has more than 1048576 bytes");
}

TEST_CASE("replicates of one compaction are one say in the report, and a tie is half of either") {
  RecordedSessions recorded(1);
  std::map<std::string, std::size_t> seen;  // by transcript
  recorded.server.answer_with([&](const SeenRequest& request) -> ServerScript {
    const auto body = parse_json(request.body);
    const std::string prompt = (*body)["messages"].back()["content"];
    const bool second =
        (*body)["model"] == "half" && ++seen[prompt.substr(prompt.find("<transcript "), 24)] == 2;
    return {send(second ? streamed("", "", "stop") : good())};
  });
  write_file(recorded.place.path() / "arms.toml",
             "[arms.always]\nmodel = 'fake:m'\nretries = 0\n"
             "[arms.half]\nmodel = 'fake:half'\nretries = 0\n");
  const auto run = recorded.replay(
      {"run", "--name", "r", "--replicates", "2", "--arms", recorded.place.str() + "/arms.toml"});
  INFO(run.err);
  REQUIRE(run.code == 0);
  const Json report = recorded.report("r");
  const Json& half = arm(report, "half");
  CHECK(half["usable"] == 5);
  CHECK(half["units"] == 10);
  // 2.5 of 5 by Wilson, in exact fractions; 5 of 10 would be 0.237 to 0.763.
  CHECK(half["effective_compactions"].get<double>() == Approx(5).margin(1e-6));
  CHECK(half["usable_low"].get<double>() == Approx(0.170424).margin(1e-6));
  CHECK(half["usable_high"].get<double>() == Approx(0.829576).margin(1e-6));
  const Json& pair = report["pairs"].at(0);
  CHECK(pair["a"] == "always");
  CHECK(pair["only_a"] == 5);
  CHECK(pair["only_b"] == 0);
  CHECK(pair["usable_a"] == 1);
  CHECK(pair["usable_b"] == 0.5);
  CHECK(pair["mcnemar_p"] == 0.0625);  // 2 * 0.5^5
  const std::string text = recorded.replay({"report", "r"}).out;
  CHECK_THAT(text, Contains("half    5/10    17 to 83%"));
  CHECK_THAT(text, Contains("intervals and tests count compactions, not summaries: the 2 "
                            "replicates of one are one say\n"));
  CHECK_THAT(text, Contains("of only 1 session the intervals and p-values are too sure\n"));
  CHECK_THAT(text, Contains("half against always: 5 pairs, usable more often in half: 0, in "
                            "always: 5; exact sign test p = 0.0625"));
  CHECK_THAT(text, Contains("usable, half less always: -50 points (50% against 100%)"));
}

TEST_CASE("a compaction without a summary is shown with the recorded reason, and no verdict") {
  RecordedSessions recorded(0);
  std::string text = scenario();
  text.resize(text.find("[[summary]]"));
  text += fmt::format("[[summary]]\ntext = '''\n{}'''\n", good_summary());
  for (int i = 0; i < 12; ++i) text += "[[summary]]\ntext = 'Now I read on.'\n";
  write_file(recorded.place.path() / "scenario.toml", text);
  const auto run =
      recorded.cli.run({"run", "--workspace", recorded.place.str() + "/work", "--approval-mode",
                        "bypass-approvals", "--session", "s", "--model",
                        "script:" + recorded.place.str() + "/scenario.toml", "Read all files."});
  INFO(run.err);
  REQUIRE(run.code == 0);
  const auto listed = json_lines(recorded.replay({"list", "--json"}).out);
  REQUIRE(listed.size() >= 2);
  CHECK(listed[0]["end"] == "summary");
  REQUIRE(listed[1]["end"] == "trimmed");
  const std::string id = listed[1]["id"];
  const auto shown = recorded.replay({"show", id});
  CHECK(shown.code == 0);
  CHECK_THAT(shown.out, Contains("it ended with: trimmed\nno summary: 2 summaries were not "
                                 "accepted, the last for ") &&
                            Contains("G5-next-action") &&
                            Contains("the earlier summary stands in its block\n"));
  CHECK_THAT(shown.out, !Contains("gate:") && !Contains("G1-empty"));
  const Json line = json_lines(recorded.replay({"show", id, "--json"}).out).at(0);
  CHECK(line["case"] == id);
  CHECK(line["end"] == "trimmed");
  CHECK_THAT(line["reason"].get<std::string>(), Contains("not accepted"));
  CHECK_FALSE(line.contains("verdict"));
}

TEST_CASE("tables of replays fit a narrow terminal and cut no name") {
  RecordedSessions recorded(1);
  REQUIRE(recorded.replay({"run", "--name", "r"}).code == 0);
  const auto ids = json_lines(recorded.replay({"list", "--json"}).out);
  recorded.cli.columns = 40;
  const std::string listed = recorded.replay({"list"}).out;
  CHECK(widest(listed) <= 40);
  for (const auto& each : ids) CHECK_THAT(listed, Contains(each["id"].get<std::string>() + "  "));
  const std::string report = recorded.replay({"report", "r"}).out;
  const auto table =
      report.substr(report.find("ARM"), report.find("compactions of one") - report.find("ARM"));
  CHECK(widest(table) <= 40);
  CHECK_THAT(table, Contains("mechanical  5/5") && Contains("PAYBACK"));
}

}  // namespace daybook::tests
