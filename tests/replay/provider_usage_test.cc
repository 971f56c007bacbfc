// From what a provider reports to the classes that are priced and the settings that are compared.
#include <catch2/catch.hpp>

#include "engine/codecs.h"
#include "engine/events.h"
#include "replay/cache_call.h"
#include "replay/cache_rules.h"
#include "replay/price_call.h"
#include "tests/engine/codec_bench.h"

namespace daybook::tests {
namespace {

using replay::TokenClass;

/// As a journal keeps it and an analysis reads it.
replay::CallUsage recorded(const engine::Codec& codec, std::string_view stream) {
  const auto out = codecs::decode(codec, stream);
  REQUIRE(out.reply);
  flatbuffers::FlatBufferBuilder builder;
  const auto packed = engine::to_schema(out.reply->usage);
  builder.Finish(schema::Usage::Pack(builder, &packed));
  return replay::usage_of(flatbuffers::GetRoot<schema::Usage>(builder.GetBufferPointer()));
}

TEST_CASE("Responses: cached, written and uncached tokens are one input, reasoning is output") {
  const auto usage =
      recorded(engine::openai_responses_codec(),
               "data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\","
               "\"service_tier\":\"flex\",\"usage\":{\"input_tokens\":100,\"input_tokens_details\":"
               "{\"cached_tokens\":60,\"cache_write_tokens\":30},\"output_tokens\":40,"
               "\"output_tokens_details\":{\"reasoning_tokens\":15}}}}\n\n");
  const auto counts = replay::class_counts(usage);
  CHECK(counts[TokenClass::input] == 10);
  CHECK(counts[TokenClass::cache_read] == 60);
  CHECK(counts[TokenClass::cache_write] == 30);
  CHECK(counts[TokenClass::output] == 40);
  CHECK(counts.whole_input() == 100);
  CHECK_FALSE(counts.input_may_be_read);
  CHECK_FALSE(counts.input_may_be_written);
  CHECK(usage.reasoning == 15u);
  CHECK(usage.service_tier == "flex");
}

TEST_CASE(
    "Gemini: the prompt's tokens include the cached ones, thoughts come on top of the output") {
  const auto usage =
      recorded(engine::gemini_codec(),
               "data: {\"candidates\":[{\"finishReason\":\"STOP\"}],\"usageMetadata\":"
               "{\"promptTokenCount\":100,\"cachedContentTokenCount\":60,"
               "\"toolUsePromptTokenCount\":7,\"candidatesTokenCount\":25,"
               "\"thoughtsTokenCount\":15}}\n\n");
  const auto counts = replay::class_counts(usage);
  CHECK(counts[TokenClass::input] == 47);
  CHECK(counts[TokenClass::cache_read] == 60);
  CHECK(counts[TokenClass::output] == 40);
  CHECK(counts.tokens() == 147);
  CHECK_FALSE(counts.input_may_be_read);
  CHECK(usage.reasoning == 15u);
}

TEST_CASE("Gemini: a prompt of which nothing was cached has one price, not a range") {
  const auto usage =
      recorded(engine::gemini_codec(),
               "data: {\"candidates\":[{\"finishReason\":\"STOP\"}],\"usageMetadata\":"
               "{\"promptTokenCount\":100,\"candidatesTokenCount\":25}}\n\n");
  const auto counts = replay::class_counts(usage);
  CHECK(counts[TokenClass::input] == 100);
  CHECK_FALSE(counts.input_may_be_read);
  CHECK(counts.whole());
}

TEST_CASE("settings that make a cached prefix new are found in both formats' parameters") {
  engine::ModelParams params;
  params.model = "m";
  params.reasons = true;
  params.reasoning_effort = "low";
  replay::CacheCall call;
  replay::read_params(engine::gemini_codec().head(params), call);
  REQUIRE(call.params.size() == 1);
  CHECK(call.params[0].name == "thinking");
  CHECK(call.params[0].value == R"({"includeThoughts":true,"thinkingLevel":"low"})");

  replay::CacheCall other;
  params.extra = R"("prompt_cache_key":"k","service_tier":"flex")";
  replay::read_params(engine::openai_responses_codec().head(params), other);
  REQUIRE(other.params.size() == 1);
  CHECK(other.params[0].name == "thinking");
  CHECK(other.params[0].value == "\"low\"");
  CHECK(other.scope.key == "k");
  CHECK(other.scope.tier == "flex");
}

TEST_CASE("both formats have their vendor's cache rules, whatever the provider is called") {
  const auto& book = replay::CacheRuleBook::shipped();
  CHECK(book.rules("local", "openai-responses", "gpt-6.2-sol").family == "openai");
  CHECK(book.rules("local", "openai-responses", "gpt-5").family == "openai-before-5.6");
  CHECK(book.rules("local", "gemini", "gemini-4-argon").family == "gemini");
}

}  // namespace
}  // namespace daybook::tests
