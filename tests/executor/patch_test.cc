#include <sys/stat.h>

#include "tests/executor/workspace.h"

namespace daybook::executor {
namespace {

namespace fs = std::filesystem;

std::string envelope(const std::string& body) {
  return "*** Begin Patch\n" + body + "*** End Patch\n";
}

TEST_CASE("apply_patch adds, deletes, updates and moves", "[executor][apply_patch]") {
  Workspace ws;
  ws.put("up.txt", "one\ntwo\nthree\n");
  ws.put("gone.txt", "x\n");
  ws.put("old/name.txt", "alpha\nbeta\n");
  REQUIRE(::chmod(ws.dir.str("old/name.txt").c_str(), 0750) == 0);
  const Json result = ws.ok("apply_patch", {{"patch", envelope("*** Add File: new/a.txt\n"
                                                               "+hello\n"
                                                               "+\n"
                                                               "*** Delete File: gone.txt\n"
                                                               "*** Update File: up.txt\n"
                                                               "@@\n one\n-two\n+2\n three\n"
                                                               "*** Update File: old/name.txt\n"
                                                               "*** Move to: new/name.txt\n"
                                                               "@@\n-beta\n+BETA\n")}});
  CHECK(result == Json{{"changed_files", {"up.txt", "new/name.txt"}},
                       {"added_files", {"new/a.txt"}},
                       {"deleted_files", {"gone.txt", "old/name.txt"}},
                       {"file_count", 4},
                       {"hunk_count", 2}});
  CHECK(ws.tree() == std::map<std::string, std::string>{{"up.txt", "one\n2\nthree\n"},
                                                        {"old", "(no file)"},
                                                        {"new", "(no file)"},
                                                        {"new/a.txt", "hello\n\n"},
                                                        {"new/name.txt", "alpha\nBETA\n"}});
  struct stat status {};
  REQUIRE(::stat(ws.dir.str("new/name.txt").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777) == 0750);
}

TEST_CASE("a patch whose second file is wrong changes nothing", "[executor][apply_patch]") {
  Workspace ws;
  ws.put("a", "one\n");
  ws.put("b", "two\n");
  const auto before = ws.tree();
  const std::string error =
      ws.error("apply_patch", {{"patch", envelope("*** Add File: n/c\n+x\n"
                                                  "*** Update File: a\n@@\n-one\n+1\n"
                                                  "*** Update File: b\n@@\n-wrong\n+2\n")}});
  CHECK(contains(error, "'b', hunk 1: its context was not found"));
  CHECK(ws.tree() == before);
}

TEST_CASE("context must be found exactly once after the hunk before", "[executor][apply_patch]") {
  Workspace ws;
  ws.put("f", "x\na\ny\na\n");
  const auto patch = [](const std::string& hunks) {
    return Json{{"patch", envelope("*** Update File: f\n" + hunks)}};
  };
  CHECK(contains(ws.error("apply_patch", patch("@@\n-a\n+b\n")),
                 "'f', hunk 1: its context is ambiguous, it matches at lines 2 and 4"));
  CHECK(contains(ws.error("apply_patch", patch("@@\n-y\n+Y\n@@\n-x\n+X\n")),
                 "hunk 2: its context was not found after the hunk before it"));
  CHECK(contains(ws.error("apply_patch", patch("@@\n+a\n")), "needs at least one line of context"));
  ws.ok("apply_patch", patch("@@\n y\n-a\n+b\n"));
  CHECK(ws.get("f") == "x\na\ny\nb\n");
  ws.put("f", "x\na\ny\na\n");
  ws.ok("apply_patch", patch("@@ y\n-a\n+b\n"));  // the text after @@ narrows the place
  CHECK(ws.get("f") == "x\na\ny\nb\n");
  ws.put("f", "x\na\ny\na\n");
  ws.ok("apply_patch", patch("@@\n-a\n+b\n*** End of File\n"));
  CHECK(ws.get("f") == "x\na\ny\nb\n");
  ws.ok("apply_patch", patch("@@\n-x\n+X\n@@ -3,2 +3,2 @@\n y\n-b\n+c\n"));
  CHECK(ws.get("f") == "X\na\ny\nc\n");
}

TEST_CASE("add and move never replace a file", "[executor][apply_patch]") {
  Workspace ws;
  ws.put("a", "one\n");
  ws.put("b", "two\n");
  const auto before = ws.tree();
  for (const char* body :
       {"*** Add File: a\n+x\n", "*** Update File: a\n*** Move to: b\n@@\n-one\n+1\n"}) {
    CHECK(contains(ws.error("apply_patch", {{"patch", envelope(body)}}), "already exists"));
    CHECK(ws.tree() == before);
  }
  CHECK(contains(ws.error("apply_patch", {{"patch", envelope("*** Delete File: none\n")}}),
                 "'none' does not exist"));
}

TEST_CASE("one file in one part: only updates are merged", "[executor][apply_patch]") {
  Workspace ws;
  ws.put("f", "a\nb\n");
  const Json result =
      ws.ok("apply_patch", {{"patch", envelope("*** Update File: f\n@@\n-b\n+B\n"
                                               "*** Update File: ./f\n@@\n-a\n+A\n")}});
  CHECK(ws.get("f") == "A\nB\n");
  CHECK(result["file_count"] == 1);
  CHECK(result["hunk_count"] == 2);
  fs::create_symlink("f", ws.dir.path() / "alias");
  for (const char* body : {"*** Update File: f\n@@\n-A\n+a\n*** Delete File: f\n",
                           "*** Update File: f\n@@\n-A\n+a\n*** Update File: alias\n@@\n-B\n+b\n",
                           "*** Add File: n/x\n+1\n*** Add File: n/../n/x\n+2\n"}) {
    CHECK(contains(ws.error("apply_patch", {{"patch", envelope(body)}}), "is changed twice"));
  }
  CHECK(ws.get("f") == "A\nB\n");
  CHECK_FALSE(ws.has("n"));
}

TEST_CASE("malformed envelopes are refused with the line", "[executor][apply_patch]") {
  Workspace ws;
  ws.put("f", "a\n");
  const auto error = [&ws](const std::string& patch) {
    return ws.error("apply_patch", {{"patch", patch}});
  };
  CHECK(contains(error(""), "must start with '*** Begin Patch'"));
  CHECK(contains(error("*** Begin Patch\n"), "must end with '*** End Patch'"));
  CHECK(contains(error(envelope("")), "changes no file"));
  CHECK(contains(error(envelope("") + "more"), "text after"));
  CHECK(contains(error(envelope("hello\n")), "patch line 2: expected"));
  CHECK(contains(error(envelope("*** Add File: x\nplain\n")), "must start with '+'"));
  CHECK(contains(error(envelope("*** Update File: f\n")), "has no hunk"));
  CHECK(contains(error(envelope("*** Update File: f\n-a\n")), "must start with '@@'"));
  CHECK(contains(error(envelope("*** Update File: f\n@@\n")), "a hunk is empty"));
  CHECK(contains(error(envelope("*** Update File: f\n@@\n?a\n")), "must start with ' '"));
  CHECK(contains(error(envelope("*** Add File: ../x\n+a\n")), "escapes"));
  CHECK(contains(error(envelope("*** Update File: f\n*** Move to: /etc/x\n@@\n-a\n+b\n")),
                 "escapes"));
  CHECK(ws.tree() == std::map<std::string, std::string>{{"f", "a\n"}});
}

TEST_CASE("patches keep line ends, a missing last one, and bytes that are no text",
          "[executor][apply_patch]") {
  Workspace ws;
  const auto update = [&ws](const std::string& hunks) {
    ws.ok("apply_patch", {{"patch", envelope("*** Update File: f\n" + hunks)}});
    return ws.get("f");
  };
  ws.put("f", "one\r\ntwo\r\nthree\r\n");
  CHECK(update("@@\n-two\n+2\n+2b\n") == "one\r\n2\r\n2b\r\nthree\r\n");
  ws.put("f", "one\r\ntwo\nthree\r\n");
  CHECK(update("@@\n two\n+2\n") == "one\r\ntwo\n2\nthree\r\n");
  ws.put("f", "one\ntwo");
  CHECK(update("@@\n-two\n+2\n+3\n") == "one\n2\n3");
  ws.put("f", "one\ntwo");
  CHECK(update("@@\n two\n+3\n") == "one\ntwo\n3");
  ws.put("f", "\xff\xfe\nword\n\xc3\n");
  CHECK(update("@@\n-word\n+w\n") == "\xff\xfe\nw\n\xc3\n");
  ws.put("f", "a\n\nb\n");
  CHECK(update("@@\n a\n\n-b\n+c\n") == "a\n\nc\n");  // blank context without its space
  ws.put("f", "a\n");
  CHECK(update("@@\n-a\n") == "");
}

TEST_CASE("a byte order mark is no part of the first line unless the patch shows it",
          "[executor][apply_patch][apply_unified_diff]") {
  const std::string mark = "\xef\xbb\xbf";
  Workspace ws;
  const auto update = [&ws, &mark](const std::string& hunks) {
    ws.put("f", mark + "one\ntwo\n");
    ws.ok("apply_patch", {{"patch", envelope("*** Update File: f\n" + hunks)}});
    return ws.get("f");
  };
  CHECK(update("@@\n-one\n+1\n two\n") == mark + "1\ntwo\n");
  CHECK(update("@@\n-" + mark + "one\n+1\n") == "1\ntwo\n");
  CHECK(update("@@\n-" + mark + "one\n+" + mark + "1\n") == mark + "1\ntwo\n");
  ws.put("f", mark + "one\ntwo\n");
  ws.ok("apply_unified_diff", {{"diff", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n-one\n+1\n two\n"}});
  CHECK(ws.get("f") == mark + "1\ntwo\n");
  CHECK(contains(ws.error("apply_patch",
                          {{"patch", envelope("*** Update File: f\n@@\n-" + mark + "two\n+2\n")}}),
                 "not found"));
}

TEST_CASE("apply_unified_diff changes several files", "[executor][apply_unified_diff]") {
  Workspace ws;
  ws.put("src/a.c", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  ws.put("gone", "x\ny\n");
  const std::string diff =
      "diff --git a/src/a.c b/src/a.c\n"
      "index 0000000..1111111 100644\n"
      "--- a/src/a.c\n"
      "+++ b/src/a.c\n"
      "@@ -1,3 +1,4 @@\n"
      " 1\n"
      "+1b\n"
      " 2\n"
      " 3\n"
      "@@ -7,3 +8,2 @@ context\n"
      " 7\n"
      "-8\n"
      " 9\n"
      "diff --git a/gone b/gone\n"
      "deleted file mode 100644\n"
      "--- a/gone\n"
      "+++ /dev/null\n"
      "@@ -1,2 +0,0 @@\n"
      "-x\n"
      "-y\n"
      "--- /dev/null\n"
      "+++ b/new/\"n\t2026-01-01\n"
      "@@ -0,0 +1 @@\n"
      "+fresh\n";
  CHECK(ws.ok("apply_unified_diff", {{"diff", diff}}) == Json{{"changed_files", {"src/a.c"}},
                                                              {"added_files", {"new/\"n"}},
                                                              {"deleted_files", {"gone"}},
                                                              {"file_count", 3},
                                                              {"hunk_count", 4}});
  CHECK(ws.get("src/a.c") == "1\n1b\n2\n3\n4\n5\n6\n7\n9\n");
  CHECK(ws.get("new/\"n") == "fresh\n");
  CHECK_FALSE(ws.has("gone"));
}

TEST_CASE("lines that look like headers are lines while the counts say so",
          "[executor][apply_unified_diff]") {
  Workspace ws;
  ws.put("q.sql", "select 1;\n-- old comment\n++ odd\nend\n");
  ws.ok("apply_unified_diff", {{"diff",
                                "--- a/q.sql\n+++ b/q.sql\n@@ -1,4 +1,3 @@\n select 1;\n"
                                "--- old comment\n"
                                "-++ odd\n"
                                "+++ new\n"
                                " end\n"}});
  CHECK(ws.get("q.sql") == "select 1;\n++ new\nend\n");
}

TEST_CASE("the marker of a missing last line end is honoured both ways",
          "[executor][apply_unified_diff]") {
  Workspace ws;
  const std::string marker = "\\ No newline at end of file\n";
  const auto apply = [&ws](const std::string& before, const std::string& hunk) {
    ws.put("f", before);
    ws.ok("apply_unified_diff", {{"diff", "--- a/f\n+++ b/f\n" + hunk}});
    return ws.get("f");
  };
  CHECK(apply("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n" + marker + "+c\n" + marker) == "a\nc");
  CHECK(apply("a\nb", "@@ -1,2 +1,2 @@\n a\n-b\n" + marker + "+b\n") == "a\nb\n");
  CHECK(apply("a\nb\n", "@@ -1,2 +1,2 @@\n a\n-b\n+b\n" + marker) == "a\nb");
  CHECK(apply("a\nb", "@@ -1,2 +1,2 @@\n-a\n+x\n b\n" + marker) == "x\nb");
  CHECK(apply("a\nb", "@@ -1 +1 @@\n-a\n+x\n") == "x\nb");
  const auto error = [&ws](const std::string& before, const std::string& hunk) {
    ws.put("f", before);
    const std::string text = ws.error("apply_unified_diff", {{"diff", "--- f\n+++ f\n" + hunk}});
    CHECK(ws.get("f") == before);
    return text;
  };
  CHECK(contains(error("a\nb\n", "@@ -2 +2 @@\n-b\n" + marker + "+c\n"), "not those of the hunk"));
  CHECK(contains(error("a\nb\n", "@@ -1 +1 @@\n-a\n+c\n" + marker), "but lines follow"));
  CHECK(contains(error("a\nb\n", "@@ -1,2 +1,2 @@\n-a\n" + marker + "-b\n+c\n+d\n"),
                 "a line follows one that is marked"));
  ws.ok("apply_unified_diff", {{"diff", "--- /dev/null\n+++ b/n\n@@ -0,0 +1 @@\n+x\n" + marker}});
  CHECK(ws.get("n") == "x");
}

TEST_CASE("line numbers and counts are strict", "[executor][apply_unified_diff]") {
  Workspace ws;
  ws.put("f", "1\n2\n3\n4\n");
  const auto error = [&ws](const std::string& hunks) {
    return ws.error("apply_unified_diff", {{"diff", "--- a/f\n+++ b/f\n" + hunks}});
  };
  CHECK(contains(error("@@ -1,1 +1,1 @@\n-2\n+x\n"), "the lines at line 1 of the file are not"));
  CHECK(contains(error("@@ -9 +9 @@\n-4\n+x\n"), "at line 9"));
  CHECK(contains(error("@@ -1,2 +1,1 @@\n-1\n+x\n"), "the hunk ends before its header says"));
  CHECK(contains(error("@@ -1,1 +1,1 @@\n-1\n-2\n+x\n"), "does not have the line counts"));
  CHECK(contains(error("@@ -1,1 +1,1 @@\n-1\n+x\n+y\n"), "is longer than its header says"));
  CHECK(contains(error("@@ -1,2 +1,2 @@\n-1\n+x\n 2\n@@ -2 +2 @@\n-2\n+y\n"), "overlaps"));
  CHECK(contains(error("@@ -1 @@\n-1\n"), "a hunk header must be"));
  CHECK(contains(error("@@ -99999999999999999999 +1 @@\n-1\n+2\n"), "a hunk header must be"));
  CHECK(contains(error("@@ -0,1 +1 @@\n-1\n+2\n"), "start at 1"));
  CHECK(contains(error("@@ -0,0 +0,0 @@\n"), "the hunk is empty"));
  CHECK(contains(error("@@ -1 +1 @@\n-1\n+x\ngarbage\n"), "neither part of a hunk"));
  CHECK(ws.get("f") == "1\n2\n3\n4\n");
  ws.ok("apply_unified_diff", {{"diff", "--- a/f\n+++ b/f\n@@ -2,0 +3 @@\n+2b\n"}});
  CHECK(ws.get("f") == "1\n2\n2b\n3\n4\n");
}

TEST_CASE("what a diff cannot do here is said", "[executor][apply_unified_diff]") {
  Workspace ws;
  ws.put("f", "1\n");
  const auto error = [&ws](const std::string& diff) {
    return ws.error("apply_unified_diff", {{"diff", diff}});
  };
  CHECK(contains(error(""), "names no file"));
  CHECK(contains(error("diff --git a/f b/g\nsimilarity index 100%\nrename from f\nrename to g\n"),
                 "use apply_patch"));
  CHECK(contains(error("--- a/f\n+++ b/g\n@@ -1 +1 @@\n-1\n+2\n"), "renames are not supported"));
  CHECK(contains(error("diff --git a/f b/f\nold mode 100644\nnew mode 100755\n"), "has no hunk"));
  CHECK(contains(error("diff --git a/f b/f\nBinary files a/f and b/f differ\n"), "binary"));
  CHECK(contains(error("--- /dev/null\n+++ /dev/null\n@@ -0,0 +1 @@\n+x\n"), "both sides"));
  CHECK(contains(error("--- /dev/null\n+++ b/n\n@@ -1 +1 @@\n-1\n+x\n"), "cannot have old lines"));
  CHECK(contains(error("--- /dev/null\n+++ b/f\n@@ -0,0 +1 @@\n+x\n"), "already exists"));
  CHECK(contains(error("--- a/../../x\n+++ a/../../x\n@@ -1 +1 @@\n-1\n+x\n"), "escapes"));
  ws.put("g", "1\n2\n");
  CHECK(contains(error("--- a/g\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n"), "would not be empty"));
  CHECK(ws.get("g") == "1\n2\n");
}

TEST_CASE("diffs keep line ends as they are, and change them when they say so",
          "[executor][apply_unified_diff]") {
  Workspace ws;
  const auto apply = [&ws](const std::string& before, const std::string& hunk) {
    ws.put("f", before);
    ws.ok("apply_unified_diff", {{"diff", "--- a/f\n+++ b/f\n" + hunk}});
    return ws.get("f");
  };
  CHECK(apply("1\r\n2\r\n", "@@ -1,2 +1,2 @@\n-1\n+x\n 2\n") == "x\r\n2\r\n");
  CHECK(apply("1\r\n2\r\n", "@@ -1,2 +1,2 @@\n-1\r\n+x\r\n 2\r\n") == "x\r\n2\r\n");
  CHECK(apply("1\r\n2\r\n", "@@ -1,2 +1,2 @@\n-1\r\n+1\n 2\r\n") == "1\n2\r\n");
  CHECK(apply("1\n2\n", "@@ -1,2 +1,2 @@\n-1\n+1\r\n 2\n") == "1\r\n2\n");
  ws.put("f", "1\n2\n");
  ws.ok("apply_unified_diff", {{"diff", "--- a/f\r\n+++ b/f\r\n@@ -1 +1 @@\r\n-1\r\n+x\r\n"}});
  CHECK(ws.get("f") == "x\n2\n");
  ws.put("tab\tname", "1\n");
  ws.ok("apply_unified_diff",
        {{"diff", "--- \"a/tab\\tname\"\n+++ \"b/tab\\tname\"\n@@ -1 +1 @@\n-1\n+\\303\n"}});
  CHECK(ws.get("tab\tname") == "\\303\n");
}

}  // namespace
}  // namespace daybook::executor
