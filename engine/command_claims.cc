#include "engine/command_claims.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "engine/summary_text.h"
#include "engine/word_table.h"

namespace daybook::engine {
namespace {

/// What of a sentence can be a command without marks around it: "make test was run".
constexpr WordSet<64> kBehindCommand(
    "was were is are has have had ran run runs passed passes pass succeeded succeeds completed "
    "completes finished finishes exited now works came ended successfully cleanly without with "
    "again and then on for in after");
constexpr WordSet<16> kBeforeCommand("the then also now command running ran run re-ran executed");

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

}  // namespace

const TestCounts& CommandClaims::counts() {
  if (!counts_) counts_.emplace(span_);
  return *counts_;
}

std::string CommandClaims::bare_command(std::string_view clause) const {
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
  return commands_.is_bare_command(name) ? name : std::string();
}

/// Whether the name is a command's, by itself or by what is said of it: of several words only a
/// command "was run", or has options.
bool CommandClaims::is_named(const std::string& name, const Clause& clause) const {
  if (commands_.is_command(name)) return true;
  const std::string_view first = std::string_view(name).substr(0, name.find(' '));
  const bool program =
      first.size() < name.size() &&
      first.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_./") == std::string_view::npos;
  return program && ((clause.parts & kRanVerb) != 0 || name.find(" -") != std::string::npos);
}

const std::vector<LineCommand>& CommandClaims::heads_of(std::string_view line) {
  if (line.data() != heads_line_.data()) {
    heads_line_ = line;
    heads_ = line_commands(line, commands_);
  }
  return heads_;
}

std::vector<std::string> CommandClaims::named_commands(const Clause& clause, Said said) {
  std::vector<std::string> names;
  const bool results = said == Said::result;
  const auto take_code = [&] {
    for (const std::string_view code : clause.code) {
      const auto parts = command_parts(code);
      if (parts.empty()) continue;
      const std::string name(trimmed(parts.back()));
      if (is_named(name, clause) || !commands_.runs_of(name, clause.line).empty()) {
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

bool CommandClaims::has_head(const Clause& clause) {
  const auto& heads = heads_of(clause.line);
  return std::any_of(heads.begin(), heads.end(), [&](const LineCommand& head) {
    const char* const begin = clause.text.data();
    return !head.is_file && head.text.data() >= begin &&
           head.text.data() < begin + clause.text.size();
  });
}

bool CommandClaims::in_prior_summary(std::string_view name) const {
  const auto words = command_words(name);
  return !words.empty() &&
         std::any_of(span_.items().begin(), span_.items().end(), [&](const auto& item) {
           return item.kind == SpanKind::kPriorSummary &&
                  item.text.find(words.front()) != std::string_view::npos;
         });
}

/// What the span did not run may have been run by others: the summary before tells of it, the user
/// or the program pasted its end, or another agent did it.
bool CommandClaims::is_told_elsewhere(std::string_view name) const {
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

bool CommandClaims::never_ran(const std::string& name, const Clause& clause) const {
  if (!commands_.runs_of(name, clause.line).empty()) return false;
  // A tool that tests without a command line may have run it.
  const bool other = std::any_of(span_.calls().begin(), span_.calls().end(), [&](const auto& call) {
    return (call.classes & kTests) != 0 &&
           (call.call == SpanCall::kNone || !commands_.has_script(call.call));
  });
  return !other && !is_told_elsewhere(name);
}

bool CommandClaims::results_shown(const Clause& clause) {
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

/// The summary before tells this status in a line that names the command.
bool CommandClaims::said_exit(const std::string& name, long code) const {
  const auto words = command_words(name);
  for (const auto& item : span_.items()) {
    if (item.kind != SpanKind::kPriorSummary || words.empty()) continue;
    for (std::string_view rest = item.text; !rest.empty();) {
      const std::string_view line = take_line(rest);
      if (line.find(words.front()) == std::string_view::npos) continue;
      const auto clauses = claim_clauses(line);
      if (std::any_of(clauses.begin(), clauses.end(),
                      [&](const Clause& one) { return one.exit == code; })) {
        return true;
      }
    }
  }
  return false;
}

/// Whether a run of the command can have ended so; one of which no status is known can.
bool CommandClaims::can_have_ended(const std::string& name, const Clause& clause) const {
  const auto runs = commands_.runs_of(name, clause.line);
  return runs.empty() ||
         std::any_of(runs.begin(), runs.end(),
                     [&](const CommandRun* run) {
                       // Claude Code tells only the status of what failed.
                       const bool ok = !run->code && run->end == CommandRun::End::ok;
                       const auto code = ok ? std::optional(0L) : run->code;
                       return !code || code == clause.exit;
                     }) ||
         said_exit(name, *clause.exit);
}

bool CommandClaims::exit_shown(const Clause& clause) {
  if (!clause.exit || clause.planned) return true;
  const auto names = named_commands(clause, Said::result);
  const auto can = [&](const auto& name) { return can_have_ended(name, clause); };
  // Of several commands all ended well, or one did not.
  if (*clause.exit == 0) return std::all_of(names.begin(), names.end(), can);
  return names.empty() || std::any_of(names.begin(), names.end(), can);
}

/// The number stands in what the user or the summary before said.
bool CommandClaims::said_number(long number) const {
  Entity entity;
  entity.kind = EntityKind::number;
  entity.printed = entity.value = static_cast<double>(number);
  entity.key = number_key(entity.printed);
  return (span_.sources_of(entity) & (kFromUser | kFromPrior)) != 0;
}

Shown CommandClaims::counts_shown(const Clause& clause) {
  if (clause.planned) return Shown::untold;
  auto told = told_counts(clause.text);
  if (told.empty()) return Shown::untold;
  std::vector<std::size_t> items;
  const auto names = named_commands(clause, Said::result);
  for (const std::string& name : names) {
    for (const CommandRun* run : commands_.runs_of(name, clause.line)) items.push_back(run->item);
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
    const bool said = said_number(one.count) && (one.of < 0 || said_number(one.of));
    if (!held && !said) return Shown::no;
  }
  return some ? Shown::yes : Shown::untold;
}

}  // namespace daybook::engine
