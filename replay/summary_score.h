// How much of what a span held is in a text: which facts are there, missing, contradicted, and
// what the text makes up. An upper bound of what a reader will use: to be written is not to be
// understood. docs/scores.md
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "replay/facts.h"

namespace daybook::replay {

struct TypeScore {
  std::size_t facts = 0;
  std::size_t present = 0;
  double weight = 0;
  double present_weight = 0;
  /// 1 when there is no fact: nothing was lost.
  double survival() const { return weight == 0 ? 1 : present_weight / weight; }
};

enum class FactStatus : std::uint8_t { present, missing, contradicted, invented };
std::string_view name_of(FactStatus status);

/// One line of the side-by-side list.
struct ScoreLine {
  FactStatus status = FactStatus::missing;
  FactType type = FactType::mandate;  // invented: identifier, artifact or number
  std::string text;                   // of the span; invented: of the text
  std::string detail;
  std::string other;  // contradicted: what the text says instead
  double weight = 0;
  bool needed = false;
};

struct SummaryScore {
  std::uint32_t version = kScorerVersion;
  std::array<TypeScore, kFactTypes> types;
  TypeScore all;     // of all types together, weighted
  TypeScore needed;  // those that the continuation used
  std::size_t contradictions = 0;
  std::size_t entities = 0;                // that the text names
  std::size_t invented = 0;                // of them in no piece of the span
  std::optional<double> entity_precision;  // of those it names; absent: it names none
  std::vector<ScoreLine> lines;            // facts in the order of the set, then the invented

  double survival() const { return all.survival(); }
  double needed_recall() const { return needed.survival(); }
};

/// Scores any text against a span's facts: a summary, or the whole block that was sent in its
/// place. Linear in text, span and facts times the text's words that a fact shares.
SummaryScore score_text(const engine::PreparedSpan& span, const FactSet& facts,
                        std::string_view text);

/// Both views of one compaction: what the summariser kept, and what the model was sent.
struct CompactionScore {
  SummaryScore summary;
  SummaryScore block;
};
CompactionScore score_compaction(const engine::PreparedSpan& span, const FactSet& facts,
                                 std::string_view summary, std::string_view block);

}  // namespace daybook::replay
