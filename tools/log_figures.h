// Counts of tokens as logs give them, and which of them cannot be one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "tools/log_json.h"

namespace daybook::tools {

inline constexpr const char* kMoreCached = "more tokens said to be cached than there were";

/// What one response can use at the very most: a hundred times the largest windows there are.
inline constexpr std::uint64_t kMostTokens = 1'000'000'000;
/// The same for counters that add up over a whole thread.
inline constexpr std::uint64_t kMostTokensSummed = 1'000'000'000'000;

/// Reads the counts of one usage object. A figure that is null or not there is absent; one that is
/// negative, no whole number, or above the bound is wrong, and nothing beside it can be trusted.
class Figures {
 public:
  explicit Figures(std::uint64_t most = kMostTokens) : most_(most) {}

  /// The count; nothing when it is absent or wrong.
  std::optional<std::uint64_t> count(std::string_view name, JsonSpan value);

  /// "": nothing. Else what is wrong with the first: "output_tokens is -5, which is no count".
  const std::string& wrong() const { return wrong_; }

 private:
  std::uint64_t most_;
  std::string wrong_;
};

}  // namespace daybook::tools
