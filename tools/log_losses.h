// Log files as the commands that do not store them take them, and what they say of what was lost.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tools/command.h"
#include "tools/log_source.h"

namespace daybook::tools {

/// The PATHs of a command line, from the folder it was given in. `invalid_argument` for an empty
/// one, which would be that folder.
Result<std::vector<std::string>> given_logs(const Context& context, const Arguments& arguments);

/// discover_logs over them; `not_found` when there is no log of a known kind.
Result<Discovery> discover_given_logs(const std::vector<std::string>& paths);

/// One sentence for each loss: files, responses, damaged lines, the first of these with their
/// places. Empty: nothing is missing.
std::vector<std::string> losses_of(std::span<const SkippedFile> unread, const LogReport& report);

}  // namespace daybook::tools
