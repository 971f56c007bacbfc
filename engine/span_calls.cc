#include "engine/span_calls.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "engine/span_result.h"
#include "engine/word_table.h"

namespace daybook::engine {
namespace {

constexpr WordTable kTools({
    WordRow<std::uint8_t>{"read_file", kReads},
    {"read", kReads},
    {"view", kReads},
    {"list_files", kReads},
    {"ls", kReads},
    {"glob", kReads},
    {"grep", kReads},
    {"git_status", kReads},
    {"git_diff", kReads},
    {"git_log", kReads},
    {"write_file", kWrites},
    {"write", kWrites},
    {"replace_in_file", kWrites},
    {"edit", kWrites},
    {"multiedit", kWrites},
    {"notebookedit", kWrites},
    {"str_replace", kWrites},
    {"apply_patch", kWrites},
    {"apply_unified_diff", kWrites},
    {"create_file", kWrites},
    {"run_shell", kCommand},
    {"bash", kCommand},
    {"shell", kCommand},
    {"exec_command", kCommand},
    {"run_command", kCommand},
    {"local_shell", kCommand},
    {"shell_task_output", kCommand},
    // A plan shows nothing of what it plans.
    {"todowrite", 0},
    {"todo_write", 0},
    {"update_plan", 0},
});

constexpr WordTable kCommandWords({
    WordRow<std::uint8_t>{"test", kTests},
    {"tests", kTests},
    {"ctest", kTests},
    {"pytest", kTests},
    {"unittest", kTests},
    {"jest", kTests},
    {"vitest", kTests},
    {"mocha", kTests},
    {"tox", kTests},
    {"rspec", kTests},
    {"phpunit", kTests},
    {"nextest", kTests},
    {"build", kBuilds},
    {"make", kBuilds},
    {"ninja", kBuilds},
    {"cmake", kBuilds},
    {"cargo", kBuilds},
    {"gcc", kBuilds},
    {"tsc", kBuilds},
    {"mvn", kBuilds},
    {"gradle", kBuilds},
    {"compile", kBuilds},
    {"webpack", kBuilds},
    {"commit", kCommits},
    {"merge", kCommits},
    {"push", kPushes},
    {"deploy", kPushes},
    {"publish", kPushes},
    {"kubectl", kPushes},
    {"rsync", kPushes},
});

/// Collects what the words of a command can prove.
struct CommandSink {
  std::uint8_t classes = 0;
  bool makes = false;
  void word(const Word& word) {
    const std::uint64_t hash = word_hash(word.text);
    const auto* found = kCommandWords.find(hash);
    if (found != nullptr) classes |= *found;
    // "make check" runs tests, "twine check" does not.
    if (makes && hash == word_hash("check")) classes |= kTests;
    makes = makes || hash == word_hash("make") || hash == word_hash("gmake") ||
            hash == word_hash("ninja");
    // test_engine, run_tests: a part that says so.
    if ((word.mask & scan::kUnderscore) != 0 && word.text.find("test") != std::string_view::npos) {
      classes |= kTests;
    }
  }
  void chunk(const Chunk&) {}
  void stop(char) {}
};

/// The digits behind `at`, past quotes, colons and spaces; -1: none.
long number_behind(std::string_view text, std::size_t at) {
  while (at < text.size() && (text[at] == '"' || text[at] == ':' || text[at] == ' ')) ++at;
  long value = -1;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9' && value < 100'000; ++at) {
    value = (value < 0 ? 0 : value * 10) + (text[at] - '0');
  }
  return value;
}

/// As string_view::find, several times faster on text in which the first letter is common.
std::size_t find_in(std::string_view text, std::string_view part) {
  const void* const at = memmem(text.data(), text.size(), part.data(), part.size());
  return at == nullptr ? std::string_view::npos
                       : static_cast<std::size_t>(static_cast<const char*>(at) - text.data());
}

/// Whether the text says that a command ended otherwise than with status 0.
bool says_bad_exit(std::string_view text) {
  for (const std::string_view key : {"exit_code", "xit code", "xit status", "with code"}) {
    const std::size_t at = find_in(text, key);
    if (at != std::string_view::npos && number_behind(text, at + key.size()) > 0) return true;
  }
  return find_in(text, "\"timed_out\":true") != std::string_view::npos;
}

/// The value of a string member, or the digits of a number; "" when there is none.
std::string_view plain_member(std::string_view object, std::string_view key) {
  std::size_t at = find_in(object, key);
  if (at == std::string_view::npos) return {};
  at = object.find_first_not_of(": \"", at + key.size());
  if (at == std::string_view::npos) return {};
  return object.substr(at, object.find_first_of("\",} ", at) - at);
}

/// How a command that Daybook ran ended: its status stands before what it wrote, which may speak
/// of any other. Nothing for other results.
std::optional<bool> own_success(std::string_view text) {
  constexpr std::string_view kCode = "\"exit_code\":";
  if (!text.starts_with('{')) return std::nullopt;
  const std::string_view head = text.substr(0, find_in(text, "\"output\":"));
  if (!plain_member(head, "\"task_id\"").empty()) {
    const std::string_view status = plain_member(head, "\"status\"");
    if (status == "killed" || status == "failed") return false;
  }
  const std::size_t at = find_in(head, kCode);
  if (at == std::string_view::npos) return std::nullopt;
  if (find_in(text, "\"timed_out\":true") != std::string_view::npos) return false;
  const long code = number_behind(text, at + kCode.size());
  return code < 0 ? std::nullopt : std::optional(code == 0);
}

/// The task that a command of Daybook goes on as; "" for other results.
std::string_view own_running_task(std::string_view text) {
  if (!text.starts_with('{')) return {};
  const std::string_view head = text.substr(0, find_in(text, "\"output\":"));
  if (plain_member(head, "\"status\"") != "running") return {};
  return plain_member(head, "\"task_id\"");
}

/// "2 failed", "failures: 1", "1 tests failed": what a test report says of itself, for commands
/// whose status a pipe has hidden.
bool reports_failures(std::string_view text) {
  for (std::size_t at = text.find("fail"); at != std::string_view::npos;
       at = text.find("fail", at + 4)) {
    std::size_t before = at;
    for (int words = 0; words < 2; ++words) {
      while (before > 0 && text[before - 1] == ' ') --before;
      std::size_t from = before;
      while (from > 0 && (scan::class_of(text[from - 1]) & scan::kWord) != 0) --from;
      const std::string_view word = text.substr(from, before - from);
      const bool number = !word.empty() && std::all_of(word.begin(), word.end(),
                                                       [](char c) { return c >= '0' && c <= '9'; });
      if (number) {
        if (word.find_first_not_of('0') != std::string_view::npos) return true;
        break;
      }
      before = from;
    }
    std::size_t after = at;
    while (after < text.size() && (scan::class_of(text[after]) & scan::kWord) != 0) ++after;
    if (after < text.size() && text[after] == ':' && number_behind(text, after) > 0) return true;
  }
  return text.find("FAILED") != std::string_view::npos;
}

/// By what stands anywhere in the result's beginning or end.
bool command_failed(std::string_view text, std::string_view tail) {
  constexpr std::size_t kHead = 4096;
  if (says_bad_exit(text.substr(0, kHead))) return true;
  return text.size() > kHead && says_bad_exit(tail);
}

CallOutcome outcome_of(const SpanItem& result, std::uint8_t classes) {
  if (!result.ok || is_failed_object(result.text)) return CallOutcome::failed;
  if ((classes & (kCommand | kWrites)) == 0) return CallOutcome::succeeded;
  const ResultHead head = read_result_head(result.text);
  if (head.failed()) return CallOutcome::failed;
  if ((classes & kCommand) == 0) {
    const bool refused = read_result_head(head.output).end == ResultHead::End::refused ||
                         is_refused_edit(head.output);
    return refused ? CallOutcome::failed : CallOutcome::succeeded;
  }
  const std::string_view text = result.text;
  if (head.end == ResultHead::End::running || !own_running_task(text).empty()) {
    return CallOutcome::unknown;
  }
  constexpr std::size_t kTail = 2048;
  const std::string_view tail = text.substr(text.size() - std::min(text.size(), kTail));
  const auto own = own_success(text);
  const bool told = own.has_value() || head.end == ResultHead::End::code;
  if (own ? !*own : !told && command_failed(text, tail)) return CallOutcome::failed;
  if ((classes & kTests) != 0 && reports_failures(tail)) return CallOutcome::failed;
  return CallOutcome::succeeded;
}

std::uint8_t classes_of(const SpanItem& item) {
  std::uint8_t classes = tool_classes(item.tool);
  if (classes != kCommand) return classes;
  CommandSink sink;
  constexpr std::size_t kCommandBytes = 2000;  // a here-document behind it is not the command
  const std::string_view text = item.text.substr(0, kCommandBytes);
  // Where it runs says nothing of what it is.
  const std::size_t folder =
      std::min(text.find("\"workdir\":"), text.find("\"working_directory\":"));
  scan_text(text.substr(0, folder), sink);
  if (folder != std::string_view::npos) {
    scan_text(text.substr(std::min(text.size(), text.find("\",", folder))), sink);
  }
  return classes | sink.classes;
}

/// Which running command the call asks for.
std::string_view session_of(std::string_view call) {
  for (const std::string_view key :
       {"\"session_id\"", "\"task_id\"", "\"bash_id\"", "\"shell_id\""}) {
    const std::string_view found = plain_member(call, key);
    if (!found.empty()) return found;
  }
  return {};
}

/// Which running command the result has left.
std::string_view session_left(std::string_view result) {
  const std::string_view session = read_result_head(result).session;
  return session.empty() ? own_running_task(result) : session;
}

/// Tools that ask a running command for its output.
constexpr WordSet<16> kAskingTools("write_stdin shell_task_output bashoutput taskoutput");

/// A call that asks a running command again can show what that command can.
void join_sessions(std::span<const SpanItem> items, std::vector<SpanCall>& calls) {
  constexpr std::size_t kFarthest = 256;  // calls back
  for (std::size_t i = 0; i < calls.size(); ++i) {
    SpanCall& call = calls[i];
    if (call.call == SpanCall::kNone || call.result == SpanCall::kNone ||
        !kAskingTools.has(items[call.call].tool)) {
      continue;
    }
    const std::string_view session = session_of(items[call.call].text);
    if (session.empty()) continue;
    for (std::size_t back = 1; back <= std::min(i, kFarthest); ++back) {
      const SpanCall& before = calls[i - back];
      if (before.result == SpanCall::kNone || session_left(items[before.result].text) != session) {
        continue;
      }
      call.classes |= before.classes;
      call.begun = before.begun == SpanCall::kNone ? before.call : before.begun;
      call.outcome = outcome_of(items[call.result], call.classes);
      break;
    }
  }
}

}  // namespace

std::string_view folder_of(std::string_view call) {
  std::size_t at = std::string_view::npos;
  for (const std::string_view start : {"\"cd ", "&& cd ", "; cd "}) {
    const std::size_t found = call.find(start);
    if (found != std::string_view::npos) at = std::min(at, found + start.size());
  }
  if (at >= call.size()) return {};
  const char quote = call[at] == '\'' || call[at] == '"' ? call[at] : ' ';
  if (quote != ' ') ++at;
  const std::string_view ends = quote == ' '   ? std::string_view(" ;&|\"\n)")
                                : quote == '"' ? std::string_view("\"")
                                               : std::string_view("'");
  const std::string_view folder = call.substr(at, call.find_first_of(ends, at) - at);
  const bool known = folder.find_first_of("$`*~") == std::string_view::npos && folder != "-";
  return known ? folder : std::string_view();
}

std::uint8_t tool_classes(std::string_view tool) {
  const auto* found = kTools.find(tool);
  // What is not known may do anything; it proves as much as a command.
  return found == nullptr ? std::uint8_t{kCommand} : *found;
}

std::vector<SpanCall> pair_calls(std::span<const SpanItem> items) {
  std::vector<SpanCall> calls;
  std::size_t oldest = 0;  // calls before it are answered
  for (std::size_t i = 0; i < items.size(); ++i) {
    const SpanItem& item = items[i];
    if (item.kind == SpanKind::kToolCall) {
      calls.push_back({i, SpanCall::kNone, CallOutcome::unknown, classes_of(item)});
      continue;
    }
    if (item.kind != SpanKind::kToolResult) continue;
    while (oldest < calls.size() && calls[oldest].result != SpanCall::kNone) ++oldest;
    // Results stand in the order of their calls; a result without a name answers the oldest.
    std::size_t found = oldest;
    const std::size_t last = std::min(calls.size(), oldest + 64);
    while (found < last && (calls[found].result != SpanCall::kNone ||
                            (!item.tool.empty() && items[calls[found].call].tool != item.tool))) {
      ++found;
    }
    if (found >= last) {
      calls.push_back(
          {SpanCall::kNone, i, outcome_of(item, tool_classes(item.tool)), tool_classes(item.tool)});
      continue;
    }
    calls[found].result = i;
    calls[found].outcome = outcome_of(item, calls[found].classes);
  }
  join_sessions(items, calls);
  return calls;
}

}  // namespace daybook::engine
