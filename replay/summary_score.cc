#include "replay/summary_score.h"

#include <algorithm>
#include <cmath>

#include "engine/entity_audit.h"
#include "engine/summary_text.h"
#include "replay/fact_extract.h"
#include "replay/fact_subject.h"
#include "replay/text_index.h"

namespace daybook::replay {
namespace {

using engine::EntityKind;

void count(TypeScore& score, const Fact& fact, bool present) {
  ++score.facts;
  score.weight += fact.weight;
  if (!present) return;
  ++score.present;
  score.present_weight += fact.weight;
}

struct Finding {
  FactStatus status = FactStatus::missing;
  std::string other;
};

bool same_value(const Fact& fact, const TextIndex::Value& value) {
  if (fact.kind == EntityKind::version || fact.kind == EntityKind::host_port) {
    return fact.key == value.key;
  }
  return std::abs(fact.value - value.value) <= value.half_digit * 1.0001;
}

/// Another value for the same thing, where none of the span's own values stands.
const TextIndex::Value* contradiction(const FactSet& facts, const Fact& fact,
                                      const TextIndex& text) {
  if (fact.subject == 0) return nullptr;
  for (const auto& value : text.values()) {
    if (value.subject != fact.subject || value.kind != fact.kind ||
        value.dimension != fact.dimension) {
      continue;
    }
    // A value that the span held earlier is stale, which is not made up; it misses this fact only.
    const bool known = std::any_of(facts.facts.begin(), facts.facts.end(), [&](const Fact& other) {
      return other.subject == fact.subject && other.kind == fact.kind && same_value(other, value);
    });
    if (!known) return &value;
  }
  return nullptr;
}

/// Whether the value is nowhere in the span, whatever it is said of there.
bool is_nowhere(const engine::PreparedSpan& span, const TextIndex::Value& value) {
  // Of lines there are many.
  if (value.subject == engine::word_hash("line")) return false;
  struct Sink {
    const engine::PreparedSpan& span;
    bool known = false;
    void word(const engine::Word&) {}
    void chunk(const engine::Chunk& chunk) {
      known = known || span.sources_of(classify(chunk, false)) != 0;
    }
    void stop(char) {}
  } sink{span};
  engine::scan_text(value.text, sink);
  return !sink.known;
}

/// The value that the text gives instead of the fact's. One that the span has somewhere contradicts
/// only what is missing.
const TextIndex::Value* other_value(const engine::PreparedSpan& span, const FactSet& facts,
                                    const Fact& fact, const TextIndex& text, bool present) {
  const auto* other = contradiction(facts, fact, text);
  return other != nullptr && (!present || is_nowhere(span, *other)) ? other : nullptr;
}

Finding find_entity(const engine::PreparedSpan& span, const FactSet& facts, const Fact& fact,
                    const TextIndex& text) {
  const bool there = fact.kind == EntityKind::path   ? text.has_path(fact.text)
                     : fact.type == FactType::number ? text.has_quantity(fact)
                                                     : text.has_entity(fact.key, fact.text);
  if (const auto* other = other_value(span, facts, fact, text, there); other != nullptr) {
    return {FactStatus::contradicted, other->text};
  }
  return {there ? FactStatus::present : FactStatus::missing, {}};
}

/// A demand is turned with the figure in it: "keep port 8443", "the port was changed to 9443".
const TextIndex::Value* turned_figure(const engine::PreparedSpan& span, const FactSet& facts,
                                      const Fact& demand, const TextIndex& text) {
  for (const Fact& fact : facts.facts) {
    const bool figure = fact.matcher == Matcher::entity && fact.subject != 0 &&
                        demand.text.find(fact.text) != std::string::npos;
    if (!figure) continue;
    if (const auto* other = other_value(span, facts, fact, text, true); other != nullptr) {
      return other;
    }
  }
  return nullptr;
}

Finding find_words(const engine::PreparedSpan& span, const FactSet& facts, const Fact& fact,
                   const TextIndex& text) {
  const bool demand = fact.type == FactType::mandate;
  const auto match = demand ? text.find_demand(fact) : text.find_words(fact.words);
  if (match.found && !match.agrees) {
    return {FactStatus::contradicted, engine::excerpt(match.passage)};
  }
  if (demand) {
    if (const auto* other = turned_figure(span, facts, fact, text); other != nullptr) {
      return {FactStatus::contradicted, other->text};
    }
  }
  return {match.agrees ? FactStatus::present : FactStatus::missing, {}};
}

FactType type_of(EntityKind kind) {
  if (kind == EntityKind::path) return FactType::artifact;
  const bool number = kind == EntityKind::quantity || kind == EntityKind::number;
  return number ? FactType::number : FactType::identifier;
}

void add_invented(const engine::PreparedSpan& span, std::string_view text, SummaryScore& score) {
  const engine::EntityAudit audit = engine::audit_entities(span, text);
  score.entities = audit.entities;
  score.invented = audit.unknown.size();
  if (audit.entities > 0) score.entity_precision = audit.precision();
  for (const auto& entity : audit.unknown) {
    ScoreLine line;
    line.status = FactStatus::invented;
    line.type = type_of(entity.kind);
    line.text = engine::excerpt(entity.text);
    score.lines.push_back(std::move(line));
  }
}

}  // namespace

std::string_view name_of(FactStatus status) {
  switch (status) {
    case FactStatus::present:
      return "present";
    case FactStatus::missing:
      return "missing";
    case FactStatus::contradicted:
      return "contradicted";
    case FactStatus::invented:
      return "invented";
  }
  return "missing";
}

SummaryScore score_text(const engine::PreparedSpan& span, const FactSet& facts,
                        std::string_view text) {
  SummaryScore score;
  const TextIndex index(text);
  score.lines.reserve(facts.facts.size());
  for (const Fact& fact : facts.facts) {
    Finding finding = fact.matcher == Matcher::entity ? find_entity(span, facts, fact, index)
                                                      : find_words(span, facts, fact, index);
    const bool present = finding.status == FactStatus::present;
    count(score.types.at(static_cast<std::size_t>(fact.type)), fact, present);
    count(score.all, fact, present);
    if (fact.needed) count(score.needed, fact, present);
    if (finding.status == FactStatus::contradicted) ++score.contradictions;
    score.lines.push_back({finding.status, fact.type, fact.text, fact.detail,
                           std::move(finding.other), fact.weight, fact.needed});
  }
  add_invented(span, text, score);
  return score;
}

CompactionScore score_compaction(const engine::PreparedSpan& span, const FactSet& facts,
                                 std::string_view summary, std::string_view block) {
  return {score_text(span, facts, summary), score_text(span, facts, block)};
}

}  // namespace daybook::replay
