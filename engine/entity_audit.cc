#include "engine/entity_audit.h"

#include <unordered_set>

namespace daybook::engine {
namespace {

struct EntitySink {
  std::vector<Entity>& entities;
  std::unordered_set<std::uint64_t> seen;
  void word(const Word&) {}
  void chunk(const Chunk& chunk) {
    const Entity entity = classify(chunk, true);
    if (entity.kind == EntityKind::none) return;
    // Short counts are the summary's own: "the 3 open points".
    if (entity.kind == EntityKind::number && entity.printed < 100) return;
    if (seen.insert(entity.key).second) entities.push_back(entity);
  }
  void stop(char) {}
};

}  // namespace

EntityAudit audit_entities(const PreparedSpan& span, std::string_view text) {
  constexpr std::size_t kMostSearches = 64;  // of the whole span, so that the time stays linear
  std::vector<Entity> entities;
  EntitySink sink{entities, {}};
  scan_text(text, sink);
  EntityAudit audit;
  audit.entities = entities.size();
  for (const Entity& entity : entities) {
    const bool known = audit.unknown.size() < kMostSearches ? span.sources_of(entity) != 0
                                                            : span.knows(entity.key);
    if (!known) audit.unknown.push_back(entity);
  }
  return audit;
}

}  // namespace daybook::engine
