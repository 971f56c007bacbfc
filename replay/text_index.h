// A text made ready to be asked whether facts are in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/prepared_span.h"
#include "replay/facts.h"

namespace daybook::replay {

class TextIndex {
 public:
  explicit TextIndex(std::string_view text);

  /// A number, version or port of which the text says what it measures.
  struct Value {
    std::uint64_t subject = 0;
    std::uint64_t key = 0;
    engine::EntityKind kind = engine::EntityKind::none;
    engine::Dimension dimension = engine::Dimension::none;
    double value = 0;
    double half_digit = 0;
    std::string text;
  };
  const std::vector<Value>& values() const { return values_; }

  /// The path itself, an end of it, or a longer path that ends in it.
  bool has_path(std::string_view path) const;
  bool has_entity(std::uint64_t key, std::string_view literal) const;
  /// The value, as exactly as the text prints it.
  bool has_quantity(const Fact& fact) const;

  struct WordMatch {
    bool found = false;   // the text speaks of it somewhere
    bool agrees = false;  // somewhere with the same yes or no
    std::string_view passage;
  };
  /// Enough of the words close together; that they are there is to agree.
  WordMatch find_words(const std::vector<std::uint32_t>& words) const;
  /// A demand, judged clause by clause: "h3.py was edited; keep.py was left alone" keeps "never
  /// edit keep.py". Opposed is a demand only by a clause that speaks of its files and of what it
  /// forbids, or that forbids what it demands; that something is not done yet opposes nothing. That
  /// what is forbidden was done opposes it however often it is quoted elsewhere.
  WordMatch find_demand(const Fact& fact) const;

 private:
  friend struct IndexSink;
  struct Position {
    std::uint32_t hash = 0;
    std::uint32_t offset = 0;
    std::uint32_t clause = 0;
  };
  struct Clause {
    std::uint32_t first = 0;  // position of its first word
    std::uint32_t chunks = 0;
    bool and_before = false;
    bool negates = false;
    bool spares = false;     // "untouched", "left alone"
    bool prohibits = false;  // "must not", not "does not"
    bool changes = false;    // a word for changing a file
    bool changed = false;    // one that tells that it was done
    bool hedges = false;     // "if", "must", "tried": no plain statement of what was done
  };
  enum class Stance : std::uint8_t { neutral, agrees, opposes };
  /// Position of a word of the fact in the text, and which word.
  struct Hit {
    std::uint32_t position = 0;
    std::uint32_t word = 0;
  };

  static std::size_t words_wanted(std::size_t words);
  std::vector<Hit> hits_of(const std::vector<std::uint32_t>& words) const;
  template <class Window>
  void for_each_window(const std::vector<Hit>& hits, std::size_t words, const Window& window) const;
  bool names_any(std::uint32_t clause, const Fact& fact) const;
  bool says(std::uint32_t clause, const Fact& fact) const;
  Stance stance(std::uint32_t clause, const Fact& fact) const;
  std::string_view text_of(std::uint32_t clause) const;
  bool is_deed(std::uint32_t clause, const Fact& fact) const;
  bool is_stated(std::uint32_t position) const;
  std::vector<std::uint32_t> deeds_of(const Fact& fact) const;
  std::string_view breach_of(const Fact& fact) const;
  bool demanded_across(const std::vector<Hit>& hits, const Fact& fact) const;

  std::string_view text_;
  std::vector<Position> words_;
  std::vector<Clause> clauses_;
  std::vector<std::uint32_t> changed_;                          // clauses that tell of a change
  std::vector<std::pair<std::uint64_t, std::uint32_t>> files_;  // key, clause; in order of clauses
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> where_;  // word: its positions
  engine::KeySet whole_;  // entities as the text has them
  engine::KeySet parts_;  // ends of its paths
  std::vector<Value> numbers_;
  std::vector<Value> values_;
};

}  // namespace daybook::replay
