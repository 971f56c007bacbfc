// Any bytes as an export of Daybook: read for its calls, and put back as far as that goes. No
// crash, no hang.
#include "tests/fuzz/log_fuzz.h"
#include "tools/log_restore.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace daybook;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  fuzz::CheckingSink sink;
  const auto calls = tools::bytes_of(text);
  const auto report = tools::read_export_calls(*calls, sink);
  DAYBOOK_CHECK(report.has_value() && report->bytes <= size);
  const auto events = tools::bytes_of(text);
  // Without a journal everything fits but events of another session.
  const auto restored = tools::restore_export(*events, nullptr, nullptr);
  if (restored) DAYBOOK_CHECK(restored->report.damaged == report->damaged);
  return 0;
}
