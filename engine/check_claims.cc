// G10: "done", "fixed", "the tests pass" need a tool result that shows it.
#include <algorithm>

#include "engine/summary_text.h"
#include "engine/word_table.h"

namespace daybook::engine {
namespace {

enum Part : std::uint16_t {
  kTestsNoun = 1,
  kPassVerb = 2,
  kBuildNoun = 4,
  kOkWord = 8,
  kCommitVerb = 16,
  kPushVerb = 32,
  kDoneWord = 64,
  kFileVerb = 128,
  kRunVerb = 256,
  kEndWord = 512,        // of the done words those that a build can be
  kBuildSubject = 1024,  // "the build is": it is what the words behind it are said of
};

constexpr WordTable kParts({
    WordRow<std::uint16_t>{"test", kTestsNoun},
    {"tests", kTestsNoun},
    {"suite", kTestsNoun},
    {"specs", kTestsNoun},
    {"testsuite", kTestsNoun},
    {"ctest", kTestsNoun},
    {"pytest", kTestsNoun},
    {"pass", kPassVerb},
    {"passes", kPassVerb},
    {"passing", kPassVerb},
    {"passed", kPassVerb},
    {"green", kPassVerb},
    {"grün", kPassVerb},
    {"bestehen", kPassVerb},
    {"bestanden", kPassVerb},
    {"erfolgreich", kPassVerb | kOkWord},
    {"build", kBuildNoun},
    {"builds", kBuildNoun | kOkWord},
    {"compilation", kBuildNoun},
    {"compiles", kBuildNoun | kOkWord},
    {"kompiliert", kBuildNoun | kOkWord},
    {"succeeds", kPassVerb | kOkWord},
    {"succeeded", kPassVerb | kOkWord},
    {"successful", kPassVerb | kOkWord},
    {"successfully", kOkWord},
    {"clean", kOkWord},
    {"cleanly", kOkWord},
    {"works", kOkWord},
    {"committed", kCommitVerb},
    {"merged", kCommitVerb},
    {"pushed", kPushVerb},
    {"deployed", kPushVerb},
    {"published", kPushVerb},
    {"released", kPushVerb},
    {"done", kDoneWord | kEndWord},
    {"fixed", kDoneWord | kEndWord},
    {"finished", kDoneWord | kEndWord},
    {"complete", kDoneWord | kEndWord},
    {"completed", kDoneWord | kEndWord},
    {"implemented", kDoneWord},
    {"resolved", kDoneWord},
    {"solved", kDoneWord},
    {"verified", kDoneWord},
    {"behoben", kDoneWord},
    {"fertig", kDoneWord | kEndWord},
    {"erledigt", kDoneWord},
    {"abgeschlossen", kDoneWord | kEndWord},
    {"implementiert", kDoneWord},
    {"run", kRunVerb},
    {"runs", kRunVerb},
    {"ran", kRunVerb},
    {"executed", kRunVerb},
    {"lief", kRunVerb},
    {"liefen", kRunVerb},
    {"ausgeführt", kRunVerb},
    {"created", kFileVerb},
    {"wrote", kFileVerb},
    {"written", kFileVerb},
    {"added", kFileVerb},
    {"edited", kFileVerb},
    {"updated", kFileVerb},
    {"modified", kFileVerb},
    {"rewritten", kFileVerb},
    {"angelegt", kFileVerb},
    {"geändert", kFileVerb},
    {"geschrieben", kFileVerb},
});

/// What makes a clause something else than a claim: a plan, a wish, a condition, a failure.
constexpr WordSet<128> kHedges(
    "yet until once when if should must need needs will would to after before pending "
    "remaining remains todo todos fail fails failed failing failure failures partially "
    "partly except almost nearly could may might whether unless attempted tried try "
    "expected reverted broken error errors noch bis wenn soll sollen muss müssen wird "
    "werden fehlgeschlagen scheitert teilweise sobald half claims claimed unverified "
    "user previously");

/// What a build's own state follows.
constexpr WordSet<64> kAfterBuild(
    "is was are were has have now finished completed complete done ist war wurde sind fertig");

/// "without errors" is a claim, though "errors" alone is none.
constexpr WordSet<16> kTroubles("error errors failure failures problems issues fehler");

struct Clause {
  std::string_view text;
  std::uint16_t parts = 0;
  bool hedged = false;
  std::vector<Entity> paths;
  std::vector<std::string_view> code;  // between backticks, from the first word to the last
};

/// A claim in Chinese: words are not set apart, so parts are looked for as text.
std::uint16_t chinese_parts(std::string_view text) {
  const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  std::uint16_t parts = 0;
  if (has("测试") && has("通过")) parts |= kTestsNoun | kPassVerb;
  if ((has("构建") || has("编译")) && has("成功")) parts |= kBuildNoun | kOkWord;
  if (has("已提交") || has("已合并")) parts |= kCommitVerb;
  if (has("已推送") || has("已部署") || has("已发布")) parts |= kPushVerb;
  if (has("已完成") || has("已修复") || has("已解决") || has("已实现")) parts |= kDoneWord;
  if (has("已创建") || has("已写入") || has("已修改") || has("已添加")) parts |= kFileVerb;
  return parts;
}

bool chinese_hedge(std::string_view text) {
  for (const std::string_view mark :
       {"尚未", "还没", "未", "没有", "失败", "需要", "应", "如果", "之后"}) {
    if (text.find(mark) != std::string_view::npos) return true;
  }
  return false;
}

/// Cuts a section into clauses and keeps those that hold a part of a claim.
class ClauseSink {
 public:
  explicit ClauseSink(std::vector<Clause>& out) : out_(out) {}

  void word(const Word& word) {
    if (begin_ == nullptr) begin_ = word.text.data();
    end_ = word.text.data() + word.text.size();
    if (in_code_ && code_ == nullptr) code_ = word.text.data();
    const std::uint64_t hash = word_hash(word.text);
    if (!in_code_ && word_hash("but") == hash) return finish();
    if (take_lack(hash)) return;
    const auto* part = kParts.find(hash);
    if (part != nullptr) words_ |= *part;
    if (after_build_ && kAfterBuild.has(hash)) words_ |= kBuildSubject;
    after_build_ = !in_code_ && part != nullptr && (*part & kBuildNoun) != 0;
    clause_.hedged = clause_.hedged || kHedges.has(hash) || is_negation(hash);
  }
  void chunk(const Chunk& chunk) {
    // What is in code is a name, not a statement.
    clause_.parts |= chunk.in_code || chunk.joins > 1 ? std::uint16_t{0} : words_;
    words_ = 0;
    const Entity entity = classify(chunk, true);
    if (entity.kind == EntityKind::path) clause_.paths.push_back(entity);
    if (chunk.text.back() == '.') finish();
  }
  void stop(char c) {
    if (c == '`') end_code();
    const bool wide = static_cast<unsigned char>(c) >= 0xe3;
    if (c == '\n' || c == ';' || c == '!' || c == '?' || (c == ',' && !in_code_) || wide) finish();
  }
  void finish() {
    clause_.hedged = clause_.hedged || lacking_;
    lacking_ = after_build_ = false;
    if (begin_ != nullptr) {
      clause_.text = {begin_, static_cast<std::size_t>(end_ - begin_)};
      if (static_cast<unsigned char>(*begin_) >= 0xe3 || clause_.text.size() > 6) {
        clause_.parts |= chinese_parts(clause_.text);
        clause_.hedged = clause_.hedged || (clause_.parts != 0 && chinese_hedge(clause_.text));
      }
      if (clause_.parts != 0) out_.push_back(std::move(clause_));
    }
    clause_ = {};
    words_ = 0;
    begin_ = nullptr;
    code_ = nullptr;
  }

 private:
  /// "without", and the word behind it; true: the word is done with.
  bool take_lack(std::uint64_t hash) {
    if (hash == word_hash("without") || hash == word_hash("ohne")) {
      lacking_ = true;
      return true;
    }
    if (!lacking_ || hash == word_hash("any")) return lacking_;
    lacking_ = false;
    if (!kTroubles.has(hash)) {
      clause_.hedged = true;
      return false;
    }
    words_ |= kPassVerb | kOkWord;
    return true;
  }
  void end_code() {
    if (in_code_ && code_ != nullptr && code_ < end_) {
      clause_.code.emplace_back(code_, static_cast<std::size_t>(end_ - code_));
    }
    in_code_ = !in_code_;
    code_ = nullptr;
  }

  std::vector<Clause>& out_;
  Clause clause_;
  std::uint16_t words_ = 0;
  const char* begin_ = nullptr;
  const char* end_ = nullptr;
  const char* code_ = nullptr;  // its first word
  bool in_code_ = false;
  bool lacking_ = false;      // "without" stands before
  bool after_build_ = false;  // "build" does
};

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

bool tests_backed(const PreparedSpan& span) {
  const CallOutcome last = last_outcome(span, kTests);
  if (last != CallOutcome::unknown) return last == CallOutcome::succeeded;
  return said_before(span, {"pass", "passes", "passed", "passing", "green", "grün"}) ||
         span.user_says(word_hash("过"));
}

/// One build command's last run is enough: another command that failed may have built nothing.
bool builds_backed(const PreparedSpan& span) {
  if (last_outcome(span, kBuilds | kTests) == CallOutcome::succeeded) return true;
  const auto calls = span.calls();
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

/// Whether the call's command, or one behind "&&" or ";", begins so. Elsewhere it is an argument.
bool begins_command(std::string_view call, std::string_view code) {
  for (std::size_t at = call.find(code); at != std::string_view::npos;
       at = call.find(code, at + 1)) {
    const std::string_view before = call.substr(0, at);
    if (before.ends_with('"') || before.ends_with("&& ") || before.ends_with("; ")) return true;
  }
  return false;
}

/// Whether a command that the clause names in code failed when it ran last.
bool named_command_failed(const PreparedSpan& span, const Clause& clause) {
  constexpr std::size_t kTelling = 4;  // shorter names are in many commands
  return std::any_of(clause.code.begin(), clause.code.end(), [&](std::string_view code) {
    CallOutcome last = CallOutcome::unknown;
    for (const SpanCall& call : span.calls()) {
      if (call.call == SpanCall::kNone || (call.classes & kCommand) == 0 ||
          code.size() < kTelling || call.outcome == CallOutcome::unknown) {
        continue;
      }
      if (begins_command(span.items()[call.call].text, code)) last = call.outcome;
    }
    return last == CallOutcome::failed;
  });
}

bool files_backed(const PreparedSpan& span, const Clause& clause) {
  constexpr std::uint8_t kShows = kFromOkCall | kFromOkResult | kFromPrior;
  return std::all_of(clause.paths.begin(), clause.paths.end(), [&](const Entity& path) {
    const std::uint8_t sources = span.sources_of(path);
    // A path that is nowhere is G9's to report.
    return sources == 0 || (sources & kShows) != 0;
  });
}

bool is_backed(const PreparedSpan& span, const Clause& clause) {
  const std::uint16_t parts = clause.parts;
  const auto both = [&](unsigned a, unsigned b) { return (parts & a) != 0 && (parts & b) != 0; };
  if ((parts & kOkWord) != 0 && named_command_failed(span, clause)) return false;
  const bool ran_well = both(kRunVerb, kOkWord);
  if (both(kTestsNoun, kPassVerb) || (ran_well && (parts & kTestsNoun) != 0)) {
    return tests_backed(span);
  }
  if (both(kBuildNoun, kOkWord | kPassVerb) || both(kBuildSubject, kEndWord)) {
    return builds_backed(span);
  }
  if ((parts & kCommitVerb) != 0) {
    return any_success(span, kCommits) || said_before(span, {"committed", "merged", "commit"});
  }
  if ((parts & kPushVerb) != 0) {
    return any_success(span, kPushes) ||
           said_before(span, {"pushed", "deployed", "published", "released"});
  }
  if ((parts & kFileVerb) != 0 && !clause.paths.empty()) return files_backed(span, clause);
  if (ran_well || (parts & (kDoneWord | kFileVerb)) != 0) {
    return any_success(span, kWrites | kCommand) ||
           said_before(span, {"done", "fixed", "finished", "completed", "implemented"});
  }
  return true;
}

}  // namespace

void check_claims(const GateContext& context) {
  for (const Section& section : context.summary.sections) {
    if (states_demands(section.heading)) continue;
    std::vector<Clause> clauses;
    ClauseSink sink(clauses);
    scan_text(section.body, sink);
    sink.finish();
    for (const Clause& clause : clauses) {
      if (clause.hedged || is_backed(context.span, clause)) continue;
      context.add(GateCode::kUnbackedCompletion, excerpt(clause.text));
    }
  }
}

}  // namespace daybook::engine
