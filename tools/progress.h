// What a running turn shows: progress lines on standard error, or events as JSON on standard
// output.
#pragma once

#include <memory>

#include "engine/driver.h"
#include "tools/command.h"

namespace daybook::tools {

/// `endpoint` is the model's, as errors name it.
std::unique_ptr<engine::Observer> make_progress(Context& context, std::string endpoint);
std::unique_ptr<engine::Observer> make_event_stream(Context& context, journal::Journal& journal);

}  // namespace daybook::tools
