// What the tool records of a span say by themselves, over the tools of Daybook, Codex, Claude Code
// and others: files, commands with their ends, errors, what is still open.
#pragma once

#include <string>
#include <vector>

#include "engine/prepared_span.h"

namespace daybook::replay {

struct FileRecord {
  std::string path;
  std::string how;  // "new", "changed", "deleted", "opened"
  bool changed() const { return how != "opened"; }
};

struct CommandRecord {
  std::string command;  // its first line, cut
  std::string end;      // "ok", "exit 2", "timed out", "error", "still running", "no result"
};

struct ErrorRecord {
  std::string about;  // what was called
  std::string line;   // of its result
};

struct SpanRecords {
  std::vector<FileRecord> files;        // oldest first, one entry a path
  std::vector<CommandRecord> commands;  // oldest first, the newest run of each
  std::vector<ErrorRecord> errors;      // of calls that did not succeed later
  std::vector<std::string> open;        // items of the newest plan that are not done
  std::string unanswered;               // the last call, when the span ends before its result
  std::size_t calls = 0;
  std::size_t failed = 0;
};

/// A working state that an earlier block carried comes first. Calls that failed changed no file.
SpanRecords records_of(const engine::PreparedSpan& span);

/// At most `limit` bytes, cut between words; backticks become plain quotes, line ends spaces.
std::string as_code(std::string_view text, std::size_t limit);

/// The longest beginning of at most `limit` bytes that ends between words.
std::string_view words_within(std::string_view text, std::size_t limit);

}  // namespace daybook::replay
