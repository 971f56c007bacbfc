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
  /// policy, notice, compaction, unknown, hole
  std::string kind;
  std::string title;  // one line, no text of others in it but names
  std::string body;   // as recorded: may hold anything
};

/// Takes a session's events in their order.
class Transcript {
 public:
  explicit Transcript(journal::Journal& journal) : journal_(journal) {}

  /// Items of the next event; a content that cannot be read is an item that says so.
  std::vector<TranscriptItem> items(const journal::Entry& entry);

 private:
  journal::Journal& journal_;
  bool of_summariser_ = false;  // the call whose outcome comes next
};

}  // namespace daybook::tools
