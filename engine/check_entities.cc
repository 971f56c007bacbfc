// G9: whatever the summary names must be in the span.
#include <algorithm>

#include "engine/entity_audit.h"
#include "engine/summary_text.h"

namespace daybook::engine {

void check_entities(const GateContext& context) {
  const EntityAudit audit = audit_entities(context.span, context.summary.text);
  context.result.entities = audit.entities;
  context.result.entity_precision = audit.precision();
  const auto hard_ones =
      static_cast<std::size_t>(std::count_if(audit.unknown.begin(), audit.unknown.end(), is_hard));
  const bool hard = hard_ones > context.limits.max_unknown_hard;
  // One soft name may be the summariser's own word.
  const bool soft =
      audit.precision() < context.limits.min_entity_precision && audit.unknown.size() > 1;
  if (!hard && !soft) return;
  for (const Entity& entity : audit.unknown) {
    if (soft || is_hard(entity)) context.add(GateCode::kUnknownEntities, excerpt(entity.text));
  }
}

}  // namespace daybook::engine
