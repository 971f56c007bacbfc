#include "tools/log_figures.h"

#include <fmt/format.h>

namespace daybook::tools {

std::optional<std::uint64_t> Figures::count(std::string_view name, JsonSpan value) {
  if (!value || value.is_null()) return {};
  const auto count = value.count();
  if (count && *count <= most_) return count;
  if (wrong_.empty()) {
    constexpr std::size_t kMostShown = 40;
    const std::string_view shown = value.raw().substr(0, kMostShown);
    wrong_ =
        count ? fmt::format("{} is {}, above {}: its figures do not count", name, shown, most_)
              : fmt::format("{} is {}, which is no count: its figures do not count", name, shown);
  }
  return {};
}

}  // namespace daybook::tools
