// A shell script taken apart into simple commands. A reader of words, not a shell: what only the
// shell knows (variables, patterns, substitutions) is marked as unknown.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace daybook::replay {

struct ShellWord {
  std::string text;   // without quotes
  bool known = true;  // no variable, pattern or substitution in it
};

struct ShellCommand {
  struct Redirection {
    ShellWord to;
    bool appends = false;
  };
  std::vector<ShellWord> words;
  std::vector<Redirection> redirections;  // of output, into files
  std::size_t opens = 0;                  // parentheses before it
  std::size_t closes = 0;                 // and after it
};

/// In the order of the script; what here-documents hold is left out. At most the first 4,000 bytes
/// are read. Never fails: an end that is missing is the script's.
std::vector<ShellCommand> shell_commands(std::string_view script);

}  // namespace daybook::replay
