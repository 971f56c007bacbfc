// What every implementation of Journal must do: the executable form of journal/journal.h.
#pragma once

#include <functional>
#include <memory>

#include "journal/journal.h"

namespace daybook::tests {

/// A place where one journal lives for the length of a test case.
class JournalPlace {
 public:
  virtual ~JournalPlace() = default;
  /// Opens the journal for writing, making it the first time. One at a time.
  virtual std::unique_ptr<journal::Journal> open() = 0;
};

using MakePlace = std::function<std::unique_ptr<JournalPlace>()>;

/// Runs the suite; to be called within a Catch2 test case, as it opens sections.
void journal_conformance(const MakePlace& make_place);

}  // namespace daybook::tests
