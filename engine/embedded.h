// Data files of this folder, built into the program.
#pragma once

#include <string_view>

namespace daybook::engine {

extern const std::string_view kModelsToml;
extern const std::string_view kProfilesToml;

}  // namespace daybook::engine
