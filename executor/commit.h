// The second half of an edit: prepared temporary files become the files, or everything is undone.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "executor/edits.h"
#include "executor/file_io.h"

namespace daybook::executor {

struct PendingChange {
  std::size_t op = 0;  // index in the plan
  std::string shown;
  std::string temporary;
  Target target;
  std::optional<LoadedFile> before;
  std::optional<std::string> after;       // nothing: the file is removed
  std::optional<struct stat> attributes;  // mode and owner of the new file; nothing: defaults
};

/// The bytes after an edit; nothing for a removal. `before` is the edited file's state.
Result<std::optional<std::string>> compute_edit(const Policy& policy, const FileEdit& edit,
                                                const std::optional<LoadedFile>& before);

/// Sets change.attributes: those of the file itself, or of the source of a move.
Result<void> take_attributes(const Policy& policy, const FileEdit& edit,
                             const std::optional<LoadedFile>& now, PendingChange& change);

/// The same for every run of a call, so that a later run finds what a crashed one left.
std::string temporary_name(const ToolRequest& request, std::size_t op);
Result<void> remove_leftover(const Target& target, const std::string& name, std::string_view shown);

/// Those of all operations of a call, as far as they can be removed.
void remove_leftovers(const ToolRequest& request, const std::vector<FileOp>& ops);

/// Writes all temporary files first, then commits change by change, each durable before the next.
/// After an error what was changed is set back as far as nobody else has touched it.
Result<void> commit_changes(std::vector<PendingChange>& changes, const CommitHook& hook);

}  // namespace daybook::executor
