// ./daybook_bench [name...]: runs the named benchmarks, or all of them.
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "tests/bench/bench.h"
#include "tests/bench/child.h"

namespace daybook::bench {

int report(const char* what, double value, double target, const char* unit) {
  const bool met = value <= target;
  fmt::print("{}: {:.2f} {} (target: at most {:g} {}): {}\n", what, value, unit, target, unit,
             met ? "met" : "MISSED");
  return met ? 0 : 1;
}

}  // namespace daybook::bench

int main(int argc, char** argv) {
  using namespace daybook::bench;
  const std::map<std::string, int (*)()> benches = {{"compaction", compaction_bench},
                                                    {"fold", fold_bench},
                                                    {"journal", journal_bench},
                                                    {"logs", log_bench},
                                                    {"long-session", long_session_bench},
                                                    {"quality", quality_bench},
                                                    {"turn-overhead", turn_overhead_bench}};
  std::vector<std::string> names(argv + 1, argv + argc);
  if (names.empty()) {
    for (const auto& [name, run] : benches) names.push_back(name);
  }
  spdlog::set_level(spdlog::level::err);
  int failures = 0;
  for (const auto& name : names) {
    const auto found = benches.find(name);
    if (found == benches.end()) {
      std::fprintf(stderr, "daybook_bench: there is no benchmark '%s'\n", name.c_str());
      return 2;
    }
    // Each in a process of its own: none inherits another's threads, memory or caches.
    failures += in_child([&] {
                  const int failed = found->second();
                  std::fflush(stdout);
                  return failed;
                }).value;
  }
  return failures == 0 ? 0 : 1;
}
