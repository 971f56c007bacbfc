// Mistakes, bad disks and odd folders: one sentence, and what to do.
#include <spdlog/spdlog.h>

#include <algorithm>

#include "tests/tools/place.h"
#include "tools/program.h"

namespace daybook::tests {
namespace {

using Catch::Contains;

const std::string kAnswer = "$daybook run --session s --model script:../answer.toml go ";
const std::string kQuiet = "> ../out 2> ../err";

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

TEST_CASE("a write that the system refuses is told in our own sentence alone") {
  const Place place;
  place.scenario("prompt.txt", std::string(200'000, 'x'));
  // Files may not grow beyond 64 KiB: the database meets what it meets on a full disk.
  const std::string run =
      "(trap \"\" XFSZ; ulimit -f 64; $daybook run --session s --model script:../answer.toml "
      "--prompt-file ../prompt.txt) 2>&1 > /dev/null | cat > ../err; exit ${PIPESTATUS[0]}";
  CHECK(place(run) == 1);
  const std::string err = place.file("err");
  INFO(err);
  CHECK(err.starts_with("session s\ndaybook: "));
  CHECK(lines_of(err) == 2);
  // The database's own words are there for who wants them.
  CHECK(place("rm -r ../journal; export DAYBOOK_LOG=warning; " + run) == 1);
  CHECK_THAT(place.file("err"), Contains("rocksdb: "));
}

TEST_CASE("the database's own log is silent unless it is asked for") {
  const auto shows = [](const engine::Environment& environment, spdlog::level::level_enum level) {
    REQUIRE(tools::set_up_log(environment).has_value());
    return spdlog::get("rocksdb")->should_log(level);
  };
  CHECK_FALSE(shows({}, spdlog::level::critical));
  CHECK(shows({{"DAYBOOK_LOG", "error"}}, spdlog::level::err));
  CHECK_FALSE(shows({{"DAYBOOK_LOG", "error"}}, spdlog::level::warn));
  CHECK(shows({{"DAYBOOK_LOG", "warning"}}, spdlog::level::warn));
  CHECK_FALSE(shows({{"DAYBOOK_LOG", ""}}, spdlog::level::critical));
}

TEST_CASE("diagnostics of an unknown level are a usage error that lists the known ones") {
  const Place place;
  CHECK(place("DAYBOOK_LOG=foo $daybook sessions " + kQuiet) == 2);
  CHECK(place.file("err") ==
        "daybook: DAYBOOK_LOG cannot be 'foo'; use debug, info, warning, error, off\n");
  CHECK(place("DAYBOOK_LOG= " + kAnswer + kQuiet) == 0);
  CHECK(place("DAYBOOK_LOG=warning $daybook sessions " + kQuiet) == 0);
}

TEST_CASE("a mistake found before the command is an outcome line with --json") {
  const Place place;
  CHECK(place("DAYBOOK_LOG=foo " + kAnswer + "--json " + kQuiet) == 2);
  const std::string out = place.file("out");
  CHECK_THAT(out, Contains("\"outcome\":\"error\"") && Contains("DAYBOOK_LOG cannot be"));
  CHECK(lines_of(out) == 1);
  CHECK(place("DAYBOOK_LOG=foo $daybook log s --json " + kQuiet) == 2);
  CHECK(place.file("out").empty());
}

TEST_CASE("log --follow ends when nobody reads it any more, also without an event") {
  const Place place;
  CHECK(place(kAnswer + kQuiet) == 0);
  CHECK(place("timeout 60 $daybook log s --follow | head -n 1 > ../out; exit ${PIPESTATUS[0]}") ==
        0);
}

TEST_CASE("run goes on with the session's last model when none is configured") {
  const Place place;
  CHECK(place("$daybook run --session s go " + kQuiet) == 2);
  CHECK_THAT(place.file("err"), Contains("no model is set: pass --model"));
  place.scenario("answer.toml", "[[response]]\ntext = \"one\"\n[[response]]\ntext = \"two\"\n");
  CHECK(place(kAnswer + kQuiet) == 0);
  CHECK(place("$daybook run --session s more " + kQuiet) == 0);
  CHECK(place.file("out") == "two\n");
}

TEST_CASE("a turn whose time is up says so, to the model as well") {
  const Place place;
  place.scenario("long.toml",
                 "[[response]]\n[[response.call]]\ntool = \"run_shell\"\n"
                 "arguments = { command = \"sleep 1000\" }\n");
  CHECK(place("$daybook run --session s --timeout 1 --approval-mode bypass-approvals "
              "--model script:../long.toml go " +
              kQuiet) == 7);
  CHECK_THAT(place.file("err"),
             Contains("the turn") && Contains("s time was up: timed out after 1 s"));
  CHECK(place("$daybook log s --full > ../out") == 0);
  CHECK_THAT(place.file("out"),
             Contains("the command was stopped: the turn") && !Contains("by the user"));
}

TEST_CASE("advice can be followed") {
  const Place place;
  CHECK(place("mkdir ../gone; " + kAnswer + "--workspace ../gone " + kQuiet) == 0);
  CHECK(place("rmdir ../gone; $daybook run --session s more --model script:../answer.toml " +
              kQuiet) == 3);
  CHECK_THAT(place.file("err"), Contains("is not there; put it back, or start a new session with: "
                                         "daybook run --workspace DIR PROMPT"));
  CHECK(place("$daybook backup ../more " + kQuiet) == 2);
  CHECK_THAT(place.file("err"), Contains("exists already: name a folder that does not"));
  CHECK(place("touch ../more/x; $daybook backup ../more " + kQuiet) == 2);
  CHECK_THAT(place.file("err"), Contains("exists already: name a folder that does not"));
  CHECK(place("$daybook backup \"\" " + kQuiet) == 2);
  CHECK_THAT(place.file("err"), Contains("name a folder that does not exist yet"));
  CHECK(place("$daybook reconcile s call-1 " + kQuiet) == 2);
  CHECK(place.file("err") ==
        "daybook: 'reconcile' needs --outcome: applied, not-applied or retry\n");
  CHECK(place("$daybook run --model script:../none.toml go " + kQuiet) == 3);
  CHECK_THAT(place.file("err"), Contains("No such file or directory"));
  CHECK(place("$daybook run --model script:../answer.toml --prompt-file ../none " + kQuiet) == 3);
  CHECK_THAT(place.file("err"), Contains("No such file or directory"));
  CHECK(place("$daybook run --journal ../answer.toml/j --model script:../answer.toml go " +
              kQuiet) == 2);
  CHECK_THAT(place.file("err"), Contains("name another path"));
  CHECK(place("rm ../journal/JOURNAL; " + kAnswer + kQuiet) == 6);
  CHECK_THAT(place.file("err"),
             Contains("has lost its file JOURNAL: restore that file or a backup"));
}

TEST_CASE("a scenario that says one thing and does another is refused where it says so") {
  const Place place;
  const auto said = [&](const std::string& toml) {
    place.scenario("odd.toml", toml);
    CHECK(place("$daybook run --model script:../odd.toml go " + kQuiet) == 2);
    return place.file("err");
  };
  CHECK_THAT(said("[[response]]\nstop = \"end\"\n[[response.call]]\ntool = \"grep\"\n"),
             Contains("odd.toml:2:8: 'stop' is \"end\", but there is a [[response.call]]"));
  CHECK_THAT(said("[[response]]\ntext = \"x\"\n[[response]]\nreasoning = \"hm\"\n"),
             Contains("odd.toml:3:1: a response needs 'text' or a [[response.call]]"));
}

TEST_CASE("numbers out of range are told in the unit they were given in") {
  const Place place;
  const std::string run = "$daybook run --model script:../answer.toml go ";
  CHECK(place(run + "--timeout 86401 " + kQuiet) == 2);
  CHECK(place.file("err") == "daybook: --timeout must be from 0 to 86400 seconds, not 86401\n");
  CHECK(place(run + "--timeout 18446744073709551615 " + kQuiet) == 2);
  CHECK_THAT(place.file("err"), Contains("not 18446744073709551615"));
  CHECK(place(run + "--max-iterations 0 " + kQuiet) == 2);
  CHECK(place.file("err") == "daybook: --max-iterations must be from 1 to 10000, not 0\n");
  CHECK(place("$daybook run --model script:../answer.toml --timeout 86400 go " + kQuiet) == 0);
}

TEST_CASE("a folder is not an empty file") {
  const Place place;
  CHECK(place("$daybook run --model script:../answer.toml --prompt-file ../more " + kQuiet) == 2);
  CHECK(place.file("err") == "daybook: the prompt file '../more' is a folder; give a file\n");
  CHECK(place("$daybook run --model script:../more go " + kQuiet) == 2);
  CHECK_THAT(place.file("err"), Contains("is a folder; give the path of a file"));
  CHECK(place("$daybook run --model script:../answer.toml --prompt-file <(echo go) " + kQuiet) ==
        0);
}

TEST_CASE("a prompt without an end is refused") {
  const Place place;
  const std::string longer =
      "daybook: the prompt is longer than 67108864 bytes; name files for "
      "the agent to read\n";
  CHECK(place("$daybook run --model script:../answer.toml --prompt-file /dev/zero " + kQuiet) == 2);
  CHECK(place.file("err") == longer);
  CHECK(place("yes | $daybook run --model script:../answer.toml " + kQuiet) == 2);
  CHECK(place.file("err") == longer);
}

TEST_CASE("a scenario that promises calls and has none is refused where it says so") {
  const Place place;
  place.scenario("none.toml", "[[response]]\ntext = \"x\"\nstop = \"tool_calls\"\n");
  CHECK(place("$daybook run --model script:../none.toml go " + kQuiet) == 2);
  CHECK_THAT(place.file("err"),
             Contains("none.toml:3:8: ") && Contains("but there is no [[response.call]]"));
}

TEST_CASE("files of the journal that are gone or unreadable are damage, with what to do") {
  const Place place;
  CHECK(place(kAnswer + kQuiet) == 0);
  CHECK(place("cp -r ../journal ../good") == 0);
  const auto broken = [&](const std::string& how) {
    CHECK(place("rm -r ../journal; cp -r ../good ../journal; " + how) == 0);
    for (const std::string command :
         {"verify", "sessions", "resume s", "run --model script:../answer.toml go"}) {
      INFO(how << ": " << command);
      CHECK(place("$daybook " + command + " " + kQuiet) == 6);
      const std::string err = place.file("err");
      CHECK_THAT(err, Contains("nothing was changed, restore the folder") &&
                          Contains("or a backup of the journal"));
      CHECK(lines_of(err) == 1);
    }
  };
  broken("rm -r ../journal/db");
  broken("rm ../journal/db/CURRENT");
  broken("rm ../journal/db/MANIFEST-*");
  broken("for f in ../journal/db/MANIFEST-*; do echo garbage > $f; done");
}

}  // namespace
}  // namespace daybook::tests
