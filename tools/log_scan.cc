#include "tools/log_scan.h"

#include <algorithm>
#include <cstring>

#include "schema/result.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace daybook::tools {

MarkerScan::MarkerScan(std::span<const std::string_view> markers) {
  std::size_t letters = 0;
  for (const std::string_view text : markers) {
    DAYBOOK_CHECK(text.size() >= sizeof(std::uint64_t) && text[0] == '"');
    Marker marker{text, 0};
    std::memcpy(&marker.first8, text.data(), sizeof marker.first8);
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
  std::uint64_t first8 = 0;
  std::memcpy(&first8, text.data() + at, sizeof first8);
  return std::ranges::any_of(markers_, [&](const Marker& marker) {
    return marker.first8 == first8 && text.substr(at).starts_with(marker.text);
  });
}

std::size_t MarkerScan::find_slowly(std::string_view text, std::size_t from) const {
  std::size_t first = std::string_view::npos;
  for (const Marker& marker : markers_) first = std::min(first, text.find(marker.text, from));
  return first;
}

#ifdef __SSE2__

std::size_t MarkerScan::find(std::string_view text) const {
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i a = _mm_set1_epi8(seconds_[0]);
  const __m128i b = _mm_set1_epi8(seconds_[1]);
  const __m128i c = _mm_set1_epi8(seconds_[2]);
  // Positions of a quote that one of the second letters follows.
  const auto starts = [&](const char* at) {
    const __m128i first = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const __m128i second = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 1));
    const __m128i letter =
        _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(second, a), _mm_cmpeq_epi8(second, b)),
                     _mm_cmpeq_epi8(second, c));
    return static_cast<unsigned>(
        _mm_movemask_epi8(_mm_and_si128(_mm_cmpeq_epi8(first, quote), letter)));
  };
  constexpr std::size_t kStep = 32;
  std::size_t at = 0;
  for (; at + kStep + 16 <= text.size(); at += kStep) {
    unsigned mask = starts(text.data() + at) | (starts(text.data() + at + 16) << 16);
    while (mask != 0) {
      const std::size_t place = at + static_cast<std::size_t>(__builtin_ctz(mask));
      if (matches(text, place)) return place;
      mask &= mask - 1;
    }
  }
  return find_slowly(text, at);
}

#else

std::size_t MarkerScan::find(std::string_view text) const {
  return find_slowly(text, 0);
}

#endif

}  // namespace daybook::tools
