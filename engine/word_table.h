// Words with a meaning, looked up by word_hash. Built at compile time.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/text_scan.h"

namespace daybook::engine {

template <class Value>
struct WordRow {
  std::string_view word;
  Value value;
};

template <class Value, std::size_t kRows>
class WordTable {
 public:
  constexpr explicit WordTable(const WordRow<Value> (&rows)[kRows]) {
    for (const auto& row : rows) {
      std::size_t slot = word_hash(row.word) & (kSlots - 1);
      while (keys_[slot] != 0) slot = (slot + 1) & (kSlots - 1);
      keys_[slot] = word_hash(row.word);
      values_[slot] = row.value;
    }
  }

  /// Null: not in the table.
  constexpr const Value* find(std::uint64_t hash) const {
    for (std::size_t slot = hash & (kSlots - 1); keys_[slot] != 0;
         slot = (slot + 1) & (kSlots - 1)) {
      if (keys_[slot] == hash) return &values_[slot];
    }
    return nullptr;
  }
  constexpr const Value* find(std::string_view word) const { return find(word_hash(word)); }

 private:
  static constexpr std::size_t kSlots = std::bit_ceil(kRows * 2 + 1);
  std::array<std::uint64_t, kSlots> keys_{};
  std::array<Value, kSlots> values_{};
};

/// The words themselves, given as one text with a space between them. kSlots: a power of two, more
/// than twice the words.
template <std::size_t kSlots>
class WordSet {
  static_assert(std::has_single_bit(kSlots));

 public:
  constexpr explicit WordSet(std::string_view words) {
    while (!words.empty()) {
      const std::size_t space = words.find(' ');
      add(word_hash(words.substr(0, space)));
      words = space == std::string_view::npos ? std::string_view{} : words.substr(space + 1);
    }
  }
  constexpr bool has(std::uint64_t hash) const {
    for (std::size_t slot = hash & (kSlots - 1); keys_[slot] != 0;
         slot = (slot + 1) & (kSlots - 1)) {
      if (keys_[slot] == hash) return true;
    }
    return false;
  }
  constexpr bool has(std::string_view word) const { return has(word_hash(word)); }

 private:
  constexpr void add(std::uint64_t hash) {
    std::size_t slot = hash & (kSlots - 1);
    while (keys_[slot] != 0) slot = (slot + 1) & (kSlots - 1);
    keys_[slot] = hash;
  }

  std::array<std::uint64_t, kSlots> keys_{};
};

}  // namespace daybook::engine
