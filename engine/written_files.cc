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

}  // namespace

namespace {

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
  others_possible_ = std::any_of(span.calls().begin(), span.calls().end(), [&](const auto& call) {
    if ((call.classes & kCommand) == 0 || call.outcome != CallOutcome::succeeded) return false;
    return call.call == SpanCall::kNone ||
           commands.may_write(call.begun == SpanCall::kNone ? call.call : call.begun);
  });
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
      if (writes && names(text, name)) answer = Answer::refused;
      continue;
    }
    const bool named = names(text, name);
    if (named && (writes || command_names(item, name))) return Answer::written;
    // What a program that may write says of its work.
    const bool may_tell = call.result != SpanCall::kNone && (writes || commands_.may_write(item));
    if (may_tell && names(items[call.result].text, name)) return Answer::written;
  }
  return answer;
}

}  // namespace daybook::engine
