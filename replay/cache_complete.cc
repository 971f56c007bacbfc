#include "replay/cache_complete.h"

#include <algorithm>

#include "replay/cache_diff.h"
#include "replay/cache_ladder.h"
#include "replay/cache_sim.h"

namespace daybook::replay {
namespace {

constexpr std::size_t kChainsKept = 1024;

/// Bytes before the messages, as far as the call's total tells. Other sessions' figures would tell
/// more of theirs.
std::uint64_t head_bytes(const CacheCall& call) {
  if (!call.input()) return 0;
  std::uint64_t bytes = 0;
  for (const CacheSegment& segment : call.segments) bytes += segment.bytes;
  const double total = static_cast<double>(*call.input()) / kTokensPerByte;
  return static_cast<std::uint64_t>(std::max(1.0, total - static_cast<double>(bytes)));
}

/// The call's segments behind `head`. What it shares with the call before is not copied.
SegmentList headed(const CacheSegment& head, const SegmentList& segments,
                   const SegmentList& recorded, const SegmentList& completed) {
  SegmentList made;
  std::size_t shared = 0;
  if (!completed.empty() && segments.shares(recorded)) {
    made = completed;
    shared = std::min(recorded.size(), segments.size());
    made.shorten(shared + 1);
  } else {
    made.push_back(head);
  }
  for (std::size_t i = shared; i < segments.size(); ++i) made.push_back(segments[i]);
  return made;
}

}  // namespace

void RequestCompleter::mark(CacheCall& call, const Chain& before) const {
  schema::CacheTtl ttl = written_ttl(call);
  if (ttl == schema::CacheTtl::none) ttl = before.ttl;
  if (ttl == schema::CacheTtl::none) ttl = schema::CacheTtl::minutes_5;
  const std::size_t size = call.segments.size();
  const std::size_t messages = area_of(call, CacheArea::messages).size();
  call.marks.clear();
  const auto add = [&](std::size_t end) {
    call.marks.push_back({static_cast<std::uint32_t>(end - 1), ttl});
  };
  add(size - messages);
  // Clients keep a marker where the request ended that this one goes on from.
  const std::size_t shared = common_prefix(call.segments, before.completed);
  const auto end = std::find_if(before.ends.rbegin(), before.ends.rend(),
                                [&](std::size_t each) { return each <= shared; });
  if (end != before.ends.rend() && *end > size - messages && *end < size) add(*end);
  if (messages > 0) add(size);
}

/// One for the whole chain; of copies that of their originals.
CacheSegment RequestCompleter::head_of(const CacheCall& call, const std::string& key,
                                       const Chain& chain) const {
  if (!chain.completed.empty()) return chain.completed.front();
  if (call.original) {
    const auto found = chains_.find(chain_key(call.original->session, call.original->lineage));
    const bool known = found != chains_.end() && !found->second.completed.empty();
    if (known) return found->second.completed.front();
  }
  CacheSegment head;
  head.area = CacheArea::tools;
  head.content = Digest::of("head of " + key);
  head.bytes = head_bytes(call);
  return head;
}

void RequestCompleter::complete(CacheCall& call) {
  if (call.evidence != schema::Evidence::rebuilt) return;
  const std::string key = chain_key(call.session, call.lineage);
  Chain& chain = chains_[key];
  const CacheSegment head = head_of(call, key, chain);
  SegmentList recorded = call.segments;
  call.segments = headed(head, recorded, chain.recorded, chain.completed);
  if (book_.rules(call).lookup == CacheLookup::markers) mark(call, chain);
  chain.used = ++clock_;
  if (call.answered) {
    const std::size_t shared = common_prefix(call.segments, chain.completed);
    std::erase_if(chain.ends, [&](std::size_t end) { return end > shared; });
    chain.ends.push_back(call.segments.size());
    chain.recorded = std::move(recorded);
    chain.completed = call.segments;
    chain.ttl = call.marks.empty() ? schema::CacheTtl::none : call.marks.back().ttl;
  }
  if (chains_.size() > kChainsKept) {
    chains_.erase(
        std::ranges::min_element(chains_, {}, [](const auto& item) { return item.second.used; }));
  }
}

}  // namespace daybook::replay
