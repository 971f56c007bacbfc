// A tree of synthetic logs shaped like real ones, for measuring: sizes with p50 105 KB, p90 654 KB,
// p99 5.4 MB, at most 87 MB; half of the bytes Claude Code transcripts, half Codex rollouts; the
// order of members and the spacing vary from file to file.
#pragma once

#include <cstdint>
#include <string>

namespace daybook::bench {

/// By the generator's own count: what every reader must find.
struct LogTotals {
  std::uint64_t calls = 0;
  std::uint64_t uncached = 0;
  std::uint64_t cache_read = 0;
  std::uint64_t cache_write = 0;
  std::uint64_t output = 0;

  bool operator==(const LogTotals&) const = default;
  LogTotals& operator+=(const LogTotals& other);
};

/// What was written of one program's logs.
struct LogPart {
  LogTotals compact;
  LogTotals spaced;  // in files with a space behind each colon and comma

  LogTotals all() const;
};

struct LogTree {
  std::uint64_t bytes = 0;
  std::uint64_t files = 0;
  LogPart claude;
  LogPart codex;

  LogTotals all() const;
};

/// Writes about `bytes` below `folder` (claude/projects/..., codex/sessions/...). The same seed
/// gives the same tree.
LogTree make_log_tree(const std::string& folder, std::uint64_t bytes, std::uint64_t seed);

}  // namespace daybook::bench
