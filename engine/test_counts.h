// How many tests passed and failed: what the reports in a span count, and what a summary says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "engine/prepared_span.h"

namespace daybook::engine {

/// A count that a clause tells: "12 passed", "3 of 4 tests pass", "2/9 failed".
struct ToldCount {
  long count = 0;
  long of = -1;       // -1: not told
  bool pass = false;  // of those that passed
  bool all = false;   // "all 12", or 4 of 4: nothing is left that could have failed
};
std::vector<ToldCount> told_counts(std::string_view clause);

class TestCounts {
 public:
  /// Reads the reports of every test run. Linear in their bytes.
  explicit TestCounts(const PreparedSpan& span);

  /// Some report counts its tests: only then can a count be wrong.
  bool any() const { return !runs_.empty(); }
  /// Whether some report is that of one of these calls.
  bool any_of(std::span<const std::size_t> calls) const;
  /// The numbers stand in a report, or are the sum or the difference of two numbers of one; as
  /// what passed counts, where a report tells that, what it says passed.
  /// Only reports of these calls count; empty: all do.
  bool holds(const ToldCount& told, std::span<const std::size_t> calls) const;

  struct Number {
    enum class Of : std::uint8_t { all, passed, failed };
    long value = 0;
    Of of = Of::all;
  };

 private:
  struct Report {
    std::size_t call = SpanCall::kNone;  // item, of what was begun
    std::vector<Number> numbers;
  };
  std::vector<Report> runs_;
};

/// Whether the text counts tests, as a report does.
bool counts_tests(std::string_view report);

}  // namespace daybook::engine
