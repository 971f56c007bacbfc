// Which entities a text names, and which of them its span does not know.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "engine/prepared_span.h"

namespace daybook::engine {

struct EntityAudit {
  std::size_t entities = 0;     // distinct ones
  std::vector<Entity> unknown;  // in no piece of the span; views into the text
  double precision() const {
    return entities == 0
               ? 1
               : static_cast<double>(entities - unknown.size()) / static_cast<double>(entities);
  }
};

/// Counts below 100 are the text's own and are left out. Linear in text and span.
EntityAudit audit_entities(const PreparedSpan& span, std::string_view text);

}  // namespace daybook::engine
