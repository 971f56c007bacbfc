// The files that compacted blocks name: what each compaction replaced, word for word.
#pragma once

#include <string>
#include <vector>

#include "engine/span.h"
#include "engine/state.h"
#include "journal/journal.h"

namespace daybook::engine {

/// "SPILL/SESSION/compaction-N.txt".
std::string transcript_file(const std::string& spill_folder, const std::string& session,
                            std::uint32_t number);

/// The text of such a file: the block that an earlier compaction left, if any, and the messages
/// after it.
std::string transcript_text(std::string_view block, std::vector<PastItem> items);

/// Writes those that are not there, from the events: a backup, an export and a moved journal have
/// none. Files of older versions, without the block or the guard, become what they were. Only a
/// text with the recorded digest is written, and only below `spill_folder`, whatever path was
/// recorded. What cannot be read or written is left out; the number of files written.
std::size_t restore_transcripts(journal::Journal& journal, const SessionState& state,
                                const std::string& spill_folder);

}  // namespace daybook::engine
