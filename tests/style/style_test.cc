// The rules of style that matter, checked.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/build_paths.h"

namespace fs = std::filesystem;

namespace {

const fs::path kRoot = daybook::tests::source_path();
const std::vector<std::string> kFolders = {"schema", "journal", "executor", "engine",
                                           "replay", "tools",   "tests"};

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::vector<fs::path> sources() {
  std::vector<fs::path> found;
  for (const auto& folder : kFolders) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const auto extension = entry.path().extension();
      if (extension == ".cc" || extension == ".h") found.push_back(entry.path());
    }
  }
  return found;
}

/// Columns, not bytes: continuation bytes of UTF-8 take none.
std::size_t columns(const std::string& line) {
  std::size_t count = 0;
  for (const char c : line) count += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
  return count;
}

}  // namespace

TEST_CASE("lines have at most 100 columns, no tabs and no trailing space") {
  const auto files = sources();
  REQUIRE(files.size() > 100);
  for (const auto& path : files) {
    std::size_t number = 0;
    for (const auto& line : lines_of(path)) {
      ++number;
      INFO(path.string() << ":" << number);
      CHECK(columns(line) <= 100);
      CHECK(line.find('\t') == std::string::npos);
      CHECK((line.empty() || line.back() != ' '));
    }
  }
}

TEST_CASE("files have one subject and stay short") {
  for (const auto& path : sources()) {
    INFO(path.string());
    CHECK(lines_of(path).size() <= 650);
  }
}

TEST_CASE("every header opens with what it is for, and is guarded") {
  for (const auto& path : sources()) {
    if (path.extension() != ".h") continue;
    const auto lines = lines_of(path);
    INFO(path.string());
    REQUIRE_FALSE(lines.empty());
    CHECK(lines[0].starts_with("// "));
    bool guarded = false;
    for (const auto& line : lines) guarded = guarded || line == "#pragma once";
    CHECK(guarded);
  }
}

TEST_CASE("no marks of unfinished work, no naked new, no machine's path") {
  // Spelt in halves, so that this file does not find itself.
  const std::vector<std::string> banned = {
      "TO"
      "DO",
      "FIX"
      "ME",
      "XX"
      "X:",
      "/wo"
      "rk/",
      "std::sleep"
      "_for",
      "using namespace "
      "std;"};
  for (const auto& path : sources()) {
    std::size_t number = 0;
    for (const auto& line : lines_of(path)) {
      ++number;
      for (const auto& word : banned) {
        INFO(path.string() << ":" << number << " has " << word);
        CHECK(line.find(word) == std::string::npos);
      }
    }
  }
}

TEST_CASE("every folder says what it is") {
  for (const auto& folder : kFolders) {
    if (folder == "tests") continue;
    const auto lines = lines_of(kRoot / folder / "README.md");
    INFO(folder);
    CHECK(lines.size() > 8);
  }
}

TEST_CASE("the core includes nothing that touches the world") {
  // state and next decide what happens: no clock, no I/O, no randomness, no thread.
  const std::set<std::string> banned = {"<chrono>",   "<ctime>",  "<random>",
                                        "<fstream>",  "<thread>", "<filesystem>",
                                        "<iostream>", "<cstdio>", "<unistd.h>"};
  for (const auto* name : {"state.h", "state.cc", "next.h", "next.cc"}) {
    for (const auto& line : lines_of(kRoot / "engine" / name)) {
      if (!line.starts_with("#include ")) continue;
      INFO(name << ": " << line);
      CHECK_FALSE(banned.contains(line.substr(9)));
      CHECK(line.find("engine/clock.h") == std::string::npos);
      CHECK(line.find("boost") == std::string::npos);
    }
  }
}

TEST_CASE("a folder cannot include what the table does not allow") {
  // Compiles one line against each target's own view of the tree.
  struct Row {
    std::string folder;
    std::set<std::string> may;
  };
  const std::vector<Row> table = {
      {"schema", {"schema"}},
      {"journal", {"schema", "journal"}},
      {"executor", {"schema", "executor"}},
      {"engine", {"schema", "journal", "executor", "engine"}},
      {"replay", {"schema", "journal", "executor", "engine", "replay"}},
  };
  std::ifstream commands(daybook::tests::build_path("/compile_commands.json"));
  std::stringstream all;
  all << commands.rdbuf();
  for (const auto& row : table) {
    // The include folders of any one file of the target.
    const auto at = all.str().find("/" + row.folder + "/CMakeFiles/daybook_" + row.folder + ".dir");
    const auto named = all.str().find("CMakeFiles/daybook_" + row.folder + ".dir");
    REQUIRE((at != std::string::npos || named != std::string::npos));
    const auto end = all.str().rfind("\"command\"", named);
    const auto stop = all.str().find('\n', end);
    const std::string command = all.str().substr(end, stop - end);
    for (const auto& folder : {"schema", "journal", "executor", "engine", "replay", "tools"}) {
      const bool sees = command.find("/views/" + std::string(folder) + " ") != std::string::npos;
      INFO(row.folder << " and " << folder);
      CHECK(sees == row.may.contains(folder));
    }
  }
}
