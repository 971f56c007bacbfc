// What a transcript does not show of a request, as clients usually send it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "replay/cache_rules.h"

namespace daybook::replay {

/// Puts into rebuilt calls that something precedes their messages, of about the size that their
/// totals tell, and where clients set markers: behind what precedes the messages, where the latest
/// call that it goes on from ended, and at the end. Calls come in the order of their starts.
class RequestCompleter {
 public:
  explicit RequestCompleter(const CacheRuleBook& book) : book_(book) {}
  /// Calls of other evidence stay as they are. Copies share what precedes their originals'
  /// messages.
  void complete(CacheCall& call);

 private:
  /// The latest answered call, as recorded and as completed.
  struct Chain {
    SegmentList recorded;
    SegmentList completed;
    std::vector<std::size_t> ends;  // of the calls that `completed` begins with, and its own
    schema::CacheTtl ttl = schema::CacheTtl::none;
    std::uint64_t used = 0;
  };

  CacheSegment head_of(const CacheCall& call, const std::string& key, const Chain& chain) const;
  void mark(CacheCall& call, const Chain& before) const;

  const CacheRuleBook& book_;
  std::map<std::string, Chain> chains_;  // by session and lineage
  std::uint64_t clock_ = 0;
};

}  // namespace daybook::replay
