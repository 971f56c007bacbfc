// Facts of tool records: files, errors, commands that never worked, the newest action.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "engine/span_result.h"
#include "engine/summary_text.h"
#include "engine/word_table.h"
#include "replay/fact_extract.h"
#include "replay/shell_files.h"

namespace daybook::replay {
namespace {

using engine::CallOutcome;
using engine::Chunk;
using engine::PreparedSpan;
using engine::SpanCall;
using engine::Word;
using engine::WordSet;

constexpr WordSet<32> kPathFields(
    "path file_path filepath filename file target_file notebook_path old_path new_path");

/// Reading tools that look into one file; the others look through folders.
constexpr WordSet<16> kOpensOneFile("read_file read view notebookread");

/// Calls back with each string member of the outermost object and of objects in its arrays.
template <class Body>
void for_each_string(std::string_view json, const Body& body) {
  std::string_view key;
  std::size_t at = 0;
  while (at < json.size()) {
    const std::size_t open = json.find('"', at);
    if (open == std::string_view::npos) return;
    std::size_t close = open + 1;
    for (;;) {
      close = json.find_first_of("\"\\", close);
      if (close == std::string_view::npos) return;
      if (json[close] == '"') break;
      close += 2;
    }
    const std::string_view text = json.substr(open + 1, close - open - 1);
    at = close + 1;
    while (at < json.size() && (json[at] == ' ' || json[at] == '\n')) ++at;
    if (at < json.size() && json[at] == ':') {
      key = text;
    } else {
      body(key, text);
    }
  }
}

void add_artifact(FactCollector& out, std::string_view path, std::string_view how,
                  std::size_t item) {
  const engine::NormalPath normal(path);
  if (normal.view().empty() || path.find('\n') != std::string_view::npos) return;
  Fact fact;
  fact.type = FactType::artifact;
  fact.matcher = Matcher::entity;
  fact.kind = engine::EntityKind::path;
  fact.text = std::string(path.substr(0, 400));
  fact.detail = std::string(how);
  fact.item = item;
  fact.key = engine::path_key(normal.view());
  out.add(std::move(fact));
}

/// "*** Update File: x" of patches, "+++ b/x" of diffs.
void add_patched_files(FactCollector& out, std::string_view text, std::size_t item) {
  struct Mark {
    std::string_view start;
    std::string_view how;
  };
  static constexpr std::array<Mark, 5> kMarks = {{{"*** Add File: ", "written"},
                                                  {"*** Update File: ", "edited"},
                                                  {"*** Delete File: ", "deleted"},
                                                  {"*** Move to: ", "written"},
                                                  {"+++ b/", "edited"}}};
  while (!text.empty()) {
    std::string_view line = engine::take_line(text);
    // The first line of an argument follows its quote.
    if (const std::size_t at = line.find("*** "); at != std::string_view::npos && at < 40) {
      line = line.substr(at);
    }
    for (const auto& mark : kMarks) {
      if (!line.starts_with(mark.start)) continue;
      const std::string_view path = line.substr(mark.start.size());
      add_artifact(out, engine::trimmed(path.substr(0, path.find('"'))), mark.how, item);
    }
  }
}

/// Files that a command changes. Where a file went is a fact, where it came from is none.
void add_shell_files(FactCollector& out, std::string_view script, std::size_t item) {
  for (const ShellFile& file : shell_files(script)) {
    switch (file.deed) {
      case FileDeed::created:
      case FileDeed::appended:
        add_artifact(out, file.path, "written", item);
        break;
      case FileDeed::edited:
        add_artifact(out, file.path, "edited", item);
        break;
      case FileDeed::deleted:
        add_artifact(out, file.path, "deleted", item);
        break;
      case FileDeed::moved:
      case FileDeed::opened:
        break;
    }
  }
}

std::string_view field(std::string_view json, std::string_view name) {
  std::string_view found;
  for_each_string(json, [&](std::string_view key, std::string_view text) {
    if (key == name && found.empty()) found = text;
  });
  return found;
}

/// A call as one line: its tool and what it was about.
std::string call_text(const PreparedSpan::Item& item) {
  constexpr std::size_t kTold = 120;
  const std::string command = engine::shell_command(item.raw);
  if (!command.empty()) return fmt::format("{} {}", item.tool, command.substr(0, kTold));
  std::string_view about;
  for (const std::string_view name : {"path", "file_path", "pattern", "query"}) {
    about = field(item.raw, name);
    if (!about.empty()) break;
  }
  if (about.empty()) about = item.text;
  return fmt::format("{} {}", item.tool, engine::resolve_json_escapes(about.substr(0, kTold)));
}

void add_call(const PreparedSpan& span, const SpanCall& call, FactCollector& out) {
  // What no result shows has made nothing; of a command that went on, the answer to a later call.
  if (call.outcome != CallOutcome::succeeded) return;
  const auto& item = span.items()[call.begun == SpanCall::kNone ? call.call : call.begun];
  const bool writes = (call.classes & engine::kWrites) != 0;
  const bool reads = kOpensOneFile.has(item.tool);
  if (item.tool == "apply_patch" || item.tool == "apply_unified_diff") {
    add_patched_files(out, item.text, call.call);
  } else if (writes || reads) {
    const bool whole = item.tool == "write_file" || item.tool == "Write" ||
                       item.tool == "create_file" || item.tool == "write";
    for_each_string(item.raw, [&](std::string_view key, std::string_view text) {
      if (!kPathFields.has(key)) return;
      const std::string path = engine::resolve_json_escapes(text);
      add_artifact(out, path, reads ? "read" : whole ? "written" : "edited", call.call);
    });
  } else if ((call.classes & engine::kCommand) != 0) {
    const std::string command = engine::shell_command(item.raw);
    add_shell_files(out, command, call.call);
    if (command.find("*** Begin Patch") != std::string::npos) {
      add_patched_files(out, command, call.call);
    }
  }
}

/// Commands and edits whose every run failed.
void add_failed_calls(const PreparedSpan& span, FactCollector& out) {
  const auto items = span.items();
  const auto same = [&](const SpanCall& a, const SpanCall& b) {
    return items[a.call].tool == items[b.call].tool && items[a.call].raw == items[b.call].raw;
  };
  std::size_t failures = 0;
  for (std::size_t i = 0; i < span.calls().size() && failures < 64; ++i) {
    const SpanCall& call = span.calls()[i];
    if (call.call == SpanCall::kNone || call.outcome != CallOutcome::failed) continue;
    ++failures;
    const bool worked = std::any_of(span.calls().begin() + static_cast<std::ptrdiff_t>(i),
                                    span.calls().end(), [&](const SpanCall& later) {
                                      return later.call != SpanCall::kNone &&
                                             later.outcome == CallOutcome::succeeded &&
                                             same(call, later);
                                    });
    if (worked) continue;
    const auto& item = items[call.begun == SpanCall::kNone ? call.call : call.begun];
    Fact fact = sentence_fact(FactType::failed, call_text(item), call.call);
    fact.detail = std::string(item.tool);
    out.add(std::move(fact));
  }
}

void add_last_action(const PreparedSpan& span, FactCollector& out) {
  for (std::size_t i = span.calls().size(); i-- > 0;) {
    const SpanCall& call = span.calls()[i];
    if (call.call == SpanCall::kNone) continue;
    const auto& item = span.items()[call.begun == SpanCall::kNone ? call.call : call.begun];
    Fact fact = sentence_fact(FactType::last_action, call_text(item), call.call);
    // The tool's name is not what a summary would say.
    const auto tool = telling_words(item.tool);
    std::erase_if(fact.words, [&](std::uint32_t word) {
      return std::find(tool.begin(), tool.end(), word) != tool.end();
    });
    fact.negated = false;
    fact.detail = call.outcome == CallOutcome::succeeded ? "succeeded"
                  : call.outcome == CallOutcome::failed  ? "failed"
                                                         : "unknown";
    out.add(std::move(fact));
    return;
  }
}

constexpr WordSet<128> kErrorWords(
    "err fehler space many error fatal panic panicked exception failed fail failure denied "
    "undefined traceback unable could ok conflict exists permitted unrecognised "
    "segmentation refused killed unrecognized abort aborted cannot timed unavailable "
    "found e such invalid mismatch assertion memory unexpected");

/// Of a line of a result in JSON, what the command wrote.
std::string_view output_part(std::string_view line) {
  if (line.starts_with('{')) {
    for (const std::string_view name :
         {"\"output\":\"", "\"error\":\"", "\"stderr\":\"", "\"content\":\""}) {
      const std::size_t at = line.find(name);
      if (at == std::string_view::npos) continue;
      line = line.substr(at + name.size());
      break;
    }
  }
  if (line.ends_with('}')) {
    const std::size_t next = line.find("\",\"");
    if (next != std::string_view::npos) return line.substr(0, next);
    if (line.ends_with("\"}")) line.remove_suffix(2);
  }
  return line;
}

/// Whether a line holds a word that an error's line may hold; cheap, for every line of output.
class ErrorLines {
 public:
  ErrorLines(FactCollector& out, std::size_t item, std::string_view text)
      : out_(out), item_(item), text_(text), line_(text.data()) {}

  void word(const Word& word) {
    constexpr std::size_t kLongest = 40;
    if (suspect_ || word.text.size() > kLongest) return;
    const char last = static_cast<char>(word.text.back() | 0x20);
    const bool ending = word.text.size() > 5 && (last == 'r' || last == 'n') &&
                        (word.text.ends_with("Error") || word.text.ends_with("Exception"));
    suspect_ = ending || kErrorWords.has(word.text);
  }
  void chunk(const Chunk&) {}
  void stop(char c) {
    if (c == '\n') finish(nullptr);
  }
  /// `end`: of the line, or null for the newline after the current one.
  void finish(const char* end) {
    const char* const limit = text_.data() + text_.size();
    if (end == nullptr) {
      const auto left = static_cast<std::size_t>(limit - line_);
      const std::size_t newline = std::string_view(line_, left).find('\n');
      end = newline == std::string_view::npos ? limit : line_ + newline;
    }
    if (suspect_) add({line_, static_cast<std::size_t>(end - line_)});
    suspect_ = false;
    line_ = end < limit ? end + 1 : limit;
  }

 private:
  void add(std::string_view line) {
    line = output_part(line);
    constexpr std::size_t kMost = 32;  // of one result: the rest follows from these
    line = engine::trimmed(line);
    if (line.size() > 500 || found_ >= kMost || !is_error_line(line)) return;
    ++found_;
    Fact fact = sentence_fact(FactType::error, line, item_);
    fact.negated = false;
    out_.add(std::move(fact));
  }

  FactCollector& out_;
  std::size_t item_;
  std::string_view text_;
  const char* line_;
  bool suspect_ = false;
  std::size_t found_ = 0;
};

bool after_keyword(std::string_view line, std::size_t end) {
  if (end >= line.size()) return false;
  if (line[end] == '[') {
    const std::size_t close = line.find(']', end);
    return close != std::string_view::npos && line.substr(close + 1).starts_with(':');
  }
  return line[end] == ':' && end + 2 < line.size() &&
         (line[end + 1] == ' ' || line[end + 1] == '\'');
}

/// "error: x", "KeyError: x", "fatal: x", "error[E0382]: x", "error TS2345: x".
bool has_error_head(std::string_view line, std::string_view lower) {
  for (const std::string_view word :
       {"error", "exception", "fatal", "panic", "failure", "fehler"}) {
    for (std::size_t at = lower.find(word); at != std::string_view::npos;
         at = lower.find(word, at + 1)) {
      const std::size_t end = at + word.size();
      const bool starts = at == 0 ||
                          (engine::scan::class_of(line[at - 1]) & engine::scan::kWord) == 0 ||
                          line[at] != lower[at];  // KeyError
      if (!starts) continue;
      const std::string_view before = lower.substr(0, at);
      if (before.ends_with("no ") || before.ends_with("0 ") || before.ends_with("\"")) continue;
      if (after_keyword(line, end)) return !lower.substr(end).starts_with(": 0");
      // A code between the word and its colon.
      const std::size_t colon = line.find(':', end);
      if (end < line.size() && line[end] == ' ' && colon != std::string_view::npos &&
          colon - end < 12 && line.find(' ', end + 1) > colon && line[colon - 1] >= '0' &&
          line[colon - 1] <= '9') {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

bool is_error_line(std::string_view line) {
  line = engine::trimmed(line);
  const std::string lower = engine::folded(line, 500);
  if (lower.size() < 6) return false;
  if (has_error_head(line, lower)) return true;
  static constexpr std::array<std::string_view, 30> kPhrases = {
      "permission denied",  "no such file",
      "command not found",  "undefined reference",
      "segmentation fault", "core dumped",
      "connection refused", "timed out",
      "out of memory",      "address already in use",
      "broken pipe",        "panicked at",
      "module not found",   "cannot find module",
      "no module named",    "syntax error",
      "stack overflow",     "service unavailable",
      "too many requests",  "internal server error",
      "no space left",      "access denied",
      "not a directory",    "is a directory",
      "file exists",        "operation not permitted",
      "not a git repo",     "no rule to make",
      "subcommand failed",  "merge conflict"};
  if (std::any_of(kPhrases.begin(), kPhrases.end(),
                  [&](auto phrase) { return lower.find(phrase) != std::string::npos; })) {
    return true;
  }
  // "E: Unable to locate package", "Failed to compile."
  for (const std::string_view start : {"unable to ", "could not ", "failed to "}) {
    const std::size_t at = lower.find(start);
    if (at == 0 || (at != std::string::npos && at >= 2 && lower.substr(at - 2, 2) == ": ")) {
      return true;
    }
  }
  // A log's level.
  if (line.starts_with("[ERROR]") || line.starts_with("ERROR ")) return true;
  // A test runner's line.
  if (line.starts_with("--- ")) line.remove_prefix(4);
  if (line.starts_with("not ok ") || line.starts_with("FAIL\t") || line.starts_with("✕ ") ||
      line.starts_with("✗ ") || line.starts_with("× ")) {
    return true;
  }
  if (line.find(" ERR! ") != std::string_view::npos ||
      line.find(": *** [") != std::string_view::npos || line.starts_with("Traceback ")) {
    return true;
  }
  if (line.starts_with("FAILED ") || line.starts_with("FAIL ") || line.starts_with("FAIL: ") ||
      line.find("***Failed") != std::string_view::npos || line.ends_with(" FAILED")) {
    return true;
  }
  const std::size_t assertion = lower.find("assert");
  return assertion != std::string::npos && lower.find("fail", assertion) != std::string::npos;
}

void extract_tool_facts(const PreparedSpan& span, FactCollector& out) {
  for (const SpanCall& call : span.calls()) {
    if (call.call != SpanCall::kNone) add_call(span, call, out);
    if (call.result == SpanCall::kNone) continue;
    // What a file holds is not what happened.
    if ((call.classes & engine::kReads) != 0 && call.outcome != CallOutcome::failed) continue;
    const auto& item = span.items()[call.result];
    ErrorLines lines(out, call.result, item.text);
    engine::scan_text(item.text, lines);
    lines.finish(item.text.data() + item.text.size());
  }
  add_failed_calls(span, out);
  add_last_action(span, out);
}

}  // namespace daybook::replay
