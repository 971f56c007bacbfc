#include <catch2/catch.hpp>

#include "engine/codecs.h"
#include "tests/engine/codec_bench.h"
#include "tests/support/build_paths.h"
#include "tests/support/temp_dir.h"

namespace daybook::tests {
namespace {

using namespace codecs;

using engine::Message;
using engine::ModelParams;
using engine::openai_chat_codec;
using schema::ArgumentsState;
using schema::BlockKind;
using schema::FailureKind;
using schema::StopReason;

std::string golden(const std::string& name) {
  return read_file(source_path("/tests/data/requests/") + name);
}

std::string render(const Message& message) {
  return openai_chat_codec().render_message(message);
}

Request sample() {
  const auto& codec = openai_chat_codec();
  ModelParams params;
  params.model = "gpt-test-1";
  params.max_output_tokens = 2000;
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
      render(assistant({reasoning("reasoning_content", "two files"), text_block("Reading."),
                        tool_call("call_a", "read_file", R"({ "path" : "a" })"),
                        tool_call("call_b", "read_file", R"({"path":)", ArgumentsState::cut)})),
      render(results({{"call_a", "read_file", "A", false},
                      {"call_b", "read_file", "the arguments are not JSON", true}}))};
  return request;
}

TEST_CASE("openai chat: a request's bytes") {
  CHECK(sample().frame(openai_chat_codec()) == golden("openai_chat.json"));
}

TEST_CASE("openai chat: markers are ignored") {
  Request request = sample();
  request.markers = {0, 2};
  request.ttl = schema::CacheTtl::hour_1;
  CHECK_FALSE(openai_chat_codec().has_markers());
  CHECK(request.frame(openai_chat_codec()) == golden("openai_chat.json"));
}

TEST_CASE("openai chat: a longer history grows the request only at its end") {
  Request request = sample();
  std::string before = request.frame(openai_chat_codec());
  for (const char* more : {"go on", "and on", ""}) {
    request.messages.push_back(render(user(more)));
    const std::string after = request.frame(openai_chat_codec());
    before.resize(before.size() - 2);  // "]}"
    CHECK(after.substr(0, before.size()) == before);
    before = after;
  }
}

TEST_CASE("openai chat: requests without system, tools or messages") {
  Request request;
  request.head = "\"model\":\"m\"";
  CHECK(request.frame(openai_chat_codec()) == R"({"model":"m","messages":[]})");
  request.system = {openai_chat_codec().render_system("a\"b")};
  CHECK(request.frame(openai_chat_codec()) ==
        R"({"model":"m","messages":[{"role":"system","content":"a\"b"}]})");
}

TEST_CASE("openai chat: assistant messages") {
  CHECK(render(assistant({})) == R"x({"role":"assistant","content":"(no content)"})x");
  CHECK(render(assistant({text_block("a"), text_block("b")})) ==
        R"({"role":"assistant","content":"ab"})");
  CHECK(render(assistant({tool_call("c", "t", "")})) ==
        R"({"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function",)"
        R"("function":{"name":"t","arguments":"{}"}}]})");
}

TEST_CASE("openai chat: reasoning goes back in the field it came in") {
  CHECK(render(assistant({reasoning("reasoning", "hm"), text_block("a")})) ==
        R"({"role":"assistant","content":"a","reasoning":"hm"})");
  CHECK(render(assistant({reasoning("reasoning_content", "hm"), text_block("a")})) ==
        R"({"role":"assistant","content":"a","reasoning_content":"hm"})");
  CHECK(render(assistant(
            {reasoning("reasoning_details", "hm", R"([{"type":"x", "n":1}])"), text_block("a")})) ==
        R"({"role":"assistant","content":"a","reasoning_details":[{"type":"x", "n":1}]})");
  // Another provider's reasoning has no field here.
  CHECK(render(assistant({reasoning("thinking", "hm", "{}"), text_block("a")})) ==
        R"({"role":"assistant","content":"a"})");
}

TEST_CASE("openai chat: head, path and headers") {
  const auto& codec = openai_chat_codec();
  ModelParams params;
  params.model = "m";
  CHECK(codec.head(params) ==
        R"("model":"m","stream":true,"stream_options":{"include_usage":true})");
  params.max_output_tokens = 5;
  params.limit_is_max_completion_tokens = true;
  CHECK(codec.head(params) == R"("model":"m","max_completion_tokens":5,"stream":true,)"
                              R"("stream_options":{"include_usage":true})");
  CHECK(codec.path("m") == "/chat/completions");
  CHECK(codec.headers("k") == std::vector<std::string>{"Authorization: Bearer k"});
  CHECK(codec.headers("").empty());
  CHECK(engine::find_codec("openai-chat") == &codec);
  CHECK(engine::find_codec("openai") == nullptr);
}

// ------------------------------------------------------------------------------ responses

std::string data(const std::string& json) {
  return "data: " + json + "\n\n";
}

std::string chunk_of(const std::string& delta, const std::string& finish = "null") {
  return data(
      R"({"id":"c1","object":"chat.completion.chunk","created":5,"model":"gpt-test-1-0101",)"
      R"("system_fingerprint":"fp","choices":[{"index":0,"delta":)" +
      delta + R"(,"finish_reason":)" + finish + R"(}],"usage":null})");
}

const std::string kDone = "data: [DONE]\n\n";

std::string full_stream() {
  return chunk_of(R"({"role":"assistant","content":null,"reasoning_content":"let me "})") +
         ": keep-alive\n\n" + chunk_of(R"({"reasoning_content":"see"})") +
         chunk_of(R"({"content":"Hel"})") + chunk_of(R"({"content":"lo \u00fc"})") +
         chunk_of(R"({"tool_calls":[{"index":0,"id":"a","type":"function",)"
                  R"("function":{"name":"read_file","arguments":""}}]})") +
         chunk_of(R"({"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":"}}]})") +
         chunk_of(R"({"tool_calls":[{"index":1,"id":"b","type":"function",)"
                  R"("function":{"name":"list_files","arguments":""}}]})") +
         chunk_of(R"({"tool_calls":[{"index":0,"function":{"arguments":" \"x\"}"}}]})") +
         chunk_of("{}", "\"tool_calls\"") +
         data(R"({"id":"c1","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,)"
              R"("prompt_tokens_details":{"cached_tokens":64},)"
              R"("completion_tokens_details":{"reasoning_tokens":12}}})") +
         kDone;
}

TEST_CASE("openai chat: a whole stream") {
  const Decoded out = decode(openai_chat_codec(), full_stream());
  REQUIRE(out.reply);
  const auto& blocks = out.reply->blocks;
  REQUIRE(blocks.size() == 4);
  CHECK(blocks[0].kind == BlockKind::reasoning);
  CHECK(blocks[0].field == "reasoning_content");
  CHECK(blocks[0].text == "let me see");
  CHECK(blocks[1].text == "Hello \xC3\xBC");
  CHECK(blocks[2].provider_call_id == "a");
  CHECK(blocks[2].tool == "read_file");
  CHECK(blocks[2].text == R"({"path": "x"})");
  CHECK(blocks[3].provider_call_id == "b");
  CHECK(blocks[3].text == "{}");
  CHECK(blocks[3].arguments_state == ArgumentsState::valid);
  CHECK(out.reply->stop == StopReason::tool_calls);
  CHECK(out.reply->response_id == "c1");
  CHECK(out.reply->served_model == "gpt-test-1-0101");
  CHECK(out.text == "Hello \xC3\xBC");
  CHECK(out.reasoning == "let me see");
  CHECK(out.usage.input_total == 100u);
  CHECK(out.usage.cache_read == 64u);
  CHECK(out.usage.output == 20u);
  CHECK(out.usage.reasoning == 12u);
  CHECK(out.usage.input_uncached == std::nullopt);
  CHECK(out.usage.cache_write == std::nullopt);
  CHECK(out.reply->raw ==
        R"({"id":"c1","object":"chat.completion.chunk","created":5,"model":"gpt-test-1-0101",)"
        R"("system_fingerprint":"fp","choices":[{"index":0,"message":{"role":"assistant",)"
        R"("content":"Hello )"
        "\xC3\xBC"
        R"(","reasoning_content":"let me see","tool_calls":[{"id":"a","type":"function",)"
        R"("function":{"name":"read_file","arguments":"{\"path\": \"x\"}"}},{"id":"b",)"
        R"("type":"function","function":{"name":"list_files","arguments":""}}]},)"
        R"("finish_reason":"tool_calls"}],"usage":{"prompt_tokens":100,"completion_tokens":20,)"
        R"("prompt_tokens_details":{"cached_tokens":64},)"
        R"("completion_tokens_details":{"reasoning_tokens":12}}})");
}

TEST_CASE("openai chat: the borders of pieces change nothing") {
  const std::string stream = full_stream();
  const std::string expected = decode(openai_chat_codec(), stream).reply->raw;
  const std::string_view view = stream;
  for (std::size_t i = 0; i <= view.size(); ++i) {
    const Decoded out = decode(openai_chat_codec(), {view.substr(0, i), view.substr(i)});
    REQUIRE(out.reply);
    REQUIRE(out.reply->raw == expected);
    REQUIRE(out.reasoning == "let me see");
  }
}

TEST_CASE("openai chat: a stream cut at any byte is never a wrong reply") {
  const std::string stream = full_stream();
  const auto blocks = decode(openai_chat_codec(), stream).reply->blocks;
  const std::string marker = "\"finish_reason\":\"tool_calls\"";
  const std::size_t whole_from = stream.find("\n\n", stream.find(marker)) + 2;
  for (std::size_t i = 0; i < stream.size(); ++i) {
    const Decoded out = decode(openai_chat_codec(), std::string_view(stream).substr(0, i));
    REQUIRE(out.reply.has_value() == (i >= whole_from));
    if (out.reply) {
      REQUIRE(out.reply->blocks.size() == blocks.size());
      REQUIRE(out.reply->blocks[2].text == blocks[2].text);
    } else {
      REQUIRE(out.reply.error().kind == FailureKind::stream_cut);
    }
  }
}

TEST_CASE("openai chat: tool calls as the servers send them") {
  const auto calls = [](const std::string& deltas) {
    const Decoded out =
        decode(openai_chat_codec(), deltas + chunk_of("{}", "\"tool_calls\"") + kDone);
    REQUIRE(out.reply);
    std::string list;
    for (const auto& block : out.reply->blocks) {
      list += block.provider_call_id + " " + block.tool + " " + block.text + ";";
    }
    return list;
  };
  SECTION("whole calls in one chunk") {
    CHECK(calls(chunk_of(
              R"({"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}},)"
              R"({"index":1,"id":"b","function":{"name":"g","arguments":"{\"x\":1}"}}]})")) ==
          R"(a f {};b g {"x":1};)");
  }
  SECTION("no index") {
    CHECK(calls(chunk_of(R"({"tool_calls":[{"id":"a","function":{"name":"f","arguments":"{"}}]})") +
                chunk_of(R"({"tool_calls":[{"function":{"arguments":"}"}}]})") +
                chunk_of(
                    R"({"tool_calls":[{"id":"b","function":{"name":"f","arguments":"{}"}}]})")) ==
          "a f {};b f {};");
  }
  SECTION("index 0 for every parallel call") {
    CHECK(calls(chunk_of(R"({"tool_calls":[{"index":0,"id":"a","function":{"name":"f",)"
                         R"("arguments":"{}"}}]})") +
                chunk_of(R"({"tool_calls":[{"index":0,"id":"b","function":{"name":"f",)"
                         R"("arguments":"{\"n\":"}}]})") +
                chunk_of(R"({"tool_calls":[{"index":0,"function":{"arguments":"2}"}}]})")) ==
          R"(a f {};b f {"n":2};)");
  }
  SECTION("id and name repeated in every chunk") {
    CHECK(calls(chunk_of(R"({"tool_calls":[{"index":0,"id":"a","function":{"name":"f",)"
                         R"("arguments":"{\"n\""}}]})") +
                chunk_of(R"({"tool_calls":[{"index":0,"id":"a","function":{"name":"f",)"
                         R"("arguments":":1}"}}]})")) == R"(a f {"n":1};)");
  }
  SECTION("arguments as an object") {
    CHECK(calls(chunk_of(R"({"tool_calls":[{"index":0,"id":"a","function":{"name":"f",)"
                         R"("arguments":{"n":1}}}]})")) == R"(a f {"n":1};)");
  }
  SECTION("no id: one is made, so that the result can be paired") {
    CHECK(calls(chunk_of(R"({"tool_calls":[{"index":0,"function":{"name":"f","arguments":"{}"}},)"
                         R"({"index":1,"function":{"name":"f","arguments":"{}"}}]})")) ==
          "call_0 f {};call_1 f {};");
  }
}

TEST_CASE("openai chat: what became of a tool call's arguments") {
  const auto call = [](const std::string& text, const std::string& finish) -> engine::Block {
    const Decoded out = decode(
        openai_chat_codec(),
        chunk_of(R"({"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":")" +
                 text + R"("}}]})") +
            chunk_of("{}", "\"" + finish + "\""));
    REQUIRE(out.reply);
    return out.reply->blocks.at(0);
  };
  CHECK(call("", "tool_calls").text == "{}");
  CHECK(call(R"({\"a\":)", "tool_calls").arguments_state == ArgumentsState::malformed);
  CHECK(call(R"({\"a\":)", "tool_calls").text == R"({"a":)");
  CHECK(call(R"({\"a\":)", "length").arguments_state == ArgumentsState::cut);
  CHECK(call("7", "tool_calls").arguments_error == "the arguments are not a JSON object");
  CHECK(call("\xEF\xBB\xBF{}", "tool_calls").arguments_state == ArgumentsState::malformed);
  std::string deep(300, '[');
  CHECK(call(deep, "tool_calls").arguments_state == ArgumentsState::malformed);
}

TEST_CASE("openai chat: content as a list of parts") {
  const Decoded out = decode(
      openai_chat_codec(), chunk_of(R"({"content":[{"type":"text","text":"a"},{"type":"odd"}]})") +
                               chunk_of(R"({"content":[{"type":"text","text":"b"}]})", "\"stop\""));
  REQUIRE(out.reply);
  CHECK(out.reply->blocks.at(0).text == "ab");
  CHECK(out.text == "ab");
}

TEST_CASE("openai chat: names that a model invented become legal") {
  CHECK(render(assistant({tool_call("c", "functions.read", "{}")})) ==
        R"({"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function",)"
        R"("function":{"name":"functions_read","arguments":"{}"}}]})");
}

TEST_CASE("openai chat: reasoning in other fields") {
  SECTION("reasoning") {
    const Decoded out = decode(openai_chat_codec(), chunk_of(R"({"reasoning":"hm"})") +
                                                        chunk_of(R"({"content":"a"})", "\"stop\""));
    REQUIRE(out.reply);
    CHECK(out.reply->blocks.at(0).field == "reasoning");
    CHECK(out.reply->blocks.at(0).text == "hm");
  }
  SECTION("the same twice is told and kept once") {
    const Decoded out =
        decode(openai_chat_codec(), chunk_of(R"({"reasoning":"hm","reasoning_content":"hm"})") +
                                        chunk_of(R"({"content":"a"})", "\"stop\""));
    REQUIRE(out.reply);
    CHECK(out.reply->blocks.size() == 2);
    CHECK(out.reply->blocks.at(0).field == "reasoning_content");
    CHECK(out.reasoning == "hm");
  }
  SECTION("details are joined by index and kept opaque") {
    const Decoded out =
        decode(openai_chat_codec(),
               chunk_of(R"({"reasoning":"let ","reasoning_details":[{"type":"reasoning.text",)"
                        R"("text":"let ","format":"f","index":0}]})") +
                   chunk_of(R"({"reasoning":"me","reasoning_details":[{"type":"reasoning.text",)"
                            R"("text":"me","signature":"s","index":0}]})") +
                   chunk_of(R"({"reasoning_details":[{"type":"reasoning.encrypted","data":"d",)"
                            R"("index":1}]})") +
                   chunk_of(R"({"content":"a"})", "\"stop\""));
    REQUIRE(out.reply);
    const auto& block = out.reply->blocks.at(0);
    CHECK(block.field == "reasoning_details");
    CHECK(block.text == "let me");
    CHECK(block.opaque ==
          R"([{"type":"reasoning.text","text":"let me","format":"f","index":0,"signature":"s"},)"
          R"({"type":"reasoning.encrypted","data":"d","index":1}])");
    CHECK(out.reasoning == "let me");
  }
  SECTION("an empty field counts when there are calls: it is wanted back") {
    const std::string calls =
        R"({"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]})";
    const Decoded out = decode(openai_chat_codec(), chunk_of(R"({"reasoning_content":""})") +
                                                        chunk_of(calls, "\"tool_calls\""));
    REQUIRE(out.reply->blocks.size() == 2);
    CHECK(render(assistant(out.reply->blocks)).find(R"("reasoning_content":"")") !=
          std::string::npos);
    const Decoded plain =
        decode(openai_chat_codec(), chunk_of(R"({"reasoning_content":""})") +
                                        chunk_of(R"({"content":"a"})", "\"stop\""));
    CHECK(plain.reply->blocks.size() == 1);
  }
}

TEST_CASE("openai chat: stop reasons") {
  const auto stop = [](const std::string& raw) {
    return decode(openai_chat_codec(), chunk_of(R"({"content":"a"})", "\"" + raw + "\""))
        .reply->stop;
  };
  CHECK(stop("stop") == StopReason::end);
  CHECK(stop("length") == StopReason::output_limit);
  CHECK(stop("content_filter") == StopReason::content_filter);
  CHECK(stop("tool_calls") == StopReason::tool_calls);
  CHECK(stop("novelty") == StopReason::other);
  const std::string call =
      R"({"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]})";
  CHECK(decode(openai_chat_codec(), chunk_of(call, "\"stop\"")).reply->stop ==
        StopReason::tool_calls);
  CHECK(decode(openai_chat_codec(), chunk_of(call, "\"length\"")).reply->stop ==
        StopReason::output_limit);
  const Decoded refused =
      decode(openai_chat_codec(),
             chunk_of(R"({"refusal":"I can"})") + chunk_of(R"({"refusal":"not"})", "\"stop\""));
  CHECK(refused.reply->stop == StopReason::refusal);
  CHECK(refused.reply->blocks.at(0).text == "I cannot");
}

TEST_CASE("openai chat: end markers") {
  SECTION("[DONE] alone is enough when there is a message") {
    const Decoded out = decode(openai_chat_codec(), chunk_of(R"({"content":"a"})") + kDone);
    REQUIRE(out.reply);
    CHECK(out.reply->stop == StopReason::other);
    CHECK(out.reply->stop_raw.empty());
  }
  SECTION("[DONE] without a message is a cut") {
    REQUIRE_FALSE(decode(openai_chat_codec(), kDone).reply);
    CHECK(decode(openai_chat_codec(), kDone).reply.error().kind == FailureKind::stream_cut);
  }
  SECTION("an empty message that says it ended is a reply") {
    CHECK(decode(openai_chat_codec(), chunk_of("{}", "\"stop\"")).reply->blocks.empty());
  }
  SECTION("other choices are not ours") {
    const Decoded out =
        decode(openai_chat_codec(),
               data(R"({"choices":[{"index":1,"delta":{"content":"b"},"finish_reason":"stop"}]})") +
                   chunk_of(R"({"content":"a"})", "\"stop\""));
    CHECK(out.reply->blocks.at(0).text == "a");
  }
}

TEST_CASE("openai chat: usage as the servers send it") {
  const auto usage = [](const std::string& chunks) {
    return decode(openai_chat_codec(), chunk_of(R"({"content":"a"})", "\"stop\"") + chunks).usage;
  };
  SECTION("DeepSeek") {
    const auto out =
        usage(data(R"({"choices":[],"usage":{"prompt_tokens":30,"prompt_cache_hit_tokens":20,)"
                   R"("prompt_cache_miss_tokens":10}})"));
    CHECK(out.input_total == 30u);
    CHECK(out.cache_read == 20u);
    CHECK(out.input_uncached == 10u);
    CHECK(out.output == std::nullopt);
  }
  SECTION("Moonshot: in the choice, cached_tokens at the top") {
    const auto out =
        usage(data(R"({"choices":[{"index":0,"delta":{},"finish_reason":"stop",)"
                   R"("usage":{"prompt_tokens":9,"completion_tokens":1,"cached_tokens":4}}]})"));
    CHECK(out.input_total == 9u);
    CHECK(out.cache_read == 4u);
  }
  SECTION("cache writes") {
    CHECK(usage(data(R"({"usage":{"prompt_tokens_details":{"cached_tokens":0,)"
                     R"("cache_write_tokens":5}}})"))
              .cache_write == 5u);
    CHECK(usage(data(R"({"usage":{"cache_creation_input_tokens":6}})")).cache_write == 6u);
  }
  SECTION("the tier that served, which stands beside the usage") {
    const auto out =
        usage(data(R"({"service_tier":"flex","choices":[]})") +
              data(R"({"service_tier":"flex","choices":[],"usage":{"prompt_tokens":9}})"));
    CHECK(out.service_tier == "flex");
    CHECK(usage(data(R"({"usage":{"prompt_tokens":9}})")).service_tier.empty());
  }
  SECTION("in every chunk: the last one counts") {
    const auto out = usage(data(R"({"usage":{"prompt_tokens":9,"completion_tokens":1}})") +
                           data(R"({"usage":{"prompt_tokens":9,"completion_tokens":2}})") +
                           data(R"({"usage":null})"));
    CHECK(out.output == 2u);
    CHECK(out.raw == R"({"prompt_tokens":9,"completion_tokens":2})");
  }
  SECTION("absent, null and odd values are absent; zero is zero") {
    const auto out = usage(data(R"({"usage":{"prompt_tokens":null,"completion_tokens":-1,)"
                                R"("prompt_tokens_details":null,"cached_tokens":0}})"));
    CHECK(out.input_total == std::nullopt);
    CHECK(out.output == std::nullopt);
    CHECK(out.cache_read == 0u);
    CHECK(usage("").raw.empty());
  }
}

TEST_CASE("openai chat: cache diagnostics are kept") {
  const std::string chunks =
      chunk_of(R"({"content":"a"})", "\"stop\"") +
      data(R"({"choices":[],"prompt_cache_diagnostics":{"reason":"key_changed"}})");
  CHECK(decode(openai_chat_codec(), chunks).reply->diagnostics == R"({"reason":"key_changed"})");
}

TEST_CASE("openai chat: half a surrogate pair costs a character, not the reply") {
  const auto text_of = [](const std::string& written) {
    const Decoded out = decode(openai_chat_codec(), chunk_of(R"({"content":")" + written + "\"}") +
                                                        chunk_of("{}", "\"stop\"") + kDone);
    REQUIRE(out.reply);
    return out.reply->blocks.at(0).text;
  };
  const std::string lost = "\xef\xbf\xbd";
  CHECK(text_of(R"(a\ud83d)") == "a" + lost);
  CHECK(text_of(R"(\uDE00b)") == lost + "b");
  CHECK(text_of(R"(\ud83d\ud83d\ude00)") == lost + "\xf0\x9f\x98\x80");
  CHECK(text_of(R"(\ud83d\n)") == lost + "\n");
  // A written backslash starts no escape.
  CHECK(text_of(R"(\\ud83d\ud83d)") == R"(\ud83d)" + lost);
  // The arguments of a tool are not mended: they would write what the model did not say.
  const Decoded call = decode(
      openai_chat_codec(),
      chunk_of(R"({"tool_calls":[{"index":0,"id":"a","type":"function",)"
               R"("function":{"name":"write_file","arguments":"{\"content\":\"\\ud83d\"}"}}]})") +
          chunk_of("{}", "\"tool_calls\"") + kDone);
  REQUIRE(call.reply);
  CHECK(call.reply->blocks.at(0).arguments_state == schema::ArgumentsState::malformed);
}

TEST_CASE("openai chat: errors inside the stream") {
  const auto failure = [](const std::string& json) {
    const Decoded out = decode(openai_chat_codec(), chunk_of(R"({"content":"a"})") + data(json) +
                                                        chunk_of("{}", "\"stop\"") + kDone);
    REQUIRE_FALSE(out.reply);
    return out.reply.error();
  };
  CHECK(failure(R"({"error":{"message":"slow","type":"rate_limit_error"}})").kind ==
        FailureKind::retryable_status);
  CHECK(failure(R"({"error":{"message":"slow","code":502},"choices":[]})").kind ==
        FailureKind::retryable_status);
  CHECK(failure(R"({"error":{"message":"slow","code":502},"choices":[]})").http_status == 0);
  CHECK(failure(R"({"error":{"message":"bad","code":400}})").kind == FailureKind::permanent);
  CHECK(failure(R"({"error":{"message":"who","code":401}})").kind == FailureKind::authentication);
  CHECK(failure(R"({"error":"a string"})").message == "an error in its stream: a string");
  CHECK(failure(R"({"error":{"message":"m","code":"context_length_exceeded"}})").kind ==
        FailureKind::context_overflow);
  CHECK(failure(R"({"object":"error","message":"This model's maximum context length is 5 tokens.",)"
                R"("code":400})")
            .kind == FailureKind::context_overflow);
  CHECK(failure(R"({"choices":[{"index":0,"error":{"message":"upstream","code":503}}]})").kind ==
        FailureKind::retryable_status);
  CHECK(failure(R"({"choices":[{"index":0,"delta":{},"finish_reason":"error"}]})").kind ==
        FailureKind::retryable_status);
  CHECK(failure(R"({"choices":[{"delta":{},"finish_reason":"insufficient_system_resource"}]})")
            .kind == FailureKind::retryable_status);
  CHECK(failure("{oops").kind == FailureKind::bad_response);
  // No error at all.
  CHECK(decode(openai_chat_codec(),
               data(R"({"error":null})") + chunk_of(R"({"content":"a"})", "\"stop\""))
            .reply);
}

}  // namespace
}  // namespace daybook::tests
