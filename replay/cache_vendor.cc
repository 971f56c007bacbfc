#include "replay/cache_vendor.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "schema/json.h"

namespace daybook::replay {
namespace {

struct Label {
  std::string_view name;
  std::vector<std::string_view> families;
};

/// What a label can stand for: providers name the first difference only, and roughly.
const std::vector<Label>& labels() {
  static const std::vector<Label> kLabels = {
      {"model", {"P1"}},
      {"tools", {"P2"}},
      {"system", {"P3"}},
      {"messages", {"P4", "E2", "E3", "S1"}},
      {"input", {"P3", "P4", "E2", "E3"}},
      {"prompt_cache_key", {"P8.key"}},
      {"service_tier", {"P8.tier"}},
      {"text_format", {"P5.format"}},
      {"reasoning_effort", {"P5.thinking"}},
      {"verbosity", {"P5.verbosity"}},
      {"context_compacted", {"E2"}},
      {"none", {}},
      {"cache_hit", {}},
  };
  return kLabels;
}

const Json* find_member(const Json& json, const char* name) {
  if (!json.is_object()) return nullptr;
  const auto found = json.find(name);
  return found == json.end() ? nullptr : &*found;
}

std::optional<std::uint64_t> count_at(const Json& json, const char* name) {
  const Json* value = find_member(json, name);
  if (value == nullptr || !value->is_number_unsigned()) return std::nullopt;
  return value->get<std::uint64_t>();
}

VendorVerdict labelled(std::string label) {
  VendorVerdict made;
  std::string_view name = label;
  constexpr std::string_view kSuffix = "_changed";
  if (name.ends_with(kSuffix)) name.remove_suffix(kSuffix.size());
  for (const Label& each : labels()) {
    if (each.name != name) continue;
    made.conclusive = true;
    made.leaves = leaves_of(each.families);
  }
  made.label = std::move(label);
  return made;
}

std::optional<VendorVerdict> from_anthropic(const Json& diagnostics) {
  const Json* reason = find_member(diagnostics, "cache_miss_reason");
  if (reason == nullptr) return std::nullopt;
  // No divergence, or the first turn: no difference either way.
  if (reason->is_null()) return labelled("none");
  const std::string type = json_text(*reason, "type");
  // A reason without a type is still being worked out.
  if (type.empty()) return labelled("pending");
  VendorVerdict made = labelled(type);
  made.missed_tokens = count_at(*reason, "cache_missed_input_tokens");
  return made;
}

std::optional<VendorVerdict> from_openai(const Json& diagnostics) {
  for (const char* name : {"type", "status", "result"}) {
    const std::string status = json_text(diagnostics, name);
    if (status.empty()) continue;
    if (status != "cache_miss") return labelled(status);
    std::string reason = json_text(diagnostics, "reason");
    if (reason.empty()) reason = json_text(diagnostics, "cache_miss_reason");
    VendorVerdict made = labelled(reason.empty() ? status : reason);
    made.missed_tokens = count_at(diagnostics, "cache_missed_tokens");
    return made;
  }
  return std::nullopt;
}

}  // namespace

std::optional<VendorVerdict> vendor_verdict(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const auto parsed = parse_json(text);
  if (!parsed || !parsed->is_object()) return std::nullopt;
  if (const Json* inner = find_member(*parsed, "prompt_cache_diagnostics")) {
    return from_openai(*inner);
  }
  const Json* reason = find_member(*parsed, "cache_miss_reason");
  if (reason != nullptr && !reason->is_string()) return from_anthropic(*parsed);
  return from_openai(*parsed);
}

std::string_view name_of(Agreement agreement) {
  switch (agreement) {
    case Agreement::agree:
      return "agree";
    case Agreement::finer:
      return "finer";
    case Agreement::disagree:
      return "disagree";
    case Agreement::inconclusive:
      break;
  }
  return "inconclusive";
}

Agreement compare(const VendorVerdict& vendor, const CallVerdict& ours) {
  if (!vendor.conclusive || !ours.measured) return Agreement::inconclusive;
  // Rounding is no difference between requests.
  const CachePortion* loss = nullptr;
  for (const CachePortion& portion : ours.lost) {
    if (portion.causes.contains(Leaf::granularity)) continue;
    if (loss == nullptr || portion.tokens > loss->tokens) loss = &portion;
  }
  if (vendor.leaves.empty()) {
    if (loss == nullptr) return Agreement::agree;
    // "Nothing differed": time, place and markers are not differences of content.
    const bool content = std::ranges::any_of(loss->causes.leaves, [](Leaf leaf) {
      const std::string_view family = info_of(leaf).family;
      return family == "P1" || family == "P2" || family == "P3" || family == "P4";
    });
    if (content) return Agreement::disagree;
    return loss->causes.relation == CauseSet::Relation::one_of ? Agreement::agree
                                                               : Agreement::finer;
  }
  if (loss == nullptr) return Agreement::disagree;
  const bool covered = std::ranges::any_of(
      loss->causes.leaves, [&](Leaf leaf) { return std::ranges::count(vendor.leaves, leaf) > 0; });
  if (!covered) return Agreement::disagree;
  const bool narrower = loss->causes.relation != CauseSet::Relation::one_of &&
                        (vendor.leaves.size() > 1 || loss->causes.leaves.size() > 1);
  return narrower ? Agreement::finer : Agreement::agree;
}

}  // namespace daybook::replay
