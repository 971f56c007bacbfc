// Suggestions for a misspelt name.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace daybook::engine {

/// The known name that `word` most likely meant: fewest edits (a swap of neighbours is one),
/// at most a third of its length and never none in common; "" when nothing is near.
std::string nearest(std::string_view word, std::span<const std::string> known);

/// "; did you mean 'x'?" when a name is near, "; known: a, b, c" otherwise, "" with none known.
std::string suggestion(std::string_view word, std::span<const std::string> known);

}  // namespace daybook::engine
