// Hand-written compactions in tests/data/compaction/cases: a span, what came after it, and a good
// summary.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/summary_gate.h"

namespace daybook::tests {

struct CompactionCase {
  std::string name;
  std::string bytes;  // of the file; the views below point into it
  std::vector<engine::SpanItem> span;
  std::vector<std::string_view> continuation;
  std::string summary;

  CompactionCase() = default;
  CompactionCase(const CompactionCase&) = delete;
  CompactionCase& operator=(const CompactionCase&) = delete;
  CompactionCase(CompactionCase&&) = delete;
  CompactionCase& operator=(CompactionCase&&) = delete;
  ~CompactionCase() = default;
};

/// Every case, by name. A line "@@ kind [tool] [ok|fail]" starts each piece.
const std::vector<std::unique_ptr<const CompactionCase>>& compaction_cases();

/// Every piece of the span, one after the other.
std::string transcript_of(const CompactionCase& one);

}  // namespace daybook::tests
