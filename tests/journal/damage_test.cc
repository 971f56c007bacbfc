// Damage on disk is an error or does no harm; it never changes silently what is read.
#include <catch2/catch.hpp>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <set>
#include <sstream>

#include "journal/rocks_journal.h"
#include "tests/support/commands.h"
#include "tests/support/journal_events.h"
#include "tests/support/memory_dir.h"
#include "tests/support/memory_files.h"
#include "tests/support/temp_dir.h"

namespace daybook::tests {
namespace {

namespace stdfs = std::filesystem;
using journal::append_and_wait;
using journal::Journal;
using journal::OpenMode;

Result<std::unique_ptr<Journal>> open_as(const std::string& folder, OpenMode mode) {
  return journal::open_rocks_journal(
      {.folder = folder, .mode = mode, .owner = "test", .post = {}, .file_system = memory_files()});
}

/// Some events in a table file and a blob file, some in the log only.
void make_small_journal(const std::string& folder) {
  {
    auto opened = open_as(folder, OpenMode::create);
    REQUIRE(opened.has_value());
    auto pen = pen_for(session_id("old"));
    REQUIRE(append_and_wait(**opened, acquire(pen)).has_value());
    // Of one repeated byte: large enough for a blob file, small in it.
    REQUIRE(append_and_wait(**opened, notice_with_blob(pen, std::string(4200, 'b'))).has_value());
  }
  auto opened = open_as(folder, OpenMode::write);  // recovery moved the above to files
  REQUIRE(opened.has_value());
  auto pen = pen_for(session_id("new"));
  REQUIRE(append_and_wait(**opened, acquire(pen)).has_value());
  REQUIRE(append_and_wait(**opened, notice(pen, "in the log")).has_value());
}

/// What a reader makes of the folder; nothing when it notices damage.
std::optional<std::vector<std::string>> look(const std::string& folder, OpenMode mode) {
  auto opened = open_as(folder, mode);
  if (!opened) return {};
  auto items = everything(**opened);
  const auto report = (*opened)->verify({});
  if (!items || !report || !report->damage.empty()) return {};
  return std::move(*items);
}

void restore(const std::string& from, const std::string& to) {
  std::error_code ignored;
  stdfs::remove_all(to, ignored);
  stdfs::copy(from, to, stdfs::copy_options::recursive);
}

struct Sweep {
  MemoryDir dir;
  std::string good = dir.str("good");
  std::string copy = dir.str("copy");
  std::vector<std::string> expected;
  std::vector<std::string> files;

  Sweep() {
    make_small_journal(good);
    restore(good, copy);
    auto items = look(copy, OpenMode::read_only);
    REQUIRE(items.has_value());
    expected = std::move(*items);
    for (const auto& item : stdfs::recursive_directory_iterator(good)) {
      if (item.is_regular_file()) {
        files.push_back(stdfs::relative(item.path(), good).string());
      }
    }
  }
};

/// Files whose contents nothing is read from: a sample of their bytes will do.
bool is_read(const std::string& name) {
  return name != "lock" && name != "db/LOCK" && name != "db/IDENTITY" &&
         name.find("OPTIONS") == std::string::npos;
}

}  // namespace

/// What came of the flips in one file.
struct Flips {
  std::size_t tried = 0;
  std::size_t noticed = 0;
  std::size_t aborted = 0;  // RocksDB as Debian builds it asserts on some damage: loud, too
  std::string silent;       // a flip that changed what is read without an error
};

/// The flips run in a process of their own, because some abort it; another one goes on behind.
Flips flip_apart(const Sweep& sweep, const std::string& name) {
  Flips flips;
  std::size_t from = 0;
  while (true) {
    executor::ProcessSpec spec;
    spec.argv = {stdfs::read_symlink("/proc/self/exe").string(), "flips of one file"};
    spec.env = {"FLIP_GOOD=" + sweep.good, "FLIP_COPY=" + sweep.copy, "FLIP_NAME=" + name,
                "FLIP_FROM=" + std::to_string(from)};
    spec.cwd = "/";
    const auto result = run(spec);
    std::istringstream lines(result.out.head + result.out.tail);
    std::string word;
    bool open = false;
    while (lines >> word) {
      if (word == "try") {
        lines >> from;
        ++flips.tried;
        open = true;
      } else if (word == "noticed" || word == "same" || word == "silent") {
        open = false;
        if (word == "noticed") ++flips.noticed;
        if (word == "silent") flips.silent = name + " at " + std::to_string(from);
      }
    }
    if (!open) return flips;
    REQUIRE(result.exit == schema::ExitKind::signalled);
    REQUIRE(result.code == SIGABRT);
    ++flips.aborted;
    ++from;
  }
}

// The worker of flip_apart, not a test: hidden.
TEST_CASE("flips of one file", "[.]") {
  const auto variable = [](const char* name) { return std::string(std::getenv(name)); };
  const std::string good = variable("FLIP_GOOD");
  const std::string copy = variable("FLIP_COPY");
  const std::string name = variable("FLIP_NAME");
  const auto expected = look(good, OpenMode::read_only);
  REQUIRE(expected);
  const std::string bytes = read_file(good + "/" + name);
  for (std::size_t at = std::stoul(variable("FLIP_FROM")); at < bytes.size();) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << (at % 8)));
    write_file(copy + "/" + name, flipped);
    std::cout << "try " << at << std::endl;
    const auto items = look(copy, OpenMode::read_only);
    std::cout << (!items ? "noticed" : *items == *expected ? "same" : "silent") << std::endl;
    // The witness is mostly padding, and what is never read needs no more than a sample.
    const bool padding = name == "witness" && at % 4096 >= 16;
    at += is_read(name) && !padding ? 1 : 509;
  }
}

TEST_CASE("a flipped bit in any byte of any file is noticed or harmless") {
  Sweep sweep;
  std::size_t noticed = 0;
  std::size_t tried = 0;
  std::size_t aborted = 0;
  std::set<std::string> kinds;
  for (const std::string& name : sweep.files) {
    kinds.insert(stdfs::path(name).extension().string());
    const Flips flips = flip_apart(sweep, name);
    CHECK(flips.silent.empty());
    tried += flips.tried;
    noticed += flips.noticed + flips.aborted;
    aborted += flips.aborted;
    write_file(sweep.copy + "/" + name, read_file(sweep.good + "/" + name));
  }
  CHECK(kinds.contains(".sst"));
  CHECK(kinds.contains(".blob"));
  CHECK(kinds.contains(".log"));
  CHECK(tried > 3000);
  CHECK(noticed > tried / 2);
  CHECK(aborted < 20);
}

TEST_CASE("a writer notices flipped bits, too, and leaves the damaged files for repair") {
  Sweep sweep;
  for (const std::string& name : sweep.files) {
    if (!is_read(name)) continue;
    const std::string bytes = read_file(sweep.good + "/" + name);
    for (std::size_t at = bytes.size() / 3; at < bytes.size(); at += 1 + bytes.size() / 12) {
      CAPTURE(name, at);
      std::string flipped = bytes;
      flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
      write_file(sweep.copy + "/" + name, flipped);
      const auto items = look(sweep.copy, OpenMode::write);
      if (items) CHECK(*items == sweep.expected);
      if (!open_as(sweep.copy, OpenMode::write)) {
        CHECK(read_file(sweep.copy + "/" + name) == flipped);
      }
      restore(sweep.good, sweep.copy);
    }
  }
}

TEST_CASE("a file cut at any length is noticed or harmless") {
  Sweep sweep;
  for (const std::string& name : sweep.files) {
    const std::string bytes = read_file(sweep.good + "/" + name);
    const std::size_t stride = is_read(name) && name != "witness" ? 7 : 1021;
    for (std::size_t size = 0; size < bytes.size(); size += stride) {
      write_file(sweep.copy + "/" + name, bytes.substr(0, size));
      const auto items = look(sweep.copy, OpenMode::read_only);
      if (items && *items != sweep.expected) {
        FAIL("silently different after cutting " << name << " to " << size);
      }
    }
    write_file(sweep.copy + "/" + name, bytes);
    stdfs::remove(sweep.copy + "/" + name);
    const auto items = look(sweep.copy, OpenMode::read_only);
    if (items) CHECK(*items == sweep.expected);
    write_file(sweep.copy + "/" + name, bytes);
  }
}

TEST_CASE("a log that lost its acknowledged end is an error that says so") {
  Sweep sweep;
  for (const std::string& name : sweep.files) {
    if (stdfs::path(name).extension() != ".log") continue;
    write_file(sweep.copy + "/" + name, "");
    for (const OpenMode mode : {OpenMode::write, OpenMode::read_only}) {
      const auto opened = open_as(sweep.copy, mode);
      REQUIRE_FALSE(opened.has_value());
      CHECK(opened.error().code == ErrorCode::corrupt);
      CHECK(opened.error().message.find("acknowledged") != std::string::npos);
    }
  }
}

}  // namespace daybook::tests
