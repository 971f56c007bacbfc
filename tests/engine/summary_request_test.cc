// How the model of a session is called when it is to write a summary: within what it takes.
#include "engine/summary_request.h"

#include <catch2/catch.hpp>

namespace daybook::engine {
namespace {

ModelChoice choice_of(const char* kind, std::uint32_t thinking) {
  ModelChoice choice;
  choice.codec = find_codec(kind);
  choice.params.thinking_budget_tokens = thinking;
  choice.params.reasons = thinking > 0;
  return choice;
}

SummaryAsk asking(std::uint64_t tokens, const char* reasoning) {
  SummaryAsk ask;
  ask.max_tokens = tokens;
  ask.reasoning = reasoning;
  return ask;
}

}  // namespace

TEST_CASE("thinking leaves room for the summary, or is left out") {
  // The provider refuses a budget that is not below the limit of the reply, or is below 1,024.
  const auto shared = summariser(choice_of("anthropic", 6'000), asking(3'000, "default"));
  CHECK(shared.params.thinking_budget_tokens == 2'488);
  const auto whole = summariser(choice_of("anthropic", 6'000), asking(16'000, "default"));
  CHECK(whole.params.thinking_budget_tokens == 6'000);
  const auto tight = summariser(choice_of("anthropic", 6'000), asking(1'500, "default"));
  CHECK(tight.params.thinking_budget_tokens == 0);
}

TEST_CASE("where thinking cannot be switched off, it is bounded") {
  const auto gemini = summariser(choice_of("gemini", 6'000), asking(3'000, "off"));
  CHECK(gemini.params.thinking_budget_tokens == 512);
  const auto claude = summariser(choice_of("anthropic", 6'000), asking(3'000, "off"));
  CHECK(claude.params.thinking_budget_tokens == 0);
}

}  // namespace daybook::engine
