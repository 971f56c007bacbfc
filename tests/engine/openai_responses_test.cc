#include <catch2/catch.hpp>

#include "engine/codecs.h"
#include "tests/engine/codec_bench.h"
#include "tests/support/build_paths.h"
#include "tests/support/temp_dir.h"

namespace daybook::tests {
namespace {

using namespace codecs;

using engine::Block;
using engine::Message;
using engine::ModelParams;
using engine::openai_responses_codec;
using schema::ArgumentsState;
using schema::BlockKind;
using schema::FailureKind;
using schema::StopReason;

std::string golden(const std::string& name) {
  return read_file(source_path("/tests/data/requests/") + name);
}

std::string render(const Message& message) {
  return openai_responses_codec().render_message(message);
}

Block own(Block block, std::string item, std::string field = "output") {
  block.field = std::move(field);
  block.opaque = std::move(item);
  return block;
}

const std::string kReasoningItem =
    R"({"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"two files"}],)"
    R"("encrypted_content":"ZW5j"})";
const std::string kMessageItem =
    R"({"id":"msg_1","type":"message","status":"completed","role":"assistant",)"
    R"("phase":"commentary"})";

Block reasoned() {
  return reasoning("output", "two files", kReasoningItem);
}

Block called(const std::string& id, const std::string& call_id, const std::string& arguments,
             ArgumentsState state = ArgumentsState::valid) {
  return own(tool_call(call_id, "read_file", arguments, state),
             R"({"id":")" + id + R"(","type":"function_call","status":"completed"})");
}

Request sample() {
  const auto& codec = openai_responses_codec();
  ModelParams params;
  params.model = "gpt-test-1";
  params.max_output_tokens = 2000;
  params.reasons = true;
  params.reasoning_effort = "low";
  params.extra = R"("reasoning":{"summary":"auto"},"temperature":1)";
  Request request;
  request.head = codec.head(params);
  request.system = {codec.render_system("You are terse."),
                    codec.render_system("Folder: /tmp/\xC3\xBC")};
  request.tools = {
      codec.render_tool({"read_file", "Reads \"a\" file.",
                         R"({"type":"object","properties":{"path":{"type":"string"}}})"})};
  request.messages = {
      render(user("Read\nboth.")),
      render(assistant({reasoned(), own(text_block("Reading."), kMessageItem),
                        called("fc_1", "call_a", R"({ "path" : "a" })"),
                        called("fc_2", "call_b", R"({"path":)", ArgumentsState::malformed)})),
      render(results({{"call_a", "read_file", "A", false},
                      {"call_b", "read_file", "the arguments are not JSON", true}}))};
  return request;
}

TEST_CASE("openai responses: a request's bytes") {
  CHECK(sample().frame(openai_responses_codec()) == golden("openai_responses.json"));
}

TEST_CASE("openai responses: markers are ignored") {
  Request request = sample();
  request.markers = {0, 2};
  request.ttl = schema::CacheTtl::hour_1;
  CHECK_FALSE(openai_responses_codec().has_markers());
  CHECK(request.frame(openai_responses_codec()) == golden("openai_responses.json"));
}

TEST_CASE("openai responses: a longer history grows the request only at its end") {
  Request request = sample();
  std::string before = request.frame(openai_responses_codec());
  for (const char* more : {"go on", "and on", ""}) {
    request.messages.push_back(render(user(more)));
    const std::string after = request.frame(openai_responses_codec());
    before.resize(before.size() - 2);  // "]}"
    CHECK(after.substr(0, before.size()) == before);
    before = after;
  }
}

TEST_CASE("openai responses: requests without system, tools or messages") {
  Request request;
  request.head = "\"model\":\"m\"";
  CHECK(request.frame(openai_responses_codec()) == R"({"model":"m","input":[]})");
  request.system = {openai_responses_codec().render_system("a\"b")};
  CHECK(request.frame(openai_responses_codec()) ==
        R"({"model":"m","instructions":"a\"b","input":[]})");
}

TEST_CASE("openai responses: head, path and headers") {
  const auto& codec = openai_responses_codec();
  ModelParams params;
  params.model = "m";
  CHECK(codec.head(params) == R"("model":"m","stream":true,"store":false)");
  params.reasons = true;
  CHECK(codec.head(params) == R"("model":"m","stream":true,"store":false,)"
                              R"("include":["reasoning.encrypted_content"])");
  params.extra = R"("prompt_cache_key":"k","text":{"verbosity":"low"})";
  CHECK(codec.head(params) == R"("model":"m","stream":true,"store":false,)"
                              R"("include":["reasoning.encrypted_content"],)"
                              R"("prompt_cache_key":"k","text":{"verbosity":"low"})");
  CHECK(codec.path("m") == "/responses");
  CHECK(codec.headers("k") == std::vector<std::string>{"Authorization: Bearer k"});
  CHECK(codec.headers("").empty());
  CHECK(engine::find_codec("openai-responses") == &codec);
}

TEST_CASE("openai responses: messages of other providers") {
  CHECK(render(user("")) == R"x({"type":"message","role":"user","content":[{"type":"input_text",)x"
                            R"x("text":"(no content)"}]})x");
  CHECK(render(assistant({})) ==
        R"x({"type":"message","role":"assistant","content":[{"type":"output_text",)x"
        R"x("text":"(no content)"}]})x");
  // Signatures and reasoning of another API have no place here.
  CHECK(render(assistant({reasoning("thinking", "hm", ""), text_block("a"),
                          own(text_block("b"), "c2ln", "thoughtSignature"),
                          own(tool_call("c", "t", ""), "c2ln", "thoughtSignature")})) ==
        R"({"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"},)"
        R"({"type":"output_text","text":"b"}]},{"type":"function_call","call_id":"c","name":"t",)"
        R"("arguments":"{}"})");
}

TEST_CASE("openai responses: ids and names of other providers become legal, and still pair") {
  const std::string made = "functions.read:0";
  const std::string id = "call_" + Digest::of(std::string_view(made)).hex();
  CHECK(render(assistant({tool_call(made, "no such/tool", "{}")})) ==
        R"({"type":"function_call","call_id":")" + id +
            R"(","name":"no_such_tool","arguments":"{}"})");
  CHECK(render(results({{made, "t", "x", false}})) ==
        R"({"type":"function_call_output","call_id":")" + id + R"(","output":"x"})");
}

TEST_CASE("openai responses: the parts of one message stay together, other messages apart") {
  const std::string second = R"({"id":"msg_2","type":"message","role":"assistant"})";
  CHECK(
      render(assistant({own(text_block("a"), kMessageItem),
                        own(text_block("no"), kMessageItem, "refusal"),
                        own(text_block("b"), second)})) ==
      kMessageItem.substr(0, kMessageItem.size() - 1) +
          R"(,"content":[{"type":"output_text","text":"a"},{"type":"refusal","refusal":"no"}]},)" +
          R"({"id":"msg_2","type":"message","role":"assistant","content":[)"
          R"({"type":"output_text","text":"b"}]})");
}

TEST_CASE("openai responses: reasoning that nothing follows stays out") {
  const std::string text = R"({"id":"msg_1","type":"message","role":"assistant"})";
  const std::string sent = R"({"id":"msg_1","type":"message","role":"assistant","content":[)"
                           R"({"type":"output_text","text":"a"}]})";
  CHECK(render(assistant({own(text_block("a"), text), reasoned()})) == sent);
  CHECK(render(assistant({reasoned(), own(text_block("a"), text), reasoned()})) ==
        kReasoningItem + "," + sent);
  CHECK(render(assistant({reasoned()})).find("(no content)") != std::string::npos);
  CHECK(render(assistant({reasoned()})).find("rs_1") == std::string::npos);
  // Cut reasoning at the end does not take the rest along.
  CHECK(render(assistant({reasoned(), own(text_block("a"), text), reasoning("output", "cut")})) ==
        kReasoningItem + "," + sent);
}

TEST_CASE("openai responses: without all of its reasoning a message goes back without ids") {
  CHECK(render(assistant({reasoned(), reasoning("output", "kept nowhere"),
                          own(text_block("a"), kMessageItem), called("fc_1", "c", "{}")})) ==
        R"({"type":"message","status":"completed","role":"assistant","phase":"commentary",)"
        R"("content":[{"type":"output_text","text":"a"}]},{"type":"function_call",)"
        R"("status":"completed","call_id":"c","name":"read_file","arguments":"{}"})");
}

// ------------------------------------------------------------------------------ responses

std::string event(const std::string& type, const std::string& members) {
  return "event: " + type + "\ndata: {\"type\":\"" + type + "\"" +
         (members.empty() ? "" : "," + members) + "}\n\n";
}

std::string created() {
  return event("response.created",
               R"("sequence_number":0,"response":{"id":"resp_1","object":"response",)"
               R"("status":"in_progress","instructions":"long","tools":[{"a":1}],"output":[]})") +
         event("response.in_progress", R"("response":{"id":"resp_1","status":"in_progress"})");
}

std::string added(int index, const std::string& item) {
  return event("response.output_item.added",
               R"("output_index":)" + std::to_string(index) + R"(,"item":)" + item);
}

std::string done(int index, const std::string& item) {
  return event("response.output_item.done",
               R"("output_index":)" + std::to_string(index) + R"(,"item":)" + item);
}

std::string delta(const std::string& type, int index, const std::string& piece,
                  const std::string& more = R"("content_index":0)") {
  return event("response." + type + ".delta", R"("output_index":)" + std::to_string(index) + "," +
                                                  more + R"(,"delta":")" + piece + "\"");
}

const std::string kUsage =
    R"({"input_tokens":100,"input_tokens_details":{"cached_tokens":64,"cache_write_tokens":20},)"
    R"("output_tokens":30,"output_tokens_details":{"reasoning_tokens":12},"total_tokens":130})";

std::string completed(const std::string& output = "[]", const std::string& more = "") {
  return event("response.completed",
               R"("response":{"id":"resp_1","object":"response","status":"completed",)"
               R"("model":"gpt-test-1-0101","service_tier":"flex","instructions":"long",)"
               R"("tools":[{"a":1}],"output":)" +
                   output + R"(,"usage":)" + kUsage + more + "}");
}

std::string incomplete(const std::string& reason) {
  return event("response.incomplete",
               R"("response":{"id":"resp_1","status":"incomplete","incomplete_details":{)"
               R"("reason":")" +
                   reason + R"("},"output":[],"usage":{"output_tokens":5}})");
}

std::string call_item(const std::string& id, const std::string& call, const std::string& arguments,
                      const std::string& status = "completed") {
  return R"({"id":")" + id + R"(","type":"function_call","status":")" + status +
         R"(","arguments":")" + arguments + R"(","call_id":")" + call + R"(","name":"read_file"})";
}

std::string message_item(const std::string& text) {
  return R"({"id":"msg_1","type":"message","status":"completed","content":[)"
         R"({"type":"output_text","annotations":[],"logprobs":[],"text":")" +
         text + R"("}],"phase":"commentary","role":"assistant"})";
}

std::string full_stream() {
  const std::string summary = R"("summary_index":0)";
  return created() + ": keep-alive\n\n" +
         added(0, R"({"id":"rs_1","type":"reasoning","encrypted_content":"half","summary":[]})") +
         event("response.reasoning_summary_part.added",
               R"("output_index":0,"summary_index":0,"part":{"type":"summary_text","text":""})") +
         delta("reasoning_summary_text", 0, "let ", summary) +
         delta("reasoning_summary_text", 0, "me", summary) +
         delta("reasoning_summary_text", 0, "see", R"("summary_index":1)") +
         done(0, R"({"id":"rs_1","type":"reasoning","encrypted_content":"ZW5j","content":null,)"
                 R"("summary":[{"type":"summary_text","text":"let me"},)"
                 R"({"type":"summary_text","text":"see"}]})") +
         added(1, R"({"id":"msg_1","type":"message","status":"in_progress","content":[],)"
                  R"("role":"assistant"})") +
         event("response.content_part.added",
               R"("output_index":1,"content_index":0,"part":{"type":"output_text","text":""})") +
         delta("output_text", 1, "Hel") + delta("output_text", 1, "lo \\u00fc") +
         event("response.output_text.done", R"("output_index":1,"text":"Hello \u00fc")") +
         done(1, message_item("Hello \\u00fc")) +
         added(2, call_item("fc_1", "call_a", "", "in_progress")) +
         delta("function_call_arguments", 2, R"({\"path\":)", R"("item_id":"fc_1")") +
         added(3, call_item("fc_2", "call_b", "", "in_progress")) +
         delta("function_call_arguments", 2, R"( \"x\"})", R"("item_id":"fc_1")") +
         event("response.function_call_arguments.done",
               R"("output_index":2,"arguments":"{\"path\": \"x\"}")") +
         done(2, call_item("fc_1", "call_a", R"({\"path\": \"x\"})")) +
         done(3, call_item("fc_2", "call_b", "")) + completed();
}

TEST_CASE("openai responses: a whole stream") {
  const Decoded out = decode(openai_responses_codec(), full_stream());
  REQUIRE(out.reply);
  const auto& blocks = out.reply->blocks;
  REQUIRE(blocks.size() == 4);
  CHECK(blocks[0].kind == BlockKind::reasoning);
  CHECK(blocks[0].field == "output");
  CHECK(blocks[0].text == "let me\n\nsee");
  CHECK(blocks[0].opaque == R"({"id":"rs_1","type":"reasoning","encrypted_content":"ZW5j",)"
                            R"("summary":[{"type":"summary_text","text":"let me"},)"
                            R"({"type":"summary_text","text":"see"}]})");
  CHECK(blocks[1].text == "Hello \xC3\xBC");
  CHECK(blocks[1].opaque == R"({"id":"msg_1","type":"message","status":"completed",)"
                            R"("phase":"commentary","role":"assistant"})");
  CHECK(blocks[2].kind == BlockKind::tool_call);
  CHECK(blocks[2].provider_call_id == "call_a");
  CHECK(blocks[2].tool == "read_file");
  CHECK(blocks[2].text == R"({"path": "x"})");
  CHECK(blocks[2].opaque == R"({"id":"fc_1","type":"function_call","status":"completed"})");
  CHECK(blocks[2].call_id.empty());
  CHECK(blocks[3].provider_call_id == "call_b");
  CHECK(blocks[3].text == "{}");
  CHECK(blocks[3].arguments_state == ArgumentsState::valid);
  CHECK(out.reply->stop == StopReason::tool_calls);
  CHECK(out.reply->stop_raw == "completed");
  CHECK(out.reply->response_id == "resp_1");
  CHECK(out.reply->served_model == "gpt-test-1-0101");
  CHECK(out.text == "Hello \xC3\xBC");
  CHECK(out.reasoning == "let me\n\nsee");
  // What only repeats the request is left out.
  CHECK(out.reply->raw ==
        R"({"id":"resp_1","object":"response","status":"completed","model":"gpt-test-1-0101",)"
        R"("service_tier":"flex","output":[)"
        R"({"id":"rs_1","type":"reasoning","encrypted_content":"ZW5j","content":null,)"
        R"("summary":[{"type":"summary_text","text":"let me"},)"
        R"({"type":"summary_text","text":"see"}]},{"id":"msg_1","type":"message",)"
        R"("status":"completed","content":[{"type":"output_text","annotations":[],"logprobs":[],)"
        R"("text":"Hello )"
        "\xC3\xBC"
        R"("}],"phase":"commentary","role":"assistant"},)"
        R"({"id":"fc_1","type":"function_call","status":"completed",)"
        R"("arguments":"{\"path\": \"x\"}","call_id":"call_a","name":"read_file"},)"
        R"({"id":"fc_2","type":"function_call","status":"completed","arguments":"",)"
        R"("call_id":"call_b","name":"read_file"}],"usage":)" +
            kUsage + "}");
}

TEST_CASE("openai responses: a reply goes back as it came") {
  const Decoded out = decode(openai_responses_codec(), full_stream());
  REQUIRE(out.reply);
  CHECK(render(assistant(out.reply->blocks)) ==
        R"({"id":"rs_1","type":"reasoning","encrypted_content":"ZW5j",)"
        R"("summary":[{"type":"summary_text","text":"let me"},)"
        R"({"type":"summary_text","text":"see"}]},{"id":"msg_1","type":"message",)"
        R"("status":"completed","phase":"commentary","role":"assistant","content":[)"
        R"({"type":"output_text","text":"Hello )"
        "\xC3\xBC"
        R"("}]},{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_a",)"
        R"("name":"read_file","arguments":"{\"path\": \"x\"}"},)"
        R"({"id":"fc_2","type":"function_call","status":"completed","call_id":"call_b",)"
        R"("name":"read_file","arguments":"{}"})");
}

TEST_CASE("openai responses: the borders of pieces change nothing, nor do line ends") {
  const std::string stream = full_stream();
  const std::string expected = decode(openai_responses_codec(), stream).reply->raw;
  const std::string_view view = stream;
  for (std::size_t i = 0; i <= view.size(); ++i) {
    const Decoded out = decode(openai_responses_codec(), {view.substr(0, i), view.substr(i)});
    REQUIRE(out.reply);
    REQUIRE(out.reply->raw == expected);
    REQUIRE(out.reasoning == "let me\n\nsee");
  }
  CHECK(decode(openai_responses_codec(), with_crlf(stream)).reply->raw == expected);
}

TEST_CASE("openai responses: a stream cut at any byte is no reply") {
  const std::string stream = full_stream();
  for (std::size_t i = 0; i < stream.size(); ++i) {
    const Decoded out = decode(openai_responses_codec(), std::string_view(stream).substr(0, i));
    REQUIRE_FALSE(out.reply);
    REQUIRE(out.reply.error().kind == FailureKind::stream_cut);
  }
}

TEST_CASE("openai responses: a line of 1 MiB") {
  const std::string big(std::size_t{1} << 20, 'x');
  const Decoded out =
      decode(openai_responses_codec(), created() + delta("output_text", 0, big) + completed());
  REQUIRE(out.reply);
  CHECK(out.reply->blocks.at(0).text == big);
}

TEST_CASE("openai responses: servers that leave events out") {
  SECTION("no deltas: items come whole, and are told") {
    const Decoded out =
        decode(openai_responses_codec(),
               done(0, R"({"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"e"})") +
                   done(1, message_item("hi")) + completed());
    REQUIRE(out.reply);
    CHECK(out.reply->blocks.size() == 2);
    CHECK(out.text == "hi");
  }
  SECTION("no items: the last event has them") {
    const Decoded out = decode(
        openai_responses_codec(),
        created() + completed("[" + message_item("hi") + "," + call_item("fc", "c", "{}") + "]"));
    REQUIRE(out.reply);
    CHECK(out.reply->blocks.size() == 2);
    CHECK(out.reply->stop == StopReason::tool_calls);
    CHECK(out.text == "hi");
  }
  SECTION("items in both count once, whatever their numbers") {
    for (const int index : {0, 1}) {
      const Decoded out =
          decode(openai_responses_codec(),
                 done(index, message_item("hi")) + completed("[" + message_item("hi") + "]"));
      REQUIRE(out.reply);
      CHECK(out.reply->blocks.size() == 1);
      CHECK(out.text == "hi");
    }
  }
  SECTION("deltas alone make a message") {
    const Decoded out =
        decode(openai_responses_codec(), delta("output_text", 0, "hi") + completed());
    REQUIRE(out.reply);
    CHECK(out.reply->blocks.at(0).text == "hi");
    CHECK(
        render(assistant(out.reply->blocks)) ==
        R"({"type":"message","role":"assistant","content":[{"type":"output_text","text":"hi"}]})");
  }
  SECTION("no output_index: items are found by their id") {
    const Decoded out =
        decode(openai_responses_codec(),
               event("response.output_item.added", R"("item":)" + call_item("fc_1", "a", "")) +
                   event("response.output_item.added", R"("item":)" + call_item("fc_2", "b", "")) +
                   event("response.function_call_arguments.delta",
                         R"("item_id":"fc_1","delta":"{\"n\":1}")") +
                   event("response.function_call_arguments.delta",
                         R"("item_id":"fc_2","delta":"{\"n\":2}")") +
                   completed());
    REQUIRE(out.reply);
    REQUIRE(out.reply->blocks.size() == 2);
    CHECK(out.reply->blocks[0].text == R"({"n":1})");
    CHECK(out.reply->blocks[1].text == R"({"n":2})");
  }
  SECTION("one document instead of a stream") {
    const Decoded out = decode(
        openai_responses_codec(),
        R"(data: {"id":"r","object":"response","status":"completed","error":null,"output":[)" +
            message_item("hi") + "]}\n\n");
    REQUIRE(out.reply);
    CHECK(out.reply->blocks.at(0).text == "hi");
    CHECK(out.text == "hi");
  }
}

TEST_CASE("openai responses: plain reasoning of open models goes back, bare ids do not") {
  const auto block = [](const std::string& members) -> Block {
    const Decoded out =
        decode(openai_responses_codec(),
               done(0, R"({"id":"rs_1","type":"reasoning",)" + members + "}") + completed());
    REQUIRE(out.reply);
    return out.reply->blocks.at(0);
  };
  const Block plain = block(R"("summary":[],"content":[{"type":"reasoning_text","text":"hm"}])");
  CHECK(plain.text == "hm");
  CHECK(plain.opaque == R"({"id":"rs_1","type":"reasoning","summary":[],)"
                        R"("content":[{"type":"reasoning_text","text":"hm"}]})");
  CHECK(block(R"("summary":[])").opaque.empty());
  CHECK(block(R"("summary":[{"type":"summary_text","text":"s"}],"encrypted_content":null)")
            .opaque.empty());
  CHECK(block(R"("summary":[],"encrypted_content":"e")").opaque ==
        R"({"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"e"})");
  const Decoded streamed =
      decode(openai_responses_codec(), delta("reasoning_text", 0, "let me") + completed());
  CHECK(streamed.reasoning == "let me");
  CHECK(streamed.reply->blocks.at(0).kind == BlockKind::reasoning);
}

TEST_CASE(
    "openai responses: items and events that nothing here knows are kept, and items go back") {
  const std::string search =
      R"({"id":"ws_1","type":"web_search_call","status":"completed","action":{"q":1}})";
  const Decoded out = decode(openai_responses_codec(),
                             created() + event("response.novelty", R"("x":1)") + done(0, search) +
                                 done(1, message_item("hi")) + completed());
  REQUIRE(out.reply);
  REQUIRE(out.reply->blocks.size() == 2);
  CHECK(render(assistant(out.reply->blocks)).starts_with(search + ","));
  CHECK(out.reply->raw.find(R"({"type":"response.novelty","x":1})") != std::string::npos);
  CHECK(out.reply->raw.find("output_item") == std::string::npos);
}

TEST_CASE("openai responses: what became of a tool call's arguments") {
  const auto call = [](const std::string& arguments, const std::string& end,
                       const std::string& status = "completed") -> Block {
    const Decoded out =
        decode(openai_responses_codec(), done(0, call_item("fc_1", "c", arguments, status)) + end);
    REQUIRE(out.reply);
    return out.reply->blocks.at(0);
  };
  const std::string cut_off = incomplete("max_output_tokens");
  CHECK(call("", completed()).text == "{}");
  const Block malformed = call(R"({\"a\":)", completed());
  CHECK(malformed.arguments_state == ArgumentsState::malformed);
  CHECK(malformed.text == R"({"a":)");
  CHECK(malformed.arguments_error.find("not valid JSON") == 0);
  CHECK(call("[1]", completed()).arguments_error == "the arguments are not a JSON object");
  CHECK(call(R"({\"a\":)", cut_off).arguments_state == ArgumentsState::cut);
  CHECK(call("", cut_off).arguments_state == ArgumentsState::cut);
  CHECK(call(R"({\"a\":1})", cut_off).arguments_state == ArgumentsState::valid);
  CHECK(call(R"({\"a\":)", completed(), "incomplete").arguments_state == ArgumentsState::cut);
  CHECK(render(assistant({malformed})) ==
        R"({"id":"fc_1","type":"function_call","status":"completed","call_id":"c",)"
        R"("name":"read_file","arguments":"{}"})");
  // Never finished: what came of it is kept.
  const Decoded open =
      decode(openai_responses_codec(),
             added(0, call_item("fc_1", "c", "", "in_progress")) +
                 delta("function_call_arguments", 0, R"({\"a\":)", R"("x":0)") + cut_off);
  REQUIRE(open.reply);
  CHECK(open.reply->blocks.at(0).arguments_state == ArgumentsState::cut);
  CHECK(open.reply->blocks.at(0).text == R"({"a":)");
}

TEST_CASE("openai responses: a call without its id is paired by another") {
  const auto id = [](const std::string& item) {
    return decode(openai_responses_codec(), done(0, item) + completed())
        .reply->blocks.at(0)
        .provider_call_id;
  };
  CHECK(id(R"({"type":"function_call","id":"fc_9","name":"t","arguments":"{}"})") == "fc_9");
  CHECK(id(R"({"type":"function_call","name":"t","arguments":"{}"})") == "call_0");
}

TEST_CASE("openai responses: stop reasons") {
  const auto stop = [](const std::string& stream) {
    const Decoded out = decode(openai_responses_codec(), stream);
    REQUIRE(out.reply);
    return out.reply->stop;
  };
  const std::string text = done(0, message_item("a"));
  const std::string call = done(0, call_item("fc", "c", "{}"));
  CHECK(stop(text + completed()) == StopReason::end);
  CHECK(stop(call + completed()) == StopReason::tool_calls);
  CHECK(stop(text + incomplete("max_output_tokens")) == StopReason::output_limit);
  CHECK(stop(call + incomplete("max_output_tokens")) == StopReason::output_limit);
  CHECK(stop(text + incomplete("content_filter")) == StopReason::content_filter);
  CHECK(stop(text + incomplete("novelty")) == StopReason::other);
  CHECK(stop(created() + event("response.completed", "")) == StopReason::end);
  const Decoded refused =
      decode(openai_responses_codec(),
             delta("refusal", 0, "I can") + delta("refusal", 0, "not") + completed());
  CHECK(refused.reply->stop == StopReason::refusal);
  CHECK(refused.reply->blocks.at(0).text == "I cannot");
  CHECK(refused.reply->blocks.at(0).field == "refusal");
  CHECK(refused.text == "I cannot");
  CHECK(decode(openai_responses_codec(), text + incomplete("max_output_tokens")).reply->stop_raw ==
        "max_output_tokens");
}

TEST_CASE("openai responses: usage keeps what was reported and what was not") {
  const Decoded full = decode(openai_responses_codec(), full_stream());
  CHECK(full.usage.input_total == 100u);
  CHECK(full.usage.cache_read == 64u);
  CHECK(full.usage.cache_write == 20u);
  CHECK(full.usage.output == 30u);
  CHECK(full.usage.reasoning == 12u);
  CHECK(full.usage.input_uncached == std::nullopt);
  CHECK(full.usage.service_tier == "flex");
  CHECK(full.usage.raw == kUsage);
  const auto usage = [](const std::string& json) {
    return decode(openai_responses_codec(),
                  event("response.completed", R"("response":{"usage":)" + json + "}"))
        .usage;
  };
  const auto odd = usage(R"({"input_tokens":null,"output_tokens":-1,)"
                         R"("input_tokens_details":{"cached_tokens":0}})");
  CHECK(odd.input_total == std::nullopt);
  CHECK(odd.output == std::nullopt);
  CHECK(odd.cache_read == 0u);
  CHECK(odd.cache_write == std::nullopt);
  CHECK(odd.reasoning == std::nullopt);
  CHECK(usage("null").raw.empty());
}

TEST_CASE("openai responses: cache diagnostics are kept") {
  const std::string verdict = R"({"type":"cache_miss","reason":"tools_changed"})";
  CHECK(
      decode(openai_responses_codec(), completed("[]", R"(,"prompt_cache_diagnostics":)" + verdict))
          .reply->diagnostics == verdict);
  CHECK(decode(openai_responses_codec(), completed("[]", R"(,"prompt_cache_diagnostics":null)"))
            .reply->diagnostics.empty());
}

TEST_CASE("openai responses: half a surrogate pair costs a character, not the reply") {
  const std::string item = message_item(R"(a\ud83d)");
  const Decoded out = decode(openai_responses_codec(),
                             created() + added(0, item) + done(0, item) + completed("[]"));
  REQUIRE(out.reply);
  CHECK(out.reply->blocks.at(0).text == "a\xef\xbf\xbd");
}

TEST_CASE("openai responses: errors inside the stream") {
  const auto failure = [](const std::string& stream) {
    const Decoded out = decode(openai_responses_codec(),
                               created() + delta("output_text", 0, "a") + stream + completed());
    REQUIRE_FALSE(out.reply);
    return out.reply.error();
  };
  const auto failed = [&](const std::string& error) {
    return failure(event("response.failed", R"("response":{"id":"r","status":"failed",)"
                                            R"("instructions":"long","error":)" +
                                                error + R"(,"usage":{"input_tokens":9}})"));
  };
  const auto overflow = failed(R"({"code":"context_length_exceeded","message":"Too long."})");
  CHECK(overflow.kind == FailureKind::context_overflow);
  CHECK(overflow.message == "an error in its stream (code context_length_exceeded): Too long.");
  CHECK(overflow.usage.input_total == 9u);
  CHECK(overflow.raw.find("long\"") == std::string::npos);
  CHECK(failed(R"({"code":"server_error","message":"m"})").kind == FailureKind::retryable_status);
  CHECK(failed(R"({"code":"insufficient_quota","message":"m"})").kind == FailureKind::permanent);
  CHECK(failed(R"({"code":"invalid_prompt","message":"m"})").kind == FailureKind::permanent);
  CHECK(failed("null").kind == FailureKind::retryable_status);
  CHECK(failed("null").message ==
        "an error in its stream: the response failed, and no reason was given");
  const auto limited = failed(
      R"({"code":"rate_limit_exceeded","message":"Rate limit. Please try again in 1.898s."})");
  CHECK(limited.kind == FailureKind::retryable_status);
  CHECK(limited.retry_after_ms == 1898);
  CHECK(failure(event("error", R"("code":"context_length_exceeded","message":"m","param":"input")"))
            .kind == FailureKind::context_overflow);
  CHECK(failure(event("error", R"("error":{"type":"invalid_request_error","code":"x",)"
                               R"("message":"m"})"))
            .kind == FailureKind::permanent);
  CHECK(failure("event: error\ndata: upstream died\n\n").message ==
        "an error in its stream: upstream died");
  CHECK(failure("data: {oops\n\n").kind == FailureKind::bad_response);
}

TEST_CASE("openai responses: nothing after the end counts") {
  const Decoded out = decode(openai_responses_codec(), full_stream() + "data: [DONE]\n\n" +
                                                           full_stream() + "data: {oops\n\n");
  REQUIRE(out.reply);
  CHECK(out.reply->blocks.size() == 4);
}

}  // namespace
}  // namespace daybook::tests
