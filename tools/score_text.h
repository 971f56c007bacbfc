// A scored summary as people and programs read it.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>

#include "replay/case_score.h"
#include "tools/command.h"

namespace daybook::tools {

/// Where a summary of a replay stands.
struct ScoredUnit {
  std::string arm;
  std::uint64_t replicate = 1;
  std::uint64_t attempt = 1;  // the last that was made
  bool done = false;          // no further one follows
};

/// Prints the gate's word, the scores, and every fact that is missing, contradicted or invented.
void print_score(Context& context, const replay::PreparedCase& of, std::string_view summary,
                 const engine::SummaryReply& reply, bool json, const ScoredUnit* unit = nullptr);

}  // namespace daybook::tools
