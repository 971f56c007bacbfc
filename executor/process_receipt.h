// From what a process did to the receipt of its call.
#pragma once

#include "executor/executor.h"
#include "executor/process.h"

namespace daybook::executor {

/// How a process ended and what it used. The receipt's output is stdout.
void describe(const ProcessResult& result, Receipt& receipt);

void describe(const KeptOutput& output, Receipt& receipt);

}  // namespace daybook::executor
