// Time and randomness, the only door to both.
#pragma once

#include <cstdint>
#include <functional>

namespace daybook::engine {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual std::int64_t utc_ns() = 0;
  virtual std::uint64_t random() = 0;
  /// Calls `done` on the engine's thread at that time, or at once after cancel_wait. One wait at
  /// a time.
  virtual void wait_until(std::int64_t utc_ns, std::function<void()> done) = 0;
  virtual void cancel_wait() = 0;
};

}  // namespace daybook::engine
