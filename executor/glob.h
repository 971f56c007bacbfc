// File name patterns: `*`, `?` and `[...]` within one name, `**` for any number of folders.
#pragma once

#include <string_view>

namespace daybook::executor {

/// Whether one name (no slash) matches. `?` is one UTF-8 character; time is linear in the product
/// of the lengths. An unclosed `[` is an ordinary character.
bool match_name(std::string_view pattern, std::string_view name);

/// Whether a relative path matches component by component, from its first one on.
bool match_path(std::string_view pattern, std::string_view path);

}  // namespace daybook::executor
