#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/span_calls.h"
#include "engine/span_result.h"
#include "engine/summary_text.h"
#include "engine/text_entity.h"
#include "replay/probe.h"
#include "replay/probe_text.h"
#include "schema/json.h"

namespace daybook::replay {
namespace {

using engine::PastItem;
using engine::SpanKind;

constexpr std::size_t kTailBytes = 100'000;

/// Arguments that say what a call is about, the most telling first.
constexpr std::array<std::string_view, 12> kTargets = {
    "path",    "file_path", "filePath", "notebook_path", "command", "cmd",
    "pattern", "query",     "url",      "input",         "patch",   "description"};

std::string text_of_value(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.is_null() ? "" : dump_json(value);
  std::string text;
  for (const auto& part : value) {
    if (!text.empty()) text += ' ';
    text += part.is_string() ? part.get<std::string>() : dump_json(part);
  }
  return text;
}

std::string target_of(const Json& arguments) {
  if (!arguments.is_object()) return {};
  for (const auto name : kTargets) {
    const auto found = arguments.find(std::string(name));
    if (found == arguments.end()) continue;
    const bool command = name == "command" || name == "cmd";
    return command ? engine::shell_command(dump_json(arguments)) : text_of_value(*found);
  }
  return {};
}

NextStep step_of(std::string tool, const Json& arguments) {
  std::string text = engine::call_in_one_form(tool, dump_json(arguments));
  return {std::move(tool), std::move(text), target_of(arguments)};
}

NextStep step_of(const PastItem& call) {
  auto parsed = parse_json(call.text);
  if (parsed) return step_of(call.tool, *parsed);
  return {call.tool, call.text, call.text};  // a tool that takes free text
}

bool same_target(const NextStep& a, const NextStep& b) {
  if (a.tool != b.tool) return false;
  if (a.target.empty() && b.target.empty()) return folded(a.arguments) == folded(b.arguments);
  if (folded(a.target) == folded(b.target)) return true;
  const bool one_word = a.target.find(' ') == std::string::npos;
  return one_word && engine::NormalPath(a.target).view() == engine::NormalPath(b.target).view();
}

std::set<std::string> words_of(std::string_view text) {
  std::set<std::string> words;
  std::string word;
  for (const char c : folded(text)) {
    const bool part = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
                      c == '/' || c == '-' || static_cast<unsigned char>(c) >= 0x80;
    if (part) {
      word += c;
    } else if (!word.empty()) {
      words.insert(std::exchange(word, {}));
    }
  }
  if (!word.empty()) words.insert(std::move(word));
  return words;
}

double similarity(const NextStep& a, const NextStep& b) {
  const auto left = words_of(a.arguments);
  const auto right = words_of(b.arguments);
  std::size_t shared = 0;
  for (const auto& word : left) shared += right.count(word);
  const std::size_t all = left.size() + right.size() - shared;
  return all == 0 ? 1 : static_cast<double>(shared) / static_cast<double>(all);
}

std::optional<NextStep> read_answer(std::string_view answer) {
  const std::size_t from = answer.find('{');
  const std::size_t to = answer.rfind('}');
  if (from == std::string_view::npos || to == std::string_view::npos || to < from) return {};
  auto parsed = parse_json(answer.substr(from, to - from + 1));
  if (!parsed || !parsed->is_object()) return {};
  std::string tool = json_text(*parsed, "tool");
  const auto arguments = parsed->find("arguments");
  if (tool.empty() || arguments == parsed->end()) return {};
  return step_of(std::move(tool), *arguments);
}

/// A call of the span that succeeded, as the gate sees it.
bool was_done(const CompactionCase& recorded, const NextStep& step) {
  const auto& items = recorded.items;
  const auto views = engine::gate_items(items);
  const auto calls = engine::pair_calls(views);
  return std::any_of(calls.begin(), calls.end(), [&](const engine::SpanCall& call) {
    return call.call != engine::SpanCall::kNone && call.outcome == engine::CallOutcome::succeeded &&
           same_target(step_of(items[call.call]), step);
  });
}

/// "- read_file(path, start_line)", for every tool that the session is seen to call.
std::string tool_list(const CompactionCase& recorded) {
  std::map<std::string, std::set<std::string>> tools;
  const auto add = [&](const std::vector<PastItem>& items) {
    for (const auto& item : items) {
      if (item.kind != SpanKind::kToolCall) continue;
      auto& names = tools[item.tool];
      const auto parsed = parse_json(item.text);
      if (!parsed || !parsed->is_object()) continue;
      for (const auto& [name, value] : parsed->items()) names.insert(name);
    }
  };
  add(recorded.items);
  add(recorded.continuation);
  std::string list;
  for (const auto& [tool, names] : tools) {
    list += fmt::format("- {}({})\n", tool, fmt::join(names, ", "));
  }
  return list;
}

}  // namespace

std::optional<NextStep> recorded_next(const CompactionCase& recorded) {
  for (const auto& item : recorded.continuation) {
    if (item.kind == SpanKind::kToolCall) return step_of(item);
  }
  return std::nullopt;
}

NextStepGrade grade_next(const CompactionCase& recorded, const NextStep& next,
                         std::string_view answer) {
  NextStepGrade made;
  const auto given = read_answer(answer);
  if (!given) return made;
  made.readable = true;
  made.tool = given->tool == next.tool;
  made.target = same_target(*given, next);
  made.similarity = made.tool ? similarity(*given, next) : 0;
  made.repeats = !made.target && was_done(recorded, *given);
  return made;
}

std::string next_step_prompt(const CompactionCase& recorded, std::string_view block,
                             const std::vector<PastItem>& tail) {
  std::vector<PastItem> since = tail;
  for (const auto& item : recorded.continuation) {
    if (item.kind == SpanKind::kToolCall) break;
    // What the model said on its way to the call would give it away.
    if (item.kind != SpanKind::kAssistant) since.push_back(item);
  }
  const std::string kept = since.empty() ? "" : fenced("since", render_span(since, kTailBytes));
  return fmt::format(
      "{}{}\nThe texts above are what is left of a working session: a block that stands for its "
      "older part, and what came since, if anything. The session goes on now. The tools it has, "
      "with the arguments seen so far:\n{}\nWhich tool call comes next? Answer with one JSON "
      "object and nothing else: {{\"tool\": \"...\", \"arguments\": {{...}}}}",
      fenced("block", block), kept, tool_list(recorded));
}

}  // namespace daybook::replay
