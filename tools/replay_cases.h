// Which recorded compactions a command is about.
#pragma once

#include "replay/recorded_compaction.h"
#include "tools/command.h"

namespace daybook::tools {

/// Those of the sessions named, or of all, in the order of the sessions' names. A session that
/// cannot be found, or that is damaged, is an error.
Result<std::vector<replay::RecordedCompaction>> wanted_compactions(
    journal::Journal& journal, const std::vector<std::string>& sessions);

}  // namespace daybook::tools
