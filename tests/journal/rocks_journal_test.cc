#include "journal/rocks_journal.h"

#include <catch2/catch.hpp>

#include "tests/journal/conformance.h"
#include "tests/support/memory_dir.h"
#include "tests/support/memory_files.h"

namespace daybook::tests {
namespace {

class RocksPlace : public JournalPlace {
 public:
  std::unique_ptr<journal::Journal> open() override {
    auto opened = journal::open_rocks_journal({.folder = dir_.str("journal"),
                                               .owner = "test",
                                               .post = {},
                                               .file_system = memory_files()});
    INFO((opened ? "" : opened.error().message));
    REQUIRE(opened.has_value());
    return std::move(*opened);
  }

 private:
  MemoryDir dir_;
};

}  // namespace

TEST_CASE("RocksDB journal conforms") {
  journal_conformance([] { return std::make_unique<RocksPlace>(); });
}

}  // namespace daybook::tests
