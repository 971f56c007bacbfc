// Finding lines worth parsing: a few marker strings are looked for at the speed of memory. Markers
// are JSON keys or values with their quotes, so neither spacing nor the order of members matters,
// and quoted text that talks about them (escaped quotes) does not match.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace daybook::tools {

class MarkerScan {
 public:
  /// Markers begin with a quote, are at least 6 bytes long, static, and have at most three
  /// different second letters.
  explicit MarkerScan(std::span<const std::string_view> markers);

  /// Position of the first marker in `text`, or npos.
  std::size_t find(std::string_view text) const;

 private:
  struct Marker {
    std::string_view text;
    std::uint64_t first8 = 0;  // of a shorter one all of it, then zeros
    std::uint64_t mask = 0;    // the bytes of first8 that count
  };
  bool matches(std::string_view text, std::size_t at) const;
  std::size_t find_slowly(std::string_view text, std::size_t from) const;

  std::vector<Marker> markers_;
  std::array<char, 3> seconds_{};
};

}  // namespace daybook::tools
