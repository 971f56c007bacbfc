// What a subcommand is: a name, a table of its arguments, and a function. cli.cc alone turns the
// tables into a parser, so that no other file pays for including one.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config.h"
#include "journal/rocks_journal.h"
#include "tools/exit_codes.h"

namespace daybook::tools {

enum class ValueKind {
  flag,  // takes no value
  text,
  number,  // a whole number that is not negative
  list,    // may be given several times
};

struct Option {
  std::string name;  // "--at"
  ValueKind kind = ValueKind::flag;
  std::string value_name;  // "VERSION"
  std::string help;
};

struct Positional {
  std::string name;  // "SESSION"
  std::string help;
  bool required = true;
  bool many = false;  // may be given several times; the last positional only
};

/// Values as parsed, by the names in the command's table. Asking for a name that is not in the
/// table is a bug and ends the process.
class Arguments {
 public:
  using Values = std::map<std::string, std::vector<std::string>, std::less<>>;
  explicit Arguments(Values values) : values_(std::move(values)) {}

  bool flag(std::string_view name) const { return !list(name).empty(); }
  std::optional<std::string> text(std::string_view name) const;
  std::optional<std::uint64_t> number(std::string_view name) const;
  const std::vector<std::string>& list(std::string_view name) const;

 private:
  Values values_;
};

using JournalOpener = std::function<Result<std::unique_ptr<journal::Journal>>(
    const std::string& folder, journal::OpenMode mode)>;

/// The world as a command sees it.
struct Context {
  std::istream& in;
  std::ostream& out;  // data; everything else goes to err
  std::ostream& err;
  engine::Environment environment;
  std::string current_folder;
  bool in_is_terminal = false;
  bool out_is_terminal = false;
  std::size_t columns = 0;  // of the terminal; 0: tables are as wide as they need
  std::stop_token stop;     // ends what would go on for ever
  JournalOpener open_journal;
  std::string owner = {};  // this process, as the journal's lock and its events name it

  bool colour() const;
};

struct Command {
  std::string name;
  std::string summary;
  std::vector<Positional> positionals;
  std::vector<Option> options;  // besides --journal and --json, which every command has
  /// An exit code, or what went wrong: printed as one sentence, its code mapped to an exit code.
  Result<int> (*run)(Context&, const Arguments&);
  /// With --json the last line on standard output is the outcome, that of a failure too.
  bool tells_outcome = false;
};

/// One function a subcommand, each in its own file.
Command run_command();
Command resume_command();
Command reconcile_command();
Command sessions_command();
Command show_command();
Command log_command();
Command audit_command();
Command verify_command();
Command backup_command();
Command export_command();
Command cost_command();
Command import_command();
Command cache_command();
Command replay_command();

/// All of them, in the order that help lists them.
std::vector<Command> all_commands();

/// Parses and runs. `arguments` excludes the program's name.
int run_cli(std::span<const std::string> arguments, Context& context);

std::string_view version();

}  // namespace daybook::tools
