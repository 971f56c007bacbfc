#include "tools/cost_print.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "tools/counted.h"
#include "tools/format.h"
#include "tools/json_writer.h"
#include "tools/table.h"

namespace daybook::tools {
namespace {

using replay::CostReport;
using replay::CostRow;
using replay::CostSums;
using replay::GroupBy;
using replay::TokenClass;
using schema::Authority;

std::uint64_t calls_of(const CostSums& sums, Authority authority) {
  return sums.by_authority[static_cast<std::size_t>(authority)];
}

/// What the footer explains, behind the cost.
std::string marks(const CostSums& sums) {
  std::string out;
  const std::uint64_t missing = sums.without_input + sums.without_read + sums.without_write +
                                sums.without_output + sums.without_searches;
  if (calls_of(sums, Authority::lower_bound) + missing > 0) out += "≥";
  if (calls_of(sums, Authority::estimate) > 0) out += "~";
  if (calls_of(sums, Authority::derived) > 0) out += "*";
  if (sums.without_usage > 0) out += "?";
  return out;
}

/// 1,234,567 where there is room, 1.23M where there is not.
std::string shortened(std::uint64_t number) {
  struct Unit {
    double size;
    const char* name;
  };
  constexpr Unit kUnits[] = {{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}};
  for (const Unit& unit : kUnits) {
    const double value = static_cast<double>(number) / unit.size;
    if (value < 1 || number < 10'000) continue;
    const int decimals = value < 10 ? 2 : value < 100 ? 1 : 0;
    return fmt::format("{:.{}f}{}", value, decimals, unit.name);
  }
  return std::to_string(number);
}

using Lines = std::vector<std::vector<std::string>>;

std::string upper(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c;
  });
  return out;
}

/// Zero only where everything has a price and was reported.
std::string cost_text(const CostSums& sums) {
  if (sums.cost.high.is_zero() && sums.unpriced_calls > 0) return "unpriced";
  if (sums.calls > 0 && sums.without_usage == sums.calls) return "not known";
  return sums.cost.shown();
}

/// Which columns a report needs, and how numbers are written.
struct Layout {
  bool small = false;
  bool marked = false;
  bool unpriced = false;
};

std::vector<std::string> line_of(std::vector<std::string> keys, const CostSums& sums,
                                 const Layout& layout) {
  const auto count = [&](std::uint64_t n) { return layout.small ? shortened(n) : grouped(n); };
  // Nothing, where some of it was not told, is no zero.
  const auto told = [&](std::uint64_t n, std::uint64_t without) {
    const bool unknown = n == 0 && (without > 0 || sums.without_usage == sums.calls);
    return unknown && sums.calls > 0 ? std::string("?") : count(n);
  };
  std::vector<std::string> line = std::move(keys);
  line.push_back(count(sums.calls));
  line.push_back(told(sums.of(TokenClass::input), sums.without_input));
  line.push_back(told(sums.of(TokenClass::cache_read), sums.without_read));
  line.push_back(told(sums.written(), sums.without_write));
  line.push_back(told(sums.of(TokenClass::output), sums.without_output));
  line.push_back(cost_text(sums));
  if (layout.marked) line.push_back(marks(sums));
  if (layout.unpriced) line.push_back(sums.unpriced_tokens > 0 ? count(sums.unpriced_tokens) : "");
  return line;
}

/// Headings, rows, total.
Lines lines_of(const CostReport& report, const CostPrinting& printing, bool small) {
  const Layout layout = {small, !marks(report.total).empty(), report.total.unpriced_tokens > 0};
  Lines lines;
  auto& headings = lines.emplace_back();
  for (const GroupBy group : printing.by) headings.push_back(upper(name_of(group)));
  for (const char* name : {"CALLS", "INPUT", "READ", "WRITTEN", "OUTPUT", "COST"}) {
    headings.emplace_back(name);
  }
  if (layout.marked) headings.emplace_back();
  if (layout.unpriced) headings.emplace_back("UNPRICED");
  for (const CostRow& row : report.rows) {
    lines.push_back(line_of(row.keys, row.sums, layout));
  }
  std::vector<std::string> keys(printing.by.size());
  if (!keys.empty()) keys.front() = "total";
  lines.push_back(line_of(std::move(keys), report.total, layout));
  return lines;
}

/// Numbers stand right; all columns behind the keys are numbers but the marks.
void align(Lines& lines, std::size_t keys) {
  for (std::size_t column = keys; column < lines.front().size(); ++column) {
    if (lines.front()[column].empty()) continue;
    std::size_t width = 0;
    for (auto& line : lines) width = std::max(width, display_width(line[column]));
    for (auto& line : lines) line[column].insert(0, width - display_width(line[column]), ' ');
  }
}

std::size_t width_of(const Lines& lines) {
  std::size_t total = 0;
  for (std::size_t column = 0; column < lines.front().size(); ++column) {
    std::size_t width = 0;
    for (const auto& line : lines) width = std::max(width, display_width(one_line(line[column])));
    total += width + 2;
  }
  return total - 2;
}

/// Narrows the columns of the keys, the widest first, until the table fits or they say too little.
void narrow(Lines& lines, std::size_t keys, std::size_t columns) {
  constexpr std::size_t kLeast = 8;
  const std::size_t total = width_of(lines);
  std::vector<std::size_t> widths(keys);
  for (std::size_t column = 0; column < keys; ++column) {
    for (const auto& line : lines) {
      widths[column] = std::max(widths[column], display_width(one_line(line[column])));
    }
  }
  for (std::size_t excess = total - std::min(total, columns); excess > 0; --excess) {
    const auto widest = std::ranges::max_element(widths);
    if (widest == widths.end() || *widest <= kLeast) break;
    --*widest;
  }
  for (auto& line : lines) {
    for (std::size_t column = 0; column < keys; ++column) {
      line[column] = fit(one_line(line[column]), widths[column]);
    }
  }
}

std::string calls(std::uint64_t count) {
  return fmt::format("{} call{}", grouped(count), count == 1 ? "" : "s");
}

void print_notes(std::ostream& out, const CostReport& report, const CostPrinting& printing) {
  const CostSums& total = report.total;
  if (!total.cost.is_exact()) {
    out << "a cost of two figures: the log does not tell the class of some tokens; it is between "
           "them\n";
  }
  if (total.unfinished > 0) {
    out << fmt::format("≥ lower bound: the log lacks the final figures of {}\n",
                       calls(total.unfinished));
  }
  for (const auto& [n, what] :
       {std::pair{total.without_input, "input"}, std::pair{total.without_read, "cache reads"},
        std::pair{total.without_write, "cache writes"},
        std::pair{total.without_output, "output"}}) {
    if (n > 0) out << fmt::format("≥ lower bound: {} did not report the {}\n", calls(n), what);
  }
  if (const auto n = total.without_searches; n > 0) {
    out << fmt::format("≥ lower bound: {} may have made more web searches than the log tells\n",
                       calls(n));
  }
  if (const auto n = calls_of(total, Authority::estimate); n > 0) {
    out << fmt::format(
        "~ estimate: {} with figures that contradict each other or only resemble usage\n",
        calls(n));
  }
  if (const auto n = calls_of(total, Authority::derived); n > 0) {
    out << fmt::format("* derived: {} from the difference of two running totals\n", calls(n));
  }
  if (total.without_usage > 0) {
    out << fmt::format("? {} reported no usage and may have been billed\n",
                       calls(total.without_usage));
  }
  for (const auto& row : report.unpriced) {
    const std::string what =
        fmt::format("unpriced: {}{}{}: {}{}", row.provider, row.provider.empty() ? "" : ":",
                    row.model.empty() ? "(unknown)" : row.model, name_of(row.why),
                    row.what.empty() ? "" : " (" + row.what + ")");
    out << fmt::format("{}, {}, {} tokens", one_line(what), calls(row.calls), grouped(row.tokens));
    if (row.searches > 0) out << ", " + counted(row.searches, "web search", "web searches");
    out << '\n';
  }
  if (report.undated_left_out > 0) {
    out << fmt::format("{} without a time left out by --since or --until\n",
                       calls(report.undated_left_out));
  }
  if (printing.copies > 0) {
    out << fmt::format("{} found again in other sessions or files, counted once\n",
                       calls(printing.copies));
  }
  out << fmt::format(
      "list prices {}; days and times in {}\n",
      printing.prices_at.empty() ? "at the time of each call" : "as of " + printing.prices_at,
      printing.zone);
}

void write_sums(JsonWriter& out, const CostSums& sums) {
  out.member("calls", sums.calls);
  out.key("tokens").begin_object();
  for (std::size_t i = 0; i < replay::kTokenClasses; ++i) {
    const auto what = static_cast<TokenClass>(i);
    if (what != TokenClass::web_search) out.member(name_of(what), sums.of(what));
  }
  out.end_object();
  out.member("web_searches", sums.of(TokenClass::web_search));
  out.key("cost_usd").begin_object();
  out.member("low", sums.cost.low.exact());
  out.member("high", sums.cost.high.exact());
  out.end_object();
  out.key("unpriced").begin_object();
  out.member("calls", sums.unpriced_calls);
  out.member("tokens", sums.unpriced_tokens);
  out.member("web_searches", sums.unpriced_searches);
  out.end_object();
  out.key("authority").begin_object();
  out.member("exact", calls_of(sums, Authority::exact));
  out.member("derived", calls_of(sums, Authority::derived));
  out.member("lower_bound", calls_of(sums, Authority::lower_bound));
  out.member("estimate", calls_of(sums, Authority::estimate));
  out.end_object();
  out.member("without_usage", sums.without_usage);
  out.member("without_input", sums.without_input);
  out.member("without_cache_read", sums.without_read);
  out.member("without_cache_write", sums.without_write);
  out.member("without_output", sums.without_output);
  out.member("without_web_searches", sums.without_searches);
}

/// One row is one line, and no name drives the terminal: control characters become "\x1b".
std::string csv_cell(const std::string& text) {
  std::string out;
  bool quoted = false;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      quoted = quoted || c == ',' || c == '"';
      out += c == '"' ? "\"\"" : std::string(1, c);
    }
  }
  // What else a terminal may take for orders.
  out = printable(out);
  return quoted ? '"' + out + '"' : out;
}

}  // namespace

std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

void print_cost_table(std::ostream& out, const CostReport& report, const CostPrinting& printing) {
  Lines lines = lines_of(report, printing, false);
  if (printing.columns > 0 && width_of(lines) > printing.columns) {
    lines = lines_of(report, printing, true);
  }
  align(lines, printing.by.size());
  if (printing.columns > 0) narrow(lines, printing.by.size(), printing.columns);
  Table table(lines.front(), printing.by.empty() ? 0 : printing.by.size() - 1);
  for (std::size_t i = 1; i < lines.size(); ++i) table.add(lines[i]);
  table.print(out, printing.columns, printing.colour);
  print_notes(out, report, printing);
}

void print_cost_json(std::ostream& out, const CostReport& report, const CostPrinting& printing) {
  for (const CostRow& row : report.rows) {
    JsonWriter line;
    line.begin_object().member("line", "row");
    for (std::size_t i = 0; i < row.keys.size(); ++i) {
      line.member(name_of(printing.by[i]), row.keys[i]);
    }
    write_sums(line, row.sums);
    out << line.end_object().text() << '\n';
  }
  for (const auto& row : report.unpriced) {
    JsonWriter line;
    line.begin_object().member("line", "unpriced");
    line.member("provider", row.provider).member("model", row.model);
    line.member("why", name_of(row.why)).member("what", row.what);
    line.member("calls", row.calls).member("tokens", row.tokens);
    line.member("web_searches", row.searches);
    out << line.end_object().text() << '\n';
  }
  JsonWriter line;
  line.begin_object().member("line", "total");
  write_sums(line, report.total);
  line.member("undated_left_out", report.undated_left_out);
  line.member("copies", printing.copies);
  line.member("timezone", printing.zone);
  line.member("prices_at", printing.prices_at);
  out << line.end_object().text() << '\n';
}

void print_cost_csv(std::ostream& out, const CostReport& report, const CostPrinting& printing) {
  for (const GroupBy group : printing.by) out << name_of(group) << ',';
  out << "calls,input,cache_read,cache_write_5m,cache_write_1h,cache_write,output,web_searches,"
         "cost_low_usd,cost_high_usd,unpriced_calls,unpriced_tokens,without_usage,without_input,"
         "without_cache_read,without_cache_write,without_output,without_web_searches,exact,derived,"
         "lower_bound,estimate\r\n";
  for (const CostRow& row : report.rows) {
    for (const std::string& key : row.keys) out << csv_cell(key) << ',';
    out << row.sums.calls << ',';
    for (const std::uint64_t count : row.sums.counts) out << count << ',';
    out << row.sums.cost.low.exact() << ',' << row.sums.cost.high.exact() << ','
        << row.sums.unpriced_calls << ',' << row.sums.unpriced_tokens << ','
        << row.sums.without_usage << ',' << row.sums.without_input << ',' << row.sums.without_read
        << ',' << row.sums.without_write << ',' << row.sums.without_output << ','
        << row.sums.without_searches;
    for (const std::uint64_t count : row.sums.by_authority) out << ',' << count;
    out << "\r\n";
  }
}

}  // namespace daybook::tools
