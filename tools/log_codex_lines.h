// Codex rollouts: one line, and where history that was copied from another file ends.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "tools/log_json.h"
#include "tools/log_source.h"

namespace daybook::tools {

/// What a fork copies it writes at once.
inline constexpr std::int64_t kCodexBurstNs = 1'000'000'000;

struct CodexLine {
  explicit CodexLine(JsonSpan record);

  JsonSpan type;     // of the envelope; empty in files older than it
  JsonSpan payload;  // the record itself in files older than the envelope
  JsonSpan kind;     // payload.type
  std::int64_t at = 0;
  bool time_wrong = false;  // there is one that cannot be read
  std::optional<std::uint64_t> ordinal;
  bool enveloped = false;
};

/// The members of session_meta that say where the thread comes from.
struct CodexOrigins {
  explicit CodexOrigins(JsonSpan meta);
  std::string thread;
  std::string parent;  // whose history it has, or who started it; "": nobody
  std::string forked;  // whose history is copied; "": it does not say
  schema::Relation relation = schema::Relation::none;
  std::string agent;  // the role of a subagent; else the program that started the thread
  std::optional<std::uint64_t> history_start;  // ordinal of the first line of its own
};

/// The log of a thread whose other log is `source`, or that is its parent: one that `finder` (may
/// be empty) knows, or one that is named for it beside `source`.
std::optional<LogSource> codex_log(const LogSource& source, const LogFinder& finder,
                                   const std::string& thread);

/// The lines of a log that can be read, none of them held, until `visit` returns false. `at`: the
/// line's offset in the log as open_log() reads it.
void visit_codex_lines(
    const LogSource& source,
    const std::function<bool(const CodexLine&, const EarlierLine&, std::uint64_t at)>& visit);

/// Where copied history ends.
struct CodexCopied {
  std::uint64_t end = 0;  // offset of the first line of the thread's own
  bool estimated = false;
};

/// Finds it by the ids and counters that also are in the files of the threads whose headers are
/// copied or that `forked_from` names ("": none), and by the burst of lines in the first second
/// where such a file is missing. End 0: nothing is copied.
/// `burst_at`: when the history was copied, as a file before this one told; 0: none did.
CodexCopied copied_history(const LogSource& source, const LogFinder& finder,
                           const std::string& own_thread, const std::string& forked_from,
                           std::int64_t burst_at = 0);

/// Whether a line is a token_usage_record of this thread.
bool is_own_record(const CodexLine& line, const std::string& own_thread);

/// The responses (CodexCount::record) of which a file holds records that disagree.
std::unordered_set<std::string> conflicting_records(const LogSource& source,
                                                    const std::string& own_thread);

/// Whether an item calls a tool, and which: its name, or its type where it has none.
bool is_codex_call(JsonSpan item);
std::string codex_tool(JsonSpan item);

/// How many web searches an item shows: each has a fee, while opening a page has none. Nothing:
/// none; 0: the item does not say what it did.
std::optional<std::uint64_t> codex_searches(JsonSpan item);

/// Text of a message's content, or of a call's output.
std::string codex_text(JsonSpan content);

/// Whether a user message was written by the program.
bool is_codex_context(std::string_view text);

}  // namespace daybook::tools
