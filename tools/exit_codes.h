// Exit codes: stable, documented in docs/exit-codes.md.
#pragma once

#include "schema/result.h"

namespace daybook::tools {

enum ExitCode : int {
  kExitOk = 0,
  kExitError = 1,          // the operating system, the disk, or a journal of a newer version
  kExitUsage = 2,          // command line or configuration
  kExitNotFound = 3,       // journal, session, file or key
  kExitBusy = 4,           // another process owns it, or a request id is known otherwise
  kExitNeedsDecision = 5,  // an approval or a reconciliation is open
  kExitDamaged = 6,        // bytes in the journal are not what was written
  kExitInterrupted = 7,
  kExitTurnFailed = 8,  // the provider refused or could not be reached
  kExitIterationLimit = 9,
  kExitLosses = 10,  // done, but not all of what was given could be understood
};

ExitCode exit_code_of(ErrorCode code);

}  // namespace daybook::tools
