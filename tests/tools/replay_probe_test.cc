// A model asked about the summaries of a replay, through the command line.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/build_paths.h"
#include "tests/support/cli.h"
#include "tests/support/http_server.h"
#include "tests/support/temp_dir.h"
#include "tests/tools/replay_support.h"

namespace daybook::tests {
namespace {

using Catch::Contains;

/// Says "forbidden" and "changed" whenever it may, knows no value, takes the recorded next step,
/// and proves one of its two grades.
std::string answer_to(const std::string& prompt) {
  if (prompt.find("required or forbidden") != std::string::npos) return "Forbidden.";
  if (prompt.find("changed, or only read") != std::string::npos) return "changed";
  if (prompt.find("Which tool call comes next") != std::string::npos) {
    return R"({"tool":"replace_in_file","arguments":{"path":"./src/config.py","new":"y"}})";
  }
  if (prompt.find("Grade the block") != std::string::npos) {
    return "accuracy: 4 | \"Make tests/test_config.py pass\"\ncontinuity: 5 | \"made up words\"\n";
  }
  return "not known";
}

std::string response(int status, const std::string& body) {
  return fmt::format(
      "HTTP/1.1 {} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{}", status,
      body.size(), body);
}

ServerScript answering(const std::string& text, const char* finish) {
  const Json reply = {
      {"id", "r"},
      {"model", "m"},
      {"choices", Json::array({{{"index", 0},
                                {"message", {{"role", "assistant"}, {"content", text}}},
                                {"finish_reason", finish}}})},
      {"usage", {{"prompt_tokens", 2'000}, {"completion_tokens", 500}}}};
  return {send(response(200, dump_json(reply)))};
}

ServerScript reader(const SeenRequest& request) {
  const auto body = parse_json(request.body);
  const std::string prompt = (*body)["messages"].back()["content"];
  return answering(answer_to(prompt), "stop");
}

/// The shipped session with a replay of its two compactions that needed no model.
struct Replayed {
  TempDir place;
  HttpServer server;
  Cli cli;

  Replayed() {
    cli.on_disk = true;
    write_file(
        place.path() / "config.toml",
        fmt::format("[providers.fake]\nkind = 'openai-chat'\nbase_url = '{}'\n", server.url()));
    write_file(place.path() / "prices.toml", kFakePrices);
    cli.environment = {{"HOME", place.str()},
                       {"DAYBOOK_HOME", place.str() + "/journal"},
                       {"DAYBOOK_CONFIG", place.str() + "/config.toml"}};
    REQUIRE(cli.run({"import", source_path("/docs/examples/repair-session.jsonl")}).code == 0);
    REQUIRE(cli.run({"replay", "run", "--name", "first"}).code == 0);
    server.answer_with(reader);
  }

  CliRun probe(const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"replay", "probe", "first", "--prices",
                                          place.str() + "/prices.toml"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return cli.run(arguments);
  }
};

}  // namespace

TEST_CASE("probes say what they cost before a call is made, and what came of them after") {
  Replayed replayed;
  const auto plan = json_lines(replayed.probe({"--model", "fake:m", "--json"}).out);
  REQUIRE(plan.size() == 1);
  CHECK(replayed.server.requests().empty());
  const auto calls = plan[0]["calls"].get<std::size_t>();
  // Three samples of each prompt: a next step and two judgements besides the questions.
  CHECK(calls > 3 * 3);
  CHECK(calls % 3 == 0);
  CHECK(plan[0]["most_usd"].is_string());
  CHECK_THAT(replayed.probe({"--model", "fake:m"}).out, Contains("at most. Make them with --yes"));
  CHECK(replayed.server.requests().empty());

  const auto ran = replayed.probe({"--model", "fake:m", "--yes", "--json"});
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  CHECK(replayed.server.requests().size() == calls);
  const Json report = json_lines(ran.out).at(0);
  CHECK(report["answered"] == calls);
  // 2,000 tokens at $1 and 500 at $2 a million.
  CHECK(std::stod(report["cost_usd"].get<std::string>()) ==
        Approx(static_cast<double>(calls) * 0.003));
  const Json& arm = report["arms"][0];
  // repair@21 read src/config.py and tests/test_config.py and changed nothing; repair@63 changed
  // src/config.py and read src/relay.py, which both were told not to touch.
  CHECK(arm["questions"]["right"] == 3 * 3);
  CHECK(arm["questions"]["wrong"] == 3 * 3);
  CHECK(arm["questions"]["answers"] == calls - 3 * 3);
  CHECK(arm["questions"]["not_known"] == calls - 3 * 3 - 3 * 6);
  // After repair@21 came replace_in_file of src/config.py; repair@63 was followed by no call.
  CHECK(arm["next_step"]["answers"] == 3);
  CHECK(arm["next_step"]["same_target"] == 3);
  CHECK(report["not_asked"]["no_next_step"] == 1);
  CHECK(arm["judge"]["accuracy"] == 4.0);
  CHECK_FALSE(arm["judge"].contains("continuity"));
  CHECK(arm["judge"]["unreadable"] == 2 * 3 * 4);
  CHECK(report["end"] == "done");
  CHECK(arm["judge"]["unproven"] == 2 * 3);

  // All is answered: no call and no key, with or without --yes, and the same figures.
  CHECK(replayed.probe({"--model", "fake:m", "--yes", "--json"}).out == ran.out);
  CHECK(replayed.probe({"--model", "fake:m", "--json"}).out == ran.out);
  CHECK(replayed.server.requests().size() == calls);
  // Probes are no summaries: the replay's own report knows nothing of them.
  const auto shown = json_lines(replayed.cli.run({"replay", "report", "first", "--json"}).out);
  CHECK(shown.at(0)["arms"][0]["calls"] == 0);
  CHECK(replayed.cli.run({"verify"}).code == 0);
}

TEST_CASE("probes end at --max-cost and go on where they were") {
  Replayed replayed;
  const std::vector<std::string> wish = {"--model",      "fake:m", "--layer", "questions",
                                         "--replicates", "1",      "--json"};
  auto limited = wish;
  limited.insert(limited.end(), {"--yes", "--max-cost", "0.02"});
  const auto first = replayed.probe(limited);
  CHECK(first.code == 7);
  CHECK_THAT(first.err, Contains("goes on"));
  const std::size_t made = replayed.server.requests().size();
  CHECK(made > 0);
  CHECK(static_cast<double>(made) * 0.003 <= 0.02);
  auto rest = wish;
  rest.emplace_back("--yes");
  const auto second = replayed.probe(rest);
  REQUIRE(second.code == 0);
  const Json report = json_lines(second.out).at(0);
  CHECK(report["answered"] == report["probes"]);
  CHECK(replayed.server.requests().size() == report["probes"].get<std::size_t>());
}

TEST_CASE("an answer that never came is not one that the model did not know") {
  Replayed replayed;
  replayed.server.answer_with([](const SeenRequest&) { return answering("", "length"); });
  const auto ran = replayed.probe(
      {"--model", "fake:m", "--layer", "questions", "--replicates", "1", "--yes", "--json"});
  REQUIRE(ran.code == 0);
  const Json report = json_lines(ran.out).at(0);
  const Json& tally = report["arms"][0]["questions"];
  CHECK(tally["unanswered"] == report["probes"]);
  CHECK(tally["answers"] == 0);
  CHECK(tally["not_known"] == 0);
  // Of no answers there is no gap.
  const auto told =
      replayed.probe({"--model", "fake:m", "--layer", "questions", "--replicates", "1", "--yes"});
  CHECK_THAT(told.out, Contains("NO ANSWER") && !Contains("+0 points"));
}

TEST_CASE("a prompt that the endpoint will not take is passed over, and tried again") {
  Replayed replayed;
  const auto picky = [](const SeenRequest& request) -> ServerScript {
    if (request.body.find("Grade the block") == std::string::npos) return reader(request);
    return {send(response(400, R"({"error":{"message":"too long","code":"bad"}})"))};
  };
  replayed.server.answer_with(picky);
  const std::vector<std::string> wish = {"--model", "fake:m", "--replicates",
                                         "1",       "--yes",  "--json"};
  const auto first = replayed.probe(wish);
  CHECK(first.code == 1);
  CHECK_THAT(first.err, Contains("2 prompts that the endpoint would not take"));
  CHECK_THAT(first.err, Contains("answered HTTP 400: too long"));
  const Json report = json_lines(first.out).at(0);
  CHECK(report["end"] == "unfinished");
  CHECK(report["refused"] == 2);
  // One judgement of each of the two summaries is missing, nothing else.
  CHECK(report["answered"].get<int>() + 2 == report["probes"].get<int>());
  replayed.server.answer_with(reader);
  const auto second = replayed.probe(wish);
  CHECK(second.code == 0);
  CHECK(json_lines(second.out).at(0)["end"] == "done");

  replayed.server.answer_with(
      [](const SeenRequest&) -> ServerScript { return {send(response(400, "{}"))}; });
  const std::size_t before = replayed.server.requests().size();
  const auto none = replayed.probe({"--model", "fake:m2", "--yes"});
  CHECK(none.code == 1);
  CHECK(replayed.server.requests().size() == before + 3);
}

TEST_CASE("telling the cost of probes needs no key") {
  Replayed replayed;
  write_file(replayed.place.path() / "config.toml",
             fmt::format("[providers.fake]\nkind = 'openai-chat'\nbase_url = '{}'\n"
                         "key_env = 'FAKE_KEY'\n",
                         replayed.server.url()));
  CHECK(replayed.probe({"--model", "fake:m"}).code == 0);
  const auto asked = replayed.probe({"--model", "fake:m", "--yes"});
  CHECK(asked.code == 3);
  CHECK_THAT(asked.err, Contains("FAKE_KEY"));
}

TEST_CASE("mistakes around probes are named") {
  Replayed replayed;
  const auto expect = [&](const std::vector<std::string>& arguments, const char* what) {
    const auto run = replayed.probe(arguments);
    INFO(run.err);
    CHECK(run.code == 2);
    CHECK_THAT(run.err, Contains(what));
  };
  expect({}, "needs --model");
  expect({"--model", "fake:m", "--layer", "question"}, "did you mean 'questions'");
  expect({"--model", "fake:m", "--questions", "0"}, "from 1 to 64, not 0");
  expect({"--model", "fake:m", "--replicates", "101"}, "from 1 to 100, not 101");
  expect({"--model", "fake:m", "--only", "mechanic"}, "did you mean 'mechanical'");
  expect({"--model", "fake:other", "--yes", "--max-cost", "1"}, "no price for fake:other");
  // A plan with a scenario that is not there is no plan.
  const auto none = replayed.probe({"--model", "script:" + replayed.place.str() + "/none.toml"});
  CHECK(none.code == 3);
  CHECK_THAT(none.err, Contains("none.toml") && Contains("No such file"));
  CHECK(none.out.empty());
  CHECK(replayed.server.requests().empty());
}

}  // namespace daybook::tests
