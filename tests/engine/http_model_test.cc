// Connections, streaming, cancelling: what happens whatever the answer says.
#include <boost/asio/post.hpp>

#include "tests/engine/http_bench.h"

namespace daybook::tests {
namespace {

using namespace http;

using engine::Delta;
using engine::ModelCall;
using engine::ModelOutcome;
using schema::FailureKind;

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
  CHECK(text_of(bench.answered({send(event_stream_head() + chunk(kChat)), cut()})) == "Hello");
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
  call.idle_timeout_ms = 1000;  // the server has to get its piece out within it
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

TEST_CASE("http model: a 1 MiB request body and a 1 MiB event go through") {
  Bench bench;
  const std::string big(std::size_t{1} << 20, 'x');
  bench.server.on_request(
      {send(event_stream("data: {\"choices\":[{\"delta\":{\"content\":\"" + big +
                         "\"},\"finish_reason\":\"stop\"}]}"
                         "\n\n"))});
  ModelCall call = bench.request();
  call.body = std::make_shared<std::string>("{\"x\":\"" + big + "\"}");
  const std::string sent = *call.body;
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
