// One log read both ways: `cost PATH` and `cache PATH`, and the journal that it is imported into.
#pragma once

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/support/cli.h"
#include "tests/support/temp_dir.h"

namespace daybook::tests {

/// A line of Claude Code with one response, which ended.
inline std::string claude_answer(const std::string& id, const std::string& time,
                                 const std::string& usage,
                                 const std::string& model = "claude-sonnet-5") {
  return fmt::format(
             R"({{"type":"assistant","sessionId":"s1","uuid":"{0}","requestId":"r-{0}",)"
             R"("timestamp":"2026-10-01T{1}Z","cwd":"/p","version":"2.0.0","message":{{"id":"{0}",)"
             R"("type":"message","role":"assistant","model":"{2}","content":)"
             R"([{{"type":"text","text":"ok"}}],"stop_reason":"end_turn","usage":{3}}}}})",
             id, time, model, usage) +
         "\n";
}

/// All that Anthropic writes.
inline std::string claude_usage_json(int input, int read, int written, int output) {
  return fmt::format(R"({{"input_tokens":{0},"cache_read_input_tokens":{1},)"
                     R"("cache_creation_input_tokens":{2},"output_tokens":{3},)"
                     R"("cache_creation":{{"ephemeral_5m_input_tokens":{2},)"
                     R"("ephemeral_1h_input_tokens":0}}}})",
                     input, read, written, output);
}

/// Lost tokens by cause, of `cache --json`.
using Causes = std::map<std::string, int>;

inline Causes causes_of(const CliRun& run) {
  INFO(run.out << run.err);
  REQUIRE(run.code == 0);
  Causes made;
  for (const Json& each : json_lines(run.out)) {
    if (each["line"] == "cause") made[each["cause"]] = each["tokens"];
  }
  return made;
}

class BothWays {
 public:
  BothWays(const std::string& name, const std::string& text) : file_(dir_.str(name)) {
    write_file(file_, text);
    cli.environment["TZ"] = "UTC";
    imported = cli.run({"import", file_});
  }

  /// What a command prints of the file; the journal must give the same.
  std::string out(std::vector<std::string> arguments) {
    const CliRun journal = cli.run(arguments);
    arguments.push_back(file_);
    const CliRun path = cli.run(arguments);
    INFO(path.err << journal.err);
    CHECK(path.out == journal.out);
    return path.out;
  }
  /// The same of JSON lines without members that name sessions.
  std::vector<Json> json(std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    const auto journal = json_lines(cli.run(arguments).out);
    arguments.push_back(file_);
    auto path = json_lines(cli.run(arguments).out);
    CHECK(path == journal);
    return path;
  }
  CliRun path(std::vector<std::string> arguments) {
    arguments.push_back(file_);
    return cli.run(arguments);
  }
  const std::string& file() const { return file_; }

  Cli cli;
  CliRun imported;

 private:
  TempDir dir_;
  std::string file_;
};

}  // namespace daybook::tests
