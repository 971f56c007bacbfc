// What every reading command does first: find the journal, open it beside its writer, find the
// session.
#pragma once

#include "tools/command.h"

namespace daybook::tools {

/// Opens read-only the journal that --journal or the configuration names.
Result<std::unique_ptr<journal::Journal>> open_for_reading(Context& context,
                                                           const Arguments& arguments);

/// The folder of the journal, absolute.
Result<std::string> journal_folder(const Context& context, const Arguments& arguments);

/// Whether `path` is `folder` or lies below it, links resolved as far as they exist.
bool is_inside(const std::string& path, const std::string& folder);

/// `given` is a session's name or a start of it that only one has. Errors: `invalid_argument`
/// (several match: lists them), `not_found` (names the nearest or the first few).
Result<journal::SessionInfo> find_session(journal::Journal& journal, std::string_view given);

/// `not_found` when the session has no such version.
Result<void> check_version(const journal::SessionInfo& info, std::uint64_t version);

}  // namespace daybook::tools
