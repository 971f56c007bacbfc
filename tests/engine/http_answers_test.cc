// What the HTTP model makes of statuses, headers and bodies.
#include "engine/mask.h"
#include "tests/engine/http_bench.h"

namespace daybook::tests {
namespace {

using namespace http;

using engine::ModelCall;
using engine::ModelOutcome;
using schema::FailureKind;

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
      {502, "<!DOCTYPE html><TITLE>caf\xE9</TITLE>", FailureKind::retryable_status,
       "an HTML page titled 'caf\xEF\xBF\xBD'"},
      {500, "plain caf\xE9", FailureKind::retryable_status, "plain caf\xEF\xBF\xBD"},
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
      {400,
       R"({"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT",)"
       R"("details":[{"reason":"API_KEY_INVALID","domain":"googleapis.com"}]}})",
       FailureKind::authentication, "API key not valid."},
      {400, R"({"error":{"code":400,"message":"enable billing","status":"FAILED_PRECONDITION"}})",
       FailureKind::permanent, "enable billing"},
      {400,
       R"({"error":{"code":400,"message":"The input token count (1200293) exceeds the maximum )"
       R"(number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}})",
       FailureKind::context_overflow,
       "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576)."},
      {504, R"({"error":{"code":504,"message":"too slow","status":"DEADLINE_EXCEEDED"}})",
       FailureKind::retryable_status, "too slow"},
      {400,
       R"({"error":{"message":"Your input exceeds the context window of this model.",)"
       R"("type":"invalid_request_error","param":"input","code":"context_length_exceeded"}})",
       FailureKind::context_overflow, "Your input exceeds the context window of this model."},
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

TEST_CASE("http model: retry times from bodies, under those from headers") {
  Bench bench;
  const auto retry = [&](const std::string& body, const std::string& headers = "") {
    return bench.failed({send(response(429, "application/json", body, headers))}).retry_after_ms;
  };
  const auto google = [](const std::string& delay) {
    return R"({"error":{"code":429,"message":"m","details":[{"retryDelay":")" + delay + R"("}]}})";
  };
  const auto openai = [](const std::string& wait) {
    return R"({"error":{"code":"rate_limit_exceeded","message":"Please try again in )" + wait +
           R"(. Visit us."}})";
  };
  CHECK(retry(google("34.5s")) == 34'500);
  CHECK(retry(google("34.5s"), "Retry-After: 7\r\n") == 7000);
  CHECK(retry(google("0s")) == 0);
  CHECK(retry(google("99999999s")) == 86'400'000);
  CHECK(retry(google("soon")) == std::nullopt);
  CHECK(retry(google("-3s")) == std::nullopt);
  CHECK(retry(openai("898ms")) == 898);
  CHECK(retry(openai("1.898s")) == 1898);
  CHECK(retry(openai("6m0s")) == 360'000);
  CHECK(retry(openai("1h2m3.5s")) == 3'723'500);
  CHECK(retry(openai("a while")) == std::nullopt);
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
  CHECK(failure.message.find("a redirect to other.example:443, ") != std::string::npos);
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
  SECTION("a whole response of the Responses API is taken") {
    const ModelOutcome outcome = bench.answered(
        {send(response(200, "application/json",
                       R"({"id":"r","object":"response","status":"completed","error":null,)"
                       R"("output":[{"type":"message","role":"assistant","content":[)"
                       R"({"type":"output_text","text":"whole"}]}],"usage":{"input_tokens":3}})"))},
        "openai-responses");
    CHECK(text_of(outcome) == "whole");
    CHECK(outcome.reply->usage.input_total == 3u);
  }
  SECTION("one that failed is an error") {
    const engine::Failure failure = bench.failed(
        {send(response(200, "application/json",
                       R"({"id":"r","object":"response","status":"failed",)"
                       R"("error":{"code":"server_error","message":"sorry"},"output":[]})"))},
        "openai-responses");
    CHECK(failure.kind == FailureKind::retryable_status);
    CHECK(failure.message == "an error in its answer (code server_error): sorry");
  }
  SECTION("Gemini's chunks in an array are taken") {
    const ModelOutcome outcome =
        bench.answered({send(response(200, "application/json",
                                      R"([{"candidates":[{"content":{"parts":[{"text":"who"}]}}]},)"
                                      R"({"candidates":[{"content":{"parts":[{"text":"le"}]},)"
                                      R"("finishReason":"STOP"}]}])"))},
                       "gemini");
    CHECK(text_of(outcome) == "whole");
    CHECK(bench.server.requests()[0].line ==
          "POST /models/m:streamGenerateContent?alt=sse HTTP/1.1");
    CHECK(bench.server.requests()[0].header("x-goog-api-key") == kKey);
  }
  SECTION("an error object is an error whatever the status says") {
    const engine::Failure failure = bench.failed(
        {send(response(200, "application/json", R"({"error":{"message":"slow","code":429}})"))});
    CHECK(failure.kind == FailureKind::retryable_status);
    CHECK(failure.http_status == 200);
    CHECK(failure.message == "an error in its answer (code 429): slow");
  }
  SECTION("a page or another document is a bad response") {
    for (const std::string body :
         {"<html><title>Login</title></html>", "{\"hello\":1}", "", "[]"}) {
      for (const char* kind : {"openai-chat", "openai-responses", "anthropic", "gemini"}) {
        CAPTURE(body, kind);
        const engine::Failure failure =
            bench.failed({send(response(200, "text/html", body))}, kind);
        CHECK(failure.kind == FailureKind::bad_response);
        CHECK(failure.message.find("'text/html' instead of an event stream") != std::string::npos);
      }
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
  CHECK(overloaded.message == "an error in its stream (overloaded_error): Overloaded");
  CHECK(overloaded.http_status == 200);
  const engine::Failure unavailable =
      bench.failed({send(event_stream_head() +
                         chunk("data: {\"error\":{\"message\":\"no room\",\"code\":503}}\n\n")),
                    wait_for_close()});
  CHECK(unavailable.kind == FailureKind::retryable_status);
  CHECK(unavailable.message == "an error in its stream (code 503): no room");
  CHECK(unavailable.http_status == 200);
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

TEST_CASE("http model: a tool call that holds the key is refused, not run with the key masked") {
  const engine::Mask mask("sekrit-123456789");
  engine::Reply reply;
  for (const char* command : {"rm -v cache-sekrit-123456789", "ls"}) {
    engine::Block& block = reply.blocks.emplace_back();
    block.kind = schema::BlockKind::tool_call;
    block.tool = "run_shell";
    block.text = std::string("{\"command\":\"") + command + "\"}";
  }
  mask.apply(reply);
  CHECK(reply.blocks[0].arguments_state == schema::ArgumentsState::malformed);
  CHECK(reply.blocks[0].arguments_error.find("hold the key") != std::string::npos);
  CHECK(reply.blocks[0].text.find("sekrit") == std::string::npos);
  CHECK(reply.blocks[1].arguments_state == schema::ArgumentsState::valid);
  CHECK(reply.blocks[1].text == R"({"command":"ls"})");
}

TEST_CASE("http model: short placeholder keys are not masked") {
  Bench bench;
  bench.server.on_request({send(event_stream(kChat))});
  ModelCall call = bench.request();
  call.key = "Hello";
  CHECK(text_of(bench.run(call)) == "Hello");
}

TEST_CASE("http model: a key that JSON writes differently is masked in both forms") {
  const engine::Mask mask("se\"cret\\key");
  CHECK(mask(R"(plain se"cret\key, quoted "se\"cret\\key")") == R"(plain ***, quoted "***")");
}

}  // namespace
}  // namespace daybook::tests
