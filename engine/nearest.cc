#include "engine/nearest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace daybook::engine {
namespace {

/// Names longer than this are not compared: the cost grows with the product of the lengths.
constexpr std::size_t kLongestName = 128;

/// Optimal string alignment distance.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before(b.size() + 1);
  std::vector<std::size_t> above(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = a[i - 1] == b[j - 1] ? 0 : 1;
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + change});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, above);
    std::swap(above, row);
  }
  return above[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> known) {
  std::string_view best;
  std::size_t best_distance = 0;
  if (word.empty() || word.size() > kLongestName) return {};
  for (const std::string& name : known) {
    if (name.empty() || name.size() > kLongestName) continue;
    const std::size_t edits = distance(word, name);
    const std::size_t allowed = std::max<std::size_t>(1, std::max(word.size(), name.size()) / 3);
    if (edits > allowed || edits >= std::min(word.size(), name.size())) continue;
    if (best.empty() || edits < best_distance) {
      best = name;
      best_distance = edits;
    }
  }
  return std::string(best);
}

std::string suggestion(std::string_view word, std::span<const std::string> known) {
  if (const std::string near = nearest(word, known); !near.empty()) {
    return fmt::format("; did you mean '{}'?", near);
  }
  return known.empty() ? std::string() : fmt::format("; known: {}", fmt::join(known, ", "));
}

}  // namespace daybook::engine
