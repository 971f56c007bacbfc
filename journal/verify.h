// Reads everything a journal holds and compares it with itself.
#pragma once

#include "journal/journal.h"
#include "journal/store.h"

namespace daybook::journal {

/// Memory: one record per session and per distinct blob; histories are streamed.
Result<VerifyReport> verify_store(Store& store, const Refold& refold);

}  // namespace daybook::journal
