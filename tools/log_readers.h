// The formats, one file each.
#pragma once

#include <memory>

#include "tools/log_session.h"

namespace daybook::tools {

std::unique_ptr<RecordReader> make_claude_reader(LogReading& reading);
std::unique_ptr<RecordReader> make_codex_reader(LogReading& reading);
/// A rollout of April 2025: one document with all items of a session.
Result<void> read_codex_document(LogReading& reading, ByteSource& source);
std::unique_ptr<RecordReader> make_openworker_reader(LogReading& reading);
Result<void> read_atif(LogReading& reading, ByteSource& source);

/// read_log over bytes that are already open: for tests and fuzzers.
Result<LogReport> read_log_bytes(const LogSource& source, const LogReadOptions& options,
                                 ByteSource& bytes, LogSink& sink);

}  // namespace daybook::tools
