// A process around the command line: its streams, environment, terminal and log.
#pragma once

#include <functional>
#include <memory>

#include "tools/command.h"

namespace daybook::tools {

using DiskJournal =
    std::function<Result<std::unique_ptr<journal::Journal>>(journal::RocksOptions options)>;

/// Whether DAYBOOK_LOG is a level; the error lists the known ones.
Result<void> check_log_level(const engine::Environment& environment);

/// Diagnostics go to stderr, so that stdout holds data alone, from the level on that DAYBOOK_LOG
/// names. What the database below the journal reports, it tells the journal too, whose errors are
/// sentences: it shows only when DAYBOOK_LOG is set. Error: `invalid_argument`, an unknown level.
Result<void> set_up_log(const engine::Environment& environment);

/// The whole of main: exit code of the command. `variables` is the process's environment.
int run_program(int argc, char** argv, char** variables, const DiskJournal& open);

}  // namespace daybook::tools
