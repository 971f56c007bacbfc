// Commands with a request id, and the JSON line that every run and resume ends with.
#include <nlohmann/json.hpp>

#include "tests/support/cli.h"
#include "tests/tools/place.h"

namespace daybook::tests {
namespace {

using Catch::Contains;

const std::string kRun = "$daybook run --request-id r ";

struct Answered : Place {
  Answered() {
    REQUIRE((*this)(kRun + "--session s --model script:../answer.toml go > ../out 2> ../err") == 0);
  }
};

TEST_CASE("the first answer needs no model, no key, no scenario and no workspace") {
  const Answered place;
  for (const std::string model : {"", "--model anthropic:m ", "--model script:../none.toml ",
                                  "--model nothing ", "--workspace ../none "}) {
    CHECK(place("unset ANTHROPIC_API_KEY DAYBOOK_MODEL; " + kRun + model +
                "go > ../out 2> ../err") == 0);
    CHECK(place.file("out") == "hello\n");
    CHECK(place.file("err").empty());
  }
  CHECK(place(kRun + "--json go > ../out") == 0);
  CHECK(place.file("out") ==
        "{\"session\":\"s\",\"outcome\":\"completed\",\"answer\":\"hello\"}\n");
}

TEST_CASE("the first answer is printed beside a process that writes the journal") {
  const Answered place;
  place.scenario("wait.toml",
                 "[[response]]\n[[response.call]]\ntool = \"run_shell\"\n"
                 "arguments = { command = \"echo > ../begun; cat ../gate\" }\n"
                 "[[response]]\ntext = \"done\"\n");
  CHECK(place("mkfifo ../begun ../gate; $daybook run --session w --approval-mode bypass-approvals "
              "--model script:../wait.toml go > ../out 2>&1 & read line < ../begun; " +
              kRun + "go > ../first 2> ../err; code=$?; echo > ../gate; wait; exit $code") == 0);
  CHECK(place.file("first") == "hello\n");
}

TEST_CASE("a request id of another session or prompt is refused, and both are named") {
  const Answered place;
  CHECK(place(kRun + "--session other --model script:../answer.toml go > ../out 2> ../err") == 4);
  CHECK(place.file("err") ==
        "daybook: request id 'r' was used in session s, not in other; leave --session out, or use "
        "a new id\n");
  CHECK(place(kRun + "--session s go > ../out 2> ../err") == 0);
  CHECK(place(kRun + "stop > ../out 2> ../err") == 4);
  CHECK(place.file("out").empty());
}

TEST_CASE("an interrupted command is not continued in a session that --session contradicts") {
  const Place place;
  place.scenario("short.toml", "[[response]]\n[[response.call]]\ntool = \"current_time\"\n");
  CHECK(place(kRun + "--session s --model script:../short.toml go 2> ../err") == 8);
  CHECK(place(kRun + "--session t --model script:../short.toml go 2> ../err") == 4);
  CHECK_THAT(place.file("err"), Contains("was used in session s, not in t"));
}

TEST_CASE("request ids that nobody can type again are refused before anything happens") {
  const Place place;
  const std::string rest = " --model script:../answer.toml go > ../out 2> ../err";
  CHECK(place("$daybook run --request-id $(printf %257s | tr \" \" x)" + rest) == 2);
  CHECK(place.file("err") == "daybook: --request-id has 257 bytes; use at most 256\n");
  for (const std::string escape : {"a\\nb", "a\\tb", "a\\033b", "a\\177", "\\377"}) {
    CHECK(place("$daybook run --request-id \"$(printf \"" + escape + "\")\"" + rest) == 2);
    CHECK_THAT(place.file("err"), Contains("holds control characters or is not UTF-8"));
  }
  CHECK_FALSE(std::filesystem::exists(place.dir.path() / "journal"));
  CHECK(place("$daybook run --request-id $(printf %256s | tr \" \" x)" + rest) == 0);
}

TEST_CASE("--json: a failure before the turn starts is a line of its own") {
  const Place place;
  const auto line = [&](const std::string& command, int code) {
    CHECK(place("unset ANTHROPIC_API_KEY DAYBOOK_MODEL; " + command + " > ../out 2> ../err") ==
          code);
    const auto lines = json_lines(place.file("out"));
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].at("outcome") == "error");
    // The same sentence as on standard error.
    CHECK(place.file("err") == "daybook: " + json_text(lines[0], "message") + "\n");
    return json_text(lines[0], "error");
  };
  CHECK(line("$daybook run --json go", 2) == "invalid_argument");
  CHECK(line("$daybook run --json --model nobody:m go", 2) == "invalid_argument");
  CHECK(line("$daybook run --json --model anthropic:m go", 3) == "not_found");
  CHECK(line("$daybook run --json --nope go", 2) == "invalid_argument");
  CHECK(line("$daybook run --json --session \"\" go", 2) == "invalid_argument");
  CHECK(line("$daybook resume --json s", 3) == "not_found");
  CHECK(place("$daybook run --session s --model script:../answer.toml go 2> ../err") == 0);
  CHECK(line("$daybook resume --json t", 3) == "not_found");
  CHECK(line("flock ../journal/lock $daybook run --json --model script:../answer.toml go", 4) ==
        "busy");
  // Lists stay lists.
  CHECK(place("$daybook show --json t > ../out 2> ../err") == 3);
  CHECK(place.file("out").empty());
}

TEST_CASE("resume --json says that there is nothing to resume") {
  const Place place;
  CHECK(place("$daybook run --session s --model script:../answer.toml go 2> ../err") == 0);
  CHECK(place("$daybook resume --json s > ../out 2> ../err") == 0);
  const auto lines = json_lines(place.file("out"));
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].at("session") == "s");
  CHECK(lines[0].at("outcome") == "nothing-to-do");
  CHECK(lines[0].at("message") == "session s has nothing to resume");
  CHECK(place.file("err").empty());
  CHECK(place("$daybook resume s > ../out 2> ../err") == 0);
  CHECK(place.file("out").empty());
  CHECK(place.file("err") ==
        "daybook: session s has nothing to resume; give it new work with: daybook run --session s "
        "PROMPT\n");
}

}  // namespace
}  // namespace daybook::tests
