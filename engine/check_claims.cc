// G10: "done", "fixed", "the tests pass" need a tool result that shows it.
#include <algorithm>
#include <optional>
#include <string>

#include "engine/claim_clauses.h"
#include "engine/command_claims.h"
#include "engine/open_plan.h"
#include "engine/span_commands.h"
#include "engine/summary_text.h"
#include "engine/test_counts.h"
#include "engine/word_table.h"
#include "engine/written_files.h"

namespace daybook::engine {
namespace {

/// Outcome of the last call that had one, of any of these classes.
CallOutcome last_outcome(const PreparedSpan& span, std::uint8_t classes) {
  CallOutcome last = CallOutcome::unknown;
  for (const SpanCall& call : span.calls()) {
    if ((call.classes & classes) != 0 && call.outcome != CallOutcome::unknown) last = call.outcome;
  }
  return last;
}

bool any_success(const PreparedSpan& span, std::uint8_t classes) {
  return std::any_of(span.calls().begin(), span.calls().end(), [&](const SpanCall& call) {
    return (call.classes & classes) != 0 && call.outcome == CallOutcome::succeeded;
  });
}

/// What the user, or the summary before, said is as good as a result.
bool said_before(const PreparedSpan& span, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return span.user_says(word_hash(word)); });
}

/// What only the summary before may say: of a user it is a request ("commit it").
bool summed_up_before(const PreparedSpan& span, std::initializer_list<std::string_view> words) {
  struct Sink {
    std::initializer_list<std::string_view> words;
    bool found = false;
    void word(const Word& word) {
      const std::uint64_t hash = word_hash(word.text);
      found = found || std::any_of(words.begin(), words.end(),
                                   [&](auto wanted) { return word_hash(wanted) == hash; });
    }
    void chunk(const Chunk&) {}
    void stop(char) {}
  } sink{words};
  for (const auto& item : span.items()) {
    if (item.kind == SpanKind::kPriorSummary) scan_text(item.text, sink);
  }
  return sink.found;
}

bool tests_backed(const PreparedSpan& span) {
  const CallOutcome last = last_outcome(span, kTests);
  if (last != CallOutcome::unknown) return last == CallOutcome::succeeded;
  return said_before(span, {"passes", "passed", "passing", "green", "grün"}) ||
         span.user_says(word_hash("过")) || summed_up_before(span, {"pass", "ok"});
}

/// One build command's last run is enough: another command that failed may have built nothing.
bool builds_backed(const PreparedSpan& span) {
  const auto calls = span.calls();
  const bool builds = std::any_of(calls.begin(), calls.end(), [](const SpanCall& call) {
    return (call.classes & kBuilds) != 0;
  });
  if (builds && last_outcome(span, kBuilds | kTests) == CallOutcome::succeeded) return true;
  // Tests that failed were reached, behind the build.
  const auto reached = [&](const SpanCall& call) {
    return (call.classes & kBuilds) != 0 && (call.classes & kTests) != 0 &&
           call.result != SpanCall::kNone && counts_tests(span.items()[call.result].text);
  };
  if (!calls.empty() && std::any_of(calls.begin(), calls.end(), reached)) return true;
  const auto failed_later = [&](std::size_t from) {
    return std::any_of(
        calls.begin() + static_cast<std::ptrdiff_t>(from), calls.end(), [&](const SpanCall& later) {
          return later.call != SpanCall::kNone && later.outcome == CallOutcome::failed &&
                 span.items()[later.call].raw == span.items()[calls[from].call].raw;
        });
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const bool built = calls[i].call != SpanCall::kNone && (calls[i].classes & kBuilds) != 0 &&
                       calls[i].outcome == CallOutcome::succeeded;
    if (built && !failed_later(i)) return true;
  }
  return said_before(span, {"builds", "compiles"});
}

/// Judges the clauses of one summary. What the whole span is asked for is made when it is needed.
class ClaimJudge {
 public:
  explicit ClaimJudge(const PreparedSpan& span) : span_(span) {}

  bool is_backed(const Clause& clause);

 private:
  const SpanCommands& commands();
  CommandClaims& told();
  const WrittenFiles& files();
  const OpenPlan& plan();

  Shown succeeded(const std::string& name, const Clause& clause);
  Shown named_shown(const Clause& clause);
  bool files_shown(const Clause& clause);
  bool tests_shown(const Clause& clause) const;
  bool lint_shown();
  bool may_have_written();
  bool claim_shown(const Clause& clause);

  const PreparedSpan& span_;
  std::optional<SpanCommands> commands_;
  std::optional<CommandClaims> told_;
  std::optional<WrittenFiles> files_;
  std::optional<OpenPlan> plan_;
};

const SpanCommands& ClaimJudge::commands() {
  if (!commands_) commands_.emplace(span_);
  return *commands_;
}

CommandClaims& ClaimJudge::told() {
  if (!told_) told_.emplace(span_, commands());
  return *told_;
}

const WrittenFiles& ClaimJudge::files() {
  if (!files_) files_.emplace(span_, commands());
  return *files_;
}

const OpenPlan& ClaimJudge::plan() {
  if (!plan_) plan_.emplace(span_);
  return *plan_;
}

Shown ClaimJudge::succeeded(const std::string& name, const Clause& clause) {
  using End = CommandRun::End;
  const auto runs = commands().runs_of(name, clause.line);
  if (runs.empty()) {
    const bool named = told().is_named(name, clause) && !command_words(name).empty();
    return named && !told().in_prior_summary(name) ? Shown::no : Shown::untold;
  }
  const auto well = [](const CommandRun* run) {
    return run->end == End::ok || run->end == End::maybe;
  };
  if (clause.earlier) return std::any_of(runs.begin(), runs.end(), well) ? Shown::yes : Shown::no;
  const auto last = std::find_if(runs.rbegin(), runs.rend(),
                                 [](const CommandRun* run) { return run->end != End::open; });
  return last != runs.rend() && well(*last) ? Shown::yes : Shown::no;
}

/// Commands that the clause names, when it says that they succeeded, or ran.
Shown ClaimJudge::named_shown(const Clause& clause) {
  const std::uint16_t parts = clause.parts;
  // "pytest passed" names a runner, "the pytest suite passed" tests.
  const bool of_things = (parts & (kTestsNoun | kBuildNoun)) != 0 &&
                         told().bare_command(clause.text).empty() && !told().has_head(clause);
  const bool ended = (parts & kEndWord) != 0 && (parts & kFixWord) == 0;
  const bool well = (parts & kOkWord) != 0 || ((parts & kPassVerb) != 0 && !of_things) || ended;
  if (!well && (parts & kRanVerb) == 0) return Shown::untold;
  Shown all = Shown::untold;
  for (const std::string& name : told().named_commands(clause, Said::success)) {
    const Shown one = succeeded(name, clause);
    const bool never = one == Shown::no && commands().runs_of(name, clause.line).empty();
    if (one == Shown::no && (well || never)) return Shown::no;
    if (one == Shown::yes && well) all = Shown::yes;
  }
  return all;
}

bool ClaimJudge::may_have_written() {
  return any_success(span_, kWrites) || files().any_possible();
}

bool ClaimJudge::files_shown(const Clause& clause) {
  constexpr std::uint8_t kShows = kFromOkCall | kFromOkResult | kFromPrior;
  return std::all_of(clause.paths.begin(), clause.paths.end(), [&](const ClaimPath& each) {
    const std::uint8_t sources = span_.sources_of(each.path);
    // A path that is nowhere is G9's to report.
    if (sources == 0) return true;
    if (!each.object) return (sources & kShows) != 0 || (clause.parts & kFileVerb) == 0;
    switch (files().ask(each.path)) {
      case WrittenFiles::Answer::written:
        return true;
      case WrittenFiles::Answer::refused:
        return false;
      case WrittenFiles::Answer::untold:
        break;
    }
    return (sources & kShows) != 0 && files().is_possible(each.path);
  });
}

bool ClaimJudge::tests_shown(const Clause& clause) const {
  if (clause.earlier && any_success(span_, kTests)) return true;
  return tests_backed(span_);
}

/// The last run of any program that checks code.
bool ClaimJudge::lint_shown() {
  static constexpr WordSet<64> kLinters(
      "ruff mypy pyright tsc clippy clang-tidy vet typecheck prettier black rubocop pre-commit "
      "checkstyle spotless phpstan psalm credo clang-format");
  bool well = false;
  for (const CommandRun& run : commands().runs()) {
    const bool lints = std::any_of(run.words.begin(), run.words.end(), [](const auto& word) {
      return kLinters.has(word) || word.find("lint") != std::string::npos || word == "flake8";
    });
    if (lints && run.end != CommandRun::End::open) well = run.end != CommandRun::End::failed;
  }
  return well || summed_up_before(span_, {"lint", "linting", "linter", "clean"});
}

bool ClaimJudge::claim_shown(const Clause& clause) {
  const std::uint16_t parts = clause.parts;
  const auto both = [&](unsigned a, unsigned b) { return (parts & a) != 0 && (parts & b) != 0; };
  const Shown named = named_shown(clause);
  if (named == Shown::no) return false;
  const bool ran_well = both(kRunVerb, kOkWord);
  const bool deed = (parts & (kDoneWord | kCommitVerb | kPushVerb | kFileVerb | kRanVerb)) != 0;
  if ((deed || ran_well) && !plan().claimed_by(clause.text).empty()) return false;
  if (named == Shown::yes && !both(kTestsNoun, kPassVerb)) return true;
  if (both(kTestsNoun, kPassVerb) || (ran_well && (parts & kTestsNoun) != 0)) {
    return tests_shown(clause);
  }
  if (both(kLintNoun, kOkWord | kPassVerb)) return lint_shown();
  if (both(kBuildNoun, kOkWord | kPassVerb) || both(kBuildSubject, kEndWord)) {
    return builds_backed(span_);
  }
  if ((parts & kCommitVerb) != 0) {
    return any_success(span_, kCommits) || said_before(span_, {"committed", "merged"}) ||
           summed_up_before(span_, {"commit"});
  }
  if ((parts & kPushVerb) != 0) {
    return any_success(span_, kPushes) ||
           said_before(span_, {"pushed", "deployed", "published", "released"});
  }
  if ((parts & (kFileVerb | kSoftVerb)) != 0 && !clause.paths.empty()) return files_shown(clause);
  const bool before = said_before(span_, {"done", "fixed", "finished", "completed", "implemented"});
  if ((parts & kFileVerb) != 0) return before || may_have_written();
  if (ran_well || (parts & kDoneWord) != 0) {
    return any_success(span_, kWrites | kCommand) || before;
  }
  return true;
}

bool ClaimJudge::is_backed(const Clause& clause) {
  if (!told().exit_shown(clause) || !told().results_shown(clause)) return false;
  const Shown counted = told().counts_shown(clause);
  if (counted == Shown::no) return false;
  if (clause.hedged || clause.parts == 0 || counted == Shown::yes) return true;
  return claim_shown(clause);
}

}  // namespace

void check_claims(const GateContext& context) {
  ClaimJudge judge(context.span);
  for (const Section& section : context.summary.sections) {
    if (states_demands(section.heading)) continue;
    for (const Clause& clause : claim_clauses(section.body)) {
      if (judge.is_backed(clause)) continue;
      context.add(GateCode::kUnbackedCompletion, excerpt(clause.text));
    }
  }
}

}  // namespace daybook::engine
