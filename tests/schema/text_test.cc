// UTF-8 and JSON at the edges.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "schema/json.h"
#include "schema/utf8.h"

namespace daybook::tests {
namespace {

const std::string kReplacement = "\xef\xbf\xbd";

}  // namespace

TEST_CASE("what is UTF-8 and what is not") {
  // Table 3-7 of the Unicode standard, its first and last row entries.
  for (const char* good : {"", "a", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
                           "\xee\x80\x80", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    CHECK(is_utf8(good));
    CHECK(repair_utf8(good) == good);
  }
  for (const char* bad :
       {"\x80", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80", "\xf0\x8f\xbf\xbf",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xc2", "\xe2\x82", "\xf0\x9f\x98", "\xff"}) {
    CHECK_FALSE(is_utf8(bad));
    CHECK(is_utf8(repair_utf8(bad)));
  }
}

TEST_CASE("each maximal invalid sequence becomes one replacement character") {
  // The example of the Unicode standard, chapter 3, table 3-8.
  const std::string bytes = "\x61\xf1\x80\x80\xe1\x80\xc2\x62\x80\x63\x80\xbf\x64";
  CHECK(repair_utf8(bytes) == "a" + kReplacement + kReplacement + kReplacement + "b" +
                                  kReplacement + "c" + kReplacement + kReplacement + "d");
}

TEST_CASE("cuts never split a code point") {
  const std::string text = "a\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80z";  // 1 2 3 4 1 bytes
  const std::vector<std::size_t> floors = {0, 1, 1, 3, 3, 3, 6, 6, 6, 6, 10, 11};
  const std::vector<std::size_t> ceils = {0, 1, 3, 3, 6, 6, 6, 10, 10, 10, 10, 11};
  for (std::size_t i = 0; i < floors.size(); ++i) {
    CAPTURE(i);
    CHECK(utf8_floor(text, i) == floors[i]);
    CHECK(utf8_ceil(text, i) == ceils[i]);
  }
  CHECK(utf8_floor(text, 99) == text.size());
  CHECK(utf8_ceil(text, 99) == text.size());
}

TEST_CASE("JSON is parsed within bounds and errors say where") {
  CHECK(json_text(*parse_json(R"({"b":1,"a":"x"})"), "a") == "x");
  CHECK(json_text(*parse_json("[1]"), "a").empty());
  CHECK(json_text(*parse_json(R"({"a":1})"), "a").empty());
  CHECK(dump_json(*parse_json(R"({"b":1, "a":[true,null]})")) == R"({"b":1,"a":[true,null]})");
  for (const char* bad : {"", "{", "{\"a\":}", "[1,]", "nul", "\"\xff\""}) {
    CHECK(parse_json(bad).error().code == ErrorCode::invalid_argument);
  }
  CHECK(parse_json(std::string(256, '[') + std::string(256, ']')).has_value());
  CHECK_FALSE(parse_json(std::string(257, '[') + std::string(257, ']')).has_value());
  CHECK_FALSE(parse_json(std::string(1'000'000, '[')).has_value());
  CHECK(parse_json("\"" + std::string(1000, '[') + "\"").has_value());
}

TEST_CASE("strings are quoted so that they read back") {
  std::string out;
  append_json_string(out, "q\" b\\ \n\t\b\f\r \x01 \xc3\xa4");
  CHECK(out == "\"q\\\" b\\\\ \\n\\t\\b\\f\\r \\u0001 \xc3\xa4\"");
  CHECK(parse_json(out)->get<std::string>() == "q\" b\\ \n\t\b\f\r \x01 \xc3\xa4");
  out.clear();
  append_json_string(out, "\xff");
  CHECK(out == "\"" + kReplacement + "\"");
}

}  // namespace daybook::tests
