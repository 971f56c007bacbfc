#include "tools/log_scan.h"

#include <algorithm>
#include <array>

#include "schema/result.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace daybook::tools {

bool MarkerScan::matches(std::string_view text, std::size_t at) const {
  return std::ranges::any_of(
      markers_, [&](const Marker& marker) { return text.substr(at).starts_with(marker.text); });
}

std::size_t MarkerScan::find_slowly(std::string_view text, std::size_t from) const {
  std::size_t first = std::string_view::npos;
  for (const Marker& marker : markers_) first = std::min(first, text.find(marker.text, from));
  return first;
}

#ifdef __SSE2__

namespace {

/// Starts in the 16 bytes at `at` where the probes of one marker agree.
struct Probe {
  __m128i a;
  __m128i b;
  std::size_t offset_a;
  std::size_t offset_b;
};

template <std::size_t kCount>
int candidates(const char* at, const std::array<Probe, 8>& probes) {
  __m128i any = _mm_setzero_si128();
  for (std::size_t i = 0; i < kCount; ++i) {
    const Probe& probe = probes[i];
    const __m128i a = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + probe.offset_a));
    const __m128i b = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + probe.offset_b));
    any = _mm_or_si128(any, _mm_and_si128(_mm_cmpeq_epi8(a, probe.a), _mm_cmpeq_epi8(b, probe.b)));
  }
  return _mm_movemask_epi8(any);
}

/// Where a marker starts; or where the search stopped, short of the end of the text.
struct Scanned {
  std::size_t at;
  bool found;
};

template <std::size_t kCount, class Matches>
Scanned scan(std::string_view text, const std::array<Probe, 8>& probes, const Matches& matches) {
  std::size_t at = 0;
  // 16 starts a step, each looking up to 32 bytes ahead.
  for (; at + 48 <= text.size(); at += 16) {
    int mask = candidates<kCount>(text.data() + at, probes);
    while (mask != 0) {
      const auto bit = static_cast<std::size_t>(__builtin_ctz(static_cast<unsigned>(mask)));
      if (matches(at + bit)) return {at + bit, true};
      mask &= mask - 1;
    }
  }
  return {at, false};
}

}  // namespace

std::size_t MarkerScan::find(std::string_view text) const {
  DAYBOOK_CHECK(!markers_.empty() && markers_.size() <= 8);
  std::array<Probe, 8> probes{};
  for (std::size_t i = 0; i < markers_.size(); ++i) {
    const Marker& marker = markers_[i];
    probes[i] = {_mm_set1_epi8(marker.text[marker.probe_a]),
                 _mm_set1_epi8(marker.text[marker.probe_b]), marker.probe_a, marker.probe_b};
  }
  const auto check = [&](std::size_t at) { return matches(text, at); };
  const Scanned result = [&]() -> Scanned {
    switch (markers_.size()) {
      case 1:
        return scan<1>(text, probes, check);
      case 2:
        return scan<2>(text, probes, check);
      case 3:
        return scan<3>(text, probes, check);
      case 4:
        return scan<4>(text, probes, check);
      case 5:
        return scan<5>(text, probes, check);
      case 6:
        return scan<6>(text, probes, check);
      case 7:
        return scan<7>(text, probes, check);
      default:
        return scan<8>(text, probes, check);
    }
  }();
  return result.found ? result.at : find_slowly(text, result.at);
}

#else

std::size_t MarkerScan::find(std::string_view text) const {
  return find_slowly(text, 0);
}

#endif

}  // namespace daybook::tools
