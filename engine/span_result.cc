#include "engine/span_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <nlohmann/json.hpp>
#include <vector>

#include "engine/summary_text.h"
#include "schema/json.h"

namespace daybook::engine {
namespace {

/// How Codex answers a call that never ran, or that was stopped.
constexpr std::array<std::string_view, 13> kRefusals = {"apply_patch verification failed",
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
                                                        "command timed out after"};

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
  ResultHead head;
  head.output = result;
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
