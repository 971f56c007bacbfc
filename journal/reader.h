// Reading a store: heads, streams, the global order, blobs, requests, checkpoints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "journal/journal.h"
#include "journal/store.h"

namespace daybook::journal {

// Each is the method of Journal of the same name, on one open store.
Result<Head> read_head(Store& store, const SessionId& session);
Result<void> read_session(Store& store, const SessionId& session, std::uint64_t from, ReadMode mode,
                          const EntryVisitor& visit);
Result<void> read_tail(Store& store, std::uint64_t from, const EntryVisitor& visit);
Result<std::vector<SessionInfo>> read_sessions(Store& store, std::string_view prefix);
Result<std::string> read_blob(Store& store, const BlobRef& ref);
Result<std::optional<RequestRecord>> read_request(Store& store, std::string_view scope,
                                                  std::string_view id);

/// The blob's stored bytes, unchecked; nothing when there is none.
Result<std::optional<std::string>> stored_blob(Store& store, const Digest& digest);

}  // namespace daybook::journal
