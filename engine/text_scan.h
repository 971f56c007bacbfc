// One pass over text: words (hashed without case) and chunks, the pieces between delimiters that
// may be a path, a number or a name. Everything that judges or scores a summary starts here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

namespace daybook::engine {

namespace scan {

using Class = std::uint16_t;
inline constexpr Class kLower = 1, kDigit = 2, kUpper = 4, kUnderscore = 8, kHigh = 16;
inline constexpr Class kWord = kLower | kDigit | kUpper | kUnderscore | kHigh;
inline constexpr Class kSlash = 32, kDot = 64, kColon = 128, kDash = 256, kGlue = 512;
inline constexpr Class kJoin = kSlash | kDot | kColon | kDash | kGlue;  // inside a chunk
inline constexpr Class kComma = 1024, kTick = 2048, kWide = 4096;

constexpr std::array<Class, 256> make_classes() {
  std::array<Class, 256> table{};
  for (std::size_t c = 'a'; c <= 'z'; ++c) table[c] = kLower;
  for (std::size_t c = 'A'; c <= 'Z'; ++c) table[c] = kUpper;
  for (std::size_t c = '0'; c <= '9'; ++c) table[c] = kDigit;
  table['_'] = kUnderscore;
  table['/'] = table['\\'] = kSlash;
  table['.'] = kDot;
  table[':'] = kColon;
  table['-'] = kDash;
  for (const char c : {'+', '@', '#', '~', '%', '$'}) table[static_cast<unsigned char>(c)] = kGlue;
  table[','] = kComma;
  table['`'] = kTick;
  // Letters of scripts that separate words by spaces are word bytes; leads of punctuation,
  // ideographs and symbols are looked at one by one.
  for (std::size_t c = 0x80; c <= 0xff; ++c) table[c] = kHigh;
  for (std::size_t c = 0xe2; c <= 0xe9; ++c) table[c] = kWide;
  table[0xc2] = table[0xef] = kWide;
  for (std::size_t c = 0xf0; c <= 0xff; ++c) table[c] = kWide;
  return table;
}
inline constexpr std::array<Class, 256> kClasses = make_classes();

inline Class class_of(char c) {
  return kClasses[static_cast<unsigned char>(c)];
}

/// Bytes of the code point at a kWide lead; never more than remain.
inline std::size_t wide_length(const char* at, const char* end) {
  const auto lead = static_cast<unsigned char>(*at);
  const std::size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf8 ? 4 : 1;
  const auto left = static_cast<std::size_t>(end - at);
  return length < left ? length : left;
}

/// An ideograph or a syllable of a script without spaces: a word of its own.
inline bool is_ideograph(const char* at, std::size_t length) {
  const auto lead = static_cast<unsigned char>(at[0]);
  if (length != 3 || lead < 0xe3 || lead > 0xe9) return false;
  return lead != 0xe3 || static_cast<unsigned char>(at[1]) != 0x80;  // U+3000: punctuation
}

constexpr std::uint64_t load(const char* at, std::size_t count) {
  std::uint64_t value = 0;
  if (!std::is_constant_evaluated()) {
    std::memcpy(&value, at, count);  // count is a constant where this is inlined
    return value;
  }
  for (std::size_t i = 0; i < count; ++i) {
    value |= static_cast<std::uint64_t>(static_cast<unsigned char>(at[i])) << (8 * i);
  }
  return value;
}

constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = (a ^ b) * 0x9e3779b97f4a7c15ULL;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  return x ^ (x >> 32);
}

}  // namespace scan

/// Equal for words that differ in the case of ASCII letters only. Never 0.
constexpr std::uint64_t word_hash(std::string_view word) {
  constexpr std::uint64_t kCase = 0x2020202020202020ULL;
  const char* at = word.data();
  std::size_t left = word.size();
  std::uint64_t hash = word.size() * 0xa0761d6478bd642fULL;
  for (; left >= 8; at += 8, left -= 8) hash = scan::mix(hash, scan::load(at, 8) | kCase);
  std::uint64_t tail = 0;
  if (left >= 4) {
    tail = scan::load(at, 4) | scan::load(at + left - 4, 4) << 32;
  } else if (left >= 2) {
    tail = scan::load(at, 2) | scan::load(at + left - 2, 2) << 16;
  } else if (left == 1) {
    tail = scan::load(at, 1);
  }
  return scan::mix(hash, tail | kCase) | 1;
}

/// Exact bytes.
constexpr std::uint64_t text_hash(std::string_view text) {
  const char* at = text.data();
  std::size_t left = text.size();
  std::uint64_t hash = text.size() * 0xe7037ed1a0b428dbULL;
  for (; left >= 8; at += 8, left -= 8) hash = scan::mix(hash, scan::load(at, 8));
  std::uint64_t tail = 0;
  for (std::size_t i = 0; i < left; ++i) {
    tail |= static_cast<std::uint64_t>(static_cast<unsigned char>(at[i])) << (8 * i);
  }
  return scan::mix(hash, tail) | 1;
}

/// A piece of text between delimiters, not trimmed.
struct Chunk {
  std::string_view text;
  scan::Class mask = 0;         // of all its bytes
  std::uint32_t joins = 0;      // number of bytes that are not of a word
  bool in_code = false;         // between backticks
  const char* limit = nullptr;  // end of the whole text: what follows may be looked at
};

struct Word {
  std::string_view text;
  scan::Class mask = 0;
  scan::Class tail_mask = 0;  // of all bytes but the first
};

namespace scan {

/// "250,000": a comma between a digit and exactly three more.
inline bool is_thousands(const char* comma, const char* begin, const char* end) {
  const auto digit = [&](std::ptrdiff_t i) {
    return comma + i < end && (class_of(comma[i]) & kDigit) != 0;
  };
  return comma > begin && digit(-1) && digit(1) && digit(2) && digit(3) && !digit(4);
}

/// '?', '=' and '&' inside an address.
inline bool is_query(const char* at, const char* end, Class mask) {
  return (mask & kSlash) != 0 && (mask & kColon) != 0 && (*at == '?' || *at == '=' || *at == '&') &&
         at + 1 < end && (class_of(at[1]) & kWord) != 0;
}

}  // namespace scan

/// Calls sink.word(Word), sink.chunk(Chunk) at each chunk's end, and sink.stop(char) at every
/// delimiter byte (wide punctuation: its lead). Chunks come after their words.
template <class Sink>
void scan_text(std::string_view text, Sink& sink) {
  using namespace scan;
  const char* const begin = text.data();
  const char* const end = begin + text.size();
  const char* at = begin;
  bool in_code = false;
  while (at < end) {
    Class c = class_of(*at);
    if ((c & (kWord | kJoin)) == 0) {
      if (c == kWide) {
        const std::size_t length = wide_length(at, end);
        if (is_ideograph(at, length)) {
          sink.word(Word{{at, length}, kHigh, 0});
        } else {
          sink.stop(*at);
        }
        at += length;
        continue;
      }
      if (c == kTick) in_code = !in_code;
      sink.stop(*at++);
      continue;
    }
    const char* const chunk = at;
    Class mask = 0;
    std::uint32_t joins = 0;
    for (; at < end; c = at < end ? class_of(*at) : Class{0}) {
      if ((c & kWord) != 0) {
        const char* const word = at;
        const Class first = c;
        Class tail = 0;
        for (++at; at < end && ((c = class_of(*at)) & kWord) != 0; ++at) tail |= c;
        mask |= first | tail;
        sink.word(Word{
            {word, static_cast<std::size_t>(at - word)}, static_cast<Class>(first | tail), tail});
      } else if ((c & kJoin) != 0 || (c == kComma && is_thousands(at, begin, end))) {
        mask |= c;
        ++joins;
        ++at;
      } else if (is_query(at, end, mask)) {
        ++joins;
        ++at;
      } else {
        break;
      }
    }
    sink.chunk(Chunk{{chunk, static_cast<std::size_t>(at - chunk)}, mask, joins, in_code, end});
  }
}

}  // namespace daybook::engine
