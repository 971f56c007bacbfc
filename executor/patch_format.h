// The two patch languages, parsed into the same changes of files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "executor/lines.h"
#include "schema/result.h"

namespace daybook::executor {

/// One file's part of a patch; views are into the patch text.
struct FilePatch {
  enum class Kind { add, update, remove };
  Kind kind = Kind::update;
  std::string path;
  std::string move_to;  // update only: new name, or ""
  std::vector<Hunk> hunks;
  std::string content;  // add of an envelope patch: the whole file
};

/// The envelope format: *** Begin Patch, sections Add File / Delete File / Update File with an
/// optional Move to, *** End Patch. Errors name the line.
Result<std::vector<FilePatch>> parse_envelope(std::string_view patch);

/// Places each hunk where its kept and removed lines stand: exactly once after the hunk before it.
Result<std::string> apply_by_context(const FilePatch& patch, std::string_view before);

/// Unified diff of any number of files. The line counts of a hunk's header decide where it ends,
/// so that a removed line starting with `-- ` is not taken for a file header.
Result<std::vector<FilePatch>> parse_unified_diff(std::string_view diff);

/// Places each hunk at the line its header names, and nowhere else.
Result<std::string> apply_by_number(const FilePatch& patch, std::string_view before);

}  // namespace daybook::executor
