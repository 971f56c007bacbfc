#include "journal/blob_refs.h"

#include <catch2/catch.hpp>
#include <set>

#include "tests/support/journal_events.h"
#include "tests/support/sample_events.h"

namespace daybook::tests {

TEST_CASE("every blob field that the schema has is visited") {
  std::size_t fields = 0;
  for (const SampleEvent& sample : sample_events(session_id("demo"))) {
    CAPTURE(sample.kind);
    const auto event = view_event(as_bytes(sample.bytes));
    REQUIRE(event.has_value());
    std::set<BlobRef> expected;
    for (const journal::Blob& blob : sample.blobs) expected.insert(blob.ref);
    std::set<BlobRef> visited;
    journal::visit_blob_refs(**event, [&](const BlobRef& ref) { visited.insert(ref); });
    CHECK(visited == expected);
    fields += expected.size();
  }
  // Counted by hand in schema/event.fbs, version 1.0: the sampler itself finds them.
  CHECK(fields >= 16);
}

}  // namespace daybook::tests
