// The working state that a compacted block carries: files and commands, from the tools' records.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/state.h"
#include "journal/journal.h"

namespace daybook::engine {

struct WorkRecord {
  std::vector<std::unique_ptr<schema::WorkFileT>> files;        // oldest first, one entry a path
  std::vector<std::unique_ptr<schema::WorkCommandT>> commands;  // oldest first
};

/// Most files and commands that are kept; the oldest go first.
inline constexpr std::size_t kWorkFiles = 100;
inline constexpr std::size_t kWorkCommands = 10;

/// Goes on from `record` with the events `first` to `last`. Relative paths are below `workspace`.
Result<void> extend_work(journal::Journal& journal, const SessionId& session,
                         const std::string& workspace, std::uint64_t first, std::uint64_t last,
                         WorkRecord& record);

/// Lines for the model, at most `limit` bytes of them; "" when nothing is recorded.
std::string render_work(const std::vector<std::unique_ptr<schema::WorkFileT>>& files,
                        const std::vector<std::unique_ptr<schema::WorkCommandT>>& commands,
                        std::size_t limit);

}  // namespace daybook::engine
