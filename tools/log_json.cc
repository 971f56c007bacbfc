#include "tools/log_json.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "schema/utf8.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace daybook::tools {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Position of the next quote, backslash or control character at or after `at`; or the end.
std::size_t string_stop(std::string_view text, std::size_t at) {
#ifdef __SSE2__
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i escape = _mm_set1_epi8('\\');
  const __m128i last_control = _mm_set1_epi8(0x1f);
  while (at + 16 <= text.size()) {
    const __m128i block = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + at));
    const __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(block, last_control), block);
    const __m128i hit = _mm_or_si128(
        control, _mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, escape)));
    if (const int mask = _mm_movemask_epi8(hit); mask != 0) {
      return at + static_cast<std::size_t>(__builtin_ctz(static_cast<unsigned>(mask)));
    }
    at += 16;
  }
#endif
  while (at < text.size() && text[at] != '"' && text[at] != '\\' &&
         static_cast<unsigned char>(text[at]) > 0x1f) {
    ++at;
  }
  return at;
}

#ifdef __SSE2__

/// Of the 64 bytes at a place, one bit each.
struct Block {
  std::uint64_t quotes = 0;
  std::uint64_t escapes = 0;  // backslashes
  std::uint64_t controls = 0;
};

inline Block block_at(const char* at) {
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i escape = _mm_set1_epi8('\\');
  const __m128i last_control = _mm_set1_epi8(0x1f);
  Block made;
  for (int shift = 0; shift < 64; shift += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + shift));
    const auto bits = [shift](__m128i hits) {
      return std::uint64_t{static_cast<std::uint32_t>(_mm_movemask_epi8(hits))} << shift;
    };
    made.quotes |= bits(_mm_cmpeq_epi8(bytes, quote));
    made.escapes |= bits(_mm_cmpeq_epi8(bytes, escape));
    made.controls |= bits(_mm_cmpeq_epi8(_mm_min_epu8(bytes, last_control), bytes));
  }
  return made;
}

/// The same with instructions that not every processor has.
[[gnu::target("avx2")]] inline Block wide_block_at(const char* at) {
  const __m256i quote = _mm256_set1_epi8('"');
  const __m256i escape = _mm256_set1_epi8('\\');
  const __m256i last_control = _mm256_set1_epi8(0x1f);
  const __m256i low = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  const __m256i high = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + 32));
  const std::uint64_t quotes =
      static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, quote)));
  const std::uint64_t escapes =
      static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(low, escape)));
  const std::uint64_t controls = static_cast<std::uint32_t>(
      _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(low, last_control), low)));
  const std::uint64_t more_quotes =
      static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, quote)));
  const std::uint64_t more_escapes =
      static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(high, escape)));
  const std::uint64_t more_controls = static_cast<std::uint32_t>(
      _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(high, last_control), high)));
  return {quotes | (more_quotes << 32), escapes | (more_escapes << 32),
          controls | (more_controls << 32)};
}

/// Bytes behind a backslash that escapes them. `carried`: the first byte is one, from the block
/// before; then whether the next block's first byte is. In a run of backslashes every second one is
/// escaped, counted from its start: adding the starts at odd places carries through their runs.
inline std::uint64_t escaped_bytes(std::uint64_t escapes, bool& carried) {
  const std::uint64_t before = carried ? 1 : 0;
  escapes &= ~before;
  const std::uint64_t follows = escapes << 1 | before;
  constexpr std::uint64_t kEven = 0x5555'5555'5555'5555;
  const std::uint64_t odd_starts = escapes & ~kEven & ~follows;
  std::uint64_t through = 0;
  carried = __builtin_add_overflow(odd_starts, escapes, &through);
  return (kEven ^ through << 1) & follows;
}

/// Moves `at`, inside a string, to the quote that ends it or to a control character: true. False:
/// to the last bytes, which do not fill a block.
using SkipBlocks = bool (*)(std::string_view text, std::size_t& at);

bool skip_blocks(std::string_view text, std::size_t& at) {
  bool carried = false;
  for (; at + 64 <= text.size(); at += 64) {
    const Block block = block_at(text.data() + at);
    const std::uint64_t escaped = escaped_bytes(block.escapes, carried);
    const std::uint64_t stops = (block.quotes & ~escaped) | block.controls;
    if (stops == 0) continue;
    at += static_cast<std::size_t>(__builtin_ctzll(stops));
    return true;
  }
  return false;
}

[[gnu::target("avx2")]] bool skip_wide_blocks(std::string_view text, std::size_t& at) {
  bool carried = false;
  for (; at + 64 <= text.size(); at += 64) {
    const Block block = wide_block_at(text.data() + at);
    const std::uint64_t escaped = escaped_bytes(block.escapes, carried);
    const std::uint64_t stops = (block.quotes & ~escaped) | block.controls;
    if (stops == 0) continue;
    at += static_cast<std::size_t>(__builtin_ctzll(stops));
    return true;
  }
  return false;
}

const SkipBlocks kSkipBlocks = __builtin_cpu_supports("avx2") ? skip_wide_blocks : skip_blocks;

/// Of the 16 bytes at a place, one bit each: those at which a string may end.
inline unsigned stops_at(const char* at) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
  const __m128i quotes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"'));
  const __m128i escapes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
  const __m128i controls = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
  return static_cast<unsigned>(
      _mm_movemask_epi8(_mm_or_si128(quotes, _mm_or_si128(escapes, controls))));
}

/// The end of a string within its first 32 bytes, as keys and most values have it; npos: not
/// there, or not to be told so simply.
inline std::size_t short_string_end(std::string_view text, std::size_t at) {
  if (at + 32 > text.size()) return std::string_view::npos;
  const unsigned stops = stops_at(text.data() + at) | stops_at(text.data() + at + 16) << 16;
  if (stops == 0) return std::string_view::npos;
  const std::size_t end = at + static_cast<std::size_t>(__builtin_ctz(stops));
  return text[end] == '"' ? end : std::string_view::npos;
}

#endif

/// Where checking has got to: behind what was checked, or, when not `good`, at what is wrong. By
/// value, so that it stays in registers.
struct Step {
  std::size_t at = 0;
  bool good = true;
};

/// A string that is not short, from behind its opening quote on. Escapes are not looked into: only
/// whether a quote is escaped matters, and the backslashes before it tell.
[[gnu::noinline]] Step check_long_string(std::string_view text, std::size_t at) {
  const std::size_t start = at;
#ifdef __SSE2__
  if (kSkipBlocks(text, at)) return text[at] == '"' ? Step{at + 1} : Step{at, false};
#endif
  while (true) {
    while (at < text.size() && text[at] != '"' && static_cast<unsigned char>(text[at]) > 0x1f) {
      ++at;
    }
    if (at >= text.size() || text[at] != '"') return {at, false};
    std::size_t before = at;
    while (before > start && text[before - 1] == '\\') --before;
    const bool escaped = ((at - before) & 1) != 0;
    ++at;
    if (!escaped) return {at};
  }
}

/// The string that starts at `at`.
inline Step check_string(std::string_view text, std::size_t at) {
  ++at;
#ifdef __SSE2__
  if (const std::size_t end = short_string_end(text, at); end != std::string_view::npos) {
    return {end + 1};
  }
#endif
  return check_long_string(text, at);
}

inline Step check_digits(std::string_view text, std::size_t at) {
  const std::size_t start = at;
  while (at < text.size() && is_digit(text[at])) ++at;
  return {at, at > start};
}

inline Step check_number(std::string_view text, std::size_t at) {
  if (at < text.size() && text[at] == '-') ++at;
  Step step = check_digits(text, at);
  if (!step.good) return step;
  if (step.at < text.size() && text[step.at] == '.') {
    step = check_digits(text, step.at + 1);
    if (!step.good) return step;
  }
  if (step.at < text.size() && (text[step.at] == 'e' || text[step.at] == 'E')) {
    at = step.at + 1;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    return check_digits(text, at);
  }
  return step;
}

inline Step check_word(std::string_view text, std::size_t at, std::string_view word) {
  if (!text.substr(at).starts_with(word)) return {at, false};
  return {at + word.size()};
}

inline Step check_scalar(std::string_view text, std::size_t at) {
  if (at >= text.size()) return {at, false};
  switch (text[at]) {
    case '"':
      return check_string(text, at);
    case 't':
      return check_word(text, at, "true");
    case 'f':
      return check_word(text, at, "false");
    case 'n':
      return check_word(text, at, "null");
    default:
      return check_number(text, at);
  }
}

inline std::size_t behind_space(std::string_view text, std::size_t at) {
  while (at < text.size() && is_space(text[at])) ++at;
  return at;
}

/// To the value behind the key there.
inline Step check_key(std::string_view text, std::size_t at, std::string_view& key) {
  if (at >= text.size() || text[at] != '"') return {at, false};
  const Step step = check_string(text, at);
  if (!step.good) return step;
  key = text.substr(at + 1, step.at - at - 2);
  at = behind_space(text, step.at);
  if (at >= text.size() || text[at] != ':') return {at, false};
  return {behind_space(text, at + 1)};
}

}  // namespace

/// Notes values as they begin and end.
class JsonTapeWriter {
 public:
  JsonTapeWriter(JsonTape* tape, std::string_view text) : tape_(tape), text_(text) {
    if (tape_ != nullptr) tape_->entries_.clear();
  }
  void begin(std::size_t depth, std::string_view key, std::size_t at) {
    if (tape_ == nullptr || depth > JsonTape::kDepth) return;
    open_[depth] = tape_->entries_.size();
    tape_->entries_.push_back({key, text_.substr(at), 0, depth < JsonTape::kDepth});
  }
  void end(std::size_t depth, std::size_t at) {
    if (tape_ == nullptr || depth > JsonTape::kDepth) return;
    auto& entry = tape_->entries_[open_[depth]];
    const auto from = static_cast<std::size_t>(entry.value.data() - text_.data());
    entry.value = text_.substr(from, at - from);
    entry.next = tape_->entries_.size();
  }

 private:
  JsonTape* tape_;
  std::string_view text_;
  std::array<std::size_t, JsonTape::kDepth + 1> open_{};
};

namespace {

/// The value at `at`. Containers are kept on a stack of their own, so that no input can exhaust the
/// thread's.
Step check_value(std::string_view text, std::size_t at, JsonTape* tape = nullptr) {
  std::array<char, kMostJsonNesting> open;
  std::size_t depth = 0;
  std::string_view key;
  JsonTapeWriter writer(tape, text);
  const auto member = [&] {
    const Step step = check_key(text, at, key);
    at = step.at;
    return step.good;
  };
  while (true) {
    writer.begin(depth, key, at);
    if (at < text.size() && (text[at] == '{' || text[at] == '[')) {
      if (depth == open.size()) return {at, false};
      const char end = text[at] == '{' ? '}' : ']';
      at = behind_space(text, at + 1);
      if (at >= text.size()) return {at, false};
      if (text[at] != end) {
        open[depth++] = end;
        key = {};
        if (end == '}' && !member()) return {at, false};
        continue;
      }
      ++at;
    } else {
      const Step step = check_scalar(text, at);
      at = step.at;
      if (!step.good) return step;
    }
    // A value is complete: close what it closes, or go to the next one.
    while (true) {
      writer.end(depth, at);
      if (depth == 0) return {at};
      at = behind_space(text, at);
      if (at >= text.size()) return {at, false};
      if (text[at] != open[depth - 1]) break;
      --depth;
      ++at;
    }
    if (text[at] != ',') return {at, false};
    at = behind_space(text, at + 1);
    key = {};
    if (open[depth - 1] == '}' && !member()) return {at, false};
  }
}

void append_code_point(std::string& out, std::uint32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xc0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xe0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  } else {
    out += static_cast<char>(0xf0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3f));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
    out += static_cast<char>(0x80 | (code & 0x3f));
  }
}

constexpr std::uint32_t kReplacement = 0xfffd;

std::optional<std::uint32_t> hex4(std::string_view text, std::size_t at) {
  if (at + 4 > text.size()) return {};
  std::uint32_t code = 0;
  const auto [end, error] = std::from_chars(text.data() + at, text.data() + at + 4, code, 16);
  if (error != std::errc{} || end != text.data() + at + 4) return {};
  return code;
}

bool is_high(std::uint32_t code) {
  return code >= 0xd800 && code < 0xdc00;
}
bool is_low(std::uint32_t code) {
  return code >= 0xdc00 && code < 0xe000;
}

/// What a \u escape at `at` (of its backslash) stands for, and how many bytes it takes.
struct Escaped {
  std::uint32_t code = kReplacement;
  std::size_t size = 2;
};

Escaped unicode_escape(std::string_view text, std::size_t at) {
  const auto first = hex4(text, at + 2);
  if (!first) return {};
  if (is_low(*first)) return {kReplacement, 6};
  if (!is_high(*first)) return {*first, 6};
  if (text.substr(at + 6).starts_with("\\u")) {
    if (const auto second = hex4(text, at + 8); second && is_low(*second)) {
      return {0x10000 + ((*first - 0xd800) << 10) + (*second - 0xdc00), 12};
    }
  }
  return {kReplacement, 6};
}

bool is_ascii(std::string_view text) {
  std::size_t at = 0;
  std::uint64_t all = 0;
  for (; at + sizeof all <= text.size(); at += sizeof all) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, text.data() + at, sizeof bytes);
    all |= bytes;
  }
  for (; at < text.size(); ++at) all |= static_cast<unsigned char>(text[at]);
  return (all & 0x8080'8080'8080'8080) == 0;
}

char plain_escape(char c) {
  switch (c) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return c;
  }
}

}  // namespace

namespace log_json {

std::size_t skip_space(std::string_view text, std::size_t at) {
  return behind_space(text, at);
}

std::size_t skip_string(std::string_view text, std::size_t at) {
  return check_string(text, at).at;
}

std::size_t skip_value(std::string_view text, std::size_t at) {
  if (text[at] != '{' && text[at] != '[') return check_scalar(text, at).at;
  // Brackets are known to match: only strings can hide them.
  std::size_t depth = 0;
  while (true) {
    const char c = text[at];
    if (c == '"') {
      at = check_string(text, at).at;
      continue;
    }
    ++at;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return at;
  }
}

}  // namespace log_json

bool nests_too_deep(std::string_view text) {
  std::size_t depth = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '"') {
      const Step step = check_string(text, at);
      if (!step.good) return false;
      at = step.at;
      continue;
    }
    if (text[at] == '{' || text[at] == '[') {
      if (++depth > kMostJsonNesting) return true;
    } else if (text[at] == '}' || text[at] == ']') {
      if (depth-- == 0) return false;
    }
    ++at;
  }
  return false;
}

JsonSpan::Start JsonSpan::start_of(std::string_view text, JsonTape* tape) {
  const auto [at, good] = check_value(text, 0, tape);
  if (!good) return {JsonSpan(), at};
  return {tape == nullptr ? JsonSpan(text.substr(0, at)) : JsonSpan(*tape, 0), at};
}

std::optional<JsonSpan> JsonSpan::whole(std::string_view text, JsonTape* tape) {
  const std::size_t start = log_json::skip_space(text, 0);
  const auto [end, good] = check_value(text, start, tape);
  if (!good || behind_space(text, end) != text.size()) return {};
  return tape == nullptr ? JsonSpan(text.substr(start, end - start)) : JsonSpan(*tape, 0);
}

bool JsonSpan::is_number() const {
  return !text_.empty() && (text_[0] == '-' || is_digit(text_[0]));
}

JsonSpan JsonSpan::operator[](std::string_view key) const {
  JsonSpan found;
  members([&](std::string_view name, JsonSpan value) {
    if (is_key(name, key)) found = value;
  });
  return found;
}

std::string JsonSpan::text() const {
  if (!is_string()) return {};
  const std::string_view inner = written();
  // Most strings need no escapes.
  if (inner.find('\\') == std::string_view::npos && is_ascii(inner)) return std::string(inner);
  std::string out;
  out.reserve(inner.size());
  std::size_t at = 0;
  while (at < inner.size()) {
    const std::size_t stop = string_stop(inner, at);
    out.append(inner, at, stop - at);
    at = stop;
    if (at + 1 >= inner.size()) break;
    if (inner[at + 1] == 'u') {
      const Escaped escaped = unicode_escape(inner, at);
      append_code_point(out, escaped.code);
      at += escaped.size;
    } else {
      out += plain_escape(inner[at + 1]);
      at += 2;
    }
  }
  return is_ascii(out) || is_utf8(out) ? out : repair_utf8(out);
}

std::optional<std::int64_t> JsonSpan::integer() const {
  std::string_view digits = text_;
  if (is_string()) digits = digits.substr(1, digits.size() - 2);
  if (digits.empty() || !(is_digit(digits[0]) || digits[0] == '-')) return {};
  std::int64_t value = 0;
  const char* end = digits.data() + digits.size();
  if (const auto made = std::from_chars(digits.data(), end, value);
      made.ec == std::errc{} && made.ptr == end) {
    return value;
  }
  double number = 0;
  const auto made = std::from_chars(digits.data(), end, number);
  if (made.ec != std::errc{} || made.ptr != end) return {};
  if (std::floor(number) != number || std::fabs(number) > 9e15) return {};
  return static_cast<std::int64_t>(number);
}

std::optional<std::uint64_t> JsonSpan::count() const {
  const auto value = integer();
  if (!value || *value < 0) return {};
  return static_cast<std::uint64_t>(*value);
}

}  // namespace daybook::tools
