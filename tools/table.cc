#include "tools/table.h"

#include <algorithm>
#include <ostream>

#include "schema/result.h"
#include "tools/format.h"

namespace daybook::tools {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kLeastFlexible = 8;

}  // namespace

void Table::add(const std::vector<std::string>& cells) {
  DAYBOOK_CHECK(cells.size() == rows_.front().size());
  auto& row = rows_.emplace_back();
  for (const std::string& cell : cells) row.push_back(one_line(cell));
}

void Table::print_part(std::ostream& out, const std::vector<std::size_t>& widths,
                       const std::vector<std::size_t>& part, bool colour) const {
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    std::string line;
    for (const std::size_t i : part) {
      const std::string cell = fit(rows_[r][i], widths[i]);
      line += cell;
      line.append(widths[i] - display_width(cell) + kGap, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << (r == 0 && colour ? "\x1b[1m" : "") << line << (r == 0 && colour ? "\x1b[0m" : "")
        << '\n';
  }
}

void Table::print(std::ostream& out, std::size_t columns, bool colour) const {
  std::vector<std::size_t> widths(rows_.front().size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], display_width(row[i]));
    }
  }
  std::size_t total = kGap * (widths.size() - 1);
  for (const std::size_t width : widths) total += width;
  if (flexible_ && columns > 0 && total > columns) {
    std::size_t& width = widths[*flexible_];
    const std::size_t excess = total - columns;
    // In parts there is room for more of it.
    const std::size_t least = std::min(width, kLeastFlexible);
    const bool in_parts = width < excess + least;
    width = in_parts ? std::min(width, std::max(least, columns / 2)) : width - excess;
  }
  std::vector<std::size_t> part = {0};
  std::size_t used = widths.front();
  for (std::size_t i = 1; i < widths.size(); ++i) {
    if (columns > 0 && part.size() > 1 && used + kGap + widths[i] > columns) {
      print_part(out, widths, part, colour);
      part = {0};
      used = widths.front();
    }
    part.push_back(i);
    used += kGap + widths[i];
  }
  print_part(out, widths, part, colour);
}

}  // namespace daybook::tools
