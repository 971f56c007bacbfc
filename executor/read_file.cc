#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "executor/file_io.h"
#include "executor/file_tools.h"
#include "executor/outcome.h"
#include "schema/utf8.h"

namespace daybook::executor {
namespace {

constexpr std::size_t kMaxLines = 2000;
constexpr std::size_t kMaxLineChars = 500;
/// More than kMaxLineChars code points need, so that the cut decides before the kept bytes end.
constexpr std::size_t kKeptLineBytes = 4 * (kMaxLineChars + 1);

/// The first kMaxLineChars code points of a line, marked when there were more. Sets `repaired`
/// when other bytes than the line's stand for some that are not UTF-8.
std::string shown_line(std::string_view bytes, bool& repaired) {
  std::string text = repair_utf8(bytes);
  std::size_t chars = 0;
  std::size_t end = 0;
  for (; end < text.size(); ++end) {
    const bool starts = (static_cast<unsigned char>(text[end]) & 0xc0) != 0x80;
    if (starts && chars++ == kMaxLineChars) break;
  }
  const bool cut = end < text.size();
  text.resize(end);
  repaired = repaired || !bytes.starts_with(text);
  return cut ? text + "… (line cut)" : text;
}

/// Numbers the wanted lines of a stream and counts all of them; memory is bounded by the window.
class LineWindow {
 public:
  LineWindow(std::size_t start, std::size_t count) : start_(start), end_(start + count) {}

  void feed(std::string_view bytes) {
    while (!bytes.empty()) {
      const std::size_t newline = bytes.find('\n');
      const std::string_view part = bytes.substr(0, newline);
      keep(part);
      if (newline == std::string_view::npos) break;
      finish_line(true);
      bytes.remove_prefix(newline + 1);
    }
  }

  void finish() {
    if (open_) finish_line(false);
  }

  std::size_t total() const { return lines_; }
  const std::string& content() const { return content_; }
  /// Whether bytes that are not UTF-8 were replaced in it.
  bool repaired() const { return repaired_; }

 private:
  bool wanted() const { return lines_ + 1 >= start_ && lines_ + 1 < end_; }

  void keep(std::string_view part) {
    open_ = open_ || !part.empty();
    if (!wanted()) return;
    current_.append(part.substr(0, kKeptLineBytes - std::min(kKeptLineBytes, current_.size())));
  }

  void finish_line(bool terminated) {
    if (wanted()) {
      if (terminated && current_.ends_with('\r')) current_.pop_back();
      if (!content_.empty()) content_ += '\n';
      content_ += fmt::format("{:>6}\t{}", lines_ + 1, shown_line(current_, repaired_));
    }
    current_.clear();
    open_ = false;
    ++lines_;
  }

  std::size_t start_;
  std::size_t end_;
  std::size_t lines_ = 0;
  bool open_ = false;
  bool repaired_ = false;
  std::string current_;
  std::string content_;
};

std::string describe(const Location& where, const LineWindow& window, std::size_t start,
                     std::size_t count) {
  const std::size_t total = window.total();
  const std::size_t last = std::min(total, start + count - 1);
  Json result{{"path", where.shown},
              {"start_line", start},
              {"end_line", start > total ? start - 1 : last},
              {"total_lines", total},
              {"content", window.content()}};
  std::string note;
  if (start > total && total > 0) {
    note = fmt::format("the file has only {} lines", total);
  } else if (last < total) {
    note = fmt::format("{} more lines; go on with start_line={}", total - last, last + 1);
  }
  if (window.repaired()) {
    note += note.empty() ? "" : "; ";
    note += "bytes that are not UTF-8 are shown as U+FFFD";
  }
  if (!note.empty()) result["note"] = note;
  return dump_json(result);
}

class ReadFile : public Tool {
 public:
  ReadFile()
      : spec_{"read_file",
              "Read a text file as numbered lines. Long files come in parts: the note names the "
              "start_line of the next.",
              R"({"type":"object","properties":{)"
              R"("path":{"type":"string","description":"File to read"},)"
              R"("start_line":{"type":"integer","minimum":1,"default":1,)"
              R"("description":"First line, from 1"},)"
              R"("max_lines":{"type":"integer","minimum":1,"default":2000,)"
              R"("description":"How many lines at most; 2000 is the limit"}},)"
              R"("required":["path"],"additionalProperties":false})",
              Risk::read, schema::Effect::read_only} {}

  const ToolSpec& spec() const override { return spec_; }

  Result<Plan> plan(const ToolRequest& request, const Json& arguments) override {
    DAYBOOK_TRY(locate(request.policy, json_text(arguments, "path"), Access::read));
    return no_changes(request.policy);
  }

  Outcome run(const ToolRequest& request, const Json& arguments, const Plan& /*plan*/,
              const OutputSink& /*sink*/, std::stop_token stop) override {
    const Result<Location> where =
        locate(request.policy, json_text(arguments, "path"), Access::read);
    if (!where) return failure(where.error());
    const Result<UniqueFd> file = open_regular(request.policy, *where);
    if (!file) return failure(file.error());
    // No file has more lines than this; the bound keeps start + count from overflowing.
    const auto start = static_cast<std::size_t>(
        std::min(arguments.value("start_line", std::int64_t{1}), std::int64_t{1} << 48));
    const std::size_t count = std::min(
        static_cast<std::size_t>(arguments.value("max_lines", std::int64_t{2000})), kMaxLines);
    LineWindow window(start, count);
    std::string buffer;
    ssize_t length = 0;
    while ((length = read_some(file->get(), buffer)) > 0) {
      if (stop.stop_requested()) return failure({ErrorCode::cancelled, "reading was stopped"});
      window.feed(buffer);
    }
    if (length < 0) return failure(path_error(errno, where->shown));
    window.finish();
    return success(describe(*where, window, start, count));
  }

 private:
  ToolSpec spec_;
};

}  // namespace

std::unique_ptr<Tool> make_read_file() {
  return std::make_unique<ReadFile>();
}

}  // namespace daybook::executor
