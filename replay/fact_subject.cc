#include "replay/fact_subject.h"

#include "engine/word_table.h"

namespace daybook::replay {
namespace {

using engine::EntityKind;
using engine::word_hash;
using engine::WordSet;

/// Words that may stand between a measure and its number.
constexpr WordSet<128> kLinks(
    "is to of at was are now be from set stays stay remains remain the about around exactly auf "
    "von ist "
    "beträgt bei limit value must should shall has have been changed raised lowered increased "
    "reduced moved bumped keep kept muss soll bleibt wurde");
/// Between an old value and the new one.
constexpr WordSet<16> kBecomes("to auf");

/// Measures that people write as plain words.
constexpr WordSet<128> kMeasures(
    "timeout port delay interval ttl limit budget size latency throughput coverage "
    "retries threshold window deadline version python node rate capacity quota memory "
    "batch chunk frist grenze zeitlimit größe p50 p95 p99 rss line max min overlap depth "
    "rust go java postgres redis gcc cmake boost sqlite budget_ms");

}  // namespace

void SubjectFinder::word(const engine::Word& word) {
  last_ = word_hash(word.text);
  last_is_name_ = (word.mask & engine::scan::kUnderscore) != 0 || kMeasures.has(last_);
}

void SubjectFinder::stop(char c) {
  if (c == '\n' || c == ';' || c == ',') subject_ = 0;
}

std::uint64_t SubjectFinder::of(const engine::Entity& entity, const engine::Chunk& chunk) const {
  if (entity.kind == EntityKind::host_port) {
    return engine::text_hash(entity.text.substr(0, entity.text.rfind(':')));
  }
  const bool numeric = entity.kind == EntityKind::number || entity.kind == EntityKind::quantity ||
                       entity.kind == EntityKind::version;
  return numeric && chunk.joins < 8 ? subject_ : 0;
}

void SubjectFinder::chunk(const engine::Chunk& chunk, const engine::Entity& entity) {
  const bool number = entity.kind == EntityKind::number || entity.kind == EntityKind::quantity;
  const bool ends = chunk.text.back() == '.' || number;
  if (kBecomes.has(last_) && subject_ == 0) subject_ = before_;
  before_ = number && chunk.text.back() != '.' ? subject_ : 0;
  if (!ends && last_is_name_) {
    subject_ = last_;
  } else if (ends || !kLinks.has(last_)) {
    subject_ = 0;
  }
}

}  // namespace daybook::replay
