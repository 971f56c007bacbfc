// The blobs that an event names.
#pragma once

#include <functional>

#include "schema/event.h"

namespace daybook::journal {

/// Visits every blob reference of the event, in no order, some twice. A payload kind that this
/// build does not know names none.
void visit_blob_refs(const schema::Event& event, const std::function<void(const BlobRef&)>& visit);

}  // namespace daybook::journal
