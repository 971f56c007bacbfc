// The segments of a request. Requests that grow from one another share them, and what was worked
// out about their common beginning.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "schema/ids.h"

namespace daybook::replay {

/// In the order in which a prompt is laid out.
enum class CacheArea : std::uint8_t { tools, system, messages };

struct CacheSegment {
  CacheArea area = CacheArea::messages;
  Digest content;
  std::uint64_t bytes = 0;
  std::uint32_t blocks = 1;  // content blocks in it, as a provider counts its lookback
  bool plain_user = false;   // a message of a person, without a tool's result
  bool image = false;        // holds an image
  Digest stripped = {};      // content without its reasoning; zero: it has none
  std::uint64_t stripped_bytes = 0;
  Digest raw = {};  // of the recorded bytes, for showing them

  bool operator==(const CacheSegment& other) const { return content == other.content; }
};

/// Chained digests of a list's beginnings; cache_sim.cc keeps them.
struct PromptChains;

/// A list of segments, as GrowingList. Not thread-safe.
class SegmentList {
 public:
  using value_type = CacheSegment;
  using const_iterator = const CacheSegment*;

  SegmentList() = default;
  explicit SegmentList(std::span<const CacheSegment> segments);

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const CacheSegment& operator[](std::size_t i) const { return trunk_->segments[i]; }
  const CacheSegment& front() const { return trunk_->segments.front(); }
  const CacheSegment& back() const { return trunk_->segments[size_ - 1]; }
  const CacheSegment* begin() const {
    return trunk_ == nullptr ? nullptr : trunk_->segments.data();
  }
  const CacheSegment* end() const { return begin() + size_; }

  void push_back(const CacheSegment& segment);
  /// To its first `size` segments, at most as many as it has.
  void shorten(std::size_t size) { size_ = size; }
  void clear() { *this = {}; }

  /// Whether the shorter of the two is known to be the beginning of the other, without looking.
  bool shares(const SegmentList& other) const { return trunk_ == other.trunk_; }
  /// Index of the last message of a person, plus one; 0: there is none.
  std::size_t plain_user_end() const { return size_ == 0 ? 0 : trunk_->notes[size_ - 1].plain_end; }
  bool has_image() const { return size_ != 0 && trunk_->notes[size_ - 1].image; }
  /// Of this list and all that share with it; for an empty one a place that nothing else sees.
  std::shared_ptr<PromptChains>& chains() const;

 private:
  /// About the segments up to one.
  struct Notes {
    std::uint32_t plain_end = 0;
    bool image = false;
  };
  struct Trunk {
    std::vector<CacheSegment> segments;
    std::vector<Notes> notes;
    std::shared_ptr<PromptChains> chains;
  };

  mutable std::shared_ptr<Trunk> trunk_;
  std::size_t size_ = 0;
};

/// Segments that both begin with.
std::size_t common_prefix(const SegmentList& a, const SegmentList& b);

}  // namespace daybook::replay
