#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <random>

#include "tests/executor/workspace.h"

namespace daybook::executor {
namespace {

namespace fs = std::filesystem;

TEST_CASE("write_file creates folders and returns the path", "[executor][write_file]") {
  Workspace ws;
  CHECK(ws.ok("write_file", {{"path", "a/b/../c/f"}, {"content", "ä\r\n"}}) == Json("a/c/f"));
  CHECK(ws.get("a/c/f") == "ä\r\n");
  CHECK(ws.ok("write_file", {{"path", ws.dir.str("g")}, {"content", ""}}) == Json("g"));
  CHECK(ws.tree() == std::map<std::string, std::string>{
                         {"a", "(no file)"}, {"a/c", "(no file)"}, {"a/c/f", "ä\r\n"}, {"g", ""}});
}

TEST_CASE("write_file overwrites only when it may", "[executor][write_file]") {
  Workspace ws;
  ws.put("f", "old");
  CHECK(contains(ws.error("write_file", {{"path", "f"}, {"content", "x"}, {"overwrite", false}}),
                 "'f' already exists"));
  CHECK(ws.get("f") == "old");
  ws.ok("write_file", {{"path", "f"}, {"content", "new"}});
  CHECK(ws.get("f") == "new");
  ws.ok("write_file", {{"path", "g"}, {"content", "x"}, {"overwrite", false}});
  CHECK(ws.get("g") == "x");
}

TEST_CASE("writes keep the mode, and new files get the usual one", "[executor][write_file]") {
  Workspace ws;
  ws.put("f", "old");
  REQUIRE(::chmod(ws.dir.str("f").c_str(), 04751) == 0);
  ws.ok("write_file", {{"path", "f"}, {"content", "new"}});
  struct stat status {};
  REQUIRE(::stat(ws.dir.str("f").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == 04751);
  const mode_t mask = ::umask(0);
  ::umask(mask);
  ws.ok("write_file", {{"path", "g"}, {"content", "new"}});
  REQUIRE(::stat(ws.dir.str("g").c_str(), &status) == 0);
  CHECK((status.st_mode & 07777) == (0666 & ~mask));
}

TEST_CASE("root keeps the owner; others take the file over without its set-user-id bit",
          "[executor][write_file]") {
  if (::geteuid() != 0) return;
  constexpr uid_t kNobody = 65534;
  Workspace ws;
  REQUIRE(::chmod(ws.dir.str().c_str(), 0777) == 0);
  for (const char* name : {"f", "g"}) ws.put(name, "old");
  REQUIRE(::chown(ws.dir.str("f").c_str(), kNobody, kNobody) == 0);
  REQUIRE(::chmod(ws.dir.str("f").c_str(), 04755) == 0);
  REQUIRE(::chmod(ws.dir.str("g").c_str(), 04755) == 0);
  ws.ok("write_file", {{"path", "f"}, {"content", "new"}});
  struct stat status {};
  REQUIRE(::stat(ws.dir.str("f").c_str(), &status) == 0);
  CHECK(status.st_uid == kNobody);
  CHECK((status.st_mode & 07777) == 04755);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    if (::setgid(kNobody) != 0 || ::setuid(kNobody) != 0) ::_exit(2);
    ::_exit(ws.call("write_file", {{"path", "g"}, {"content", "new"}}).is_error ? 1 : 0);
  }
  int result = 0;
  REQUIRE(::waitpid(child, &result, 0) == child);
  CHECK(result == 0);
  REQUIRE(::stat(ws.dir.str("g").c_str(), &status) == 0);
  CHECK(status.st_uid == kNobody);
  CHECK((status.st_mode & 07777) == 0755);
}

TEST_CASE("a write does not reach through a hard link", "[executor][write_file]") {
  Workspace ws;
  const tests::TempDir outside;
  tests::write_file(outside.path() / "private", "private");
  fs::create_hard_link(outside.path() / "private", ws.dir.path() / "f");
  ws.ok("write_file", {{"path", "f"}, {"content", "new"}});
  CHECK(ws.get("f") == "new");
  CHECK(tests::read_file(outside.path() / "private") == "private");
}

TEST_CASE("a write through a link inside changes the file, not the link",
          "[executor][write_file]") {
  Workspace ws;
  ws.put("d/f", "old");
  fs::create_symlink("d/f", ws.dir.path() / "link");
  ws.ok("write_file", {{"path", "link"}, {"content", "new"}});
  CHECK(fs::is_symlink(ws.dir.path() / "link"));
  CHECK(ws.get("d/f") == "new");
}

TEST_CASE("writes outside, to read-only roots and to what is no file are refused",
          "[executor][write_file]") {
  Workspace ws;
  const tests::TempDir other;
  ws.policy.roots.push_back({other.str(), false});
  fs::create_symlink(other.path() / "x", ws.dir.path() / "out");
  fs::create_directory(ws.dir.path() / "folder");
  REQUIRE(::mkfifo(ws.dir.str("fifo").c_str(), 0600) == 0);
  const auto error = [&ws](const std::string& path) {
    return ws.error("write_file", {{"path", path}, {"content", "x"}});
  };
  CHECK(contains(error("../x"), "escapes"));
  CHECK(contains(error("/etc/x"), "escapes"));
  CHECK(contains(error("out"), "escapes the session's folders through a symbolic link"));
  CHECK(contains(error(other.str("x")), "read-only"));
  CHECK(error("folder") == "'folder' is a folder, not a file");
  CHECK(contains(error("."), "is a folder"));
  CHECK(error("fifo") == "'fifo' is not a regular file");
  CHECK(contains(error("fifo/x"), "not a folder"));
  CHECK(fs::is_empty(other.path()));
}

TEST_CASE("a file over the limit is refused for edits and stays", "[executor][write_file]") {
  Workspace ws;
  ws.put("big", "x");
  fs::resize_file(ws.dir.path() / "big", (64ull << 20) + 1);
  const std::string refused = "'big' is larger than 64 MiB";
  CHECK(contains(ws.error("write_file", {{"path", "big"}, {"content", "x"}}), refused));
  CHECK(contains(ws.error("replace_in_file", {{"path", "big"}, {"old", "x"}, {"new", "y"}}),
                 refused));
  CHECK(fs::file_size(ws.dir.path() / "big") == (64ull << 20) + 1);
  CHECK(ws.ok("read_file", {{"path", "big"}})["total_lines"] == 1);
}

TEST_CASE("a file changed after planning is left alone", "[executor][write_file]") {
  Workspace ws;
  ws.put("f", "old");
  const ToolRequest request = ws.request("write_file", {{"path", "f"}, {"content", "new"}});
  const Result<Plan> plan = ws.executor().plan(request);
  REQUIRE(plan);
  ws.put("f", "foreign");
  CHECK(ws.executor().settle(request, *plan) == Settlement::conflict);
  const Outcome outcome = ws.executor().run(request, *plan, {}, {});
  CHECK(outcome.is_error);
  CHECK(contains(outcome.receipt.error, "'f' changed after the call was planned"));
  CHECK(outcome.receipt.files.empty());
  CHECK(ws.tree() == std::map<std::string, std::string>{{"f", "foreign"}});
}

TEST_CASE("writing the same bytes is a plan that is applied already", "[executor][write_file]") {
  Workspace ws;
  ws.put("f", "same");
  const ToolRequest request = ws.request("write_file", {{"path", "f"}, {"content", "same"}});
  const Result<Plan> plan = ws.executor().plan(request);
  REQUIRE(plan);
  CHECK(plan->ops[0].before == plan->ops[0].after);
  CHECK(ws.executor().settle(request, *plan) == Settlement::applied);
  const Outcome outcome = ws.executor().run(request, *plan, {}, {});
  CHECK(outcome.result == "\"f\"");
  CHECK(outcome.receipt.files.empty());
  ws.put("f", "other");
  CHECK(ws.executor().settle(request, *plan) == Settlement::conflict);
}

TEST_CASE("replace_in_file replaces exact text and counts", "[executor][replace_in_file]") {
  Workspace ws;
  ws.put("f", "aä aä b");
  CHECK(ws.ok("replace_in_file",
              {{"path", "f"}, {"old", "aä"}, {"new", "x"}, {"expected_replacements", 2}}) ==
        Json{{"path", "f"}, {"replacements", 2}, {"chars_before", 7}, {"chars_after", 5}});
  CHECK(ws.get("f") == "x x b");
  CHECK(contains(ws.error("replace_in_file", {{"path", "f"}, {"old", "x"}, {"new", "y"}}),
                 "expected 1 occurrence(s) of the old text in 'f', found 2"));
  CHECK(contains(ws.error("replace_in_file", {{"path", "f"}, {"old", "q"}, {"new", "y"}}),
                 "found 0"));
  CHECK(contains(ws.error("replace_in_file", {{"path", "f"}, {"old", ""}, {"new", "y"}}),
                 "the old text is empty"));
  CHECK(contains(ws.error("replace_in_file", {{"path", "none"}, {"old", "a"}, {"new", "y"}}),
                 "'none' does not exist"));
  CHECK(ws.get("f") == "x x b");
  ws.put("overlap", "aaaa");
  ws.ok("replace_in_file",
        {{"path", "overlap"}, {"old", "aa"}, {"new", "b"}, {"expected_replacements", 2}});
  CHECK(ws.get("overlap") == "bb");
}

TEST_CASE("replace_in_file keeps CR LF and bytes that are no text", "[executor][replace_in_file]") {
  Workspace ws;
  ws.put("crlf", "one\r\ntwo\r\nthree\r\n");
  ws.ok("replace_in_file", {{"path", "crlf"}, {"old", "two"}, {"new", "2"}});
  CHECK(ws.get("crlf") == "one\r\n2\r\nthree\r\n");
  ws.ok("replace_in_file", {{"path", "crlf"}, {"old", "one\n2\n"}, {"new", "1\n2\nmore\n"}});
  CHECK(ws.get("crlf") == "1\r\n2\r\nmore\r\nthree\r\n");
  ws.put("mixed", "a\r\nb\nc\r\nd\r\n");
  ws.ok("replace_in_file", {{"path", "mixed"}, {"old", "c\nd"}, {"new", "e\nf"}});
  CHECK(ws.get("mixed") == "a\r\nb\ne\r\nf\r\n");
  ws.ok("replace_in_file", {{"path", "mixed"}, {"old", "b\n"}, {"new", "x\ny\n"}});
  CHECK(ws.get("mixed") == "a\r\nx\ny\ne\r\nf\r\n");
  ws.put("bytes", "\xff\xfe word \xc3");
  ws.ok("replace_in_file", {{"path", "bytes"}, {"old", "word"}, {"new", "ö"}});
  CHECK(ws.get("bytes") == "\xff\xfe ö \xc3");
}

// Random edits against a reference that works on the whole text in another way: split at each
// occurrence, join with the new text.
TEST_CASE("random replacements equal an independent reference", "[executor][replace_in_file]") {
  Workspace ws;
  std::mt19937 random(7);
  const auto text = [&random](std::size_t length) {
    std::string out;
    for (std::size_t i = 0; i < length; ++i) out += "ab\n\xff"[random() % 4];
    return out;
  };
  for (int round = 0; round < 120; ++round) {
    const std::string before = text(random() % 40);
    std::string old_text = text(1 + random() % 3);
    for (char& c : old_text) c = c == '\xff' ? 'a' : c;
    const std::string new_text = std::string(random() % 3, 'z');
    std::vector<std::string> parts{""};
    for (std::size_t i = 0; i < before.size();) {
      if (before.compare(i, old_text.size(), old_text) == 0) {
        parts.emplace_back();
        i += old_text.size();
      } else {
        parts.back() += before[i++];
      }
    }
    std::string expected = parts[0];
    for (std::size_t i = 1; i < parts.size(); ++i) expected += new_text + parts[i];
    ws.put("f", before);
    const Outcome outcome = ws.call("replace_in_file", {{"path", "f"},
                                                        {"old", old_text},
                                                        {"new", new_text},
                                                        {"expected_replacements", parts.size()}});
    CHECK(outcome.is_error);  // one too many
    CHECK(ws.get("f") == before);
    if (parts.size() == 1) continue;
    ws.ok("replace_in_file", {{"path", "f"},
                              {"old", old_text},
                              {"new", new_text},
                              {"expected_replacements", parts.size() - 1}});
    CHECK(ws.get("f") == expected);
  }
}

}  // namespace
}  // namespace daybook::executor
