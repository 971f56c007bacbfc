#include "replay/prior_lines.h"

#include <algorithm>

#include "engine/summary_text.h"
#include "replay/summary_score.h"

namespace daybook::replay {
namespace {

using engine::PastItem;
using engine::SpanKind;

constexpr std::size_t kGoal = 0;
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
  auto summary = engine::read_summary(prior->text, engine::kSummaryHeadings, true);
  if (summary.headings_found * 2 < summary.sections.size()) {
    summary.sections.assign(engine::kSummaryHeadings.size(), {});
    summary.sections[kState].body = summary.text;
  }
  const bool headed = summary.headings_found * 2 >= summary.sections.size();
  for (std::size_t i = 0; i < summary.sections.size(); ++i) {
    // What was the state, and was to come next, is the past of a span that worked on.
    const bool past = i == kNextStep || (i == kState && headed);
    if (newer.works() && past) continue;
    if (!records.commands.empty() && i == kCommands && newer.works()) continue;
    if (i == kErrors && ran_well(prior->text, records)) continue;
    for (std::string_view rest = summary.sections[i].body; !rest.empty();) {
      const std::string_view line = engine::trimmed(engine::take_line(rest));
      if (says_nothing(line) || user_says(items, line)) continue;
      if (i != kGoal && (overtaken(line, records) || newer.contradicts(line))) continue;
      std::string text = as_line(line);
      if (text.size() > limit) return lines;
      limit -= text.size();
      lines.push_back({i, std::move(text)});
    }
  }
  return lines;
}

}  // namespace daybook::replay
