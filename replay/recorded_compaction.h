// Compactions as they were recorded: Daybook's own, and those in other programs' logs.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/span.h"

namespace daybook::replay {

/// What became of it.
enum class CompactionEnd : std::uint8_t {
  summary,    // a summary took the place of the older part
  trimmed,    // the older part was dropped without one
  unknown,    // imported, and the log has no summary of it
  cancelled,  // nothing was replaced
  failed,     // nothing could be gained
  open,       // the session ends in the middle of it
};
std::string_view name_of(CompactionEnd end);

struct RecordedCompaction {
  SessionId session;
  std::uint64_t version = 0;  // of CompactionStarted; of CompactionCommitted when imported
  std::uint32_t number = 0;   // in the session: 1, 2, ...
  std::string source;         // "daybook", "claude-code", "codex", ...
  std::string trigger;
  std::int64_t at = 0;      // UTC ns; 0: the log does not say
  std::uint64_t first = 0;  // events of what was replaced
  std::uint64_t last = 0;
  std::uint64_t trigger_tokens = 0;  // that its budgets were of; 0: not known
  std::uint64_t tokens_before = 0;   // 0: not known
  std::uint64_t tokens_after = 0;
  CompactionEnd end = CompactionEnd::open;
  std::string reason;          // why no summary was put in place, as recorded; "": not recorded
  std::uint32_t calls = 0;     // of the summariser, failed ones and repetitions too
  std::uint64_t ended_at = 0;  // version after which the session goes on
  std::uint64_t pieces = 0;    // events of messages in what was replaced; 0: nothing to sum up
  std::string missing;         // what a replay of it lacks; "": nothing

  /// "SESSION@VERSION".
  std::string id() const;

  explicit RecordedCompaction(SessionId name) : session(std::move(name)) {}
};

/// In the order of the session, which may be one that the journal does not have: then none.
/// Strict: damage is an error.
Result<std::vector<RecordedCompaction>> recorded_compactions(journal::Journal& journal,
                                                             const SessionId& session);

/// Everything that a replay of one needs.
struct CompactionCase {
  RecordedCompaction recorded;
  /// What is to be summed up: what an earlier block said, then the span.
  std::vector<engine::PastItem> items;
  std::size_t span_at = 0;                     // where the span begins
  std::string summary;                         // what was put in place; "": none
  std::vector<engine::PastItem> continuation;  // what came after it, up to the next one
  std::string model;                           // "provider:model" that the session used

  explicit CompactionCase(RecordedCompaction of) : recorded(std::move(of)) {}
};

/// `id` is "SESSION@VERSION"; `not_found` when there is none at that version, or no such session.
Result<CompactionCase> load_case(journal::Journal& journal, std::string_view id);
Result<CompactionCase> load_case(journal::Journal& journal, const SessionId& session,
                                 std::uint64_t version);

}  // namespace daybook::replay
