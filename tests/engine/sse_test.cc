#include "engine/sse.h"

#include <catch2/catch.hpp>
#include <utility>
#include <vector>

namespace daybook::tests {
namespace {

using engine::SseDecoder;
using Events = std::vector<std::pair<std::string, std::string>>;

Events decode(const std::vector<std::string_view>& pieces) {
  SseDecoder decoder;
  Events events;
  for (const std::string_view piece : pieces) {
    REQUIRE(decoder.feed(piece, [&](std::string_view name, std::string_view data) {
      events.emplace_back(name, data);
      return true;
    }));
  }
  return events;
}

TEST_CASE("sse: fields, comments and multi-line data") {
  CHECK(decode({"data: one\n\n"}) == Events{{"", "one"}});
  CHECK(decode({"data:one\n\n"}) == Events{{"", "one"}});
  CHECK(decode({"data:  two spaces\n\n"}) == Events{{"", " two spaces"}});
  CHECK(decode({"event: ping\ndata: {}\n\n"}) == Events{{"ping", "{}"}});
  CHECK(decode({"data: a\ndata: b\ndata:\n\n"}) == Events{{"", "a\nb\n"}});
  CHECK(decode({": keep-alive\n\ndata: x\n: note\n\n"}) == Events{{"", "x"}});
  CHECK(decode({"id: 7\nretry: 10\nother: y\ndata: x\n\n"}) == Events{{"", "x"}});
  CHECK(decode({"data\n\n"}) == Events{{"", ""}});
  CHECK(decode({"data: a:b: c\n\n"}) == Events{{"", "a:b: c"}});
}

TEST_CASE("sse: an event without data is none, and its name does not last") {
  CHECK(decode({"event: ping\n\ndata: x\n\n"}) == Events{{"", "x"}});
  CHECK(decode({"event: a\ndata: 1\n\ndata: 2\n\n"}) == Events{{"a", "1"}, {"", "2"}});
}

TEST_CASE("sse: LF, CRLF and CR end lines") {
  const Events expected{{"e", "a\nb"}, {"", "c"}};
  for (const std::string end : {"\n", "\r\n", "\r"}) {
    const std::string text =
        "event: e" + end + "data: a" + end + "data: b" + end + end + "data: c" + end + end;
    CHECK(decode({text}) == expected);
  }
  CHECK(decode({"data: x\r\n\rdata: y\n\r\n"}) == Events{{"", "x"}, {"", "y"}});
}

TEST_CASE("sse: a byte order mark is skipped at the start only") {
  CHECK(decode({"\xEF\xBB\xBF", "data: x\n\n"}) == Events{{"", "x"}});
  CHECK(decode({"\xEF\xBB", "\xBF\n", "data: x\n\n"}) == Events{{"", "x"}});
  CHECK(decode({"data: x\n\n\xEF\xBB\xBF", "data: y\n\n"}) == Events{{"", "x"}});
}

TEST_CASE("sse: an event without its blank line is dropped") {
  CHECK(decode({"data: x\n\ndata: y\n"}) == Events{{"", "x"}});
  CHECK(decode({"data: x\n\ndata: y"}) == Events{{"", "x"}});
}

TEST_CASE("sse: the borders of pieces change nothing") {
  const std::string text =
      "\xEF\xBB\xBF: hello\r\nevent: a\r\ndata: {\"k\":\"\xC3\xA9\"}\r\n\r\ndata: 1\rdata: 2\r\r"
      "data\n\nevent:b\ndata: end\n\n\n\r\ndata: lost";
  const Events expected{{"a", "{\"k\":\"\xC3\xA9\"}"}, {"", "1\n2"}, {"", ""}, {"b", "end"}};
  CHECK(decode({text}) == expected);
  const std::string_view view = text;
  for (std::size_t i = 0; i <= view.size(); ++i) {
    CAPTURE(i);
    CHECK(decode({view.substr(0, i), view.substr(i)}) == expected);
  }
  std::vector<std::string_view> bytes;
  for (std::size_t i = 0; i < view.size(); ++i) bytes.push_back(view.substr(i, 1));
  CHECK(decode(bytes) == expected);
}

TEST_CASE("sse: long lines") {
  const std::string big(std::size_t{3} << 20, 'x');
  const std::string text = "data: " + big + "\n\n";
  const std::string_view view = text;
  CHECK(decode({view}) == Events{{"", big}});
  std::vector<std::string_view> pieces;
  for (std::size_t i = 0; i < view.size(); i += 1000) pieces.push_back(view.substr(i, 1000));
  CHECK(decode(pieces) == Events{{"", big}});
}

TEST_CASE("sse: an event over the limit is an error, whether in one line or in many") {
  const auto ignore = [](std::string_view, std::string_view) { return true; };
  SseDecoder within(16);
  CHECK(within.feed("data: 0123456789\n\n", ignore));
  CHECK(within.feed("data: 0123456789\n\n", ignore));
  SseDecoder line(16);
  CHECK_FALSE(line.feed("data: 0123456789a\n\n", ignore));
  SseDecoder unfinished(16);
  CHECK(unfinished.feed("data: 01234", ignore));
  CHECK_FALSE(unfinished.feed("56789a", ignore));
  SseDecoder lines(16);
  const auto result = lines.feed("data: 012345\ndata: 56789\n\n", ignore);
  REQUIRE_FALSE(result);
  CHECK(result.error().code == ErrorCode::provider);
  CHECK(SseDecoder::kMaxEventBytes == 67'108'864u);
}

TEST_CASE("sse: nothing comes after the sink said stop, nor after an error") {
  SseDecoder decoder;
  Events events;
  const auto once = [&](std::string_view name, std::string_view data) {
    events.emplace_back(name, data);
    return false;
  };
  CHECK(decoder.feed("data: 1\n\ndata: 2\n\n", once));
  CHECK(decoder.feed("data: 3\n\n", once));
  CHECK(events == Events{{"", "1"}});
  SseDecoder small(8);
  CHECK_FALSE(small.feed("data: 12345\n\n", once));
  CHECK(small.feed("data: 1\n\n", once));
  CHECK(events.size() == 1);
}

}  // namespace
}  // namespace daybook::tests
