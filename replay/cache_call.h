// A model call as a provider's cache sees it: segments in the provider's layout, where it may be
// cached, in which scope, with which settings. Plain data: whoever knows a call can fill one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "replay/call.h"
#include "replay/segment_list.h"

namespace daybook::replay {

/// The prefix up to the end of a segment may be cached.
struct CacheMark {
  std::uint32_t segment = 0;
  schema::CacheTtl ttl = schema::CacheTtl::minutes_5;
  bool operator==(const CacheMark&) const = default;
};

/// What a cache entry belongs to; parts that are not known are "".
struct CacheScope {
  std::string provider;  // route: another one has another cache
  std::string model;
  std::string key;
  std::string tier;
  std::string workspace;
  std::string region;
  bool operator==(const CacheScope&) const = default;
  /// Whether they are the same in all parts that both know.
  bool may_be(const CacheScope& other) const;
};

/// A setting that reaches the prompt, by the name of its leaf: "tool_choice", "thinking",
/// "verbosity", "format", "betas", "context_management", "image", "speed".
struct CacheParam {
  std::string name;
  std::string value;
  bool operator==(const CacheParam&) const = default;
};

/// When something happened, as far as it is known: between the two. UTC ns; 0: not known.
struct TimeSpan {
  std::int64_t earliest = 0;
  std::int64_t latest = 0;
  bool known() const { return latest != 0; }
  bool operator==(const TimeSpan&) const = default;
};

/// What passed between two of them. Nanoseconds.
struct TimeGap {
  std::int64_t least = 0;
  std::int64_t most = 0;
};
/// Nothing when one of them is not known.
std::optional<TimeGap> gap_between(const TimeSpan& from, const TimeSpan& to);

/// The call that counts, of one that a resumed or forked session repeats.
struct OriginalCall {
  std::string session;
  std::string lineage;
  std::uint64_t version = 0;
};

struct CacheCall {
  /// Set: a copy. Nothing was sent for it; it is what later calls of this session go on from.
  std::shared_ptr<const OriginalCall> original;
  std::string session;
  std::string parent;                 // session that this one continues or belongs to; "": none
  std::string lineage;                // chain of requests within the session
  std::string id;                     // the same for every copy
  std::uint64_t version = 0;          // of the answer
  std::uint64_t request_version = 0;  // of the request; 0: not known
  std::uint64_t base_version = 0;     // request this one grew from; 0: not known
  std::string provider_kind;
  CacheScope scope;
  std::vector<CacheParam> params;  // by name
  SegmentList segments;
  std::vector<CacheMark> marks;  // ascending
  /// What of the request is known. Not known markers are assumed at its end.
  schema::Evidence evidence = schema::Evidence::exact;

  std::int64_t start = 0;   // UTC ns; 0: not known
  bool start_exact = true;  // the next three as in Call
  std::int64_t not_before = 0;
  std::int64_t not_after = 0;
  std::int64_t first_byte = 0;
  std::int64_t end = 0;
  bool answered = true;
  bool after_compaction = false;
  bool forked = false;  // the session is a fork

  CallUsage usage;
  std::string verdict;  // the provider's own, as JSON; "": none
  std::vector<std::string> changed;

  /// When the request was sent.
  TimeSpan sent() const;
  /// All input tokens; absent when not measured. Without the writes it is the least they can be.
  std::optional<std::uint64_t> input() const;
  /// Uncached input tokens when it can be told.
  std::optional<std::uint64_t> uncached() const;
  std::uint64_t read() const { return usage.cache_read.value_or(0); }
  /// Whether the writes are told, by themselves or inside a total.
  bool writes_told() const { return usage.cache_write || usage.input_total; }
};

/// Names a chain of requests.
std::string chain_key(const std::string& session, const std::string& lineage);

/// A session's requests follow each other: one was not sent before the answer to the one before.
class StartBounds {
 public:
  /// Calls of a session come in their order.
  void narrow(CacheCall& call);

 private:
  std::unordered_map<std::string, std::int64_t> ends_;  // by session
};

/// The bytes of a segment, when they are at hand.
using SegmentBytes = std::function<std::optional<std::string>(const BlobRef&)>;

/// From a recorded call. `bytes` serves settings, content blocks and reasoning within messages;
/// without it a message counts as one block. Encodings that mean the same give the same content:
/// a string is one text block, cache markers within a segment count for nothing.
class CallReader {
 public:
  explicit CallReader(SegmentBytes bytes) : bytes_(std::move(bytes)) {}
  CacheCall read(const Call& call);

 private:
  /// What the latest call of a chain was made of, and its segments.
  struct Latest {
    RequestSegments request;
    SegmentList segments;
  };

  CacheSegment segment(const BlobRef& ref, CacheArea area);
  const SegmentList& segments(const Call& call, const std::string& chain);

  struct DigestHash {
    std::size_t operator()(const Digest& digest) const { return digest.lo; }
  };
  SegmentBytes bytes_;
  std::unordered_map<Digest, CacheSegment, DigestHash> known_;  // messages that were parsed
  std::unordered_map<std::string, Latest> latest_;              // by session and lineage
};

/// Settings from a request's parameters (JSON members without braces), by the names above.
void read_params(std::string_view head, CacheCall& call);

}  // namespace daybook::replay
