// A process around the command line: its streams, environment, terminal and log.
#pragma once

#include "tools/command.h"

namespace daybook::tools {

/// The whole of main: exit code of the command. `variables` is the process's environment.
int run_program(int argc, char** argv, char** variables, JournalOpener open_journal);

/// The journal on disk, for `run_program`.
Result<std::unique_ptr<journal::Journal>> open_disk_journal(const std::string& folder,
                                                            journal::OpenMode mode);

}  // namespace daybook::tools
