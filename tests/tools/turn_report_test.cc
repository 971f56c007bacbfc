// What `daybook run` says about a turn that did not complete: what, where, and what helps.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tests/support/cli.h"
#include "tests/support/http_server.h"
#include "tests/tools/place.h"

namespace daybook::tests {
namespace {

using Catch::Contains;
using Catch::EndsWith;

constexpr char kKey[] = "sk-local-0123456789";

/// A provider "local" whose base URL has a user, a password and a path.
struct Called : Place {
  HttpServer server;
  std::string where = fmt::format("127.0.0.1:{}/{}/v1/chat/completions", server.port(), kKey);

  explicit Called(const std::string& key_env = "LOCAL_KEY") {
    configure(fmt::format("http://ann:secret@127.0.0.1:{}/{}/v1", server.port(), kKey), key_env);
    environment = fmt::format("export LOCAL_KEY={} DAYBOOK_CONFIG={}; ", kKey, dir.str("c.toml"));
    where.replace(where.find(kKey), sizeof kKey - 1, "***");
  }
  void configure(const std::string& base_url, const std::string& key_env) const {
    const std::string key = key_env.empty() ? "" : fmt::format("key_env = \"{}\"\n", key_env);
    write_file(dir.path() / "c.toml",
               fmt::format("[providers.local]\nkind = \"openai-chat\"\nbase_url = \"{}\"\n{}",
                           base_url, key));
  }
  /// What the last line of standard error says.
  std::string turn(int status, const std::string& body, int code = 8) {
    server.on_request({send(response(status, "application/json", body))});
    return turn(code);
  }
  std::string turn(int code = 8) const {
    CHECK((*this)("$daybook run --session s --model local:m go > ../out 2> ../err") == code);
    const std::string err = file("err");
    return err.substr(err.find('\n') + 1);
  }
};

std::string error_body(const std::string& message) {
  return fmt::format(R"({{"error":{{"message":"{}"}}}})", message);
}

TEST_CASE("a refused key: the status, the endpoint and the variable are named") {
  Called called;
  CHECK(called.turn(401, error_body("no such key")) ==
        "daybook: failed: local:m at " + called.where +
            " answered HTTP 401: no such key; put a key that it accepts into the variable "
            "LOCAL_KEY, then go on with: daybook resume s\n");
}

TEST_CASE("an endpoint that wants a key when none is configured") {
  Called called("");
  CHECK_THAT(called.turn(401, error_body("who are you")),
             Contains("HTTP 401: who are you; name the variable that holds the key as key_env of "
                      "[providers.local]"));
}

TEST_CASE("what is not there: the model's name and the base URL are to be checked") {
  Called called;
  CHECK_THAT(called.turn(404, error_body("no model m")),
             Contains(called.where + " answered HTTP 404: no model m; check the model's name and "
                                     "base_url of [providers.local], then go on with: daybook "
                                     "resume s --model PROVIDER:MODEL\n"));
}

TEST_CASE("other refusals, and endpoints that are none, say where they come from") {
  Called called;
  CHECK_THAT(called.turn(400, error_body("bad temperature")),
             Contains("answered HTTP 400: bad temperature; change what it objects to, then go on "
                      "with: daybook resume s\n"));
  CHECK_THAT(Called().turn(302, ""), Contains("answered HTTP 302: ") &&
                                         Contains("; check base_url of [providers.local], then"));
  CHECK_THAT(Called().turn(200, "hello"),
             Contains("answered HTTP 200: ") && Contains("check base_url of [providers.local]"));
  CHECK_THAT(Called().turn(400, error_body("prompt is too long")),
             Contains("HTTP 400: prompt is too long; the session no longer fits"));
}

TEST_CASE("a refused connection names the endpoint") {
  Called called;
  // Nobody listens on port 1, and the wait for the last of six attempts would be long.
  called.configure("http://127.0.0.1:1/v1", "LOCAL_KEY");
  CHECK(called("$daybook run --session s --timeout 1 --model local:m go > ../out 2> ../err") == 7);
  CHECK_THAT(called.file("err"), Contains("cannot connect to 127.0.0.1:1; trying again in"));
}

TEST_CASE("an attempt that failed says the status and the endpoint, and what comes next") {
  Called called;
  called.server.on_request({send(response(503, "application/json", error_body("overloaded")))});
  called.server.on_request({send(event_stream(
      "data: "
      "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}"
      "\n\ndata: [DONE]\n\n"))});
  const std::string err = called.turn(0);
  CHECK_THAT(err,
             Contains("model: HTTP 503 from " + called.where + ": overloaded; trying again in") &&
                 EndsWith("model: attempt 2\n"));
}

TEST_CASE("the first attempt of a resumed turn is not announced as a second one") {
  Called called;
  called.turn(400, error_body("no"));
  called.server.on_request({send(response(400, "application/json", error_body("no")))});
  CHECK(called("$daybook resume s 2> ../err") == 8);
  CHECK(called.file("err").find("attempt") == std::string::npos);
}

TEST_CASE("--json holds the same words, what to do apart") {
  Called called;
  called.server.on_request({send(response(401, "application/json", error_body("no such key")))});
  CHECK(called("$daybook run --json --session s --model local:m go > ../out") == 8);
  const Json last = json_lines(called.file("out")).back();
  CHECK(last.at("outcome") == "failed");
  CHECK(last.at("message") == "local:m at " + called.where + " answered HTTP 401: no such key");
  CHECK(last.at("advice") ==
        "put a key that it accepts into the variable LOCAL_KEY, then go on with: daybook resume s");
}

TEST_CASE("resume is suggested only where it can help") {
  const Place place;
  const auto said = [&](const std::string& toml) {
    place.scenario("play.toml", toml);
    place(
        "rm -rf ../journal; $daybook run --session s --model script:../play.toml go "
        "> ../out 2> ../err");
    return place.file("err");
  };
  for (const std::string stop : {"refusal", "content_filter"}) {
    const std::string err = said("[[response]]\ntext = \"no\"\nstop = \"" + stop + "\"\n");
    CHECK_THAT(err, EndsWith("; ask for something else with: daybook run --session s PROMPT\n"));
    CHECK(err.find("resume") == std::string::npos);
  }
  const std::string limit = said("[[response]]\nreasoning = \"hm\"\nstop = \"output_limit\"\n");
  CHECK_THAT(limit, Contains("raise max_output_tokens") &&
                        EndsWith("; then ask again with: daybook run --session s PROMPT\n"));
  CHECK(limit.find("resume") == std::string::npos);
  CHECK_THAT(said("[[response]]\n[[response.call]]\ntool = \"current_time\"\n"),
             Contains("the scenario ends after response 1") &&
                 Contains("; change the scenario (a session's response N plays the file's response "
                          "N), then go on with: daybook resume s\n"));
}

TEST_CASE("what is suggested after a scenario's end works") {
  const Place place;
  place.scenario("play.toml", "[[response]]\n[[response.call]]\ntool = \"current_time\"\n");
  CHECK(place("$daybook run --session s --model script:../play.toml go > ../out 2> ../err") == 8);
  place.scenario("play.toml",
                 "[[response]]\n[[response.call]]\ntool = \"current_time\"\n"
                 "[[response]]\ntext = \"more\"\n");
  CHECK(place("$daybook resume s > ../out 2> ../err") == 0);
  CHECK(place.file("out") == "more\n");
}

}  // namespace
}  // namespace daybook::tests
