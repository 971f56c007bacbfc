// Calls of tools and their results as other agents' logs have them: in one form, and what the
// first lines of a result say of its end.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace daybook::engine {

/// Codex and Claude Code put lines before what a command wrote: "Exit code: 2", "Wall time: ...",
/// "Process exited with code 2", "Output:", "<status>completed</status>"; or say that it goes on
/// ("Command running in background with ID: x"). A file's content further down never counts.
struct ResultHead {
  enum class End : std::uint8_t {
    untold,
    code,     // it ended with `code`
    running,  // it goes on in the background, as `session`
    refused   // it never ran: refused, malformed, or stopped by a person
  };
  End end = End::untold;
  int code = 0;
  std::string_view session;  // what it is asked for again by
  std::string_view output;   // what follows the head; without one all of it

  bool failed() const { return end == End::refused || (end == End::code && code != 0); }
};

/// Views of `result`.
ResultHead read_result_head(std::string_view result);

/// Whether the result of a tool that edits begins as that of an edit that was not made: "Invalid
/// patch hunk", "failed to apply patch", "Error: ".
bool is_refused_edit(std::string_view result);

/// {"content": "...", "success": false}, or with "is_error": true: the tool says that it failed.
/// Escapes in it may be resolved already.
bool is_failed_object(std::string_view result);

/// The command of a call's arguments: "command": "make", "cmd": "make", or an array, of which
/// ["bash", "-lc", "make"] is make. "" when there is none.
std::string shell_command(std::string_view arguments);

/// What a log has in another form: of Codex's shell tools an array as the command becomes its
/// text. Every other call stays as it is, byte for byte.
std::string call_in_one_form(std::string_view tool, std::string text);

/// {"output": ..., "metadata": {"exit_code": 1}}, as old Codex logs have it, becomes "Exit code:
/// 1", "Output:" and the output. Every other result stays as it is, byte for byte.
std::string result_in_one_form(std::string_view tool, std::string text);

}  // namespace daybook::engine
