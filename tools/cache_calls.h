// Calls of a journal's sessions in the order of their starts, as the cache analysis takes them.
#pragma once

#include <functional>
#include <iosfwd>
#include <set>
#include <string>
#include <vector>

#include "journal/journal.h"
#include "replay/cache_call.h"

namespace daybook::tools {

/// Returns false to stop.
using CacheCallVisitor = std::function<bool(replay::CacheCall)>;

/// Visits the calls of every session, merged by time: only sessions that overlap are read at once.
/// A call of a log is followed by a copy (CacheCall::original) for each other session that holds
/// it, or that begins with a history that ends with it. `only`: of this session alone; "": of all.
/// Damaged events are holes; how many there were comes back.
Result<std::uint64_t> visit_cache_calls(journal::Journal& journal, const std::string& only,
                                        const CacheCallVisitor& visit);

/// Visits the calls of log files and folders, figures only, in the order of their starts; copies
/// as above, where calls of their session follow.
/// `told` takes a sentence for each file that is passed over.
/// `sessions` is first told which sessions there are; its error ends the visit. `not_found` when
/// there is no log of a known kind. What was lost comes back, as losses_of tells it.
Result<std::vector<std::string>> visit_cache_log_calls(
    const std::vector<std::string>& paths, std::ostream& told,
    const std::function<Result<void>(const std::set<std::string>&)>& sessions,
    const CacheCallVisitor& visit);

/// Bytes of segments from the journal.
replay::SegmentBytes segment_bytes(journal::Journal& journal);

}  // namespace daybook::tools
