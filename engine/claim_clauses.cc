#include "engine/claim_clauses.h"

#include <algorithm>
#include <charconv>

#include "engine/summary_text.h"
#include "engine/word_table.h"

namespace daybook::engine {
namespace {

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
    {"lint", kLintNoun},
    {"linter", kLintNoun},
    {"linting", kLintNoun},
    {"typecheck", kLintNoun},
    {"typechecks", kLintNoun},
    {"build", kBuildNoun},
    {"builds", kBuildNoun | kOkWord},
    {"compilation", kBuildNoun},
    {"compiles", kBuildNoun | kOkWord},
    {"kompiliert", kBuildNoun | kOkWord},
    {"succeeds", kPassVerb | kOkWord},
    {"succeeded", kPassVerb | kOkWord},
    {"successful", kPassVerb | kOkWord},
    {"successfully", kOkWord},
    {"ok", kOkWord},
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
    {"fixed", kDoneWord | kEndWord | kFixWord},
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
    {"ran", kRunVerb | kRanVerb},
    {"executed", kRunVerb | kRanVerb},
    {"lief", kRunVerb | kRanVerb},
    {"liefen", kRunVerb | kRanVerb},
    {"ausgeführt", kRunVerb | kRanVerb},
    {"created", kFileVerb},
    {"wrote", kFileVerb},
    {"written", kFileVerb},
    {"added", kFileVerb},
    {"edited", kFileVerb},
    {"updated", kFileVerb},
    {"changed", kSoftVerb},
    {"touched", kSoftVerb},
    {"moved", kSoftVerb},
    {"renamed", kSoftVerb},
    {"replaced", kSoftVerb},
    {"umbenannt", kSoftVerb},
    {"verschoben", kSoftVerb},
    {"ersetzt", kSoftVerb},
    {"angefasst", kSoftVerb},
    {"modified", kFileVerb},
    {"rewritten", kFileVerb},
    {"rewrote", kFileVerb},
    {"patched", kFileVerb},
    {"applied", kFileVerb},
    {"deleted", kSoftVerb},
    {"removed", kSoftVerb},
    {"angelegt", kFileVerb},
    {"angewendet", kFileVerb},
    {"geändert", kFileVerb},
    {"geschrieben", kFileVerb},
    {"gelöscht", kSoftVerb},
});

/// What makes a clause something else than a claim, wherever it stands: a failure, a condition.
constexpr WordSet<128> kFailures(
    "fail fails failed failing failure failures partially partly except almost nearly may might "
    "could whether unless until attempted tried try reverted broken error errors half claims "
    "claimed unverified fehlgeschlagen scheitert teilweise bis before previously");

/// A plan or a wish; what stands behind an "and" does not make one of what stands before it.
constexpr WordSet<64> kPlans(
    "yet once should must need needs will would pending remaining remains todo todos noch soll "
    "sollen muss müssen wird werden sobald wants want can kann können if wenn");

/// Before a claim they make a condition of it; behind it they tell when it was.
constexpr WordSet<16> kTimes("after when soon nach nachdem");
constexpr WordSet<16> kEarlier("first second earlier initially originally initial zuerst anfangs");

/// "expected", "user": unless "as expected", "as the user asked".
constexpr WordSet<16> kOfOthers("expected user erwartet");

/// Before "test" these make something else of it than what a test runner runs.
constexpr WordSet<16> kNoTests("load stress performance soak manual speed");

/// What a build's own state follows.
constexpr WordSet<64> kAfterBuild(
    "is was are were has have now finished completed complete done ist war wurde sind fertig");

/// "without errors" is a claim, though "errors" alone is none.
constexpr WordSet<64> kTroubles(
    "error errors failure failures problems issues fehler warnings regression regressions "
    "offenses offences violations complaints crashes conflicts");
constexpr WordSet<16> kLacks("without ohne no zero keine");

/// Behind "to" these begin its object: "pushed to the branch". Others are a verb: "to be done".
constexpr WordSet<32> kNoVerb(
    "the a an this that these those it its all both main master production staging origin");

/// Before a path: what the clause says is not said of it.
constexpr WordSet<64> kAside(
    "for of from like about against per via see with than by using as on because für von wie aus");
/// Between a verb and the path that it is said of.
constexpr WordSet<64> kToObject(
    "the a an new file files and in into to at under inside also both test tests script module "
    "header config configuration docs documentation page source die der das den datei dateien in");

/// A claim in Chinese: words are not set apart, so parts are looked for as text.
std::uint16_t chinese_parts(std::string_view text) {
  const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
  std::uint16_t parts = 0;
  if (has("测试") && has("通过")) parts |= kTestsNoun | kPassVerb;
  if ((has("构建") || has("编译")) && has("成功")) parts |= kBuildNoun | kOkWord;
  if (has("已提交") || has("已合并")) parts |= kCommitVerb;
  if (has("已推送") || has("已部署") || has("已发布")) parts |= kPushVerb;
  if (has("已完成") || has("已修复") || has("已解决") || has("已实现")) parts |= kDoneWord;
  if (has("已创建") || has("已写入") || has("已修改") || has("已添加") || has("已重命名") ||
      has("已移动") || has("已替换") || has("已删除"))
    parts |= kFileVerb;
  return parts;
}

bool chinese_hedge(std::string_view text) {
  for (const std::string_view mark :
       {"尚未", "还没", "未", "没有", "失败", "需要", "应", "如果", "之后"}) {
    if (text.find(mark) != std::string_view::npos) return true;
  }
  return false;
}

constexpr std::uint16_t kVerbs =
    kPassVerb | kOkWord | kCommitVerb | kPushVerb | kDoneWord | kFileVerb | kSoftVerb | kEndWord;

class ClauseSink {
 public:
  ClauseSink(std::string_view section, std::vector<Clause>& out) : out_(out), section_(section) {}

  void word(const Word& word);
  void chunk(const Chunk& chunk);
  void stop(char c);
  void finish();

 private:
  bool take_lack(std::uint64_t hash);
  void take_hedge(const Word& word, std::uint64_t hash);
  void take_exit(const Word& word, std::uint64_t hash);
  void keep_exit();
  void take_shift(std::uint64_t hash);
  void take_path(const Chunk& chunk);
  void join();
  void end_code();
  std::string_view line_of(const char* at) const;

  std::vector<Clause>& out_;
  std::string_view section_;
  Clause clause_;
  std::string_view line_code_;  // the newest of the line
  // Of the chunk that is read; its words count only when it is no code and no name.
  std::uint16_t words_ = 0;
  bool failure_ = false;
  bool plan_ = false;
  bool earlier_ = false;
  bool joins_ = false;  // "and"
  // Of the clause.
  bool fails_ = false;
  bool plans_ = false;
  std::uint16_t before_plan_ = 0;  // parts at the newest "and", when it was no plan by then
  bool object_after_ = false;      // a verb is said of files that follow
  const char* begin_ = nullptr;
  const char* end_ = nullptr;
  const char* code_ = nullptr;  // its first word
  std::uint64_t last_ = 0;      // word hashes of the words before
  std::uint64_t last_but_one_ = 0;
  std::uint64_t last_plain_ = 0;  // the last of the newest chunk that is no name
  bool in_code_ = false;
  bool lacking_ = false;      // "without" stands before
  bool after_build_ = false;  // "build" does
  bool after_to_ = false;
  int exit_reach_ = 0;  // words in which an exit status may follow
  bool exit_is_weak_ = false;
  std::optional<long> weak_exit_;  // it is one when nothing follows
  bool in_quotes_ = false;         // of the line
  bool expected_ = false;          // of the clause: what was or is expected is told
  bool shifts_ = false;            // "renamed", "moved", "replaced"
};

void ClauseSink::word(const Word& word) {
  if (begin_ == nullptr) begin_ = word.text.data();
  end_ = word.text.data() + word.text.size();
  if (in_code_) {
    if (code_ == nullptr) code_ = word.text.data();
    after_to_ = false;
    return;
  }
  const std::uint64_t hash = word_hash(word.text);
  if (word_hash("but") == hash || word_hash("aber") == hash) return finish();
  // "Ran into", "ran out of": nothing was run.
  static constexpr WordSet<16> kNoRun("into out");
  if (last_ == word_hash("ran") && kNoRun.has(hash)) {
    clause_.parts &= static_cast<std::uint16_t>(~(kRunVerb | kRanVerb));
  }
  take_exit(word, hash);
  take_shift(hash);
  if (!take_lack(hash)) {
    const auto* part = kParts.find(hash);
    if (part != nullptr && !(*part == kTestsNoun && kNoTests.has(last_))) words_ |= *part;
    static constexpr WordSet<16> kWere("was were been wurde wurden");
    if (hash == word_hash("run") && kWere.has(last_)) words_ |= kRanVerb;
    if (after_build_ && kAfterBuild.has(hash)) words_ |= kBuildSubject;
    after_build_ = part != nullptr && (*part & kBuildNoun) != 0;
    take_hedge(word, hash);
  }
  joins_ = hash == word_hash("and") || hash == word_hash("und");
  last_but_one_ = last_;
  last_ = hash;
}

void ClauseSink::take_hedge(const Word& word, std::uint64_t hash) {
  const bool claims = (clause_.parts & kVerbs) != 0;
  const bool of_apostrophe = word.text.data() > section_.data() && word.text.data()[-1] == '\'';
  const bool negates = is_negation(hash) && (hash != word_hash("t") || of_apostrophe);
  failure_ = failure_ || kFailures.has(hash) || negates;
  plan_ = plan_ || kPlans.has(hash);
  if (kTimes.has(hash)) (claims ? earlier_ : plan_) = true;
  earlier_ = earlier_ || kEarlier.has(hash);
  static constexpr WordSet<16> kExpected("expected expects erwartet");
  expected_ = expected_ || (kExpected.has(hash) && last_ != word_hash("as"));
  if (kOfOthers.has(hash)) {
    const bool as = last_ == word_hash("as") || last_but_one_ == word_hash("as");
    failure_ = failure_ ||
               (!as && (!claims || last_ == word_hash("by") || last_but_one_ == word_hash("by")));
  }
}

/// "exit 2", "exited with code 2", "exit status: 2"; "returned 2" only at the clause's end, for it
/// may be followed by what was returned.
void ClauseSink::take_exit(const Word& word, std::uint64_t hash) {
  static constexpr WordSet<32> kStarts("exit exited exits exitcode exit_code returncode rc");
  static constexpr WordSet<16> kWeakStarts("returned returns ended ends endete endet");
  static constexpr WordSet<16> kLinks("code status with was is of a mit war");
  weak_exit_.reset();
  if (in_quotes_) return;
  if (kStarts.has(hash) || (kWeakStarts.has(hash) && exit_reach_ == 0)) {
    exit_reach_ = 4;
    exit_is_weak_ = kWeakStarts.has(hash);
    return;
  }
  if (exit_reach_ == 0) return;
  long code = -1;
  const char* const end = word.text.data() + word.text.size();
  const auto [stop, error] = std::from_chars(word.text.data(), end, code);
  if (error == std::errc() && stop == end) {
    exit_reach_ = 0;
    weak_exit_ = code;
    if (!exit_is_weak_) keep_exit();
  } else {
    exit_reach_ = kLinks.has(hash) ? exit_reach_ - 1 : 0;
  }
}

void ClauseSink::keep_exit() {
  if (!weak_exit_) return;
  clause_.exit = weak_exit_;
  if (*weak_exit_ == 0) words_ |= kOkWord;
  failure_ = failure_ || *weak_exit_ != 0;
  weak_exit_.reset();
}

/// "foo was renamed to bar in x.c": of a renaming the file behind "in" is what was changed, not
/// what stands behind "to" or "by".
void ClauseSink::take_shift(std::uint64_t hash) {
  static constexpr WordSet<16> kShifts("renamed replaced moved umbenannt ersetzt verschoben");
  static constexpr WordSet<32> kToldOf(
      "as like per described documented shown noted listed mentioned");
  static constexpr WordSet<16> kBy("by with durch mit");
  if (last_ == word_hash("moved") && hash == word_hash("on")) {
    clause_.parts &= static_cast<std::uint16_t>(~kSoftVerb);
    shifts_ = false;
  }
  if (shifts_ && kBy.has(hash)) {
    for (auto& path : clause_.paths) path.object = false;
  }
  shifts_ = (shifts_ || kShifts.has(hash)) && !kToldOf.has(hash);
}

void ClauseSink::take_path(const Chunk& chunk) {
  static constexpr WordSet<16> kIn("in inside within");
  const Entity entity = classify(chunk, true);
  if (entity.kind != EntityKind::path) return;
  const bool after = (clause_.parts & (kFileVerb | kSoftVerb)) != 0;
  const bool in = shifts_ && kIn.has(last_plain_);
  clause_.paths.push_back({entity, after ? object_after_ || in : !kAside.has(last_plain_)});
}

void ClauseSink::chunk(const Chunk& chunk) {
  const bool name = chunk.in_code || chunk.joins > 1;
  if (name) {
    words_ = 0;
    failure_ = plan_ = earlier_ = joins_ = false;
  }
  const bool plain = !name && chunk.joins == 0 && (chunk.mask & scan::kDigit) == 0;
  if (after_to_ && plain && !kNoVerb.has(last_)) plan_ = true;
  after_to_ = !name && last_ == word_hash("to") && (clause_.parts & kVerbs) == 0;
  if (joins_) join();
  take_path(chunk);
  clause_.parts |= words_;
  // What a verb is said of follows it, or a word that leads to it.
  static constexpr WordSet<16> kTo("to into nach");
  if ((words_ & (kFileVerb | kSoftVerb)) != 0) {
    // "Files touched: a.py (read)"
    object_after_ = !(last_ == word_hash("touched") && chunk.text.back() == ':');
  } else if (plain) {
    object_after_ = object_after_ && kToObject.has(last_) && !(shifts_ && kTo.has(last_));
  }
  if (!name) last_plain_ = last_;
  fails_ = fails_ || failure_;
  plans_ = plans_ || plan_;
  clause_.earlier = clause_.earlier || earlier_;
  words_ = 0;
  failure_ = plan_ = earlier_ = joins_ = false;
  if (chunk.text.back() == '.' && !chunk.in_code) finish();
}

/// What is claimed before an "and" stays claimed, whatever is planned behind it.
void ClauseSink::join() {
  if (!plans_) before_plan_ = clause_.parts;
}

void ClauseSink::stop(char c) {
  if (c == '`') end_code();
  const bool ends =
      c == ';' || c == '!' || c == '?' || c == ',' || static_cast<unsigned char>(c) >= 0xe3;
  if (c == '\n' || (ends && !in_code_)) finish();
  if (c == '"') in_quotes_ = !in_quotes_;
  if (c != '\n') return;
  line_code_ = {};
  in_quotes_ = false;
}

std::string_view ClauseSink::line_of(const char* at) const {
  const auto from = static_cast<std::size_t>(at - section_.data());
  const std::size_t before = section_.rfind('\n', from);
  const std::size_t start = before == std::string_view::npos ? 0 : before + 1;
  return section_.substr(start, section_.find('\n', from) - start);
}

/// "退出码 2"
std::optional<long> chinese_exit(std::string_view text) {
  for (const std::string_view mark : {"退出码", "退出代码", "退出状态", "返回码"}) {
    std::size_t at = text.find(mark);
    if (at == std::string_view::npos) continue;
    at += mark.size();
    for (const std::string_view link : {" ", ":", "为", "是", " "}) {
      if (text.substr(at).starts_with(link)) at += link.size();
    }
    long code = -1;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + text.size(), code);
    if (error == std::errc()) return code;
  }
  return std::nullopt;
}

void ClauseSink::finish() {
  keep_exit();
  clause_.parts |= words_;
  fails_ = fails_ || failure_ || lacking_;
  plans_ = plans_ || plan_;
  if (begin_ != nullptr) {
    clause_.text = {begin_, static_cast<std::size_t>(end_ - begin_)};
    clause_.line = line_of(begin_);
    const bool wide = static_cast<unsigned char>(*begin_) >= 0xe3;
    if (wide || clause_.text.size() > 6) {
      const std::uint16_t chinese = chinese_parts(clause_.text);
      clause_.parts |= chinese;
      // Nothing tells which of several paths it is said of.
      if (const auto code = chinese_exit(clause_.text)) {
        clause_.exit = code;
        fails_ = fails_ || *code != 0;
        if (*code == 0) clause_.parts |= kOkWord;
      }
      if (chinese != 0) {
        for (auto& path : clause_.paths) path.object = false;
      }
      fails_ = fails_ || (clause_.parts != 0 && chinese_hedge(clause_.text));
    }
    if (plans_ && before_plan_ != 0) {
      clause_.parts = before_plan_;
      plans_ = false;
    }
    clause_.planned = plans_ || expected_;
    clause_.hedged = fails_ || plans_ || (expected_ && clause_.exit);
    if (clause_.code.empty() && !line_code_.empty()) {
      clause_.code.push_back(line_code_);
      clause_.code_is_before = true;
    }
    const bool digits = clause_.text.find_first_of("0123456789") != std::string_view::npos;
    if (clause_.parts != 0 || clause_.exit || digits) out_.push_back(std::move(clause_));
  }
  clause_ = {};
  words_ = before_plan_ = 0;
  failure_ = plan_ = earlier_ = joins_ = fails_ = plans_ = false;
  lacking_ = after_build_ = after_to_ = object_after_ = false;
  begin_ = nullptr;
  code_ = nullptr;
  last_ = last_but_one_ = last_plain_ = 0;
  exit_reach_ = 0;
  expected_ = shifts_ = false;
}

/// "without", and the word behind it; true: the word is done with.
bool ClauseSink::take_lack(std::uint64_t hash) {
  if (kLacks.has(hash)) {
    lacking_ = true;
    return true;
  }
  if (!lacking_ || hash == word_hash("any")) return lacking_;
  lacking_ = false;
  if (!kTroubles.has(hash)) {
    fails_ = true;
    return false;
  }
  words_ |= kPassVerb | kOkWord;
  return true;
}

void ClauseSink::end_code() {
  if (in_code_ && code_ != nullptr) {
    // All that stands between the marks, not from word to word: "./x", "dist/*".
    const auto word = static_cast<std::size_t>(code_ - section_.data());
    const std::size_t before = section_.rfind('`', word);
    const std::size_t from = before == std::string_view::npos ? word : before + 1;
    line_code_ = trimmed(section_.substr(from, section_.find('`', word) - from));
    clause_.code.push_back(line_code_);
  }
  in_code_ = !in_code_;
  code_ = nullptr;
}

}  // namespace

std::vector<Clause> claim_clauses(std::string_view section) {
  std::vector<Clause> clauses;
  ClauseSink sink(section, clauses);
  scan_text(section, sink);
  sink.finish();
  return clauses;
}

}  // namespace daybook::engine
