// `daybook` as a process in a folder of its own, for tests.
#pragma once

#include <sys/wait.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/support/build_paths.h"
#include "tests/support/temp_dir.h"

namespace daybook::tests {

/// A journal ("journal"), a working folder ("work") that commands start in, and files beside them.
struct Place {
  TempDir dir;
  std::string environment;  // more of it: "export A=b; "

  Place() {
    std::filesystem::create_directories(dir.path() / "work");
    std::filesystem::create_directories(dir.path() / "more");
    scenario("answer.toml", "[[response]]\ntext = \"hello\"\n");
  }
  void scenario(const std::string& name, const std::string& toml) const {
    write_file(dir.path() / name, toml);
  }
  /// Runs a bash command that holds no single quote; its exit code.
  int operator()(const std::string& command) const {
    const std::string script =
        "unset DAYBOOK_CONFIG DAYBOOK_LOG http_proxy all_proxy ALL_PROXY; "
        "daybook=" +
        build_path("/daybook") + "; export DAYBOOK_HOME=" + dir.str("journal") + "; " +
        environment + "cd " + dir.str("work") + "; " + command;
    const int status = std::system(("timeout 120 bash -c '" + script + "'").c_str());
    REQUIRE(WIFEXITED(status));
    return WEXITSTATUS(status);
  }
  std::string file(const std::string& name) const { return read_file(dir.path() / name); }
};

}  // namespace daybook::tests
