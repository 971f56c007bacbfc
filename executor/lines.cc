#include "executor/lines.h"

#include <algorithm>

namespace daybook::executor {
namespace {

constexpr std::string_view kLf = "\n";
constexpr std::string_view kCrLf = "\r\n";

/// Line end for lines that have none to inherit.
std::string_view default_end(const std::vector<Line>& file) {
  return file.empty() || file.front().end.empty() ? kLf : file.front().end;
}

bool shows_line_ends(const Hunk& hunk) {
  return std::any_of(hunk.lines.begin(), hunk.lines.end(),
                     [](const HunkLine& line) { return line.text.ends_with('\r'); });
}

Line added_line(std::string_view text, bool explicit_ends, std::string_view inherited) {
  if (!explicit_ends) return {text, inherited};
  if (!text.ends_with('\r')) return {text, kLf};
  return {text.substr(0, text.size() - 1), kCrLf};
}

class Splicer {
 public:
  explicit Splicer(const std::vector<Line>& file)
      : file_(file), ends_(file.empty() || !file.back().end.empty()) {}

  void add(const PlacedHunk& placed) {
    copy_until(placed.at);
    const Hunk& hunk = *placed.hunk;
    const bool explicit_ends = shows_line_ends(hunk);
    std::string_view inherited = default_end(file_);
    if (at_ < file_.size()) {
      inherited = file_[at_].end;
    } else if (at_ > 0) {
      inherited = file_[at_ - 1].end;
    }
    bool old_marked = false;
    bool new_marked = false;
    for (const HunkLine& line : hunk.lines) {
      if (line.kind != '+') {
        inherited = file_[at_].end;
        if (line.kind == ' ') out_.push_back(file_[at_]);
        ++at_;
        old_marked = old_marked || line.no_newline;
      } else {
        out_.push_back(added_line(line.text, explicit_ends, inherited));
      }
      new_marked = new_marked || (line.kind != '-' && line.no_newline);
    }
    if (old_marked) ends_ = true;
    if (new_marked) ends_ = false;
  }

  std::string finish() {
    copy_until(file_.size());
    std::string bytes;
    for (std::size_t i = 0; i < out_.size(); ++i) {
      const bool wants_end = i + 1 < out_.size() || ends_;
      bytes += out_[i].text;
      if (wants_end) bytes += out_[i].end.empty() ? default_end(file_) : out_[i].end;
    }
    return bytes;
  }

 private:
  void copy_until(std::size_t end) {
    while (at_ < end) out_.push_back(file_[at_++]);
  }

  const std::vector<Line>& file_;
  std::vector<Line> out_;
  std::size_t at_ = 0;
  bool ends_;
};

}  // namespace

std::vector<Line> split_lines(std::string_view bytes) {
  std::vector<Line> lines;
  while (!bytes.empty()) {
    const std::size_t newline = bytes.find('\n');
    if (newline == std::string_view::npos) {
      lines.push_back({bytes, {}});
      break;
    }
    const bool crlf = newline > 0 && bytes[newline - 1] == '\r';
    const std::size_t text = crlf ? newline - 1 : newline;
    lines.push_back({bytes.substr(0, text), bytes.substr(text, newline + 1 - text)});
    bytes.remove_prefix(newline + 1);
  }
  return lines;
}

bool same_text(const Line& line, std::string_view hunk_text) {
  if (line.text == hunk_text) return true;
  return line.end == kCrLf && hunk_text.ends_with('\r') &&
         line.text == hunk_text.substr(0, hunk_text.size() - 1);
}

bool matches_at(const std::vector<Line>& file, const Hunk& hunk, std::size_t at) {
  if (at > file.size() || hunk.old_count > file.size() - at) return false;
  for (const HunkLine& line : hunk.lines) {
    if (line.kind == '+') continue;
    if (!same_text(file[at], line.text)) return false;
    if (line.no_newline && (at + 1 != file.size() || !file[at].end.empty())) return false;
    ++at;
  }
  return true;
}

std::string splice(const std::vector<Line>& file, const std::vector<PlacedHunk>& hunks) {
  Splicer splicer(file);
  for (const PlacedHunk& placed : hunks) splicer.add(placed);
  return splicer.finish();
}

}  // namespace daybook::executor
