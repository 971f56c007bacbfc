// Shared by the tests of the HTTP model: a model, its loop and a scripted server.
#pragma once

#include <stdlib.h>

#include <boost/asio/io_context.hpp>
#include <catch2/catch.hpp>
#include <optional>
#include <string>
#include <utility>

#include "engine/http_model.h"
#include "tests/support/http_server.h"

namespace daybook::tests::http {

inline constexpr char kKey[] = "sk-test-0123456789abcdef";
inline constexpr std::int64_t kStartNs = 1'700'000'000'000'000'000;  // 2023-11-14T22:13:20Z

/// Advances by a second whenever it is read.
class StepClock final : public engine::Clock {
 public:
  std::int64_t utc_ns() override {
    now_ += 1'000'000'000;
    return now_;
  }
  std::uint64_t random() override { return 4; }
  void wait_until(std::int64_t, std::function<void()>) override {}
  void cancel_wait() override {}

 private:
  std::int64_t now_ = kStartNs - 1'000'000'000;
};

inline const std::string kChat =
    "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n"
    "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo\"},"
    "\"finish_reason\":\"stop\"}]}\n\n"
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2}}\n\n"
    "data: [DONE]\n\n";

/// A model, its loop and a server.
struct Bench {
  boost::asio::io_context io;
  StepClock clock;
  std::optional<engine::HttpModel> model{std::in_place, io, clock};
  HttpServer server;
  std::string streamed;
  int done_calls = 0;

  /// What the environment says about proxies is not for servers on the loopback.
  Bench() {
    for (const char* name :
         {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"}) {
      ::unsetenv(name);
    }
  }

  engine::ModelCall request(const std::string& kind = "openai-chat") const {
    const engine::Codec* codec = engine::find_codec(kind);
    engine::ModelCall call;
    call.codec = codec;
    call.url = server.url() + codec->path("m");
    call.headers = codec->headers(kKey);
    call.key = kKey;
    call.body = std::make_shared<std::string>(R"({"model":"m"})");
    return call;
  }

  void start(engine::ModelCall call, std::optional<engine::ModelOutcome>& outcome) {
    model->call(
        std::move(call), [this](const engine::Delta& delta) { streamed += delta.text; },
        [this, &outcome](engine::ModelOutcome made) {
          ++done_calls;
          outcome = std::move(made);
        });
  }

  engine::ModelOutcome run(engine::ModelCall call) {
    std::optional<engine::ModelOutcome> outcome;
    start(std::move(call), outcome);
    CHECK_FALSE(outcome);  // never from within call
    io.restart();
    while (!outcome) REQUIRE(io.run_one() == 1);
    return std::move(*outcome);
  }

  engine::ModelOutcome answered(ServerScript script, const std::string& kind = "openai-chat") {
    server.on_request(std::move(script));
    return run(request(kind));
  }

  engine::Failure failed(ServerScript script, const std::string& kind = "openai-chat") {
    engine::ModelOutcome outcome = answered(std::move(script), kind);
    REQUIRE_FALSE(outcome.reply);
    return outcome.reply.error();
  }
};

inline std::string text_of(const engine::ModelOutcome& outcome) {
  REQUIRE(outcome.reply);
  REQUIRE(outcome.reply->blocks.size() == 1);
  return outcome.reply->blocks[0].text;
}

}  // namespace daybook::tests::http
