#include "replay/arms.h"

#include <catch2/catch.hpp>

using namespace daybook;
using namespace daybook::replay;
using Catch::Contains;

namespace {

std::string error_of(const std::string& toml) {
  const auto arms = parse_arms(toml, "arms.toml");
  return arms ? "" : arms.error().message;
}

}  // namespace

TEST_CASE("the shipped arms are the ones that a replay is about") {
  std::vector<std::string> names;
  for (const auto& arm : shipped_arms()) names.push_back(arm.name);
  CHECK(names == std::vector<std::string>{"mechanical", "moved-16000", "moved-3000", "old-3000"});
  for (const auto& arm : shipped_arms()) {
    CHECK(arm.mechanical == (arm.name == "mechanical"));
    CHECK((arm.shape == schema::PromptShape::instruction_first) == (arm.name == "old-3000"));
  }
}

TEST_CASE("an arm takes what its table says") {
  const auto arms = parse_arms(
      "[arms.x]\nmodel = 'p:m'\nsummary_max_tokens = 500\nreasoning = 'low'\ntemperature = 0.5\n"
      "retries = 2\nshape = 'instruction-first'\n",
      "arms.toml");
  REQUIRE(arms);
  const Arm& arm = arms->at(0);
  CHECK(arm.model == "p:m");
  CHECK(arm.summary_tokens == 500);
  CHECK(arm.reasoning == "low");
  CHECK(arm.temperature == "0.5");
  CHECK(arm.retries == 2);
  CHECK(arm.shape == schema::PromptShape::instruction_first);
}

TEST_CASE("mistakes in an arms file are named with their place") {
  CHECK_THAT(error_of("[arms.x]\nsummary_tokens = 3\n"), Contains("arms.toml:2"));
  CHECK_THAT(error_of("[arms.x]\nshape = 'middle'\n"), Contains("instruction-last"));
  CHECK_THAT(error_of("[arms.x]\ntemperature = 7\n"), Contains("from 0 to 2"));
  CHECK_THAT(error_of("[arms.x]\nmodel = 'gpt'\n"), Contains("provider:model"));
  CHECK_THAT(error_of("[arms]\n"), Contains("there is no arm"));
  CHECK_THAT(error_of("[arms\n"), Contains("not valid TOML"));
  CHECK_THAT(error_of("[arm.x]\n"), Contains("unknown key 'arm'"));
}
