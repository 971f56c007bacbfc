#include <sys/stat.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "executor/direct.h"
#include "executor/tool.h"
#include "schema/json.h"
#include "tests/support/commands.h"
#include "tests/support/temp_dir.h"

using namespace daybook;
using namespace daybook::executor;
using namespace daybook::tests;
using schema::ExitKind;

namespace {

/// A repository with one commit of a.txt, and a program that leaves a mark when it is run.
struct Repository {
  Repository() {
    git("init -q -b main . && git config user.email a@example.org && git config user.name A");
    write_file(dir.str("a.txt"), "one\n");
    git("add a.txt && git commit -q -m 'First commit'");
    write_file(marker_program(), "#!/bin/sh\ntouch '" + marker() + "'\ncat\n");
    ::chmod(marker_program().c_str(), 0755);
  }
  std::string marker() const { return outside.str("fired"); }
  std::string marker_program() const { return outside.str("hostile"); }
  bool fired() const { return std::filesystem::exists(marker()); }

  /// As the person would run it, in the repository.
  std::string git(const std::string& arguments) {
    auto spec = shell_spec("export HOME='" + outside.str() + "'; git " + arguments);
    spec.cwd = dir.str();
    spec.merge_stderr = true;
    return run(spec).out.head;
  }

  Outcome call(const std::string& tool, const std::string& arguments = "{}") {
    ToolRequest request;
    request.session = "s";
    request.call_id = "c";
    request.tool = tool;
    request.arguments = arguments;
    request.policy.roots = {{dir.str(), true}};
    const auto plan = executor->plan(request);
    if (!plan) return Outcome{{}, plan.error().message, true};
    return executor->run(request, *plan, {}, {});
  }
  Json json(const std::string& tool, const std::string& arguments = "{}") {
    return *parse_json(call(tool, arguments).result);
  }

  TempDir dir;
  TempDir outside;
  std::unique_ptr<Executor> executor = make_direct_executor(make_git_tools(), {});
};

}  // namespace

TEST_CASE("git_status and git_diff show changes", "[git]") {
  Repository repo;
  write_file(repo.dir.str("a.txt"), "two\n");
  write_file(repo.dir.str("b.txt"), "new\n");
  const Json status = repo.json("git_status");
  CHECK(status.at("exit_code") == 0);
  CHECK(status.at("stdout") == "## main\n M a.txt\n?? b.txt\n");
  CHECK(status.at("stderr") == "");
  CHECK(status.at("truncated") == false);
  const std::string diff = repo.json("git_diff").at("stdout");
  CHECK(diff.find("-one\n+two\n") != std::string::npos);
  CHECK(repo.json("git_diff", R"({"path":"b.txt"})").at("stdout") == "");
  CHECK(repo.json("git_diff", R"({"staged":true})").at("stdout") == "");
  repo.git("add b.txt");
  const std::string staged = repo.json("git_diff", R"({"staged":true})").at("stdout");
  CHECK(staged.find("+new") != std::string::npos);
}

TEST_CASE("git_log lists commits", "[git]") {
  Repository repo;
  repo.git("commit -q --allow-empty -m 'Second \"commit\"'");
  const Json log = repo.json("git_log");
  CHECK(log.at("count") == 2);
  CHECK(log.at("commits")[0].at("subject") == "Second \"commit\"");
  CHECK(log.at("commits")[0].at("author") == "A");
  CHECK(log.at("commits")[1].at("hash").get<std::string>().size() == 40);
  CHECK(log.at("commits")[1].at("hash").get<std::string>() + "\n" == repo.git("rev-parse HEAD~1"));
  CHECK(repo.json("git_log", R"({"max_count":1})").at("count") == 1);
  CHECK(repo.json("git_log", R"({"path":"a.txt"})").at("count") == 1);
  CHECK(repo.json("git_log", R"({"max_count":100000})").at("count") == 2);
  CHECK(repo.call("git_log", R"({"max_count":0})").result.find("at least 1, not 0") !=
        std::string::npos);
}

TEST_CASE("a path outside the workspace is refused, an option stays a path", "[git]") {
  Repository repo;
  CHECK(repo.call("git_diff", R"({"path":"../x"})").is_error);
  CHECK(repo.call("git_log", R"({"path":"/etc"})").is_error);
  repo.call("git_diff", R"({"path":"--output=written"})");
  CHECK_FALSE(std::filesystem::exists(repo.dir.str("written")));
  CHECK(repo.json("git_log", R"({"path":"*.txt"})").at("count") == 0);  // no pattern
}

TEST_CASE("a workspace without a repository gets git's own words", "[git]") {
  Repository repo;
  std::filesystem::remove_all(repo.dir.str(".git"));
  const Outcome outcome = repo.call("git_status");
  CHECK_FALSE(outcome.is_error);
  const Json status = *parse_json(outcome.result);
  CHECK(status.at("exit_code") == 128);
  CHECK(status.at("stderr").get<std::string>().find("not a git repository") != std::string::npos);
  CHECK(repo.json("git_log").at("error").get<std::string>().find("not a git repository") !=
        std::string::npos);
}

TEST_CASE("long output is cut at its head", "[git]") {
  Repository repo;
  std::string euros;
  for (int i = 0; i < 30'000; ++i) euros += "\xe2\x82\xac";
  write_file(repo.dir.str("a.txt"), euros + "\n");
  const Json diff = repo.json("git_diff");
  CHECK(diff.at("truncated") == true);
  const std::string text = diff.at("stdout");
  CHECK(text.starts_with("diff --git"));
  CHECK(text.size() > 50'000);
  CHECK(text.size() <= 60'000);
  CHECK(text.ends_with("\xe2\x82\xac"));
}

TEST_CASE("nothing that a repository names is run", "[git]") {
  Repository repo;
  const std::string hostile = repo.marker_program();
  auto attack = [&](const std::string& setup) {
    repo.git(setup);
    write_file(repo.dir.str("a.txt"), "two\n");
    std::filesystem::remove(repo.marker());
  };
  auto call_all = [&] {
    CHECK(repo.json("git_status").at("exit_code") == 0);
    CHECK(repo.json("git_diff").at("exit_code") == 0);
    CHECK(repo.json("git_diff", R"({"staged":true})").at("exit_code") == 0);
    CHECK(repo.json("git_log").at("count") == 1);
    CHECK_FALSE(repo.fired());
  };
  // Each attack is first seen to work on plain git, so that the check can fail.
  struct Case {
    const char* name;
    std::string setup;
    std::string attributes;
    std::string proof;
  };
  const std::string q = "'" + hostile + "'";
  for (const Case& c : {
           Case{"fsmonitor", "config core.fsmonitor " + q, "", "status"},
           Case{"external diff", "config diff.external " + q, "", "diff"},
           Case{"textconv", "config diff.evil.textconv " + q, "*.txt diff=evil", "diff"},
           Case{"diff driver", "config diff.evil.command " + q, "*.txt diff=evil", "diff"},
           Case{"clean filter", "config filter.evil.clean " + q, "*.txt filter=evil", "diff"},
           Case{"odd name", "config filter.e.v=i\\ l.clean " + q, "*.txt filter=e.v=i\\ l", ""},
           Case{"process filter",
                "config filter.evil.process " + q +
                    "; git config "
                    "filter.evil.required true",
                "*.txt filter=evil", "diff"},
           Case{"included",
                "config include.path evil.inc; git config -f .git/evil.inc "
                "filter.evil.clean " +
                    q,
                "*.txt filter=evil", "diff"},
           Case{"hook",
                "config core.hooksPath .git/evil; mkdir -p .git/evil; cp " + q +
                    " .git/evil/post-index-change",
                "", "add -A"},
           Case{"alias",
                "config alias.status '!" + hostile + "'; git config alias.st '!" + hostile + "'",
                "", "st"},
       }) {
    CAPTURE(c.name);
    std::filesystem::copy(repo.dir.str(".git"), repo.outside.str("saved"),
                          std::filesystem::copy_options::recursive);
    attack(c.setup);
    if (!c.attributes.empty()) write_file(repo.dir.str(".gitattributes"), c.attributes + "\n");
    if (!c.proof.empty()) {
      repo.git(c.proof);
      CHECK(repo.fired());
      std::filesystem::remove(repo.marker());
      repo.git("reset -q");
    }
    std::filesystem::remove(repo.marker());
    call_all();
    std::filesystem::remove_all(repo.dir.str(".git"));
    std::filesystem::remove(repo.dir.str(".gitattributes"));
    std::filesystem::rename(repo.outside.str("saved"), repo.dir.str(".git"));
  }
}

TEST_CASE("a signature check of the repository is not run", "[git]") {
  Repository repo;
  repo.git("config gpg.program '" + repo.marker_program() + "'; git config log.showSignature true");
  // A commit object that carries a signature.
  repo.git(
      "cat-file commit HEAD | sed '/^committer/a gpgsig -----BEGIN PGP SIGNATURE-----\\n x\\n "
      "-----END PGP SIGNATURE-----' | git hash-object -t commit -w --stdin >id; git update-ref "
      "HEAD $(cat id)");
  repo.git("log");
  CHECK(repo.fired());
  std::filesystem::remove(repo.marker());
  CHECK(repo.json("git_log").at("count") == 1);
  CHECK_FALSE(repo.fired());
}

TEST_CASE("a partial clone fetches nothing", "[git]") {
  Repository repo;
  write_file(repo.marker_program(), "#!/bin/sh\ntouch '" + repo.marker() + "'\n");
  repo.git(
      "config core.repositoryFormatVersion 1; git config extensions.partialClone origin; git "
      "config remote.origin.url . ; git config remote.origin.promisor true; git config "
      "remote.origin.uploadpack '" +
      repo.marker_program() +
      "'; rm -f .git/objects/$(git "
      "rev-parse HEAD:a.txt | sed 's,^..,&/,')");
  write_file(repo.dir.str("a.txt"), "two\n");
  repo.git("diff");
  CHECK(repo.fired());
  std::filesystem::remove(repo.marker());
  repo.call("git_diff");
  repo.call("git_log");
  repo.call("git_status");
  CHECK_FALSE(repo.fired());
}

TEST_CASE("a submodule's settings are not obeyed", "[git]") {
  Repository repo;
  repo.git(
      "init -q -b main sub && cd sub && git config user.email a@example.org && git config "
      "user.name A && git commit -q --allow-empty -m s && cd .. && git add sub 2>/dev/null && "
      "git commit -q -m 'Add sub'; git -C sub config core.fsmonitor '" +
      repo.marker_program() + "'; git config diff.submodule diff");
  repo.git("status");
  CHECK(repo.fired());
  std::filesystem::remove(repo.marker());
  CHECK(repo.json("git_status").at("exit_code") == 0);
  CHECK(repo.json("git_diff").at("exit_code") == 0);
  CHECK_FALSE(repo.fired());
}

TEST_CASE("reading does not write the index", "[git]") {
  Repository repo;
  const auto before = read_file(repo.dir.str(".git/index"));
  write_file(repo.dir.str("a.txt"), "one\n");  // same content, other times
  CHECK(repo.json("git_status").at("stdout") == "## main\n");
  CHECK(read_file(repo.dir.str(".git/index")) == before);
}
