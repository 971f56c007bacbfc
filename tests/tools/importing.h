// Importing logs in this process, and what a journal then holds of them.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "schema/json.h"
#include "tests/support/cli.h"
#include "tests/support/temp_dir.h"
#include "tests/tools/log_reading.h"

namespace daybook::tests {

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = text.find('\n', at);
    lines.push_back(text.substr(at, end + 1 - at));
    at = end + 1;
  }
  return lines;
}

inline std::string joined(const std::vector<std::string>& lines, std::size_t from, std::size_t to) {
  std::string text;
  for (std::size_t i = from; i < to; ++i) text += lines[i];
  return text;
}

/// The last line of `import --json`.
inline Json import(Cli& cli, const std::vector<std::string>& paths, int code = 0) {
  std::vector<std::string> arguments = {"import"};
  arguments.insert(arguments.end(), paths.begin(), paths.end());
  arguments.push_back("--json");
  const CliRun run = cli.run(arguments);
  INFO(run.err);
  CHECK(run.code == code);
  const auto lines = json_lines(run.out);
  REQUIRE_FALSE(lines.empty());
  return lines.back();
}

/// Every event of the journal, by session.
inline EventSink held_by(Cli& cli) {
  EventSink sink;
  MemoryJournal journal(cli.store);
  const auto sessions = journal.sessions("").value();
  for (const auto& info : sessions) {
    auto& events = sink.sessions[info.session.str()];
    const auto read = journal.read(info.session, 1, journal::ReadMode::strict, [&](const auto& e) {
      events.emplace_back(as_text(e.bytes));
      return true;
    });
    REQUIRE(read.has_value());
  }
  return sink;
}

/// Calls of all sessions in the journal, copies removed.
inline std::vector<replay::Call> journalled(Cli& cli) {
  return calls_of_events(held_by(cli));
}

}  // namespace daybook::tests
