#include "engine/summary_text.h"

#include <algorithm>

#include "engine/word_table.h"
#include "schema/utf8.h"

namespace daybook::engine {
namespace {

constexpr WordSet<128> kNegations(
    "not no never t cannot without nothing none neither nor avoid nicht kein keine keinen "
    "keinem keiner nie niemals ohne pas jamais aucun sans nunca sin ningún 不 没 未 勿 别 无 禁");

constexpr WordSet<64> kDemandWords(
    "goal goals constraint constraints next plan plans request requests requirements "
    "instructions mandates user users todos pending open");

/// "## 3. Goal and constraints:" and "**Goal and constraints**" as "goal and constraints".
std::string normal_heading(std::string_view line) {
  const auto marks = [](char c) {
    return c == '#' || c == '*' || c == ' ' || c == '_' || c == ':' || c == '\r';
  };
  while (!line.empty() && marks(line.front())) line.remove_prefix(1);
  std::size_t digits = 0;
  while (digits < line.size() && line[digits] >= '0' && line[digits] <= '9') ++digits;
  if (digits > 0 && digits + 1 < line.size() && (line[digits] == '.' || line[digits] == ')')) {
    line.remove_prefix(digits + 1);
  }
  while (!line.empty() && marks(line.front())) line.remove_prefix(1);
  while (!line.empty() && marks(line.back())) line.remove_suffix(1);
  return folded(line, line.size());
}

bool may_be_heading(std::string_view line) {
  return line.starts_with('#') || line.starts_with("**") ||
         (!line.empty() && line[0] >= '0' && line[0] <= '9');
}

struct WordSink {
  std::vector<std::uint32_t>& words;
  void word(const Word& word) {
    words.push_back(static_cast<std::uint32_t>(word_hash(word.text) >> 32) | 1U);
  }
  void chunk(const Chunk&) {}
  void stop(char) {}
};

struct FoundHeading {
  std::size_t index = 0;
  const char* line = nullptr;
  const char* body = nullptr;
};

std::vector<FoundHeading> find_headings(std::string_view text,
                                        std::span<const std::string_view> headings) {
  std::vector<std::string> wanted;
  wanted.reserve(headings.size());
  for (const auto& heading : headings) wanted.push_back(normal_heading(heading));
  std::vector<FoundHeading> found;
  bool fenced = false;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view line = take_line(rest);
    if (line.starts_with("```")) fenced = !fenced;
    if (fenced || line.size() > 200 || !may_be_heading(line)) continue;
    const auto at = std::find(wanted.begin(), wanted.end(), normal_heading(line));
    if (at == wanted.end()) continue;
    found.push_back(
        {static_cast<std::size_t>(at - wanted.begin()), line.data(), line.data() + line.size()});
  }
  return found;
}

}  // namespace

SummaryText read_summary(std::string_view text, std::span<const std::string_view> headings,
                         bool first_heading_implied) {
  SummaryText summary;
  summary.text = trimmed(text);
  for (const auto& heading : headings) {
    summary.sections.push_back({heading, {}, false, true, false});
  }
  const auto found = find_headings(summary.text, headings);
  const char* const end = summary.text.data() + summary.text.size();
  std::size_t highest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    Section& section = summary.sections[found[i].index];
    if (section.found) continue;
    section.found = true;
    const char* const stop = i + 1 < found.size() ? found[i + 1].line : end;
    section.body = trimmed({found[i].body, static_cast<std::size_t>(stop - found[i].body)});
    section.in_order = found[i].index >= highest;
    highest = std::max(highest, found[i].index);
    ++summary.headings_found;
  }
  const char* const first = found.empty() ? end : found.front().line;
  summary.preamble =
      trimmed({summary.text.data(), static_cast<std::size_t>(first - summary.text.data())});
  if (first_heading_implied && !found.empty() && !summary.sections[0].found &&
      !summary.preamble.empty()) {
    Section& implied = summary.sections[0];
    implied.found = implied.implied = true;
    implied.body = summary.preamble;
    summary.preamble = {};
  }
  WordSink sink{summary.words};
  scan_text(summary.text, sink);
  return summary;
}

std::string_view trimmed(std::string_view text) {
  const auto space = [](char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; };
  while (!text.empty() && space(text.front())) text.remove_prefix(1);
  while (!text.empty() && space(text.back())) text.remove_suffix(1);
  return text;
}

bool states_demands(std::string_view heading) {
  struct Sink {
    bool found = false;
    void word(const Word& word) { found = found || kDemandWords.has(word.text); }
    void chunk(const Chunk&) {}
    void stop(char) {}
  } sink;
  scan_text(heading, sink);
  return sink.found;
}

std::string folded(std::string_view text, std::size_t limit) {
  text = text.substr(0, utf8_floor(text, limit));
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c >= 'A' && c <= 'Z') {
      out += static_cast<char>(c + 32);
    } else if (text.substr(i).starts_with("\xe2\x80\x99")) {
      out += '\'';
      i += 2;
    } else {
      out += c;
    }
  }
  return out;
}

std::string_view take_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

std::string excerpt(std::string_view text) {
  constexpr std::size_t kBytes = 160;
  text = trimmed(text);
  std::string out(text.substr(0, utf8_floor(text, kBytes)));
  std::replace(out.begin(), out.end(), '\n', ' ');
  return out;
}

bool is_negation(std::uint64_t word) {
  return kNegations.has(word);
}

void GateContext::add(GateCode code, std::string evidence) const {
  constexpr std::ptrdiff_t kOfOneCode = 8;
  const auto same = std::count_if(result.findings.begin(), result.findings.end(),
                                  [&](const GateFinding& f) { return f.code == code; });
  if (same < kOfOneCode) result.findings.push_back({code, std::move(evidence)});
}

}  // namespace daybook::engine
