#include "tests/sim/simulation.h"

#include <catch2/catch.hpp>

namespace {
// A sanitizer makes each life ten times longer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::uint64_t kLives = 1'000;
#else
constexpr std::uint64_t kLives = 10'000;
#endif
}  // namespace

TEST_CASE("thousands of lives of a session keep every invariant") {
  std::uint64_t crashes = 0;
  std::uint64_t unknown = 0;
  std::uint64_t compactions = 0;
  for (std::uint64_t seed = 1; seed <= kLives; ++seed) {
    const auto result = daybook::tests::simulate(seed);
    INFO("./dev sim --seed " << seed << ": " << result.failure);
    REQUIRE(result.ok);
    crashes += result.crashes;
    unknown += result.unknown;
    compactions += result.compactions;
  }
  // A simulation in which nothing goes wrong would prove nothing.
  CHECK(crashes > kLives);
  CHECK(unknown > kLives / 10);
  CHECK(compactions > kLives / 10);
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
