#include "replay/span_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>

#include "engine/span_calls.h"
#include "engine/span_result.h"
#include "engine/summary_text.h"
#include "replay/fact_extract.h"
#include "replay/shell_files.h"
#include "schema/json.h"
#include "schema/utf8.h"

namespace daybook::replay {
namespace {

using engine::CallOutcome;
using engine::PreparedSpan;
using engine::SpanCall;
using engine::SpanKind;

constexpr std::size_t kLineBytes = 240;

std::string member(const Json& object, std::string_view name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

Json object_of(std::string_view text) {
  if (!text.starts_with('{')) return Json::object();
  auto parsed = parse_json(text);
  return parsed && parsed->is_object() ? std::move(*parsed) : Json::object();
}

/// The number behind the mark; -1: none.
int number_behind(std::string_view text, std::string_view mark) {
  std::size_t at = text.find(mark);
  if (at == std::string_view::npos) return -1;
  at += mark.size();
  while (at < text.size() && (text[at] == ' ' || text[at] == ':')) ++at;
  int value = -1;
  std::from_chars(text.data() + at, text.data() + text.size(), value);
  return value;
}

/// A result as a command's: what it wrote, and how it ended, as far as that is told.
struct Ended {
  std::string output;
  std::optional<int> code;
  bool timed_out = false;
  std::string session;  // that it goes on in
  bool running = false;
};

/// Results that are JSON objects, Daybook's own among them.
void read_object(const Json& result, Ended& ended) {
  for (const char* name : {"output", "stderr", "error", "stdout", "message", "content"}) {
    if (ended.output.empty()) ended.output = member(result, name);
  }
  const auto code_in = [&](const Json& object) {
    const auto code = object.find("exit_code");
    if (code != object.end() && code->is_number_integer()) ended.code = code->get<int>();
  };
  code_in(result);
  if (const auto more = result.find("metadata"); more != result.end() && more->is_object()) {
    code_in(*more);
  }
  const auto late = result.find("timed_out");
  ended.timed_out = late != result.end() && late->is_boolean() && late->get<bool>();
  const std::string task = member(result, "task_id");
  ended.running = !task.empty() && member(result, "status") == "running";
  if (ended.running) ended.session = task;
}

Ended ended_of(std::string_view raw) {
  Ended ended;
  if (const Json result = object_of(raw); !result.empty()) {
    read_object(result, ended);
    if (ended.output.empty()) ended.output = raw;
    return ended;
  }
  const auto head = engine::read_result_head(raw);
  ended.output = head.output;
  ended.session = head.session;
  ended.running = head.end == engine::ResultHead::End::running;
  if (head.end == engine::ResultHead::End::code) ended.code = head.code;
  constexpr int kTimedOut = 124;
  ended.timed_out = ended.code == kTimedOut && head.output.starts_with("command timed out");
  if (head.end != engine::ResultHead::End::untold) return ended;
  for (const auto mark : {"exited with code", "Exit code", "exit code", "exit status"}) {
    const int code = ended.code ? -1 : number_behind(raw, mark);
    if (code >= 0) ended.code = code;
  }
  return ended;
}

std::string end_of(const Ended& ended, bool answered, bool failed) {
  if (!answered) return "no result";
  if (ended.timed_out) return "timed out";
  if (ended.running) return "still running";
  if (ended.code && *ended.code != 0) return fmt::format("exit {}", *ended.code);
  return failed ? "error" : "ok";
}

/// The last line that reports an error, else the last that says anything.
std::string error_line(std::string_view output) {
  std::string_view last;
  std::string_view error;
  while (!output.empty()) {
    const std::string_view line = engine::trimmed(engine::take_line(output));
    if (line.empty() || number_behind(line, "xit code") >= 0) continue;
    last = line;
    if (line.size() <= 500 && is_error_line(line)) error = line;
  }
  return as_code(error.empty() ? last : error, kLineBytes);
}

/// In the words of the records.
std::string_view how_of(FileDeed deed) {
  switch (deed) {
    case FileDeed::created:
      return "new";
    case FileDeed::appended:
    case FileDeed::edited:
      return "changed";
    case FileDeed::deleted:
    case FileDeed::moved:
      return "deleted";
    case FileDeed::opened:
      break;
  }
  return "opened";
}

/// One may be written from the workspace, and the other from the root.
bool same_file(std::string_view a, std::string_view b) {
  if (a.size() < b.size()) std::swap(a, b);
  return a == b || (a.ends_with(b) && a.starts_with('/') && a[a.size() - b.size() - 1] == '/');
}

class RecordReader {
 public:
  explicit RecordReader(const PreparedSpan& span) : span_(span) {}
  SpanRecords read();

 private:
  void working_state(std::string_view text);
  void call(const SpanCall& call);
  void fields(const PreparedSpan::Item& item, const Json& arguments);
  void files_of(const PreparedSpan::Item& item, const Json& arguments);
  void patch(std::string_view text);
  void plan(const Json& arguments);
  void shell(std::string_view script);
  bool asked_again(const Json& arguments, const Ended& ended, bool failed);
  void file(std::string_view path, std::string_view how);
  void command(const std::string& text, std::string end);
  void error(std::string about, std::string line);

  const PreparedSpan& span_;
  SpanRecords records_;
  std::map<std::string, std::string> running_;  // session of a command to the command
};

void RecordReader::file(std::string_view path, std::string_view how) {
  path = engine::trimmed(path);
  if (path.empty() || path.size() > 500 || path.find('\n') != std::string_view::npos) return;
  auto& files = records_.files;
  const auto found = std::find_if(files.begin(), files.end(),
                                  [&](const auto& each) { return same_file(each.path, path); });
  std::string said(how);
  if (found != files.end()) {
    // What was read after it was changed is changed; what was new stays so while it is there.
    if (how == "opened" || (how == "changed" && found->how == "new")) said = found->how;
    files.erase(found);
  }
  // With a folder goes what is in it.
  if (how == "deleted") {
    std::erase_if(files, [below = fmt::format("{}/", path)](const auto& each) {
      return each.path.starts_with(below);
    });
  }
  files.push_back({std::string(path), std::move(said)});
}

void RecordReader::command(const std::string& text, std::string end) {
  std::erase_if(records_.commands, [&](const auto& each) { return each.command == text; });
  records_.commands.push_back({text, std::move(end)});
}

void RecordReader::error(std::string about, std::string line) {
  std::erase_if(records_.errors, [&](const auto& each) { return each.about == about; });
  if (!line.empty()) records_.errors.push_back({std::move(about), std::move(line)});
}

/// Lines as render_work writes them: "- PATH (edited)", "- COMMAND (exit 2)", files newest first.
void RecordReader::working_state(std::string_view text) {
  std::vector<FileRecord> files;
  bool commands = false;
  while (!text.empty()) {
    const std::string_view line = engine::take_line(text);
    if (!line.starts_with("- ")) commands = commands || line.starts_with("Last commands");
    const std::size_t open = line.rfind(" (");
    if (!line.starts_with("- ") || open == std::string_view::npos || !line.ends_with(')')) continue;
    const std::string_view what = line.substr(2, open - 2);
    const std::string_view how = line.substr(open + 2, line.size() - open - 3);
    if (commands) {
      command(as_code(what, kLineBytes), std::string(how));
    } else {
      const auto said = how == "written"   ? "new"
                        : how == "edited"  ? "changed"
                        : how == "removed" ? "deleted"
                                           : "opened";
      files.push_back({std::string(what), said});
    }
  }
  for (auto each = files.rbegin(); each != files.rend(); ++each) file(each->path, each->how);
}

/// Files of a patch in either form.
void RecordReader::patch(std::string_view text) {
  struct Mark {
    std::string_view start;
    std::string_view how;
  };
  static constexpr std::array<Mark, 5> kMarks = {{{"*** Add File: ", "new"},
                                                  {"*** Update File: ", "changed"},
                                                  {"*** Delete File: ", "deleted"},
                                                  {"*** Move to: ", "new"},
                                                  {"+++ b/", "changed"}}};
  std::string_view before;  // of a diff
  while (!text.empty()) {
    const std::string_view line = engine::take_line(text);
    if (line.starts_with("--- a/")) before = line.substr(6);
    if (line.starts_with("+++ /dev/null") && !before.empty()) file(before, "deleted");
    for (const auto& mark : kMarks) {
      if (line.starts_with(mark.start)) file(line.substr(mark.start.size()), mark.how);
    }
  }
}

/// "todos" of Claude Code, "plan" of Codex: the newest list is the one that holds.
void RecordReader::plan(const Json& arguments) {
  for (const auto& [list, text] : {std::pair{"todos", "content"}, std::pair{"plan", "step"}}) {
    const auto found = arguments.find(list);
    if (found == arguments.end() || !found->is_array()) continue;
    records_.open.clear();
    for (const auto& item : *found) {
      if (!item.is_object() || member(item, "status") == "completed") continue;
      std::string words = as_code(member(item, text), kLineBytes);
      if (!words.empty()) records_.open.push_back(std::move(words));
    }
  }
}

void RecordReader::shell(std::string_view script) {
  if (script.find("*** Begin Patch") != std::string_view::npos) return patch(script);
  for (const ShellFile& each : shell_files(script)) file(each.path, how_of(each.deed));
}

/// A command that went on in the background ends in the answer to a later call; false: this is
/// none.
bool RecordReader::asked_again(const Json& arguments, const Ended& ended, bool failed) {
  auto session = arguments.end();
  for (const char* name : {"session_id", "task_id", "bash_id", "shell_id"}) {
    if (session == arguments.end()) session = arguments.find(name);
  }
  if (session == arguments.end() || !ended.session.empty() || ended.running) return false;
  const auto found =
      running_.find(session->is_string() ? session->get<std::string>() : dump_json(*session));
  if (found == running_.end()) return false;
  error(found->second, failed ? error_line(ended.output) : "");
  command(found->second, end_of(ended, true, failed));
  running_.erase(found);
  return true;
}

/// Files that the arguments name, by what the tool is for.
void RecordReader::fields(const PreparedSpan::Item& item, const Json& arguments) {
  static constexpr std::array<std::string_view, 5> kOpens = {"read_file", "read", "view",
                                                             "notebookread", "open_file"};
  static constexpr std::array<std::string_view, 3> kWhole = {"write_file", "write", "create_file"};
  const std::string tool = engine::folded(item.tool, item.tool.size());
  const auto is_of = [&](const auto& names) {
    return std::find(names.begin(), names.end(), tool) != names.end();
  };
  const bool writes = (engine::tool_classes(item.tool) & engine::kWrites) != 0;
  if (!writes && !is_of(kOpens)) return;
  const std::string_view how = !writes ? "opened" : is_of(kWhole) ? "new" : "changed";
  for (const char* name : {"path", "file_path", "notebook_path", "filename", "target_file"}) {
    file(member(arguments, name), how);
  }
  for (const char* name : {"patch", "diff", "input"}) patch(member(arguments, name));
}

/// What a call that worked has opened, made or changed.
void RecordReader::files_of(const PreparedSpan::Item& item, const Json& arguments) {
  fields(item, arguments);
  if (arguments.empty()) patch(item.text);
  const std::string script = engine::shell_command(item.raw);
  if (!script.empty()) shell(script);
}

void RecordReader::call(const SpanCall& call) {
  if (call.call == SpanCall::kNone) return;
  ++records_.calls;
  const auto& item = span_.items()[call.call];
  const Json arguments = object_of(item.raw);
  const std::string script = engine::shell_command(item.raw);
  const std::string about = as_code(script.empty() ? fmt::format("{} {}", item.tool, item.text)
                                                   : script.substr(0, script.find('\n')),
                                    kLineBytes);
  const bool answered = call.result != SpanCall::kNone;
  records_.unanswered = answered ? "" : about;
  plan(arguments);
  if (call.outcome == CallOutcome::succeeded) {
    const auto& made = call.begun == SpanCall::kNone ? item : span_.items()[call.begun];
    files_of(made, object_of(made.raw));
  }
  const Ended ended = answered ? ended_of(span_.items()[call.result].raw) : Ended{};
  const bool failed = call.outcome == CallOutcome::failed;
  records_.failed += failed ? 1 : 0;
  if (script.empty() && answered && asked_again(arguments, ended, failed)) return;
  error(about, failed ? error_line(ended.output) : "");
  if (script.empty()) return;
  if (!ended.session.empty()) running_[ended.session] = about;
  command(about, end_of(ended, answered, failed));
}

SpanRecords RecordReader::read() {
  for (const auto& item : span_.items()) {
    if (item.kind == SpanKind::kInjected && item.text.starts_with("Working state:")) {
      working_state(item.text);
    }
  }
  for (const SpanCall& each : span_.calls()) call(each);
  return std::move(records_);
}

}  // namespace

std::string_view words_within(std::string_view text, std::size_t limit) {
  if (text.size() <= limit) return text;
  const std::size_t end = utf8_floor(text, limit);
  const std::size_t space = text.substr(0, end).find_last_of(" \n\t");
  // Scripts that write no spaces are cut between letters.
  return engine::trimmed(text.substr(0, space == std::string_view::npos ? end : space));
}

std::string as_code(std::string_view text, std::size_t limit) {
  std::string line(words_within(engine::trimmed(text), limit));
  for (char& c : line) {
    if (c == '`') c = '\'';
    if (c == '\n' || c == '\r' || c == '\t') c = ' ';
  }
  return line;
}

SpanRecords records_of(const engine::PreparedSpan& span) {
  return RecordReader(span).read();
}

}  // namespace daybook::replay
