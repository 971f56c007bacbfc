// The commands that a span ran, one by one, to be found by the name that a summary gives them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/prepared_span.h"

namespace daybook::engine {

/// One simple command of a call: "cd x && make" are two.
struct CommandRun {
  enum class End : std::uint8_t {
    open,    // no result shows that it ended
    maybe,   // it ended; its own end is hidden behind another command's
    failed,  // or was never reached
    ok
  };
  std::vector<std::string> words;  // without quotes, and without what only starts programs
  End end = End::open;
  std::optional<long> code;            // its exit status, when that is told
  std::size_t item = SpanCall::kNone;  // of the call; kNone: a block's working state tells it
  std::string_view call;               // its text
  /// What it may write besides the files that it names.
  enum class Writes : std::uint8_t {
    named,    // nothing
    builds,   // what a build makes
    anything  // a formatter, a script, a checkout
  };
  Writes writes = Writes::named;
  bool changes_nothing = false;  // a program that reads, tests or prints
};

class SpanCommands {
 public:
  /// Linear in the bytes of the calls.
  explicit SpanCommands(const PreparedSpan& span);

  const std::vector<CommandRun>& runs() const { return runs_; }

  /// Runs of the command that is so named, oldest first: its program, and its other words in their
  /// order among further ones; options only where some run has them. `line` is where the name
  /// stands: of several runs those count whose calls share most of its other names ("edge-01:
  /// `nginx -t` was successful").
  std::vector<const CommandRun*> runs_of(std::string_view name, std::string_view line) const;

  /// Whether the call at this item has a command line; and what it may write besides the files that
  /// it names. Other calls may do anything.
  bool has_script(std::size_t item) const { return item < scripts_.size() && scripts_[item] != 0; }
  CommandRun::Writes writes_of(std::size_t item) const {
    return has_script(item) ? static_cast<CommandRun::Writes>(scripts_[item] - 1)
                            : CommandRun::Writes::anything;
  }

  /// Whether the name is surely a command's: of a program that is known, or that the span ran.
  bool is_command(std::string_view name) const;
  /// The same without marks around it, where words that are programs, too, are mostly words.
  bool is_bare_command(std::string_view name) const;
  /// Whether a command line may begin with this word; cheap.
  bool may_begin(std::string_view word) const;

 private:
  void add_call(const PreparedSpan& span, const SpanCall& call);
  void add_working_state(std::string_view text);
  bool runs_program(std::string_view program) const;

  std::vector<CommandRun> runs_;
  std::vector<std::uint8_t> scripts_;  // by item: 0 none, else 1 + Writes
};

/// The words of a command without quotes; "sudo", "env", "A=b", "python3 -m" and the like in front
/// are left out, and so are folders of the program.
std::vector<std::string> command_words(std::string_view command);

/// The parts of a command line between "&&", "||", ";", "|", line ends and parentheses.
std::vector<std::string_view> command_parts(std::string_view script);

/// Whether the program of these words writes no file, unless its output is sent into one.
bool changes_nothing(const std::vector<std::string>& words);

}  // namespace daybook::engine
