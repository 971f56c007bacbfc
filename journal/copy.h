// A copy of a database, key by key: files may come and go in the original meanwhile.
#pragma once

#include "journal/store.h"

namespace daybook::journal {

/// Copies everything from a store opened for reading, which stands still, to an empty one, and
/// makes the copy durable.
Result<void> copy_store(Store& from, Store& to);

}  // namespace daybook::journal
