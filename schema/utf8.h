// UTF-8: validity, repair, and cuts that never split a code point.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace daybook {

bool is_utf8(std::string_view bytes);

/// Each maximal invalid sequence becomes U+FFFD.
std::string repair_utf8(std::string_view bytes);

/// Largest n <= limit such that bytes[0, n) does not end inside a code point.
std::size_t utf8_floor(std::string_view bytes, std::size_t limit);

/// Smallest n >= from such that bytes[n, end) does not start inside a code point.
std::size_t utf8_ceil(std::string_view bytes, std::size_t from);

/// The first line, cut to at most `limit` bytes.
std::string first_line(std::string_view text, std::size_t limit);

}  // namespace daybook
