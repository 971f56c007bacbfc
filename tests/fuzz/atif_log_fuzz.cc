// Any bytes as an ATIF document, at every depth: no crash, no hang.
#include "tests/fuzz/log_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  daybook::fuzz::read_log_every_way(daybook::tools::LogKind::atif, data, size);
  return 0;
}
