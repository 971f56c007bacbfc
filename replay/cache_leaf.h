// Why input tokens were not read from a provider's cache: a closed set. Every such token has
// exactly one cause: a leaf, several that each suffice, or several between which the evidence
// cannot decide.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace daybook::replay {

enum class Leaf : std::uint8_t {
  cold,
  new_tail,
  compaction,
  fork,
  model,
  tools_added,
  tools_removed,
  tools_reordered,
  tools_schema,
  tools_key_order,
  system_clock,
  system_uuid,
  system_path,
  system_other,
  message_mutated,
  message_deleted,
  message_inserted,
  message_reordered,
  message_reserialized,
  param_tool_choice,
  param_thinking,
  param_verbosity,
  param_format,
  param_betas,
  param_context_management,
  param_image,
  param_speed,
  marker_missing,
  marker_lookback,
  marker_ttl_flip,
  marker_too_many,
  marker_ttl_order,
  below_minimum,
  scope_key,
  scope_tier,
  scope_workspace,
  scope_region,
  scope_provider,
  ttl,
  ttl_by_generation,
  concurrency,
  server_strip,
  granularity,
  provider,
  unmeasured,
};
inline constexpr std::size_t kLeafCount = static_cast<std::size_t>(Leaf::unmeasured) + 1;

/// Who can do something about it.
enum class LeafKind : std::uint8_t {
  intended,   // what the session wanted: its first call, its growth, a compaction, a fork
  avoidable,  // a change on the caller's side
  provider,   // the provider's doing
  unknown,    // not measured
};

struct LeafInfo {
  Leaf leaf;
  std::string_view code;    // "P4.mutated"
  std::string_view family;  // "P4"
  std::string_view meaning;
  LeafKind kind;
  std::string_view remedy;  // "": there is none
};

/// What a remedy takes away from what it wins back.
enum class RemedyCost : std::uint8_t {
  none,     // there is no remedy: nothing comes back
  free,     // it costs no tokens
  hour,     // every write is paid at the price of an hour
  unknown,  // not to be told from figures: longer requests, another model's answers
};
RemedyCost remedy_cost(Leaf leaf);

const LeafInfo& info_of(Leaf leaf);
inline std::string_view code_of(Leaf leaf) {
  return info_of(leaf).code;
}
std::optional<Leaf> leaf_of(std::string_view code);
/// Every leaf of these families or codes: "P2", "P6.missing".
std::vector<Leaf> leaves_of(std::span<const std::string_view> names);
inline std::vector<Leaf> leaves_of(std::initializer_list<std::string_view> names) {
  return leaves_of(std::span(names.begin(), names.size()));
}
std::string_view name_of(LeafKind kind);

/// The causes of the same tokens.
struct CauseSet {
  enum class Relation : std::uint8_t {
    sole,    // one leaf
    joint,   // each of them suffices: all must be repaired
    one_of,  // the evidence does not say which; at least one of them
  };
  Relation relation = Relation::sole;
  std::vector<Leaf> leaves;  // ascending, at least one

  static CauseSet sole(Leaf leaf) { return {Relation::sole, {leaf}}; }
  /// Sorted, without doubles; `sole` when one is left.
  static CauseSet of(Relation relation, std::vector<Leaf> leaves);

  bool contains(Leaf leaf) const;
  /// "P4.mutated", "joint{P1,T1}", "one_of{P2,U1}": a family with all of its leaves is named once.
  std::string code() const;
  auto operator<=>(const CauseSet&) const = default;
};

}  // namespace daybook::replay
