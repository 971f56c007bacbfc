// The benchmarks. Each prints its numbers beside a raw baseline measured in the same run and, where
// there is one, its target, and returns 0, or 1 when it missed a target or could not run.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace daybook::bench {

/// Durable appends by 1, 8 and 64 sessions.
int journal_bench();
/// From the events of a session of usual length to what comes next.
int fold_bench();
/// A session of 300,000 events and 1 GiB: memory to fold it, time to open it at its tail.
int long_session_bench();
/// What the engine adds to each model request.
int turn_overhead_bench();
/// Figures out of 1 GiB of other programs' logs.
int log_bench();
/// Requests after many compactions, and reports of many summaries.
int compaction_bench();
/// Gate, facts and scores of compactions of 100 KB.
int quality_bench();

/// Wall time of one call.
template <class Body>
double time_ms(const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
      .count();
}

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// Prints one measurement against its target; 0 when it was met.
int report(const char* what, double value, double target, const char* unit);

}  // namespace daybook::bench
