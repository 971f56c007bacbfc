#include "engine/written_files.h"

#include <algorithm>

#include "engine/claim_clauses.h"
#include "engine/summary_text.h"
#include "engine/word_table.h"

namespace daybook::engine {
namespace {

bool is_name_byte(char c) {
  return (scan::class_of(c) & (scan::kWord | scan::kDash)) != 0;
}

/// Whether one path is the end of the other, folder by folder.
bool is_end_of(std::string_view a, std::string_view b) {
  if (a.size() < b.size()) std::swap(a, b);
  return a.ends_with(b) && (a.size() == b.size() || b.empty() || b.front() == '/' ||
                            a[a.size() - b.size() - 1] == '/');
}

/// The path, from whatever folder it is named.
bool names(std::string_view text, std::string_view path) {
  const std::string_view base = path.substr(path.rfind('/') + 1);
  if (base.empty()) return false;
  const std::string_view folders = path.substr(0, path.size() - base.size());
  for (std::size_t at = text.find(base); at != std::string_view::npos;
       at = text.find(base, at + 1)) {
    const std::size_t end = at + base.size();
    if (end < text.size() && is_name_byte(text[end])) continue;
    if (at > 0 && (is_name_byte(text[at - 1]) || text[at - 1] == '.')) continue;
    std::size_t from = at;
    while (from > 0 && (is_name_byte(text[from - 1]) || text[from - 1] == '/' ||
                        text[from - 1] == '.' || text[from - 1] == '\\')) {
      --from;
    }
    const NormalPath said(text.substr(from, at - from));
    const NormalPath wanted(folders);
    if (is_end_of(said.view(), wanted.view())) return true;
  }
  return false;
}

/// The places in an edit's arguments that tell which files it changes; one for the whole text when
/// it has none.
std::vector<std::string_view> targets_of(std::string_view call) {
  constexpr std::size_t kPathLength = 500;
  std::vector<std::string_view> targets;
  for (const std::string_view key :
       {"\"path\":", "\"file_path\":", "\"notebook_path\":", "\"filename\":", "\"target_file\":",
        "\"old_path\":", "\"new_path\":", " File: ", "*** Move to: ", "+++ ", "--- "}) {
    for (std::size_t at = call.find(key); at != std::string_view::npos;
         at = call.find(key, at + key.size())) {
      std::string_view target = call.substr(at + key.size(), kPathLength);
      if (key.front() == '"' && target.starts_with(' ')) target.remove_prefix(1);
      if (key.front() == '"' && target.starts_with('"')) target.remove_prefix(1);
      targets.push_back(target.substr(0, target.find_first_of("\"\n")));
    }
  }
  if (targets.empty()) targets.push_back(call);
  return targets;
}

bool edits(std::string_view call, std::string_view path) {
  const auto targets = targets_of(call);
  return std::any_of(targets.begin(), targets.end(),
                     [&](std::string_view target) { return names(target, path); });
}

/// Whether a line of a working state or of a summary before tells that the file was changed.
bool tells_of_work(std::string_view line, std::string_view path, bool working_state) {
  if (!names(line, path)) return false;
  if (working_state) {
    return line.ends_with("(written)") || line.ends_with("(edited)") || line.ends_with("(removed)");
  }
  // A summary tells what became of a file in the file's own line, without saying so each time.
  static constexpr WordSet<64> kNoWork(
      "read opened unchanged untouched intact alone only see gelesen unverändert unberührt should "
      "must to todo");
  struct Sink {
    bool work = true;
    void word(const Word& word) {
      const std::uint64_t hash = word_hash(word.text);
      work = work && !kNoWork.has(hash) && !is_negation(hash);
    }
    void chunk(const Chunk&) {}
    void stop(char) {}
  } sink;
  scan_text(line, sink);
  if (!sink.work) return false;
  const std::size_t start = std::min(line.size(), line.find_first_not_of("-*` \t"));
  const std::string_view first = line.substr(start, line.find_first_of("`:, (", start) - start);
  if (names(first, path)) return true;
  const auto clauses = claim_clauses(line);
  return std::any_of(clauses.begin(), clauses.end(), [](const Clause& clause) {
    return !clause.hedged && (clause.parts & (kFileVerb | kSoftVerb)) != 0;
  });
}

}  // namespace

/// Named by a part of a command line that may write it.
bool WrittenFiles::command_names(std::size_t item, std::string_view path) const {
  constexpr std::size_t kReadOfScripts = 2'000;
  // Behind what is read of it stands a here-document or a patch.
  if (!commands_.has_script(item) || span_.items()[item].text.size() > kReadOfScripts) return true;
  return std::any_of(commands_.runs().begin(), commands_.runs().end(), [&](const CommandRun& run) {
    return run.item == item && !run.changes_nothing &&
           std::any_of(run.words.begin(), run.words.end(),
                       [&](const auto& word) { return names(word, path); });
  });
}

WrittenFiles::WrittenFiles(const PreparedSpan& span, const SpanCommands& commands)
    : span_(span), commands_(commands) {
  for (const SpanCall& call : span.calls()) {
    if ((call.classes & kCommand) == 0 || call.outcome != CallOutcome::succeeded) continue;
    const std::size_t item = call.begun == SpanCall::kNone ? call.call : call.begun;
    most_ = std::max(
        most_, item == SpanCall::kNone ? CommandRun::Writes::anything : commands.writes_of(item));
  }
}

bool WrittenFiles::is_possible(const Entity& path) const {
  if (most_ != CommandRun::Writes::builds) return most_ == CommandRun::Writes::anything;
  static constexpr WordSet<32> kOutputs(
      "build dist out target bin obj lib node_modules coverage release debug generated");
  const NormalPath normal(path.text);
  std::string_view rest = normal.view();
  while (!rest.empty()) {
    const std::size_t slash = std::min(rest.size(), rest.find('/'));
    if (kOutputs.has(rest.substr(0, slash))) return true;
    rest.remove_prefix(std::min(rest.size(), slash + 1));
  }
  return false;
}

WrittenFiles::Answer WrittenFiles::ask(const Entity& path) const {
  const NormalPath normal(path.text);
  const std::string_view name = normal.view();
  const auto items = span_.items();
  Answer answer = Answer::untold;
  for (const auto& item : items) {
    const bool state = item.kind == SpanKind::kInjected && item.text.starts_with("Working state:");
    if (!state && item.kind != SpanKind::kPriorSummary) continue;
    std::string_view rest = item.text;
    while (!rest.empty()) {
      const std::string_view line = take_line(rest);
      if (tells_of_work(line, name, state)) return Answer::written;
    }
  }
  for (const SpanCall& call : span_.calls()) {
    if (call.call == SpanCall::kNone) continue;
    const std::size_t item = call.begun == SpanCall::kNone ? call.call : call.begun;
    const std::string_view text = items[item].text;
    const bool writes = (call.classes & kWrites) != 0;
    if (!writes && (call.classes & kCommand) == 0) continue;
    if (call.outcome != CallOutcome::succeeded) {
      if (writes && edits(text, name)) answer = Answer::refused;
      continue;
    }
    if (writes ? edits(text, name) : names(text, name) && command_names(item, name)) {
      return Answer::written;
    }
    // What a program that may write says of its work.
    const bool may_tell = !writes && call.result != SpanCall::kNone &&
                          commands_.writes_of(item) != CommandRun::Writes::named;
    if (may_tell && names(items[call.result].text, name)) return Answer::written;
  }
  return answer;
}

}  // namespace daybook::engine
