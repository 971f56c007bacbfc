// G10: "done", "fixed", "the tests pass" need a tool result that shows it.
#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string>

#include "engine/claim_clauses.h"
#include "engine/line_commands.h"
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

/// What of a sentence can be a command without marks around it: "make test was run".
constexpr WordSet<64> kBehindCommand(
    "was were is are has have had ran run runs passed passes pass succeeded succeeds completed "
    "completes finished finishes exited now works came ended successfully cleanly without with "
    "again and then on for in after");
constexpr WordSet<16> kBeforeCommand("the then also now command running ran run re-ran executed");
/// Judges the clauses of one summary. What the whole span is asked for is made when it is needed.
class ClaimJudge {
 public:
  explicit ClaimJudge(const PreparedSpan& span) : span_(span) {}

  bool is_backed(const Clause& clause);

 private:
  enum class Shown : std::uint8_t { yes, no, untold };
  /// What a clause says of commands: that they worked, or an exit status or a count.
  enum class Said : std::uint8_t { success, result };

  const SpanCommands& commands();
  const WrittenFiles& files();
  const TestCounts& counts();
  const OpenPlan& plan();

  std::string bare_command(std::string_view clause);
  bool is_named(const std::string& name, const Clause& clause);
  std::vector<std::string> named_commands(const Clause& clause, Said said);
  const std::vector<LineCommand>& heads_of(std::string_view line);
  bool has_head(const Clause& clause);
  bool in_prior_summary(std::string_view name) const;
  bool is_told_elsewhere(std::string_view name) const;
  bool never_ran(const std::string& name, const Clause& clause);
  bool results_shown(const Clause& clause);
  Shown succeeded(const std::string& name, const Clause& clause);
  Shown named_shown(const Clause& clause);
  bool exit_shown(const Clause& clause);
  Shown counts_shown(const Clause& clause);
  bool said_number(long number) const;
  bool files_shown(const Clause& clause);
  bool tests_shown(const Clause& clause) const;
  bool lint_shown();
  bool may_have_written();
  bool claim_shown(const Clause& clause);

  const PreparedSpan& span_;
  std::optional<SpanCommands> commands_;
  std::optional<WrittenFiles> files_;
  std::optional<TestCounts> counts_;
  std::optional<OpenPlan> plan_;
  std::string_view heads_line_;
  std::vector<LineCommand> heads_;
};

const SpanCommands& ClaimJudge::commands() {
  if (!commands_) commands_.emplace(span_);
  return *commands_;
}

const WrittenFiles& ClaimJudge::files() {
  if (!files_) files_.emplace(span_, commands());
  return *files_;
}

const TestCounts& ClaimJudge::counts() {
  if (!counts_) counts_.emplace(span_);
  return *counts_;
}

const OpenPlan& ClaimJudge::plan() {
  if (!plan_) plan_.emplace(span_);
  return *plan_;
}

/// A command at the clause's start; "" when there is none.
std::string ClaimJudge::bare_command(std::string_view clause) {
  constexpr std::size_t kMostWords = 8;
  std::vector<std::string_view> words;
  bool ended = false;
  while (!clause.empty() && words.size() < kMostWords && !ended) {
    const std::size_t space = std::min(clause.size(), clause.find(' '));
    std::string_view word = clause.substr(0, space);
    clause.remove_prefix(std::min(clause.size(), space + 1));
    if (word.empty() || (words.empty() && kBeforeCommand.has(word))) continue;
    ended = !words.empty() && kBehindCommand.has(word);
    while (!word.empty() && (word.back() == '.' || word.back() == ':')) word.remove_suffix(1);
    if (!ended) words.push_back(word);
  }
  if (words.empty() || !ended || words.front().find('`') != std::string_view::npos) return {};
  std::string name(words.front());
  for (std::size_t i = 1; i < words.size(); ++i) {
    // Only what is surely part of it: "make sure the tests" is no command.
    const bool argument = is_code_like(words[i]) || is_usual_argument(words[i]);
    if (!argument || (i == 1 && is_version(words[i]))) return {};
    name += ' ';
    name += words[i];
  }
  return commands().is_bare_command(name) ? name : std::string();
}

/// Whether the name is a command's, by itself or by what is said of it: of several words only a
/// command "was run", or has options.
bool ClaimJudge::is_named(const std::string& name, const Clause& clause) {
  if (commands().is_command(name)) return true;
  const std::string_view first = std::string_view(name).substr(0, name.find(' '));
  const bool program =
      first.size() < name.size() &&
      first.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_./") == std::string_view::npos;
  return program && ((clause.parts & kRanVerb) != 0 || name.find(" -") != std::string::npos);
}

const std::vector<LineCommand>& ClaimJudge::heads_of(std::string_view line) {
  if (line.data() != heads_line_.data()) {
    heads_line_ = line;
    heads_ = line_commands(line, commands());
  }
  return heads_;
}

/// Whether what only follows a command on its line is said of it: it has no subject of its own.
bool is_of_before(const Clause& clause, bool results) {
  static constexpr WordSet<32> kOfBefore(
      "passed passes pass exit exited ok succeeded succeeds successful successfully done finished "
      "completed complete green clean all");
  static constexpr WordSet<32> kLeads(
      "then later now and with finally first again dann später erst zuletzt both each at");
  const std::string_view first = clause.text.substr(0, clause.text.find_first_of(" -"));
  if (kOfBefore.has(first)) return true;
  if (!results) return false;
  return kLeads.has(first) || static_cast<unsigned char>(first.front()) >= 0xe3 ||
         first.find_first_not_of("0123456789/") == std::string_view::npos;
}

std::vector<std::string> ClaimJudge::named_commands(const Clause& clause, Said said) {
  std::vector<std::string> names;
  const bool results = said == Said::result;
  const auto take_code = [&] {
    for (const std::string_view code : clause.code) {
      const auto parts = command_parts(code);
      if (parts.empty()) continue;
      const std::string name(trimmed(parts.back()));
      if (is_named(name, clause) || !commands().runs_of(name, clause.line).empty()) {
        names.push_back(name);
      }
    }
  };
  if (!clause.code_is_before) take_code();
  const char* const begin = clause.text.data();
  const char* const end = begin + clause.text.size();
  const LineCommand* before = nullptr;
  for (const LineCommand& head : heads_of(clause.line)) {
    if (head.is_file && !results) continue;
    const char* const head_end = head.text.data() + head.text.size();
    if (head_end > begin && head.text.data() < end) names.push_back(head.name);
    if (head_end <= begin) before = &head;
  }
  if (!names.empty()) return names;
  if (!clause.code.empty() || before != nullptr) {
    if (!is_of_before(clause, results)) return names;
    const bool code_is_last =
        clause.code_is_before && (before == nullptr || before->text.data() < clause.code[0].data());
    if (code_is_last) {
      take_code();
    } else if (before != nullptr) {
      names.push_back(before->name);
    }
    return names;
  }
  if (std::string bare = bare_command(clause.text); !bare.empty()) names.push_back(std::move(bare));
  return names;
}

bool ClaimJudge::has_head(const Clause& clause) {
  const auto& heads = heads_of(clause.line);
  return std::any_of(heads.begin(), heads.end(), [&](const LineCommand& head) {
    const char* const begin = clause.text.data();
    return !head.is_file && head.text.data() >= begin &&
           head.text.data() < begin + clause.text.size();
  });
}

bool ClaimJudge::in_prior_summary(std::string_view name) const {
  const auto words = command_words(name);
  return !words.empty() &&
         std::any_of(span_.items().begin(), span_.items().end(), [&](const auto& item) {
           return item.kind == SpanKind::kPriorSummary &&
                  item.text.find(words.front()) != std::string_view::npos;
         });
}

/// What the span did not run may have been run by others: the summary before tells of it, the user
/// or the program pasted its end, or another agent did it.
bool ClaimJudge::is_told_elsewhere(std::string_view name) const {
  const auto words = command_words(name);
  if (words.empty() || in_prior_summary(name)) return true;
  const auto tells_end = [&](std::string_view text) {
    static constexpr std::array<std::string_view, 6> kEnds = {"passed", "failed",  "FAILED",
                                                              "exited", "exit co", "exit st"};
    return text.find(words.front()) != std::string_view::npos &&
           std::any_of(kEnds.begin(), kEnds.end(), [&](std::string_view end) {
             return text.find(end) != std::string_view::npos;
           });
  };
  const auto items = span_.items();
  return std::any_of(items.begin(), items.end(),
                     [&](const auto& item) {
                       return (item.kind == SpanKind::kUser || item.kind == SpanKind::kInjected) &&
                              tells_end(item.text);
                     }) ||
         std::any_of(span_.calls().begin(), span_.calls().end(), [&](const SpanCall& call) {
           return call.result != SpanCall::kNone &&
                  (call.classes & (kReads | kWrites | kCommand)) == 0 &&
                  tells_end(items[call.result].text);
         });
}

bool ClaimJudge::never_ran(const std::string& name, const Clause& clause) {
  if (!commands().runs_of(name, clause.line).empty()) return false;
  // A tool that tests without a command line may have run it.
  const bool other = std::any_of(span_.calls().begin(), span_.calls().end(), [&](const auto& call) {
    return (call.classes & kTests) != 0 &&
           (call.call == SpanCall::kNone || !commands().has_script(call.call));
  });
  return !other && !is_told_elsewhere(name);
}

/// A command that never ran has no result to tell.
bool ClaimJudge::results_shown(const Clause& clause) {
  static constexpr std::array<std::string_view, 8> kNotRun = {
      "not run",        "not been run", "never ran", "to be run",
      "nicht gelaufen", "没有",         "还没",      "尚未"};
  static constexpr WordSet<16> kCounted("offenses offences warnings violations problems issues");
  if (clause.planned) return true;
  bool tells = clause.exit.has_value() || !told_counts(clause.text).empty();
  const std::string_view last = clause.text.substr(clause.text.rfind(' ') + 1);
  tells = tells || (clause.text.size() > last.size() + 1 && kCounted.has(last) &&
                    std::isdigit(static_cast<unsigned char>(
                        clause.text[clause.text.size() - last.size() - 2])) != 0);
  if (!tells || std::any_of(kNotRun.begin(), kNotRun.end(), [&](std::string_view mark) {
        return clause.text.find(mark) != std::string_view::npos;
      })) {
    return true;
  }
  const auto names = named_commands(clause, Said::result);
  return std::none_of(names.begin(), names.end(),
                      [&](const auto& name) { return never_ran(name, clause); });
}

ClaimJudge::Shown ClaimJudge::succeeded(const std::string& name, const Clause& clause) {
  using End = CommandRun::End;
  const auto runs = commands().runs_of(name, clause.line);
  if (runs.empty()) {
    const bool named = is_named(name, clause) && !command_words(name).empty();
    return named && !in_prior_summary(name) ? Shown::no : Shown::untold;
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
ClaimJudge::Shown ClaimJudge::named_shown(const Clause& clause) {
  const std::uint16_t parts = clause.parts;
  // "pytest passed" names a runner, "the pytest suite passed" tests.
  const bool of_things = (parts & (kTestsNoun | kBuildNoun)) != 0 &&
                         bare_command(clause.text).empty() && !has_head(clause);
  const bool ended = (parts & kEndWord) != 0 && (parts & kFixWord) == 0;
  const bool well = (parts & kOkWord) != 0 || ((parts & kPassVerb) != 0 && !of_things) || ended;
  if (!well && (parts & kRanVerb) == 0) return Shown::untold;
  Shown all = Shown::untold;
  for (const std::string& name : named_commands(clause, Said::success)) {
    const Shown one = succeeded(name, clause);
    const bool never = one == Shown::no && commands().runs_of(name, clause.line).empty();
    if (one == Shown::no && (well || never)) return Shown::no;
    if (one == Shown::yes && well) all = Shown::yes;
  }
  return all;
}

/// An exit status that is told of a command is that of one of its runs.
bool ClaimJudge::exit_shown(const Clause& clause) {
  if (!clause.exit || clause.planned) return true;
  const auto code_of = [](const CommandRun* run) {
    // Claude Code tells only the status of what failed.
    return !run->code && run->end == CommandRun::End::ok ? std::optional(0L) : run->code;
  };
  for (const std::string& name : named_commands(clause, Said::result)) {
    const auto runs = commands().runs_of(name, clause.line);
    const bool told = !runs.empty() && std::all_of(runs.begin(), runs.end(), [&](const auto* run) {
      return code_of(run).has_value();
    });
    if (told && std::none_of(runs.begin(), runs.end(),
                             [&](const auto* run) { return *code_of(run) == *clause.exit; })) {
      return false;
    }
  }
  return true;
}

/// The number stands in what the user or the summary before said.
bool ClaimJudge::said_number(long number) const {
  Entity entity;
  entity.kind = EntityKind::number;
  entity.printed = entity.value = static_cast<double>(number);
  entity.key = number_key(entity.printed);
  return (span_.sources_of(entity) & (kFromUser | kFromPrior)) != 0;
}

/// Whether the line speaks of tests.
bool speaks_of_tests(std::string_view line) {
  struct Sink {
    bool tests = false;
    void word(const Word& word) {
      static constexpr WordSet<32> kTestWords(
          "test tests suite specs pytest ctest jest vitest mocha unittest rspec testsuite");
      const bool part =
          (word.mask & scan::kUnderscore) != 0 && word.text.find("test") != std::string_view::npos;
      tests = tests || part || kTestWords.has(word.text);
    }
    void chunk(const Chunk&) {}
    void stop(char) {}
  } sink;
  scan_text(line, sink);
  return sink.tests || line.find("测试") != std::string_view::npos;
}

/// Whether nothing was run at all, by nobody who could have told of it.
bool only_files(const PreparedSpan& span) {
  return std::all_of(span.calls().begin(), span.calls().end(), [](const SpanCall& call) {
    return (call.classes & (kReads | kWrites)) != 0 && (call.classes & (kTests | kCommand)) == 0;
  });
}

/// Counts of tests: no when one stands in no report, of the runs of the commands that it is said
/// of where these are known; yes when all do and some tests are left out.
ClaimJudge::Shown ClaimJudge::counts_shown(const Clause& clause) {
  if (clause.planned || clause.text.find_first_of("0123456789") == std::string_view::npos) {
    return Shown::untold;
  }
  auto told = told_counts(clause.text);
  if (told.empty()) return Shown::untold;
  std::vector<std::size_t> items;
  const auto names = named_commands(clause, Said::result);
  for (const std::string& name : names) {
    for (const CommandRun* run : commands().runs_of(name, clause.line)) items.push_back(run->item);
  }
  const bool of_command = counts().any_of(items);
  // Elsewhere what failed may be requests, or files; what passed is tests.
  const bool tests = speaks_of_tests(clause.line);
  if (!tests) std::erase_if(told, [](const ToldCount& one) { return !one.pass; });
  const auto some_of = [](const ToldCount& one) { return one.pass && !one.all; };
  const bool some = std::any_of(told.begin(), told.end(), some_of);
  if (!counts().any()) {
    const bool elsewhere = std::any_of(names.begin(), names.end(),
                                       [&](const auto& name) { return is_told_elsewhere(name); });
    const auto said = [&](const ToldCount& one) { return said_number(one.count); };
    const bool told_of = elsewhere || std::any_of(told.begin(), told.end(), said);
    if (tests && !told.empty() && !told_of && only_files(span_)) return Shown::no;
    return elsewhere && some ? Shown::yes : Shown::untold;
  }
  for (const ToldCount& one : told) {
    const bool held = of_command ? counts().holds(one, items) : counts().holds(one, {});
    if (!held && !said_number(one.count)) return Shown::no;
  }
  return some ? Shown::yes : Shown::untold;
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
  if (!exit_shown(clause) || !results_shown(clause)) return false;
  const Shown counted = counts_shown(clause);
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
