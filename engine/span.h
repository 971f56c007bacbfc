// The part of a session that a compaction replaces, as the summariser reads it, the gate judges it
// and the transcript file keeps it.
#pragma once

#include <string>
#include <vector>

#include "engine/history.h"
#include "engine/summary_gate.h"

namespace daybook::engine {

/// One piece of the span, in order.
struct PastItem {
  SpanKind kind = SpanKind::kUser;
  std::string text;
  std::string tool;  // name: calls and results
  bool ok = true;    // results
  std::uint64_t version = 0;
};

/// Pieces of the messages that the events `first` to `last` completed; reasoning is left out. Calls
/// and results of other programs' logs come in the forms of span_result.h.
Result<std::vector<PastItem>> read_span(journal::Journal& journal, const SessionId& session,
                                        std::uint64_t first, std::uint64_t last);

/// What the newest block of the view says: the user's messages that it quotes, its summary, and the
/// working state. Nothing before the first compaction.
Result<std::vector<PastItem>> block_items(journal::Journal& journal, const SessionState& state);

/// All that the compaction open in `state` is to sum up: the block that goes, and the span.
Result<std::vector<PastItem>> summarised_items(journal::Journal& journal,
                                               const SessionState& state);

/// The pieces as the gate takes them: views.
std::vector<SpanItem> gate_items(const std::vector<PastItem>& items);

/// Readable text of the pieces, one labelled paragraph each. More than `limit` bytes are brought
/// below it: results of tools are shortened first, then pieces are left out of the middle, each
/// time with a note that says so.
std::string render_span(const std::vector<PastItem>& items, std::size_t limit);

}  // namespace daybook::engine
