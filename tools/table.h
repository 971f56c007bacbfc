// A table of text for people.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

namespace daybook::tools {

class Table {
 public:
  /// No column gives way: nothing is cut.
  explicit Table(std::vector<std::string> headings) : rows_{std::move(headings)} {}
  /// `flexible`: index of the column that gives way when the terminal is narrow.
  Table(std::vector<std::string> headings, std::size_t flexible)
      : rows_{std::move(headings)}, flexible_(flexible) {}

  /// Cells are made printable and one line each.
  void add(const std::vector<std::string>& cells);

  /// Fits `columns` cells (0: no limit): the flexible column gives way first. What is still too
  /// wide is printed in parts, one below the other, each with the first column and as many of the
  /// others as fit, one at least.
  void print(std::ostream& out, std::size_t columns, bool colour) const;

 private:
  void print_part(std::ostream& out, const std::vector<std::size_t>& widths,
                  const std::vector<std::size_t>& part, bool colour) const;

  std::vector<std::vector<std::string>> rows_;
  std::optional<std::size_t> flexible_;
};

}  // namespace daybook::tools
