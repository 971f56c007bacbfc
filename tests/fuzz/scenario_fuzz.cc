// Scenario files: any bytes either make a scenario or are refused with a place, and what a scenario
// says can be sent.
#include <nlohmann/json.hpp>

#include "engine/codecs.h"
#include "engine/script_model.h"
#include "tests/engine/codec_bench.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace daybook;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto scenario = engine::parse_scenario(text, "s.toml");
  if (!scenario) {
    DAYBOOK_CHECK(scenario.error().message.starts_with("s.toml:"));
    return 0;
  }
  for (const engine::ScriptStep& step : scenario->steps) {
    tests::codecs::Request request;
    request.head = "\"model\":\"m\"";
    for (const auto* codec : {&engine::script_codec(), &engine::openai_chat_codec()}) {
      request.messages = {codec->render_message(tests::codecs::assistant(step.reply.blocks))};
      DAYBOOK_CHECK(nlohmann::json::accept(request.frame(*codec)));
    }
  }
  return 0;
}
