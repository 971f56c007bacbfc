// The private folders of commands, and who removes them.
#include <fmt/format.h>

#include "executor/shell_dir.h"
#include "tests/support/commands.h"
#include "tests/tools/place.h"

namespace daybook::tests {
namespace {

namespace fs = std::filesystem;

std::size_t folders_in(const fs::path& parent) {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(parent)) {
    count += entry.path().filename().string().starts_with("daybook-shell-") ? 1 : 0;
  }
  return count;
}

TEST_CASE("a folder is abandoned once its owner is gone, and only then") {
  const TempDir dir;
  executor::ShellDir living;
  REQUIRE(living.ensure(dir.str()));
  REQUIRE(living.write("command", "true\n"));
  // What a dead owner leaves: its files, and a lock that nobody holds.
  const fs::path dead = dir.path() / "daybook-shell-dead00";
  fs::create_directories(dead / "inner");
  write_file(dead / "inner" / "file", "x");
  write_file(dead / "lock", "");
  fs::create_directories(dir.path() / "daybook-shell-empty0");
  fs::create_directories(dir.path() / "other");
  write_file(dir.path() / "other" / "lock", "");

  executor::remove_abandoned_shell_dirs(dir.str());
  CHECK_FALSE(fs::exists(dead));
  CHECK_FALSE(fs::exists(dir.path() / "daybook-shell-empty0"));
  CHECK(fs::exists(dir.path() / "other" / "lock"));
  CHECK(read_file(living.path("command")) == "true\n");
  CHECK(folders_in(dir.path()) == 1);
}

TEST_CASE("no link is followed while abandoned folders are removed") {
  const TempDir dir;
  const fs::path precious = dir.path() / "precious";
  fs::create_directories(precious);
  write_file(precious / "lock", "");
  write_file(precious / "file", "keep");
  fs::create_directory_symlink(precious, dir.path() / "daybook-shell-link00");
  const fs::path dead = dir.path() / "daybook-shell-dead00";
  fs::create_directories(dead);
  write_file(dead / "lock", "");
  fs::create_directory_symlink(precious, dead / "inner");
  // A lock that is a link says nothing about an owner.
  const fs::path odd = dir.path() / "daybook-shell-odd000";
  fs::create_directories(odd);
  fs::create_symlink(precious / "lock", odd / "lock");

  executor::remove_abandoned_shell_dirs(dir.str());
  CHECK(read_file(precious / "file") == "keep");
  CHECK(fs::exists(precious / "lock"));
  CHECK_FALSE(fs::exists(dead));
  CHECK(fs::exists(odd));
}

TEST_CASE("a folder without a lock may be another program's: with files in it, it stays") {
  const TempDir dir;
  fs::create_directories(dir.path() / "daybook-shell-mine00");
  write_file(dir.path() / "daybook-shell-mine00" / "file", "keep");
  executor::remove_abandoned_shell_dirs(dir.str());
  CHECK(read_file(dir.path() / "daybook-shell-mine00" / "file") == "keep");
}

TEST_CASE("the next run removes what a killed one left, beside one that lives") {
  Place place;
  fs::create_directories(place.dir.path() / "tmp");
  place.environment = "export TMPDIR=" + place.dir.str("tmp") + "; ";
  place.scenario("wait.toml",
                 "[[response]]\n[[response.call]]\ntool = \"run_shell\"\n"
                 "arguments = { command = \"echo > ../begun; cat ../gate\" }\n"
                 "[[response]]\n[[response.call]]\ntool = \"run_shell\"\n"
                 "arguments = { command = \"echo again > ../again\" }\n"
                 "[[response]]\ntext = \"done\"\n");
  const std::string run = "$daybook run --approval-mode bypass-approvals --journal ";
  CHECK(place("mkfifo ../begun ../gate; " + run +
              "../dying --model script:../wait.toml go 2> /dev/null & "
              "read line < ../begun; kill -9 $!; wait $!") == 128 + 9);
  CHECK(folders_in(place.dir.path() / "tmp") == 1);
  // The killed one's commands end with it, in their own time; its lock lives as long.
  CHECK(eventually([&] {
    CHECK(place(run + "../third --model script:../answer.toml go > /dev/null 2>&1") == 0);
    return folders_in(place.dir.path() / "tmp") == 0;
  }));
  CHECK(place(run +
              "../living --model script:../wait.toml go > ../out 2> ../err & "
              "read line < ../begun; " +
              run +
              "../third --model script:../answer.toml go > /dev/null 2>&1; "
              "ls -d ../tmp/daybook-shell-* > ../listed; echo > ../gate; wait $!") == 0);
  CHECK(place.file("listed").find("daybook-shell-") != std::string::npos);
  CHECK(place.file("again") == "again\n");
  CHECK(folders_in(place.dir.path() / "tmp") == 0);
}

}  // namespace
}  // namespace daybook::tests
