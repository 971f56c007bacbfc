// current_time: how an agent learns the time, since no clock enters its context.
#pragma once

#include <memory>

#include "engine/clock.h"
#include "executor/tool.h"

namespace daybook::engine {

/// `clock` must outlive the tool.
std::unique_ptr<executor::Tool> make_current_time_tool(Clock& clock);

}  // namespace daybook::engine
