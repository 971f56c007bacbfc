#include <catch2/catch.hpp>

#include "engine/codecs.h"
#include "tests/engine/codec_bench.h"
#include "tests/support/build_paths.h"
#include "tests/support/temp_dir.h"

namespace daybook::tests {
namespace {

using namespace codecs;

using engine::Block;
using engine::gemini_codec;
using engine::Message;
using engine::ModelParams;
using schema::ArgumentsState;
using schema::BlockKind;
using schema::FailureKind;
using schema::StopReason;

std::string golden(const std::string& name) {
  return read_file(source_path("/tests/data/requests/") + name);
}

std::string render(const Message& message) {
  return gemini_codec().render_message(message);
}

/// The parts of a model's message.
std::string parts(std::vector<Block> blocks) {
  const std::string open = R"({"role":"model","parts":[)";
  const std::string message = render(assistant(std::move(blocks)));
  REQUIRE(message.starts_with(open));
  REQUIRE(message.ends_with("]}"));
  return message.substr(open.size(), message.size() - open.size() - 2);
}

Block signed_by(Block block, std::string signature) {
  block.field = "thoughtSignature";
  block.opaque = std::move(signature);
  return block;
}

Block unsigned_call(Block block) {
  block.field = "functionCall";
  return block;
}

Request sample() {
  const auto& codec = gemini_codec();
  ModelParams params;
  params.model = "gemini-test-1";
  params.max_output_tokens = 2000;
  params.reasons = true;
  params.reasoning_effort = "low";
  params.extra = R"("generationConfig":{"temperature":1},"safetySettings":[])";
  Request request;
  request.head = codec.head(params);
  request.system = {codec.render_system("You are terse."),
                    codec.render_system("Folder: /tmp/\xC3\xBC")};
  request.tools = {
      codec.render_tool({"read_file", "Reads \"a\" file.",
                         R"({"type":"object","properties":{"path":{"type":"string"}}})"})};
  request.messages = {
      render(user("Read\nboth.")),
      render(assistant({reasoning("parts", "two files", R"({"text":"two files","thought":true})"),
                        text_block("Reading."),
                        signed_by(tool_call("fc-1", "read_file", R"({ "path" : "a" })"), "c2ln"),
                        unsigned_call(tool_call("no-id/r/3", "read_file", "Malformed function call",
                                                ArgumentsState::malformed))})),
      render(results({{"fc-1", "read_file", "A", false},
                      {"no-id/r/3", "read_file", "the arguments are not JSON", true}}))};
  return request;
}

TEST_CASE("gemini: a request's bytes") {
  CHECK(sample().frame(gemini_codec()) == golden("gemini.json"));
}

TEST_CASE("gemini: markers are ignored") {
  Request request = sample();
  request.markers = {0, 2};
  request.ttl = schema::CacheTtl::hour_1;
  CHECK_FALSE(gemini_codec().has_markers());
  CHECK(request.frame(gemini_codec()) == golden("gemini.json"));
}

TEST_CASE("gemini: a longer history grows the request only at its end") {
  Request request = sample();
  std::string before = request.frame(gemini_codec());
  for (const char* more : {"go on", "and on", ""}) {
    request.messages.push_back(render(user(more)));
    const std::string after = request.frame(gemini_codec());
    before.resize(before.size() - 2);  // "]}"
    CHECK(after.substr(0, before.size()) == before);
    before = after;
  }
}

TEST_CASE("gemini: requests without head, system or tools") {
  Request request;
  CHECK(request.frame(gemini_codec()) == R"({"contents":[]})");
  request.system = {gemini_codec().render_system("a\"b")};
  CHECK(request.frame(gemini_codec()) ==
        R"({"systemInstruction":{"parts":[{"text":"a\"b"}]},"contents":[]})");
}

TEST_CASE("gemini: head, path and headers") {
  const auto& codec = gemini_codec();
  ModelParams params;
  params.model = "m";
  CHECK(codec.head(params).empty());
  params.extra = R"("labels":{"a":"b"})";
  CHECK(codec.head(params) == R"("labels":{"a":"b"})");
  params.extra.clear();
  params.reasons = true;
  CHECK(codec.head(params) == R"("generationConfig":{"thinkingConfig":{"includeThoughts":true}})");
  params.thinking_budget_tokens = 1024;
  CHECK(codec.head(params) == R"("generationConfig":{"thinkingConfig":{"includeThoughts":true,)"
                              R"("thinkingBudget":1024}})");
  CHECK(codec.path("gemini-4-argon") == "/models/gemini-4-argon:streamGenerateContent?alt=sse");
  CHECK(codec.path("tunedModels/mine") == "/tunedModels/mine:streamGenerateContent?alt=sse");
  CHECK(codec.path("a?b c#d%") == "/models/a%3Fb%20c%23d%25:streamGenerateContent?alt=sse");
  CHECK(codec.headers("k") == std::vector<std::string>{"x-goog-api-key: k"});
  CHECK(codec.headers("").empty());
  CHECK(engine::find_codec("gemini") == &codec);
}

TEST_CASE("gemini: messages that the API would refuse as empty") {
  const std::string placeholder = R"x({"text":"(no content)"})x";
  CHECK(render(user("")) == R"({"role":"user","parts":[)" + placeholder + "]}");
  CHECK(parts({}) == placeholder);
  CHECK(parts({text_block("")}) == placeholder);
  // The output limit may be used up by thoughts.
  const std::string thought = R"({"text":"hm","thought":true})";
  CHECK(parts({reasoning("parts", "hm", thought)}) == thought + "," + placeholder);
  CHECK(parts({signed_by(text_block(""), "c2ln")}) ==
        R"({"text":"","thoughtSignature":"c2ln"},)" + placeholder);
}

TEST_CASE("gemini: signatures go back on the part they came on") {
  CHECK(parts({text_block("Hel"), signed_by(text_block("lo"), "YQ=="),
               signed_by(tool_call("a", "t", "{}"), "Yg=="),
               unsigned_call(tool_call("b", "t", "{}")), signed_by(text_block(""), "Yw==")}) ==
        R"({"text":"Hel"},{"text":"lo","thoughtSignature":"YQ=="},)"
        R"({"functionCall":{"id":"a","name":"t","args":{}},"thoughtSignature":"Yg=="},)"
        R"({"functionCall":{"id":"b","name":"t","args":{}}},)"
        R"({"text":"","thoughtSignature":"Yw=="})");
}

TEST_CASE("gemini: calls that its models did not make say so, first of a message") {
  const std::string note = R"(,"thoughtSignature":"skip_thought_signature_validator"})";
  Block foreign = tool_call("toolu_1", "t", "{}");
  Block responses = tool_call("call_2", "t", "{}");
  responses.field = "output";
  responses.opaque = R"({"id":"fc_1","type":"function_call"})";
  CHECK(parts({foreign, responses}) ==
        R"({"functionCall":{"id":"toolu_1","name":"t","args":{}})" + note +
            R"(,{"functionCall":{"id":"call_2","name":"t","args":{}}})");
  CHECK(parts({unsigned_call(tool_call("a", "t", "{}"))}).find("skip") == std::string::npos);
  CHECK(parts({reasoning("thinking", "hm", "{}"), text_block("a")}) == R"({"text":"a"})");
}

TEST_CASE("gemini: names become legal") {
  CHECK(parts({unsigned_call(tool_call("a", "no such/tool", "{}")),
               unsigned_call(tool_call("b", "", "{}")), unsigned_call(tool_call("c", "1st", "{}")),
               unsigned_call(tool_call("d", std::string(70, '-'), "{}"))}) ==
        R"({"functionCall":{"id":"a","name":"no_such_tool","args":{}}},)"
        R"({"functionCall":{"id":"b","name":"unnamed","args":{}}},)"
        R"({"functionCall":{"id":"c","name":"_1st","args":{}}},)"
        R"({"functionCall":{"id":"d","name":"_)" +
            std::string(63, '-') + R"(","args":{}}})");
  CHECK(render(results({{"c", "1st", "x", false}})) ==
        R"({"role":"user","parts":[{"functionResponse":{"id":"c","name":"_1st",)"
        R"("response":{"output":"x"}}}]})");
}

// ------------------------------------------------------------------------------ responses

std::string data(const std::string& json) {
  return "data: " + json + "\n\n";
}

std::string chunk_of(const std::string& part_list, const std::string& finish = "",
                     const std::string& usage = "") {
  return data(R"({"candidates":[{"content":{"parts":[)" + part_list +
              R"(],"role":"model"},"index":0)" +
              (finish.empty() ? "" : R"(,"finishReason":")" + finish + "\"") + "}]," +
              (usage.empty() ? "" : "\"usageMetadata\":" + usage + ",") +
              R"("modelVersion":"gemini-test-1-01","responseId":"r1"})");
}

std::string text(const std::string& piece) {
  return R"({"text":")" + piece + "\"}";
}

const std::string kUsage =
    R"({"promptTokenCount":100,"cachedContentTokenCount":64,"totalTokenCount":142,)"
    R"("thoughtsTokenCount":12,"candidatesTokenCount":30,"serviceTier":"FLEX"})";

std::string full_stream() {
  return chunk_of(
             R"({"text":"let ","thought":true})", "",
             R"({"promptTokenCount":100,"cachedContentTokenCount":64,"totalTokenCount":100})") +
         ": keep-alive\n\n" + chunk_of(R"({"text":"me see","thought":true})") +
         chunk_of(text("Hel")) + chunk_of(text("lo \\u00fc")) +
         chunk_of(R"({"functionCall":{"name":"read_file","args":{"path":"x"},"id":"fc-1"},)"
                  R"("thoughtSignature":"c2ln"},)"
                  R"({"functionCall":{"name":"list_files"}})") +
         chunk_of(R"({"text":"","thoughtSignature":"bGFzdA=="})", "STOP",
                  R"({"promptTokenCount":100,"totalTokenCount":142,"thoughtsTokenCount":12,)"
                  R"("candidatesTokenCount":30,"serviceTier":"FLEX"})");
}

TEST_CASE("gemini: a whole stream") {
  const Decoded out = decode(gemini_codec(), full_stream());
  REQUIRE(out.reply);
  const auto& blocks = out.reply->blocks;
  REQUIRE(blocks.size() == 5);
  CHECK(blocks[0].kind == BlockKind::reasoning);
  CHECK(blocks[0].field == "parts");
  CHECK(blocks[0].text == "let me see");
  CHECK(blocks[0].opaque == R"({"text":"let me see","thought":true})");
  CHECK(blocks[1].text == "Hello \xC3\xBC");
  CHECK(blocks[1].field.empty());
  CHECK(blocks[2].kind == BlockKind::tool_call);
  CHECK(blocks[2].provider_call_id == "fc-1");
  CHECK(blocks[2].tool == "read_file");
  CHECK(blocks[2].text == R"({"path":"x"})");
  CHECK(blocks[2].arguments_state == ArgumentsState::valid);
  CHECK(blocks[2].opaque == "c2ln");
  CHECK(blocks[2].call_id.empty());
  CHECK(blocks[3].provider_call_id == "no-id/r1/3");
  CHECK(blocks[3].text == "{}");
  CHECK(blocks[4].kind == BlockKind::text);
  CHECK(blocks[4].opaque == "bGFzdA==");
  CHECK(out.reply->stop == StopReason::tool_calls);
  CHECK(out.reply->stop_raw == "STOP");
  CHECK(out.reply->response_id == "r1");
  CHECK(out.reply->served_model == "gemini-test-1-01");
  CHECK(out.text == "Hello \xC3\xBC");
  CHECK(out.reasoning == "let me see");
  CHECK(out.reply->raw ==
        R"({"modelVersion":"gemini-test-1-01","responseId":"r1","candidates":[{"content":)"
        R"({"role":"model","parts":[{"text":"let me see","thought":true},{"text":"Hello )"
        "\xC3\xBC"
        R"("},{"functionCall":{"name":"read_file","args":{"path":"x"},"id":"fc-1"},)"
        R"("thoughtSignature":"c2ln"},{"functionCall":{"name":"list_files"}},)"
        R"({"text":"","thoughtSignature":"bGFzdA=="}]},"finishReason":"STOP"}],)"
        R"("usageMetadata":)" +
            kUsage + "}");
}

TEST_CASE("gemini: a reply goes back as it came, and an id that was made up does not") {
  const Decoded out = decode(gemini_codec(), full_stream());
  REQUIRE(out.reply);
  CHECK(parts(out.reply->blocks) ==
        R"({"text":"let me see","thought":true},{"text":"Hello )"
        "\xC3\xBC"
        R"("},{"functionCall":{"id":"fc-1","name":"read_file","args":{"path":"x"}},)"
        R"("thoughtSignature":"c2ln"},{"functionCall":{"name":"list_files","args":{}}},)"
        R"({"text":"","thoughtSignature":"bGFzdA=="})");
}

TEST_CASE("gemini: the borders of pieces change nothing, nor do line ends") {
  const std::string stream = full_stream();
  const std::string expected = decode(gemini_codec(), stream).reply->raw;
  const std::string_view view = stream;
  for (std::size_t i = 0; i <= view.size(); ++i) {
    const Decoded out = decode(gemini_codec(), {view.substr(0, i), view.substr(i)});
    REQUIRE(out.reply);
    REQUIRE(out.reply->raw == expected);
    REQUIRE(out.reasoning == "let me see");
  }
  CHECK(decode(gemini_codec(), with_crlf(stream)).reply->raw == expected);
}

TEST_CASE("gemini: a stream cut at any byte is no reply") {
  const std::string stream = full_stream();
  // The last event ends with its blank line.
  for (std::size_t i = 0; i < stream.size(); ++i) {
    const Decoded out = decode(gemini_codec(), std::string_view(stream).substr(0, i));
    REQUIRE_FALSE(out.reply);
    REQUIRE(out.reply.error().kind == FailureKind::stream_cut);
  }
  CHECK(decode(gemini_codec(), chunk_of(text("a"), "", R"({"promptTokenCount":5})"))
            .reply.error()
            .usage.input_total == 5u);
}

TEST_CASE("gemini: a line of 1 MiB") {
  const std::string big(std::size_t{1} << 20, 'x');
  const Decoded out = decode(gemini_codec(), chunk_of(text(big), "STOP"));
  REQUIRE(out.reply);
  CHECK(out.reply->blocks.at(0).text == big);
}

TEST_CASE("gemini: parts are joined only where nothing is lost") {
  const auto texts = [](const std::string& stream) {
    const Decoded out = decode(gemini_codec(), stream + chunk_of("", "STOP"));
    REQUIRE(out.reply);
    std::string list;
    for (const auto& block : out.reply->blocks) {
      list +=
          (block.kind == BlockKind::reasoning ? "~" : "") + block.text + "/" + block.opaque + ";";
    }
    return list;
  };
  CHECK(texts(chunk_of(text("a")) + chunk_of(text("b"))) == "ab/;");
  CHECK(texts(chunk_of(text("a")) + chunk_of(R"({"text":"b","thoughtSignature":"s"})") +
              chunk_of(text("c"))) == "a/;b/s;c/;");
  CHECK(texts(chunk_of(R"({"text":"a","thought":true})") + chunk_of(text("b"))) ==
        R"(~a/{"text":"a","thought":true};b/;)");
  CHECK(texts(chunk_of(R"({"text":"a","thought":true,"thoughtSignature":"s"})") +
              chunk_of(R"({"text":"b","thought":true})")) ==
        R"(~a/{"text":"a","thought":true,"thoughtSignature":"s"};)"
        R"(~b/{"text":"b","thought":true};)");
  CHECK(texts(chunk_of(text("")) + chunk_of("{}")).empty());
}

TEST_CASE("gemini: parts, members and candidates that nothing here knows") {
  const std::string code = R"({"executableCode":{"language":"PYTHON","code":"1"}})";
  const Decoded out =
      decode(gemini_codec(),
             data(R"({"candidates":[{"index":1,"content":{"parts":[{"text":"other"}]},)"
                  R"("finishReason":"STOP"}],"novelty":{"a":1}})") +
                 chunk_of(code + "," + text("hi")) + "event: odd\ndata: 7\n\n" +
                 data(R"({"candidates":[{"content":{"parts":[]},"groundingMetadata":{"g":1},)"
                      R"("finishReason":"STOP"}]})"));
  REQUIRE(out.reply);
  REQUIRE(out.reply->blocks.size() == 2);
  CHECK(parts(out.reply->blocks) == code + R"(,{"text":"hi"})");
  CHECK(out.text == "hi");
  for (const char* part : {R"("novelty":{"a":1})", R"("groundingMetadata":{"g":1})"}) {
    CAPTURE(part);
    CHECK(out.reply->raw.find(part) != std::string::npos);
  }
}

TEST_CASE("gemini: what became of a tool call's arguments") {
  const auto call = [](const std::string& args, const std::string& finish = "STOP") -> Block {
    const Decoded out = decode(
        gemini_codec(), chunk_of(R"({"functionCall":{"name":"t","id":"a")" + args + "}}", finish));
    REQUIRE(out.reply);
    return out.reply->blocks.at(0);
  };
  CHECK(call("").text == "{}");
  CHECK(call(R"(,"args":null)").text == "{}");
  CHECK(call(R"(,"args":{"n":1.5})").text == R"({"n":1.5})");
  CHECK(call(R"(,"args":[1])").arguments_state == ArgumentsState::malformed);
  CHECK(call(R"(,"args":{"n":1})", "MAX_TOKENS").arguments_state == ArgumentsState::valid);
}

TEST_CASE("gemini: a call that the endpoint could not read is answered with its words") {
  const std::string end =
      data(R"({"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":)"
           R"("Malformed function call: print(default_api.write_file(path='a"}],)"
           R"("responseId":"r1"})");
  const Decoded out = decode(gemini_codec(), chunk_of(text("Writing.")) + end);
  REQUIRE(out.reply);
  CHECK(out.reply->stop == StopReason::tool_calls);
  REQUIRE(out.reply->blocks.size() == 2);
  const Block& call = out.reply->blocks[1];
  CHECK(call.tool == "write_file");
  CHECK(call.arguments_state == ArgumentsState::malformed);
  CHECK(call.arguments_error == "Malformed function call: print(default_api.write_file(path='a");
  CHECK(call.provider_call_id == "no-id/r1/1");
  // It goes back as an empty call that this API's model did not make.
  CHECK(parts({call}) == R"({"functionCall":{"name":"write_file","args":{}},)"
                         R"("thoughtSignature":"skip_thought_signature_validator"})");
  SECTION("without words") {
    const Decoded silent = decode(gemini_codec(), chunk_of("", "MALFORMED_FUNCTION_CALL"));
    REQUIRE(silent.reply);
    CHECK(silent.reply->blocks.at(0).tool.empty());
    CHECK(silent.reply->blocks.at(0).arguments_error == "the endpoint could not read the call");
  }
  SECTION("calls beside it are not run") {
    const Decoded both = decode(
        gemini_codec(),
        chunk_of(R"({"functionCall":{"name":"t","args":{"n":1}},"thoughtSignature":"s"})") + end);
    REQUIRE(both.reply);
    REQUIRE(both.reply->blocks.size() == 1);
    CHECK(both.reply->blocks[0].arguments_state == ArgumentsState::malformed);
    CHECK(both.reply->blocks[0].opaque == "s");
  }
}

TEST_CASE("gemini: stop reasons") {
  const auto stop = [](const std::string& raw) {
    const Decoded out = decode(gemini_codec(), chunk_of(text("a"), raw));
    REQUIRE(out.reply);
    CHECK(out.reply->stop_raw == raw);
    return out.reply->stop;
  };
  CHECK(stop("STOP") == StopReason::end);
  CHECK(stop("MAX_TOKENS") == StopReason::output_limit);
  for (const char* raw : {"SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT",
                          "SPII", "MODEL_ARMOR", "IMAGE_SAFETY"}) {
    CHECK(stop(raw) == StopReason::content_filter);
  }
  CHECK(stop("OTHER") == StopReason::other);
  CHECK(stop("NOVELTY") == StopReason::other);
  // Blocked output comes without content.
  CHECK(decode(gemini_codec(), data(R"({"candidates":[{"finishReason":"SAFETY"}]})")).reply->stop ==
        StopReason::content_filter);
  CHECK(decode(gemini_codec(), chunk_of("", "STOP")).reply->blocks.empty());
  CHECK(decode(gemini_codec(), chunk_of(R"({"functionCall":{"name":"t"}})", "MAX_TOKENS"))
            .reply->stop == StopReason::output_limit);
}

TEST_CASE("gemini: an ending without an answer is a failure, not an empty answer") {
  const auto failure = [](const std::string& stream) {
    const Decoded out = decode(gemini_codec(), stream);
    REQUIRE_FALSE(out.reply);
    return out.reply.error();
  };
  const auto other =
      failure(chunk_of(R"({"text":"hm","thought":true})", "", R"({"promptTokenCount":7})") +
              chunk_of("", "UNEXPECTED_TOOL_CALL"));
  CHECK(other.kind == FailureKind::retryable_status);
  CHECK(other.message == "the endpoint ended the response without an answer: UNEXPECTED_TOOL_CALL");
  CHECK(other.usage.input_total == 7u);
  const auto unsigned_history =
      failure(data(R"({"candidates":[{"finishReason":"MISSING_THOUGHT_SIGNATURE",)"
                   R"("finishMessage":"no signature"}]})"));
  CHECK(unsigned_history.kind == FailureKind::permanent);
  CHECK(unsigned_history.message ==
        "the endpoint ended the response without an answer: MISSING_THOUGHT_SIGNATURE "
        "(no signature)");
  const auto blocked = failure(data(R"({"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},)"
                                    R"("usageMetadata":{"promptTokenCount":9}})"));
  CHECK(blocked.kind == FailureKind::permanent);
  CHECK(blocked.message == "the endpoint blocked the prompt: PROHIBITED_CONTENT");
  CHECK(blocked.usage.input_total == 9u);
  CHECK(decode(gemini_codec(),
               data(R"({"promptFeedback":{"safetyRatings":[]}})") + chunk_of(text("a"), "STOP"))
            .reply);
}

TEST_CASE("gemini: usage keeps what was reported and what was not") {
  const Decoded full = decode(gemini_codec(), full_stream());
  // Cached tokens are part of the prompt's, thoughts are not part of the candidates'.
  CHECK(full.usage.input_total == 100u);
  CHECK(full.usage.cache_read == 64u);
  CHECK(full.usage.output == 42u);
  CHECK(full.usage.reasoning == 12u);
  CHECK(full.usage.input_uncached == std::nullopt);
  CHECK(full.usage.cache_write == std::nullopt);
  CHECK(full.usage.service_tier == "flex");
  CHECK(full.usage.raw == kUsage);
  const auto usage = [](const std::string& json) {
    return decode(gemini_codec(), chunk_of(text("a"), "STOP", json)).usage;
  };
  CHECK(usage(R"({"promptTokenCount":100,"toolUsePromptTokenCount":20})").input_total == 120u);
  CHECK(usage(R"({"thoughtsTokenCount":5})").output == 5u);
  CHECK(usage(R"({"candidatesTokenCount":3})").output == 3u);
  const auto odd = usage(R"({"promptTokenCount":-1,"cachedContentTokenCount":0})");
  CHECK(odd.input_total == std::nullopt);
  CHECK(odd.cache_read == 0u);
  CHECK(odd.output == std::nullopt);
  CHECK(odd.reasoning == std::nullopt);
  CHECK(odd.service_tier.empty());
  CHECK(usage("null").raw.empty());
}

TEST_CASE("gemini: half a surrogate pair costs a character, not the reply") {
  const Decoded out = decode(gemini_codec(), chunk_of(text(R"(a\ud83d)"), "STOP", kUsage));
  REQUIRE(out.reply);
  CHECK(out.reply->blocks.at(0).text == "a\xef\xbf\xbd");
}

TEST_CASE("gemini: of a response that ended, cached tokens that are left out are none") {
  const std::string prompt = R"({"promptTokenCount":100,"candidatesTokenCount":3})";
  const auto ended = decode(gemini_codec(), chunk_of(text("a"), "STOP", prompt)).usage;
  CHECK(ended.cache_read == 0u);
  // The figures of a stream that broke off may be those of its beginning.
  CHECK(decode(gemini_codec(), chunk_of(text("a"), "", prompt)).usage.cache_read == std::nullopt);
  // Without the prompt's figure nothing was counted; what is no number is not left out.
  const auto of = [](const std::string& usage) {
    return decode(gemini_codec(), chunk_of(text("a"), "STOP", usage)).usage.cache_read;
  };
  CHECK(of(R"({"trafficType":"ON_DEMAND"})") == std::nullopt);
  CHECK(of(R"({"promptTokenCount":100,"cachedContentTokenCount":"x"})") == std::nullopt);
}

TEST_CASE("gemini: errors inside the stream") {
  const auto failure = [](const std::string& json) {
    const Decoded out =
        decode(gemini_codec(), chunk_of(text("a")) + data(json) + chunk_of(text("b"), "STOP"));
    REQUIRE_FALSE(out.reply);
    return out.reply.error();
  };
  const auto limited = failure(
      R"({"error":{"code":429,"message":"Quota exceeded","status":"RESOURCE_EXHAUSTED",)"
      R"("details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}})");
  CHECK(limited.kind == FailureKind::retryable_status);
  CHECK(limited.message == "an error in its stream (code 429): Quota exceeded");
  CHECK(limited.retry_after_ms == 34'500);
  CHECK(failure(R"({"error":{"code":503,"message":"m","status":"UNAVAILABLE"}})").kind ==
        FailureKind::retryable_status);
  CHECK(failure(R"({"error":{"code":400,"message":"m","status":"INVALID_ARGUMENT"}})").kind ==
        FailureKind::permanent);
  CHECK(failure(R"([{"error":{"code":400,"message":"The input token count (1200293) exceeds the )"
                R"(maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}])")
            .kind == FailureKind::context_overflow);
  CHECK(failure("{oops").kind == FailureKind::bad_response);
}

TEST_CASE("gemini: a document of chunks instead of a stream") {
  const std::string body =
      R"([{"candidates":[{"content":{"parts":[{"text":"who"}]}}]},)"
      R"({"candidates":[{"content":{"parts":[{"text":"le"}]},"finishReason":"STOP"}]}])";
  const auto decoder = gemini_codec().decoder();
  REQUIRE_FALSE(decoder->on_event("", body, nullptr));
  const auto reply = decoder->finish();
  REQUIRE(reply);
  CHECK(reply->blocks.at(0).text == "whole");
  const auto broken = gemini_codec().decoder()->on_event(
      "", R"([{"candidates":[]},{"error":{"code":503,"message":"m"}}])", nullptr);
  REQUIRE(broken);
  CHECK(broken->kind == FailureKind::retryable_status);
}

}  // namespace
}  // namespace daybook::tests
