#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "executor/patch_format.h"

namespace daybook::executor {
namespace {

/// Longest file any tool edits has fewer lines; also keeps sums of line numbers from overflowing.
constexpr std::size_t kMaxLineNumber = 1'000'000'000;

constexpr std::string_view kNull = "/dev/null";

bool starts_with_any(std::string_view line, std::initializer_list<std::string_view> prefixes) {
  for (const std::string_view prefix : prefixes) {
    if (line.starts_with(prefix)) return true;
  }
  return false;
}

/// A name in double quotes with C escapes, as git writes names with unusual bytes.
std::optional<std::string> unquoted(std::string_view text) {
  if (text.size() < 2 || text.back() != '"') return std::nullopt;
  text = text.substr(1, text.size() - 2);
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    if (++i == text.size()) return std::nullopt;
    constexpr std::string_view kLetters = "abtnvfr\"\\";
    constexpr std::string_view kBytes = "\a\b\t\n\v\f\r\"\\";
    if (const std::size_t letter = kLetters.find(text[i]); letter != std::string_view::npos) {
      out += kBytes[letter];
      continue;
    }
    unsigned value = 0;
    const std::string_view digits = text.substr(i, 3);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), value, 8);
    if (error != std::errc() || end != digits.data() + 3 || value > 255) return std::nullopt;
    out += static_cast<char>(value);
    i += 2;
  }
  return out;
}

struct Range {
  std::size_t start = 0;
  std::size_t count = 1;
};

/// Reads "12,3" or "12" and moves `text` behind it.
std::optional<Range> take_range(std::string_view& text) {
  const auto number = [&text]() -> std::optional<std::size_t> {
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value > kMaxLineNumber) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return value;
  };
  Range range;
  const std::optional<std::size_t> start = number();
  if (!start) return std::nullopt;
  range.start = *start;
  if (text.starts_with(',')) {
    text.remove_prefix(1);
    const std::optional<std::size_t> count = number();
    if (!count) return std::nullopt;
    range.count = *count;
  }
  return range;
}

bool marks_last_line(const Hunk& hunk) {
  return std::any_of(hunk.lines.begin(), hunk.lines.end(),
                     [](const HunkLine& line) { return line.no_newline; });
}

/// A marked line must be the last one of each side that has it.
bool marks_are_last(const Hunk& hunk) {
  bool old_ended = false;
  bool new_ended = false;
  for (const HunkLine& line : hunk.lines) {
    const bool is_old = line.kind != '+';
    const bool is_new = line.kind != '-';
    if ((is_old && old_ended) || (is_new && new_ended)) return false;
    old_ended = old_ended || (is_old && line.no_newline);
    new_ended = new_ended || (is_new && line.no_newline);
  }
  return true;
}

class Parser {
 public:
  explicit Parser(std::string_view diff) {
    bool all_crlf = true;
    for (const Line& line : split_lines(diff)) {
      lines_.push_back(line);
      all_crlf = all_crlf && line.end != "\n";
    }
    if (all_crlf) return;
    // git leaves its own lines without CR, so a CR here belongs to the files' lines.
    for (Line& line : lines_) {
      if (line.end == "\r\n") line.text = {line.text.data(), line.text.size() + 1};
    }
  }

  Result<std::vector<FilePatch>> parse() {
    std::vector<FilePatch> files;
    while (at_ < lines_.size()) {
      if (at_file_header()) {
        Result<FilePatch> file = parse_file();
        if (!file) return fail(std::move(file.error()));
        files.push_back(std::move(*file));
        git_section_.reset();
      } else {
        DAYBOOK_TRY(skip_line(!files.empty()));
      }
    }
    DAYBOOK_TRY(check_section_used());
    if (files.empty()) return error("the diff names no file; it needs '--- ' and '+++ ' lines");
    return files;
  }

 private:
  std::string_view text() const { return lines_[at_].text; }

  tl::unexpected<Error> error(std::string_view what) const {
    return fail(ErrorCode::invalid_argument, fmt::format("diff line {}: {}", at_ + 1, what));
  }

  bool at_file_header() const {
    return at_ + 1 < lines_.size() && text().starts_with("--- ") &&
           lines_[at_ + 1].text.starts_with("+++ ");
  }

  /// A git section without hunks would be lost without a word.
  Result<void> check_section_used() {
    if (!git_section_) return {};
    at_ = *git_section_;
    return error(
        "this file has no hunk: empty files, renames, and changes of mode only are not "
        "supported");
  }

  Result<void> skip_line(bool strict) {
    const std::string_view line = text();
    if (line.starts_with("diff --git ")) {
      DAYBOOK_TRY(check_section_used());
      git_section_ = at_;
    } else if (starts_with_any(line, {"rename from ", "rename to ", "copy from ", "copy to "})) {
      return error("renames and copies are not supported; use apply_patch with '*** Move to: '");
    } else if (starts_with_any(line, {"GIT binary patch", "Binary files "})) {
      return error("binary changes are not supported");
    } else if (line.starts_with("@@ ")) {
      return error("a hunk without the '--- ' and '+++ ' lines of its file");
    } else if (strict && !git_section_ && starts_with_any(line, {" ", "+", "-"})) {
      return error("the hunk before this line is longer than its header says");
    } else if (strict && !line.empty() && line != "\r" &&
               !starts_with_any(line, {"index ", "old mode ", "new mode ", "new file mode ",
                                       "deleted file mode ", "similarity index ",
                                       "dissimilarity index ", "Index: ", "====", "diff "})) {
      return error("this line is neither part of a hunk nor a file header");
    }
    ++at_;
    return {};
  }

  /// The name on a `--- ` or `+++ ` line, without time stamp and one a/ or b/.
  Result<std::string> take_name() {
    std::string_view name = text().substr(4);
    if (name.ends_with('\r')) name.remove_suffix(1);
    std::string out;
    if (name.starts_with('"')) {
      const std::optional<std::string> plain = unquoted(name.substr(0, name.rfind('"') + 1));
      if (!plain) return error("the quoted file name is damaged");
      out = *plain;
    } else {
      out = std::string(name.substr(0, name.find('\t')));
      while (out.ends_with(' ')) out.pop_back();
    }
    if (out != kNull && (out.starts_with("a/") || out.starts_with("b/"))) out.erase(0, 2);
    if (out.empty()) return error("the file name is empty");
    ++at_;
    return out;
  }

  Result<FilePatch> parse_file() {
    const Result<std::string> before = take_name();
    if (!before) return fail(before.error());
    const Result<std::string> after = take_name();
    if (!after) return fail(after.error());
    FilePatch file;
    if (*before == kNull && *after == kNull) return error("both sides are /dev/null");
    if (*before == kNull) {
      file.kind = FilePatch::Kind::add;
      file.path = *after;
    } else if (*after == kNull) {
      file.kind = FilePatch::Kind::remove;
      file.path = *before;
    } else if (*before != *after) {
      return error(
          fmt::format("'{}' and '{}' differ: renames are not supported; use apply_patch "
                      "with '*** Move to: '",
                      *before, *after));
    } else {
      file.path = *before;
    }
    while (at_ < lines_.size() && text().starts_with("@@ ")) {
      Hunk hunk;
      DAYBOOK_TRY(parse_hunk(hunk));
      if (file.kind == FilePatch::Kind::add && hunk.old_count > 0) {
        return error(fmt::format("the new file '{}' cannot have old lines", file.path));
      }
      file.hunks.push_back(std::move(hunk));
    }
    if (file.hunks.empty()) return error(fmt::format("'{}' has no hunk", file.path));
    return file;
  }

  Result<void> parse_hunk(Hunk& hunk) {
    std::string_view header = text().substr(3);
    std::optional<Range> before;
    std::optional<Range> after;
    if (header.starts_with('-')) {
      header.remove_prefix(1);
      before = take_range(header);
    }
    if (before && header.starts_with(" +")) {
      header.remove_prefix(2);
      after = take_range(header);
    }
    if (!after || !header.starts_with(" @@")) {
      return error("a hunk header must be '@@ -line,count +line,count @@'");
    }
    if (before->start == 0 && before->count > 0) return error("line numbers start at 1");
    hunk.old_start = before->start;
    hunk.old_count = before->count;
    if (before->count + after->count == 0) return error("the hunk is empty");
    ++at_;
    return parse_lines(hunk, before->count, after->count);
  }

  Result<void> parse_lines(Hunk& hunk, std::size_t before, std::size_t after) {
    while (before + after > 0 || (at_ < lines_.size() && text().starts_with('\\'))) {
      if (at_ == lines_.size()) return error("the hunk ends before its header says");
      const std::string_view line = text();
      // Blank context lines often arrive without their leading space.
      const char kind = line.empty() || line == "\r" ? ' ' : line.front();
      if (kind == '\\') {
        if (hunk.lines.empty()) return error("'\\' marks the line before it, but there is none");
        hunk.lines.back().no_newline = true;
        ++at_;
        continue;
      }
      if (kind != ' ' && kind != '-' && kind != '+') {
        return error(
            "a hunk line must start with ' ', '-' or '+'; the hunk may be shorter than "
            "its header says");
      }
      if ((kind != '+' && before == 0) || (kind != '-' && after == 0)) {
        return error("the hunk does not have the line counts that its header says");
      }
      before -= kind == '+' ? 0 : 1;
      after -= kind == '-' ? 0 : 1;
      hunk.lines.push_back({kind, line.starts_with(kind) ? line.substr(1) : line, false});
      ++at_;
    }
    if (!marks_are_last(hunk)) {
      return error("a line follows one that is marked as the last without a line end");
    }
    return {};
  }

  std::vector<Line> lines_;
  std::size_t at_ = 0;
  std::optional<std::size_t> git_section_;  // a `diff --git` line whose hunks are still to come
};

Error misplaced(const FilePatch& patch, std::size_t number, std::string_view what) {
  return {ErrorCode::invalid_argument, fmt::format("'{}', hunk {}: {}", patch.path, number, what)};
}

}  // namespace

Result<std::vector<FilePatch>> parse_unified_diff(std::string_view diff) {
  return Parser(diff).parse();
}

Result<std::string> apply_by_number(const FilePatch& patch, std::string_view before) {
  const std::vector<Line> file = split_lines(before);
  std::vector<PlacedHunk> placed;
  std::size_t end = 0;
  for (const Hunk& hunk : patch.hunks) {
    const std::size_t number = placed.size() + 1;
    // A hunk without old lines names the line after which it inserts.
    const std::size_t at = hunk.old_count == 0 ? hunk.old_start : hunk.old_start - 1;
    if (at < end) return fail(misplaced(patch, number, "overlaps the hunk before it"));
    if (!matches_at(file, hunk, at)) {
      return fail(misplaced(patch, number,
                            fmt::format("the lines at line {} of the file are not those of the "
                                        "hunk; read the file and make the diff again",
                                        at + 1)));
    }
    end = at + hunk.old_count;
    if (marks_last_line(hunk) && end != file.size()) {
      return fail(misplaced(patch, number,
                            "marks a line as the last one without a line end, but lines follow"));
    }
    placed.push_back({at, &hunk});
  }
  return splice(file, placed);
}

}  // namespace daybook::executor
