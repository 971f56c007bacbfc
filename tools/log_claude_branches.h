// The messages that a Claude transcript's requests were made of, in branches: people go back and
// try again, and two clients may go on from one session in turns.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "schema/event.h"

namespace daybook::tools {

class ClaudeBranches {
 public:
  /// Where an answer stands that is still being written.
  struct Slot {
    std::uint32_t branch = 0;
    std::size_t index = 0;
  };

  void append(const BlobRef& message) { here().messages.push_back(message); }
  Slot open_answer();
  void set_answer(const Slot& slot, const BlobRef& message);

  /// The line with this uuid stands at the end of what there is. All texts as JSON.
  void place(std::string_view uuid);
  /// Whether what hangs on `parent` belongs to another branch than the current one.
  bool is_elsewhere(std::string_view parent) const;
  /// Goes to the branch that holds `parent`.
  void go_to(std::string_view parent);
  /// Goes there, and, when answers follow it, makes another branch of what is up to it. Lines of
  /// parallel results hang on different ones of one answer's: they make none.
  void go_on_from(std::string_view parent);
  /// Nothing of what came before in this branch is sent any more.
  void begin_anew();

  /// Of what a request sent that ends at `slot`.
  struct Sent {
    std::size_t shared = 0;  // messages that the request before it began with as well
    std::vector<BlobRef> appended;
  };
  Sent sent(const Slot& slot) const;
  /// The latest request is the one that ends there.
  void set_sent(const Slot& slot);

 private:
  struct Branch {
    std::vector<BlobRef> messages;
    std::vector<std::size_t> answers;  // indexes in `messages`
  };
  struct Place {
    std::uint32_t branch = 0;
    std::size_t count = 0;  // messages up to it
  };

  /// The messages before an answer; none of a branch that was given up.
  std::span<const BlobRef> up_to(const Slot& slot) const;
  Branch& here() { return branches_[current_]; }
  const Place* find(std::string_view uuid) const;
  /// Whether the current branch begins with what is up to the place.
  bool is_here(const Place& place) const;

  std::map<std::uint32_t, Branch> branches_;  // by age
  std::uint32_t current_ = 0;
  std::uint32_t last_ = 0;
  std::vector<BlobRef> sent_;                        // by the latest request
  std::unordered_map<std::uint64_t, Place> places_;  // by hash of the uuid
  std::deque<std::uint64_t> place_order_;
};

}  // namespace daybook::tools
