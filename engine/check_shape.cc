// G2 to G6: length, headings, a natural end, and the voice of a summary.
#include <fmt/format.h>

#include <algorithm>

#include "engine/summary_text.h"

namespace daybook::engine {
namespace {

bool has_word(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return (scan::class_of(c) & ~scan::kUnderscore & scan::kWord) != 0 ||
           static_cast<unsigned char>(c) >= 0xe3;
  });
}

bool ends_sentence(std::string_view line) {
  if (line.empty()) return false;
  for (const std::string_view mark : {"。", "！", "？", "”", "」", "）"}) {
    if (line.ends_with(mark)) return true;
  }
  return std::string_view(".!?`\")*|").find(line.back()) != std::string_view::npos;
}

/// Lines that would end with a mark, and whether the last one does not although others do.
bool last_line_breaks_off(std::string_view text) {
  std::size_t lines = 0;
  std::size_t ended = 0;
  std::string_view last;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view line = trimmed(take_line(rest));
    if (line.empty() || line.starts_with('#')) continue;
    ++lines;
    ended += ends_sentence(line) ? 1U : 0U;
    last = line;
  }
  constexpr std::size_t kEnough = 6;
  return lines >= kEnough && !ends_sentence(last) && ended * 5 >= (lines - 1) * 4;
}

/// Why a text with a natural stop looks cut; "": it does not.
std::string cut_sign(std::string_view text) {
  std::size_t fences = 0;
  std::string_view rest = text;
  std::string_view last;
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    if (line.starts_with("```")) ++fences;
    if (!trimmed(line).empty()) last = trimmed(line);
  }
  if (fences % 2 != 0) return "a code block is not closed";
  if (std::count(last.begin(), last.end(), '`') % 2 != 0) {
    return "a name in code is not closed: " + excerpt(last);
  }
  if (last.ends_with(',') || last.ends_with('(') || last == "-" || last == "*") {
    return "ends with: " +
           excerpt(last.substr(last.size() - std::min<std::size_t>(40, last.size())));
  }
  if (last_line_breaks_off(text)) return "the last sentence is not finished: " + excerpt(last);
  return {};
}

void check_length(const GateContext& context) {
  const GateLimits& limits = context.limits;
  const std::size_t bytes = context.summary.text.size();
  const auto span = static_cast<double>(context.span.bytes());
  const auto wanted =
      std::min(static_cast<std::size_t>(span * limits.min_ratio), limits.max_min_bytes);
  const std::size_t lowest = std::max(limits.min_bytes, wanted);
  const std::size_t highest = std::min(
      limits.max_bytes,
      std::max(static_cast<std::size_t>(span * limits.max_ratio), limits.always_allowed_bytes));
  if (bytes < lowest) {
    context.add(GateCode::kTooShort, fmt::format("{} bytes, at least {}", bytes, lowest));
  }
  if (bytes > highest) {
    context.add(GateCode::kTooLong, fmt::format("{} bytes, at most {}", bytes, highest));
  }
}

void check_headings(const GateContext& context) {
  for (const Section& section : context.summary.sections) {
    if (!section.found) {
      context.add(GateCode::kMissingHeading, std::string(section.heading));
    } else if (!section.in_order) {
      context.add(GateCode::kMissingHeading, fmt::format("{} out of order", section.heading));
    } else if (!has_word(section.body)) {
      context.add(GateCode::kEmptySection, std::string(section.heading));
    }
  }
}

bool starts_with_any(std::string_view text, std::span<const std::string_view> starts) {
  return std::any_of(starts.begin(), starts.end(),
                     [&](std::string_view start) { return text.starts_with(start); });
}

bool contains_any(std::string_view text, std::span<const std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
    return text.find(part) != std::string_view::npos;
  });
}

/// Sums up instead of refusing: "I'll summarise what happened".
constexpr std::string_view kAnnounces[] = {"i will summar",
                                           "i'll summar",
                                           "let me summar",
                                           "here is a summary",
                                           "here's a summary",
                                           "here is the summary",
                                           "here's the summary",
                                           "i will now summar",
                                           "below is a summary",
                                           "ich fasse",
                                           "hier ist die zusammenfassung",
                                           "以下是",
                                           "我来总结",
                                           "我将总结"};

constexpr std::string_view kRefuses[] = {
    "i can't",      "i cannot",        "i can not",      "i'm unable",      "i am unable",
    "i'm sorry",    "i am sorry",      "sorry",          "i apologi",       "as an ai",
    "i'm not able", "i am not able",   "i don't have",   "i do not have",   "unfortunately, i",
    "could you",    "please provide",  "please share",   "would you like",  "what would you",
    "how can i",    "es tut mir leid", "entschuldigung", "ich kann leider", "leider kann ich",
    "抱歉",         "对不起",          "我无法",         "作为ai",          "请提供"};

constexpr std::string_view kAsks[] = {"would you like", "shall i",  "should i",    "do you want",
                                      "let me know",    "soll ich", "möchten sie", "möchtest du",
                                      "需要我",         "要我"};

constexpr std::string_view kActs[] = {
    "i'll ",       "i will ",    "let me ",       "let's ",         "now i",         "next, i",
    "next i",      "i need to ", "i'm going to ", "i am going to ", "i should ",     "first, i",
    "first i",     "now let",    "okay, ",        "ok, ",           "sure",          "continuing",
    "proceeding",  "run ",       "running ",      "check ",         "checking ",     "fix ",
    "fixing ",     "open ",      "opening ",      "read ",          "reading ",      "add ",
    "adding ",     "update ",    "updating ",     "look ",          "looking ",      "continue ",
    "start ",      "starting ",  "use ",          "create ",        "creating ",     "edit ",
    "editing ",    "write ",     "writing ",      "search ",        "searching ",    "proceed ",
    "we need to ", "ich werde ", "ich prüfe ",    "ich führe ",     "als nächstes ", "lass mich ",
    "jetzt ",      "我将",       "我来",          "让我",           "接下来",        "现在我",
    "下一步"};

constexpr std::string_view kCallMarks[] = {
    "<tool_call", "<function_call", "<function=", "<invoke",        "<|tool",          "<antml",
    "[tool_call", "{\"name\":",     "{\"tool\":", "{\"function\":", "{\"tool_calls\":"};

/// A line outside code that is written for a program instead of a reader.
std::string_view call_markup(std::string_view text) {
  bool fenced = false;
  while (!text.empty()) {
    const std::string_view line = trimmed(take_line(text));
    if (line.starts_with("```")) fenced = !fenced;
    if (!fenced && starts_with_any(line, kCallMarks)) return line;
  }
  return {};
}

std::string_view last_line(std::string_view text) {
  const std::size_t at = text.rfind('\n');
  return at == std::string_view::npos ? text : text.substr(at + 1);
}

}  // namespace

void check_shape(const GateContext& context) {
  if (context.reply.stop == SummaryStop::kOutputLimit) {
    context.add(GateCode::kTruncated, "the output limit was reached");
  } else if (std::string sign = cut_sign(context.summary.text); !sign.empty()) {
    context.add(GateCode::kTruncated, std::move(sign));
  }
  check_length(context);
  check_headings(context);
}

void check_voice(const GateContext& context) {
  constexpr std::size_t kOpeningBytes = 240;
  const SummaryText& summary = context.summary;
  if (const std::string_view markup = call_markup(summary.text); !markup.empty()) {
    context.add(GateCode::kNextActionVoice, excerpt(markup));
  }
  const bool shaped = summary.headings_found > 0;
  std::string_view opening = summary.text;
  if (shaped) {
    opening = summary.preamble;
    if (!summary.sections.empty() && summary.sections[0].implied)
      opening = summary.sections[0].body;
  }
  const std::string start = folded(opening, kOpeningBytes);
  // An announcement before whole sections costs a line; without them it is all there is.
  if (starts_with_any(start, kRefuses) || (!shaped && contains_any(start, kAnnounces))) {
    context.add(GateCode::kRefusal, excerpt(opening.substr(0, kOpeningBytes)));
  } else if (!shaped && starts_with_any(start, kActs)) {
    context.add(GateCode::kNextActionVoice, excerpt(opening.substr(0, kOpeningBytes)));
  }
  const std::string last = folded(last_line(summary.text), 400);
  if (contains_any(last, kAsks) &&
      (last.ends_with('?') || last.ends_with("？") || last.starts_with("let me know"))) {
    context.add(GateCode::kRefusal, excerpt(last));
  }
}

}  // namespace daybook::engine
