// ./dev sim [--seeds N] [--seed S]: N seeds from 1 (default 10000), or the one seed that failed.
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "tests/sim/simulation.h"

int main(int argc, char** argv) {
  std::uint64_t first = 1;
  std::uint64_t count = 10'000;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    const auto value = std::strtoull(argv[i + 1], nullptr, 10);
    if (option == "--seeds") {
      count = value;
    } else if (option == "--seed") {
      first = value;
      count = 1;
    } else {
      std::cerr << "sim: unknown option '" << option << "'; there are --seeds N and --seed S\n";
      return 2;
    }
  }
  daybook::tests::SimulationResult total;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const auto result = daybook::tests::simulate(seed);
    if (!result.ok) {
      std::cerr << "seed " << seed << " failed: " << result.failure
                << "\nrepeat it with: ./dev sim --seed " << seed << '\n';
      return 1;
    }
    total.processes += result.processes;
    total.crashes += result.crashes;
    total.effects += result.effects;
    total.unknown += result.unknown;
    total.events += result.events;
  }
  std::cout << count << " seeds passed: " << total.processes << " processes, " << total.crashes
            << " crashes, " << total.events << " events, " << total.effects << " side effects, "
            << total.unknown << " outcomes reconciled\n";
  return 0;
}
