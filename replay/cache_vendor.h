// The provider's own word on why a call missed its cache, and how it compares with ours. It is a
// label beside the finding and never replaces it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/cache_attribution.h"

namespace daybook::replay {

struct VendorVerdict {
  std::string label;  // in the provider's words; "none" where it says that nothing differed
  bool conclusive = false;
  std::vector<Leaf> leaves;  // that the label covers; empty: no miss by a difference
  std::optional<std::uint64_t> missed_tokens;
};

/// From the recorded JSON: Anthropic's `cache_miss_reason`, OpenAI's diagnostics. Nothing when
/// there is no word at all.
std::optional<VendorVerdict> vendor_verdict(std::string_view json);

enum class Agreement : std::uint8_t {
  agree,
  finer,  // the same, and ours says more
  disagree,
  inconclusive,  // the provider could not tell
};
std::string_view name_of(Agreement agreement);

Agreement compare(const VendorVerdict& vendor, const CallVerdict& ours);

}  // namespace daybook::replay
