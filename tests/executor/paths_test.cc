#include "executor/paths.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <thread>

#include "tests/support/temp_dir.h"

namespace daybook::executor {
namespace {

using tests::TempDir;
namespace fs = std::filesystem;

Policy one_root(const TempDir& dir) {
  return {1, {{dir.str(), true}}};
}

std::string read_through(const Policy& policy, std::string_view path) {
  const Result<Location> where = locate(policy, path, Access::read);
  if (!where) return "refused: " + where.error().message;
  const Result<UniqueFd> fd = open_located(policy, *where, O_RDONLY);
  if (!fd) return "refused: " + fd.error().message;
  char bytes[64];
  const ssize_t n = ::read(fd->get(), bytes, sizeof bytes);
  return {bytes, n < 0 ? 0 : static_cast<std::size_t>(n)};
}

TEST_CASE("a path is resolved by text against the roots", "[executor][paths]") {
  const Policy policy{1, {{"/ws", true}, {"/lib", false}, {"/ws/vendor", false}}};
  struct Row {
    const char* given;
    const char* path;
    const char* shown;
    std::size_t root;
    const char* below;
  };
  for (const Row& row :
       {Row{"a/b", "/ws/a/b", "a/b", 0, "a/b"}, Row{"./a//b/../c", "/ws/a/c", "a/c", 0, "a/c"},
        Row{".", "/ws", ".", 0, "."}, Row{"/ws/x/", "/ws/x", "x", 0, "x"},
        Row{"/lib/y", "/lib/y", "/lib/y", 1, "y"}, Row{"../lib/y", "/lib/y", "/lib/y", 1, "y"},
        Row{"vendor/z", "/ws/vendor/z", "vendor/z", 2, "z"},
        Row{"~file", "/ws/~file", "~file", 0, "~file"}}) {
    INFO(row.given);
    const Result<Location> where = locate(policy, row.given, Access::read);
    REQUIRE(where);
    CHECK(where->path == row.path);
    CHECK(where->shown == row.shown);
    CHECK(where->root == row.root);
    CHECK(where->below == row.below);
  }
}

TEST_CASE("a path outside the roots is refused with the folders named", "[executor][paths]") {
  const Policy policy{1, {{"/ws", true}, {"/lib", false}}};
  for (const char* given : {"..", "../x", "a/../../x", "/wsx", "/", "/etc/passwd", "/ws/../etc"}) {
    INFO(given);
    const Result<Location> where = locate(policy, given, Access::read);
    REQUIRE_FALSE(where);
    CHECK(where.error().code == ErrorCode::permission);
    CHECK(where.error().message.find("escapes the session's folders") != std::string::npos);
    CHECK(where.error().message.find("/ws, /lib") != std::string::npos);
  }
}

TEST_CASE("odd paths are refused", "[executor][paths]") {
  const Policy policy{1, {{"/ws", true}}};
  CHECK_FALSE(locate(policy, "", Access::read));
  CHECK_FALSE(locate(policy, std::string_view("a\0b", 3), Access::read));
  CHECK_FALSE(locate(policy, std::string(kMaxPathBytes + 1, 'a'), Access::read));
  CHECK_FALSE(locate({}, "a", Access::read));
}

TEST_CASE("a write needs a writable root, and the deepest root decides", "[executor][paths]") {
  const Policy policy{1, {{"/ws", true}, {"/lib", false}, {"/ws/vendor", false}}};
  CHECK(locate(policy, "a", Access::write));
  for (const char* given : {"/lib/a", "vendor/a", "x/../vendor/a"}) {
    const Result<Location> where = locate(policy, given, Access::write);
    REQUIRE_FALSE(where);
    CHECK(where.error().message.find("read-only") != std::string::npos);
  }
}

TEST_CASE("the home folder is accepted when it is a root", "[executor][paths]") {
  const char* home = std::getenv("HOME");
  if (home == nullptr) return;
  const Policy policy{1, {{home, true}}};
  const Result<Location> where = locate(policy, "~/a", Access::write);
  REQUIRE(where);
  CHECK(where->path == std::string(home) + "/a");
  CHECK_FALSE(locate({1, {{"/ws", true}}}, "~/a", Access::read));
}

TEST_CASE("links inside are followed and links outside refused", "[executor][paths]") {
  const TempDir dir;
  const TempDir outside;
  tests::write_file(outside.path() / "secret", "secret");
  fs::create_directories(dir.path() / "d/e");
  tests::write_file(dir.path() / "d/f", "inside");
  fs::create_symlink("../f", dir.path() / "d/e/up");
  fs::create_symlink("d", dir.path() / "dl");
  fs::create_symlink(outside.path() / "secret", dir.path() / "abs");
  fs::create_symlink("../" + outside.path().filename().string() + "/secret", dir.path() / "rel");
  fs::create_symlink(outside.path(), dir.path() / "dir");
  fs::create_symlink("loop", dir.path() / "loop");
  const Policy policy = one_root(dir);
  CHECK(read_through(policy, "d/e/up") == "inside");
  CHECK(read_through(policy, "dl/f") == "inside");
  CHECK(read_through(policy, "dl/e/up") == "inside");
  for (const char* path : {"abs", "rel", "dir/secret"}) {
    INFO(path);
    CHECK(read_through(policy, path).find("escapes the session's folders through a symbolic") !=
          std::string::npos);
    CHECK_FALSE(open_target(policy, *locate(policy, path, Access::write)));
  }
  CHECK(read_through(policy, "loop").starts_with("refused"));
  CHECK_FALSE(open_target(policy, *locate(policy, "loop", Access::write)));
}

TEST_CASE("a root whose path leads through a link is refused", "[executor][paths]") {
  const TempDir dir;
  fs::create_directory(dir.path() / "real");
  fs::create_directory_symlink("real", dir.path() / "link");
  CHECK(open_root({dir.str("real"), true}));
  CHECK_FALSE(open_root({dir.str("link"), true}));
}

TEST_CASE("a target is found through a link and below folders that do not exist yet",
          "[executor][paths]") {
  const TempDir dir;
  fs::create_directory(dir.path() / "d");
  tests::write_file(dir.path() / "d/f", "x");
  fs::create_symlink("d/f", dir.path() / "link");
  const Policy policy = one_root(dir);
  const Result<Target> linked = open_target(policy, *locate(policy, "link", Access::write));
  REQUIRE(linked);
  CHECK(linked->name == "f");
  CHECK(linked->missing.empty());
  const Result<Target> deep = open_target(policy, *locate(policy, "d/p/q/r", Access::write));
  REQUIRE(deep);
  CHECK(deep->missing == std::vector<std::string>{"p", "q"});
  CHECK(deep->name == "r");
  CHECK_FALSE(open_target(policy, *locate(policy, ".", Access::write)));
  CHECK_FALSE(open_target(policy, *locate(policy, "d/f/below", Access::write)));
}

TEST_CASE("a link does not carry a write into a read-only root nested in a writable one",
          "[executor][paths]") {
  const TempDir dir;
  fs::create_directories(dir.path() / "vendor");
  fs::create_directory(dir.path() / "src");
  fs::create_directory_symlink("vendor", dir.path() / "v");
  const Policy policy{1, {{dir.str(), true}, {dir.str("vendor"), false}}};
  CHECK(open_target(policy, *locate(policy, "src/a", Access::write)));
  const Result<Target> refused = open_target(policy, *locate(policy, "v/a", Access::write));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("read-only") != std::string::npos);
}

TEST_CASE("a path longer than the kernel's limit is opened piece by piece", "[executor][paths]") {
  const TempDir dir;
  UniqueFd at(::open(dir.str().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  std::string path;
  for (int i = 0; i < 300; ++i) {
    const std::string name = "level-" + std::to_string(i) + "-of-three-hundred";
    REQUIRE(::mkdirat(at.get(), name.c_str(), 0700) == 0);
    at.reset(::openat(at.get(), name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    path += name + "/";
  }
  UniqueFd file(::openat(at.get(), "leaf", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  REQUIRE(::write(file.get(), "deep", 4) == 4);
  REQUIRE(path.size() > 4096);
  CHECK(read_through(one_root(dir), path + "leaf") == "deep");
}

// The attacker exchanges a folder with a link to the outside as fast as it can. A check by name
// followed by an open by name loses this race many times in 20,000 opens.
TEST_CASE("a folder swapped with a link never leads outside", "[executor][paths]") {
  const TempDir dir;
  const TempDir outside;
  fs::create_directory(dir.path() / "d");
  tests::write_file(dir.path() / "d/f", "inside");
  tests::write_file(outside.path() / "f", "outside");
  fs::create_directory_symlink(outside.path(), dir.path() / "evil");
  const Policy policy = one_root(dir);
  struct stat forbidden {};
  REQUIRE(::stat(outside.str().c_str(), &forbidden) == 0);
  std::atomic<bool> done = false;
  std::atomic<int> swaps = 0;
  std::thread attacker([&] {
    const UniqueFd root(::open(dir.str().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    while (!done) {
      swaps += ::renameat2(root.get(), "d", root.get(), "evil", RENAME_EXCHANGE) == 0 ? 1 : 0;
    }
  });
  int inside = 0;
  int refused = 0;
  int escaped = 0;
  int opens = 0;
  for (; opens < 5'000'000 && (opens < 20'000 || swaps < 1000 || refused == 0); ++opens) {
    const std::string seen = read_through(policy, "d/f");
    inside += seen == "inside";
    refused += seen.starts_with("refused") ? 1 : 0;
    escaped += seen == "outside";
    if (opens % 100 == 0) {
      const Result<Target> target = open_target(policy, *locate(policy, "d/new", Access::write));
      struct stat found {};
      if (target && ::fstat(target->parent.get(), &found) == 0) {
        escaped += found.st_ino == forbidden.st_ino && found.st_dev == forbidden.st_dev;
      }
    }
  }
  done = true;
  attacker.join();
  CHECK(escaped == 0);
  CHECK(inside + refused == opens);
  CHECK(inside > 0);
  CHECK(refused > 0);  // the swap was seen: the race was real
  CHECK(swaps >= 1000);
}

}  // namespace
}  // namespace daybook::executor
