// Tool results are bounded on arrival: what the model is sent never grows past the limit.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace daybook::engine {

inline constexpr std::size_t kResultBytes = 10'000;

/// `text` as UTF-8, if need be cut in the middle to at most `limit` bytes, with a marker that
/// says how much is missing and then `where` ("the full text is in FILE"). Never splits a code
/// point.
std::string cap_result(std::string_view text, std::size_t limit, std::string_view where);

}  // namespace daybook::engine
