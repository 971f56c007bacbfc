#include "tests/sim/simulation.h"

#include <catch2/catch.hpp>

TEST_CASE("10,000 lives of a session keep every invariant") {
  std::uint64_t crashes = 0;
  std::uint64_t unknown = 0;
  std::uint64_t compactions = 0;
  for (std::uint64_t seed = 1; seed <= 10'000; ++seed) {
    const auto result = daybook::tests::simulate(seed);
    INFO("./dev sim --seed " << seed << ": " << result.failure);
    REQUIRE(result.ok);
    crashes += result.crashes;
    unknown += result.unknown;
    compactions += result.compactions;
  }
  // A simulation in which nothing goes wrong would prove nothing.
  CHECK(crashes > 10'000);
  CHECK(unknown > 1'000);
  CHECK(compactions > 1'000);
}

TEST_CASE("a seed repeats exactly") {
  for (const std::uint64_t seed : {7, 99, 4321}) {
    const auto first = daybook::tests::simulate(seed);
    const auto second = daybook::tests::simulate(seed);
    CHECK(first.processes == second.processes);
    CHECK(first.crashes == second.crashes);
    CHECK(first.events == second.events);
  }
}
