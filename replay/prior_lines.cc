#include "replay/prior_lines.h"

#include <algorithm>
#include <array>
#include <optional>

#include "engine/summary_text.h"
#include "replay/summary_score.h"

namespace daybook::replay {
namespace {

using engine::PastItem;
using engine::SpanKind;

constexpr std::size_t kGoal = 0;
constexpr std::size_t kFiles = 2;
constexpr std::size_t kNames = 3;
constexpr std::size_t kCommands = 4;
constexpr std::size_t kErrors = 5;
constexpr std::size_t kState = 6;
constexpr std::size_t kNextStep = 7;
constexpr std::size_t kLineBytes = 400;
constexpr std::size_t kShortName = 4;  // shorter ones are in many words

/// The span alone, to tell whether it has another value for what a line measures.
class Newer {
 public:
  explicit Newer(const std::vector<PastItem>& items) : items_(of(items)), span_(items_) {
    facts_ = extract_facts(span_, {}, {});
  }
  bool contradicts(std::string_view line) const {
    return score_text(span_, facts_, line).contradictions > 0;
  }
  bool works() const { return !span_.calls().empty(); }

 private:
  static std::vector<engine::SpanItem> of(const std::vector<PastItem>& items) {
    auto views = engine::gate_items(items);
    std::erase_if(views, [](const auto& item) {
      return item.kind == SpanKind::kPriorSummary || item.kind == SpanKind::kInjected;
    });
    return views;
  }
  std::vector<engine::SpanItem> items_;
  engine::PreparedSpan span_;
  FactSet facts_;
};

bool has(std::string_view text, std::string_view part) {
  return part.size() >= kShortName && text.find(part) != std::string_view::npos;
}

std::string_view name_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

/// Whether the records say something newer of what the line is about.
bool overtaken(std::string_view line, const SpanRecords& records) {
  return std::any_of(records.files.begin(), records.files.end(),
                     [&](const auto& file) { return has(line, name_of(file.path)); }) ||
         std::any_of(records.commands.begin(), records.commands.end(),
                     [&](const auto& command) { return has(line, command.command); });
}

/// Whether a command that the earlier summary tells of worked when it was run again.
bool ran_well(std::string_view prior, const SpanRecords& records) {
  return std::any_of(records.commands.begin(), records.commands.end(), [&](const auto& command) {
    return command.end == "ok" && has(prior, command.command);
  });
}

bool user_says(const std::vector<PastItem>& items, std::string_view line) {
  if (line.starts_with("> ")) line.remove_prefix(2);
  return std::any_of(items.begin(), items.end(), [&](const PastItem& item) {
    return item.kind == SpanKind::kUser && item.text.find(line) != std::string::npos;
  });
}

bool says_nothing(std::string_view line) {
  const std::string lower = engine::folded(line, kLineBytes);
  return line.empty() || line == "(...)" || lower == "none" || lower == "none." ||
         line.starts_with("Calls: ") || line.starts_with("Not recorded");
}

/// What other programs put around a summary for the model that goes on.
bool is_frame(std::string_view line) {
  static constexpr std::array<std::string_view, 14> kFrames = {
      "this session is being continued from",
      "the conversation is summarized below",
      "the summary below covers",
      "please continue the conversation from",
      "continue the conversation from where",
      "continue with the last task that you were asked",
      "resume directly",
      "pick up the last task",
      "if you need specific details from before",
      "recent messages are preserved verbatim",
      "another language model started to solve this problem",
      "<summary>",
      "</summary>",
      "summary:"};
  const std::string lower = engine::folded(line, kLineBytes);
  return std::any_of(kFrames.begin(), kFrames.end(),
                     [&](std::string_view frame) { return lower.starts_with(frame); });
}

/// Without the model's notes to itself, which some programs keep before the summary.
std::string_view without_notes(std::string_view text) {
  for (const std::string_view end : {"</analysis>", "\nSummary:\n"}) {
    const std::size_t at = text.find(end);
    const std::string_view before = text.substr(0, at);
    const bool notes = before.find("<analysis>") != std::string_view::npos ||
                       before.find("Analysis:\n") != std::string_view::npos;
    if (at != std::string_view::npos && notes) return text.substr(at + end.size());
  }
  return text;
}

/// The section that a heading of Claude Code's summaries ("1. Primary Request and Intent:")
/// belongs to; nothing for other lines.
std::optional<std::size_t> foreign_section(std::string_view line) {
  struct Row {
    std::string_view title;
    std::size_t section;
  };
  static constexpr std::array<Row, 9> kRows = {{{"primary request and intent", kGoal},
                                                {"key technical concepts", kNames},
                                                {"files and code sections", kFiles},
                                                {"errors and fixes", kErrors},
                                                {"problem solving", kState},
                                                {"all user messages", kGoal},
                                                {"pending tasks", kNextStep},
                                                {"current work", kState},
                                                {"optional next step", kNextStep}}};
  const std::size_t from = line.find_first_not_of("0123456789.#* ");
  if (from == std::string_view::npos || from == 0) return std::nullopt;
  const std::string lower = engine::folded(line.substr(from), kLineBytes);
  for (const auto& row : kRows) {
    const std::string_view rest = std::string_view(lower).substr(0, row.title.size());
    if (rest == row.title && lower.size() <= row.title.size() + 3) return row.section;
  }
  return std::nullopt;
}

/// A line of an earlier summary, and the section of ours that it belongs to.
struct EarlierLine {
  std::size_t section = kState;
  std::string_view text;
};

struct EarlierSummary {
  std::vector<EarlierLine> lines;
  bool headed = false;  // the sections are known
};

EarlierSummary read_earlier(std::string_view text) {
  EarlierSummary made;
  const auto summary = engine::read_summary(text, engine::kSummaryHeadings, true);
  made.headed = summary.headings_found * 2 >= summary.sections.size();
  const auto add = [&](std::size_t section, std::string_view line) {
    line = engine::trimmed(line);
    if (!line.empty() && !is_frame(line)) made.lines.push_back({section, line});
  };
  if (made.headed) {
    for (std::size_t i = 0; i < summary.sections.size(); ++i) {
      for (std::string_view rest = summary.sections[i].body; !rest.empty();) {
        add(i, engine::take_line(rest));
      }
    }
    return made;
  }
  std::size_t section = kState;
  for (std::string_view rest = without_notes(text); !rest.empty();) {
    const std::string_view line = engine::take_line(rest);
    if (const auto next = foreign_section(line)) {
      section = *next;
      made.headed = true;
    } else {
      add(section, line);
    }
  }
  // Sections stand in our order, lines in their own.
  std::stable_sort(made.lines.begin(), made.lines.end(),
                   [](const auto& a, const auto& b) { return a.section < b.section; });
  return made;
}

/// A line as this summary's: quotes stay quotes, headings are none, code marks are even.
std::string as_line(std::string_view line) {
  if (line.starts_with("> ")) return "> " + as_code(line.substr(2), kLineBytes);
  while (line.starts_with('#')) line.remove_prefix(1);
  if (line.starts_with("- ") || line.starts_with("* ")) line.remove_prefix(2);
  std::string text(words_within(engine::trimmed(line), kLineBytes));
  if (std::count(text.begin(), text.end(), '`') % 2 != 0) std::erase(text, '`');
  return "- " + text;
}

}  // namespace

std::vector<PriorLine> prior_lines(const std::vector<PastItem>& items, const SpanRecords& records,
                                   std::size_t limit) {
  std::vector<PriorLine> lines;
  const auto prior = std::find_if(items.rbegin(), items.rend(), [](const PastItem& item) {
    return item.kind == SpanKind::kPriorSummary;
  });
  if (prior == items.rend()) return lines;
  const Newer newer(items);
  const EarlierSummary earlier = read_earlier(prior->text);
  for (const auto& [section, line] : earlier.lines) {
    // What was the state, and was to come next, is the past of a span that worked on.
    const bool past = section == kNextStep || (section == kState && earlier.headed);
    if (newer.works() && past) continue;
    if (!records.commands.empty() && section == kCommands && newer.works()) continue;
    if (section == kErrors && ran_well(prior->text, records)) continue;
    if (says_nothing(line) || user_says(items, line)) continue;
    if (section != kGoal && (overtaken(line, records) || newer.contradicts(line))) continue;
    std::string text = as_line(line);
    if (text.size() > limit) return lines;
    limit -= text.size();
    lines.push_back({section, std::move(text)});
  }
  return lines;
}

}  // namespace daybook::replay
