#include "tests/fuzz/stream_fuzz.h"

namespace {

/// What a decoder with a small limit makes of the pieces.
std::string events_of(const std::vector<std::string_view>& pieces) {
  daybook::engine::SseDecoder decoder(64);
  std::string out;
  for (const std::string_view piece : pieces) {
    const auto fed = decoder.feed(piece, [&](std::string_view name, std::string_view data) {
      out += std::to_string(name.size()) + ":" + std::string(name);
      out += std::to_string(data.size()) + ":" + std::string(data);
      return data != "stop";
    });
    if (!fed) return out + "error";
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto stream = daybook::tests::split_input(data, size);
  DAYBOOK_CHECK(events_of({stream.bytes}) == events_of(stream.pieces));
  return 0;
}
