// The program itself: what only a process can show.
#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cstdlib>

#include "journal/rocks_journal.h"
#include "tests/support/build_paths.h"
#include "tests/support/cli.h"
#include "tests/support/temp_dir.h"

namespace daybook::tests {
namespace {

struct Shell {
  TempDir dir;

  Shell() {
    const auto journal =
        journal::open_rocks_journal({dir.str("journal"), journal::OpenMode::create, "", {}, {}});
    write_demo(**journal);
  }
  /// Exit code of a shell command in which $daybook is the program.
  int operator()(const std::string& command) const {
    const std::string script = "unset DAYBOOK_CONFIG; daybook=" + build_path("/daybook") +
                               "; export DAYBOOK_HOME=" + dir.str("journal") + "; cd " + dir.str() +
                               "; " + command;
    const int status = std::system(("bash -c '" + script + "'").c_str());
    REQUIRE(WIFEXITED(status));
    return WEXITSTATUS(status);
  }
  std::string file(const std::string& name) const { return read_file(dir.path() / name); }
};

TEST_CASE("data goes to stdout and errors to stderr, with the documented exit code") {
  const Shell shell;
  CHECK(shell("$daybook sessions > out 2> err") == 0);
  CHECK(shell.file("out").starts_with("SESSION  STATUS     TURNS"));
  CHECK(shell.file("err").empty());
  CHECK(shell("$daybook show nobody > out 2> err") == 3);
  CHECK(shell.file("out").empty());
  CHECK(shell.file("err") == "daybook: there is no session 'nobody'; there are: demo\n");
}

TEST_CASE("a closed pipe ends a command quietly, a full disk does not") {
  const Shell shell;
  // A pipe whose only reader is gone before the first write.
  CHECK(shell("mkfifo pipe; exec 3<>pipe 4>pipe 3<&-; $daybook log demo >&4 2> err") == 0);
  CHECK(shell.file("err").empty());
  CHECK(shell("$daybook log demo > /dev/full 2> err") == 1);
  CHECK(shell.file("err") == "daybook: cannot write the output: No space left on device\n");
}

TEST_CASE("a backup by the program says nothing but its result") {
  const Shell shell;
  CHECK(shell("$daybook backup copy > out 2> err && $daybook verify --journal copy >> out") == 0);
  CHECK(shell.file("err").empty());
  CHECK(shell.file("out") == "copied the journal to " + shell.dir.str("copy") +
                                 "\n1 session, 15 events, 2 blobs (3023 bytes, 0 unreferenced), "
                                 "0 checkpoints: no damage\n");
}

}  // namespace
}  // namespace daybook::tests
