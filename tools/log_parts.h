// A log that was cut into several files: which they are, and reading them as the one that they
// were.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tools/log_file.h"
#include "tools/log_source.h"

namespace daybook::tools {

/// Joins the sources that go on from each other (LogSource::rest), in the order of the first file
/// of each; all others come back as they are. A file goes on from another one of its thread when
///  - Claude Code: it begins with a line whose parent that one holds, or begins when that one has
///    ended;
///  - Codex: its name tells the thread, but its first line does not.
/// Of one that holds its first line, because they are copies in part, only what lies before that is
/// read. Only threads in which a file may go on from another are looked into. Where several files
/// go on from one, each makes a source.
std::vector<LogSource> join_parts(std::span<const LogSource> sources);

/// The bytes of a source and of its rest. Lines do not run on from file to file.
Result<std::unique_ptr<ByteSource>> open_log(const LogSource& source);

/// Bytes on disk: of all its files, and of those that no other source tells.
std::uint64_t whole_size(const LogSource& source);
std::uint64_t own_size(const LogSource& source);

/// The thread that a rollout's name tells:
/// rollout-YYYY-MM-DDThh-mm-ss-<thread>[_<rollout>].jsonl
std::string codex_thread_named(std::string_view file);

}  // namespace daybook::tools
