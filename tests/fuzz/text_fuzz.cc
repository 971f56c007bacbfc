// Output of commands and endpoints, any bytes: repaired, bounded, masked the same whole and in
// pieces, and matched against patterns that a model wrote.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "engine/result_cap.h"
#include "executor/glob.h"
#include "executor/secrets.h"
#include "schema/json.h"
#include "schema/utf8.h"

namespace {

using namespace daybook;

void check_masks(std::string_view text, std::size_t step) {
  executor::SecretMask mask;
  mask.add("abab", "***");
  mask.add("ab", "+");
  mask.add("bac", "");
  executor::SecretStream stream(mask);
  std::string out;
  for (std::size_t at = 0; at < text.size(); at += step) stream.feed(text.substr(at, step), out);
  stream.finish(out);
  DAYBOOK_CHECK(out == mask.masked(text));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::size_t number = data[0];
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  DAYBOOK_CHECK(is_utf8(repair_utf8(text)));
  const std::size_t cut = number % text.size();
  DAYBOOK_CHECK(utf8_floor(text, cut) <= cut && utf8_ceil(text, cut) >= cut);
  constexpr std::size_t kLimit = 300;
  const std::string capped = engine::cap_result(text, kLimit, "file");
  DAYBOOK_CHECK(is_utf8(capped) && capped.size() <= kLimit);
  std::string quoted;
  append_json_string(quoted, text);
  const auto parsed = parse_json(quoted);
  DAYBOOK_CHECK(parsed && parsed->is_string());
  check_masks(text, 1 + number % 7);
  (void)executor::match_name(text.substr(0, cut), text.substr(cut));
  (void)executor::match_path(text.substr(0, cut), text.substr(cut));
  return 0;
}
