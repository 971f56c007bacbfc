#include "engine/span_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "engine/summary_text.h"
#include "schema/json.h"

namespace daybook::engine {
namespace {

/// How Codex answers a call that never ran, or that was stopped.
constexpr std::array<std::string_view, 15> kRefusals = {"apply_patch verification failed",
                                                        "apply_patch handler received",
                                                        "patch rejected",
                                                        "rejected by user",
                                                        "exec command rejected",
                                                        "aborted by user",
                                                        "execution error:",
                                                        "exec_command failed",
                                                        "write_stdin failed",
                                                        "failed to parse function arguments",
                                                        "unsupported call",
                                                        "unsupported custom tool call",
                                                        "tool call error",
                                                        "<tool_use_error>",
                                                        "command timed out after"};

/// How the result of an edit begins that was not made, in small letters.
constexpr std::array<std::string_view, 15> kEditRefusals = {"error:",
                                                            "error ",
                                                            "invalid patch",
                                                            "invalid hunk",
                                                            "failed to ",
                                                            "patch failed",
                                                            "could not ",
                                                            "unable to ",
                                                            "cannot ",
                                                            "no such file",
                                                            "permission denied",
                                                            "i/o error",
                                                            "string to replace not found",
                                                            "file has not been read",
                                                            "file has been modified since"};

/// What Claude Code says of a command that it does not wait for; its name follows.
constexpr std::array<std::string_view, 2> kBackground = {
    "Command running in background with ID: ",
    "Command was manually backgrounded by user with ID: "};

/// Lines of a head that say nothing of the end.
constexpr std::array<std::string_view, 5> kHeadLines = {
    "Chunk ID:", "Wall time:", "Original token count:", "Total output lines:",
    "Warning: truncated output"};

/// Tools whose calls and results Codex has written in several forms. None is Daybook's own: what
/// its compactions replaced must read the same for ever.
constexpr std::array<std::string_view, 6> kCodexTools = {
    "shell", "local_shell", "local_shell_call", "container.exec", "shell_command", "exec_command"};

template <std::size_t kCount>
bool begins_with_one(std::string_view text, const std::array<std::string_view, kCount>& starts) {
  return std::any_of(starts.begin(), starts.end(),
                     [&](std::string_view start) { return text.starts_with(start); });
}

/// The whole rest of the line is a number.
bool take_code(std::string_view line, int& code) {
  for (const std::string_view start : {"Exit code: ", "Exit code ", "Process exited with code "}) {
    if (!line.starts_with(start)) continue;
    const std::string_view digits = line.substr(start.size());
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code);
    return error == std::errc() && end == digits.data() + digits.size();
  }
  return false;
}

/// "<status>completed</status>": what stands in the tag; nothing when the line is another one.
std::optional<std::string_view> in_tag(std::string_view line, std::string_view tag) {
  if (!line.starts_with('<') || !line.substr(1).starts_with(tag)) return std::nullopt;
  line.remove_prefix(1 + tag.size());
  if (!line.starts_with('>')) return std::nullopt;
  line.remove_prefix(1);
  return line.substr(0, line.find('<'));
}

/// How Claude Code answers when it is asked for what a command in the background wrote.
std::optional<ResultHead> read_task_head(std::string_view result) {
  constexpr int kMostLines = 12;
  if (!result.starts_with("<status>") && !result.starts_with("<retrieval_status>")) {
    return std::nullopt;
  }
  ResultHead head;
  head.output = result;
  std::string_view rest = result;
  for (int i = 0; i < kMostLines && !rest.empty(); ++i) {
    const std::string_view line = trimmed(take_line(rest));
    if (line.starts_with("<stdout>") || line.starts_with("<output>")) break;
    if (const auto status = in_tag(line, "status")) {
      head.end = *status == "completed" ? ResultHead::End::code : ResultHead::End::running;
      if (*status == "failed" || *status == "killed") head.end = ResultHead::End::refused;
    }
    if (const auto code = in_tag(line, "exit_code")) {
      std::from_chars(code->data(), code->data() + code->size(), head.code);
    }
    head.output = rest;
  }
  return head;
}

/// Without the blanks between its tokens: enough of either end to tell the members there.
std::string without_blanks(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' && c != '\n' && c != '\r' && c != '\t') out += c;
  }
  return out;
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.find_last_of("/\\") + 1);
}

bool is_shell(std::string_view program) {
  const std::string_view name = base_name(program);
  return name == "bash" || name == "sh" || name == "zsh" || name == "dash" || name == "fish";
}

bool is_powershell(std::string_view program) {
  return base_name(program).starts_with("powershell") || base_name(program).starts_with("pwsh");
}

/// A word as a shell would need it.
std::string quoted(const std::string& word) {
  const bool plain =
      !word.empty() && word.find_first_of(" \t\n'\"|&;<>()$`*?") == std::string::npos;
  return plain ? word : fmt::format("'{}'", word);
}

std::string text_of_argv(const std::vector<std::string>& words) {
  if (words.size() >= 3 && is_shell(words[0]) && words[1].starts_with('-') &&
      words[1].ends_with('c')) {
    return words[2];
  }
  if (words.size() >= 3 && is_powershell(words[0])) {
    const auto flag = std::find(words.begin(), words.end() - 1, "-Command");
    if (flag != words.end() - 1) return *(flag + 1);
  }
  std::string text;
  for (const auto& word : words) {
    if (!text.empty()) text += ' ';
    // A patch given as an argument stays readable.
    text += word.starts_with("*** Begin Patch") ? word : quoted(word);
  }
  return text;
}

std::string text_of_command(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return "";
  std::vector<std::string> words;
  for (const auto& word : value) {
    if (word.is_string()) words.push_back(word.get<std::string>());
  }
  return text_of_argv(words);
}

bool is_codex_tool(std::string_view tool) {
  return std::find(kCodexTools.begin(), kCodexTools.end(), tool) != kCodexTools.end();
}

}  // namespace

ResultHead read_result_head(std::string_view result) {
  constexpr int kMostLines = 8;
  if (auto task = read_task_head(result)) return *task;
  ResultHead head;
  head.output = result;
  for (const std::string_view start : kBackground) {
    if (!result.starts_with(start)) continue;
    head.end = ResultHead::End::running;
    head.session = result.substr(start.size());
    head.session = head.session.substr(0, head.session.find_first_of(". \r\n"));
    return head;
  }
  bool seen = false;
  std::string_view rest = result;
  for (int i = 0; i < kMostLines && !rest.empty(); ++i) {
    if (begins_with_one(rest, kRefusals)) {
      head.end = ResultHead::End::refused;
      head.output = rest;
      return head;
    }
    const std::string_view line = trimmed(take_line(rest));
    constexpr std::string_view kRunning = "Process running with session ID ";
    if (line.starts_with(kRunning)) {
      head.end = ResultHead::End::running;
      head.session = line.substr(kRunning.size());
    } else if (take_code(line, head.code)) {
      head.end = ResultHead::End::code;
    } else if (!begins_with_one(line, kHeadLines) && (line != "Output:" || !seen)) {
      return head;
    }
    seen = true;
    head.output = rest;
    if (line == "Output:") return head;
  }
  return head;
}

bool is_refused_edit(std::string_view result) {
  constexpr std::size_t kLongestStart = 40;
  return begins_with_one(folded(trimmed(result), kLongestStart), kEditRefusals);
}

bool is_failed_object(std::string_view result) {
  constexpr std::size_t kEnd = 40;  // bytes of either end that hold the members that tell
  result = trimmed(result);
  if (!result.starts_with('{') || !result.ends_with('}')) return false;
  const std::string head = without_blanks(result.substr(0, kEnd));
  const std::string tail =
      without_blanks(result.substr(result.size() - std::min(result.size(), kEnd)));
  for (const std::string_view failed :
       {"\"success\":false", "\"is_error\":true", "\"isError\":true"}) {
    for (const std::string_view text : {"\"content\":", "\"output\":"}) {
      // What a command wrote may be an object with such a member; it has no content beside it.
      if (head.starts_with(fmt::format("{{{}", text)) &&
          tail.ends_with(fmt::format(",{}}}", failed))) {
        return true;
      }
      if (head.starts_with(fmt::format("{{{},{}", failed, text))) return true;
    }
  }
  return false;
}

std::string shell_command(std::string_view arguments) {
  if (!arguments.starts_with('{')) return "";
  const auto parsed = parse_json(arguments);
  if (!parsed || !parsed->is_object()) return "";
  for (const char* name : {"command", "cmd", "script"}) {
    const auto found = parsed->find(name);
    if (found == parsed->end()) continue;
    std::string text = text_of_command(*found);
    if (!text.empty()) return text;
  }
  return "";
}

std::string call_in_one_form(std::string_view tool, std::string text) {
  if (!is_codex_tool(tool) || !text.starts_with('{')) return text;
  auto parsed = parse_json(text);
  if (!parsed || !parsed->is_object()) return text;
  const auto command = parsed->find("command");
  if (command == parsed->end() || !command->is_array()) return text;
  *command = text_of_command(*command);
  return dump_json(*parsed);
}

std::string result_in_one_form(std::string_view tool, std::string text) {
  if (!text.starts_with('{') || (tool != "apply_patch" && !is_codex_tool(tool))) return text;
  const auto parsed = parse_json(text);
  if (!parsed || !parsed->is_object()) return text;
  const auto output = parsed->find("output");
  const auto metadata = parsed->find("metadata");
  if (output == parsed->end() || !output->is_string() || metadata == parsed->end() ||
      !metadata->is_object()) {
    return text;
  }
  const auto code = metadata->find("exit_code");
  if (code == metadata->end() || !code->is_number_integer()) return text;
  return fmt::format("Exit code: {}\nOutput:\n{}", code->get<std::int64_t>(),
                     output->get_ref<const std::string&>());
}

}  // namespace daybook::engine
