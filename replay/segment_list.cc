#include "replay/segment_list.h"

#include <algorithm>

namespace daybook::replay {
namespace {

bool identical(const CacheSegment& a, const CacheSegment& b) {
  return a.content == b.content && a.raw == b.raw && a.area == b.area && a.bytes == b.bytes;
}

}  // namespace

SegmentList::SegmentList(std::span<const CacheSegment> segments) {
  for (const CacheSegment& segment : segments) push_back(segment);
}

void SegmentList::push_back(const CacheSegment& segment) {
  if (trunk_ == nullptr) trunk_ = std::make_shared<Trunk>();
  if (size_ < trunk_->segments.size()) {
    if (identical(trunk_->segments[size_], segment)) {
      ++size_;
      return;
    }
    auto own = std::make_shared<Trunk>();
    own->segments.assign(begin(), end());
    own->notes.assign(trunk_->notes.begin(),
                      trunk_->notes.begin() + static_cast<std::ptrdiff_t>(size_));
    trunk_ = std::move(own);
  }
  Notes notes = size_ == 0 ? Notes{} : trunk_->notes.back();
  if (segment.plain_user) notes.plain_end = static_cast<std::uint32_t>(size_ + 1);
  notes.image = notes.image || segment.image;
  trunk_->segments.push_back(segment);
  trunk_->notes.push_back(notes);
  ++size_;
}

std::shared_ptr<PromptChains>& SegmentList::chains() const {
  if (trunk_ == nullptr) trunk_ = std::make_shared<Trunk>();
  return trunk_->chains;
}

std::size_t common_prefix(const SegmentList& a, const SegmentList& b) {
  const std::size_t both = std::min(a.size(), b.size());
  if (a.shares(b)) return both;
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.begin() + both, b.begin()).first -
                                  a.begin());
}

}  // namespace daybook::replay
