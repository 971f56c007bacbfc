// A scored summary as people and programs read it.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "replay/case_score.h"
#include "tools/command.h"

namespace daybook::tools {

/// Prints the gate's word, the scores, and every fact that is missing, contradicted or invented.
void print_score(Context& context, const replay::PreparedCase& of, std::string_view summary,
                 const engine::SummaryReply& reply, bool json);

}  // namespace daybook::tools
