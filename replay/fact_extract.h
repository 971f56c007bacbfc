// The parts of fact extraction; each adds the facts of its types, without weights.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "replay/facts.h"

namespace daybook::replay {

/// Collects facts; a fact with a known type and key moves to its newest place instead.
class FactCollector {
 public:
  void add(Fact fact);
  std::vector<Fact> take() { return std::move(facts_); }

 private:
  struct Slot {
    std::uint64_t key = 0;
    std::uint32_t at = 0;
  };
  void grow();
  std::vector<Fact> facts_;
  std::vector<Slot> slots_ = std::vector<Slot>(256);
};

void extract_user_facts(const engine::PreparedSpan& span, FactCollector& out);
void extract_assistant_facts(const engine::PreparedSpan& span, FactCollector& out);
void extract_tool_facts(const engine::PreparedSpan& span, FactCollector& out);
void extract_entity_facts(const engine::PreparedSpan& span, FactCollector& out);

/// A sentence of prose: ends at a line's end, or at ". ", "! ", "? ", "; " or their wide forms.
std::string_view take_sentence(std::string_view& rest);

/// The words that tell the sentence from others: no common ones, no repetition.
std::vector<std::uint32_t> telling_words(std::string_view text);

/// One word as telling_words has it: without its ending.
std::uint32_t telling_hash(std::string_view word);

/// The same for every way of saying that a file is changed ("edit", "touch", "delete"); 0: it says
/// something else. Also for one word of telling_hash.
std::uint32_t change_hash(std::uint32_t telling);

/// The key of a file by its name alone; 0: the chunk names none.
std::uint64_t file_key(const engine::Chunk& chunk, bool strict);

/// A fact of a sentence, keyed by its telling words.
Fact sentence_fact(FactType type, std::string_view sentence, std::size_t item);

// Which sentences are facts; the audit measures these four.
bool is_mandate(std::string_view sentence);
bool is_decision(std::string_view sentence);
bool is_failed_attempt(std::string_view sentence);
bool is_plan(std::string_view sentence);
/// A line of output that reports an error; a user's or model's prose is not asked.
bool is_error_line(std::string_view line);

}  // namespace daybook::replay
