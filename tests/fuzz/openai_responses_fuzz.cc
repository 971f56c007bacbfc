#include "engine/codecs.h"
#include "tests/fuzz/stream_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  daybook::tests::check_codec(daybook::engine::openai_responses_codec(), data, size);
  // A document instead of a stream.
  const auto decoder = daybook::engine::openai_responses_codec().decoder();
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  if (!decoder->on_event("", body, nullptr)) (void)decoder->finish();
  (void)daybook::engine::openai_responses_codec().classify(400, body);
  return 0;
}
