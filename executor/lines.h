// Text files as lines whose ends are kept, and the one way both patch formats change them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/result.h"

namespace daybook::executor {

struct Line {
  std::string_view text;
  std::string_view end;  // "\n", "\r\n", or "" for a last line without one
};

/// Views into `bytes`; joined they give the same bytes again.
std::vector<Line> split_lines(std::string_view bytes);

struct HunkLine {
  char kind = ' ';  // ' ' kept, '-' removed, '+' added
  std::string_view text;
  bool no_newline = false;  // marked as a last line without a line end
};

struct Hunk {
  std::vector<HunkLine> lines;
  std::string_view anchor;    // text after @@ of an envelope patch
  bool at_end = false;        // must match the end of the file
  std::size_t old_start = 0;  // 1-based line of a unified diff; 0 before the first line
  std::size_t old_count = 0;  // kept and removed lines
};

/// A hunk whose first kept or removed line is line `at` (0-based) of the file.
struct PlacedHunk {
  std::size_t at = 0;
  const Hunk* hunk = nullptr;
};

/// Whether a file's line is what a hunk says, whatever its line end.
bool same_text(const Line& line, std::string_view hunk_text);

/// Whether the hunk's kept and removed lines are those of the file from line `at` on.
bool matches_at(const std::vector<Line>& file, const Hunk& hunk, std::size_t at);

/// The file after the hunks, which must match, ascend and not overlap. Kept lines keep their
/// bytes. An added line gets the line end of the line before it in its hunk, unless the hunk shows
/// line ends itself (a CR at the end of any of its lines). The last line has an end if it had one
/// before, unless a hunk marks it otherwise.
std::string splice(const std::vector<Line>& file, const std::vector<PlacedHunk>& hunks);

}  // namespace daybook::executor
