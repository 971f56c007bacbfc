// A summary made without a model: what code alone can say of a span. The arm that costs nothing,
// and the floor that others are compared with.
#pragma once

#include <string>
#include <string_view>

#include "engine/span.h"

namespace daybook::replay {

/// At most `limit` bytes, under the headings of every summary. Equal input gives equal bytes.
std::string mechanical_summary(const std::vector<engine::PastItem>& items, std::size_t limit);

}  // namespace daybook::replay
