// A summary made without a model: what code alone can say of a span. The arm that costs nothing,
// and the floor that others are compared with.
#pragma once

#include <string>
#include <string_view>

#include "engine/span.h"

namespace daybook::replay {

/// At most `limit` bytes, under the headings of every summary: the user's first and newest words,
/// files, commands with their ends, errors and open work from the records, and of an earlier
/// summary what the span does not overtake. What the gate would refuse is left out, as far as that
/// goes. Equal input gives equal bytes.
std::string mechanical_summary(const std::vector<engine::PastItem>& items, std::size_t limit);

}  // namespace daybook::replay
