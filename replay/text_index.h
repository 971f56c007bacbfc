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
    bool found = false;   // enough of the words stand close together somewhere
    bool agrees = false;  // somewhere with the same yes or no
    std::string_view passage;
  };
  /// `strict`: a passage that negates otherwise than `negated` does not agree.
  WordMatch find_words(const std::vector<std::uint32_t>& words, bool negated, bool strict) const;

 private:
  friend struct IndexSink;
  struct Position {
    std::uint32_t hash = 0;
    std::uint32_t offset = 0;
    bool starts = false;  // first of its sentence
    bool negation = false;
  };

  std::string_view text_;
  std::vector<Position> words_;
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> where_;  // word: its positions
  engine::KeySet whole_;  // entities as the text has them
  engine::KeySet parts_;  // ends of its paths
  std::vector<Value> numbers_;
  std::vector<Value> values_;
};

}  // namespace daybook::replay
