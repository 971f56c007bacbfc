#include "tools/log_scan.h"

#include <algorithm>
#include <cstring>

#include "schema/result.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

namespace daybook::tools {

MarkerScan::MarkerScan(std::span<const std::string_view> markers) {
  std::size_t letters = 0;
  for (const std::string_view text : markers) {
    constexpr std::size_t kLeastBytes = 6;
    DAYBOOK_CHECK(text.size() >= kLeastBytes && text[0] == '"');
    Marker marker{text, 0, 0};
    const std::size_t first = std::min(text.size(), sizeof marker.first8);
    std::memcpy(&marker.first8, text.data(), first);
    std::memset(&marker.mask, 0xff, first);
    markers_.push_back(marker);
    if (std::ranges::find(seconds_, text[1]) != seconds_.end()) continue;
    DAYBOOK_CHECK(letters < seconds_.size());
    seconds_[letters++] = text[1];
  }
  DAYBOOK_CHECK(letters > 0);
  for (; letters < seconds_.size(); ++letters) seconds_[letters] = seconds_[0];
}

/// Whether a marker is at `at`, behind which there are at least 8 bytes.
bool MarkerScan::matches(std::string_view text, std::size_t at) const {
  // An escaped quote is inside of a string.
  if (at > 0 && text[at - 1] == '\\') return false;
  std::uint64_t first8 = 0;
  std::memcpy(&first8, text.data() + at, sizeof first8);
  return std::ranges::any_of(markers_, [&](const Marker& marker) {
    return marker.first8 == (first8 & marker.mask) && text.substr(at).starts_with(marker.text);
  });
}

std::size_t MarkerScan::find_slowly(std::string_view text, std::size_t from) const {
  std::size_t first = std::string_view::npos;
  for (const Marker& marker : markers_) first = std::min(first, text.find(marker.text, from));
  return first;
}

#ifdef __SSE2__

namespace {

/// Of the 32 bytes at `at`, one bit each: a quote that one of the letters follows.
inline std::uint32_t starts(const char* at, const std::array<char, 3>& letters) {
  const __m128i quote = _mm_set1_epi8('"');
  std::uint32_t made = 0;
  for (int shift = 0; shift < 32; shift += 16) {
    const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + shift));
    const __m128i second = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + shift + 1));
    __m128i letter = _mm_cmpeq_epi8(second, _mm_set1_epi8(letters[0]));
    letter = _mm_or_si128(letter, _mm_cmpeq_epi8(second, _mm_set1_epi8(letters[1])));
    letter = _mm_or_si128(letter, _mm_cmpeq_epi8(second, _mm_set1_epi8(letters[2])));
    const __m128i both = _mm_and_si128(_mm_cmpeq_epi8(first, quote), letter);
    made |= static_cast<std::uint32_t>(_mm_movemask_epi8(both)) << shift;
  }
  return made;
}

/// The same with instructions that not every processor has.
[[gnu::target("avx2")]] inline std::uint32_t wide_starts(const char* at,
                                                         const std::array<char, 3>& letters) {
  const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at));
  const __m256i second = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + 1));
  __m256i letter = _mm256_cmpeq_epi8(second, _mm256_set1_epi8(letters[0]));
  letter = _mm256_or_si256(letter, _mm256_cmpeq_epi8(second, _mm256_set1_epi8(letters[1])));
  letter = _mm256_or_si256(letter, _mm256_cmpeq_epi8(second, _mm256_set1_epi8(letters[2])));
  const __m256i quotes = _mm256_cmpeq_epi8(first, _mm256_set1_epi8('"'));
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_and_si256(quotes, letter)));
}

constexpr std::size_t kStep = 32;
constexpr std::size_t kBehind = 16;  // bytes that must follow a step
const bool kWide = __builtin_cpu_supports("avx2");

/// The first step at or behind `at` in which there may be a marker; there, its bits. 0: none.
std::uint32_t next_starts(std::string_view text, std::size_t& at,
                          const std::array<char, 3>& letters) {
  for (; at + kStep + kBehind <= text.size(); at += kStep) {
    if (const std::uint32_t mask = starts(text.data() + at, letters); mask != 0) return mask;
  }
  return 0;
}

[[gnu::target("avx2")]] std::uint32_t next_wide_starts(std::string_view text, std::size_t& at,
                                                       const std::array<char, 3>& letters) {
  for (; at + kStep + kBehind <= text.size(); at += kStep) {
    if (const std::uint32_t mask = wide_starts(text.data() + at, letters); mask != 0) return mask;
  }
  return 0;
}

}  // namespace

std::size_t MarkerScan::find(std::string_view text) const {
  std::size_t at = 0;
  while (true) {
    std::uint32_t mask =
        kWide ? next_wide_starts(text, at, seconds_) : next_starts(text, at, seconds_);
    if (mask == 0) return find_slowly(text, at);
    for (; mask != 0; mask &= mask - 1) {
      const std::size_t place = at + static_cast<std::size_t>(__builtin_ctz(mask));
      if (matches(text, place)) return place;
    }
    at += kStep;
  }
}

#else

std::size_t MarkerScan::find(std::string_view text) const {
  return find_slowly(text, 0);
}

#endif

}  // namespace daybook::tools
