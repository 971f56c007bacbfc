// The actions of `daybook replay`, one file each.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tools/command.h"

namespace daybook::tools {

Result<int> replay_list(Context& context, const Arguments& arguments);
Result<int> replay_run(Context& context, const Arguments& arguments);
Result<int> replay_report(Context& context, const Arguments& arguments);
Result<int> replay_show(Context& context, const Arguments& arguments);
Result<int> replay_score(Context& context, const Arguments& arguments);
Result<int> replay_probe(Context& context, const Arguments& arguments);
Result<int> replay_session(Context& context, const Arguments& arguments);

/// The action's one operand, such as a recorded compaction; an error says what it should be.
Result<std::string> replay_operand(const Arguments& arguments, std::string_view what);

}  // namespace daybook::tools
