// Configuration text: any bytes either apply or are refused with a place; what applied resolves.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/config_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace daybook::engine;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto scope = data[0] % 2 == 0 ? ConfigScope::machine : ConfigScope::project;
  Config config;
  const auto applied = apply_config_text(config, text, "c.toml", scope);
  if (!applied) {
    DAYBOOK_CHECK(applied.error().message.starts_with("c.toml:"));
    return 0;
  }
  DAYBOOK_CHECK(scope == ConfigScope::machine || config.providers.empty());
  for (const auto& [name, model] : config.models) settings_of(config, name);
  if (!config.model.empty()) (void)resolve_model(config, config.model, {});
  return 0;
}
