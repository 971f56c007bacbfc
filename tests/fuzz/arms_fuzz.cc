// Arms files: any bytes give arms that keep their limits, or an error that names a place.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "replay/arms.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace daybook;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto arms = replay::parse_arms(text, "a.toml");
  if (!arms) {
    DAYBOOK_CHECK(arms.error().message.starts_with("a.toml:"));
    return 0;
  }
  DAYBOOK_CHECK(!arms->empty());
  for (const auto& arm : *arms) {
    DAYBOOK_CHECK(!arm.name.empty());
    for (const char c : arm.name) DAYBOOK_CHECK(static_cast<unsigned char>(c) >= 0x20 && c != 0x7f);
    DAYBOOK_CHECK(arm.summary_tokens >= 1 && arm.summary_tokens <= 1'000'000);
    DAYBOOK_CHECK(arm.retries <= 5);
    if (!arm.temperature.empty()) {
      const double value = std::strtod(arm.temperature.c_str(), nullptr);
      DAYBOOK_CHECK(value >= 0 && value <= 2);
    }
    DAYBOOK_CHECK(!arm.mechanical || (arm.model.empty() && arm.temperature.empty()));
    const auto colon = arm.model.find(':');
    DAYBOOK_CHECK(arm.model.empty() || (colon > 0 && colon + 1 < arm.model.size()));
  }
  return 0;
}
