// One seeded life of a session: the real core and driver against a simulated journal, model,
// executor, person and clock, with crashes and faults drawn from the seed. Everything runs on one
// thread, so a seed repeats exactly.
#pragma once

#include <cstdint>
#include <string>

namespace daybook::tests {

struct SimulationResult {
  bool ok = true;
  std::string failure;  // which invariant broke, and where
  std::uint32_t processes = 0;
  std::uint32_t crashes = 0;
  std::uint32_t effects = 0;
  std::uint32_t unknown = 0;  // outcomes that a person had to reconcile
  std::uint64_t compactions = 0;
  std::uint64_t events = 0;
};

SimulationResult simulate(std::uint64_t seed);

}  // namespace daybook::tests
