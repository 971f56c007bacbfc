#include "replay/text_index.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "engine/summary_text.h"
#include "engine/word_table.h"
#include "replay/fact_extract.h"
#include "replay/fact_subject.h"

namespace daybook::replay {

using engine::Chunk;
using engine::Entity;
using engine::EntityKind;
using engine::Word;

namespace {

/// Where a clause ends, besides punctuation.
constexpr engine::WordSet<32> kEndsClause(
    "but while whereas although though aber während sondern jedoch");

constexpr engine::WordSet<64> kSpares(
    "untouched unchanged unmodified unedited intact excluded excludes spared preserved forbidden "
    "prohibited disallowed kept unberührt unverändert verboten tabu ausgenommen");
constexpr engine::WordSet<16> kLeaves("left leave leaves leaving let lets");
constexpr engine::WordSet<32> kModals(
    "must should shall may need needs allowed permitted darf dürfen soll sollen muss");
constexpr engine::WordSet<32> kProhibits(
    "never nie niemals forbidden prohibited avoid verboten jamais nunca 勿 别 禁");
constexpr engine::WordSet<16> kArticles("the a an and und der die das");

/// In a clause with one of these nothing is stated to have been done.
constexpr engine::WordSet<128> kHedges(
    "must should shall may might can could would will need needs allowed permitted darf dürfen "
    "soll "
    "sollen muss be if unless until before without whether when once tried attempted attempt "
    "reverted restored undone refused rejected denied blocked forbade forbids asked asks wants "
    "instead than wenn bevor ohne werden würde versucht");

/// A word for a change that tells that it was made, not "edit" or "edits".
bool is_past(std::string_view word) {
  static constexpr engine::WordSet<32> kPast(
      "written wrote rewritten rewrote overwritten overwrote geändert gelöscht bearbeitet "
      "verändert umbenannt verschoben");
  return (word.size() > 4 && word.ends_with("ed")) || kPast.has(word);
}

}  // namespace

struct IndexSink {
  TextIndex& index;
  SubjectFinder subjects = {};
  bool begins = true;  // the next word begins a clause
  // Of the clause.
  bool leaves = false;
  bool modal = false;
  bool orders = false;  // begins with "do"

  void word(const Word& word) {
    subjects.word(word);
    const auto offset = static_cast<std::uint32_t>(word.text.data() - index.text_.data());
    const std::uint64_t hash = engine::word_hash(word.text);
    const auto position = static_cast<std::uint32_t>(index.words_.size());
    if (kEndsClause.has(hash)) begins = true;
    const bool joins = hash == engine::word_hash("and") || hash == engine::word_hash("und");
    if (begins || (joins && index.clauses_.back().chunks > 1)) begin_clause(position, !begins);
    const auto clause = static_cast<std::uint32_t>(index.clauses_.size() - 1);
    index.words_.push_back({telling_hash(word.text), offset, clause});
    index.where_[index.words_.back().hash].push_back(position);
    read(word.text, hash, index.words_.back().hash);
    if (word.text.size() > 2) {
      index.whole_.add(engine::scan::mix(engine::text_hash(word.text),
                                         static_cast<std::uint64_t>(EntityKind::symbol)) |
                           1,
                       1);
    }
  }
  void chunk(const Chunk& chunk) {
    // A mark alone, as of a list, is no word of a clause.
    if (begins) return;
    if (chunk.joins > 0 || !kArticles.has(chunk.text)) ++index.clauses_.back().chunks;
    if (const std::uint64_t key = file_key(chunk, false); key != 0) {
      index.files_.emplace_back(key, static_cast<std::uint32_t>(index.clauses_.size() - 1));
    }
    if (chunk.text.back() == '.') begins = true;
    const Entity entity = classify(chunk, false);
    const std::uint64_t subject = subjects.of(entity, chunk);
    if (entity.kind == EntityKind::path) {
      add_path(entity.text);
    } else if (entity.kind != EntityKind::none) {
      index.whole_.add(entity.key, 1);
    }
    const bool number = entity.kind == EntityKind::quantity || entity.kind == EntityKind::number;
    const bool valued =
        number || entity.kind == EntityKind::version || entity.kind == EntityKind::host_port;
    if (valued) {
      TextIndex::Value value{subject,
                             entity.key,
                             entity.kind,
                             entity.dimension,
                             entity.value,
                             entity.half_digit,
                             std::string(entity.text)};
      if (subject != 0) index.values_.push_back(value);
      if (number) index.numbers_.push_back(std::move(value));
    }
    subjects.chunk(chunk, entity);
  }
  void stop(char c) {
    subjects.stop(c);
    if (c == '\n' || c == '!' || c == '?' || c == ';' || c == ',' ||
        static_cast<unsigned char>(c) >= 0xe3) {
      begins = true;
    }
  }
  /// Between an "and" and the next end, a name alone is no clause of its own: "h.py and k.py".
  void join_last() {
    if (index.clauses_.empty() || !index.clauses_.back().and_before) return;
    const TextIndex::Clause last = index.clauses_.back();
    if (last.chunks > 1) return;
    index.clauses_.pop_back();
    TextIndex::Clause& before = index.clauses_.back();
    before.negates = before.negates || last.negates;
    before.spares = before.spares || last.spares;
    before.prohibits = before.prohibits || last.prohibits;
    before.changes = before.changes || last.changes;
    before.changed = before.changed || last.changed;
    before.hedges = before.hedges || last.hedges;
    const auto clause = static_cast<std::uint32_t>(index.clauses_.size() - 1);
    for (std::size_t i = last.first; i < index.words_.size(); ++i) index.words_[i].clause = clause;
    for (auto file = index.files_.rbegin(); file != index.files_.rend(); ++file) {
      if (file->second <= clause) break;
      file->second = clause;
    }
  }

 private:
  void begin_clause(std::uint32_t position, bool and_before) {
    join_last();
    TextIndex::Clause clause;
    clause.first = position;
    clause.and_before = and_before;
    index.clauses_.push_back(clause);
    begins = leaves = modal = orders = false;
  }
  void read(std::string_view text, std::uint64_t hash, std::uint32_t telling) {
    TextIndex::Clause& clause = index.clauses_.back();
    const bool first = index.words_.size() == clause.first + 1;
    orders =
        orders || (first && (hash == engine::word_hash("do") || hash == engine::word_hash("don")));
    leaves = leaves || kLeaves.has(hash);
    modal = modal || kModals.has(hash);
    clause.negates = clause.negates || engine::is_negation(hash);
    clause.spares =
        clause.spares || kSpares.has(hash) || (leaves && hash == engine::word_hash("alone"));
    clause.prohibits =
        clause.prohibits || kProhibits.has(hash) || (clause.negates && (modal || orders));
    clause.hedges = clause.hedges || kHedges.has(hash);
    if (change_hash(telling) == 0) return;
    clause.changes = true;
    clause.changed = clause.changed || is_past(text);
  }

  void add_path(std::string_view text) {
    const engine::NormalPath normal(text);
    const std::string_view path = normal.view();
    index.whole_.add(engine::path_key(path), 1);
    for (std::size_t at = path.find('/'); at != std::string_view::npos;
         at = path.find('/', at + 1)) {
      index.parts_.add(engine::path_key(path.substr(at + 1)), 1);
    }
  }
};

TextIndex::TextIndex(std::string_view text)
    : text_(text), whole_(text.size() / 16), parts_(text.size() / 32) {
  IndexSink sink{*this};
  engine::scan_text(text, sink);
  sink.join_last();
  for (std::uint32_t clause = 0; clause < clauses_.size(); ++clause) {
    if (clauses_[clause].changed) changed_.push_back(clause);
  }
}

bool TextIndex::has_path(std::string_view text) const {
  const engine::NormalPath normal(text);
  const std::string_view path = normal.view();
  const std::uint64_t key = engine::path_key(path);
  if (whole_.find(key) != 0) return true;
  // A longer path of the text; a bare name does not tell whose it is.
  if (path.find('/') != std::string_view::npos && parts_.find(key) != 0) return true;
  for (std::size_t at = path.find('/'); at != std::string_view::npos; at = path.find('/', at + 1)) {
    if (whole_.find(engine::path_key(path.substr(at + 1))) != 0) return true;
  }
  // With blanks or other scripts in it.
  return text.size() > 3 && text_.find(text) != std::string_view::npos;
}

bool TextIndex::has_entity(std::uint64_t key, std::string_view literal) const {
  if (whole_.find(key) != 0) return true;
  if (literal.size() >= 3 && text_.find(literal) != std::string_view::npos) return true;
  // The first digits of a hash stand for it.
  constexpr std::size_t kShortHash = 7;
  const bool hex = literal.size() >= 40 &&
                   literal.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return hex && text_.find(literal.substr(0, kShortHash)) != std::string_view::npos;
}

bool TextIndex::has_quantity(const Fact& fact) const {
  if (whole_.find(fact.key) != 0 && fact.subject == 0) return true;
  return std::any_of(numbers_.begin(), numbers_.end(), [&](const Value& value) {
    if (value.dimension != fact.dimension) return false;
    const double off = std::abs(value.value - fact.value);
    // Rounding keeps the leading digits: half a unit of "0 s" covers what is not nought.
    return off <= value.half_digit * 1.0001 && off <= 0.05 * std::abs(fact.value) + 1e-12;
  });
}

std::vector<TextIndex::Hit> TextIndex::hits_of(const std::vector<std::uint32_t>& words) const {
  std::vector<Hit> hits;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto found = where_.find(words[i]);
    if (found == where_.end()) continue;
    for (const std::uint32_t position : found->second) {
      hits.push_back({position, static_cast<std::uint32_t>(i)});
    }
  }
  std::sort(hits.begin(), hits.end(), [](const Hit& a, const Hit& b) {
    return std::pair(a.position, a.word) < std::pair(b.position, b.word);
  });
  return hits;
}

std::size_t TextIndex::words_wanted(std::size_t words) {
  constexpr double kShare = 0.6;
  return static_cast<std::size_t>(std::max(1.0, std::ceil(kShare * static_cast<double>(words))));
}

/// Calls window(first hit, last hit) for each hit with which enough of the words stand close
/// together, until it returns true.
template <class Window>
void TextIndex::for_each_window(const std::vector<Hit>& hits, std::size_t words,
                                const Window& window) const {
  const std::size_t wanted = words_wanted(words);
  const std::size_t reach = words * 3 + 8;
  std::vector<std::size_t> last(words, 0);  // position + 1 of the word in the window
  std::size_t inside = 0;
  std::size_t oldest = 0;
  for (std::size_t i = 0; i < hits.size(); ++i) {
    const auto [position, word] = hits[i];
    inside += last[word] == 0 ? 1U : 0U;
    last[word] = position + 1;
    while (hits[oldest].position + reach <= position ||
           last[hits[oldest].word] != hits[oldest].position + 1) {
      if (last[hits[oldest].word] == hits[oldest].position + 1) {
        last[hits[oldest].word] = 0;
        --inside;
      }
      ++oldest;
    }
    if (inside >= wanted && window(oldest, i)) return;
  }
}

TextIndex::WordMatch TextIndex::find_words(const std::vector<std::uint32_t>& words) const {
  WordMatch match;
  for_each_window(hits_of(words), words.size(), [&](std::size_t, std::size_t) {
    match.found = match.agrees = true;
    return true;
  });
  return match;
}

bool TextIndex::names_any(std::uint32_t clause, const Fact& fact) const {
  if (fact.names.empty()) return true;
  const auto from =
      std::lower_bound(files_.begin(), files_.end(), clause,
                       [](const auto& file, std::uint32_t wanted) { return file.second < wanted; });
  for (auto at = from; at != files_.end() && at->second == clause; ++at) {
    if (std::find(fact.names.begin(), fact.names.end(), at->first) != fact.names.end()) return true;
  }
  return false;
}

/// Whether the clause speaks of what the fact forbids.
bool TextIndex::says(std::uint32_t clause, const Fact& fact) const {
  if (change_hash(fact.verb) != 0) return clauses_[clause].changes;
  const auto found = where_.find(fact.verb);
  return found != where_.end() &&
         std::any_of(found->second.begin(), found->second.end(),
                     [&](std::uint32_t position) { return words_[position].clause == clause; });
}

TextIndex::Stance TextIndex::stance(std::uint32_t clause, const Fact& fact) const {
  const Clause& at = clauses_[clause];
  if (fact.negated) {
    if (at.negates || at.spares) return Stance::agrees;
    return says(clause, fact) ? Stance::opposes : Stance::neutral;
  }
  if (!at.negates) return Stance::agrees;
  // "Keep the port" and "the port was not changed".
  static const std::array<std::uint32_t, 4> kKeeps = {
      telling_hash("keep"), telling_hash("leave"), telling_hash("stay"), telling_hash("preserve")};
  const bool keeps = std::any_of(kKeeps.begin(), kKeeps.end(), [&](std::uint32_t word) {
    return std::find(fact.words.begin(), fact.words.end(), word) != fact.words.end();
  });
  if (keeps && at.changes) return Stance::agrees;
  return at.prohibits ? Stance::opposes : Stance::neutral;
}

std::string_view TextIndex::text_of(std::uint32_t clause) const {
  const std::size_t begin = words_[clauses_[clause].first].offset;
  const std::size_t end =
      clause + 1 < clauses_.size() ? words_[clauses_[clause + 1].first].offset : text_.size();
  const std::string_view clause_text = text_.substr(begin, end - begin);
  return engine::trimmed(clause_text.substr(0, clause_text.find('\n')));
}

/// Whether the clause states that what the fact forbids was done.
bool TextIndex::is_deed(std::uint32_t clause, const Fact& fact) const {
  const Clause& at = clauses_[clause];
  if (at.negates || at.spares || at.prohibits || at.hedges) return false;
  if (change_hash(fact.verb) != 0) return at.changed;
  const auto found = where_.find(fact.verb);
  return found != where_.end() &&
         std::any_of(found->second.begin(), found->second.end(), [&](std::uint32_t position) {
           const std::string_view word = text_.substr(words_[position].offset);
           return words_[position].clause == clause &&
                  is_past(word.substr(0, word.find_first_of(" .,;:\n)")));
         });
}

/// Whether the text itself says what stands there: not a quotation, a demand, or what the program
/// put in.
bool TextIndex::is_stated(std::uint32_t position) const {
  const std::size_t offset = words_[position].offset;
  const std::string_view before = text_.substr(0, offset);
  const std::size_t line = before.rfind('\n') + 1;
  if (std::count(before.begin() + static_cast<std::ptrdiff_t>(line), before.end(), '"') % 2 == 1) {
    return false;
  }
  const std::size_t opened = before.rfind("<user-message>");
  if (opened != std::string_view::npos &&
      before.find("</user-message>", opened) == std::string_view::npos) {
    return false;
  }
  std::size_t heading = before.rfind("\n#");
  if (heading == std::string_view::npos) heading = 0;
  const std::string_view title = engine::trimmed(
      text_.substr(heading).substr(0, text_.substr(heading).find('\n', heading == 0 ? 0 : 1)));
  if (!title.starts_with('#')) return true;
  return !engine::states_demands(title) && title.find("Working state") == std::string_view::npos;
}

/// Clauses that state that what the fact forbids was done.
std::vector<std::uint32_t> TextIndex::deeds_of(const Fact& fact) const {
  std::vector<std::uint32_t> deeds;
  const auto add = [&](std::uint32_t clause) {
    const bool known = !deeds.empty() && deeds.back() == clause;
    if (!known && is_deed(clause, fact) && names_any(clause, fact)) deeds.push_back(clause);
  };
  if (change_hash(fact.verb) != 0) {
    for (const std::uint32_t clause : changed_) add(clause);
  } else if (const auto found = where_.find(fact.verb); found != where_.end()) {
    for (const std::uint32_t position : found->second) add(words_[position].clause);
  }
  return deeds;
}

/// A statement that what the fact forbids was done; "" when there is none.
std::string_view TextIndex::breach_of(const Fact& fact) const {
  if (!fact.negated || fact.verb == 0) return {};
  const auto deeds = deeds_of(fact);
  if (deeds.empty()) return {};
  // What follows a comma mostly gives the reason.
  const std::string_view text = fact.text;
  const auto words = telling_words(text.substr(0, text.find(", ")));
  const auto is_change = [](std::uint32_t word) { return change_hash(word) != 0; };
  for (const std::uint32_t clause : deeds) {
    const std::size_t end =
        clause + 1 < clauses_.size() ? clauses_[clause + 1].first : words_.size();
    std::uint32_t last = clauses_[clause].first;
    std::size_t count = 0;
    for (const std::uint32_t word : words) {
      bool there = is_change(word) && is_change(fact.verb);
      for (std::size_t at = clauses_[clause].first; at < end; ++at) {
        if (words_[at].hash != word) continue;
        there = true;
        last = std::max(last, static_cast<std::uint32_t>(at));
      }
      count += there ? 1U : 0U;
    }
    if (count >= words_wanted(words.size()) && is_stated(last)) return text_of(clause);
  }
  return {};
}

/// Spread over several clauses, of which none alone says enough.
bool TextIndex::demanded_across(const std::vector<Hit>& hits, const Fact& fact) const {
  bool demanded = false;
  for_each_window(hits, fact.words.size(), [&](std::size_t first, std::size_t last) {
    bool names = false;
    bool negates = false;
    for (std::size_t i = first; i <= last; ++i) {
      const std::uint32_t clause = words_[hits[i].position].clause;
      names = names || names_any(clause, fact);
      negates = negates || clauses_[clause].negates || (fact.negated && clauses_[clause].spares);
    }
    demanded = names && negates == fact.negated;
    return demanded;
  });
  return demanded;
}

TextIndex::WordMatch TextIndex::find_demand(const Fact& fact) const {
  if (const std::string_view breach = breach_of(fact); !breach.empty()) {
    return {true, false, breach};
  }
  // In the user's own words there is nothing to judge.
  if (text_.find(fact.text) != std::string_view::npos) return {true, true, {}};
  WordMatch match;
  const auto hits = hits_of(fact.words);
  const std::size_t wanted = words_wanted(fact.words.size());
  for (std::size_t i = 0; i < hits.size();) {
    const std::uint32_t clause = words_[hits[i].position].clause;
    std::vector<bool> seen(fact.words.size());
    std::size_t count = 0;
    for (; i < hits.size() && words_[hits[i].position].clause == clause; ++i) {
      count += seen[hits[i].word] ? 0 : 1;
      seen[hits[i].word] = true;
    }
    if (count < wanted || !names_any(clause, fact)) continue;
    const Stance stands = stance(clause, fact);
    if (stands == Stance::agrees) return {true, true, {}};
    if (stands == Stance::opposes && !match.found) {
      match.found = true;
      match.passage = text_of(clause);
    }
  }
  if (!match.found && demanded_across(hits, fact)) return {true, true, {}};
  return match;
}

}  // namespace daybook::replay
