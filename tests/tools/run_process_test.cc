// `daybook run` as a process, for what a careless or hostile caller does.
#include "tests/tools/place.h"

namespace daybook::tests {
namespace {

TEST_CASE("what is printed to a closed descriptor never lands in the journal") {
  const Place place;
  CHECK(place("$daybook run --session s --model script:../answer.toml go >&- 2> ../err") == 1);
  CHECK(place.file("err").find("cannot write the output") != std::string::npos);
  CHECK(place.file("journal/lock").find("hello") == std::string::npos);
  CHECK(place("$daybook run --session t --model script:../answer.toml go <&- >&- 2>&-") == 1);
  CHECK(place("$daybook verify > ../out") == 0);
}

TEST_CASE("an answer cannot drive the terminal it is shown on, the first time or repeated") {
  const Place place;
  place.scenario("escape.toml", "[[response]]\ntext = \"\\u001b[31mred\"\n");
  const std::string run = "$daybook run --request-id r --model script:../escape.toml go";
  for (int time = 0; time < 2; ++time) {
    CHECK(place("script -qec \"" + run + "\" /dev/null < /dev/null > ../out 2>&1") == 0);
    CHECK(place.file("out").find("\\x1b[31mred") != std::string::npos);
    CHECK(place.file("out").find('\x1b') == std::string::npos);
  }
  CHECK(place(run + " > ../out") == 0);
  CHECK(place.file("out") == "\x1b[31mred\n");
}

TEST_CASE("--add-dir takes one folder and leaves the prompt alone") {
  const Place place;
  CHECK(place("$daybook run --session s --model script:../answer.toml --add-dir ../more "
              "--add-dir /usr \"do it\" > ../out 2> ../err") == 0);
  CHECK(place.file("out") == "hello\n");
  CHECK(place("$daybook show s > ../out") == 0);
  CHECK(place.file("out").find("do it") != std::string::npos);
  CHECK(place.file("out").find(place.dir.str("more")) != std::string::npos);
}

TEST_CASE("an empty option value is an error, not a missing option") {
  const Place place;
  CHECK(place("$daybook run --request-id \"\" --model script:../answer.toml go 2> ../err") == 2);
  CHECK(place.file("err").find("--request-id is empty") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(place.dir.path() / "journal"));
}

TEST_CASE("file tools cannot change a journal that lies below the workspace") {
  const Place place;
  const std::string journal = place.dir.str("work/j");
  place.scenario("attack.toml",
                 "[[response]]\n[[response.call]]\ntool = \"write_file\"\n"
                 "arguments = { path = \"j/db/CURRENT\", content = \"x\" }\n"
                 "[[response]]\ntext = \"done\"\n");
  const std::string run = "$daybook run --journal " + journal +
                          " --session s --approval-mode bypass-approvals --model ";
  CHECK(place(run + "script:../attack.toml go > ../out 2> ../err") == 0);
  CHECK(place("$daybook verify --journal " + journal + " > ../out") == 0);
  CHECK(place("$daybook show s --journal " + journal + " > ../out") == 0);
  CHECK(place.file("out").find("read-only") != std::string::npos);
}

TEST_CASE("a refused run leaves nothing behind") {
  const Place place;
  CHECK(place("$daybook run --journal . --model script:../answer.toml go 2> ../err") == 2);
  CHECK(std::filesystem::is_empty(place.dir.path() / "work"));
  CHECK(place("$daybook run --model script:../none.toml go 2> ../err") == 3);
  CHECK(place.file("err").find("session ") == std::string::npos);
  CHECK_FALSE(std::filesystem::exists(place.dir.path() / "journal"));
}

TEST_CASE("a scenario is found again from any folder") {
  const Place place;
  place.scenario("limit.toml",
                 "[[response]]\n[[response.call]]\ntool = \"current_time\"\n"
                 "[[response]]\ntext = \"later\"\n");
  CHECK(place("$daybook run --session s --max-iterations 1 --model script:../limit.toml go "
              "> ../out 2> ../err") == 9);
  CHECK(place("cd / && $daybook resume s > " + place.dir.str("out") + " 2> /dev/null") == 0);
  CHECK(place.file("out") == "later\n");
}

TEST_CASE("an open turn keeps the limit it began with, and resume says so") {
  const Place place;
  place.scenario("wait.toml",
                 "[[response]]\n[[response.call]]\ntool = \"run_shell\"\n"
                 "arguments = { command = \"echo > ../begun; cat ../gate\" }\n"
                 "[[response]]\ntext = \"later\"\n");
  CHECK(
      place("mkfifo ../begun ../gate; $daybook run --session s --max-iterations 5 "
            "--approval-mode bypass-approvals --model script:../wait.toml go > ../out 2> ../err & "
            "read line < ../begun; kill -9 $!; wait $!") == 128 + 9);
  // The command's outcome is not known, so that the turn stays open.
  CHECK(place("$daybook resume s --max-iterations 2 > ../out 2> ../err") != 0);
  CHECK_THAT(place.file("err"),
             Catch::Contains("the turn goes on with the limit it began with: 5 model responses"));
  CHECK(place("$daybook resume s --max-iterations 5 > ../out 2> ../err") != 0);
  CHECK_THAT(place.file("err"), !Catch::Contains("the limit it began with"));
}

TEST_CASE("a relative DAYBOOK_HOME is meant from where the command starts, for its children too") {
  const Place place;
  place.scenario("home.toml",
                 "[[response]]\n[[response.call]]\ntool = \"run_shell\"\n"
                 "arguments = { command = \"cd / && echo $DAYBOOK_HOME\" }\n"
                 "[[response]]\ntext = \"done\"\n");
  CHECK(place("export DAYBOOK_HOME=../own; $daybook run --session s --approval-mode "
              "bypass-approvals --model script:../home.toml go > ../out 2> ../err") == 0);
  CHECK(place("DAYBOOK_HOME=../own $daybook log s --full > ../out") == 0);
  CHECK_THAT(place.file("out"), Catch::Contains(place.dir.str("own")));
}

TEST_CASE("a session whose workspace is gone is refused before a model is asked") {
  const Place place;
  CHECK(place("$daybook run --session s --workspace ../more --model script:../answer.toml go "
              "> ../out 2> ../err") == 0);
  CHECK(place("rmdir ../more; $daybook run --session s --model script:../answer.toml again "
              "> ../out 2> ../err") == 3);
  CHECK(place.file("err").find("workspace") != std::string::npos);
}

TEST_CASE("a backup into the journal itself is refused") {
  const Place place;
  CHECK(place("$daybook run --session s --model script:../answer.toml go > ../out 2> ../err") == 0);
  CHECK(place("$daybook backup ../journal/copy 2> ../err") == 2);
  CHECK_FALSE(std::filesystem::exists(place.dir.path() / "journal" / "copy"));
}

}  // namespace
}  // namespace daybook::tests
