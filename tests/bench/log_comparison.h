// `daybook cost PATH` beside another program that counts the same logs, and beside what else is
// done with them. Everything runs as processes of their own, as it does for people.
#pragma once

#include <string>
#include <vector>

#include "tests/bench/log_tree.h"

namespace daybook::bench {

/// One run of a program.
struct ProgramRun {
  bool good = false;  // it ended with 0, or with "some lines were lost"
  double took_ms = 0;
  double core_ms = 0;
  double peak_mib = 0;  // of resident memory
  std::string out;
};

/// Runs argv with nothing in its environment but PATH, an empty HOME below `folder`, and
/// `settings` (NAME=value).
ProgramRun run_program(const std::string& folder, const std::vector<std::string>& argv,
                       const std::vector<std::string>& settings = {});

/// The tree is `folder`/tree. Wall time, memory and totals of both programs on it; then every log
/// fixture of the tests. Each difference must be one that a named rule tells, to the token; 0 when
/// that holds, the time ratio and the memory are within their targets, or there is no ccusage.
int compare_with_ccusage(const std::string& folder, const LogTree& tree);

/// The cache analysis of `folder`/tree, as a multiple of the figures alone.
int measure_passes(const std::string& folder);

/// Import of `folder`/small into a journal, and the analysis of that, likewise.
int measure_import(const std::string& folder, const LogTree& tree);

}  // namespace daybook::bench
