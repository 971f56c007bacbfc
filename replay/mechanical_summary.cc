#include "replay/mechanical_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "engine/summary_text.h"
#include "replay/fact_extract.h"
#include "replay/prior_lines.h"
#include "replay/span_records.h"
#include "schema/utf8.h"

namespace daybook::replay {
namespace {

using engine::GateCode;
using engine::PastItem;
using engine::PreparedSpan;
using engine::SpanKind;

constexpr std::size_t kCommands = 10;
constexpr std::size_t kErrors = 5;
constexpr std::size_t kFiles = 40;
constexpr std::size_t kNames = 12;
constexpr std::size_t kSentences = 6;
constexpr std::size_t kSentenceBytes = 300;
constexpr int kRounds = 16;
/// Few of the words that languages are told apart by: the user's may be another one.
constexpr std::string_view kExplanation =
    "Source: session records, read by code, no model involved. Known: user messages, files, "
    "commands, exit codes, error lines. Unknown: reasons, intentions, open questions, anything "
    "said outside these records.\n";

/// What goes first when there is no room.
enum Rank : std::uint8_t { kUserWords, kRecords, kSaid, kMinor, kEarlier };

struct Line {
  std::string text;
  Rank rank = kRecords;
};

/// Headings by their place in kSummaryHeadings.
enum Heading : std::uint8_t {
  kGoal,
  kDecisions,
  kFilesTouched,
  kIdentifiers,
  kRan,
  kWrong,
  kState,
  kNext
};

class Draft {
 public:
  Draft(const std::vector<PastItem>& items, const PreparedSpan& span, std::size_t limit)
      : items_(items), span_(span), records_(records_of(span)), limit_(limit) {}

  /// The text, after what the gate finds fault with is out.
  std::string accepted();

 private:
  void add(Heading heading, std::string text, Rank rank) {
    lines_[heading].push_back({std::move(text), rank});
  }
  void fill();
  void add_users();
  void add_message(std::string_view text, std::size_t room);
  void add_records();
  void add_said();
  void add_names();
  void add_earlier();
  void add_next();
  std::string rendered() const;
  void shorten();
  bool drop(Rank rank, std::size_t count);
  bool drop_lines_with(std::string_view evidence);
  bool mend(const engine::GateResult& result);

  const std::vector<PastItem>& items_;
  const PreparedSpan& span_;
  SpanRecords records_;
  std::size_t limit_;
  bool explained_ = false;  // what such a summary is, where little else is said
  bool quoted_ = true;      // the user's words; else they count for the text's language
  std::array<std::vector<Line>, engine::kSummaryHeadings.size()> lines_;
};

void Draft::add_message(std::string_view text, std::size_t room) {
  std::string_view rest = words_within(engine::trimmed(text), room);
  const bool whole = rest.size() == engine::trimmed(text).size();
  while (!rest.empty()) {
    const std::string_view line = engine::trimmed(engine::take_line(rest));
    if (!line.empty()) add(kGoal, fmt::format("> {}", line), kUserWords);
  }
  if (!whole) add(kGoal, "(...)", kUserWords);
}

/// The first message, the newest ones, and demands of those between.
void Draft::add_users() {
  std::vector<std::string_view> texts;
  for (const PastItem& item : items_) {
    if (item.kind != SpanKind::kUser || engine::trimmed(item.text).empty()) continue;
    // What was said again counts where it was said last, but for the first message.
    if (!texts.empty() && texts.front() == item.text) continue;
    std::erase(texts, std::string_view(item.text));
    texts.emplace_back(item.text);
  }
  if (texts.empty()) return;
  add_message(texts.front(), limit_ / 6);
  std::size_t first = texts.size();
  for (std::size_t room = limit_ / 5; first > 1; --first) {
    const std::size_t size = std::min(texts[first - 1].size(), limit_ / 8);
    if (size > room) break;
    room -= size;
  }
  std::size_t demands = 0;
  for (std::size_t i = 1; i < first; ++i) {
    for (std::string_view rest = texts[i]; !rest.empty() && demands < kSentences;) {
      const std::string_view sentence = engine::trimmed(take_sentence(rest));
      if (sentence.size() > kSentenceBytes || !is_mandate(sentence)) continue;
      add(kGoal, fmt::format("> {}", as_code(sentence, kSentenceBytes)), kUserWords);
      ++demands;
    }
  }
  for (std::size_t i = first; i < texts.size(); ++i) add_message(texts[i], limit_ / 8);
}

void Draft::add_records() {
  auto& files = records_.files;
  // What was changed stands before what was only looked at, each newest first.
  std::stable_sort(files.begin(), files.end(),
                   [](const auto& a, const auto& b) { return !a.changed() && b.changed(); });
  for (std::size_t i = files.size(); i > 0 && files.size() - i < kFiles; --i) {
    const FileRecord& file = files[i - 1];
    add(kFilesTouched, fmt::format("- {} ({})", file.path, file.how),
        file.changed() ? kRecords : kMinor);
  }
  const auto& commands = records_.commands;
  const std::size_t oldest = commands.size() - std::min(commands.size(), kCommands);
  for (std::size_t i = oldest; i < commands.size(); ++i) {
    add(kRan, fmt::format("- `{}` ({})", commands[i].command, commands[i].end), kRecords);
  }
  const auto& errors = records_.errors;
  for (std::size_t i = errors.size() - std::min(errors.size(), kErrors); i < errors.size(); ++i) {
    add(kWrong, fmt::format("- `{}`: `{}`", errors[i].about, errors[i].line), kRecords);
  }
  constexpr std::size_t kTold = 100;  // larger figures would need a source
  if (records_.calls > 0 && records_.calls < kTold) {
    add(kState, fmt::format("Calls: {}, failed: {}.", records_.calls, records_.failed), kRecords);
  }
}

/// The model's own sentences that tell decisions and attempts, and its last words.
void Draft::add_said() {
  std::vector<std::string> decisions;
  std::vector<std::string> attempts;
  std::string last;
  for (const PastItem& item : items_) {
    if (item.kind != SpanKind::kAssistant) continue;
    for (std::string_view rest = item.text; !rest.empty();) {
      const std::string_view sentence = engine::trimmed(take_sentence(rest));
      if (sentence.empty() || sentence.size() > kSentenceBytes) continue;
      if (is_decision(sentence)) decisions.push_back(as_code(sentence, kSentenceBytes));
      if (is_failed_attempt(sentence)) attempts.push_back(as_code(sentence, kSentenceBytes));
    }
    last = as_code(item.text, kSentenceBytes);
  }
  const auto newest = [&](Heading heading, const std::vector<std::string>& sentences) {
    const std::size_t from = sentences.size() - std::min(sentences.size(), kSentences);
    for (std::size_t i = from; i < sentences.size(); ++i) add(heading, "- " + sentences[i], kSaid);
  };
  newest(kDecisions, decisions);
  newest(kWrong, attempts);
  if (!last.empty()) add(kState, "- " + last, kSaid);
}

void Draft::add_names() {
  std::vector<std::string> names;
  const auto mentions = span_.mentions();
  for (std::size_t i = mentions.size(); i > 0 && names.size() < kNames; --i) {
    const auto& entity = mentions[i - 1].entity;
    const bool named =
        entity.kind == engine::EntityKind::url || entity.kind == engine::EntityKind::hash ||
        entity.kind == engine::EntityKind::uuid || entity.kind == engine::EntityKind::ticket ||
        entity.kind == engine::EntityKind::host_port || entity.kind == engine::EntityKind::version;
    if (named) names.push_back(as_code(entity.text, kSentenceBytes));
  }
  for (auto each = names.rbegin(); each != names.rend(); ++each) {
    add(kIdentifiers, fmt::format("- `{}`", *each), kMinor);
  }
}

void Draft::add_earlier() {
  std::ptrdiff_t demands = 0;
  for (auto& line : prior_lines(items_, records_, limit_ / 4)) {
    const auto heading = static_cast<Heading>(line.section);
    // An earlier demand stands before the newer ones.
    auto& to = lines_[heading];
    const auto same = std::find_if(to.begin(), to.end(),
                                   [&](const Line& each) { return each.text == line.text; });
    if (same != to.end()) continue;
    to.insert(heading == kGoal ? to.begin() + demands++ : to.end(),
              {std::move(line.text), kEarlier});
  }
}

void Draft::add_next() {
  for (const auto& item : records_.open) add(kNext, fmt::format("- {}.", item), kRecords);
  if (!records_.unanswered.empty()) {
    add(kNext, fmt::format("- `{}`: no result yet.", records_.unanswered), kRecords);
  }
  if (!lines_[kNext].empty()) return;
  std::string plan;
  for (const PastItem& item : items_) {
    if (item.kind == SpanKind::kUser) plan.clear();
    if (item.kind != SpanKind::kAssistant) continue;
    for (std::string_view rest = item.text; !rest.empty();) {
      const std::string_view sentence = engine::trimmed(take_sentence(rest));
      if (sentence.size() <= kSentenceBytes && is_plan(sentence)) plan = sentence;
    }
  }
  if (!plan.empty()) {
    plan = as_code(plan, kSentenceBytes);
    if (!plan.ends_with('.')) plan += '.';
    add(kNext, "- " + plan, kSaid);
  }
}

void Draft::fill() {
  add_users();
  add_records();
  add_said();
  add_names();
  add_next();
  add_earlier();
}

std::string Draft::rendered() const {
  std::string text;
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    text += fmt::format("{}\n", engine::kSummaryHeadings[i]);
    for (const Line& line : lines_[i]) {
      // A quote mark that is taken off leaves a list.
      const bool plain = !quoted_ && line.text.starts_with("> ");
      text += plain ? fmt::format("- {}\n", line.text.substr(2)) : line.text + "\n";
    }
    if (i == kState && explained_) text += kExplanation;
    if (lines_[i].empty()) {
      text += i == kNext ? "Not recorded; see the newest demand.\n" : "none\n";
    }
    text += '\n';
  }
  return text;
}

/// Removes the first `count` lines of the rank; false: there is none.
bool Draft::drop(Rank rank, std::size_t count) {
  bool dropped = false;
  for (auto section = lines_.rbegin(); section != lines_.rend(); ++section) {
    for (std::size_t i = 0; i < section->size() && count > 0;) {
      if ((*section)[i].rank != rank) {
        ++i;
        continue;
      }
      section->erase(section->begin() + static_cast<std::ptrdiff_t>(i));
      --count;
      dropped = true;
    }
  }
  return dropped;
}

void Draft::shorten() {
  while (rendered().size() > limit_) {
    const bool dropped = drop(kEarlier, 1) || drop(kMinor, 1) || drop(kSaid, 1) ||
                         drop(kRecords, 1) || drop(kUserWords, 1);
    if (!dropped) return;
  }
}

bool Draft::drop_lines_with(std::string_view evidence) {
  constexpr std::size_t kTold = 60;  // findings cut what they show
  if (evidence.ends_with("...")) evidence.remove_suffix(3);
  evidence = evidence.substr(0, utf8_floor(evidence, kTold));
  if (evidence.empty()) return false;
  bool dropped = false;
  for (auto& section : lines_) {
    dropped = std::erase_if(section,
                            [&](const Line& line) {
                              return line.text.find(evidence) != std::string::npos;
                            }) > 0 ||
              dropped;
  }
  return dropped;
}

/// Takes out what was refused; false: nothing is left to take out.
bool Draft::mend(const engine::GateResult& result) {
  bool changed = false;
  for (const auto& finding : result.findings) {
    switch (finding.code) {
      case GateCode::kWrongLanguage:
        changed = std::exchange(quoted_, false) || drop(kEarlier, 2) || drop(kSaid, 2) || changed;
        break;
      case GateCode::kCopied:
      case GateCode::kRepetitive:
      case GateCode::kNextActionVoice:
      case GateCode::kRefusal:
        changed = drop(kSaid, 2) || drop(kEarlier, 2) || drop(kMinor, 4) || changed;
        break;
      case GateCode::kTooShort:
        changed = !std::exchange(explained_, true) || changed;
        break;
      case GateCode::kTooLong:
        limit_ = limit_ * 9 / 10;
        changed = limit_ > 1'000 || changed;
        break;
      default:
        changed = drop_lines_with(finding.evidence) || changed;
    }
  }
  return changed || drop(kSaid, 1) || drop(kEarlier, 1);
}

std::string Draft::accepted() {
  fill();
  for (int round = 0;; ++round) {
    shorten();
    std::string text = rendered();
    const auto result = engine::judge_summary(span_, {text, engine::SummaryStop::kNatural},
                                              engine::kSummaryHeadings, {});
    if (result.verdict == engine::GateVerdict::kUsable || round == kRounds || !mend(result)) {
      return text;
    }
  }
}

}  // namespace

std::string mechanical_summary(const std::vector<PastItem>& items, std::size_t limit) {
  const auto views = engine::gate_items(items);
  const PreparedSpan span(views);
  const engine::GateLimits gate;
  const auto share = static_cast<std::size_t>(static_cast<double>(span.bytes()) * gate.max_ratio);
  const std::size_t most = std::max(share, gate.always_allowed_bytes);
  return Draft(items, span, std::min({limit, most, gate.max_bytes})).accepted();
}

}  // namespace daybook::replay
