// Which calls of a span succeeded, and what they can prove.
#pragma once

#include <span>
#include <vector>

#include "engine/prepared_span.h"

namespace daybook::engine {

/// Pairs calls with results in order. A command that ended with another exit status than 0, that
/// timed out, or whose test report counts failures, has failed, whatever the tool said; so has an
/// edit whose result begins with a refusal or such a status, and any call whose result is an object
/// that says so. A command that goes on in the background has neither succeeded nor failed; it ends
/// where its session is asked again: that call can show what the command can.
std::vector<SpanCall> pair_calls(std::span<const SpanItem> items);

/// The folder that a call's command changes to first; "" for none.
std::string_view folder_of(std::string_view call);

/// What a tool of this name is for, over the tools of Daybook, Codex, Claude Code and OpenWorker.
std::uint8_t tool_classes(std::string_view tool);

}  // namespace daybook::engine
