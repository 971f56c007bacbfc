// Whole sessions against an endpoint on this machine: what goes over the wire, and what is kept.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "schema/json.h"
#include "tests/crash/bench.h"
#include "tests/support/http_server.h"
#include "tests/support/temp_dir.h"

namespace daybook::tests {
namespace {

using Catch::Contains;

constexpr char kKey[] = "k-7f3a9c51d2e8b604";

/// What an endpoint of each kind streams for a text, and for one tool call.
struct Wire {
  std::string kind;
  std::string (*text)(const std::string& text);
  std::string (*call)(const std::string& tool, const std::string& arguments);
};

std::string event(const Json& data) {
  return "data: " + dump_json(data) + "\n\n";
}

std::string chat_delta(Json delta, Json finish) {
  return event({{"id", "r1"},
                {"choices", Json::array({{{"index", 0},
                                          {"delta", std::move(delta)},
                                          {"finish_reason", std::move(finish)}}})}});
}

const Wire kChat = {
    "openai-chat",
    [](const std::string& text) {
      return chat_delta({{"content", text}}, "stop") + "data: [DONE]\n\n";
    },
    [](const std::string& tool, const std::string& arguments) {
      const Json call = {{"index", 0},
                         {"id", "call_abc"},
                         {"type", "function"},
                         {"function", {{"name", tool}, {"arguments", arguments}}}};
      return chat_delta({{"tool_calls", Json::array({call})}}, "tool_calls") + "data: [DONE]\n\n";
    }};

std::string typed(const Json& data) {
  return "event: " + data["type"].get<std::string>() + "\n" + event(data);
}

std::string anthropic_message(const Json& block, const Json& delta, const std::string& stop) {
  const Json usage = {{"input_tokens", 5}, {"output_tokens", 3}};
  return typed({{"type", "message_start"},
                {"message",
                 {{"id", "msg_1"},
                  {"type", "message"},
                  {"role", "assistant"},
                  {"model", "m"},
                  {"content", Json::array()},
                  {"usage", usage}}}}) +
         typed({{"type", "content_block_start"}, {"index", 0}, {"content_block", block}}) +
         typed({{"type", "content_block_delta"}, {"index", 0}, {"delta", delta}}) +
         typed({{"type", "content_block_stop"}, {"index", 0}}) +
         typed({{"type", "message_delta"},
                {"delta", {{"stop_reason", stop}}},
                {"usage", {{"output_tokens", 3}}}}) +
         typed({{"type", "message_stop"}});
}

const Wire kAnthropic = {
    "anthropic",
    [](const std::string& text) {
      return anthropic_message({{"type", "text"}, {"text", ""}},
                               {{"type", "text_delta"}, {"text", text}}, "end_turn");
    },
    [](const std::string& tool, const std::string& arguments) {
      return anthropic_message(
          {{"type", "tool_use"}, {"id", "toolu_1"}, {"name", tool}, {"input", Json::object()}},
          {{"type", "input_json_delta"}, {"partial_json", arguments}}, "tool_use");
    }};

const Wire kResponses = {
    "openai-responses",
    [](const std::string& text) {
      const Json part = {{"type", "output_text"}, {"text", text}, {"annotations", Json::array()}};
      const Json item = {{"id", "msg_1"},
                         {"type", "message"},
                         {"status", "completed"},
                         {"content", Json::array({part})},
                         {"role", "assistant"}};
      return typed({{"type", "response.created"}, {"response", {{"id", "resp_1"}}}}) +
             typed({{"type", "response.output_text.delta"},
                    {"output_index", 0},
                    {"content_index", 0},
                    {"delta", text}}) +
             typed({{"type", "response.output_item.done"}, {"output_index", 0}, {"item", item}}) +
             typed({{"type", "response.completed"},
                    {"response", {{"id", "resp_1"}, {"status", "completed"}}}});
    },
    [](const std::string& tool, const std::string& arguments) {
      const Json reasoning = {{"id", "rs_1"},
                              {"type", "reasoning"},
                              {"summary", Json::array()},
                              {"encrypted_content", "ZW5jcnlwdGVk"}};
      const Json call = {{"id", "fc_1"},          {"type", "function_call"},
                         {"status", "completed"}, {"arguments", arguments},
                         {"call_id", "call_abc"}, {"name", tool}};
      return typed({{"type", "response.created"}, {"response", {{"id", "resp_1"}}}}) +
             typed({{"type", "response.output_item.done"},
                    {"output_index", 0},
                    {"item", reasoning}}) +
             typed({{"type", "response.function_call_arguments.delta"},
                    {"output_index", 1},
                    {"delta", arguments}}) +
             typed({{"type", "response.output_item.done"}, {"output_index", 1}, {"item", call}}) +
             typed({{"type", "response.completed"},
                    {"response", {{"id", "resp_1"}, {"status", "completed"}}}});
    }};

std::string gemini_chunk(Json candidate) {
  candidate["index"] = 0;
  return event({{"candidates", Json::array({std::move(candidate)})}, {"responseId", "r1"}});
}

const Wire kGemini = {
    "gemini",
    [](const std::string& text) {
      const Json part = {{"text", text}};
      return gemini_chunk({{"content", {{"role", "model"}, {"parts", Json::array({part})}}}}) +
             gemini_chunk({{"finishReason", "STOP"}});
    },
    [](const std::string& tool, const std::string& arguments) {
      const auto args = parse_json(arguments);
      if (!args) {
        return gemini_chunk(
            {{"finishReason", "MALFORMED_FUNCTION_CALL"},
             {"finishMessage", "Malformed function call: print(default_api." + tool + "("}});
      }
      const Json part = {{"functionCall", {{"name", tool}, {"args", *args}}},
                         {"thoughtSignature", "c2lnbmVk"}};
      return gemini_chunk({{"content", {{"role", "model"}, {"parts", Json::array({part})}}}}) +
             gemini_chunk({{"finishReason", "STOP"}});
    }};

struct Endpoint {
  Bench bench;
  HttpServer server;
  Wire wire;

  explicit Endpoint(Wire wire_of, bool markers = false) : wire(std::move(wire_of)) {
    configure(server.url(), markers);
    bench.more_environment = {"DAYBOOK_CONFIG=" + bench.beside("config.toml"),
                              std::string("LOCAL_API_KEY=") + kKey};
    bench.put("notes.txt", "release: March\n");
  }
  void configure(const std::string& url, bool markers = false) const {
    write_file(bench.beside("config.toml"),
               fmt::format("[providers.local]\nkind = \"{}\"\nbase_url = \"{}\"\n"
                           "key_env = \"LOCAL_API_KEY\"\n"
                           "[models.\"local:m\"]\ncache_markers = {}\n",
                           wire.kind, url, markers));
  }
  void streams(const std::string& body) { server.on_request({send(event_stream(body))}); }
  ChildExit turn(const std::string& prompt, const std::vector<std::string>& more = {}) const {
    std::vector<std::string> arguments = {
        "run", "--session", "s", "--model", "local:m", "--approval-mode", "bypass-approvals"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    arguments.push_back(prompt);
    return bench.run(arguments);
  }
  std::vector<std::string> bodies() const {
    std::vector<std::string> made;
    for (const auto& seen : server.requests()) made.push_back(seen.body);
    return made;
  }
  /// What the journal rebuilds is what the endpoint got, byte for byte.
  void check_recorded() const {
    const SessionView view = bench.view();
    CHECK(view.faults == std::vector<std::string>{});
    std::vector<std::string> rebuilt;
    for (const auto& sent : view.requests) rebuilt.push_back(sent.body);
    CHECK(rebuilt == bodies());
    CHECK(bench.check({"verify"}) == 0);
  }
  void two_turns() {
    streams(wire.call("read_file", R"({"path":"notes.txt"})"));
    streams(wire.text("It says March."));
    CHECK(turn("Read the notes.").out == "It says March.\n");
    streams(wire.call("write_file", R"({"path":"new.txt","content":"new"})"));
    streams(wire.text("Written."));
    CHECK(turn("Write a file.").out == "Written.\n");
    CHECK(bench.file("new.txt") == "new");
    REQUIRE(bodies().size() == 4);
  }
};

/// Every wire format ends with the messages, so a request without its last two bytes, "]}", is
/// how every later one must begin.
void check_growth(const std::vector<std::string>& bodies) {
  for (std::size_t i = 0; i + 1 < bodies.size(); ++i) {
    INFO(bodies[i] << "\n" << bodies[i + 1]);
    REQUIRE(bodies[i].ends_with("]}"));
    CHECK(bodies[i + 1].starts_with(bodies[i].substr(0, bodies[i].size() - 2) + ","));
  }
}

TEST_CASE("openai-chat: every request begins with the bytes of the one before") {
  Endpoint endpoint(kChat);
  endpoint.two_turns();
  check_growth(endpoint.bodies());
  endpoint.check_recorded();
  const auto seen = endpoint.server.requests();
  CHECK(seen[0].line == "POST /chat/completions HTTP/1.1");
  CHECK(seen[0].header("authorization") == std::string("Bearer ") + kKey);
}

TEST_CASE("openai-responses: every request begins with the bytes of the one before") {
  Endpoint endpoint(kResponses);
  endpoint.two_turns();
  check_growth(endpoint.bodies());
  endpoint.check_recorded();
  const auto seen = endpoint.server.requests();
  CHECK(seen[0].line == "POST /responses HTTP/1.1");
  CHECK(seen[0].header("authorization") == std::string("Bearer ") + kKey);
  // The reasoning goes back before its call, as it came.
  CHECK_THAT(seen[1].body,
             Contains(R"({"id":"rs_1","type":"reasoning","summary":[],)"
                      R"("encrypted_content":"ZW5jcnlwdGVk"},{"id":"fc_1",)"
                      R"("type":"function_call","status":"completed","call_id":"call_abc",)"));
}

TEST_CASE("gemini: every request begins with the bytes of the one before") {
  Endpoint endpoint(kGemini);
  endpoint.two_turns();
  check_growth(endpoint.bodies());
  endpoint.check_recorded();
  const auto seen = endpoint.server.requests();
  CHECK(seen[0].line == "POST /models/m:streamGenerateContent?alt=sse HTTP/1.1");
  CHECK(seen[0].header("x-goog-api-key") == kKey);
  CHECK_THAT(seen[1].body,
             Contains(R"({"functionCall":{"name":"read_file","args":{"path":"notes.txt"}},)"
                      R"("thoughtSignature":"c2lnbmVk"}]},{"role":"user","parts":[)"
                      R"({"functionResponse":{"name":"read_file","response":{"output":)"));
}

TEST_CASE("anthropic: every request reads the cache that the one before wrote") {
  Endpoint endpoint(kAnthropic, true);
  endpoint.two_turns();
  endpoint.check_recorded();
  CHECK(endpoint.server.requests()[0].line == "POST /v1/messages HTTP/1.1");
  std::vector<std::string> plain;
  std::size_t written = 0;  // message whose marker the request before ended with
  for (const auto& body : endpoint.bodies()) {
    const Json messages = parse_json(body).value()["messages"];
    std::vector<std::size_t> marked;
    for (std::size_t i = 0; i < messages.size(); ++i) {
      if (dump_json(messages[i]).find("cache_control") != std::string::npos) marked.push_back(i);
    }
    REQUIRE_FALSE(marked.empty());
    if (!plain.empty()) CHECK(marked.front() == written);
    CHECK(marked.back() == messages.size() - 1);
    written = marked.back();
    plain.push_back(body);
    const std::string marker = R"(,"cache_control":{"type":"ephemeral"})";
    for (auto at = plain.back().find(marker); at != std::string::npos;
         at = plain.back().find(marker)) {
      plain.back().erase(at, marker.size());
    }
    CHECK(plain.back().find("cache_control") == std::string::npos);
  }
  check_growth(plain);
}

TEST_CASE("an overloaded endpoint and a cut stream are tried again with the same bytes") {
  Endpoint endpoint(kChat);
  endpoint.server.on_request({send(response(503, "application/json", "{}"))});
  endpoint.server.on_request(
      {send(event_stream_head()), send(chunk(chat_delta({{"content", "Half"}}, nullptr))), cut()});
  endpoint.streams(kChat.text("Whole."));
  CHECK(endpoint.turn("Speak.").out == "Whole.\n");
  const auto bodies = endpoint.bodies();
  REQUIRE(bodies.size() == 3);
  CHECK(bodies[1] == bodies[0]);
  CHECK(bodies[2] == bodies[0]);
  endpoint.check_recorded();
}

TEST_CASE("a stream of the other wire formats that is cut is tried again with the same bytes") {
  for (const Wire& wire : {kResponses, kGemini}) {
    INFO(wire.kind);
    Endpoint endpoint(wire);
    const std::string half = wire.text("Half");
    endpoint.server.on_request(
        {send(event_stream_head()), send(chunk(half.substr(0, half.size() * 2 / 3))), cut()});
    endpoint.streams(wire.text("Whole."));
    CHECK(endpoint.turn("Speak.").out == "Whole.\n");
    const auto bodies = endpoint.bodies();
    REQUIRE(bodies.size() == 2);
    CHECK(bodies[1] == bodies[0]);
    endpoint.check_recorded();
  }
}

TEST_CASE("a session goes on with a model of another wire format, both ways") {
  for (const auto& [first, second] :
       {std::pair(kResponses, kGemini), std::pair(kGemini, kResponses)}) {
    INFO(first.kind << " to " << second.kind);
    Endpoint endpoint(first);
    endpoint.streams(first.call("read_file", R"({"path":"notes.txt"})"));
    endpoint.streams(first.text("It says March."));
    CHECK(endpoint.turn("Read the notes.").out == "It says March.\n");
    endpoint.wire = second;
    endpoint.configure(endpoint.server.url());
    endpoint.streams(second.text("Still March."));
    CHECK(endpoint.turn("Sure?").out == "Still March.\n");
    const std::string last = endpoint.bodies().back();
    // The call and its result are there; what only the first format knows is not.
    CHECK_THAT(last, Contains("notes.txt") && Contains("release: March"));
    for (const char* own : {"c2lnbmVk", "ZW5jcnlwdGVk", "rs_1", "fc_1", "msg_1"}) {
      CHECK(last.find(own) == std::string::npos);
    }
    endpoint.check_recorded();
  }
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST_CASE("a permanent error is told in the provider's words, without the key, and not repeated") {
  Endpoint endpoint(kChat);
  endpoint.server.on_request({send(
      response(400, "application/json",
               fmt::format(R"({{"error":{{"message":"model m is retired, key {}"}}}})", kKey)))});
  const ChildExit exit = endpoint.turn("Speak.");
  CHECK(exit.code == 8);
  CHECK(count_of(exit.err, "model m is retired") == 1);
  CHECK(endpoint.bodies().size() == 1);
  endpoint.check_recorded();
  const ChildExit exported = endpoint.bench.run({"export", "s"});
  CHECK(exported.code == 0);
  CHECK_THAT(exported.out, Contains("model m is retired"));
  CHECK(exit.err.find(kKey) == std::string::npos);
  CHECK(exported.out.find(kKey) == std::string::npos);
}

TEST_CASE("a key never reaches the journal's files or a command") {
  Endpoint endpoint(kChat);
  endpoint.streams(kChat.call("run_shell", R"({"command":"env; echo $LOCAL_API_KEY"})"));
  endpoint.streams(kChat.text("Done."));
  CHECK(endpoint.turn("Look.").code == 0);
  for (const auto& body : endpoint.bodies()) CHECK(body.find(kKey) == std::string::npos);
  int files = 0;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(endpoint.bench.journal())) {
    if (!entry.is_regular_file()) continue;
    ++files;
    CHECK(read_file(entry.path()).find(kKey) == std::string::npos);
  }
  CHECK(files > 3);
}

TEST_CASE("a missing key and an unreachable endpoint are named") {
  Endpoint endpoint(kChat);
  SECTION("key") {
    endpoint.bench.more_environment.pop_back();
    const ChildExit exit = endpoint.turn("Speak.");
    CHECK(exit.code == 3);
    CHECK_THAT(exit.err, Contains("LOCAL_API_KEY"));
    CHECK(endpoint.bodies().empty());
  }
  SECTION("endpoint") {
    int port = 0;
    {
      const HttpServer gone;
      port = gone.port();
    }
    endpoint.configure(fmt::format("http://127.0.0.1:{}", port));
    const ChildExit exit = endpoint.turn("Speak.", {"--timeout", "1"});
    CHECK(exit.code == 7);
    CHECK_THAT(endpoint.bench.run({"show", "s"}).out, Contains(fmt::format("127.0.0.1:{}", port)));
  }
}

TEST_CASE("arguments that are no JSON are diagnosed to the model and never sent back") {
  for (const Wire& wire : {kChat, kAnthropic, kResponses, kGemini}) {
    INFO(wire.kind);
    Endpoint endpoint(wire);
    endpoint.streams(wire.call("read_file", R"({"path": "no)"));
    endpoint.streams(wire.text("I see."));
    CHECK(endpoint.turn("Read.").out == "I see.\n");
    const auto bodies = endpoint.bodies();
    REQUIRE(bodies.size() == 2);
    CHECK_THAT(bodies[1], Contains("its arguments cannot be used"));
    CHECK(bodies[1].find(R"({\"path\": \"no)") == std::string::npos);
    CHECK(endpoint.bench.view().calls.at("call-1").intents == 0);
    endpoint.check_recorded();
  }
}

}  // namespace
}  // namespace daybook::tests
