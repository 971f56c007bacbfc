// The benchmarks. Each prints its numbers beside a raw baseline measured in the same run, and
// returns 0, or 1 when it could not run.
#pragma once

namespace daybook::bench {

/// Durable appends by 1, 8 and 64 sessions.
int journal_bench();

}  // namespace daybook::bench
