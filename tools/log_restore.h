// Daybook's own export: read for its calls, or put back into a journal byte for byte.
#pragma once

#include "journal/journal.h"
#include "tools/log_file.h"
#include "tools/log_import.h"

namespace daybook::tools {

/// Depth::usage of a file of exports: their events folded into calls. Here and below damage comes
/// without the file's path, which only the caller knows.
Result<LogReport> read_export_calls(ByteSource& bytes, LogSink& sink);

struct Restored {
  std::uint64_t new_sessions = 0;
  std::uint64_t appended = 0;
  std::uint64_t known = 0;
  /// Events that could be read but not put back: one before them, or a blob of theirs, could not
  /// be read, and a session has no holes.
  std::uint64_t left = 0;
  LogReport report;  // lines, damage, and the model calls of all events that were read
};

/// Appends the events that the journal lacks, unchanged: hashes, ids and times stay. A file may
/// hold several exports, one behind the other. `journal` may be null when `dry` is given: then
/// nothing is written. Damaged lines, and exports that lack their end, are reported. Errors:
/// `conflict` when the journal holds another session of that name; what was appended before stays.
Result<Restored> restore_export(ByteSource& bytes, journal::Journal* journal, DryImport* dry);

}  // namespace daybook::tools
