// Commands that a line of a summary tells something of without marks around them: "pytest tests/:
// 2 failed, exit 1", "make test (exit 0)", "npm test -> ok".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/span_commands.h"

namespace daybook::engine {

struct LineCommand {
  std::string_view text;  // view of the line
  std::string name;       // what runs_of() is asked for: the last of commands that are joined
  /// A script by its path alone, which may as well be spoken of as a file: only an exit status or
  /// a count is surely said of its run.
  bool is_file = false;
};

/// In the order of the line. A command begins the line or a part of it and is followed by what
/// became of it; it is one that the span ran, or it looks like a command line: a known runner with
/// arguments that no sentence has. What stands between backticks is passed over.
std::vector<LineCommand> line_commands(std::string_view line, const SpanCommands& commands);

/// A word of a command that no sentence has: "tests/x", "-k", "A=1".
bool is_code_like(std::string_view word);

/// A number or a version: "python 3.9" is no command.
bool is_version(std::string_view word);

/// Words that are arguments behind a program: "test", "install".
bool is_usual_argument(std::string_view word);

}  // namespace daybook::engine
