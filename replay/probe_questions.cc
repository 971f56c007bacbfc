#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/summary_text.h"
#include "replay/probe.h"
#include "replay/probe_text.h"
#include "schema/utf8.h"

namespace daybook::replay {
namespace {

constexpr std::string_view kGap = "[...]";
constexpr std::size_t kCueBytes = 160;  // of a line, on either side of what is left out
constexpr std::size_t kLeastCue = 12;   // letters and digits that must remain to ask about

/// What says that something is to be done or not, longest first.
constexpr std::array<std::string_view, 17> kModals = {
    "must not", "must never", "should not", "shouldn't", "do not", "don't",
    "may not",  "cannot",     "can't",      "never",     "always", "must",
    "should",   "need to",    "needs to",   "has to",    "have to"};

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

bool is_word(char c) {
  return is_letter(c) || (c >= '0' && c <= '9') || c == '_';
}

/// Where `phrase`, in lower case, stands as words of its own.
std::size_t find_phrase(std::string_view text, std::string_view phrase) {
  std::string lower(text);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (std::size_t at = lower.find(phrase); at != std::string::npos;
       at = lower.find(phrase, at + 1)) {
    const std::size_t end = at + phrase.size();
    if ((at == 0 || !is_word(lower[at - 1])) && (end == lower.size() || !is_word(lower[end]))) {
      return at;
    }
  }
  return std::string::npos;
}

std::optional<ClosedQuestion> about_mandate(const Fact& fact) {
  for (const auto modal : kModals) {
    const std::size_t at = find_phrase(fact.text, modal);
    if (at == std::string::npos) continue;
    std::string masked = fact.text;
    masked.replace(at, modal.size(), kGap);
    // Only its own clause: another one may demand what this one forbids.
    const std::size_t end = masked.find_first_of(",;", at + kGap.size());
    if (end != std::string::npos) masked.resize(end);
    if (masked.size() < at + kGap.size() + kLeastCue) return std::nullopt;
    // Another word that gives it away.
    for (const auto other : kModals) {
      if (find_phrase(masked, other) != std::string::npos) return std::nullopt;
    }
    ClosedQuestion question;
    question.text = fmt::format(
        "The user gave an instruction of which some words are left out: \"{}\". Is it required or "
        "forbidden?",
        masked);
    question.expected = fact.negated ? "forbidden" : "required";
    question.options = {"required", "forbidden"};
    return question;
  }
  return std::nullopt;
}

std::optional<ClosedQuestion> about_file(const Fact& fact) {
  if (fact.detail != "written" && fact.detail != "edited" && fact.detail != "read") {
    return std::nullopt;
  }
  ClosedQuestion question;
  question.text = fmt::format("Was the file {} changed, or only read?", fact.text);
  question.expected = fact.detail == "read" ? "only read" : "changed";
  question.options = {"changed", "only read"};
  return question;
}

/// The line around `at`, not longer than is needed to know it again.
std::string_view line_around(std::string_view text, std::size_t at, std::size_t size) {
  const std::size_t before = text.rfind('\n', at);
  std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
  std::size_t end = std::min(text.size(), text.find('\n', at + size));
  if (at - begin > kCueBytes) begin = utf8_ceil(text, at - kCueBytes);
  if (end - at - size > kCueBytes) end = utf8_floor(text, at + size + kCueBytes);
  return text.substr(begin, end - begin);
}

/// The line with every mention of the value left out; "" when too little of it would remain.
std::string masked_line(std::string_view line, std::string_view value) {
  std::string out;
  std::size_t letters = 0;
  while (!line.empty()) {
    if (line.starts_with(value)) {
      out += kGap;
      line.remove_prefix(value.size());
      continue;
    }
    letters += is_word(line.front()) ? 1 : 0;
    out += line.front();
    line.remove_prefix(1);
  }
  return letters < kLeastCue ? "" : out;
}

std::optional<ClosedQuestion> about_value(const engine::PreparedSpan& span, const Fact& fact) {
  const auto items = span.items();
  if (fact.item >= items.size() || fact.text.size() < 2) return std::nullopt;
  const std::string_view text = items[fact.item].text;
  const std::size_t at = text.find(fact.text);
  if (at == std::string::npos) return std::nullopt;
  const std::string line = masked_line(line_around(text, at, fact.text.size()), fact.text);
  if (line.empty()) return std::nullopt;
  ClosedQuestion question;
  question.text = fmt::format(
      "Earlier this stood in the session, with one value left out: \"{}\". What stood at {}?",
      engine::trimmed(line), kGap);
  question.expected = fact.text;
  return question;
}

std::optional<ClosedQuestion> about(const engine::PreparedSpan& span, const Fact& fact) {
  switch (fact.type) {
    case FactType::mandate:
      return about_mandate(fact);
    case FactType::artifact:
      return about_file(fact);
    case FactType::identifier:
    case FactType::number:
      return about_value(span, fact);
    default:
      return std::nullopt;  // free words have no one answer
  }
}

bool same_path(std::string_view a, std::string_view b) {
  const engine::NormalPath left(a);
  const engine::NormalPath right(b);
  std::string_view longer = left.view();
  std::string_view shorter = right.view();
  if (longer.size() < shorter.size()) std::swap(longer, shorter);
  if (shorter.empty() || !longer.ends_with(shorter)) return false;
  return longer.size() == shorter.size() || longer[longer.size() - shorter.size() - 1] == '/';
}

bool same_number(const Fact& fact, std::string_view answer) {
  const auto expected = engine::parse_number(fact.text);
  const auto given = engine::parse_number(answer);
  if (given.used == 0 || expected.used == 0) return false;
  const std::string_view rest = engine::trimmed(answer.substr(given.used));
  if (rest.empty()) return given.value == expected.value;
  const auto unit = engine::unit_of(rest.substr(0, rest.find(' ')));
  if (unit.size == 0 || unit.dimension != fact.dimension) {
    return folded(fact.text) == folded(answer);
  }
  const auto known =
      engine::unit_of(engine::trimmed(std::string_view(fact.text).substr(expected.used)));
  const double half = expected.half_digit * (known.size == 0 ? 1 : known.size);
  return std::abs(given.value * unit.size - fact.value) <= half;
}

std::string_view without_call(std::string_view symbol) {
  if (symbol.ends_with("()")) symbol.remove_suffix(2);
  return symbol;
}

bool says_unknown(std::string_view answer) {
  const std::string text = folded(answer);
  return text.empty() || text.starts_with("not known") || text.starts_with("unknown") ||
         text.starts_with("not stated");
}

}  // namespace

std::vector<ClosedQuestion> closed_questions(const engine::PreparedSpan& span, const FactSet& set,
                                             std::size_t most) {
  const auto& facts = set.facts;
  std::vector<std::size_t> order(facts.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return facts[a].weight > facts[b].weight; });
  std::vector<ClosedQuestion> questions;
  std::array<std::size_t, kFactTypes> asked{};
  for (const std::size_t i : order) {
    if (questions.size() == most) break;
    std::size_t& of_type = asked.at(static_cast<std::size_t>(facts[i].type));
    if (of_type >= (most + 1) / 2) continue;
    auto question = about(span, facts[i]);
    if (!question) continue;
    question->fact = i;
    questions.push_back(std::move(*question));
    ++of_type;
  }
  return questions;
}

Grade grade(const ClosedQuestion& question, const Fact& fact, std::string_view answer) {
  const std::string_view given = bare(answer);
  if (says_unknown(given)) return Grade::not_known;
  const auto verdict = [](bool right) { return right ? Grade::right : Grade::wrong; };
  if (!question.options.empty()) return verdict(folded(given) == question.expected);
  if (given == question.expected) return Grade::right;
  if (fact.kind == engine::EntityKind::path) return verdict(same_path(given, question.expected));
  if (fact.type == FactType::number) return verdict(same_number(fact, given));
  return verdict(without_call(given) == without_call(question.expected));
}

std::string question_prompt(std::string_view block, const ClosedQuestion& question) {
  std::string options;
  for (const auto option : question.options) options += fmt::format("\"{}\", ", option);
  return fmt::format(
      "{}\nThe text above is all that is left of the earlier part of a working session. Answer one "
      "question from it alone, and guess nothing.\n\n{}\n\nAnswer with {}or \"not known\" when the "
      "text does not say. Write nothing else.",
      fenced("block", block), question.text,
      options.empty() ? "the value alone, exactly as it was, " : options);
}

}  // namespace daybook::replay
