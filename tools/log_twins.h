// Files that hold one log: compressed and plain, archived and active.
#pragma once

#include <vector>

#include "tools/log_source.h"

namespace daybook::tools {

/// Of twins the one that holds most, with the others in LogSource::twins. Twins have one name, and
/// one is the beginning of the other; or they are the same, and one was compressed or archived:
/// then the plain file counts before the compressed one, the active before the archived one. Files
/// of one name are read to be compared. Those that cannot be read are nobody's twins.
std::vector<LogSource> without_twins(std::vector<LogSource> sources);

}  // namespace daybook::tools
