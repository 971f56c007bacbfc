// A session as a person reads it: one item per thing that was said, done or decided.
#pragma once

#include <string>
#include <vector>

#include "journal/journal.h"

namespace daybook::tools {

struct TranscriptItem {
  std::uint64_t version = 0;
  std::int64_t at_ns = 0;
  std::uint32_t turn = 0;
  /// Stable: life, turn, prompt, text, reasoning, call, decision, result, failure, approval,
  /// policy, notice, unknown, hole
  std::string kind;
  std::string title;  // one line, no text of others in it but names
  std::string body;   // as recorded: may hold anything
};

/// Items of one event, whose contents come from `journal`; a content that cannot be read is an
/// item that says so.
std::vector<TranscriptItem> transcript_items(journal::Journal& journal,
                                             const journal::Entry& entry);

}  // namespace daybook::tools
