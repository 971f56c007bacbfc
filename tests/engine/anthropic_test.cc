#include <catch2/catch.hpp>

#include "engine/codecs.h"
#include "tests/engine/codec_bench.h"
#include "tests/support/build_paths.h"
#include "tests/support/temp_dir.h"

namespace daybook::tests {
namespace {

using namespace codecs;

using engine::anthropic_codec;
using engine::Message;
using engine::ModelParams;
using schema::ArgumentsState;
using schema::BlockKind;
using schema::CacheTtl;
using schema::FailureKind;
using schema::StopReason;

std::string golden(const std::string& name) {
  return read_file(source_path("/tests/data/requests/") + name);
}

std::string render(const Message& message) {
  return anthropic_codec().render_message(message);
}

Request sample() {
  const auto& codec = anthropic_codec();
  ModelParams params;
  params.model = "claude-test-1";
  params.max_output_tokens = 2000;
  params.thinking_budget_tokens = 1024;
  params.reasoning_effort = "low";
  params.extra = R"("temperature":1)";
  Request request;
  request.head = codec.head(params);
  request.system = {codec.render_system("You are terse."),
                    codec.render_system("Folder: /tmp/\xC3\xBC")};
  request.tools = {
      codec.render_tool({"read_file", "Reads \"a\" file.",
                         R"({"type":"object","properties":{"path":{"type":"string"}}})"})};
  request.messages = {
      render(user("Read\nboth.")),
      render(assistant(
          {reasoning("thinking", "two files",
                     R"({"type":"thinking","thinking":"two files","signature":"c2ln"})"),
           reasoning("redacted_thinking", "", R"({"type":"redacted_thinking","data":"ZGF0YQ=="})"),
           text_block("Reading."), tool_call("toolu_1", "read_file", R"({ "path" : "a" })"),
           tool_call("toolu_2", "read_file", R"({"path": )", ArgumentsState::malformed)})),
      render(results({{"toolu_1", "read_file", "A", false},
                      {"toolu_2", "read_file", "the arguments are not JSON", true}}))};
  return request;
}

TEST_CASE("anthropic: a request's bytes") {
  CHECK(sample().frame(anthropic_codec()) == golden("anthropic.json"));
}

TEST_CASE("anthropic: markers") {
  Request request = sample();
  request.markers = {0, 2};
  SECTION("are ignored without a lifetime") {
    CHECK(request.frame(anthropic_codec()) == golden("anthropic.json"));
  }
  SECTION("of an hour") {
    request.ttl = CacheTtl::hour_1;
    CHECK(request.frame(anthropic_codec()) == golden("anthropic_marked.json"));
  }
  SECTION("add their own bytes and change none") {
    request.ttl = CacheTtl::minutes_5;
    std::string body = request.frame(anthropic_codec());
    const std::string marker = R"(,"cache_control":{"type":"ephemeral"})";
    int found = 0;
    for (auto at = body.find(marker); at != std::string::npos; at = body.find(marker)) {
      body.erase(at, marker.size());
      ++found;
    }
    CHECK(found == 3);
    CHECK(body == golden("anthropic.json"));
  }
}

TEST_CASE("anthropic: a marker never goes on reasoning") {
  Request request;
  request.head = "\"model\":\"m\"";
  // A message as an older session may hold it: reasoning last, and text that looks like JSON.
  const std::string text = R"({"type":"text","text":"]}\",\"content\":[{\"type\":\"text\""})";
  const std::string thinking = R"({"type":"thinking","thinking":"]}","signature":"s"})";
  request.messages = {R"({"role":"assistant","content":[)" + text + "," + thinking + "]}",
                      R"({"role":"assistant","content":[)" + thinking + "]}"};
  request.markers = {0, 1};
  request.ttl = CacheTtl::minutes_5;
  const std::string marked =
      text.substr(0, text.size() - 1) + R"(,"cache_control":{"type":"ephemeral"}})";
  CHECK(request.frame(anthropic_codec()) ==
        R"({"model":"m","messages":[{"role":"assistant","content":[)" + marked + "," + thinking +
            R"(]},{"role":"assistant","content":[)" + thinking + "]}]}");
}

TEST_CASE("anthropic: without system parts the marker covers the tools") {
  Request request = sample();
  request.system.clear();
  request.ttl = CacheTtl::minutes_5;
  const std::string body = request.frame(anthropic_codec());
  CHECK(body.find(R"("string"}}},"cache_control":{"type":"ephemeral"}}],"messages":[)") !=
        std::string::npos);
  request.tools.clear();
  CHECK(request.frame(anthropic_codec()).find("cache_control") == std::string::npos);
}

TEST_CASE("anthropic: a longer history grows the request only at its end") {
  Request request = sample();
  std::string before = request.frame(anthropic_codec());
  for (const char* more : {"go on", "and on", ""}) {
    request.messages.push_back(render(user(more)));
    const std::string after = request.frame(anthropic_codec());
    before.resize(before.size() - 2);  // "]}"
    CHECK(after.substr(0, before.size()) == before);
    before = after;
  }
}

TEST_CASE("anthropic: messages that the API would refuse as empty") {
  const std::string placeholder = R"x({"type":"text","text":"(no content)"})x";
  CHECK(render(user("")) == R"({"role":"user","content":[)" + placeholder + "]}");
  CHECK(render(user(" \n")) == R"({"role":"user","content":[)" + placeholder + "]}");
  CHECK(render(assistant({})) == R"({"role":"assistant","content":[)" + placeholder + "]}");
  CHECK(render(assistant({text_block(""), text_block("\n")})) ==
        R"({"role":"assistant","content":[)" + placeholder + "]}");
  const std::string thinking = R"({"type":"thinking","thinking":"t","signature":"s"})";
  CHECK(render(assistant({reasoning("thinking", "t", thinking)})) ==
        R"({"role":"assistant","content":[)" + thinking + "," + placeholder + "]}");
  CHECK(render(assistant({text_block("a"), reasoning("thinking", "t", thinking)})) ==
        R"({"role":"assistant","content":[{"type":"text","text":"a"},)" + thinking + "," +
            placeholder + "]}");
  CHECK(render(assistant({text_block(""), tool_call("a", "t", "")})) ==
        R"({"role":"assistant","content":[{"type":"tool_use","id":"a","name":"t","input":{}}]})");
  CHECK(render(results({{"a", "t", "", false}})) ==
        R"({"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]})");
  CHECK(render(results({{"a", "t", "", true}})) ==
        R"x({"role":"user","content":[{"type":"tool_result","tool_use_id":"a","is_error":true,)x"
        R"x("content":"(no content)"}]})x");
}

TEST_CASE("anthropic: other providers' reasoning stays out, and their ids become legal") {
  const Message message =
      assistant({reasoning("reasoning_content", "hm"), reasoning("reasoning_details", "hm", "[{}]"),
                 tool_call("functions.read:0", "t", "{}")});
  const std::string id = "call_" + Digest::of(std::string_view("functions.read:0")).hex();
  CHECK(render(message) == R"({"role":"assistant","content":[{"type":"tool_use","id":")" + id +
                               R"(","name":"t","input":{}}]})");
  CHECK(render(results({{"functions.read:0", "t", "x", false}})) ==
        R"({"role":"user","content":[{"type":"tool_result","tool_use_id":")" + id +
            R"(","content":"x"}]})");
}

TEST_CASE("anthropic: names that a model invented become legal") {
  CHECK(render(assistant({tool_call("a", "no such/tool", "{}"), tool_call("b", "", "{}")})) ==
        R"({"role":"assistant","content":[{"type":"tool_use","id":"a","name":"no_such_tool",)"
        R"("input":{}},{"type":"tool_use","id":"b","name":"unnamed","input":{}}]})");
}

TEST_CASE("anthropic: text that is not UTF-8 still makes a request") {
  CHECK(render(user("a\xFF\x01\"")) ==
        "{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"a\xEF\xBF\xBD\\u0001\\\"\"}]"
        "}");
}

TEST_CASE("anthropic: head, path and headers") {
  const auto& codec = anthropic_codec();
  ModelParams params;
  params.model = "m";
  CHECK(codec.head(params) == R"("model":"m","max_tokens":8192,"stream":true)");
  CHECK(codec.path("m") == "/v1/messages");
  CHECK(codec.headers("k") ==
        std::vector<std::string>{"anthropic-version: 2023-06-01", "x-api-key: k"});
  CHECK(codec.headers("") == std::vector<std::string>{"anthropic-version: 2023-06-01"});
  CHECK(codec.has_markers());
  CHECK(engine::find_codec("anthropic") == &codec);
  CHECK(engine::find_codec("Anthropic") == nullptr);
}

// ------------------------------------------------------------------------------ responses

std::string event(const std::string& name, const std::string& data) {
  return "event: " + name + "\ndata: " + data + "\n\n";
}

std::string start(const std::string& usage = R"({"input_tokens":10,"output_tokens":1})") {
  return event("message_start",
               R"({"type":"message_start","message":{"id":"msg_1","type":"message",)"
               R"("role":"assistant","model":"claude-test-1-20250101","content":[],)"
               R"("stop_reason":null,"new_field":{"a":1},"usage":)" +
                   usage + "}}");
}

std::string block_start(int index, const std::string& block) {
  return event("content_block_start", R"({"type":"content_block_start","index":)" +
                                          std::to_string(index) + R"(,"content_block":)" + block +
                                          "}");
}

std::string delta(int index, const std::string& body) {
  return event("content_block_delta", R"({"type":"content_block_delta","index":)" +
                                          std::to_string(index) + R"(,"delta":)" + body + "}");
}

std::string block_stop(int index) {
  return event("content_block_stop",
               R"({"type":"content_block_stop","index":)" + std::to_string(index) + "}");
}

std::string end(const std::string& reason, const std::string& usage = R"({"output_tokens":42})") {
  return event("message_delta", R"({"type":"message_delta","delta":{"stop_reason":")" + reason +
                                    R"(","stop_sequence":null},"usage":)" + usage + "}") +
         event("message_stop", R"({"type":"message_stop"})");
}

const std::string kThinkingBlock = R"({"type":"thinking","thinking":"","signature":""})";

std::string full_stream() {
  return start() + event("ping", R"({"type":"ping"})") + block_start(0, kThinkingBlock) +
         delta(0, R"({"type":"thinking_delta","thinking":"let me "})") +
         delta(0, R"({"type":"thinking_delta","thinking":"see"})") +
         delta(0, R"({"type":"signature_delta","signature":"c2ln"})") + block_stop(0) +
         block_start(1, R"({"type":"redacted_thinking","data":"ZGF0YQ=="})") + block_stop(1) +
         block_start(2, R"({"type":"text","text":""})") +
         delta(2, R"({"type":"text_delta","text":"Hel"})") +
         delta(2, R"({"type":"text_delta","text":"lo \u00fc"})") + block_stop(2) +
         block_start(3, R"({"type":"tool_use","id":"toolu_1","name":"read_file","input":{}})") +
         delta(3, R"({"type":"input_json_delta","partial_json":""})") +
         delta(3, R"({"type":"input_json_delta","partial_json":"{\"path\": \"a"})") +
         delta(3, R"({"type":"input_json_delta","partial_json":"\"}"})") + block_stop(3) +
         end("tool_use");
}

TEST_CASE("anthropic: a whole stream") {
  const Decoded out = decode(anthropic_codec(), full_stream());
  REQUIRE(out.reply);
  const auto& blocks = out.reply->blocks;
  REQUIRE(blocks.size() == 4);
  CHECK(blocks[0].kind == BlockKind::reasoning);
  CHECK(blocks[0].text == "let me see");
  CHECK(blocks[0].field == "thinking");
  CHECK(blocks[0].opaque == R"({"type":"thinking","thinking":"let me see","signature":"c2ln"})");
  CHECK(blocks[1].opaque == R"({"type":"redacted_thinking","data":"ZGF0YQ=="})");
  CHECK(blocks[1].field == "redacted_thinking");
  CHECK(blocks[2].text == "Hello \xC3\xBC");
  CHECK(blocks[3].kind == BlockKind::tool_call);
  CHECK(blocks[3].provider_call_id == "toolu_1");
  CHECK(blocks[3].tool == "read_file");
  CHECK(blocks[3].text == R"({"path": "a"})");
  CHECK(blocks[3].arguments_state == ArgumentsState::valid);
  CHECK(blocks[3].call_id.empty());
  CHECK(out.reply->stop == StopReason::tool_calls);
  CHECK(out.reply->stop_raw == "tool_use");
  CHECK(out.reply->response_id == "msg_1");
  CHECK(out.reply->served_model == "claude-test-1-20250101");
  CHECK(out.text == "Hello \xC3\xBC");
  CHECK(out.reasoning == "let me see");
  CHECK(out.reply->raw ==
        R"({"id":"msg_1","type":"message","role":"assistant","model":"claude-test-1-20250101",)"
        R"("content":[{"type":"thinking","thinking":"let me see","signature":"c2ln"},)"
        R"({"type":"redacted_thinking","data":"ZGF0YQ=="},{"type":"text","text":"Hello )"
        "\xC3\xBC"
        R"("},{"type":"tool_use","id":"toolu_1","name":"read_file","input":{"path":"a"}}],)"
        R"("stop_reason":"tool_use","new_field":{"a":1},)"
        R"("usage":{"input_tokens":10,"output_tokens":42},"stop_sequence":null})");
}

TEST_CASE("anthropic: a reply goes back as it came") {
  const Decoded out = decode(anthropic_codec(), full_stream());
  REQUIRE(out.reply);
  CHECK(render(assistant(out.reply->blocks)) ==
        R"({"role":"assistant","content":[)"
        R"({"type":"thinking","thinking":"let me see","signature":"c2ln"},)"
        R"({"type":"redacted_thinking","data":"ZGF0YQ=="},{"type":"text","text":"Hello )"
        "\xC3\xBC"
        R"("},{"type":"tool_use","id":"toolu_1","name":"read_file","input":{"path": "a"}}]})");
}

TEST_CASE("anthropic: the borders of pieces change nothing") {
  const std::string stream = full_stream();
  const std::string expected = decode(anthropic_codec(), stream).reply->raw;
  const std::string_view view = stream;
  for (std::size_t i = 0; i <= view.size(); ++i) {
    const Decoded out = decode(anthropic_codec(), {view.substr(0, i), view.substr(i)});
    REQUIRE(out.reply);
    REQUIRE(out.reply->raw == expected);
    REQUIRE(out.text == "Hello \xC3\xBC");
  }
}

TEST_CASE("anthropic: a stream cut at any byte is no reply") {
  const std::string stream = full_stream();
  for (std::size_t i = 0; i < stream.size(); ++i) {
    const Decoded out = decode(anthropic_codec(), std::string_view(stream).substr(0, i));
    REQUIRE_FALSE(out.reply);
    REQUIRE(out.reply.error().kind == FailureKind::stream_cut);
  }
}

TEST_CASE("anthropic: usage keeps what was reported and what was not") {
  const auto usage = [](const std::string& first, const std::string& last) {
    return decode(anthropic_codec(), start(first) + end("end_turn", last)).usage;
  };
  SECTION("the end overrides the start where it says something") {
    const auto out = usage(
        R"({"input_tokens":10,"cache_read_input_tokens":1000,"cache_creation_input_tokens":300,)"
        R"("cache_creation":{"ephemeral_5m_input_tokens":100,"ephemeral_1h_input_tokens":200},)"
        R"("output_tokens":1})",
        R"({"input_tokens":12,"cache_read_input_tokens":null,"output_tokens":42})");
    CHECK(out.input_uncached == 12u);
    CHECK(out.cache_read == 1000u);
    CHECK(out.cache_write == 300u);
    CHECK(out.cache_write_5m == 100u);
    CHECK(out.cache_write_1h == 200u);
    CHECK(out.output == 42u);
    CHECK(out.input_total == std::nullopt);
    CHECK(out.reasoning == std::nullopt);
    CHECK(out.raw ==
          R"({"input_tokens":12,"cache_read_input_tokens":1000,"cache_creation_input_tokens":300,)"
          R"("cache_creation":{"ephemeral_5m_input_tokens":100,"ephemeral_1h_input_tokens":200},)"
          R"("output_tokens":42})");
  }
  SECTION("absent and null are not zero, and zero is not absent") {
    const auto out = usage(R"({"input_tokens":0,"cache_read_input_tokens":null})", "{}");
    CHECK(out.input_uncached == 0u);
    CHECK(out.cache_read == std::nullopt);
    CHECK(out.cache_write == std::nullopt);
    CHECK(out.output == std::nullopt);
  }
  SECTION("what decides the price: searches, tier, speed and region, as served") {
    const auto out =
        usage(R"({"input_tokens":1,"service_tier":"batch","inference_geo":"us","speed":"fast"})",
              R"({"output_tokens":2,"server_tool_use":{"web_search_requests":3}})");
    CHECK(out.web_searches == 3u);
    CHECK(out.service_tier == "batch");
    CHECK(out.region == "us");
    CHECK(out.speed == "fast");
  }
  SECTION("none at all") {
    const auto out = usage("null", "null");
    CHECK(out.web_searches == std::nullopt);
    CHECK(out.service_tier.empty());
    CHECK(out.raw.empty());
    CHECK(out.input_uncached == std::nullopt);
  }
  SECTION("of a cut stream") {
    const Decoded cut = decode(anthropic_codec(), start());
    REQUIRE_FALSE(cut.reply);
    CHECK(cut.reply.error().usage.input_uncached == 10u);
  }
}

TEST_CASE("anthropic: stop reasons") {
  const auto stop = [](const std::string& raw) {
    return decode(anthropic_codec(), start() + end(raw)).reply->stop;
  };
  CHECK(stop("end_turn") == StopReason::end);
  CHECK(stop("stop_sequence") == StopReason::end);
  CHECK(stop("tool_use") == StopReason::tool_calls);
  CHECK(stop("max_tokens") == StopReason::output_limit);
  CHECK(stop("model_context_window_exceeded") == StopReason::output_limit);
  CHECK(stop("refusal") == StopReason::refusal);
  CHECK(stop("pause_turn") == StopReason::other);
}

TEST_CASE("anthropic: what became of a tool call's arguments") {
  const auto call = [](const std::string& partial, const std::string& reason,
                       bool closed = true) -> engine::Block {
    const Decoded out = decode(
        anthropic_codec(),
        start() + block_start(0, R"({"type":"tool_use","id":"t","name":"n","input":{}})") +
            (partial.empty()
                 ? ""
                 : delta(0, R"({"type":"input_json_delta","partial_json":")" + partial + "\"}")) +
            (closed ? block_stop(0) : "") + end(reason));
    REQUIRE(out.reply);
    REQUIRE(out.reply->blocks.size() == 1);
    return out.reply->blocks[0];
  };
  CHECK(call("", "tool_use").arguments_state == ArgumentsState::valid);
  CHECK(call("", "tool_use").text == "{}");
  CHECK(call(R"({\"a\":1})", "tool_use").arguments_state == ArgumentsState::valid);
  const engine::Block malformed = call(R"({\"a\":)", "tool_use");
  CHECK(malformed.arguments_state == ArgumentsState::malformed);
  CHECK(malformed.text == R"({"a":)");
  CHECK(malformed.arguments_error.find("not valid JSON") == 0);
  CHECK(call("[1]", "tool_use").arguments_error == "the arguments are not a JSON object");
  CHECK(call("[1]", "max_tokens").arguments_state == ArgumentsState::malformed);
  CHECK(call(R"({\"a\":)", "max_tokens").arguments_state == ArgumentsState::cut);
  CHECK(call(R"({\"a\":1})", "max_tokens").arguments_state == ArgumentsState::valid);
  CHECK(call("", "max_tokens").arguments_state == ArgumentsState::cut);
  CHECK(call(R"({\"a\":)", "tool_use", false).arguments_state == ArgumentsState::cut);
  CHECK(render(assistant({malformed})) ==
        R"({"role":"assistant","content":[{"type":"tool_use","id":"t","name":"n","input":{}}]})");
}

TEST_CASE("anthropic: reasoning cut before its signature is kept but not sent back") {
  const std::string stream = start() + block_start(0, kThinkingBlock) +
                             delta(0, R"({"type":"thinking_delta","thinking":"long"})");
  const Decoded cut = decode(anthropic_codec(), stream + block_stop(0) + end("max_tokens"));
  REQUIRE(cut.reply);
  CHECK(cut.reply->blocks[0].text == "long");
  CHECK(cut.reply->blocks[0].opaque.empty());
  // Compatible servers never sign.
  const Decoded whole = decode(anthropic_codec(), stream + block_stop(0) + end("end_turn"));
  CHECK(whole.reply->blocks[0].opaque == R"({"type":"thinking","thinking":"long","signature":""})");
}

TEST_CASE("anthropic: the unknown is kept and ignored") {
  const std::string stream =
      start() + event("novelty", R"({"type":"novelty","x":1})") +
      block_start(0, R"({"type":"server_tool_use","id":"s","name":"web","input":{}})") +
      delta(0, R"({"type":"input_json_delta","partial_json":"{\"q\":1}"})") + block_stop(0) +
      block_start(1, R"({"type":"text","text":"hi"})") + delta(1, R"({"type":"odd_delta","y":2})") +
      delta(1, R"({"type":"citations_delta","citation":{"c":1}})") + delta(9, "{}") +
      block_stop(1) + end("end_turn");
  const Decoded out = decode(anthropic_codec(), stream);
  REQUIRE(out.reply);
  REQUIRE(out.reply->blocks.size() == 1);
  CHECK(out.reply->blocks[0].text == "hi");
  CHECK(out.text == "hi");
  for (const char* part : {R"({"type":"server_tool_use","id":"s","name":"web","input":{"q":1}})",
                           R"({"type":"text","text":"hi","citations":[{"c":1}]})",
                           R"({"type":"novelty","x":1})", R"({"type":"odd_delta","y":2})"}) {
    CAPTURE(part);
    CHECK(out.reply->raw.find(part) != std::string::npos);
  }
}

TEST_CASE("anthropic: cache diagnostics are kept") {
  const std::string reason = R"({"cache_miss_reason":{"type":"system_changed"}})";
  const std::string first =
      event("message_start",
            R"({"type":"message_start","message":{"id":"m","diagnostics":)" + reason + "}}");
  CHECK(decode(anthropic_codec(), first + end("end_turn")).reply->diagnostics == reason);
  CHECK(decode(anthropic_codec(), start() + end("end_turn")).reply->diagnostics.empty());
}

TEST_CASE("anthropic: half a surrogate pair costs a character, not the reply") {
  const Decoded out =
      decode(anthropic_codec(), start() + block_start(0, R"({"type":"text","text":""})") +
                                    delta(0, R"({"type":"text_delta","text":"a\ud83d"})") +
                                    block_stop(0) + end("end_turn"));
  REQUIRE(out.reply);
  CHECK(out.reply->blocks.at(0).text == "a\xef\xbf\xbd");
}

TEST_CASE("anthropic: errors inside the stream") {
  const auto failure = [](const std::string& type, const std::string& message) {
    const Decoded out =
        decode(anthropic_codec(), start() +
                                      event("error", R"({"type":"error","error":{"type":")" + type +
                                                         R"(","message":")" + message + "\"}}") +
                                      end("end_turn"));
    REQUIRE_FALSE(out.reply);
    CHECK(out.reply.error().message == "an error in its stream (" + type + "): " + message);
    return out.reply.error().kind;
  };
  CHECK(failure("overloaded_error", "Overloaded") == FailureKind::retryable_status);
  CHECK(failure("rate_limit_error", "slow down") == FailureKind::retryable_status);
  CHECK(failure("api_error", "Internal server error") == FailureKind::retryable_status);
  CHECK(failure("invalid_request_error", "no") == FailureKind::permanent);
  CHECK(failure("invalid_request_error", "prompt is too long: 3 tokens > 2 maximum") ==
        FailureKind::context_overflow);
  CHECK(failure("authentication_error", "who") == FailureKind::authentication);
  CHECK(failure("billing_error", "pay") == FailureKind::permanent);
  const Decoded plain = decode(anthropic_codec(), start() + event("error", "upstream died"));
  REQUIRE_FALSE(plain.reply);
  CHECK(plain.reply.error().message == "an error in its stream: upstream died");
  CHECK(plain.reply.error().kind == FailureKind::retryable_status);
}

TEST_CASE("anthropic: an event that is not JSON is a bad response") {
  const Decoded out = decode(anthropic_codec(), start() + "data: {oops\n\n" + end("end_turn"));
  REQUIRE_FALSE(out.reply);
  CHECK(out.reply.error().kind == FailureKind::bad_response);
  CHECK(out.reply.error().raw == "{oops");
}

TEST_CASE("anthropic: nothing after message_stop counts") {
  const Decoded out = decode(anthropic_codec(), full_stream() + full_stream() + "data: {oops\n\n");
  REQUIRE(out.reply);
  CHECK(out.reply->blocks.size() == 4);
}

}  // namespace
}  // namespace daybook::tests
