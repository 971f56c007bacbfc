// What of an earlier summary still stands after the span that followed it.
#pragma once

#include <string>
#include <vector>

#include "engine/span.h"
#include "replay/span_records.h"

namespace daybook::replay {

struct PriorLine {
  std::size_t section = 0;  // in kSummaryHeadings
  std::string text;
};

/// Its lines in order, at most `limit` bytes of them. Left out are: lines about files or commands
/// that the span touched or ran again, lines with another value for what users or model measure in
/// it, the state, commands and next step when the span has newer ones, what the user's messages say
/// anyway, and what other programs put around a summary. The sections of Claude Code's summaries
/// count as ours; a text without any headings is all of it state.
std::vector<PriorLine> prior_lines(const std::vector<engine::PastItem>& items,
                                   const SpanRecords& records, std::size_t limit);

}  // namespace daybook::replay
