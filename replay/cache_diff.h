// What differs between a call and the one it could have read from, as causes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "replay/cache_call.h"
#include "replay/cache_leaf.h"
#include "replay/cache_rules.h"

namespace daybook::replay {

/// A difference that may keep a call from reading what the baseline left.
struct CacheCause {
  Leaf leaf = Leaf::provider;
  std::string detail;  // "tools[2] 'grep'", "system[0]", "messages[4]", "model a -> b"
  /// Segment of the call and of the baseline at which bytes first differ, where bytes do.
  std::optional<std::uint32_t> segment;
  std::optional<std::uint32_t> before;
};

/// Where the first difference between two texts lies, and what they show there.
struct TextDifference {
  std::uint64_t byte = 0;
  std::string before;  // up to 80 bytes around it
  std::string after;
};
TextDifference first_difference(std::string_view before, std::string_view after);

/// What kind of volatile text two texts first differ in: clock, uuid, path, other.
Leaf volatile_kind(std::string_view before, std::string_view after);

/// Differences in tools, system, messages, settings and scope; not those of markers and time.
/// `bytes` may be empty: kinds that only the bytes tell apart then get the plainer leaf.
std::vector<CacheCause> differences(const CacheCall& before, const CacheCall& now,
                                    const CacheRules& rules, const SegmentBytes& bytes);

/// A call's segments of one area; valid until a list grows that shares them.
std::span<const CacheSegment> area_of(const CacheCall& call, CacheArea area);

}  // namespace daybook::replay
