#include "engine/http_model.h"

#include <stdlib.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <catch2/catch.hpp>
#include <optional>

#include "tests/support/http_server.h"

namespace daybook::tests {
namespace {

using engine::Codec;
using engine::Delta;
using engine::find_codec;
using engine::HttpModel;
using engine::ModelCall;
using engine::ModelOutcome;
using schema::FailureKind;

constexpr char kKey[] = "sk-test-0123456789abcdef";
constexpr std::int64_t kStartNs = 1'700'000'000'000'000'000;  // 2023-11-14T22:13:20Z

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

const std::string kChat =
    "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hel\"}}]}\n\n"
    "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"lo\"},"
    "\"finish_reason\":\"stop\"}]}\n\n"
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2}}\n\n"
    "data: [DONE]\n\n";

/// A model, its loop and a server.
struct Bench {
  boost::asio::io_context io;
  StepClock clock;
  std::optional<HttpModel> model{std::in_place, io, clock};
  HttpServer server;
  std::string streamed;
  int done_calls = 0;

  ModelCall request(const std::string& kind = "openai-chat") const {
    const Codec* codec = find_codec(kind);
    ModelCall call;
    call.codec = codec;
    call.url = server.url() + codec->path();
    call.headers = codec->headers(kKey);
    call.key = kKey;
    call.body = R"({"model":"m"})";
    return call;
  }

  void start(ModelCall call, std::optional<ModelOutcome>& outcome) {
    model->call(
        std::move(call), [this](const Delta& delta) { streamed += delta.text; },
        [this, &outcome](ModelOutcome made) {
          ++done_calls;
          outcome = std::move(made);
        });
  }

  ModelOutcome run(ModelCall call) {
    std::optional<ModelOutcome> outcome;
    start(std::move(call), outcome);
    CHECK_FALSE(outcome);  // never from within call
    io.restart();
    while (!outcome) REQUIRE(io.run_one() == 1);
    return std::move(*outcome);
  }

  ModelOutcome answered(ServerScript script, const std::string& kind = "openai-chat") {
    server.on_request(std::move(script));
    return run(request(kind));
  }

  engine::Failure failed(ServerScript script, const std::string& kind = "openai-chat") {
    ModelOutcome outcome = answered(std::move(script), kind);
    REQUIRE_FALSE(outcome.reply);
    return outcome.reply.error();
  }
};

std::string text_of(const ModelOutcome& outcome) {
  REQUIRE(outcome.reply);
  REQUIRE(outcome.reply->blocks.size() == 1);
  return outcome.reply->blocks[0].text;
}

TEST_CASE("http model: a call sends the body and headers and streams the reply") {
  Bench bench;
  const ModelOutcome outcome = bench.answered({send(event_stream(kChat))});
  CHECK(text_of(outcome) == "Hello");
  CHECK(bench.streamed == "Hello");
  CHECK(outcome.reply->usage.input_total == 7u);
  const auto seen = bench.server.requests();
  REQUIRE(seen.size() == 1);
  CHECK(seen[0].line == "POST /chat/completions HTTP/1.1");
  CHECK(seen[0].body == R"({"model":"m"})");
  CHECK(seen[0].header("content-type") == "application/json");
  CHECK(seen[0].header("authorization") == std::string("Bearer ") + kKey);
  CHECK(seen[0].header("accept-encoding") == "gzip");
  CHECK(seen[0].header("expect").empty());
}

TEST_CASE("http model: times come from the clock") {
  Bench bench;
  const ModelOutcome outcome = bench.answered({send(event_stream(kChat))});
  CHECK(outcome.started_at_ns == kStartNs);
  CHECK(outcome.first_byte_at_ns == kStartNs + 1'000'000'000);
  CHECK(outcome.ended_at_ns == kStartNs + 2'000'000'000);
  // A fresh connection: one that was used before would be replaced and the request repeated.
  Bench other;
  const ModelOutcome silent = other.answered({cut()});
  CHECK(silent.first_byte_at_ns == 0);
}

TEST_CASE("http model: pieces are told before the response ends") {
  Bench bench;
  const auto go_on = std::make_shared<Latch>();
  const std::size_t half = kChat.find("\n\n") + 2;
  bench.server.on_request({send(event_stream_head() + chunk(kChat.substr(0, half))),
                           wait_for(go_on), send(chunk(kChat.substr(half)) + last_chunk())});
  std::optional<ModelOutcome> outcome;
  bench.start(bench.request(), outcome);
  while (bench.streamed.empty()) REQUIRE(bench.io.run_one() == 1);
  CHECK(bench.streamed == "Hel");
  CHECK_FALSE(outcome);
  go_on->open();
  while (!outcome) REQUIRE(bench.io.run_one() == 1);
  CHECK(text_of(*outcome) == "Hello");
}

TEST_CASE("http model: connections are used again") {
  Bench bench;
  for (int i = 0; i < 3; ++i) {
    CHECK(text_of(bench.answered({send(event_stream(kChat))})) == "Hello");
  }
  CHECK(bench.failed({send(response(503, "text/plain", "busy"))}).http_status == 503);
  CHECK(text_of(bench.answered({send(event_stream(kChat))})) == "Hello");
  CHECK(bench.server.connections() == 1);
}

TEST_CASE("http model: a connection that the server closed in between is replaced") {
  Bench bench;
  CHECK(text_of(bench.answered({send(event_stream(kChat)), cut()})) == "Hello");
  CHECK(text_of(bench.answered({send(event_stream(kChat))})) == "Hello");
}

TEST_CASE("http model: a stream cut at any byte is never a wrong reply") {
  Bench bench;
  const std::size_t whole_from = kChat.find("\"finish_reason\":\"stop\"}]}\n\n") + 26;
  for (std::size_t size = 0; size < kChat.size(); size += 7) {
    CAPTURE(size);
    bench.server.on_request({send(event_stream_head()),
                             size == 0 ? send("") : send(chunk(kChat.substr(0, size))), cut()});
    const ModelOutcome outcome = bench.run(bench.request());
    if (size >= whole_from) {
      CHECK(text_of(outcome) == "Hello");
    } else {
      REQUIRE_FALSE(outcome.reply);
      CHECK(outcome.reply.error().kind == FailureKind::stream_cut);
      CHECK(outcome.reply.error().http_status == 200);
    }
  }
}

TEST_CASE("http model: a reset inside a stream is a cut, before it a lost connection") {
  Bench bench;
  const std::size_t half = kChat.find("\n\n") + 2;
  const auto seen = std::make_shared<Latch>();
  bench.server.on_request(
      {send(event_stream_head() + chunk(kChat.substr(0, half))), wait_for(seen), reset()});
  std::optional<ModelOutcome> outcome;
  bench.start(bench.request(), outcome);
  while (bench.streamed.empty()) REQUIRE(bench.io.run_one() == 1);
  seen->open();
  while (!outcome) REQUIRE(bench.io.run_one() == 1);
  REQUIRE_FALSE(outcome->reply);
  CHECK(outcome->reply.error().kind == FailureKind::stream_cut);
  CHECK(bench.failed({reset()}).kind == FailureKind::connection);
}

TEST_CASE("http model: an end marker counts although the connection is lost after it") {
  Bench bench;
  const ModelOutcome outcome = bench.answered({send(event_stream_head() + chunk(kChat)), reset()});
  if (outcome.reply) CHECK(outcome.reply->blocks[0].text == "Hello");
  const ModelOutcome cut_off = bench.answered({send(event_stream_head() + chunk(kChat)), cut()});
  CHECK(text_of(cut_off) == "Hello");
}

TEST_CASE("http model: failures of the connection name host and port and keep the key out") {
  Bench bench;
  int port = 0;
  {
    const HttpServer gone;
    port = gone.port();
  }
  ModelCall call = bench.request();
  call.url = "http://user:" + std::string(kKey) + "@127.0.0.1:" + std::to_string(port) + "/x";
  const ModelOutcome refused = bench.run(call);
  REQUIRE_FALSE(refused.reply);
  CHECK(refused.reply.error().kind == FailureKind::connection);
  CHECK(refused.reply.error().http_status == 0);
  CHECK(refused.reply.error().message == "cannot connect to 127.0.0.1:" + std::to_string(port));

  call.url = "http://no-such-host.invalid/x";
  const ModelOutcome unknown = bench.run(call);
  REQUIRE_FALSE(unknown.reply);
  CHECK(unknown.reply.error().kind == FailureKind::connection);
  CHECK(unknown.reply.error().message == "cannot resolve the name of no-such-host.invalid:80");

  const engine::Failure silent = bench.failed({cut()});
  CHECK(silent.kind == FailureKind::connection);
  CHECK(silent.message.find("127.0.0.1:" + std::to_string(bench.server.port())) == 0);
}

TEST_CASE("http model: TLS to a server without TLS is a failure of the connection") {
  Bench bench;
  ModelCall call = bench.request();
  call.url = "https://127.0.0.1:" + std::to_string(bench.server.port()) + "/x";
  // The handshake is no HTTP request: the server reads on until it is given up.
  call.connect_timeout_ms = 300;
  const ModelOutcome outcome = bench.run(call);
  REQUIRE_FALSE(outcome.reply);
  CHECK(outcome.reply.error().kind == FailureKind::connection);
  CHECK(outcome.reply.error().message ==
        "connecting to 127.0.0.1:" + std::to_string(bench.server.port()) + " took too long");
}

TEST_CASE("http model: a proxy's refusal is a failure of the connection") {
  Bench bench;
  REQUIRE(::setenv("https_proxy", bench.server.url().c_str(), 1) == 0);
  ModelCall call = bench.request();
  call.url = "https://model.invalid/v1/chat/completions";
  bench.server.on_request({send(response(403, "text/plain", "no")), cut()});
  const ModelOutcome outcome = bench.run(call);
  REQUIRE(::unsetenv("https_proxy") == 0);
  REQUIRE_FALSE(outcome.reply);
  CHECK(outcome.reply.error().kind == FailureKind::connection);
  CHECK(outcome.reply.error().http_status == 0);
  CHECK(outcome.reply.error().message.find("model.invalid:443") != std::string::npos);
}

TEST_CASE("http model: addresses and headers that cannot be used are the caller's fault") {
  Bench bench;
  for (const std::string url : {"", "not a url", "ftp://127.0.0.1/x", "file:///etc/passwd"}) {
    CAPTURE(url);
    ModelCall call = bench.request();
    call.url = url;
    const ModelOutcome outcome = bench.run(call);
    REQUIRE_FALSE(outcome.reply);
    CHECK(outcome.reply.error().kind == FailureKind::local);
  }
  ModelCall call = bench.request();
  call.headers = {"Authorization: Bearer abc\r\nX-Injected: 1"};
  const ModelOutcome outcome = bench.run(call);
  REQUIRE_FALSE(outcome.reply);
  CHECK(outcome.reply.error().kind == FailureKind::local);
  CHECK(bench.server.requests().empty());
}

TEST_CASE("http model: an idle stream times out, also before the first byte") {
  Bench bench;
  ModelCall call = bench.request();
  call.idle_timeout_ms = 80;
  bench.server.on_request({wait_for_close()});
  const ModelOutcome silent = bench.run(call);
  REQUIRE_FALSE(silent.reply);
  CHECK(silent.reply.error().kind == FailureKind::connection);
  CHECK(silent.reply.error().message.find("sent nothing for 80 ms") != std::string::npos);
  bench.server.on_request(
      {send(event_stream_head() + chunk(kChat.substr(0, 90))), wait_for_close()});
  const ModelOutcome cut_off = bench.run(call);
  REQUIRE_FALSE(cut_off.reply);
  CHECK(cut_off.reply.error().kind == FailureKind::stream_cut);
}

TEST_CASE("http model: cancelling before the first byte ends the call once") {
  Bench bench;
  const auto closed = std::make_shared<Latch>();
  bench.server.on_request(
      {run([&] { boost::asio::post(bench.io, [&] { bench.model->cancel(); }); }),
       wait_for_close()});
  const ModelOutcome outcome = bench.run(bench.request());
  REQUIRE_FALSE(outcome.reply);
  CHECK(outcome.reply.error().kind == FailureKind::cancelled);
  bench.model->cancel();  // no effect any more
  bench.io.poll();
  CHECK(bench.done_calls == 1);
  CHECK(text_of(bench.answered({send(event_stream(kChat))})) == "Hello");
}

TEST_CASE("http model: cancelling between bytes, from within the sink") {
  Bench bench;
  const std::size_t half = kChat.find("\n\n") + 2;
  bench.server.on_request(
      {send(event_stream_head() + chunk(kChat.substr(0, half))), wait_for_close()});
  std::optional<ModelOutcome> outcome;
  bench.model->call(
      bench.request(), [&](const Delta&) { bench.model->cancel(); },
      [&](ModelOutcome made) { outcome = std::move(made); });
  while (!outcome) REQUIRE(bench.io.run_one() == 1);
  REQUIRE_FALSE(outcome->reply);
  CHECK(outcome->reply.error().kind == FailureKind::cancelled);
  CHECK(outcome->first_byte_at_ns != 0);
}

TEST_CASE("http model: cancelling keeps the usage seen so far") {
  Bench bench;
  bench.server.on_request(
      {send(event_stream_head() +
            chunk("event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":"
                  "{\"input_tokens\":11,\"output_tokens\":1}}}\n\n"
                  "data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":"
                  "{\"type\":\"text\",\"text\":\"x\"}}\n\n")),
       wait_for_close()});
  std::optional<ModelOutcome> outcome;
  bench.model->call(
      bench.request("anthropic"), [&](const Delta&) { bench.model->cancel(); },
      [&](ModelOutcome made) { outcome = std::move(made); });
  while (!outcome) REQUIRE(bench.io.run_one() == 1);
  REQUIRE_FALSE(outcome->reply);
  CHECK(outcome->reply.error().usage.input_uncached == 11u);
}

TEST_CASE("http model: done may start the next call or destroy the model") {
  Bench bench;
  bench.server.on_request({send(event_stream(kChat))});
  bench.server.on_request({send(event_stream(kChat))});
  int replies = 0;
  bench.model->call(bench.request(), nullptr, [&](ModelOutcome) {
    ++replies;
    bench.model->call(bench.request(), nullptr, [&](ModelOutcome) {
      ++replies;
      bench.model.reset();
    });
  });
  bench.io.run();
  CHECK(replies == 2);
  CHECK_FALSE(bench.model);
}

TEST_CASE("http model: a model destroyed during a call calls nobody") {
  Bench bench;
  bench.server.on_request(
      {send(event_stream_head() + chunk(kChat.substr(0, 90))), wait_for_close()});
  std::optional<ModelOutcome> outcome;
  bench.start(bench.request(), outcome);
  while (bench.streamed.empty()) REQUIRE(bench.io.run_one() == 1);
  bench.model.reset();
  bench.io.run();
  CHECK_FALSE(outcome);
}

TEST_CASE("http model: statuses become failures of their class") {
  struct Case {
    int status;
    std::string body;
    FailureKind kind;
    std::string message;
  };
  const std::vector<Case> cases = {
      {429, R"({"error":{"message":"slow down","type":"rate_limit_error"}})",
       FailureKind::retryable_status, "slow down"},
      {429, R"({"error":{"message":"no money","code":"insufficient_quota"}})",
       FailureKind::permanent, "no money"},
      {529, R"({"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}})",
       FailureKind::retryable_status, "Overloaded"},
      {503, "<html><head><title>503 Unavailable</title></head></html>",
       FailureKind::retryable_status, "an HTML page titled '503 Unavailable'"},
      {408, "", FailureKind::retryable_status, "HTTP status 408 without a message"},
      {409, "conflict", FailureKind::retryable_status, "conflict"},
      {401, R"({"error":{"message":"bad key"}})", FailureKind::authentication, "bad key"},
      {403, R"({"detail":"not yours"})", FailureKind::authentication, "not yours"},
      {422, R"({"detail":[{"loc":["body"],"msg":"field required"}]})", FailureKind::permanent,
       "field required"},
      {404, R"({"message":"no such model"})", FailureKind::permanent, "no such model"},
      {400, R"({"error":"model not found"})", FailureKind::permanent, "model not found"},
      {400, R"({"error":{"message":"too many","code":"context_length_exceeded"}})",
       FailureKind::context_overflow, "too many"},
      {400,
       R"({"type":"error","error":{"type":"invalid_request_error","message":)"
       R"("prompt is too long: 210000 tokens > 200000 maximum"}})",
       FailureKind::context_overflow, "prompt is too long: 210000 tokens > 200000 maximum"},
      {413, R"({"type":"error","error":{"type":"request_too_large","message":"32 MB"}})",
       FailureKind::context_overflow, "32 MB"},
      {400, R"([{"error":{"code":400,"message":"in an array"}}])", FailureKind::permanent,
       "in an array"},
  };
  Bench bench;
  for (const Case& one : cases) {
    CAPTURE(one.status, one.body);
    const engine::Failure failure =
        bench.failed({send(response(one.status, "application/json", one.body))});
    CHECK(failure.kind == one.kind);
    CHECK(failure.http_status == one.status);
    CHECK(failure.message == one.message);
    CHECK(failure.raw == one.body);
  }
}

TEST_CASE("http model: retry times from headers") {
  Bench bench;
  const auto retry = [&](const std::string& headers) {
    return bench.failed({send(response(429, "text/plain", "slow down", headers))}).retry_after_ms;
  };
  CHECK(retry("") == std::nullopt);
  CHECK(retry("Retry-After: 7\r\n") == 7000);
  CHECK(retry("Retry-After: 1.5\r\n") == 1500);
  CHECK(retry("Retry-After: -3\r\n") == 0);
  CHECK(retry("Retry-After: soon\r\n") == std::nullopt);
  CHECK(retry("retry-after-ms: 250\r\nRetry-After: 9\r\n") == 250);
  CHECK(retry("Retry-After: Tue, 14 Nov 2000 22:13:20 GMT\r\n") == 0);
  // The clock reads two seconds per call (start and end) and one more for the body: the eighth
  // call ends at the 24th reading, 23 s after the start.
  CHECK(retry("Retry-After: Tue, 14 Nov 2023 22:14:43 GMT\r\n") == 60'000);
}

TEST_CASE("http model: the vendors' retry advice overrules the status") {
  Bench bench;
  const auto kind = [&](int status, const std::string& advice) {
    return bench.failed({send(response(status, "text/plain", "x", advice))}).kind;
  };
  CHECK(kind(429, "x-should-retry: false\r\n") == FailureKind::permanent);
  CHECK(kind(400, "x-should-retry: true\r\n") == FailureKind::retryable_status);
  CHECK(kind(401, "x-should-retry: true\r\n") == FailureKind::authentication);
}

TEST_CASE("http model: rate limit headers are kept, others are not") {
  Bench bench;
  const ModelOutcome outcome = bench.answered(
      {send(event_stream(kChat,
                         "X-RateLimit-Remaining-Tokens: 12\r\nSet-Cookie: a=b\r\n"
                         "anthropic-ratelimit-requests-limit: 50\r\n"
                         "anthropic-organization-id: org\r\nrequest-id: req_1\r\n"))});
  const std::vector<std::pair<std::string, std::string>> expected = {
      {"x-ratelimit-remaining-tokens", "12"},
      {"anthropic-ratelimit-requests-limit", "50"},
      {"request-id", "req_1"}};
  CHECK(outcome.rate_limit_headers == expected);
}

std::string from_hex(std::string_view hex) {
  std::string out;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return out;
}

TEST_CASE("http model: compressed streams are read") {
  Bench bench;
  // gzip of a stream of one chunk with the content "zipped", and [DONE].
  const std::string zipped = from_hex(
      "1f8b08000000000002ff1dcc310a84301005d03ea7905f5b584fedb6eb012448706671609904338528b9fb86"
      "ad1f3c4e9e6878b01f5977a9a0f5811acb059a46b07c3d813a67733107e1d65284d1467cd4b41edb29a966eb"
      "523d17b4d842e07fbacecbfb1543f8017ba2643563000000");
  CHECK(text_of(bench.answered({send(event_stream(zipped, "Content-Encoding: gzip\r\n"))})) ==
        "zipped");
}

TEST_CASE("http model: headers of interim answers do not count") {
  Bench bench;
  const engine::Failure failure =
      bench.failed({send("HTTP/1.1 103 Early Hints\r\nRetry-After: 5\r\n\r\n" +
                         response(429, "text/plain", "slow down"))});
  CHECK(failure.http_status == 429);
  CHECK(failure.retry_after_ms == std::nullopt);
}

TEST_CASE("http model: redirects are refused and named") {
  Bench bench;
  const engine::Failure failure = bench.failed({send(
      response(307, "text/plain", "", "Location: https://u:p@other.example/v1?token=abc\r\n"))});
  CHECK(failure.kind == FailureKind::permanent);
  CHECK(failure.message.find("points to other.example:443;") != std::string::npos);
  CHECK(failure.message.find("abc") == std::string::npos);
  CHECK(bench.server.requests().size() == 1);
}

TEST_CASE("http model: a document instead of a stream") {
  Bench bench;
  SECTION("a whole chat completion is taken") {
    const ModelOutcome outcome = bench.answered({send(response(
        200, "application/json",
        R"({"id":"c2","choices":[{"index":0,"message":{"role":"assistant","content":"whole"},)"
        R"("finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}})"))});
    CHECK(text_of(outcome) == "whole");
    CHECK(outcome.reply->usage.output == 1u);
  }
  SECTION("a whole Anthropic message is taken") {
    const ModelOutcome outcome = bench.answered(
        {send(response(200, "application/json",
                       R"({"type":"message","id":"m","content":[{"type":"text","text":"whole"}],)"
                       R"("stop_reason":"end_turn","usage":{"input_tokens":3}})"))},
        "anthropic");
    CHECK(text_of(outcome) == "whole");
  }
  SECTION("an error object is an error whatever the status says") {
    const engine::Failure failure = bench.failed(
        {send(response(200, "application/json", R"({"error":{"message":"slow","code":429}})"))});
    CHECK(failure.kind == FailureKind::retryable_status);
    CHECK(failure.http_status == 429);
    CHECK(failure.message == "slow");
  }
  SECTION("a page or another document is a bad response") {
    for (const std::string body :
         {"<html><title>Login</title></html>", "{\"hello\":1}", "", "[]"}) {
      CAPTURE(body);
      const engine::Failure failure = bench.failed({send(response(200, "text/html", body))});
      CHECK(failure.kind == FailureKind::bad_response);
      CHECK(failure.message.find("'text/html' instead of an event stream") != std::string::npos);
    }
  }
  SECTION("one that is cut short is a cut") {
    const engine::Failure failure =
        bench.failed({send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                           "Content-Length: 500\r\n\r\n{\"id\":"),
                      cut()});
    CHECK(failure.kind == FailureKind::stream_cut);
  }
}

TEST_CASE("http model: errors inside a stream end the call") {
  Bench bench;
  const engine::Failure overloaded =
      bench.failed({send(event_stream_head() +
                         chunk("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":"
                               "\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n")),
                    wait_for_close()},
                   "anthropic");
  CHECK(overloaded.kind == FailureKind::retryable_status);
  CHECK(overloaded.message == "Overloaded");
  CHECK(overloaded.http_status == 200);
  const engine::Failure garbled =
      bench.failed({send(event_stream_head() + chunk("data: {oops\n\n")), wait_for_close()});
  CHECK(garbled.kind == FailureKind::bad_response);
}

TEST_CASE("http model: the key never comes back") {
  Bench bench;
  const std::string key = kKey;
  const ModelOutcome failure = bench.answered(
      {send(response(401, "application/json",
                     R"({"error":{"message":"Incorrect API key provided: )" + key + R"("}})",
                     "x-ratelimit-note: " + key + "\r\n"))});
  REQUIRE_FALSE(failure.reply);
  CHECK(failure.reply.error().message == "Incorrect API key provided: ***");
  CHECK(failure.reply.error().raw.find(key) == std::string::npos);
  CHECK(failure.rate_limit_headers[0].second == "***");

  const std::string echo = "data: {\"id\":\"" + key +
                           "\",\"choices\":[{\"delta\":{\"content\":\"is it " + key +
                           "?\"},\"finish_reason\":\"stop\"}]}\n\n";
  const ModelOutcome reply = bench.answered({send(event_stream(echo))});
  CHECK(text_of(reply) == "is it ***?");
  CHECK(bench.streamed == "is it ***?");
  CHECK(reply.reply->response_id == "***");
  CHECK(reply.reply->raw.find(key) == std::string::npos);
}

TEST_CASE("http model: short placeholder keys are not masked") {
  Bench bench;
  bench.server.on_request({send(event_stream(kChat))});
  ModelCall call = bench.request();
  call.key = "Hello";
  CHECK(text_of(bench.run(call)) == "Hello");
}

TEST_CASE("http model: a 1 MiB request body and a 1 MiB event go through") {
  Bench bench;
  const std::string big(std::size_t{1} << 20, 'x');
  bench.server.on_request(
      {send(event_stream("data: {\"choices\":[{\"delta\":{\"content\":\"" + big +
                         "\"},\"finish_reason\":\"stop\"}]}"
                         "\n\n"))});
  ModelCall call = bench.request();
  call.body = "{\"x\":\"" + big + "\"}";
  const std::string sent = call.body;
  CHECK(text_of(bench.run(call)) == big);
  CHECK(bench.server.requests()[0].body == sent);
}

TEST_CASE("http model: the proxy variables are honoured") {
  Bench bench;
  const HttpServer elsewhere;
  REQUIRE(::setenv("http_proxy", bench.server.url().c_str(), 1) == 0);
  ModelCall call = bench.request();
  call.url = "http://model.invalid/v1/chat/completions";
  bench.server.on_request({send(event_stream(kChat))});
  const ModelOutcome outcome = bench.run(call);
  REQUIRE(::unsetenv("http_proxy") == 0);
  CHECK(text_of(outcome) == "Hello");
  CHECK(bench.server.requests()[0].line ==
        "POST http://model.invalid/v1/chat/completions HTTP/1.1");
}

}  // namespace
}  // namespace daybook::tests
