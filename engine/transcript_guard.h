// Texts in a transcript that look like its own labels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/span.h"

namespace daybook::engine {

/// A line that would read as a label of render_span ("[user]") gets a backslash in front, and so
/// does one that already has some before such a label: taking one off gives the text back. Every
/// other text stays as it is.
std::string guarded(std::string_view text);

/// The pieces with their texts guarded, to be rendered. Equal input gives equal output.
std::vector<PastItem> guarded(std::vector<PastItem> items);

}  // namespace daybook::engine
