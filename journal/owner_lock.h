// One writer per journal: a lock file that says who holds it.
#pragma once

#include <string>

#include "schema/result.h"

namespace daybook::journal {

/// Held until destroyed; the kernel drops it when the process dies, however it dies.
class OwnerLock {
 public:
  /// `owner` is shown to whoever is refused. Errors: `busy` naming the holder, `permission`,
  /// `no_space`, `io`.
  static Result<OwnerLock> take(const std::string& path, const std::string& owner);

  OwnerLock(OwnerLock&& other) noexcept;
  OwnerLock& operator=(OwnerLock&&) = delete;
  ~OwnerLock();

 private:
  explicit OwnerLock(int fd) : fd_(fd) {}
  int fd_;
};

/// Result code and advice for an errno of the operating system.
Error os_error(int number, const std::string& what);

}  // namespace daybook::journal
