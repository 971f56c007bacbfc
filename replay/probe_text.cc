#include "replay/probe_text.h"

#include <fmt/format.h>

#include <array>

#include "engine/summary_text.h"
#include "replay/probe.h"

namespace daybook::replay {

std::string_view name_of(ProbeLayer layer) {
  static constexpr std::array<std::string_view, kProbeLayers> kNames = {"questions", "next-step",
                                                                        "judge"};
  return kNames.at(static_cast<std::size_t>(layer));
}

std::optional<ProbeLayer> layer_named(std::string_view name) {
  for (std::size_t i = 0; i < kProbeLayers; ++i) {
    const auto layer = static_cast<ProbeLayer>(i);
    if (name_of(layer) == name) return layer;
  }
  return std::nullopt;
}

std::string fenced(std::string_view name, std::string_view text) {
  const std::string mark = Digest::of(text).hex().substr(0, 12);
  return fmt::format("<{0} {1}>\n{2}\n</{0} {1}>\n", name, mark, text);
}

std::string_view spoken(std::string_view answer) {
  constexpr std::string_view kEnd = "</think>";
  answer = engine::trimmed(answer);
  if (!answer.starts_with("<think>")) return answer;
  const std::size_t end = answer.find(kEnd);
  return end == std::string_view::npos ? std::string_view()
                                       : engine::trimmed(answer.substr(end + kEnd.size()));
}

namespace {

struct Quotes {
  std::string_view open;
  std::string_view close;
};
constexpr std::array<Quotes, 8> kQuotes = {{{"\"", "\""},
                                            {"'", "'"},
                                            {"`", "`"},
                                            {"*", "*"},
                                            {"\u201c", "\u201d"},
                                            {"\u201e", "\u201c"},
                                            {"\u2018", "\u2019"},
                                            {"\u00ab", "\u00bb"}}};

/// The inside of a fenced block that is all there is, whatever its language.
std::string_view unfenced(std::string_view answer) {
  constexpr std::string_view kFence = "```";
  if (!answer.starts_with(kFence) || !answer.ends_with(kFence)) return answer;
  const std::size_t line = answer.find('\n');
  if (line == std::string_view::npos || line + 1 > answer.size() - kFence.size()) return answer;
  return engine::trimmed(answer.substr(line + 1, answer.size() - kFence.size() - line - 1));
}

}  // namespace

std::string_view bare(std::string_view answer) {
  answer = unfenced(engine::trimmed(answer));
  constexpr std::string_view kLead = "answer:";
  if (folded(answer.substr(0, kLead.size())) == kLead) {
    answer = engine::trimmed(answer.substr(kLead.size()));
  }
  for (bool again = true; again && !answer.empty();) {
    again = false;
    if (answer.back() == '.') {
      answer.remove_suffix(1);
      again = true;
    }
    for (const auto& [open, close] : kQuotes) {
      if (answer.size() < open.size() + close.size() || !answer.starts_with(open) ||
          !answer.ends_with(close)) {
        continue;
      }
      answer = answer.substr(open.size(), answer.size() - open.size() - close.size());
      again = true;
    }
  }
  return answer;
}

std::string folded(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const char c = text.front();
    // U+2018 to U+201F.
    if (text.size() >= 3 && text.starts_with("\xe2\x80") &&
        static_cast<unsigned char>(text[2]) >= 0x98 &&
        static_cast<unsigned char>(text[2]) <= 0x9f) {
      out += static_cast<unsigned char>(text[2]) < 0x9c ? '\'' : '"';
      text.remove_prefix(3);
      continue;
    }
    text.remove_prefix(1);
    const bool space = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (space && (out.empty() || out.back() == ' ')) continue;
    out += space ? ' ' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

}  // namespace daybook::replay
