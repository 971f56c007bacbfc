#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "tests/executor/workspace.h"

namespace daybook::executor {
namespace {

namespace fs = std::filesystem;

TEST_CASE("read_file numbers lines and counts all of them", "[executor][read_file]") {
  Workspace ws;
  ws.put("a.txt", "one\ntwo\r\nthree");
  CHECK(ws.ok("read_file", {{"path", "a.txt"}}) ==
        Json{{"path", "a.txt"},
             {"start_line", 1},
             {"end_line", 3},
             {"total_lines", 3},
             {"content", "     1\tone\n     2\ttwo\n     3\tthree"}});
  CHECK(ws.ok("read_file", {{"path", ws.dir.str("a.txt")}, {"start_line", 2}, {"max_lines", 1}}) ==
        Json{{"path", "a.txt"},
             {"start_line", 2},
             {"end_line", 2},
             {"total_lines", 3},
             {"content", "     2\ttwo"},
             {"note", "1 more lines; go on with start_line=3"}});
  const Json beyond = ws.ok("read_file", {{"path", "a.txt"}, {"start_line", 9}});
  CHECK(beyond["content"] == "");
  CHECK(beyond["end_line"] == 8);
  CHECK(beyond["note"] == "the file has only 3 lines");
  ws.put("empty", "");
  CHECK(ws.ok("read_file", {{"path", "empty"}}) == Json{{"path", "empty"},
                                                        {"start_line", 1},
                                                        {"end_line", 0},
                                                        {"total_lines", 0},
                                                        {"content", ""}});
}

TEST_CASE("read_file clamps max_lines and refuses numbers out of range", "[executor][read_file]") {
  Workspace ws;
  std::string text;
  for (int i = 1; i <= 2500; ++i) text += "l" + std::to_string(i) + "\n";
  ws.put("long", text);
  CHECK(ws.ok("read_file", {{"path", "long"}, {"max_lines", 99999}})["end_line"] == 2000);
  CHECK(
      contains(ws.error("read_file", {{"path", "long"}, {"max_lines", -4}}), "at least 1, not -4"));
  CHECK(
      contains(ws.error("read_file", {{"path", "long"}, {"start_line", 0}}), "at least 1, not 0"));
  CHECK(ws.ok("read_file", {{"path", "long"}, {"start_line", "x"}})["start_line"] == 1);
  CHECK(ws.ok("read_file", {{"path", "long"}, {"start_line", "2100"}})["start_line"] == 2100);
  CHECK(ws.ok("read_file", {{"path", "long"}, {"start_line", INT64_MAX}})["content"] == "");
  CHECK(ws.ok("read_file", {{"path", "long"}, {"start_line", nullptr}})["start_line"] == 1);
}

TEST_CASE("read_file cuts long lines at 500 characters, never inside one",
          "[executor][read_file]") {
  Workspace ws;
  std::string exact;
  for (int i = 0; i < 500; ++i) exact += "ä";
  ws.put("exact", exact + "\n");
  CHECK(ws.ok("read_file", {{"path", "exact"}})["content"] == "     1\t" + exact);
  ws.put("over", exact + "ä\nnext\n");
  CHECK(ws.ok("read_file", {{"path", "over"}})["content"] ==
        "     1\t" + exact + "… (line cut)\n     2\tnext");
  ws.put("huge", std::string(10'000'000, 'x') + "\nend\n");
  const Json huge = ws.ok("read_file", {{"path", "huge"}});
  CHECK(huge["total_lines"] == 2);
  CHECK(huge["content"].get<std::string>().size() < 600);
}

TEST_CASE("read_file shows bytes that are no text", "[executor][read_file]") {
  Workspace ws;
  ws.put("bytes", std::string("a\xff"
                              "b\0c\rd\n",
                              7));
  const Json read = ws.ok("read_file", {{"path", "bytes"}});
  CHECK(read["content"] == std::string("     1\ta\xef\xbf\xbd"
                                       "b\0c\rd",
                                       16));
  CHECK(read["note"] == "bytes that are not UTF-8 are shown as U+FFFD");
  // What stands behind the cut is not shown, and a character that the cut hides is none.
  ws.put("behind", std::string(600, 'x') + "\xff\n" + std::string(499, 'y') + "ää\n");
  CHECK_FALSE(ws.ok("read_file", {{"path", "behind"}}).contains("note"));
  ws.put("real", "\xef\xbf\xbd\n");
  CHECK_FALSE(ws.ok("read_file", {{"path", "real"}}).contains("note"));
  ws.put("two", "a\xff\nb\n");
  CHECK(ws.ok("read_file", {{"path", "two"}, {"max_lines", 1}})["note"] ==
        "1 more lines; go on with start_line=2; bytes that are not UTF-8 are shown as U+FFFD");
}

TEST_CASE("read_file of what is no regular file is an answer, and never blocks",
          "[executor][read_file]") {
  Workspace ws;
  REQUIRE(::mkfifo(ws.dir.str("fifo").c_str(), 0600) == 0);
  CHECK(ws.error("read_file", {{"path", "fifo"}}) == "'fifo' is not a regular file");
  fs::create_directory(ws.dir.path() / "folder");
  CHECK(ws.error("read_file", {{"path", "folder"}}) == "'folder' is a folder, not a file");
  CHECK(ws.error("read_file", {{"path", "none"}}) == "'none' does not exist");
  const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ws.dir.str("sock").copy(address.sun_path, sizeof address.sun_path - 1);
  REQUIRE(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
  CHECK(ws.error("read_file", {{"path", "sock"}}) == "'sock' is not a regular file");
  ::close(socket);
  CHECK(contains(ws.error("read_file", {{"path", "../x"}}), "escapes"));
}

TEST_CASE("read_file reads files of /proc whose size is zero", "[executor][read_file]") {
  Workspace ws;
  ws.policy.roots.push_back({"/proc/sys/kernel", false});
  const Json read = ws.ok("read_file", {{"path", "/proc/sys/kernel/ostype"}});
  CHECK(read["content"] == "     1\tLinux");
}

TEST_CASE("list_files is sorted before it is cut", "[executor][list_files]") {
  Workspace ws;
  for (int i = 299; i >= 0; --i) {
    std::string name = std::to_string(i);
    ws.put("d/" + std::string(3 - name.size(), '0') + name, "");
  }
  std::vector<std::string> expected;
  for (int i = 0; i < 100; ++i) {
    std::string name = std::to_string(i);
    expected.push_back("d/" + std::string(3 - name.size(), '0') + name);
  }
  expected.emplace_back("… (200 more; narrow path or pattern, or raise max_results)");
  CHECK(ws.ok("list_files", Json::object()) == Json(expected));
  CHECK(ws.ok("list_files", {{"max_results", 2}}) ==
        Json{"d/000", "d/001", "… (298 more; narrow path or pattern, or raise max_results)"});
  CHECK(ws.ok("list_files", {{"max_results", 300}}).size() == 300);
}

TEST_CASE("list_files takes patterns, depth and start, and skips what tools produce",
          "[executor][list_files]") {
  Workspace ws;
  for (const char* path :
       {"a.py", "b.txt", "src/c.py", "src/deep/d.py", ".git/config", "node_modules/x.py",
        "src/build/y.py", ".hidden.py", ".daybook-0123456789abcdef-0.tmp"}) {
    ws.put(path, "");
  }
  fs::create_directory(ws.dir.path() / "empty.py");
  REQUIRE(::mkfifo(ws.dir.str("fifo.py").c_str(), 0600) == 0);
  fs::create_symlink("a.py", ws.dir.path() / "link.py");
  fs::create_symlink("/etc/passwd", ws.dir.path() / "out.py");
  fs::create_directory_symlink("src", ws.dir.path() / "srclink");
  CHECK(ws.ok("list_files", {{"pattern", "*.py"}}) ==
        Json{".hidden.py", "a.py", "link.py", "src/c.py", "src/deep/d.py"});
  CHECK(ws.ok("list_files", {{"pattern", "*.py"}, {"recursive", false}}) ==
        Json{".hidden.py", "a.py", "link.py"});
  CHECK(ws.ok("list_files", {{"path", "src"}}) == Json{"src/c.py", "src/deep/d.py"});
  CHECK(ws.ok("list_files", {{"pattern", "deep/*"}}) == Json{"src/deep/d.py"});
  CHECK(ws.ok("list_files", {{"pattern", "src/**/[cd].p?"}}) == Json{"src/c.py", "src/deep/d.py"});
  CHECK(ws.ok("list_files", {{"path", "src/build"}}) == Json{"src/build/y.py"});
  CHECK(contains(ws.error("list_files", {{"path", "a.py"}}), "not a folder"));
  CHECK(contains(ws.error("list_files", {{"path", "none"}}), "does not exist"));
  CHECK(contains(ws.error("list_files", {{"max_results", 0}}), "at least 1"));
}

TEST_CASE("list_files shows other roots by absolute paths", "[executor][list_files]") {
  Workspace ws;
  const tests::TempDir other;
  tests::write_file(other.path() / "f", "");
  ws.policy.roots.push_back({other.str(), false});
  CHECK(ws.ok("list_files", {{"path", other.str()}}) == Json{other.str("f")});
}

TEST_CASE("list_files keeps odd names and reaches 300 levels down", "[executor][list_files]") {
  Workspace ws;
  ws.put("new\nline", "");
  tests::write_file(ws.dir.path() / "bad\xff", "");
  UniqueFd at(::open(ws.dir.str().c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  std::string path;
  for (int i = 0; i < 300; ++i) {
    const std::string name = "level-" + std::to_string(i) + "-of-three-hundred";
    REQUIRE(::mkdirat(at.get(), name.c_str(), 0700) == 0);
    at.reset(::openat(at.get(), name.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    path += name + "/";
  }
  UniqueFd leaf(::openat(at.get(), "leaf", O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
  CHECK(ws.ok("list_files", Json::object()) == Json{"bad\xef\xbf\xbd", path + "leaf", "new\nline"});
}

}  // namespace
}  // namespace daybook::executor
