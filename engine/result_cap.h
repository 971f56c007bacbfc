// Tool results are bounded on arrival: what the model is sent never grows past the limit.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace daybook::engine {

inline constexpr std::size_t kResultBytes = 10'000;

/// `text` as UTF-8, if need be cut in the middle to at most `limit` bytes, with a marker that
/// says how much is missing and names the file holding all of it. Never splits a code point.
std::string cap_result(std::string_view text, std::size_t limit, std::string_view full_text_file);

}  // namespace daybook::engine
