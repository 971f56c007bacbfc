#include "engine/result_cap.h"

#include <catch2/catch.hpp>

#include "schema/utf8.h"

using daybook::engine::cap_result;

TEST_CASE("a short result is untouched") {
  CHECK(cap_result("abc", 10, "/f") == "abc");
  CHECK(cap_result(std::string(10'000, 'x'), 10'000, "/f").size() == 10'000);
}

TEST_CASE("a long result keeps head and tail and names the file") {
  const std::string text = "HEAD" + std::string(50'000, '.') + "TAIL";
  const auto cut = cap_result(text, 10'000, "/spill/call-1.txt");
  CHECK(cut.size() <= 10'000);
  CHECK(cut.size() > 9'800);
  CHECK(cut.starts_with("HEAD"));
  CHECK(cut.ends_with("TAIL"));
  CHECK(cut.find("/spill/call-1.txt") != std::string::npos);
}

TEST_CASE("a cut never splits a code point") {
  for (std::size_t shift = 0; shift < 4; ++shift) {
    std::string text(shift, 'a');
    while (text.size() < 30'000) text += "\xf0\x9f\x93\x93";  // four bytes each
    const auto cut = cap_result(text, 10'000, "/f");
    CHECK(daybook::is_utf8(cut));
    CHECK(cut.find("\xef\xbf\xbd") == std::string::npos);
    CHECK(cut.size() <= 10'000);
  }
}

TEST_CASE("bytes that are not UTF-8 become replacement characters") {
  CHECK(cap_result("a\xff"
                   "b",
                   100, "/f") ==
        "a\xef\xbf\xbd"
        "b");
}
