// A process around the command line: its streams, environment, terminal and log.
#pragma once

#include <functional>
#include <memory>

#include "tools/command.h"

namespace daybook::tools {

using DiskJournal =
    std::function<Result<std::unique_ptr<journal::Journal>>(journal::RocksOptions options)>;

/// The whole of main: exit code of the command. `variables` is the process's environment.
int run_program(int argc, char** argv, char** variables, const DiskJournal& open);

}  // namespace daybook::tools
