// Rules of the providers' caches as data: cache_rules.toml, built in.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "replay/cache_call.h"
#include "schema/result.h"

namespace daybook::replay {

extern const std::string_view kCacheRulesToml;

/// A value between two: they differ where the provider's documents do not settle it.
struct RuleRange {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  bool settled() const { return least == most; }
  bool operator==(const RuleRange&) const = default;
};

enum class RuleTruth : std::uint8_t { no, yes, maybe };

enum class CacheLookup : std::uint8_t { markers, endings, prefix };

/// Parts of CacheScope, in its order.
enum class ScopePart : std::uint8_t { provider, model, key, tier, workspace, region };
inline constexpr std::size_t kScopeParts = 6;

struct CacheRules {
  std::string family;
  CacheLookup lookup = CacheLookup::prefix;
  RuleRange min_tokens;
  RuleRange granularity{1, 1};
  RuleRange lookback;             // of the kind that `lookup` says; 0: no limit
  std::uint64_t max_markers = 0;  // further ones are ignored; 0: no limit
  RuleRange ttl_s;
  RuleRange ttl_1h_s;
  bool longer_ttl_first = false;  // a longer one behind a shorter one is ignored
  bool ttl_flip_misses = false;
  bool readable_at_first_byte = true;
  bool reports_writes = false;
  bool exact_resend = false;  // a request sent again is read whole, whatever the granularity
  bool strips_reasoning = false;
  bool known = true;  // false: nobody's rules, only what any cache may do
  RuleTruth scope[kScopeParts] = {};
  std::map<std::string, CacheArea, std::less<>> params;

  RuleRange life_s(schema::CacheTtl ttl) const {
    return ttl == schema::CacheTtl::hour_1 && ttl_1h_s.most != 0 ? ttl_1h_s : ttl_s;
  }
};

class CacheRuleBook {
 public:
  /// Errors: `invalid_argument` naming file, line and what was expected.
  static Result<CacheRuleBook> parse(std::string_view text, std::string_view file);
  /// The built-in one.
  static const CacheRuleBook& shipped();

  const CacheRules& rules(std::string_view provider, std::string_view kind,
                          std::string_view model) const;
  /// Whether the provider of such a call has rules of its own.
  bool knows(const CacheCall& call) const { return rules(call).known; }
  const CacheRules& rules(const CacheCall& call) const {
    return rules(call.scope.provider, call.provider_kind, call.scope.model);
  }

 private:
  struct Row {
    std::vector<std::string> providers;
    std::vector<std::string> models;
    CacheRules rules;
  };
  std::vector<Row> rows_;  // the first that matches
  friend class RuleReader;
};

}  // namespace daybook::replay
