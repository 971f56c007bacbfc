// Bytes that claim to be a RocksDB manifest: its whole records are a prefix that is whole itself.
#include <cstdint>
#include <string_view>

#include "journal/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::size_t whole = daybook::journal::whole_records(bytes);
  DAYBOOK_CHECK(whole <= size);
  DAYBOOK_CHECK(daybook::journal::whole_records(bytes.substr(0, whole)) == whole);
  return 0;
}
