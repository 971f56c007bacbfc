// From what a process did to the receipt of its call.
#pragma once

#include <chrono>
#include <cstdint>

#include "executor/executor.h"
#include "executor/process.h"

namespace daybook::executor {

/// Notes when a call starts; `stop` writes times and duration into the receipt.
class ReceiptClock {
 public:
  void stop(Receipt& receipt) const;

 private:
  std::chrono::system_clock::time_point utc_ = std::chrono::system_clock::now();
  std::chrono::steady_clock::time_point steady_ = std::chrono::steady_clock::now();
};

/// How a process ended and what it used. The receipt's output is stdout.
void describe(const ProcessResult& result, Receipt& receipt);

void describe(const KeptOutput& output, Receipt& receipt);

}  // namespace daybook::executor
