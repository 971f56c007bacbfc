// Text from a file that may have no end, such as a device.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>

namespace daybook::tools {

/// All of the stream, or its first `limit` bytes and one more when it is longer. What could not be
/// read leaves the stream bad.
std::string bounded_text(std::istream& in, std::size_t limit);

}  // namespace daybook::tools
