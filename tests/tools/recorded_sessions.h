// Sessions that were compacted, recorded through the command line, and a server for the models that
// sum them up again.
#pragma once

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/summary_gate.h"
#include "tests/support/cli.h"
#include "tests/support/http_server.h"
#include "tests/support/temp_dir.h"
#include "tests/tools/replay_support.h"

namespace daybook::tests {

inline std::string good_summary() {
  std::string text;
  const char* bodies[] = {"The user wants the numbered files read one after the other.",
                          "none",
                          "The numbered files were opened in turn; none was changed.",
                          "none",
                          "No command was run; only reading took place.",
                          "none",
                          "Some of them are read and the others are still to be opened.",
                          "Open the file that comes next and go on until the last of them."};
  for (std::size_t i = 0; i < engine::kSummaryHeadings.size(); ++i) {
    text += fmt::format("{}\n{}\n\n", engine::kSummaryHeadings[i], bodies[i]);
  }
  return text;
}

/// Reads six files: with a cap of 6,000 tokens that takes five compactions.
inline std::string scenario() {
  std::string toml;
  for (int i = 1; i <= 6; ++i) {
    toml += fmt::format(
        "[[response]]\n[[response.call]]\ntool = 'read_file'\narguments = {{ path = '{}.txt' }}\n",
        i);
  }
  toml += "[[response]]\ntext = 'All are read.'\n";
  for (int i = 0; i < 8; ++i)
    toml += fmt::format("[[summary]]\ntext = '''\n{}'''\n", good_summary());
  return toml;
}

inline std::string streamed(const std::string& text, const std::string& reasoning,
                            const std::string& finish) {
  Json delta = {{"content", text}};
  if (!reasoning.empty()) delta["reasoning_content"] = reasoning;
  const Json first = {
      {"id", "r"}, {"model", "m"}, {"choices", Json::array({{{"index", 0}, {"delta", delta}}})}};
  const Json last = {
      {"id", "r"},
      {"model", "m"},
      {"choices",
       Json::array({{{"index", 0}, {"delta", Json::object()}, {"finish_reason", finish}}})}};
  const Json usage = {{"id", "r"},
                      {"choices", Json::array()},
                      {"usage", {{"prompt_tokens", 2'000}, {"completion_tokens", 500}}}};
  std::string body;
  for (const auto& each : {first, last, usage}) body += "data: " + dump_json(each) + "\n\n";
  return event_stream(body + "data: [DONE]\n\n");
}

/// A journal with the compactions, and a configuration that knows the server.
struct RecordedSessions {
  TempDir place;
  HttpServer server;
  Cli cli;

  explicit RecordedSessions(std::size_t sessions) {
    cli.on_disk = true;
    std::filesystem::create_directory(place.path() / "work");
    for (int i = 1; i <= 6; ++i) {
      std::string text;
      while (text.size() < 6'000) text += fmt::format("line {} of file {}\n", text.size(), i);
      write_file(place.path() / "work" / fmt::format("{}.txt", i), text);
    }
    write_file(place.path() / "scenario.toml", scenario());
    configure("max_output_tokens = 32000");
    write_file(place.path() / "own-prices.toml", kFakePrices);
    cli.environment = {{"HOME", place.str()},
                       {"DAYBOOK_HOME", place.str() + "/journal"},
                       {"DAYBOOK_CONFIG", place.str() + "/config.toml"},
                       {"DAYBOOK_COMPACTION_CAP_TOKENS", "6000"}};
    for (std::size_t i = 1; i <= sessions; ++i) {
      const auto run = cli.run({"run", "--workspace", place.str() + "/work", "--approval-mode",
                                "bypass-approvals", "--session", fmt::format("s{}", i), "--model",
                                "script:" + place.str() + "/scenario.toml",
                                fmt::format("Session {}: read all files.", i)});
      INFO(run.err);
      REQUIRE(run.code == 0);
    }
  }

  /// `model`: settings of the server's models.
  void configure(const std::string& model) {
    write_file(place.path() / "config.toml",
               fmt::format("[providers.fake]\nkind = 'openai-chat'\nbase_url = '{}'\n"
                           "[models.\"fake:*\"]\n{}\n",
                           server.url(), model));
  }

  std::string prices() const { return place.str() + "/own-prices.toml"; }

  Json report(const std::string& name) {
    return json_lines(replay({"report", name, "--prices", prices(), "--json"}).out).at(0);
  }

  CliRun replay(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "replay");
    return cli.run(arguments);
  }
};

inline const Json& arm(const Json& report, const std::string& name) {
  for (const auto& each : report["arms"]) {
    if (each["arm"] == name) return each;
  }
  FAIL("no arm " + name);
  return report;
}

}  // namespace daybook::tests
