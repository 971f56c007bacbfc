#include "replay/text_index.h"

#include <algorithm>
#include <cmath>

#include "engine/summary_text.h"
#include "replay/fact_extract.h"
#include "replay/fact_subject.h"

namespace daybook::replay {

using engine::Chunk;
using engine::Entity;
using engine::EntityKind;
using engine::Word;

struct IndexSink {
  TextIndex& index;
  SubjectFinder subjects = {};
  bool starts = true;

  void word(const Word& word) {
    subjects.word(word);
    const auto offset = static_cast<std::uint32_t>(word.text.data() - index.text_.data());
    const std::uint64_t hash = engine::word_hash(word.text);
    const auto position = static_cast<std::uint32_t>(index.words_.size());
    index.words_.push_back({telling_hash(word.text), offset, starts, engine::is_negation(hash)});
    index.where_[index.words_.back().hash].push_back(position);
    starts = false;
    if (word.text.size() > 2) {
      index.whole_.add(engine::scan::mix(engine::text_hash(word.text),
                                         static_cast<std::uint64_t>(EntityKind::symbol)) |
                           1,
                       1);
    }
  }
  void chunk(const Chunk& chunk) {
    if (chunk.text.back() == '.') starts = true;
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
    if (c == '\n' || c == '!' || c == '?' || c == ';' || static_cast<unsigned char>(c) >= 0xe3) {
      starts = true;
    }
  }

 private:
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

TextIndex::WordMatch TextIndex::find_words(const std::vector<std::uint32_t>& words, bool negated,
                                           bool strict) const {
  constexpr double kShare = 0.6;
  WordMatch match;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> hits;  // position, which word
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto found = where_.find(words[i]);
    if (found == where_.end()) continue;
    for (const std::uint32_t position : found->second) {
      hits.emplace_back(position, static_cast<std::uint32_t>(i));
    }
  }
  std::sort(hits.begin(), hits.end());
  const auto wanted = static_cast<std::size_t>(
      std::max(1.0, std::ceil(kShare * static_cast<double>(words.size()))));
  const std::size_t reach = words.size() * 3 + 8;
  std::vector<std::size_t> last(words.size(), 0);  // position + 1 of the word in the window
  std::size_t inside = 0;
  std::size_t oldest = 0;
  for (std::size_t i = 0; i < hits.size(); ++i) {
    const auto [position, word] = hits[i];
    inside += last[word] == 0 ? 1U : 0U;
    last[word] = position + 1;
    while (hits[oldest].first + reach <= position ||
           last[hits[oldest].second] != hits[oldest].first + 1) {
      if (last[hits[oldest].second] == hits[oldest].first + 1) {
        last[hits[oldest].second] = 0;
        --inside;
      }
      ++oldest;
    }
    if (inside < wanted) continue;
    std::size_t from = hits[oldest].first;
    for (int back = 0; back < 4 && from > 0 && !words_[from].starts; ++back) --from;
    const bool negates = std::any_of(words_.begin() + static_cast<std::ptrdiff_t>(from),
                                     words_.begin() + static_cast<std::ptrdiff_t>(position) + 1,
                                     [](const Position& p) { return p.negation; });
    if (!match.found) {
      const std::size_t begin = words_[from].offset;
      match.passage = text_.substr(begin, words_[position].offset - begin + 24);
    }
    match.found = true;
    match.agrees = match.agrees || !strict || negates == negated;
    if (match.agrees) break;
  }
  return match;
}

}  // namespace daybook::replay
