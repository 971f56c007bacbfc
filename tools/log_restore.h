// Daybook's own export: read for its calls, or put back into a journal byte for byte.
#pragma once

#include "journal/journal.h"
#include "tools/log_file.h"
#include "tools/log_source.h"

namespace daybook::tools {

/// Depth::usage of an export: its events folded into calls.
Result<LogReport> read_export_calls(ByteSource& bytes, LogSink& sink);

struct Restored {
  std::string session;
  std::uint64_t appended = 0;
  std::uint64_t known = 0;
  /// Events that could be read but not put back: one before them, or a blob of theirs, could not
  /// be read, and a session has no holes.
  std::uint64_t left = 0;
  LogReport report;  // lines and damage
};

/// Appends the events that the journal lacks, unchanged: hashes, ids and times stay. `journal` may
/// be null: nothing is written. Damaged lines are skipped and reported. Errors: `conflict` when
/// the journal holds another session of that name; what was appended before stays.
Result<Restored> restore_export(ByteSource& bytes, journal::Journal* journal, bool dry);

}  // namespace daybook::tools
