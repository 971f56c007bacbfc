// Log files as the commands that do not store them take them, and what they say of what was lost.
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "tools/command.h"
#include "tools/log_source.h"

namespace daybook::tools {

/// The PATHs of a command line, from the folder it was given in. `invalid_argument` for an empty
/// one, which would be that folder.
Result<std::vector<std::string>> given_logs(const Context& context, const Arguments& arguments);

/// discover_logs over them; `not_found` when there is no log of a known kind. `told`: where it says
/// which files were passed over that are named like logs; may be null.
Result<Discovery> discover_given_logs(const std::vector<std::string>& paths, std::ostream* told);

/// `invalid_argument` when a journal is named besides PATH, which goes instead of it.
Result<void> check_no_journal(const Arguments& arguments);

/// One sentence for each loss: files, responses, damaged lines, the first of these with their
/// places. Empty: nothing is missing.
std::vector<std::string> losses_of(std::span<const SkippedFile> unread, const LogReport& report);

}  // namespace daybook::tools
