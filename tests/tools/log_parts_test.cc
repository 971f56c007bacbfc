// Which files are parts of one log, and what is told of them.
#include "tools/log_parts.h"

#include <fmt/format.h>
#include <zstd.h>

#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/support/cli.h"
#include "tests/support/temp_dir.h"
#include "tests/tools/codex_counters.h"
#include "tests/tools/log_reading.h"
#include "tools/log_import.h"

namespace daybook::tests {
namespace {

namespace fs = std::filesystem;
using Paths = std::vector<std::string>;

/// The names of the files of each source, in order; "+" stands before those that others tell.
std::vector<Paths> joined(const TempDir& dir) {
  std::vector<Paths> made;
  for (const tools::LogSource& source : tools::join_parts(discovered({dir.str()}).sources)) {
    Paths& files = made.emplace_back();
    const auto add = [&](const tools::LogSource& file) {
      files.push_back((files.size() < source.told ? "+" : "") +
                      file.path.substr(dir.str().size() + 1));
    };
    add(source);
    for (const tools::LogSource& file : source.rest) add(file);
  }
  std::ranges::sort(made);
  return made;
}

std::string claude_line(int number, int parent, const std::string& session,
                        const std::string& more = "") {
  const auto uuid = [&](int n) { return fmt::format(R"("{}-{}")", session, n); };
  return fmt::format(
      R"({{"parentUuid":{},"sessionId":"{}","type":"user","uuid":{},)"
      R"("timestamp":"2026-10-01T10:00:{:02}.000Z",{}"message":{{"role":"user","content":"go"}}}})"
      "\n",
      parent == 0 ? "null" : uuid(parent), session, uuid(number), number, more);
}

/// Lines `from` to before `to`, each the child of the one before it.
std::string claude_lines(int from, int to, const std::string& session) {
  std::string made;
  for (int i = from; i < to; ++i) made += claude_line(i, i - 1, session);
  return made;
}

std::string codex_line(int second, const std::string& type, const std::string& payload) {
  return fmt::format(R"({{"timestamp":"2026-10-02T10:00:{:02}.000Z","type":"{}","payload":{}}})"
                     "\n",
                     second, type, payload);
}

std::string codex_header(int second, const std::string& thread) {
  return codex_line(second, "session_meta", fmt::format(R"({{"id":"{}","cwd":"/p"}})", thread));
}

/// A response of 100 more tokens.
std::string codex_answer(int number) {
  return codex_line(2 * number, "response_item",
                    R"({"type":"message","role":"assistant","content":[]})") +
         codex_line(
             2 * number + 1, "event_msg",
             codex_token_count(codex_usage(100 * number, 0, 10 * number), codex_usage(100, 0, 10)));
}

void write_packed(const fs::path& path, const std::string& text) {
  std::string packed(ZSTD_compressBound(text.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), text.data(), text.size(), 3));
  write_file(path, packed);
}

std::string rollout_name(const std::string& behind) {
  return "rollout-2026-10-02T10-00-00-" + behind + ".jsonl";
}

TEST_CASE("parts of a transcript are one log, whatever they are called") {
  const TempDir dir;
  write_file(dir.path() / "c.jsonl", claude_lines(1, 4, "s"));
  write_file(dir.path() / "a.jsonl", claude_lines(4, 6, "s"));
  write_file(dir.path() / "b.jsonl", claude_lines(6, 9, "s"));
  write_file(dir.path() / "other.jsonl", claude_lines(1, 4, "t"));
  CHECK(joined(dir) == std::vector<Paths>{{"c.jsonl", "a.jsonl", "b.jsonl"}, {"other.jsonl"}});
}

TEST_CASE("a part is found by the parent of its first line, also when that is not the last one") {
  const TempDir dir;
  // The rest begins before the first part ends: a rewind while an answer came.
  write_file(dir.path() / "a.jsonl", claude_lines(1, 4, "s") + claude_line(7, 3, "s"));
  write_file(dir.path() / "b.jsonl", claude_line(6, 2, "s") + claude_line(8, 6, "s"));
  CHECK(joined(dir) == std::vector<Paths>{{"a.jsonl", "b.jsonl"}});
}

TEST_CASE("subagents, copies and logs whose beginning is gone go on from nothing") {
  const TempDir dir;
  write_file(dir.path() / "s.jsonl", claude_lines(1, 6, "s"));
  write_file(dir.path() / "copy.jsonl", claude_lines(1, 6, "s"));
  write_file(dir.path() / "shorter.jsonl", claude_lines(1, 4, "s"));
  write_file(dir.path() / "agent-x.jsonl", claude_line(7, 0, "s", R"("agentId":"x",)"));
  write_file(dir.path() / "late.jsonl", claude_lines(5, 8, "t"));
  CHECK(joined(dir) ==
        std::vector<Paths>{
            {"agent-x.jsonl"}, {"copy.jsonl"}, {"late.jsonl"}, {"s.jsonl"}, {"shorter.jsonl"}});
}

TEST_CASE("a copy of a part is read behind what comes before it, which is told once") {
  const TempDir dir;
  write_file(dir.path() / "a.jsonl", claude_lines(1, 4, "s"));
  write_file(dir.path() / "b.jsonl", claude_lines(4, 8, "s"));
  write_file(dir.path() / "b-earlier.jsonl", claude_lines(4, 6, "s"));
  const auto files = joined(dir);
  CHECK(files == std::vector<Paths>{{"+a.jsonl", "b.jsonl"}, {"a.jsonl", "b-earlier.jsonl"}});
}

TEST_CASE("parts of a rollout are found by their names, one that begins in a whole log, too") {
  const TempDir dir;
  const std::string head = codex_header(1, "0a99");
  write_file(dir.path() / rollout_name("0a99"), head + codex_answer(1));
  write_file(dir.path() / rollout_name("0a99_3"), codex_answer(2) + codex_answer(3));
  write_file(dir.path() / rollout_name("0a99_2"), codex_answer(4));
  write_file(dir.path() / "whole.jsonl",
             head + codex_answer(1) + codex_answer(2) + codex_answer(3) + codex_answer(4));
  const std::string name = rollout_name("0a99");
  CHECK(joined(dir) == std::vector<Paths>{{"+whole.jsonl", rollout_name("0a99_2")},
                                          {"+whole.jsonl", rollout_name("0a99_3")},
                                          {name},
                                          {"whole.jsonl"}});
  const Read read = figures_of({dir.str()});
  CHECK(totals_of(read.calls) == Totals{4, 400, 0, 0, 40});
}

TEST_CASE("a part goes on from the one that ends before it, not from a copy of some of that") {
  const TempDir dir;
  const std::string third = codex_answer(3);
  write_file(dir.path() / rollout_name("0a99"), codex_header(1, "0a99") + codex_answer(1));
  write_file(dir.path() / rollout_name("0a99_2"), codex_answer(2) + third);
  for (const std::string copy : {"0a99_1b", "0a99_2b"}) {
    write_file(dir.path() / rollout_name(copy), third.substr(0, third.find('\n') + 1));
  }
  write_file(dir.path() / rollout_name("0a99_3"), codex_answer(4));
  CHECK(totals_of(figures_of({dir.str()}).calls) == Totals{4, 400, 0, 0, 40});
}

TEST_CASE("none goes on from a line that is being written") {
  const TempDir dir;
  write_file(dir.path() / "a.jsonl", claude_lines(1, 4, "s") + R"({"parentUuid":"s-3","uu)");
  write_file(dir.path() / "b.jsonl", claude_lines(4, 6, "s"));
  CHECK(joined(dir) == std::vector<Paths>{{"a.jsonl"}, {"b.jsonl"}});
  write_file(dir.path() / rollout_name("0a99"), codex_header(1, "0a99") + "{torn");
  write_file(dir.path() / rollout_name("0a99_2"), codex_answer(1));
  CHECK(joined(dir).size() == 4);
}

TEST_CASE(
    "parts may be compressed, end without a line break, and hold damage, which is told once") {
  const TempDir dir;
  write_file(dir.path() / rollout_name("0a99"), codex_header(1, "0a99") + codex_answer(1));
  std::string second = codex_answer(2) + "{torn\n" + codex_answer(3);
  second.pop_back();
  const std::string name = rollout_name("0a99_2") + ".zst";
  write_packed(dir.path() / name, second);
  write_file(dir.path() / rollout_name("0a99_3"), codex_answer(4));
  write_file(dir.path() / rollout_name("0a99_4"), codex_answer(5));
  const Read read = figures_of({dir.str()});
  CHECK(totals_of(read.calls) == Totals{5, 500, 0, 0, 50});
  REQUIRE(read.report.damage.size() == 1);
  CHECK(read.report.damaged == 1);
  CHECK(read.report.damage[0].file == dir.str(name));
  CHECK(read.report.damage[0].offset == codex_answer(2).size());
  CHECK(read.report.calls == 5);
  CHECK(read.report.notes == std::vector<std::string>{});
}

TEST_CASE("of a compressed copy that is longer, what lies before a part is read") {
  const TempDir dir;
  const std::string head = codex_header(1, "0a99") + codex_answer(1);
  write_file(dir.path() / rollout_name("0a99"), head);
  write_file(dir.path() / rollout_name("0a99_2"), codex_answer(2));
  write_packed(dir.path() / "whole.jsonl.zst", head + codex_answer(2) + codex_answer(3));
  const Read read = figures_of({dir.str()});
  CHECK(totals_of(read.calls) == Totals{3, 300, 0, 0, 30});
  CHECK(read.report.damaged == 0);
}

TEST_CASE("the kind of a subagent is told by whatever file of its log lies beside it") {
  const TempDir dir;
  const auto answer = [](int number, int parent) {
    return fmt::format(
        R"({{"parentUuid":{},"sessionId":"s","agentId":"x","isSidechain":true,"type":"assistant",)"
        R"("uuid":"s-{}","timestamp":"2026-10-01T10:00:{:02}.000Z","message":{{"id":"m{}",)"
        R"("model":"claude-sonnet-5","stop_reason":"end_turn","content":[],"usage":)"
        R"({{"input_tokens":100,"output_tokens":10}}}}}})"
        "\n",
        parent == 0 ? "null" : fmt::format(R"("s-{}")", parent), number, number, number);
  };
  const auto agents = [&] {
    std::vector<std::string> all;
    for (const replay::Call& call : figures_of({dir.str()}).calls) {
      all.push_back(call.session->agent);
    }
    return all;
  };
  const std::vector<std::string> both = {"explorer", "explorer"};
  fs::create_directories(dir.path() / "apart");
  write_file(dir.path() / "agent-x.meta.json", R"({"agentType":"explorer"})");
  // A copy, the first part, or a shorter file of the same name.
  const std::string one = answer(1, 0), two = answer(2, 1);
  write_file(dir.path() / "agent-x.jsonl", one + two);
  write_file(dir.path() / "apart" / "k.jsonl", one + two);
  CHECK(agents() == both);
  Cli cli;
  const std::string table = cli.run({"cost", "--json", "--by", "agent", dir.str()}).out;
  CHECK_THAT(table, Catch::StartsWith(R"({"line":"row","agent":"explorer","calls":2,)"));
  write_file(dir.path() / "agent-x.jsonl", two);
  write_file(dir.path() / "apart" / "k.jsonl", one);
  CHECK(agents() == both);
  fs::remove(dir.path() / "apart" / "k.jsonl");
  write_file(dir.path() / "agent-x.jsonl", one);
  write_file(dir.path() / "apart" / "agent-x.jsonl", one + two);
  CHECK(agents() == both);
}

TEST_CASE("a part that makes no session is counted as none") {
  const TempDir dir;
  write_file(dir.path() / rollout_name("0a99"), codex_header(1, "0a99"));
  write_file(dir.path() / rollout_name("0a99_2"), codex_answer(1));
  Cli cli;
  for (const bool dry : {true, false}) {
    INFO((dry ? "dry" : "for good"));
    std::vector<std::string> arguments = {"import", dir.str()};
    if (dry) arguments.emplace_back("--dry-run");
    CHECK_THAT(cli.run(arguments).out, Catch::Contains(" 1 new session,"));
  }
}

TEST_CASE("a file to which several paths lead is read once") {
  const TempDir dir;
  write_file(dir.path() / "m.jsonl", claude_line(1, 0, "s") + "{torn\n");
  fs::create_symlink(dir.path() / "m.jsonl", dir.path() / "a.jsonl");
  fs::create_symlink("m.jsonl", dir.path() / "z.jsonl");
  const auto paths_of = [](const std::vector<std::string>& given) {
    Paths paths;
    for (const auto& source : discovered(given).sources) paths.push_back(source.path);
    return paths;
  };
  CHECK(paths_of({dir.str()}) == Paths{dir.str("m.jsonl")});
  CHECK(paths_of({dir.str("a.jsonl"), dir.str("z.jsonl")}) == Paths{dir.str("a.jsonl")});
}

TEST_CASE("damage in what two parts go on from is told once") {
  const TempDir dir;
  write_file(dir.path() / rollout_name("0a99"),
             codex_header(1, "0a99") + "{torn\n" + codex_answer(1));
  write_file(dir.path() / rollout_name("0a99_2"), codex_answer(2));
  write_file(dir.path() / rollout_name("0a99_3"), codex_answer(2) + codex_answer(3));
  const Read read = figures_of({dir.str()});
  CHECK(totals_of(read.calls) == Totals{3, 300, 0, 0, 30});
  REQUIRE(read.report.damage.size() == 1);
  CHECK(read.report.damage[0].file == dir.str(rollout_name("0a99")));
  CHECK(read.report.bytes == 2 * codex_answer(2).size() + codex_answer(3).size() +
                                 codex_header(1, "0a99").size() + 6 + codex_answer(1).size());
}

TEST_CASE("none goes on from a file that cannot be read to its end") {
  const TempDir dir;
  std::string first = codex_header(1, "0a99");
  for (int i = 1; i < 3000; ++i) {
    first += codex_line(2, "response_item", fmt::format(R"({{"type":"other","id":"{}"}})", i * i));
  }
  std::string packed(ZSTD_compressBound(first.size()), '\0');
  packed.resize(ZSTD_compress(packed.data(), packed.size(), first.data(), first.size(), 3) - 4);
  write_file(dir.path() / (rollout_name("0a99") + ".zst"), packed);
  write_file(dir.path() / rollout_name("0a99_2"), codex_answer(2));
  CHECK(joined(dir).size() == 2);
}

TEST_CASE(
    "parts that begin in one moment are imported in the order of their ends, or of their names") {
  const TempDir dir;
  const auto order_of = [&] {
    const auto found = discovered({dir.str()});
    Paths names;
    for (const std::size_t i : tools::import_order(found.sources)) {
      names.push_back(found.sources[i].path.substr(dir.str().size() + 1));
    }
    return names;
  };
  for (const std::string session : {"s", "t", "u", "v", "w"}) {
    write_file(dir.path() / "b.jsonl", claude_line(5, 4, session));
    write_file(dir.path() / "a.jsonl", claude_line(5, 4, session) + claude_line(6, 5, session));
    CHECK(order_of() == Paths{"b.jsonl", "a.jsonl"});
  }
  fs::remove(dir.path() / "a.jsonl");
  fs::remove(dir.path() / "b.jsonl");
  for (const std::string text : {"v", "w", "x", "y", "z"}) {
    const auto item = [&](const std::string& id) {
      return codex_line(3, "response_item", fmt::format(R"({{"type":"other","id":"{}"}})", id));
    };
    write_file(dir.path() / rollout_name("0a99_9"), item(text));
    write_file(dir.path() / rollout_name("0a99_10"), item(text + text));
    CHECK(order_of() == Paths{rollout_name("0a99_9"), rollout_name("0a99_10")});
  }
}

TEST_CASE("files that hold each other's first lines are no circle") {
  const TempDir dir;
  const std::string a = claude_line(4, 3, "s"), b = claude_line(5, 4, "s");
  write_file(dir.path() / "a.jsonl", a + b + claude_line(6, 5, "s"));
  write_file(dir.path() / "b.jsonl", b + a + claude_line(7, 6, "s"));
  write_file(dir.path() / "c.jsonl", b + a);
  std::size_t files = 0;
  for (const Paths& source : joined(dir)) {
    for (const std::string& file : source) files += file.starts_with('+') ? 0 : 1;
  }
  CHECK(files == 3);
}

}  // namespace
}  // namespace daybook::tests
