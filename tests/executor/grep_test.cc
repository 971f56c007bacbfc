#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "executor/direct.h"
#include "executor/tool.h"
#include "schema/json.h"
#include "schema/utf8.h"
#include "tests/support/temp_dir.h"

using namespace daybook;
using namespace daybook::executor;
using namespace daybook::tests;

namespace {

struct Folder {
  Outcome call(const std::string& arguments, std::stop_token stop = {}) {
    ToolRequest request;
    request.tool = "grep";
    request.arguments = arguments;
    request.policy.roots = {{dir.str(), true}, {other.str(), false}};
    const auto plan = executor->plan(request);
    if (!plan) return Outcome{{}, plan.error().message, true};
    return executor->run(request, *plan, {}, std::move(stop));
  }
  Json json(const std::string& arguments) { return *parse_json(call(arguments).result); }
  void put(const std::string& name, const std::string& bytes) {
    std::filesystem::create_directories((dir.path() / name).parent_path());
    write_file(dir.str(name), bytes);
  }

  TempDir dir;
  TempDir other;
  TempDir outside;
  std::unique_ptr<Executor> executor = make_direct_executor(make_grep_tool(), {});
};

}  // namespace

TEST_CASE("grep finds lines, sorted by path", "[grep]") {
  Folder f;
  f.put("b.txt", "x\nneedle 1\n");
  f.put("a/c.txt", "needle 2\r\n");
  f.put("a/b.txt", "none\n");
  const Json found = f.json(R"({"pattern":"needle \\d"})");
  CHECK(dump_json(found) == R"({"engine":"ripgrep","count":2,"matches":[)"
                            R"({"file":"a/c.txt","line":1,"text":"needle 2"},)"
                            R"({"file":"b.txt","line":2,"text":"needle 1"}]})");
  CHECK(f.json(R"({"pattern":"absent"})").at("count") == 0);
  CHECK(f.json(R"({"pattern":"needle","path":"a"})").at("matches")[0].at("file") == "a/c.txt");
  CHECK(f.json(R"({"pattern":"needle","path":"b.txt"})").at("matches")[0].at("file") == "b.txt");
  CHECK(f.json(R"({"pattern":"needle","glob":"b.*"})").at("count") == 1);
}

TEST_CASE("grep shows absolute paths outside the workspace", "[grep]") {
  Folder f;
  write_file(f.other.str("o.txt"), "needle\n");
  const Json found = f.json(R"({"pattern":"needle","path":")" + f.other.str() + R"("})");
  CHECK(found.at("matches")[0].at("file") == f.other.str("o.txt"));
}

TEST_CASE("grep stays inside the roots", "[grep]") {
  Folder f;
  write_file(f.outside.str("secret.txt"), "needle\n");
  std::filesystem::create_symlink(f.outside.path(), f.dir.path() / "link");
  std::filesystem::create_symlink(f.outside.path() / "secret.txt", f.dir.path() / "file");
  CHECK(f.json(R"({"pattern":"needle"})").at("count") == 0);
  CHECK(f.call(R"({"pattern":"needle","path":"link"})").is_error);
  CHECK(f.call(R"({"pattern":"needle","path":"file"})").is_error);
  CHECK(f.call(R"({"pattern":"needle","path":"../"})").is_error);
  CHECK(f.call(R"({"pattern":"needle","path":"/etc"})").is_error);
  CHECK(f.call(R"({"pattern":"needle","path":"gone"})").is_error);
}

TEST_CASE("grep leaves out build folders, whatever the glob says", "[grep]") {
  Folder f;
  for (const char* name : {"node_modules/x.js", "deep/build/y.js", ".git/z.js", "src/a.js"}) {
    f.put(name, "needle\n");
  }
  CHECK(f.json(R"({"pattern":"needle"})").at("count") == 1);
  CHECK(f.json(R"({"pattern":"needle","glob":"**/*.js"})").at("count") == 1);
  CHECK(f.json(R"({"pattern":"needle","glob":"node_modules/**"})").at("count") == 0);
}

TEST_CASE("grep counts to its limit over all files", "[grep]") {
  Folder f;
  for (int i = 0; i < 20; ++i) {
    std::string lines;
    for (int j = 0; j < 50; ++j) lines += "needle\n";
    f.put("f" + std::to_string(10 + i), lines);
  }
  const Json found = f.json(R"({"pattern":"needle","max_results":60})");
  CHECK(found.at("count") == 60);
  CHECK(found.at("matches")[59].at("file") == "f11");
  CHECK(found.at("matches")[59].at("line") == 10);
  const std::string cut =
      "only the first matches; narrow the search with path or glob, or raise max_results (at most "
      "1000)";
  CHECK(found.at("note") == cut);
  CHECK(f.json(R"({"pattern":"needle"})").at("count") == 100);
  const Json all = f.json(R"({"pattern":"needle","max_results":1000})");
  CHECK(all.at("count") == 1000);
  CHECK_FALSE(all.contains("note"));
  CHECK(f.call(R"({"pattern":"needle","max_results":0})").result.find("at least 1, not 0") !=
        std::string::npos);
  f.put("f99", "needle\n");
  CHECK(f.json(R"({"pattern":"needle","max_results":1000})").at("note") == cut);
  CHECK(f.json(R"({"pattern":"needle","max_results":5000})").at("count") == 1000);
}

TEST_CASE("grep cuts long lines between code points and repairs bytes", "[grep]") {
  Folder f;
  std::string euros;
  for (int i = 0; i < 400; ++i) euros += "\xe2\x82\xac";
  f.put("a", "needle" + euros + "\n");
  f.put("b", "needle \xff\n");
  const Json found = f.json(R"({"pattern":"needle"})");
  REQUIRE(found.at("count") == 2);
  CHECK(found.at("matches")[0].at("text") == "needle" + euros.substr(0, 3 * 294));
  CHECK(found.at("matches")[1].at("text") == "needle \xef\xbf\xbd");
}

TEST_CASE("grep takes a pattern as nothing but a pattern", "[grep]") {
  Folder f;
  f.put("a", "--files\n");
  CHECK(f.json(R"({"pattern":"--files"})").at("count") == 1);
  const Json bad = f.json(R"({"pattern":"("})");
  CHECK(bad.at("error").get<std::string>().find("regex parse error") != std::string::npos);
  CHECK(f.call(R"({"pattern":""})").is_error);
  CHECK(f.call(R"({})").is_error);
  f.put("-x", "needle\n");
  CHECK(f.json(R"({"pattern":"needle","path":"-x"})").at("count") == 1);
}

TEST_CASE("grep obeys a stop request", "[grep]") {
  Folder f;
  f.put("a", "needle\n");
  std::stop_source stop;
  stop.request_stop();
  const Outcome outcome = f.call(R"({"pattern":"needle"})", stop.get_token());
  CHECK(outcome.receipt.exit == schema::ExitKind::user_stop);
}
