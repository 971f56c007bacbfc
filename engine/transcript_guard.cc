#include "engine/transcript_guard.h"

#include <algorithm>
#include <array>

namespace daybook::engine {
namespace {

/// Beginnings of the labels and notes that render_span writes on lines of their own.
constexpr std::array<std::string_view, 7> kLabels = {
    "[user]",   "[assistant]",         "[call of ", "[result of ", "[summary of what came before]",
    "[notice]", "[pieces from the mid"};

bool reads_as_label(std::string_view line) {
  line.remove_prefix(std::min(line.find_first_not_of('\\'), line.size()));
  return std::any_of(kLabels.begin(), kLabels.end(),
                     [&](std::string_view label) { return line.starts_with(label); });
}

}  // namespace

std::string guarded(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t newline = text.find_first_of("\n\r", at);
    const std::size_t end = newline == std::string_view::npos ? text.size() : newline + 1;
    const std::string_view line = text.substr(at, end - at);
    if (reads_as_label(line)) safe += '\\';
    safe += line;
    at = end;
  }
  return safe;
}

std::vector<PastItem> guarded(std::vector<PastItem> items) {
  for (PastItem& item : items) {
    if (item.text.find('[') != std::string::npos) item.text = guarded(item.text);
  }
  return items;
}

}  // namespace daybook::engine
