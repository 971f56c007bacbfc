// Facts in prose: demands of users; decisions, failed attempts and plans of either side.
#include <algorithm>
#include <array>

#include "engine/summary_text.h"
#include "engine/word_table.h"
#include "replay/fact_extract.h"
#include "schema/utf8.h"

namespace daybook::replay {
namespace {

using engine::Chunk;
using engine::Word;
using engine::word_hash;
using engine::WordSet;

constexpr WordSet<256> kCommon(
    "the a an and or of to in on at is are was were be been it its this that these those "
    "i you we they he she for with as by from so do does did not no never t s must should "
    "shall will would can could may have has had please also then there but if when my "
    "your our me us them always only just need needs cannot ll ve re m der die das und "
    "oder ist sind nicht ein eine einen zu im mit den dem des auf für von bitte muss soll "
    "wird werden kein keine nie immer nur es ich wir sie 的 了 是 在 和 不 要 请 我 你 把 也 都 就 "
    "有");

/// First words of an order.
constexpr WordSet<512> kOrders(
    "explain include support follow describe provide repeat mark add answer avoid build call "
    "change check clean commit compare convert copy create "
    "cut delete deploy document drop ensure export extend find fix format generate give "
    "go handle implement install investigate keep leave limit list log make measure merge "
    "migrate move name only output port print prefer push put read refactor remove rename "
    "replace reply report respond return revert review rewrite run save send set show "
    "skip sort split start stick stop store summarise summarize switch tell test "
    "translate update upgrade use validate verify wait write never always don do please "
    "let remember stay treat wrap bump schreibe schreib nutze verwende füge benenne lass "
    "lasse achte ändere entferne führe erstelle prüfe behalte lege nimm bitte starte "
    "ersetze teste baue lösche übersetze halte speichere gib sorge");

/// Words that may stand before an order.
constexpr WordSet<128> kLeads(
    "and then also first second finally now ok okay next but so please great good thanks "
    "well instead again one more thing important note rule constraint requirement "
    "afterwards und dann auch jetzt aber zuerst danach gut wichtig additionally");

constexpr WordSet<64> kSubjects(
    "i it they we he she that this which who there tests ich es sie er");

constexpr std::size_t kSentenceBytes = 400;  // of a longer one the beginning tells enough

struct TokenSink {
  std::vector<std::uint64_t> hashes;
  std::vector<std::string_view> texts;
  std::vector<bool> breaks;  // a comma or the like before it
  bool pending = true;
  void word(const Word& word) {
    hashes.push_back(word_hash(word.text));
    texts.push_back(word.text);
    breaks.push_back(pending);
    pending = false;
  }
  void chunk(const Chunk& chunk) {
    pending = pending || (chunk.joins != 0 && chunk.text.back() == ':') || chunk.text == "-";
  }
  void stop(char c) { pending = pending || c == ',' || c == '(' || c == ';' || c == '!'; }
};

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

template <std::size_t kCount>
bool has_any(std::string_view text, const std::array<std::string_view, kCount>& parts) {
  return std::any_of(parts.begin(), parts.end(), [&](auto part) { return has(text, part); });
}

bool is_question(std::string_view lower) {
  return lower.ends_with('?') || lower.ends_with("？");
}

/// An order at the start of the sentence or behind a comma, an "and" or a lead-in.
bool is_order(const TokenSink& tokens) {
  bool may_start = true;
  for (std::size_t i = 0; i < tokens.hashes.size(); ++i) {
    const std::uint64_t hash = tokens.hashes[i];
    if (tokens.breaks[i]) may_start = true;
    if (may_start && kOrders.has(hash)) {
      const bool last = i + 1 == tokens.hashes.size();
      const bool asks = hash == word_hash("do") || hash == word_hash("don");
      // "do you", "don't you", "go on": no orders; "do not", "don't" are.
      static constexpr WordSet<16> kFew("one two three few some");
      if (hash == word_hash("only") && !last && kFew.has(tokens.hashes[i + 1])) return false;
      if (!asks) return !last || i == 0;
      static constexpr WordSet<16> kAfterDo("not t the this it");
      if (!last && kAfterDo.has(tokens.hashes[i + 1])) return true;
    }
    may_start = (may_start && kLeads.has(hash)) || hash == word_hash("and") ||
                hash == word_hash("but") || hash == word_hash("und") || hash == word_hash("then");
  }
  return false;
}

constexpr std::array<std::string_view, 26> kDemands = {
    "can you ",    "could you ",   "would you ",    "will you ",    "i want ",
    "we want ",    "i'd like ",    "i would like ", "make sure",    "no more than",
    "not allowed", "forbidden",    "under no ",     "are required", "is required",
    "off limits",  "off-limits",   "mandatory",     "i need the ",  "i need a ",
    "we need a ",  "we need the ", "needs to be ",  "need to be ",  "auf keinen fall",
    "ich möchte "};

constexpr std::array<std::string_view, 18> kChineseDemands = {
    "写到", "放到", "改成", "改为", "必须",   "不要", "不能", "不得",   "禁止",
    "请",   "务必", "只能", "始终", "不允许", "别改", "应该", "一定要", "不可"};

/// "must", "should", "muss": unless it guesses ("must have been", "should work now").
bool has_modal(const TokenSink& tokens) {
  static constexpr WordSet<32> kModals(
      "must should shall mustn shouldn muss müssen darf dürfen soll sollen sollte");
  static constexpr WordSet<16> kGuess("have work be help already");
  for (std::size_t i = 0; i < tokens.hashes.size(); ++i) {
    if (!kModals.has(tokens.hashes[i])) continue;
    if (i + 1 < tokens.hashes.size() && tokens.hashes[i + 1] == word_hash("have")) {
      // "must have a test" demands, "must have seen" guesses.
      static constexpr WordSet<32> kThings("a an the at no one two exactly its their");
      if (i + 2 < tokens.hashes.size() && kThings.has(tokens.hashes[i + 2])) return true;
      continue;
    }
    const bool english = tokens.hashes[i] == word_hash("should");
    const bool now = std::find(tokens.hashes.begin(), tokens.hashes.end(), word_hash("now")) !=
                     tokens.hashes.end();
    if (english && now && i + 1 < tokens.hashes.size() && kGuess.has(tokens.hashes[i + 1])) {
      continue;
    }
    const bool asked = i == 0;  // "should we ...?"
    if (!asked) return true;
  }
  return false;
}

/// "has to", "have to" of anyone but the speaker.
bool has_duty(std::string_view lower) {
  if (has(lower, " has to ")) return true;
  const std::size_t at = lower.find(" have to ");
  if (at == std::string_view::npos) return false;
  const std::string_view before = lower.substr(0, at);
  return !before.ends_with("i") && !before.ends_with("i'd") && !before.ends_with("didn't") &&
         !before.ends_with("don't") && !before.ends_with("not");
}

std::uint64_t stem_hash(std::string_view word) {
  const auto ends = [&](std::string_view tail) {
    return word.size() > tail.size() + 2 && word.ends_with(tail);
  };
  if (ends("ing") || ends("ies")) {
    word.remove_suffix(3);
  } else if (ends("ed") || ends("es")) {
    word.remove_suffix(2);
  } else if (ends("s") && !word.ends_with("ss")) {
    word.remove_suffix(1);
  }
  if (word.size() > 3 && (word.ends_with('e') || word.ends_with('y'))) word.remove_suffix(1);
  return word_hash(word);
}

/// Text of the sentence without list marks.
std::string_view without_marks(std::string_view sentence) {
  while (!sentence.empty() && (sentence[0] == '-' || sentence[0] == '*' || sentence[0] == '>' ||
                               sentence[0] == ' ' || sentence[0] == '#')) {
    sentence.remove_prefix(1);
  }
  return sentence;
}

}  // namespace

std::uint32_t telling_hash(std::string_view word) {
  return static_cast<std::uint32_t>(stem_hash(word) >> 32) | 1U;
}

std::uint32_t change_hash(std::uint32_t telling) {
  static const std::vector<std::uint32_t> kChanges = [] {
    std::vector<std::uint32_t> hashes;
    for (const std::string_view word :
         {"edit",    "change",    "modify",   "modified", "modifies",   "modification", "touch",
          "update",  "write",     "written",  "wrote",    "rewrite",    "rewritten",    "rewrote",
          "delete",  "deletion",  "remove",   "move",     "rename",     "alter",        "replace",
          "patch",   "overwrite", "adjust",   "adapt",    "ändern",     "ändere",       "geändert",
          "löschen", "lösche",    "gelöscht", "anfassen", "bearbeitet", "verändert",    "改",
          "删",      "动"}) {
      hashes.push_back(telling_hash(word));
    }
    std::sort(hashes.begin(), hashes.end());
    return hashes;
  }();
  return std::binary_search(kChanges.begin(), kChanges.end(), telling) ? kChanges.front() : 0;
}

std::uint64_t file_key(const engine::Chunk& chunk, bool strict) {
  const engine::Entity entity = classify(chunk, strict);
  if (entity.kind != engine::EntityKind::path) return 0;
  const engine::NormalPath normal(entity.text);
  const std::string_view path = normal.view();
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.empty() ? 0 : engine::path_key(name);
}

std::string_view take_sentence(std::string_view& rest) {
  std::size_t end = 0;
  std::size_t skip = 0;
  while (end < rest.size() && skip == 0) {
    const char c = rest[end];
    if (c == '\n') {
      skip = 1;
    } else if (c == '.' || c == '!' || c == '?') {
      const bool last = end + 1 == rest.size();
      if (last || rest[end + 1] == ' ' || rest[end + 1] == '\n') {
        ++end;
        skip = last ? 0 : 1;
        if (last) break;
        continue;
      }
      ++end;
    } else if (rest.substr(end).starts_with("。") || rest.substr(end).starts_with("！") ||
               rest.substr(end).starts_with("？") || rest.substr(end).starts_with("；")) {
      end += 3;
      const std::string_view sentence = rest.substr(0, end);
      rest.remove_prefix(end);
      return engine::trimmed(sentence);
    } else {
      ++end;
    }
  }
  const std::string_view sentence = rest.substr(0, end);
  rest.remove_prefix(std::min(rest.size(), end + skip));
  return engine::trimmed(sentence);
}

std::vector<std::uint32_t> telling_words(std::string_view text) {
  struct Sink {
    std::vector<std::uint32_t> words;
    void word(const Word& word) {
      if (kCommon.has(word.text)) return;
      const std::uint32_t hash = telling_hash(word.text);
      if (std::find(words.begin(), words.end(), hash) == words.end()) words.push_back(hash);
    }
    void chunk(const Chunk&) {}
    void stop(char) {}
  } sink;
  engine::scan_text(text, sink);
  return sink.words;
}

namespace {

/// What a sentence that negates says is not to be done: a change, wherever it stands, else the
/// first telling word behind the negation.
std::uint32_t forbidden_verb(const TokenSink& tokens) {
  std::uint32_t behind = 0;
  bool negated = false;
  for (std::size_t i = 0; i < tokens.hashes.size(); ++i) {
    const std::uint32_t telling = telling_hash(tokens.texts[i]);
    if (const std::uint32_t change = change_hash(telling); change != 0) return change;
    if (negated && behind == 0 && !kCommon.has(tokens.hashes[i])) behind = telling;
    negated = negated || engine::is_negation(tokens.hashes[i]);
  }
  return behind;
}

std::vector<std::uint64_t> files_in(std::string_view sentence) {
  struct Sink {
    std::vector<std::uint64_t> keys;
    void word(const Word&) {}
    void chunk(const Chunk& chunk) {
      if (const std::uint64_t key = file_key(chunk, true); key != 0) keys.push_back(key);
    }
    void stop(char) {}
  } sink;
  engine::scan_text(sentence, sink);
  return std::move(sink.keys);
}

}  // namespace

Fact sentence_fact(FactType type, std::string_view sentence, std::size_t item) {
  Fact fact;
  fact.type = type;
  fact.matcher = Matcher::words;
  fact.text = std::string(sentence.substr(0, utf8_floor(sentence, kSentenceBytes)));
  std::replace(fact.text.begin(), fact.text.end(), '\n', ' ');
  fact.item = item;
  fact.words = telling_words(fact.text);
  std::uint64_t key = 0;
  for (const std::uint32_t word : fact.words) key += engine::scan::mix(word, 0x77);
  TokenSink tokens;
  engine::scan_text(sentence, tokens);
  fact.negated = std::any_of(tokens.hashes.begin(), tokens.hashes.end(), engine::is_negation);
  fact.key = engine::scan::mix(key, fact.negated ? 2 : 1) | 1;
  if (type == FactType::mandate) {
    fact.names = files_in(fact.text);
    if (fact.negated) fact.verb = forbidden_verb(tokens);
  }
  return fact;
}

bool is_mandate(std::string_view sentence) {
  sentence = without_marks(sentence);
  const std::string lower = engine::folded(sentence, 600);
  if (lower.size() < 6 || has_any(lower, kChineseDemands)) return lower.size() >= 6;
  TokenSink tokens;
  engine::scan_text(lower, tokens);
  if (tokens.hashes.size() < 2) return false;
  if (is_question(lower)) {
    return has_any(
        lower, std::array<std::string_view, 4>{"can you ", "could you ", "would you ", "please"});
  }
  if (kSubjects.has(tokens.hashes[0]) && tokens.hashes[0] != word_hash("i") &&
      tokens.hashes[0] != word_hash("we") && !has_modal(tokens) && !has_duty(lower)) {
    return has(lower, "please") || has_any(lower, kDemands);
  }
  return is_order(tokens) || has_modal(tokens) || has_duty(lower) || has_any(lower, kDemands) ||
         has(lower, "please") || has(lower, "bitte");
}

bool is_decision(std::string_view sentence) {
  const std::string lower = engine::folded(without_marks(sentence), 600);
  if (is_question(lower)) return false;
  static constexpr std::array<std::string_view, 8> kOpen = {
      "not decided", "haven't decided",   "not yet decided", "to be decided",
      "undecided",   "nicht entschieden", "尚未决定",        "还没决定"};
  if (has_any(lower, kOpen)) return false;
  static constexpr std::array<std::string_view, 16> kStrong = {
      "decided",    "decision:", "i chose",   "we chose",   "chosen",       "opted",
      "settled on", "picked",    "went with", "going with", "i'll go with", "entschieden",
      "gewählt",    "决定",      "选择了",    "选用"};
  if (has_any(lower, kStrong)) return true;
  static constexpr std::array<std::string_view, 14> kWeak = {
      "instead of", "rather than", "switched", "switch to", "prefer", "i'll use", "we use",
      "we'll use",  "i will use",  " use ",    "we keep",   "statt ", "改用",     "使用"};
  static constexpr std::array<std::string_view, 14> kReasons = {
      "because",    "since ", "so that", "due to", "to avoid", "otherwise", "the reason",
      "given that", "as it ", "weil",    "damit",  "da sonst", "因为",      "以避免"};
  // "because " ends in "use ".
  const std::string padded = " " + lower;
  return has_any(padded, kWeak) && has_any(lower, kReasons);
}

bool is_failed_attempt(std::string_view sentence) {
  const std::string lower = engine::folded(without_marks(sentence), 600);
  if (is_question(lower)) return false;
  static constexpr std::array<std::string_view, 20> kOutright = {
      "didn't help",   "did not help",        "didn't work",        "did not work", "doesn't work",
      "does not work", "without success",     "to no avail",        "gave up",      "dead end",
      "had no effect", "made no difference",  "rolled back",        "reverted",     "ohne erfolg",
      "half nicht",    "funktionierte nicht", "hat nicht geholfen", "没有用",       "无效"};
  const bool condition = lower.starts_with("if ") || lower.starts_with("wenn ");
  if (condition) return false;
  if (has_any(lower, kOutright)) return true;
  static constexpr std::array<std::string_view, 6> kTried = {"tried",   "attempt", "trying",
                                                             "versuch", "尝试",    "试过"};
  static constexpr std::array<std::string_view, 14> kBad = {
      "fail",    "but ",      "error",          "broke", "still", "crash", "reject",
      "refused", "scheitert", "fehlgeschlagen", "aber",  "失败",  "仍然",  "报错"};
  return has_any(lower, kTried) && has_any(lower, kBad) && !has(lower, "try again");
}

bool is_plan(std::string_view sentence) {
  if (has(sentence, "- [ ]") || has(sentence, "* [ ]")) return true;
  const std::string lower = engine::folded(without_marks(sentence), 600);
  if (lower.starts_with("to"
                        "do:") ||
      has(lower,
          "to"
          "do: "))
    return true;
  static constexpr std::array<std::string_view, 29> kPlans = {
      "what remains", "after that ", "next step",
      "next, ",       "next: ",      "next i ",
      "next up",      "remaining:",  "remaining work",
      "remains to",   "still need",  "still have to",
      "still to do",  "left to do",  "is left",
      "afterwards i", "then i will", "then i'll",
      "plan:",        "the plan is", "als nächstes",
      "noch offen",   "noch zu tun", "steht noch aus",
      "下一步",       "待办",        "接下来",
      "还需要",       "剩余"};
  if (is_question(lower)) return false;
  return has_any(lower, kPlans);
}

namespace {

/// "Do not touch a.py, and keep the port": two demands, each of which can be kept or lost alone.
std::vector<std::string_view> demands_in(std::string_view sentence) {
  constexpr std::size_t kTelling = 2;  // fewer words than these are no demand by themselves
  std::vector<std::string_view> parts;
  std::string_view rest = sentence;
  while (!rest.empty()) {
    std::size_t end = rest.find(", and ");
    std::size_t skip = 6;
    for (const std::string_view other : {"; ", ", but ", "，"}) {
      const std::size_t at = rest.find(other);
      if (at >= end) continue;
      end = at;
      skip = other.size();
    }
    parts.push_back(engine::trimmed(rest.substr(0, end)));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + skip);
  }
  const bool each = std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
    return is_mandate(part) && telling_words(part).size() >= kTelling;
  });
  return each ? parts : std::vector{sentence};
}

}  // namespace

void extract_user_facts(const engine::PreparedSpan& span, FactCollector& out) {
  constexpr std::size_t kPastedBytes = 4'000;  // what is longer is pasted more than written
  const auto items = span.items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].kind != engine::SpanKind::kUser) continue;
    std::string_view rest = items[i].text.substr(0, kPastedBytes);
    bool fenced = false;
    while (!rest.empty()) {
      const std::string_view sentence = take_sentence(rest);
      if (sentence.starts_with("```")) fenced = !fenced;
      if (fenced || sentence.empty()) continue;
      if (is_mandate(sentence)) {
        for (const std::string_view demand : demands_in(sentence)) {
          out.add(sentence_fact(FactType::mandate, demand, i));
        }
      }
      if (is_decision(sentence)) out.add(sentence_fact(FactType::decision, sentence, i));
      if (is_failed_attempt(sentence)) out.add(sentence_fact(FactType::failed, sentence, i));
    }
  }
}

void extract_assistant_facts(const engine::PreparedSpan& span, FactCollector& out) {
  const auto items = span.items();
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].kind != engine::SpanKind::kAssistant) continue;
    std::string_view rest = items[i].text;
    bool fenced = false;
    while (!rest.empty()) {
      const std::string_view sentence = take_sentence(rest);
      if (sentence.starts_with("```")) fenced = !fenced;
      if (fenced || sentence.empty()) continue;
      if (is_decision(sentence)) out.add(sentence_fact(FactType::decision, sentence, i));
      if (is_failed_attempt(sentence)) out.add(sentence_fact(FactType::failed, sentence, i));
      if (is_plan(sentence)) out.add(sentence_fact(FactType::plan, sentence, i));
    }
  }
}

}  // namespace daybook::replay
