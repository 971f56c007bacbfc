// A table of text for people.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace daybook::tools {

class Table {
 public:
  /// `flexible`: index of the column that gives way when the terminal is narrow.
  Table(std::vector<std::string> headings, std::size_t flexible)
      : rows_{std::move(headings)}, flexible_(flexible) {}

  /// Cells are made printable and one line each.
  void add(const std::vector<std::string>& cells);

  /// Fits `columns` cells as far as the flexible column can give way; 0: no limit.
  void print(std::ostream& out, std::size_t columns, bool colour) const;

 private:
  std::vector<std::vector<std::string>> rows_;
  std::size_t flexible_;
};

}  // namespace daybook::tools
