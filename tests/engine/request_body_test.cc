#include "engine/request_body.h"

#include <catch2/catch.hpp>
#include <deque>
#include <random>

namespace daybook::tests {
namespace {

using engine::RequestBody;
using engine::RequestParts;
using engine::whole_body;

/// A history whose segments stay where they are, as the builder keeps them.
struct History {
  std::string_view keep(std::string bytes) { return kept.emplace_back(std::move(bytes)); }
  std::string_view message(std::size_t size, char fill) {
    return keep(R"({"role":"user","content":[{"type":"text","text":")" + std::string(size, fill) +
                R"("}]})");
  }
  RequestParts parts() const {
    return {head, system, tools, messages, markers, schema::CacheTtl::minutes_5};
  }

  std::deque<std::string> kept;
  std::string head = R"("model":"m")";
  std::vector<std::string_view> system;
  std::vector<std::string_view> tools;
  std::vector<std::string_view> messages;
  std::vector<std::uint32_t> markers;
};

/// The whole body and its digest, made from nothing, are the reference.
void check_same(RequestBody& body, const engine::Codec& codec, const RequestParts& parts) {
  const std::string expected = whole_body(codec, parts);
  const auto made = body.make(codec, parts);
  REQUIRE(*made.bytes == expected);
  REQUIRE(made.digest == Digest::of(expected));
}

}  // namespace

TEST_CASE("a body made on top of the last one equals one made from nothing", "[request-body]") {
  for (const char* kind : {"anthropic", "gemini", "openai-chat", "openai-responses", "script"}) {
    const engine::Codec& codec = *engine::find_codec(kind);
    std::mt19937 random(7);
    RequestBody body;
    History history;
    for (int step = 0; step < 400; ++step) {
      CAPTURE(kind, step);
      const auto pick = random() % 12;
      if (pick == 0 && history.messages.size() > 1) history.messages.pop_back();
      if (pick == 1) history.head += " ";
      if (pick == 2) history.tools.push_back(history.keep(R"({"name":"t"})"));
      if (pick == 3) history.system = {history.keep(codec.render_system(std::to_string(step)))};
      if (pick == 4 && !history.messages.empty()) {
        history.messages[random() % history.messages.size()] = history.message(5, 'e');
      }
      if (pick > 4 || history.messages.empty()) {
        history.messages.push_back(history.message(random() % 40'000, 'x'));
      }
      history.markers.clear();
      for (std::uint32_t i = 0; i < history.messages.size() && history.markers.size() < 3; ++i) {
        if (random() % 3 == 0) history.markers.push_back(i);
      }
      check_same(body, codec, history.parts());
    }
  }
}

TEST_CASE("a body that is still being read does not change", "[request-body]") {
  const engine::Codec& codec = *engine::find_codec("openai-chat");
  RequestBody body;
  History history;
  history.messages.push_back(history.message(100'000, 'a'));
  const auto first = body.make(codec, history.parts());
  const std::string before = *first.bytes;
  history.messages.push_back(history.message(10, 'b'));
  check_same(body, codec, history.parts());
  history.messages.front() = history.message(100'000, 'c');
  check_same(body, codec, history.parts());
  CHECK(*first.bytes == before);
}

}  // namespace daybook::tests
