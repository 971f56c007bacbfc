// Every model request ever sent, rebuilt from the journal and compared with the digest recorded
// before it was sent.
#pragma once

#include <functional>
#include <string>

#include "journal/journal.h"

namespace daybook::replay {

struct RebuiltRequest {
  std::uint64_t version = 0;  // of its ModelRequested
  std::uint32_t request = 0;
  std::uint32_t attempt = 0;
  std::string lineage;  // "compaction": asks for a summary
  std::string body;
  bool identical = false;  // to what was sent, by size and digest
  /// When this build would render the new messages otherwise than recorded: which one, counted
  /// from the first message of the request. -1: all alike.
  std::int64_t first_difference = -1;
};

/// Visits the requests in order; the visitor returns false to stop. Strict: damage is an error.
/// A request of a wire format that this build does not know is `unsupported`.
Result<void> rebuild_requests(journal::Journal& journal, const SessionId& session,
                              const std::function<bool(const RebuiltRequest&)>& visit);

}  // namespace daybook::replay
