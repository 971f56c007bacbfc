#include "replay/facts.h"

#include <algorithm>
#include <array>

#include "replay/fact_extract.h"

namespace daybook::replay {
namespace {

using engine::PreparedSpan;
using engine::SpanItem;

std::size_t index_of(FactType type) {
  return static_cast<std::size_t>(type);
}

/// How much of its type's weight the fact carries.
double grade(const Fact& fact) {
  if (fact.type != FactType::artifact) return 1;
  if (fact.detail == "written") return 1;
  if (fact.detail == "edited" || fact.detail == "deleted") return 0.8;
  return 0.4;
}

/// The entities that a fact's sentence names, and the fact's own.
struct UseSink {
  const PreparedSpan& later;
  bool used = false;
  void word(const engine::Word&) {}
  void chunk(const engine::Chunk& chunk) {
    if (used) return;
    const engine::Entity entity = classify(chunk, true);
    if (entity.kind == engine::EntityKind::none || entity.kind == engine::EntityKind::number)
      return;
    used = later.sources_of(entity) != 0;
  }
  void stop(char) {}
};

bool is_used(const Fact& fact, const PreparedSpan& later) {
  if (fact.matcher == Matcher::entity) {
    engine::Entity entity;
    entity.kind = fact.kind;
    entity.text = fact.text;
    entity.key = fact.key;
    entity.dimension = fact.dimension;
    entity.value = fact.value;
    return later.sources_of(entity) != 0;
  }
  UseSink sink{later};
  engine::scan_text(fact.text, sink);
  return sink.used;
}

std::size_t first_user_item(const PreparedSpan& span) {
  const auto items = span.items();
  const auto found = std::find_if(items.begin(), items.end(), [](const auto& item) {
    return item.kind == engine::SpanKind::kUser;
  });
  return static_cast<std::size_t>(found - items.begin());
}

void weigh(std::vector<Fact>& facts, const PreparedSpan& span, const FactLimits& limits) {
  const std::size_t first = first_user_item(span);
  const double last = static_cast<double>(std::max<std::size_t>(1, span.items().size() - 1));
  for (Fact& fact : facts) {
    double recency = limits.oldest + (1 - limits.oldest) * static_cast<double>(fact.item) / last;
    double pinned = 1;
    if (fact.type == FactType::mandate) {
      recency = 1;  // what was demanded holds until it is taken back
      if (fact.item == first) pinned = limits.first_mandate;
    }
    fact.weight = limits.type_weight.at(index_of(fact.type)) * grade(fact) * recency * pinned *
                  (fact.needed ? limits.needed : 1);
  }
}

/// Heaviest first; ties by text, so that the order is always the same.
bool heavier(const Fact& a, const Fact& b) {
  if (a.type != b.type) return a.type < b.type;
  if (a.weight != b.weight) return a.weight > b.weight;
  if (a.item != b.item) return a.item > b.item;
  return a.text < b.text;
}

}  // namespace

std::string_view name_of(FactType type) {
  static constexpr std::array<std::string_view, kFactTypes> kNames = {
      "mandate",  "artifact", "identifier", "number",     "error",
      "decision", "failed",   "plan",       "last-action"};
  return kNames.at(index_of(type));
}

void FactCollector::add(Fact fact) {
  if (fact.matcher == Matcher::words && fact.words.empty()) return;
  const std::uint64_t key = engine::scan::mix(fact.key, static_cast<std::uint64_t>(fact.type)) | 1;
  std::size_t slot = key & (slots_.size() - 1);
  for (; slots_[slot].key != 0; slot = (slot + 1) & (slots_.size() - 1)) {
    if (slots_[slot].key != key) continue;
    Fact& known = facts_[slots_[slot].at];
    known.item = std::max(known.item, fact.item);
    if (known.subject == 0) known.subject = fact.subject;
    if (fact.type == FactType::artifact && grade(fact) > grade(known)) known.detail = fact.detail;
    return;
  }
  slots_[slot] = {key, static_cast<std::uint32_t>(facts_.size())};
  facts_.push_back(std::move(fact));
  if (facts_.size() * 2 > slots_.size()) grow();
}

void FactCollector::grow() {
  std::vector<Slot> slots(slots_.size() * 2);
  for (const Slot& old : slots_) {
    if (old.key == 0) continue;
    std::size_t slot = old.key & (slots.size() - 1);
    while (slots[slot].key != 0) slot = (slot + 1) & (slots.size() - 1);
    slots[slot] = old;
  }
  slots_.swap(slots);
}

FactSet extract_facts(const PreparedSpan& span, Continuation continuation,
                      const FactLimits& limits) {
  FactCollector collector;
  extract_user_facts(span, collector);
  extract_assistant_facts(span, collector);
  extract_tool_facts(span, collector);
  extract_entity_facts(span, collector);
  FactSet set;
  set.facts = collector.take();
  if (!continuation.empty()) {
    std::vector<SpanItem> items;
    items.reserve(continuation.size());
    for (const auto& text : continuation) items.push_back({engine::SpanKind::kToolCall, text});
    const PreparedSpan later(items);
    for (Fact& fact : set.facts) fact.needed = is_used(fact, later);
  }
  weigh(set.facts, span, limits);
  std::sort(set.facts.begin(), set.facts.end(), heavier);
  std::array<std::size_t, kFactTypes> kept{};
  std::erase_if(set.facts, [&](const Fact& fact) {
    return ++kept.at(index_of(fact.type)) > limits.most_of_a_type;
  });
  return set;
}

}  // namespace daybook::replay
