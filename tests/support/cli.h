// The command line, run in this process against a journal in memory.
#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "schema/json.h"
#include "tests/support/memory_journal.h"
#include "tools/command.h"

namespace daybook::tests {

struct CliRun {
  int code = 0;
  std::string out;
  std::string err;
};

struct Cli {
  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();
  engine::Environment environment = {{"HOME", "/home/tester"}};
  bool terminal = false;
  std::size_t columns = 0;
  std::stop_token stop;
  /// Opens a real journal instead of the one in memory.
  bool on_disk = false;

  CliRun run(const std::vector<std::string>& arguments);
};

/// Writes "demo": one completed turn in which the assistant runs a command after approval, with
/// a result of 3,001 bytes that holds a terminal escape. 15 events, times from 2026-01-01.
void write_demo(journal::Journal& journal, const std::string& name = "demo");

/// What `write_demo` gives as the command's result.
std::string demo_result();

/// A command line on a journal that holds "demo".
Cli with_demo();

/// Each line of `text`, which must be JSON.
std::vector<Json> json_lines(const std::string& text);

}  // namespace daybook::tests
