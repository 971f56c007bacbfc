// Finding lines worth parsing: a few marker strings are looked for at the speed of memory. Markers
// are JSON keys or values with their quotes, so neither spacing nor the order of members matters,
// and quoted text that talks about them (escaped quotes) does not match.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace daybook::tools {

class MarkerScan {
 public:
  /// One marker; two of its bytes that are rare side by side are compared first.
  struct Marker {
    std::string_view text;  // 2 to 32 bytes, static
    unsigned probe_a = 0;   // positions in text
    unsigned probe_b = 0;
  };

  /// `markers` must be static; at most 8.
  explicit MarkerScan(std::span<const Marker> markers) : markers_(markers) {}

  /// Position of the first marker in `text`, or npos.
  std::size_t find(std::string_view text) const;

 private:
  std::size_t find_slowly(std::string_view text, std::size_t from) const;
  bool matches(std::string_view text, std::size_t at) const;

  std::span<const Marker> markers_;
};

}  // namespace daybook::tools
