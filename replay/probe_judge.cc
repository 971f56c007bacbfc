#include <fmt/format.h>

#include <algorithm>

#include "engine/summary_text.h"
#include "replay/probe.h"
#include "replay/probe_text.h"

namespace daybook::replay {
namespace {

/// What each quality asks, in the order of kQualityNames.
constexpr std::array<std::string_view, kQualities> kAsked = {
    "names, numbers and statements of the block are those of the transcript",
    "the block says what is being worked on and how far it has come",
    "the block says which files were read and changed, and how",
    "nothing that the work still needs is missing from the block",
    "whoever has only the block can go on without asking or redoing anything",
    "what the user demanded and ruled out is in the block, unchanged"};

constexpr std::size_t kLeastQuote = 8;  // bytes that prove something

/// "accuracy: 4 | words" → the grade and the words.
struct Line {
  int grade = 0;
  std::string_view quote;
};

std::optional<Line> read_line(std::string_view line, std::string_view name) {
  line = engine::trimmed(line);
  while (!line.empty() && (line.front() == '-' || line.front() == '*' || line.front() == ' ')) {
    line.remove_prefix(1);
  }
  if (folded(line.substr(0, name.size())) != name) return std::nullopt;
  line = engine::trimmed(line.substr(std::min(line.size(), name.size())));
  while (!line.empty() && (line.front() == ':' || line.front() == '*' || line.front() == ' ')) {
    line.remove_prefix(1);
  }
  if (line.empty() || line.front() < '0' || line.front() > '5') return std::nullopt;
  const int grade = line.front() - '0';
  line.remove_prefix(1);
  if (line.starts_with("/5")) line.remove_prefix(2);
  // Neither 45 nor 4.5 is a grade.
  const std::size_t next = line.find_first_not_of(".,");
  const bool fraction =
      next != std::string_view::npos && next < 2 && line[next] >= '0' && line[next] <= '9';
  if (fraction) return std::nullopt;
  const std::size_t bar = line.find('|');
  const auto quote = bar == std::string_view::npos ? std::string_view() : line.substr(bar + 1);
  return Line{grade, bare(quote)};
}

}  // namespace

std::string judge_prompt(const CompactionCase& recorded, std::string_view block, bool block_first,
                         std::size_t transcript_bytes) {
  const std::string transcript =
      fenced("transcript", render_span(recorded.items, transcript_bytes));
  const std::string kept = fenced("block", block);
  std::string qualities;
  for (std::size_t i = 0; i < kQualities; ++i) {
    qualities += fmt::format("{}: {}\n", kQualityNames[i], kAsked[i]);
  }
  return fmt::format(
      "{}{}\nThe transcript is a part of a working session. The block is all that stands for it "
      "from now on. Grade the block for six qualities, each from 0 (not at all) to 5 (fully), and "
      "be strict: 5 needs a block without any fault of that kind. Length and style count for "
      "nothing.\n{}\nFor each quality write one line with its name, the grade, and words quoted "
      "exactly from the transcript or the block that show why:\nquality: grade | \"quoted "
      "words\"\nWrite nothing else.",
      block_first ? kept : transcript, block_first ? transcript : kept, qualities);
}

JudgeGrades read_judgement(std::string_view answer, const CompactionCase& recorded,
                           std::string_view block) {
  std::string known = folded(block);
  for (const auto& item : recorded.items) known += '\n' + folded(item.text);
  JudgeGrades made;
  while (!answer.empty()) {
    const std::string_view text = engine::take_line(answer);
    for (std::size_t i = 0; i < kQualities; ++i) {
      const auto line = read_line(text, kQualityNames[i]);
      if (!line || made.grades.at(i)) continue;
      const std::string quote = folded(line->quote);
      if (quote.size() >= kLeastQuote && known.find(quote) != std::string::npos) {
        made.grades.at(i) = line->grade;
      } else {
        ++made.unproven;
      }
    }
  }
  return made;
}

std::string family_of(std::string_view model) {
  const std::size_t colon = model.find(':');
  if (colon != std::string_view::npos) model.remove_prefix(colon + 1);
  const std::size_t slash = model.rfind('/');
  if (slash != std::string_view::npos) model.remove_prefix(slash + 1);
  std::string name = folded(model.substr(0, model.find_first_of("-.@ ")));
  if (name == "chatgpt" || name == "codex") return "gpt";
  // OpenAI's reasoning models: o1, o3, o4.
  if (name.size() == 2 && name[0] == 'o' && name[1] >= '0' && name[1] <= '9') return "gpt";
  return name;
}

}  // namespace daybook::replay
