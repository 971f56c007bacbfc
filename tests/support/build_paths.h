// Where the source tree and the build folder are. In one small file instead of in everybody's
// flags, so that the compiler cache knows every other file again in another clone.
#pragma once

#include <string>

namespace daybook::tests {

/// Absolute; `below` is added as it is.
std::string source_path(const std::string& below = "");
std::string build_path(const std::string& below = "");

}  // namespace daybook::tests
