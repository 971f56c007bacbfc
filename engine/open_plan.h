// What the newest plan of a span says is not begun.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/prepared_span.h"

namespace daybook::engine {

class OpenPlan {
 public:
  /// The plan that Claude Code ("todos") or Codex ("plan") wrote last. Items count as not begun
  /// only where the list is kept up: it was written more than once, or nothing was done since.
  explicit OpenPlan(const PreparedSpan& span);

  bool empty() const { return items_.empty(); }
  /// The item that the clause says is done; "" for none: most of its telling words are there, or
  /// the clause speaks of all tasks.
  std::string_view claimed_by(std::string_view clause) const;

 private:
  struct Item {
    std::string text;
    std::vector<std::string> words;  // small, the first letters
  };
  std::vector<Item> items_;
};

}  // namespace daybook::engine
