// Which recorded compactions a command is about.
#pragma once

#include "replay/recorded_compaction.h"
#include "tools/command.h"

namespace daybook::tools {

/// Those of the sessions named, or of all, in the order of the sessions' names. A session that
/// cannot be found, or that is damaged, is an error.
Result<std::vector<replay::RecordedCompaction>> wanted_compactions(
    journal::Journal& journal, const std::vector<std::string>& sessions);

/// "SESSION@VERSION" with the session's whole name; the start of one that only one has will do.
Result<std::string> wanted_case(journal::Journal& journal, const std::string& id);

}  // namespace daybook::tools
