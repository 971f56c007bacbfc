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
  CHECK_THAT(error_of("[arms.x]\nretries = 1\ntemperature = 7\n"), Contains("arms.toml:3"));
  CHECK_THAT(error_of("[arms.x]\ntemperature = nan\n"), Contains("from 0 to 2, not nan"));
  CHECK_THAT(error_of("[arms.x]\ntemperature = inf\n"), Contains("from 0 to 2, not inf"));
  CHECK_THAT(error_of("[arms.x]\ntemperature = -0.5\n"), Contains("from 0 to 2, not -0.5"));
  CHECK_THAT(error_of("[arms.x]\nretries = 9\n"), Contains("from 0 to 5, not 9"));
  CHECK_THAT(error_of("[arms.x]\nsummary_max_tokens = 0\n"), Contains("from 1 to 1000000, not 0"));
  for (const char* model : {"gpt", ":m", "p:", "p:\\u0001m"}) {
    const auto said = error_of(std::string("[arms.x]\nmodel = \"") + model + "\"\n");
    CHECK_THAT(said, Contains("arms.toml:2") && Contains("provider:model"));
  }
  for (const char* name : {"", "a\\u0007b", "a\\nb"}) {
    const auto said = error_of(std::string("[arms.\"") + name + "\"]\nretries = 1\n");
    CHECK_THAT(said, Contains("arms.toml:1") && Contains("an arm's name"));
  }
  CHECK_THAT(error_of("[arms." + std::string(65, 'a') + "]\n"), Contains("1 to 64 bytes"));
  CHECK_THAT(error_of("[arms.m]\nmechanical = true\nmodel = 'p:m'\n"),
             Contains("arms.toml:3") && Contains("'model' in [arms.m] does not go with"));
  CHECK(error_of("[arms.m]\nmechanical = true\n").empty());
  CHECK_THAT(error_of("[arms]\n"), Contains("there is no arm"));
  CHECK_THAT(error_of("[arms\n"), Contains("not valid TOML"));
  CHECK_THAT(error_of("[arm.x]\n"), Contains("unknown key 'arm'"));
}
