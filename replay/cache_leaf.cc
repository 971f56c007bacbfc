#include "replay/cache_leaf.h"

#include <algorithm>

#include "schema/result.h"

namespace daybook::replay {
namespace {

using enum LeafKind;

constexpr std::array<LeafInfo, kLeafCount> kLeaves = {{
    {Leaf::cold, "E0", "E0", "first call of its chain; nothing cached to read", intended, ""},
    {Leaf::new_tail, "E1", "E1", "tokens never sent before", intended, ""},
    {Leaf::compaction, "E2", "E2", "a compaction replaced the history", intended,
     "compact less often, or at a moment when the cache has expired anyway"},
    {Leaf::fork, "E3", "E3", "the call branches from an older turn", intended, ""},
    {Leaf::model, "P1", "P1", "another model answered", avoidable,
     "keep one model for a session, and use another one in a subagent"},
    {Leaf::tools_added, "P2.added", "P2", "a tool was added", avoidable,
     "declare every tool in the first request"},
    {Leaf::tools_removed, "P2.removed", "P2", "a tool was removed", avoidable,
     "keep the tool declared and refuse its calls"},
    {Leaf::tools_reordered, "P2.reordered", "P2", "the tools came in another order", avoidable,
     "sort the tools by name"},
    {Leaf::tools_schema, "P2.schema", "P2", "a tool's description or schema changed", avoidable,
     "freeze the tools for the session"},
    {Leaf::tools_key_order, "P2.keyorder", "P2", "a tool's schema was written in another key order",
     avoidable, "serialise the schemas once, or with sorted keys"},
    {Leaf::system_clock, "P3.clock", "P3", "a date or time in the system prompt changed", avoidable,
     "take the clock out of the system prompt; give the model a tool for it"},
    {Leaf::system_uuid, "P3.uuid", "P3", "a random id in the system prompt changed", avoidable,
     "take the id out of the system prompt"},
    {Leaf::system_path, "P3.path", "P3", "a path in the system prompt changed", avoidable,
     "put paths that change behind the last marker"},
    {Leaf::system_other, "P3.other", "P3", "the system prompt changed", avoidable,
     "put what changes behind the last marker"},
    {Leaf::message_mutated, "P4.mutated", "P4", "an earlier message changed", avoidable,
     "append what is new instead of rewriting a message"},
    {Leaf::message_deleted, "P4.deleted", "P4", "an earlier message was left out", avoidable,
     "keep the history, and compact it once instead of trimming it call by call"},
    {Leaf::message_inserted, "P4.inserted", "P4", "a message was put between earlier ones",
     avoidable, "append it at the end"},
    {Leaf::message_reordered, "P4.reordered", "P4", "earlier messages came in another order",
     avoidable, "keep the order in which they were first sent"},
    {Leaf::message_reserialized, "P4.reserialized", "P4",
     "an earlier message was written otherwise, with the same content", avoidable,
     "send again the bytes that were sent before"},
    {Leaf::param_tool_choice, "P5.tool_choice", "P5", "tool_choice changed", avoidable,
     "keep tool_choice for the session"},
    {Leaf::param_thinking, "P5.thinking", "P5", "thinking or effort changed", avoidable,
     "keep thinking and effort for the session"},
    {Leaf::param_verbosity, "P5.verbosity", "P5", "verbosity changed", avoidable,
     "keep verbosity for the session"},
    {Leaf::param_format, "P5.format", "P5", "the output format changed", avoidable,
     "ask for structured output in a call of its own"},
    {Leaf::param_betas, "P5.betas", "P5", "the set of beta features changed", avoidable,
     "send the same betas with every call"},
    {Leaf::param_context_management, "P5.context_management", "P5", "context_management changed",
     avoidable, "keep it for the session"},
    {Leaf::param_image, "P5.image", "P5", "images appeared or went", avoidable,
     "show images in a subagent"},
    {Leaf::param_speed, "P5.speed", "P5", "speed changed", avoidable,
     "keep one speed for the session"},
    {Leaf::marker_missing, "P6.missing", "P6", "no cache marker where one was needed", avoidable,
     "mark the end of every request"},
    {Leaf::marker_lookback, "P6.lookback", "P6",
     "the markers are too far behind what was cached for the provider to look back", avoidable,
     "keep a marker where the last request ended"},
    {Leaf::marker_ttl_flip, "P6.ttl_flip", "P6", "the marker's lifetime changed", avoidable,
     "keep one lifetime for the session"},
    {Leaf::marker_too_many, "P6.count", "P6", "more markers than the provider takes", avoidable,
     "send at most four markers"},
    {Leaf::marker_ttl_order, "P6.ttl_order", "P6", "a longer lifetime behind a shorter one",
     avoidable, "put markers of one hour before those of five minutes"},
    {Leaf::below_minimum, "P7", "P7", "the prefix is shorter than the model caches", provider, ""},
    {Leaf::scope_key, "P8.key", "P8", "the cache key changed", avoidable,
     "derive the cache key from the session"},
    {Leaf::scope_tier, "P8.tier", "P8", "the service tier changed", avoidable,
     "keep one tier for the session"},
    {Leaf::scope_workspace, "P8.workspace", "P8", "the workspace or account changed", avoidable,
     "keep one workspace for the session"},
    {Leaf::scope_region, "P8.region", "P8", "the region changed", avoidable,
     "pin the region for the session"},
    {Leaf::scope_provider, "P8.provider", "P8", "the provider's route changed", avoidable,
     "pin the provider for the session"},
    {Leaf::ttl, "T1", "T1", "the cache expired before the call", avoidable,
     "one-hour markers, or a ping that keeps the cache warm"},
    {Leaf::ttl_by_generation, "T2", "T2",
     "expired; counted from the end of the answer before it would have lived", avoidable,
     "one-hour markers"},
    {Leaf::concurrency, "C1", "C1", "started before the call that writes the cache had answered",
     avoidable, "let one call begin to answer before its siblings start"},
    {Leaf::server_strip, "S1", "S1", "the model drops earlier thinking on a plain user turn",
     provider, ""},
    {Leaf::granularity, "R1", "R1", "less than one block of the provider's cache", provider, ""},
    {Leaf::provider, "U1", "U1", "should have been read: evicted, or routed elsewhere", provider,
     ""},
    {Leaf::unmeasured, "U2", "U2", "the usage was not reported", unknown, ""},
}};

}  // namespace

const LeafInfo& info_of(Leaf leaf) {
  const LeafInfo& info = kLeaves.at(static_cast<std::size_t>(leaf));
  DAYBOOK_CHECK(info.leaf == leaf);
  return info;
}

RemedyCost remedy_cost(Leaf leaf) {
  const LeafInfo& info = info_of(leaf);
  if (info.remedy.empty()) return RemedyCost::none;
  if (info.family == "T1" || info.family == "T2") return RemedyCost::hour;
  // A compaction less is longer requests; another order of calls may be another session.
  if (leaf == Leaf::compaction) return RemedyCost::unknown;
  return RemedyCost::free;
}

std::optional<Leaf> leaf_of(std::string_view code) {
  for (const LeafInfo& info : kLeaves) {
    if (info.code == code) return info.leaf;
  }
  return std::nullopt;
}

std::string_view name_of(LeafKind kind) {
  switch (kind) {
    case intended:
      return "intended";
    case avoidable:
      return "avoidable";
    case provider:
      return "provider";
    case unknown:
      break;
  }
  return "unknown";
}

CauseSet CauseSet::of(Relation relation, std::vector<Leaf> leaves) {
  DAYBOOK_CHECK(!leaves.empty());
  std::ranges::sort(leaves);
  leaves.erase(std::unique(leaves.begin(), leaves.end()), leaves.end());
  return {leaves.size() == 1 ? Relation::sole : relation, std::move(leaves)};
}

bool CauseSet::contains(Leaf leaf) const {
  return std::ranges::find(leaves, leaf) != leaves.end();
}

std::vector<Leaf> leaves_of(std::span<const std::string_view> names) {
  std::vector<Leaf> leaves;
  for (const LeafInfo& info : kLeaves) {
    const bool wanted = std::ranges::any_of(
        names, [&](std::string_view name) { return name == info.family || name == info.code; });
    if (wanted) leaves.push_back(info.leaf);
  }
  return leaves;
}

std::string CauseSet::code() const {
  if (relation == Relation::sole) return std::string(code_of(leaves.front()));
  std::string out;
  std::string_view whole;  // family that was named as a whole
  for (const Leaf leaf : leaves) {
    const LeafInfo& info = info_of(leaf);
    if (info.family == whole) continue;
    const auto family = leaves_of({info.family});
    const bool all = relation == Relation::one_of &&
                     std::ranges::all_of(family, [&](Leaf each) { return contains(each); });
    if (all) whole = info.family;
    if (!out.empty()) out += ',';
    out += all ? info.family : info.code;
  }
  return (relation == Relation::joint ? "joint{" : "one_of{") + out + "}";
}

}  // namespace daybook::replay
