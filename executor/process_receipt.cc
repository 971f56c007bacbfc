#include "executor/process_receipt.h"

namespace daybook::executor {

void ReceiptClock::stop(Receipt& receipt) const {
  using std::chrono::duration_cast;
  using std::chrono::nanoseconds;
  const auto took = std::chrono::steady_clock::now() - steady_;
  const auto begun = duration_cast<nanoseconds>(utc_.time_since_epoch()).count();
  receipt.started_at_ns = begun;
  receipt.ended_at_ns = begun + duration_cast<nanoseconds>(took).count();
  receipt.duration_ns = static_cast<std::uint64_t>(duration_cast<nanoseconds>(took).count());
}

void describe(const KeptOutput& output, Receipt& receipt) {
  receipt.output_bytes = output.total;
  receipt.output_kept = output.kept();
  receipt.output_digest = output.digest;
}

void describe(const ProcessResult& result, Receipt& receipt) {
  receipt.exit = result.exit;
  receipt.code = result.code;
  describe(result.out, receipt);
  receipt.user_time_us = result.user_time_us;
  receipt.system_time_us = result.system_time_us;
  receipt.max_rss_kib = result.max_rss_kib;
  receipt.survivors_killed = result.survivors_killed;
  receipt.error = result.error;
}

}  // namespace daybook::executor
