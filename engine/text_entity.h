// What in a text can be right or wrong on its own: paths, URLs, hashes, ids, ports, versions,
// quantities, names of code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/text_scan.h"

namespace daybook::engine {

enum class EntityKind : std::uint8_t {
  none,
  path,
  url,
  hash,  // hexadecimal, 7 digits and more
  uuid,
  ticket,     // ABC-123, #123
  host_port,  // localhost:8080
  version,    // dotted or dashed numbers: versions, dates, addresses
  quantity,   // a number with a unit
  number,     // without one, or counting things
  symbol,     // snake_case, a::b, name(), --flag; between backticks camelCase too
};

enum class Dimension : std::uint8_t { none, time, bytes, percent, frequency, money, rate, factor };

struct Entity {
  EntityKind kind = EntityKind::none;
  std::string_view text;  // as written, unit included
  std::uint64_t key = 0;  // equal for equal things; 0 for none
  // quantity and number
  Dimension dimension = Dimension::none;
  double value = 0;        // seconds, bytes, hertz, per second; else as printed
  double printed = 0;      // without its unit
  double half_digit = 0;   // half a unit of the last digit printed, in the unit of value
  std::uint64_t noun = 0;  // of a count, singular: word_hash("test") for "12 tests"
  std::string_view unit;   // as written
};

/// An error in one of these misleads whoever goes on.
bool is_hard(const Entity& entity);

/// What the chunk is. `strict` takes for a path only what cannot be prose ("and/or"): for texts
/// that are judged. Without it everything with a slash is one: for texts that are believed.
Entity classify(const Chunk& chunk, bool strict);

/// A number at the start of text, without sign; thousands may be set off by ',' or '_'.
struct ParsedNumber {
  std::size_t used = 0;  // bytes; 0: no number
  double value = 0;
  double half_digit = 0;
};
ParsedNumber parse_number(std::string_view text);

/// Dimension and size of a unit's name ("ms", "MiB", "seconds"); size 0: not a unit.
struct Unit {
  Dimension dimension = Dimension::none;
  double size = 0;
};
Unit unit_of(std::string_view name);

std::uint64_t quantity_key(Dimension dimension, double value);
std::uint64_t number_key(double value);
inline std::uint64_t path_key(std::string_view normal) {
  return scan::mix(text_hash(normal), 0x70617468) | 1;
}

/// Longest path that is told apart; of a longer one the end counts.
inline constexpr std::size_t kPathBytes = 256;

/// A path as it is compared: slashes forward and single, without drive, leading "./", "~/" or "/",
/// trailing slash, and ":line:column". Lives as long as the object.
class NormalPath {
 public:
  explicit NormalPath(std::string_view path);
  std::string_view view() const { return {bytes_, size_}; }

 private:
  char bytes_[kPathBytes];
  std::size_t size_ = 0;
};

/// Whether a name without folders is a file's: ends in a known extension.
bool has_file_extension(std::string_view name);

}  // namespace daybook::engine
