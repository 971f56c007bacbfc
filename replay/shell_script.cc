#include "replay/shell_script.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "engine/summary_text.h"

namespace daybook::replay {
namespace {

constexpr std::size_t kScriptBytes = 4'000;

class Splitter {
 public:
  explicit Splitter(std::string_view script) : rest_(script.substr(0, kScriptBytes)) {}
  std::vector<ShellCommand> split();

 private:
  enum class Wants : std::uint8_t { word, target, appended, nothing, here };

  void step();
  void special(char c);
  void take_quoted(char quote);
  void take_substitution();
  void take_output();
  void take_input();
  void skip_here_documents();
  void append(char c, bool known = true);
  void end_word();
  void end_command();
  bool at(std::string_view text) const { return rest_.starts_with(text); }
  void skip(std::size_t bytes) { rest_.remove_prefix(std::min(bytes, rest_.size())); }

  std::string_view rest_;
  ShellWord word_;
  bool in_word_ = false;  // quotes alone are a word, too
  Wants wants_ = Wants::word;
  std::vector<std::string> here_;  // ends of here-documents to come
  ShellCommand command_;
  std::vector<ShellCommand> commands_;
};

void Splitter::append(char c, bool known) {
  in_word_ = true;
  word_.text += c;
  word_.known = word_.known && known;
}

void Splitter::end_word() {
  if (!in_word_) return;
  in_word_ = false;
  ShellWord word = std::exchange(word_, {});
  const Wants wants = std::exchange(wants_, Wants::word);
  if (wants == Wants::word) {
    command_.words.push_back(std::move(word));
  } else if (wants == Wants::here) {
    here_.push_back(std::move(word.text));
  } else if (wants != Wants::nothing) {
    command_.redirections.push_back({std::move(word), wants == Wants::appended});
  }
}

void Splitter::end_command() {
  end_word();
  wants_ = Wants::word;
  if (command_.words.empty() && command_.redirections.empty()) return;
  commands_.push_back(std::exchange(command_, {}));
}

void Splitter::take_quoted(char quote) {
  in_word_ = true;
  skip(1);
  while (!rest_.empty() && rest_.front() != quote) {
    const bool escape = quote == '"' && rest_.front() == '\\' && rest_.size() > 1;
    if (escape) skip(1);
    const bool unknown = quote == '"' && !escape && (rest_.front() == '$' || rest_.front() == '`');
    append(rest_.front(), !unknown);
    skip(1);
  }
  skip(1);
}

/// "$NAME", "$(...)", "`...`".
void Splitter::take_substitution() {
  in_word_ = true;
  word_.known = false;
  if (rest_.front() == '`') {
    const std::size_t end = rest_.find('`', 1);
    return skip(end == std::string_view::npos ? rest_.size() : end + 1);
  }
  skip(1);
  if (!at("(")) return;
  int depth = 0;
  while (!rest_.empty()) {
    const char c = rest_.front();
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    skip(1);
    if (depth == 0) return;
  }
}

void Splitter::take_output() {
  const bool number = std::all_of(word_.text.begin(), word_.text.end(),
                                  [](char c) { return c >= '0' && c <= '9'; });
  // The stream's number is no word.
  if (number) {
    word_ = {};
    in_word_ = false;
  }
  end_word();
  const bool appends = at(">>");
  skip(appends ? 2 : 1);
  if (at("&") || at("(")) {
    wants_ = Wants::nothing;
  } else {
    wants_ = appends ? Wants::appended : Wants::target;
  }
  if (at("&") || at("|") || at("(")) skip(1);
}

void Splitter::take_input() {
  end_word();
  if (at("<<<")) {
    wants_ = Wants::nothing;
    return skip(3);
  }
  wants_ = at("<<") ? Wants::here : Wants::nothing;
  skip(at("<<-") ? 3 : at("<<") || at("<(") ? 2 : 1);
}

void Splitter::skip_here_documents() {
  for (const std::string& end : std::exchange(here_, {})) {
    while (!rest_.empty() && engine::trimmed(engine::take_line(rest_)) != end) {
    }
  }
}

/// What ends a word, and mostly its command.
void Splitter::special(char c) {
  if (c == '>') return take_output();
  if (c == '<') return take_input();
  if (c == '&' && at("&>")) {
    end_word();
    skip(1);
    return take_output();
  }
  skip(1);
  if (c == ' ' || c == '\t' || c == '\r') return end_word();
  end_command();
  if (c == '(') ++command_.opens;
  if (c == ')' && !commands_.empty()) ++commands_.back().closes;
  if (c == '\n') skip_here_documents();
}

void Splitter::step() {
  const char c = rest_.front();
  if (c == '\\') {
    skip(1);
    if (!rest_.empty() && rest_.front() != '\n') append(rest_.front());
    skip(1);
  } else if (c == '\'' || c == '"') {
    take_quoted(c);
  } else if (c == '$' || c == '`') {
    take_substitution();
  } else if (c == '#' && !in_word_) {
    skip(rest_.find('\n'));
  } else if (std::string_view(" \t\r\n;&|()<>").find(c) != std::string_view::npos) {
    special(c);
  } else {
    append(c, std::string_view("*?[]{}~").find(c) == std::string_view::npos);
    skip(1);
  }
}

std::vector<ShellCommand> Splitter::split() {
  while (!rest_.empty()) step();
  end_command();
  return std::move(commands_);
}

}  // namespace

std::vector<ShellCommand> shell_commands(std::string_view script) {
  return Splitter(script).split();
}

}  // namespace daybook::replay
