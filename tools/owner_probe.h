// Whether a journal's writer is alive.
#pragma once

#include <string>

namespace daybook::tools {

/// How the process that writes the journal in `folder` describes itself; "" when none is alive.
/// Looks only: taking the lock, even for a moment, could turn a starting writer away.
std::string live_owner(const std::string& folder);

}  // namespace daybook::tools
