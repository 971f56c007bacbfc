// Files beside the journal for what does not fit a message; read_file opens them. The journal keeps
// what is in them, so they are not synced.
#pragma once

#include <string>
#include <string_view>

namespace daybook::engine {

/// Writes `path` for its owner alone, in place of an older file of that name; its folder and the
/// folder above are made when missing. False: it could not be written.
bool write_spill(const std::string& path, std::string_view bytes);

}  // namespace daybook::engine
