// A cost report as a table, as JSON lines and as CSV.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "replay/cost_report.h"

namespace daybook::tools {

struct CostPrinting {
  std::vector<replay::GroupBy> by;
  std::string zone;
  std::string prices_at;     // "": prices of each call's time
  std::uint64_t copies = 0;  // calls that were found again elsewhere and count once
  std::size_t columns = 0;   // of the terminal; 0: no limit
  bool colour = false;
};

void print_cost_table(std::ostream& out, const replay::CostReport& report,
                      const CostPrinting& printing);
void print_cost_json(std::ostream& out, const replay::CostReport& report,
                     const CostPrinting& printing);
/// RFC 4180, without a total.
void print_cost_csv(std::ostream& out, const replay::CostReport& report,
                    const CostPrinting& printing);

/// "1,234,567".
std::string grouped(std::uint64_t number);

}  // namespace daybook::tools
