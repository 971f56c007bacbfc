#include "engine/line_commands.h"

#include <algorithm>
#include <array>

#include "engine/word_table.h"

namespace daybook::engine {
namespace {

/// What a command without marks around it ends at: what became of it.
constexpr WordSet<128> kResultWords(
    "was were is are has exit exits exited returned returns ended ends passed passes failed fails "
    "succeeded succeeds completed completes finished finishes worked works crashed ok okay endete "
    "endet lief wurde scheiterte lieferte");
constexpr WordSet<16> kSigns("-> → => ⇒ — – - = :");
constexpr WordSet<16> kCounted("passed failed of tests bestanden fehlgeschlagen von errors");

constexpr WordSet<128> kUsualArguments(
    "test tests build run install lint check all clean ci up push commit apply format fmt vet "
    "clippy start publish deploy migrate compose rollout exec restart reload stop down pull clone "
    "checkout merge rebase status diff logs get add upgrade");
/// Words of sentences, in which "make" and "go" are no programs.
constexpr WordSet<64> kOfSentences(
    "the a an to of and or in on for with without by sure that this it is was not no more than as "
    "at der die das und mit im");
/// Programs whose name alone is hardly anything else.
constexpr WordSet<64> kAlone(
    "pytest ctest tox nox mypy flake8 pylint eslint jest vitest mocha rspec phpunit make ninja "
    "shellcheck rubocop golangci-lint clang-tidy");
/// Before a command in its part of the line.
constexpr WordSet<32> kBefore(
    "the then also now and running ran run re-ran executed command und dann with by");

constexpr std::string_view kWideColon = "：";

std::string_view without(std::string_view text, std::string_view marks) {
  while (!text.empty() && marks.find(text.back()) != std::string_view::npos) text.remove_suffix(1);
  return text;
}

/// One word of a command line from `from` on; quotes hold it together.
std::string_view take_token(std::string_view line, std::size_t from) {
  char quote = 0;
  std::size_t at = from;
  for (; at < line.size(); ++at) {
    const char c = line[at];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == ' ') {
      break;
    } else if ((c == '\'' || c == '"') && line.find(c, at + 1) != std::string_view::npos) {
      quote = c;
    } else if (line.substr(at).starts_with(kWideColon)) {
      break;
    }
  }
  return line.substr(from, at - from);
}

struct Head {
  std::vector<std::string_view> words;
  std::size_t end = 0;  // behind its last word
  bool ended = false;   // what became of it follows
};

/// Words from `from` on, up to what tells the result.
Head read_head(std::string_view line, std::size_t from) {
  constexpr std::size_t kMostWords = 40;
  Head head;
  std::size_t at = from;
  while (at < line.size() && head.words.size() < kMostWords) {
    if (line[at] == ' ') {
      ++at;
      continue;
    }
    const std::string_view token = take_token(line, at);
    const bool any = !head.words.empty();
    if (token.empty() || token.find('`') != std::string_view::npos) {
      head.ended = any && token.empty();
      return head;
    }
    const std::string_view plain = without(token, ",;:.)");
    head.ended = any && (kSigns.has(token) || token.front() == '(' || kResultWords.has(plain));
    if (any && !head.ended && is_version(plain)) {
      const std::size_t next =
          std::min(line.size(), line.find_first_not_of(' ', at + token.size()));
      head.ended = kCounted.has(without(take_token(line, next), ",;:.)"));
    }
    if (head.ended) return head;
    const std::string_view word = without(token, ",;:)");
    const bool last =
        word.size() < token.size() && (token.back() != ')' || word.find('(') == std::string::npos);
    head.words.push_back(last ? word : token);
    head.end = at + head.words.back().size();
    at += token.size();
    head.ended = last || line.substr(at).starts_with(kWideColon);
    if (head.ended) return head;
  }
  return head;
}

/// Words that nobody would write in a row but as a command line.
bool is_command_line(const std::vector<std::string_view>& words, const SpanCommands& commands) {
  const std::string_view first = words.front();
  const bool folders = first.find('/') != std::string_view::npos;
  const std::string_view name = first.substr(first.rfind('/') + 1);
  const bool script = first.starts_with("./") || (folders && name.ends_with(".sh"));
  const bool program = commands.is_bare_command(first) ||
                       (folders && name.find('.') == std::string_view::npos && words.size() > 1);
  if (words.size() == 1) return script || kAlone.has(first);
  if (!program && !script) return false;
  if (is_version(words[1]) || (!is_code_like(words[1]) && !kUsualArguments.has(words[1]))) {
    return false;
  }
  return std::none_of(words.begin() + 1, words.end(),
                      [](std::string_view word) { return kOfSentences.has(word); });
}

bool is_source_file(std::string_view word) {
  static constexpr std::array<std::string_view, 7> kEnds = {".py", ".sh", ".js", ".ts",
                                                            ".rb", ".pl", ".php"};
  return !word.starts_with("./") &&
         std::any_of(kEnds.begin(), kEnds.end(), [&](auto end) { return word.ends_with(end); });
}

/// What runs_of() knows the command by; "" when it is none.
std::string name_of(std::string_view text, const Head& head, std::string_view line,
                    const SpanCommands& commands) {
  const auto parts = command_parts(text);
  if (parts.empty()) return {};
  const std::string_view first = head.words.front();
  std::string name(parts.back());
  const auto ran = [&] { return !commands.runs_of(name, line).empty(); };
  if (ran() && (head.words.size() > 1 || commands.is_bare_command(first))) return name;
  const bool small =
      std::none_of(first.begin(), first.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
  if (!small || !is_command_line(head.words, commands)) return {};
  // "make test twice", "npm test later" are of a command that ran.
  const std::string whole = name;
  for (std::size_t space = name.rfind(' '); space != std::string::npos; space = name.rfind(' ')) {
    const std::string_view last = std::string_view(name).substr(space + 1);
    if (is_code_like(last) || kUsualArguments.has(last)) break;
    name.resize(space);
    if (ran()) return name;
  }
  return whole;
}

/// Where the next part of the line begins that may be a command.
std::size_t next_start(std::string_view line, std::size_t from) {
  bool code = false;
  for (std::size_t at = from; at < line.size(); ++at) {
    const char c = line[at];
    if (c == '`') code = !code;
    if (code) continue;
    const bool blank = at + 1 < line.size() && line[at + 1] == ' ';
    if (c == '(' || ((c == ';' || c == ',' || c == '.' || c == ':') && blank)) return at + 1;
    for (const std::string_view mark : {"：", "，", "；", "。", "、", "（"}) {
      if (line.substr(at).starts_with(mark)) return at + mark.size();
    }
    // "and make test: ok", "ran make test: ok"
    if (c != ' ') continue;
    const std::size_t before = line.rfind(' ', at == 0 ? 0 : at - 1);
    const std::size_t word = before == std::string_view::npos || before == at ? 0 : before + 1;
    if (kBefore.has(line.substr(word, at - word))) return at + 1;
  }
  return line.size();
}

}  // namespace

bool is_code_like(std::string_view word) {
  return word.find_first_of("./_=:0123456789") != std::string_view::npos || word.starts_with('-') ||
         word.starts_with('"') || word.starts_with('\'');
}

bool is_version(std::string_view word) {
  return word.find_first_not_of("0123456789.x") == std::string_view::npos;
}

bool is_usual_argument(std::string_view word) {
  return kUsualArguments.has(word);
}

std::vector<LineCommand> line_commands(std::string_view line, const SpanCommands& commands) {
  constexpr std::size_t kLongest = 2'000;
  std::vector<LineCommand> found;
  line = line.substr(0, kLongest);
  std::size_t at = std::min(line.size(), line.find_first_not_of("-*+> \t"));
  if (line.substr(at).starts_with("[x] ") || line.substr(at).starts_with("[ ] ")) at += 4;
  while (at < line.size()) {
    while (at < line.size() && line[at] == ' ') ++at;
    const std::string_view first = take_token(line, at);
    const bool may = commands.may_begin(without(first, ",;:.)"));
    const Head head = may ? read_head(line, at) : Head{};
    if (head.ended) {
      LineCommand one;
      one.text = line.substr(at, head.end - at);
      one.name = name_of(one.text, head, line, commands);
      if (!one.name.empty()) {
        one.is_file = head.words.size() == 1 && is_source_file(head.words.front());
        at = head.end;
        found.push_back(std::move(one));
      }
    }
    at = next_start(line, at);
  }
  return found;
}

}  // namespace daybook::engine
