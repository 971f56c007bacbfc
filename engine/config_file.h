// One TOML layer of the configuration.
#pragma once

#include <string_view>

#include "engine/config.h"

namespace daybook::engine {

enum class ConfigScope {
  machine,  // every key
  project,  // comes with a checkout: no providers, approval mode or journal
};

inline constexpr std::uint32_t kMaxIterations = 10'000;
/// Below it a compacted block would hold nothing of use.
inline constexpr std::uint32_t kLeastCompactionCap = 4'000;
inline constexpr std::uint32_t kLeastSummaryTokens = 500;
inline constexpr std::uint32_t kMaxTokens = 100'000'000;
inline constexpr std::uint32_t kMaxTimeoutMs = 86'400'000;  // a day

/// Puts the keys of `text` over `config`. `file` names it in errors, which say file, line and what
/// was expected. On an error `config` is left half changed.
Result<void> apply_config_text(Config& config, std::string_view text, std::string_view file,
                               ConfigScope scope);

}  // namespace daybook::engine
