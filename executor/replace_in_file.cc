#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "executor/file_io.h"
#include "executor/file_tools.h"
#include "executor/writer_tool.h"
#include "schema/utf8.h"

namespace daybook::executor {
namespace {

std::size_t count_of(std::string_view bytes, std::string_view text) {
  std::size_t count = 0;
  for (std::size_t at = bytes.find(text); at != std::string_view::npos;
       at = bytes.find(text, at + text.size())) {
    ++count;
  }
  return count;
}

std::string replace_all(std::string_view bytes, std::string_view from, std::string_view to) {
  std::string out;
  std::size_t at = 0;
  for (std::size_t found = bytes.find(from); found != std::string_view::npos;
       found = bytes.find(from, at)) {
    out.append(bytes, at, found - at);
    out += to;
    at = found + from.size();
  }
  out.append(bytes, at);
  return out;
}

/// Every lone LF as CR LF.
std::string with_crlf(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\n' && (i == 0 || text[i - 1] != '\r')) out += '\r';
    out += text[i];
  }
  return out;
}

bool ends_lines_with_crlf(std::string_view bytes) {
  std::size_t newlines = 0;
  for (std::size_t at = bytes.find('\n'); at != std::string_view::npos;
       at = bytes.find('\n', at + 1)) {
    if (at == 0 || bytes[at - 1] != '\r') return false;
    ++newlines;
  }
  return newlines > 0;
}

std::size_t chars_in(std::string_view bytes) {
  const std::string text = repair_utf8(bytes);
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

struct Replacement {
  std::string shown;
  std::string from;
  std::string to;
  std::int64_t expected = 1;
  std::size_t chars_before = 0;
  std::size_t chars_after = 0;

  Result<std::string> apply(std::string_view bytes) {
    std::string old_text = from;
    std::string new_text = to;
    std::size_t found = count_of(bytes, old_text);
    // Models write LF; in a file of CR LF lines both texts mean its line ends.
    const bool translate = ends_lines_with_crlf(bytes) ||
                           (found == 0 && bytes.find("\r\n") != std::string_view::npos &&
                            count_of(bytes, with_crlf(from)) > 0);
    if (translate) {
      old_text = with_crlf(from);
      new_text = with_crlf(to);
      found = count_of(bytes, old_text);
    }
    if (found != static_cast<std::size_t>(expected)) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("expected {} occurrence(s) of the old text in '{}', found {}; {}",
                              expected, shown, found,
                              found == 0 ? "read the file and copy the text exactly"
                                         : "add surrounding text or set expected_replacements"));
    }
    std::string after = replace_all(bytes, old_text, new_text);
    chars_before = chars_in(bytes);
    chars_after = chars_in(after);
    return after;
  }

  std::string result() const {
    return dump_json({{"path", shown},
                      {"replacements", expected},
                      {"chars_before", chars_before},
                      {"chars_after", chars_after}});
  }
};

class ReplaceInFile : public WriterTool {
 public:
  explicit ReplaceInFile(CommitHook hook)
      : WriterTool("replace_in_file",
                   "Replace one exact text in a file. Use it for a single small change (or the "
                   "same change everywhere, with expected_replacements); for several different "
                   "changes use apply_patch, for a new file use write_file.",
                   R"({"type":"object","properties":{)"
                   R"("path":{"type":"string","description":"File to change"},)"
                   R"("old":{"type":"string","description":"Exact text to find"},)"
                   R"("new":{"type":"string","description":"Text to put in its place"},)"
                   R"("expected_replacements":{"type":"integer","minimum":1,"description":)"
                   R"("How often the old text occurs; 1 unless given"}},)"
                   R"("required":["path","old","new"],"additionalProperties":false})",
                   std::move(hook)) {}

 protected:
  Result<Draft> draft(const Policy& policy, const Json& arguments) const override {
    Result<Location> where = locate(policy, json_text(arguments, "path"), Access::write);
    if (!where) return fail(std::move(where.error()));
    const auto change = std::make_shared<Replacement>();
    change->shown = where->shown;
    change->from = json_text(arguments, "old");
    change->to = json_text(arguments, "new");
    change->expected = arguments.value("expected_replacements", std::int64_t{1});
    if (change->from.empty()) {
      return fail(ErrorCode::invalid_argument,
                  "the old text is empty; name the text that is to be replaced");
    }
    FileEdit edit;
    edit.kind = FileEdit::Kind::update;
    edit.where = std::move(*where);
    edit.transform = [change](std::string_view bytes) { return change->apply(bytes); };
    Draft drafted;
    drafted.edits.push_back(std::move(edit));
    drafted.result = [change] { return change->result(); };
    return drafted;
  }
};

}  // namespace

std::unique_ptr<Tool> make_replace_in_file(CommitHook hook) {
  return std::make_unique<ReplaceInFile>(std::move(hook));
}

}  // namespace daybook::executor
