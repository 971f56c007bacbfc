#include "tests/support/memory_journal.h"

#include <catch2/catch.hpp>

#include "tests/journal/conformance.h"
#include "tests/support/journal_events.h"

namespace daybook::tests {
namespace {

class MemoryPlace : public JournalPlace {
 public:
  std::unique_ptr<journal::Journal> open() override {
    return std::make_unique<MemoryJournal>(store_);
  }

 private:
  std::shared_ptr<MemoryStore> store_ = std::make_shared<MemoryStore>();
};

TEST_CASE("the journal in memory does what every journal must") {
  journal_conformance([] { return std::make_unique<MemoryPlace>(); });
}

TEST_CASE("hooks refuse an append, or hold back its acknowledgement") {
  const auto store = std::make_shared<MemoryStore>();
  bool is_full = true;
  std::vector<std::function<void()>> held;
  MemoryHooks hooks;
  hooks.before_write = [&](const journal::Append&) {
    return is_full ? std::optional(Error{ErrorCode::no_space, "full"}) : std::nullopt;
  };
  hooks.complete = [&](std::function<void()> complete) { held.push_back(std::move(complete)); };
  MemoryJournal journal(store, hooks);
  auto pen = pen_for(session_id("demo"));
  const journal::Append append = acquire(pen);
  std::vector<bool> answers;
  const auto note = [&](const Result<journal::Appended>& result) {
    answers.push_back(result.has_value());
  };
  journal.append(append, note);
  CHECK(journal.head(session_id("demo"))->version == 0);
  is_full = false;
  journal.append(append, note);
  CHECK(journal.head(session_id("demo"))->version == 1);
  CHECK(answers.empty());
  for (const auto& complete : held) complete();
  CHECK(answers == std::vector<bool>{false, true});
}

}  // namespace
}  // namespace daybook::tests
