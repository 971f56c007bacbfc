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

std::string_view bare(std::string_view answer) {
  answer = engine::trimmed(answer);
  constexpr std::string_view kLead = "answer:";
  if (folded(answer.substr(0, kLead.size())) == kLead) {
    answer = engine::trimmed(answer.substr(kLead.size()));
  }
  constexpr std::string_view kQuotes = "\"'`*";
  for (bool again = true; again && !answer.empty();) {
    again = false;
    if (answer.back() == '.') {
      answer.remove_suffix(1);
      again = true;
    } else if (answer.size() > 1 && answer.front() == answer.back() &&
               kQuotes.find(answer.front()) != std::string_view::npos) {
      answer = answer.substr(1, answer.size() - 2);
      again = true;
    }
  }
  return answer;
}

std::string folded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (space && (out.empty() || out.back() == ' ')) continue;
    out += space ? ' ' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

}  // namespace daybook::replay
