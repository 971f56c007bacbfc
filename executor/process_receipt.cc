#include "executor/process_receipt.h"

namespace daybook::executor {

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
