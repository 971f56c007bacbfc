// ./daybook_bench [name...]: runs the named benchmarks, or all of them.
#include <cstdio>
#include <map>
#include <string>

#include "tests/bench/bench.h"

int main(int argc, char** argv) {
  const std::map<std::string, int (*)()> benches = {{"journal", daybook::bench::journal_bench}};
  int failures = 0;
  if (argc < 2) {
    for (const auto& [name, run] : benches) failures += run();
  }
  for (int i = 1; i < argc; ++i) {
    const auto found = benches.find(argv[i]);
    if (found == benches.end()) {
      std::fprintf(stderr, "daybook_bench: there is no benchmark '%s'\n", argv[i]);
      return 2;
    }
    failures += found->second();
  }
  return failures == 0 ? 0 : 1;
}
