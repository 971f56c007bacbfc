// The part of the fold that is about compaction. Pure, as engine/state.h.
#pragma once

#include <cstdint>

#include "engine/state.h"

namespace daybook::engine {

/// Lineage of the requests that ask for a summary.
inline constexpr std::string_view kSummaryLineage = "compaction";

/// Whether the event is a compaction's own, or about a call of the summariser.
bool is_of_compaction(const SessionState& state, const schema::Event& event);

/// Applies such an event. Returns why it cannot follow the state, or null.
const char* evolve_compaction(SessionState& state, const schema::Event& event);

/// Mark of the block that stands for what was compacted.
schema::ViewMark block_mark();

/// All input tokens of a response as reported; 0 when nothing was.
std::uint64_t reported_input(const schema::Usage& usage);

}  // namespace daybook::engine
