// What a compacted block is made of, gathered from the state and the events.
#pragma once

#include "engine/compacted_block.h"
#include "engine/compaction.h"
#include "engine/span.h"

namespace daybook::engine {

struct SourcedBlock {
  CompactedBlock block;
  WorkRecord work;  // as of the end of what is replaced
};

/// The block for the compaction that is open in `state`, whose span is `span`. An empty `summary`
/// needs a `reason`. Pure but for reading recorded bytes.
Result<SourcedBlock> source_block(journal::Journal& journal, const SessionState& state,
                                  const CompactionLimits& limits, std::span<const PastItem> span,
                                  std::string_view summary, std::string_view reason,
                                  std::string_view transcript_path);

/// Bytes that hold this many tokens, by this session's measure.
std::size_t bytes_for(const SessionState& state, std::uint64_t tokens);

}  // namespace daybook::engine
