// What a clause of a summary says of commands, against their runs: which commands it is about, and
// whether their exit status and their counts of tests are those of a run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/claim_clauses.h"
#include "engine/line_commands.h"
#include "engine/prepared_span.h"
#include "engine/span_commands.h"
#include "engine/test_counts.h"

namespace daybook::engine {

enum class Shown : std::uint8_t { yes, no, untold };
/// What a clause says of commands: that they worked, or an exit status or a count.
enum class Said : std::uint8_t { success, result };

/// For the clauses of one summary, in order: what is read of a line is kept for its next clause.
class CommandClaims {
 public:
  /// Both must outlive it.
  CommandClaims(const PreparedSpan& span, const SpanCommands& commands)
      : span_(span), commands_(commands) {}

  /// A command at the clause's start; "" when there is none.
  std::string bare_command(std::string_view clause) const;
  /// Whether the name is a command's, by itself or by what is said of it.
  bool is_named(const std::string& name, const Clause& clause) const;
  /// Whether a command begins in the clause without marks around it.
  bool has_head(const Clause& clause);
  /// The commands that it is said of: those in the clause, else the one before it on its line.
  std::vector<std::string> named_commands(const Clause& clause, Said said);
  bool in_prior_summary(std::string_view name) const;

  /// An exit status that is told of a command is that of one of its runs.
  bool exit_shown(const Clause& clause);
  /// A command that never ran has no result to tell.
  bool results_shown(const Clause& clause);
  /// Counts of tests: no when one stands in no report, of the runs of the commands that it is said
  /// of where these are known; yes when all do and some tests are left out.
  Shown counts_shown(const Clause& clause);

 private:
  const TestCounts& counts();
  const std::vector<LineCommand>& heads_of(std::string_view line);
  bool is_told_elsewhere(std::string_view name) const;
  bool never_ran(const std::string& name, const Clause& clause) const;
  bool said_exit(const std::string& name, long code) const;
  bool can_have_ended(const std::string& name, const Clause& clause) const;
  bool said_number(long number) const;

  const PreparedSpan& span_;
  const SpanCommands& commands_;
  std::optional<TestCounts> counts_;
  std::string_view heads_line_;
  std::vector<LineCommand> heads_;
};

}  // namespace daybook::engine
