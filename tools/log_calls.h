// The calls of log files, without storing anything: what `daybook cost PATH` and
// `daybook cache PATH` work on.
#pragma once

#include "tools/log_source.h"

namespace daybook::tools {

/// The call that counts, of a copy.
struct CopyOf {
  std::shared_ptr<const replay::CallSession> session;
  std::string lineage;
  std::uint64_t version = 0;  // as numbered
};

struct LogCallsOptions {
  unsigned threads = 2;
  std::function<void(std::uint64_t bytes_read)> progress = {};  // of all files; from any thread
  /// visit_log_calls: told of every session that has calls, copies included, before the first call.
  /// One that several files hold may come more than once.
  std::function<void(const replay::CallSession&)> session = {};
  /// visit_log_calls: then calls come in the order of their starts, of all sessions, and each is
  /// followed by its copies, one for every other session that holds it and has calls of its own.
  /// Copies have the figures and times of the call that counts, and no number.
  std::function<void(replay::Call&&, const CopyOf&)> copy = {};
  bool starts = false;  // calls tell not before when they started, too (LogReadOptions)
};

/// Visits every call of the sources, copies included, in any order, one at a time from any thread:
/// for tables that merge copies themselves. Files that cannot be read are in the report.
LogReport scan_log_calls(std::span<const LogSource> sources, const LogCallsOptions& options,
                         const std::function<void(replay::Call&&)>& visit);

/// Visits every distinct call of the sources once, on the calling thread, ordered by session
/// (kind, id) and then by start, and numbered (Call::version) in that order from one in each
/// session, figures only (Depth::usage). Of copies the one counts that
/// replay/copy_rule.h says, with the earliest start of all of them. Files that cannot be read are
/// in the report.
LogReport visit_log_calls(std::span<const LogSource> sources, const LogCallsOptions& options,
                          const std::function<void(replay::Call&&)>& visit);

}  // namespace daybook::tools
