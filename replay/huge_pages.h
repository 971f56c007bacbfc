// Memory for tables that grow to many megabytes: in pages of 2 MiB where the kernel has them, which
// costs one fault instead of 512.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <new>

namespace daybook::replay {

template <class T>
struct HugePages {
  using value_type = T;

  HugePages() = default;
  template <class U>
  explicit(false) HugePages(const HugePages<U>&) {}

  T* allocate(std::size_t count) {
    constexpr std::size_t kPage = std::size_t{2} << 20;
    const std::size_t bytes = count * sizeof(T);
    const bool large = bytes >= kPage;
    void* made =
        large ? std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage) : std::malloc(bytes);
    if (made == nullptr) throw std::bad_alloc();
    // A wish: without such pages the others serve.
    if (large) ::madvise(made, bytes, MADV_HUGEPAGE);
    return static_cast<T*>(made);
  }
  void deallocate(T* held, std::size_t) { std::free(held); }
  bool operator==(const HugePages&) const = default;
};

}  // namespace daybook::replay
