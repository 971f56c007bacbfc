// A list that is cheap to copy and to grow: lists that grew from one another share their memory.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace daybook::replay {

/// The beginning of a vector that it may share with longer and shorter lists. Growing the longest
/// of them costs what is added; growing a shorter one otherwise than that copies it. Elements never
/// change; pointers to them are valid until a list that shares them grows. Not thread-safe.
template <class T>
class GrowingList {
 public:
  using value_type = T;
  using const_iterator = const T*;

  GrowingList() = default;
  explicit GrowingList(std::vector<T> values) : size_(values.size()) {
    if (size_ > 0) trunk_ = std::make_shared<std::vector<T>>(std::move(values));
  }

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  const T& operator[](std::size_t i) const { return (*trunk_)[i]; }
  const T& front() const { return trunk_->front(); }
  const T& back() const { return (*trunk_)[size_ - 1]; }
  const T* begin() const { return trunk_ == nullptr ? nullptr : trunk_->data(); }
  const T* end() const { return begin() + size_; }

  void push_back(T value) {
    if (trunk_ == nullptr) trunk_ = std::make_shared<std::vector<T>>();
    if (size_ < trunk_->size()) {
      // Another list grew first; by the same value, when a request is sent again.
      if ((*trunk_)[size_] == value) {
        ++size_;
        return;
      }
      trunk_ = std::make_shared<std::vector<T>>(begin(), end());
    }
    trunk_->push_back(std::move(value));
    ++size_;
  }
  /// To its first `size` elements, at most as many as it has.
  void shorten(std::size_t size) { size_ = size; }

  /// Whether the shorter of the two is known to be the beginning of the other, without looking.
  bool shares(const GrowingList& other) const { return trunk_ == other.trunk_; }

 private:
  std::shared_ptr<std::vector<T>> trunk_;
  std::size_t size_ = 0;
};

}  // namespace daybook::replay
