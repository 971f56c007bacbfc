// The executor that runs its tools in this process, without confinement.
#pragma once

#include <functional>
#include <memory>

#include "executor/executor.h"
#include "executor/tool.h"

namespace daybook::executor {

/// `on_close` runs once, at close() or destruction, whichever comes first. Tools are called from
/// any thread; those of a read-only effect concurrently.
std::unique_ptr<Executor> make_direct_executor(Tools tools, std::function<void()> on_close);

}  // namespace daybook::executor
