// The message that stands for what a compaction replaced.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/work_record.h"

namespace daybook::engine {

/// A message of the user, with its text at hand.
struct UserText {
  std::uint64_t version = 0;  // of its TurnStarted
  std::string text;
};

struct BlockParts {
  std::string_view summary;          // "": none could be made
  std::string_view reason;           // then: why
  std::string_view prior;            // and the last one that was accepted; "": there was none
  std::string_view first_prompt;     // the session's first message of the user
  std::vector<UserText> users;       // later ones that were replaced, oldest first
  std::uint32_t users_left_out = 0;  // by earlier compactions
  const WorkRecord* work = nullptr;
  std::string_view transcript;   // file that holds what was replaced; "": none could be written
  std::uint32_t number = 0;      // of the compaction
  std::size_t pinned_bytes = 0;  // budgets
  std::size_t users_bytes = 0;
  std::size_t work_bytes = 0;
};

struct CompactedBlock {
  std::string text;
  std::vector<UserText> users;       // quoted, oldest first
  std::uint32_t users_left_out = 0;  // all that are quoted no more
};

/// Equal parts give equal bytes. The newest messages of the user are quoted as far as their budget
/// goes; what is left out lies between them and the first, and the text says so.
CompactedBlock make_block(BlockParts parts);

}  // namespace daybook::engine
