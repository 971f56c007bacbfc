// What a server may put into its response headers.
#include <cstdint>
#include <string>

#include "engine/http_headers.h"
#include "schema/result.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace daybook::engine;
  const std::string value(reinterpret_cast<const char*>(data), size);
  for (const char* name : {"retry-after", "retry-after-ms"}) {
    for (const std::int64_t now_ns : {std::int64_t{0}, std::int64_t{1'700'000'000'000'000'000}}) {
      const auto wait_ms = retry_after_ms({{name, value}}, now_ns);
      DAYBOOK_CHECK(!wait_ms || *wait_ms >= 0);
    }
  }
  const HttpHeaders headers = {
      {"content-type", value}, {"x-ratelimit-reset", value}, {value, value}};
  DAYBOOK_CHECK(media_type(headers).size() <= size);
  DAYBOOK_CHECK(notable_headers(headers).size() <= headers.size());
  return 0;
}
