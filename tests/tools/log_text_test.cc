// What the readers stand on: lines, markers, JSON that strict parsers refuse, times.
#include <array>
#include <catch2/catch.hpp>
#include <random>
#include <string>
#include <vector>

#include "tools/log_file.h"
#include "tools/log_identity.h"
#include "tools/log_json.h"
#include "tools/log_scan.h"

namespace daybook::tests {
namespace {

using tools::JsonSpan;

/// Gives `step` bytes at a time.
class Dripping : public tools::ByteSource {
 public:
  Dripping(std::string bytes, std::size_t step) : bytes_(std::move(bytes)), step_(step) {}
  Result<std::size_t> read(char* into, std::size_t size) override {
    const std::size_t given = std::min({size, step_, bytes_.size() - at_});
    bytes_.copy(into, given, at_);
    at_ += given;
    return given;
  }
  std::uint64_t consumed() const override { return at_; }

 private:
  std::string bytes_;
  std::size_t step_;
  std::size_t at_ = 0;
};

constexpr std::array<std::string_view, 2> kMarkers = {"\"assistant\"", "\"token_count\""};

std::string random_text(std::mt19937& random, std::size_t size) {
  std::string text;
  while (text.size() < size) {
    switch (random() % 9) {
      case 0:
        text += "\"assistant\"";
        break;
      case 1:
        text += "\"token_count\"";
        break;
      case 2:
        text += "\\\"assistant\\\"";
        break;
      case 3:
        text += '\n';
        break;
      default:
        text += std::string(random() % 40, "assitn\"_tokec"[random() % 13]);
    }
  }
  return text;
}

TEST_CASE("markers are found where a plain search finds them") {
  const tools::MarkerScan scan(kMarkers);
  std::mt19937 random(7);
  for (int i = 0; i < 2000; ++i) {
    const std::string text = random_text(random, random() % 400);
    std::size_t expected = std::string::npos;
    for (const auto marker : kMarkers) expected = std::min(expected, text.find(marker));
    CHECK(scan.find(text) == expected);
  }
}

TEST_CASE("lines and matching lines are the same whatever pieces the bytes come in") {
  const tools::MarkerScan scan(kMarkers);
  std::mt19937 random(11);
  for (int i = 0; i < 60; ++i) {
    const std::string text = random_text(random, random() % 3000);
    std::vector<std::string> lines;
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      lines.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    for (const std::size_t step : {1ul, 7ul, 100ul, 100000ul}) {
      Dripping all(text, step);
      tools::LineReader reader(all);
      tools::LogLine line;
      std::vector<std::string> read;
      while (reader.next(line).value()) {
        CHECK(text.substr(line.offset, line.text.size()) == line.text);
        read.emplace_back(line.text);
      }
      CHECK(read == lines);
      Dripping again(text, step);
      tools::LineReader matching(again);
      std::vector<std::string> matched;
      const tools::Prefilter find = [&](std::string_view some) { return scan.find(some); };
      while (matching.next_match(find, line).value()) matched.emplace_back(line.text);
      std::vector<std::string> expected;
      for (const auto& one : lines) {
        if (scan.find(one) != std::string::npos) expected.push_back(one);
      }
      CHECK(matched == expected);
    }
  }
}

TEST_CASE("only complete lines are committed") {
  const std::string text = "\xef\xbb\xbf{}\r\n{\"a\":1}\n{\"half\":";
  const auto bytes = tools::bytes_of(text);
  tools::LineReader reader(*bytes);
  tools::LogLine line;
  REQUIRE(reader.next(line).value());
  CHECK(line.text == "{}");
  CHECK(line.offset == 3);
  REQUIRE(reader.next(line).value());
  CHECK(reader.committed() == 15);
  REQUIRE(reader.next(line).value());
  CHECK_FALSE(line.complete);
  CHECK(reader.committed() == 15);
  CHECK_FALSE(reader.next(line).value());
}

TEST_CASE("JSON is told from what is not, without a stack") {
  for (const auto* good : {"{}", "[]", " {\"a\":[1,2,{\"b\":null}]} ", "\"x\\\"y\"", "-1.5e+3",
                           "{\"a\":\"\\ud83d\"}", "true"}) {
    INFO(good);
    CHECK(JsonSpan::whole(good).has_value());
  }
  for (const auto* bad : {"", "{", "{\"a\"}", "{\"a\":}", "[1,]", "{\"a\":1,}", "{}{}", "\"x",
                          "\"\\", "nul", "1.", "{\"a\":1]", "{a:1}", "\"\n\""}) {
    INFO(bad);
    CHECK_FALSE(JsonSpan::whole(bad).has_value());
  }
  const std::string deep(100'000, '[');
  CHECK_FALSE(JsonSpan::whole(deep).has_value());
  CHECK_FALSE(JsonSpan::whole(std::string("{\"a\":\"\0\"}", 9)).has_value());
}

TEST_CASE("members, items, text and counts") {
  const auto value = *JsonSpan::whole(
      R"({"a" : {"b":[1, "2" , 3.0]}, "s":"x\u00e9\ud83d\ude00\n\ud83d!", "n":-4, "a2":null})");
  std::vector<std::uint64_t> counts;
  value["a"]["b"].items([&](JsonSpan item) { counts.push_back(item.count().value()); });
  CHECK(counts == std::vector<std::uint64_t>{1, 2, 3});
  CHECK(value["s"].text() == "x\xc3\xa9\xf0\x9f\x98\x80\n\xef\xbf\xbd!");
  CHECK_FALSE(value["n"].count().has_value());
  CHECK(value["n"].integer() == -4);
  CHECK(value["a2"].is_null());
  CHECK_FALSE(value["none"]);
  CHECK(JsonSpan::whole("\"a\xff\"")->text() == "a\xef\xbf\xbd");
}

/// Everything that can be reached, as text.
std::string walked(JsonSpan value) {
  if (value.is_object()) {
    std::string out = "{";
    value.members([&](std::string_view key, JsonSpan member) {
      out.append(key).append("=").append(walked(member)).append(";");
    });
    return out + "}";
  }
  if (value.is_array()) {
    std::string out = "[";
    value.items([&](JsonSpan item) { out += walked(item) + ","; });
    return out + "]";
  }
  return std::string(value.raw());
}

TEST_CASE("a tape tells the same values as the text does") {
  tools::JsonTape tape;
  for (const auto* text :
       {R"({"a":{"b":{"c":{"d":{"e":[1,{"f":2}]}}},"x":[]},"y":[[[[[3]]]],{}],"a":"\\\"z"})", "[]",
        "{}", "7", R"([{"k":null},[true,"s"],{"m":{"n":[{"o":[0]}]}}])"}) {
    INFO(text);
    const auto plain = JsonSpan::whole(text);
    const auto taped = JsonSpan::whole(text, &tape);
    REQUIRE(plain.has_value());
    REQUIRE(taped.has_value());
    CHECK(taped->raw() == plain->raw());
    CHECK(walked(*taped) == walked(*plain));
  }
}

TEST_CASE("times") {
  CHECK(tools::log_time("1970-01-01T00:00:00Z") == 0);
  CHECK(tools::log_time("2026-10-01T10:00:02.000Z") == 1'790'848'802'000'000'000);
  CHECK(tools::log_time("2024-02-29T23:59:59.5+01:30") == 1'709'245'799'500'000'000);
  CHECK_FALSE(tools::log_time("2026-13-01T00:00:00Z").has_value());
  CHECK_FALSE(tools::log_time("yesterday").has_value());
  CHECK_FALSE(tools::log_time("2026-02-29T00:00:00Z").has_value());
  CHECK_FALSE(tools::log_time("2026-04-31T00:00:00Z").has_value());
  CHECK(tools::log_time("2000-02-29T00:00:00Z").has_value());
  CHECK_FALSE(tools::log_time("2026-10-01T10:00:02+24:00").has_value());
  CHECK_FALSE(tools::log_time("2026-10-01T10:00:02-05:60").has_value());
  CHECK_FALSE(tools::log_time("2026-10-01T10:00:02Zx").has_value());
}

}  // namespace
}  // namespace daybook::tests
