#include <fmt/format.h>

#include <optional>

#include "executor/patch_format.h"

namespace daybook::executor {
namespace {

constexpr std::string_view kBegin = "*** Begin Patch";
constexpr std::string_view kEnd = "*** End Patch";
constexpr std::string_view kAdd = "*** Add File: ";
constexpr std::string_view kDelete = "*** Delete File: ";
constexpr std::string_view kUpdate = "*** Update File: ";
constexpr std::string_view kMove = "*** Move to: ";
constexpr std::string_view kEndOfFile = "*** End of File";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") + 1 - first);
}

/// What a @@ line says about the place; the numbers of a unified diff say nothing here.
std::string_view anchor_of(std::string_view line) {
  std::string_view anchor = trimmed(line.substr(2));
  if (anchor.starts_with('-')) {
    const std::size_t close = anchor.find("@@");
    return close == std::string_view::npos ? std::string_view() : trimmed(anchor.substr(close + 2));
  }
  if (anchor.ends_with("@@")) anchor = trimmed(anchor.substr(0, anchor.size() - 2));
  return anchor;
}

class Parser {
 public:
  explicit Parser(std::string_view patch) {
    bool all_crlf = true;
    for (const Line& line : split_lines(patch)) {
      lines_.push_back(line);
      all_crlf = all_crlf && line.end != "\n";
    }
    // A CR before a lone LF belongs to the text of the line.
    if (all_crlf && lines_.size() > 1) {
      line_end_ = "\r\n";
      return;
    }
    for (Line& line : lines_) {
      if (line.end == "\r\n") line.text = {line.text.data(), line.text.size() + 1};
    }
  }

  Result<std::vector<FilePatch>> parse() {
    skip_blank();
    if (at_ == lines_.size() || trimmed(text()) != kBegin) {
      return error("the patch must start with '*** Begin Patch'");
    }
    ++at_;
    std::vector<FilePatch> files;
    while (at_ < lines_.size() && trimmed(text()) != kEnd) {
      if (trimmed(text()).empty()) {
        ++at_;
        continue;
      }
      Result<FilePatch> file = parse_section();
      if (!file) return fail(std::move(file.error()));
      files.push_back(std::move(*file));
    }
    if (at_ == lines_.size()) return error("the patch must end with '*** End Patch'");
    ++at_;
    skip_blank();
    if (at_ != lines_.size()) return error("there is text after '*** End Patch'");
    if (files.empty()) return error("the patch changes no file");
    return files;
  }

 private:
  std::string_view text() const { return lines_[at_].text; }

  bool at_section_end() const { return at_ == lines_.size() || text().starts_with("*** "); }

  void skip_blank() {
    while (at_ < lines_.size() && trimmed(text()).empty()) ++at_;
  }

  tl::unexpected<Error> error(std::string_view what) const {
    return fail(ErrorCode::invalid_argument, fmt::format("patch line {}: {}", at_ + 1, what));
  }

  /// The path after a marker, when the current line has that marker.
  std::optional<std::string> marked(std::string_view marker) {
    if (!text().starts_with(marker)) return std::nullopt;
    return std::string(trimmed(text().substr(marker.size())));
  }

  Result<FilePatch> parse_section() {
    FilePatch file;
    if (const auto added = marked(kAdd)) {
      file.kind = FilePatch::Kind::add;
      file.path = *added;
      ++at_;
      return parse_content(std::move(file));
    }
    if (const auto removed = marked(kDelete)) {
      file.kind = FilePatch::Kind::remove;
      file.path = *removed;
      ++at_;
      return file;
    }
    if (const auto updated = marked(kUpdate)) {
      file.path = *updated;
      ++at_;
      return parse_update(std::move(file));
    }
    return error(
        "expected '*** Add File: ', '*** Delete File: ', '*** Update File: ' or '*** End Patch'");
  }

  Result<FilePatch> parse_content(FilePatch file) {
    while (!at_section_end()) {
      if (!text().starts_with('+')) {
        if (trimmed(text()).empty()) {
          ++at_;
          continue;
        }
        return error("every line of an added file must start with '+'");
      }
      file.content += text().substr(1);
      file.content += line_end_;
      ++at_;
    }
    return file;
  }

  Result<FilePatch> parse_update(FilePatch file) {
    if (at_ < lines_.size()) {
      if (const auto target = marked(kMove)) {
        file.move_to = *target;
        if (file.move_to.empty()) return error("'*** Move to: ' names no file");
        ++at_;
      }
    }
    while (!at_section_end()) {
      if (trimmed(text()).empty()) {
        ++at_;
        continue;
      }
      if (!text().starts_with("@@")) return error("a hunk must start with '@@'");
      Hunk hunk;
      // Of several @@ lines in a row the last is the nearest to the place.
      for (; at_ < lines_.size() && text().starts_with("@@"); ++at_)
        hunk.anchor = anchor_of(text());
      DAYBOOK_TRY(parse_hunk(hunk));
      file.hunks.push_back(std::move(hunk));
    }
    if (file.hunks.empty() && file.move_to.empty()) {
      return error(fmt::format("the update of '{}' has no hunk", file.path));
    }
    return file;
  }

  Result<void> parse_hunk(Hunk& hunk) {
    while (at_ < lines_.size() && !text().starts_with("@@")) {
      if (trimmed(text()) == kEndOfFile) {
        hunk.at_end = true;
        ++at_;
        break;
      }
      if (text().starts_with("*** ")) break;
      // Blank context lines often arrive without their leading space.
      const char kind = text().empty() ? ' ' : text().front();
      if (kind != ' ' && kind != '+' && kind != '-') {
        return error("a hunk line must start with ' ', '+' or '-'");
      }
      hunk.lines.push_back({kind, text().empty() ? text() : text().substr(1), false});
      hunk.old_count += kind == '+' ? 0 : 1;
      ++at_;
    }
    drop_separators(hunk);
    if (hunk.lines.empty()) return error("a hunk is empty");
    if (hunk.old_count == 0) {
      return error("a hunk that only adds lines needs at least one line of context");
    }
    return {};
  }

  /// Blank lines between a hunk and the next section are not context.
  void drop_separators(Hunk& hunk) {
    if (hunk.at_end || !at_section_end()) return;
    std::size_t line = at_;
    while (!hunk.lines.empty() && line > 0 && lines_[--line].text.empty()) {
      hunk.lines.pop_back();
      --hunk.old_count;
    }
  }

  std::vector<Line> lines_;
  std::string_view line_end_ = "\n";  // of added files
  std::size_t at_ = 0;
};

Result<std::size_t> place(const std::vector<Line>& file, const Hunk& hunk, std::size_t cursor,
                          const std::string& path, std::size_t number) {
  std::size_t from = cursor;
  if (!hunk.anchor.empty()) {
    for (std::size_t i = cursor; i < file.size(); ++i) {
      if (trimmed(file[i].text) != hunk.anchor) continue;
      from = i;
      break;
    }
  }
  std::optional<std::size_t> found;
  if (hunk.at_end && file.size() >= hunk.old_count) {
    from = std::max(from, file.size() - hunk.old_count);
  }
  for (std::size_t at = from; at < file.size(); ++at) {
    if (!matches_at(file, hunk, at)) continue;
    if (found) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("'{}', hunk {}: its context is ambiguous, it matches at lines {} and "
                              "{}; add more context lines",
                              path, number, *found + 1, at + 1));
    }
    found = at;
  }
  if (found) return *found;
  return fail(ErrorCode::invalid_argument,
              fmt::format("'{}', hunk {}: its context was not found{}; read the file and copy the "
                          "lines exactly",
                          path, number, number > 1 ? " after the hunk before it" : ""));
}

}  // namespace

Result<std::vector<FilePatch>> parse_envelope(std::string_view patch) {
  return Parser(patch).parse();
}

Result<std::string> apply_by_context(const FilePatch& patch, std::string_view before) {
  const std::vector<Line> file = split_lines(before);
  std::vector<PlacedHunk> placed;
  std::size_t cursor = 0;
  for (const Hunk& hunk : patch.hunks) {
    const Result<std::size_t> at = place(file, hunk, cursor, patch.path, placed.size() + 1);
    if (!at) return fail(at.error());
    placed.push_back({*at, &hunk});
    cursor = *at + hunk.old_count;
  }
  return splice(file, placed);
}

}  // namespace daybook::executor
