// What an import says of what it cannot use, and that it goes on behind it.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/journal_events.h"
#include "tests/tools/importing.h"

namespace daybook::tests {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

std::string claude_line(const std::string& session, int at, const std::string& rest) {
  return fmt::format(R"({{"cwd":"/home/dev/shop","sessionId":"{}","uuid":"{}-{}",)"
                     R"("timestamp":"2026-10-01T10:00:{:02}Z",{}}})",
                     session, session, at, at, rest) +
         "\n";
}

std::string asked(const std::string& session, int at) {
  return claude_line(session, at, R"("type":"user","message":{"role":"user","content":"look"})");
}

std::string answered(const std::string& session, int at, const std::string& id,
                     const std::string& usage) {
  return claude_line(session, at,
                     R"("type":"assistant","message":{"id":")" + id +
                         R"(","role":"assistant","model":"claude-sonnet-5","stop_reason":)"
                         R"("end_turn","content":[{"type":"text","text":"ok"}],"usage":)" +
                         usage + "}");
}

const std::string kUsage = R"({"input_tokens":3,"cache_read_input_tokens":100,"output_tokens":20})";

/// Runs `import` and gives its text.
CliRun imported(Cli& cli, const std::vector<std::string>& paths) {
  std::vector<std::string> arguments = {"import"};
  arguments.insert(arguments.end(), paths.begin(), paths.end());
  return cli.run(arguments);
}

Json session_row(Cli& cli, std::size_t row = 0) {
  return json_lines(cli.run({"sessions", "--json"}).out).at(row);
}

std::string codex(const std::string& figures) {
  return R"({"timestamp":"2026-10-02T10:00:01Z","type":"session_meta","payload":{"id":"9b01",)"
         R"("cwd":"/w","cli_version":"0.150.0"}})"
         "\n"
         R"({"timestamp":"2026-10-02T10:00:02Z","type":"turn_context","payload":{"model":"m"}})"
         "\n"
         R"({"timestamp":"2026-10-02T10:00:03Z","type":"response_item","payload":)"
         R"({"type":"message","role":"user","content":[{"type":"input_text","text":"Fix"}]}})"
         "\n"
         R"({"timestamp":"2026-10-02T10:00:04Z","type":"response_item","payload":)"
         R"({"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}})"
         "\n" +
         figures +
         "\n"
         R"({"timestamp":"2026-10-02T10:00:06Z","type":"event_msg","payload":)"
         R"({"type":"task_complete","turn_id":"t"}})"
         "\n";
}

std::string record(const std::string& usage) {
  return R"({"timestamp":"2026-10-02T10:00:05Z","type":"token_usage_record","payload":)"
         R"({"thread_id":"9b01","session_id":"9b01","response_id":"r1","usage":)" +
         usage + "}}";
}

std::string counter(const std::string& usage) {
  return R"({"timestamp":"2026-10-02T10:00:05Z","type":"event_msg","payload":)"
         R"({"type":"token_count","info":{"total_token_usage":)" +
         usage + R"(,"last_token_usage":)" + usage + "}}}";
}

struct Log {
  std::string file;
  std::string text;
};

/// The one call of a log, the same as figures and as events.
replay::Call only_call(const Log& log, std::uint64_t damaged) {
  INFO(log.text);
  const TempDir dir;
  write_file(dir.path() / log.file, log.text);
  Read read = figures_of({dir.str()});
  CHECK(read.report.damaged == damaged);
  Cli cli;
  const CliRun run = imported(cli, {dir.str()});
  INFO(run.out);
  CHECK(run.code == (damaged == 0 ? 0 : 10));
  if (damaged > 0) CHECK_THAT(run.out, Contains(log.file + ", offset "));
  const auto stored = journalled(cli);
  REQUIRE(stored.size() == 1);
  REQUIRE(read.calls.size() == 1);
  CHECK(stored[0].usage == read.calls[0].usage);
  CHECK(stored[0].id == read.calls[0].id);
  return std::move(read.calls[0]);
}

const std::string kRollout = "rollout-2026-10-02T10-00-00-9b01.jsonl";

TEST_CASE("import: a figure that is null is absent, and the others are exact") {
  const auto of = [](const std::string& usage) {
    return only_call({"c.jsonl", asked("c", 1) + answered("c", 2, "m1", usage)}, 0);
  };
  const auto claude = of(R"({"input_tokens":3,"cache_read_input_tokens":null,"output_tokens":20})");
  CHECK(claude.usage.input_uncached == 3u);
  CHECK_FALSE(claude.usage.cache_read);
  CHECK(claude.usage.output == 20u);
  CHECK_FALSE(of(R"({"input_tokens":null,"output_tokens":null})").usage.any());
  const auto codex_call = only_call(
      {kRollout, codex(record(R"({"input_tokens":900,"cached_input_tokens":null,)"
                              R"("output_tokens":null,"reasoning_output_tokens":null})"))},
      0);
  CHECK(codex_call.usage.input_total == 900u);
  CHECK_FALSE(codex_call.usage.input_uncached);
  CHECK_FALSE(codex_call.usage.cache_read);
  CHECK_FALSE(codex_call.usage.output);
  CHECK_FALSE(codex_call.usage.reasoning);
}

TEST_CASE("import: a figure that can be no count is damage, and none beside it counts") {
  for (const std::string figure : {"-5", "1.5", "99999999999999999999", "1000000001", "\"many\""}) {
    INFO(figure);
    const std::string claude =
        R"({"input_tokens":3,"cache_read_input_tokens":100,"output_tokens":)" + figure + "}";
    CHECK_FALSE(
        only_call({"c.jsonl", asked("c", 1) + answered("c", 2, "m1", claude)}, 1).usage.any());
    const std::string used = R"({"input_tokens":)" + figure + R"(,"output_tokens":5})";
    CHECK_FALSE(only_call({kRollout, codex(record(used))}, 1).usage.any());
    const std::string ow =
        R"({"role":"user","content":"a","ts":1759398000.5})"
        "\n"
        R"({"role":"assistant","content":"b","ts":1759398001.5,"usage":{"model":"p:m","input":1,)"
        R"("output":)" +
        figure + "}}\n";
    CHECK_FALSE(only_call({"ow.jsonl", ow}, 1).usage.any());
    const std::string atif =
        R"({"schema_version":"ATIF-v1.7","session_id":"t","agent":{"name":"w"},"steps":[)"
        R"({"step_id":1,"timestamp":"2026-10-03T09:00:05Z","source":"agent","message":"a",)"
        R"("metrics":{"completion_tokens":4,"prompt_tokens":)" +
        figure + "}}]}\n";
    CHECK_FALSE(only_call({"trajectory.json", atif}, 1).usage.any());
  }
  // The largest that counts; and counters over a whole thread go further.
  const auto most = only_call(
      {"c.jsonl", asked("c", 1) + answered("c", 2, "m1", R"({"output_tokens":1000000000})")}, 0);
  CHECK(most.usage.output == 1'000'000'000u);
  CHECK_FALSE(only_call({kRollout, codex(counter(R"({"input_tokens":-1,"output_tokens":5})"))}, 1)
                  .usage.any());
}

TEST_CASE("import: another line of the response stands in for damaged figures") {
  const auto call =
      only_call({"c.jsonl", asked("c", 1) + answered("c", 2, "m1", R"({"output_tokens":-1})") +
                                answered("c", 3, "m1", kUsage)},
                1);
  CHECK(call.usage.output == 20u);
}

TEST_CASE("import: a session takes folder and start from the first line that tells them") {
  const TempDir dir;
  write_file(dir.path() / "c.jsonl",
             R"({"type":"file-history-snapshot","sessionId":"c","messageId":"x"})"
             "\n"
             R"({"type":"summary","summary":"s","leafUuid":"c-2"})"
             "\n" +
                 asked("c", 1) + answered("c", 2, "m1", kUsage));
  CHECK(figures_of({dir.str()}).calls.at(0).session->project == "/home/dev/shop");
  Cli cli;
  import(cli, {dir.str()});
  const Json row = session_row(cli);
  CHECK(row.at("workspace") == "/home/dev/shop");
  CHECK(row.at("started_at") == "2026-10-01T10:00:01.000000000Z");
}

TEST_CASE("import: lines without a prompt or an answer make no session") {
  const TempDir dir;
  write_file(dir.path() / "c.jsonl",
             R"({"type":"summary","summary":"s","leafUuid":"c-2"})"
             "\n"
             R"({"type":"file-history-snapshot","sessionId":"c","messageId":"x"})"
             "\n");
  Cli cli;
  const CliRun run = imported(cli, {dir.str()});
  CHECK(run.code == 0);
  CHECK_THAT(run.out, Contains("no session is made of them"));
  CHECK(cli.run({"sessions", "--json"}).out.empty());
}

TEST_CASE("import: lines before the first that names its session are kept with it") {
  const TempDir dir;
  Cli cli;
  write_file(dir.path() / "any-name.jsonl",
             "{\"type\":\"user\",\"sess\n"
             R"({"type":"hologram","leafUuid":"x"})"
             "\n"
             R"({"type":"summary","summary":"s","leafUuid":"y"})"
             "\n" +
                 asked("s1", 1) + answered("s1", 2, "m1", kUsage));
  const CliRun run = imported(cli, {dir.str()});
  CHECK(run.code == 10);
  CHECK_THAT(run.out, !Contains("no session is made"));
  const EventSink held = held_by(cli);
  REQUIRE(held.sessions.size() == 1);
  std::multiset<std::string> kept;
  for (const Json& event : json_lines(cli.run({"log", "claude-s1"}).out)) {
    if (event["payload_type"] == "ImportedLine") kept.insert(event["payload"]["reason"]);
  }
  CHECK(kept == std::multiset<std::string>{"damaged", "metadata", "unmapped"});
}

TEST_CASE("import: a log that tells no time has none") {
  const TempDir dir;
  write_file(dir.path() / "trajectory.json",
             R"({"schema_version":"ATIF-v1.7","session_id":"t","agent":{"name":"w"},"steps":[)"
             R"({"step_id":1,"source":"user","message":"a"}]})");
  Cli cli;
  import(cli, {dir.str()});
  CHECK(session_row(cli).at("started_at").is_null());
  CHECK_THAT(cli.run({"sessions"}).out, !Contains("1970"));
}

TEST_CASE("import: lines that are not understood are named with file and offset") {
  const TempDir dir;
  const std::string first = asked("c", 1);
  write_file(dir.path() / "c.jsonl", first + claude_line("c", 2, R"("type":"")") +
                                         claude_line("c", 3, R"("type":"hologram")") +
                                         claude_line("c", 4, R"("type":"hologram")"));
  Cli cli;
  const CliRun run = imported(cli, {dir.str()});
  CHECK(run.code == 10);
  CHECK_THAT(run.out, Contains(fmt::format("not understood: 1 line without a type: {}, offset {}\n",
                                           dir.str("c.jsonl"), first.size())));
  CHECK_THAT(run.out, Contains("not understood: 2 lines of type 'hologram', the first in " +
                               dir.str("c.jsonl") + ", offset "));
}

TEST_CASE("import: counts of one are singular") {
  const TempDir dir;
  write_file(dir.path() / "c.jsonl", asked("c", 1) + answered("c", 2, "m1", kUsage));
  Cli cli;
  CHECK_THAT(imported(cli, {dir.str()}).out,
             Contains("imported: 1 file (0 unchanged), 1 new session, "));
}

TEST_CASE("import: a clashing export is named, and the other files are imported") {
  Cli from = with_demo();
  const TempDir dir;
  write_file(dir.path() / "a.jsonl", from.run({"export", "demo"}).out);
  write_file(dir.path() / "c.jsonl", asked("c", 1) + answered("c", 2, "m1", kUsage));
  Cli other;
  MemoryJournal journal(other.store);
  auto pen = pen_for(session_id("demo"));
  REQUIRE(append_and_wait(journal, acquire(pen)).has_value());
  REQUIRE(append_and_wait(journal, notice(pen, "another session of that name")).has_value());
  const CliRun run = imported(other, {dir.str()});
  CHECK(run.code == 10);
  CHECK_THAT(run.out, Contains("not read: " + dir.str("a.jsonl") +
                               ": the journal holds another session demo"));
  CHECK(journalled(other).size() == 1);
}

TEST_CASE("import: an export that was cut off between two lines is a loss") {
  Cli from = with_demo();
  const std::string whole = from.run({"export", "demo"}).out;
  const TempDir dir;
  write_file(dir.path() / "a.jsonl", whole.substr(0, whole.find("{\"line\":\"end\"")));
  Cli to;
  const CliRun run = imported(to, {dir.str()});
  CHECK(run.code == 10);
  CHECK_THAT(run.out, Contains("a.jsonl, offset ") && Contains("the export of demo lacks its end"));
}

TEST_CASE("import: exports one behind the other are all put back") {
  Cli from;
  MemoryJournal journal(from.store);
  write_demo(journal, "demo");
  write_demo(journal, "other");
  const std::string demo = from.run({"export", "demo"}).out;
  const std::string other = from.run({"export", "other"}).out;
  const TempDir dir;
  write_file(dir.path() / "both.jsonl", demo + other);
  Cli to;
  const Json sum = import(to, {dir.str()});
  CHECK(sum.at("new_sessions") == 2);
  CHECK(to.run({"export", "demo"}).out == demo);
  CHECK(to.run({"export", "other"}).out == other);
  CHECK(figures_of({dir.str()}).report.calls == 4);
  // The first lacks its end: said, and the second is put back nevertheless.
  write_file(dir.path() / "both.jsonl", demo.substr(0, demo.find("{\"line\":\"end\"")) + other);
  Cli cut;
  CHECK_THAT(imported(cut, {dir.str()}).out, Contains("the export of demo lacks its end"));
  CHECK(cut.run({"export", "other"}).out == other);
}

/// Transcripts with copies in each other, an export, and the same file twice.
void write_tree(const TempDir& dir) {
  const std::string old = asked("c", 1) + answered("c", 2, "m1", kUsage);
  fs::create_directories(dir.path() / "x");
  fs::create_directories(dir.path() / "y");
  write_file(dir.path() / "x/c.jsonl", old);
  write_file(dir.path() / "y/c.jsonl", old);
  write_file(dir.path() / "resumed.jsonl", old + asked("c", 3) + answered("c", 4, "m2", kUsage) +
                                               asked("d", 5) + answered("d", 6, "m3", kUsage));
  Cli from = with_demo();
  write_file(dir.path() / "demo.jsonl", from.run({"export", "demo"}).out);
  fs::copy_file(dir.path() / "demo.jsonl", dir.path() / "y/demo.jsonl");
}

TEST_CASE("import: a dry run tells exactly what the import then does") {
  const TempDir dir;
  write_tree(dir);
  Cli cli;
  for (const char* round : {"first", "second"}) {
    INFO(round);
    const Json dry = import(cli, {dir.str(), "--dry-run"});
    const Json real = import(cli, {dir.str()});
    for (const char* key : {"files", "unchanged", "new_sessions", "appended", "known", "calls",
                            "lines", "metadata", "duplicates"}) {
      INFO(key);
      CHECK(dry.at(key) == real.at(key));
    }
    if (std::string(round) == "second") CHECK(real.at("appended") == 0);
  }
}

TEST_CASE("import: what files are called and how they are named does not matter") {
  const TempDir dir;
  const std::string start =
      asked("c", 1) + answered("c", 2, "m1", R"({"input_tokens":3,"output_tokens":5})");
  const std::vector<std::string> texts = {
      start, start + answered("c", 3, "m1", kUsage) + asked("c", 4),
      asked("c", 5) + answered("c", 6, "m2", kUsage), asked("d", 1) + start};
  const auto told = [&](const std::vector<std::string>& names) {
    std::vector<std::string> paths;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      paths.push_back(dir.str(names[i]));
      write_file(paths.back(), texts[i]);
    }
    Cli cli;
    std::ranges::sort(paths, std::greater{});
    import(cli, paths);
    std::string text = cli.run({"sessions", "--json"}).out + cli.run({"cost", "--json"}).out +
                       cli.run({"cost", "--by", "session", "--json"}).out;
    std::vector<std::string> cost = {"cost", "--by", "session", "--json"};
    cost.insert(cost.end(), paths.begin(), paths.end());
    text += cli.run(cost).out;
    for (const std::string& path : paths) fs::remove(path);
    return text;
  };
  const std::string expected = told({"a.jsonl", "b.jsonl", "c.jsonl", "d.jsonl"});
  CHECK_THAT(expected, Contains("claude-c") && Contains("claude-d"));
  CHECK(told({"d.jsonl", "c.jsonl", "b.jsonl", "a.jsonl"}) == expected);
  CHECK(told({"c.jsonl", "a.jsonl", "d.jsonl", "b.jsonl"}) == expected);
}

TEST_CASE("import: links to folders and empty paths are spoken of") {
  const TempDir dir;
  const TempDir elsewhere;
  write_file(elsewhere.path() / "c.jsonl", asked("c", 1) + answered("c", 2, "m1", kUsage));
  fs::create_directories(dir.path() / "logs");
  fs::create_directory_symlink(elsewhere.path(), dir.path() / "logs/linked");
  fs::create_directory_symlink(dir.path() / "logs", dir.path() / "logs/loop");
  fs::create_symlink(dir.path() / "gone", dir.path() / "logs/gone.jsonl");
  write_file(dir.path() / "logs/d.jsonl", asked("d", 1) + answered("d", 2, "m2", kUsage));
  Cli cli;
  const CliRun run = imported(cli, {dir.str("logs")});
  CHECK_THAT(run.out, Contains("not a log: " + dir.str("logs/linked") + ": is a link to a folder"));
  CHECK_THAT(run.out, Contains("not a log: " + dir.str("logs/loop")));
  CHECK_THAT(run.out, Contains("gone.jsonl: is a link that leads to no file"));
  CHECK(import(cli, {dir.str("logs/linked")}).at("calls") == 1);
  const CliRun empty = imported(cli, {""});
  CHECK(empty.code == 2);
  CHECK_THAT(empty.err, Contains("PATH is empty: name a log file or a folder"));
}

TEST_CASE("import: a log that gzip packed is a loss, and not passed over in silence") {
  const TempDir dir;
  write_file(dir.path() / "a.jsonl", asked("a", 1) + answered("a", 2, "m1", kUsage));
  for (const char* name : {"b.jsonl.gz", "c.jsonl"}) {
    write_file(dir.path() / name, std::string("\x1f\x8b\x08\x00", 4) + "packed");
  }
  Cli cli;
  for (const char* command : {"cost", "cache", "import"}) {
    const CliRun run = cli.run({command, dir.str()});
    CHECK(run.code == 10);
    for (const char* name : {"b.jsonl.gz", "c.jsonl"}) {
      CHECK_THAT(run.out + run.err, Contains(dir.str(name) + ": is compressed with gzip"));
    }
  }
}

TEST_CASE("import: where there is no log it ends as the analyses do, and makes no journal") {
  const TempDir dir;
  fs::create_directories(dir.path() / "none");
  fs::create_directories(dir.path() / "others");
  write_file(dir.path() / "others/a.jsonl", "");
  write_file(dir.path() / "others/b.jsonl", R"({"hello":1})"
                                            "\n");
  Cli cli;
  cli.on_disk = true;
  cli.environment["DAYBOOK_HOME"] = dir.str("journal");
  for (const std::string folder : {"none", "others"}) {
    const CliRun import = cli.run({"import", dir.str(folder)});
    const CliRun dry = cli.run({"import", "--dry-run", dir.str(folder)});
    const CliRun cost = cli.run({"cost", dir.str(folder)});
    const CliRun cache = cli.run({"cache", dir.str(folder)});
    CHECK(import.code == 3);
    CHECK(import.out.empty());
    CHECK_THAT(import.err, Contains("there is no log of a known kind in " + dir.str(folder)));
    for (const CliRun& other : {dry, cost, cache}) {
      CHECK(other.code == import.code);
      CHECK(other.err == import.err);
    }
  }
  CHECK_THAT(cli.run({"import", dir.str("others")}).err,
             Contains("a.jsonl is empty; " + dir.str("others/b.jsonl") +
                      " holds no record of a known kind)"));
  CHECK_FALSE(fs::exists(dir.path() / "journal"));
}

}  // namespace
}  // namespace daybook::tests
