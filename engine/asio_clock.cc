#include "engine/asio_clock.h"

#include <sys/random.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/system_timer.hpp>
#include <chrono>

#include "schema/result.h"

namespace daybook::engine {
namespace {

class AsioClock : public Clock {
 public:
  explicit AsioClock(boost::asio::io_context& io) : timer_(io) {}

  std::int64_t utc_ns() override {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(
               std::chrono::system_clock::now().time_since_epoch())
        .count();
  }

  std::uint64_t random() override {
    std::uint64_t value = 0;
    DAYBOOK_CHECK(getrandom(&value, sizeof value, 0) == sizeof value);
    return value;
  }

  void wait_until(std::int64_t utc_ns, std::function<void()> done) override {
    timer_.expires_at(std::chrono::system_clock::time_point(
        std::chrono::duration_cast<std::chrono::system_clock::duration>(
            std::chrono::nanoseconds(utc_ns))));
    timer_.async_wait([done = std::move(done)](boost::system::error_code) { done(); });
  }

  void cancel_wait() override { timer_.cancel(); }

 private:
  boost::asio::system_timer timer_;
};

}  // namespace

std::unique_ptr<Clock> make_asio_clock(boost::asio::io_context& io) {
  return std::make_unique<AsioClock>(io);
}

}  // namespace daybook::engine
