// Numbers with the word for what they count.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace daybook::tools {

/// "1 call", "1,234 calls". `many` "": `one` with an s.
std::string counted(std::uint64_t number, std::string_view one, std::string_view many = "");

}  // namespace daybook::tools
