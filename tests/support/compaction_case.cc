#include "tests/support/compaction_case.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "schema/result.h"
#include "tests/support/build_paths.h"

namespace daybook::tests {
namespace {

using engine::SpanItem;
using engine::SpanKind;

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  while (!line.empty()) {
    const std::size_t end = std::min(line.size(), line.find(' '));
    if (end > 0) words.push_back(line.substr(0, end));
    line.remove_prefix(std::min(line.size(), end + 1));
  }
  return words;
}

void add_piece(CompactionCase& one, std::string_view head, std::string_view text) {
  const auto words = words_of(head);
  DAYBOOK_CHECK(!words.empty());
  const std::string_view kind = words[0];
  const std::string_view tool = words.size() > 1 ? words[1] : std::string_view{};
  if (kind == "summary") {
    one.summary = std::string(text) + "\n";
  } else if (kind == "continuation") {
    while (!text.empty()) {
      const std::size_t end = std::min(text.size(), text.find('\n'));
      one.continuation.push_back(text.substr(0, end));
      text.remove_prefix(std::min(text.size(), end + 1));
    }
  } else if (kind == "user") {
    one.span.push_back({SpanKind::kUser, text, {}, true});
  } else if (kind == "assistant") {
    one.span.push_back({SpanKind::kAssistant, text, {}, true});
  } else if (kind == "prior") {
    one.span.push_back({SpanKind::kPriorSummary, text, {}, true});
  } else if (kind == "injected") {
    one.span.push_back({SpanKind::kInjected, text, {}, true});
  } else if (kind == "call") {
    one.span.push_back({SpanKind::kToolCall, text, tool, true});
  } else {
    DAYBOOK_CHECK(kind == "result" && words.size() == 3);
    one.span.push_back({SpanKind::kToolResult, text, tool, words[2] == "ok"});
  }
}

void parse(CompactionCase& one) {
  std::string_view rest = one.bytes;
  DAYBOOK_CHECK(rest.starts_with("@@ "));
  while (!rest.empty()) {
    const std::size_t line_end = rest.find('\n');
    const std::string_view head = rest.substr(3, line_end - 3);
    rest.remove_prefix(line_end + 1);
    const std::size_t next = rest.find("\n@@ ");
    std::string_view text = rest.substr(0, next);
    rest = next == std::string_view::npos ? std::string_view{} : rest.substr(next + 1);
    while (text.ends_with('\n')) text.remove_suffix(1);
    add_piece(one, head, text);
  }
}

std::vector<std::unique_ptr<const CompactionCase>> load_cases() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(source_path("/tests/data/compaction/cases"))) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::unique_ptr<const CompactionCase>> cases;
  for (const auto& path : paths) {
    auto one = std::make_unique<CompactionCase>();
    one->name = path.stem().string();
    std::ifstream in(path);
    std::stringstream bytes;
    bytes << in.rdbuf();
    one->bytes = bytes.str();
    parse(*one);
    cases.push_back(std::move(one));
  }
  return cases;
}

}  // namespace

const std::vector<std::unique_ptr<const CompactionCase>>& compaction_cases() {
  static const auto cases = load_cases();
  return cases;
}

std::string transcript_of(const CompactionCase& one) {
  std::string text;
  for (const auto& item : one.span) {
    text += item.text;
    text += '\n';
  }
  return text;
}

}  // namespace daybook::tests
