// Bytes that claim to be a session's packed state. Those that unpack pack to the same state again.
#include <cstdint>
#include <string_view>

#include "engine/state.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace daybook::engine;
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  const auto state = unpack_state(bytes);
  if (!state) return 0;
  (void)find_call(*state, "c");
  const std::string packed = pack_state(*state);
  const auto again = unpack_state(packed);
  DAYBOOK_CHECK(again.has_value());
  DAYBOOK_CHECK(pack_state(*again) == packed);
  return 0;
}
