// OpenWorker's conversations, ATIF documents, and Daybook's own export.
#include <sqlite3.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/support/cli.h"
#include "tests/support/temp_dir.h"
#include "tests/tools/log_reading.h"

namespace daybook::tests {
namespace {

namespace fs = std::filesystem;

TEST_CASE("openworker: figures beside answers; an answer without them is not measured") {
  // 10/0/900/40 and 12/900/50/8; the third answer has no usage.
  const Read read = figures_of({log_fixture("openworker")});
  CHECK(totals_of(read.calls) == Totals{3, 22, 900, 950, 48});
  CHECK(read.calls[0].provider == "anthropic");
  CHECK(read.calls[0].model() == "claude-sonnet-5");
  CHECK_FALSE(read.calls[2].usage.any());
  EventSink sink;
  read_events({log_fixture("openworker")}, sink);
  const auto calls = calls_of_events(sink);
  CHECK(totals_of(calls) == totals_of(read.calls));
  for (std::size_t i = 0; i < calls.size(); ++i) CHECK(calls[i].id == read.calls[i].id);
  CHECK(payloads<schema::TurnStartedT>(sink, "ow1").size() == 2);
  CHECK(payloads<schema::ToolCompletedT>(sink, "ow1").size() == 1);
  const auto requests = payloads<schema::ModelRequestedT>(sink, "ow1");
  REQUIRE(requests.size() == 3);
  CHECK(requests[1].shared == 1);
  CHECK(requests[1].appended.size() == 2);
}

TEST_CASE("openworker: a conversation of many lines is read to its end") {
  const TempDir dir;
  std::string text = read_file(log_fixture("openworker/conversations/ow1.jsonl"));
  for (int i = 0; i < 300; ++i) {
    text += R"({"role": "user", "content": "more", "ts": 1759398100.0})"
            "\n";
  }
  text += R"({"role": "assistant", "content": "Yes.", "ts": 1759398200.0, "usage": {"model":)"
          R"( "anthropic:claude-sonnet-5", "input": 7, "output": 3}})"
          "\n";
  write_file(dir.path() / "ow1.jsonl", text);
  CHECK(totals_of(figures_of({dir.str()}).calls) == Totals{4, 29, 900, 950, 51});
}

TEST_CASE("openworker: the database tells folder, agent and title") {
  const TempDir dir;
  fs::create_directories(dir.path() / "conversations");
  fs::copy_file(log_fixture("openworker/conversations/ow1.jsonl"),
                dir.path() / "conversations/ow1.jsonl");
  sqlite3* database = nullptr;
  REQUIRE(sqlite3_open(dir.str("coworker.db").c_str(), &database) == SQLITE_OK);
  REQUIRE(sqlite3_exec(database,
                       "CREATE TABLE sessions (session_id TEXT PRIMARY KEY, workspace TEXT, "
                       "model TEXT, title TEXT, agent TEXT);"
                       "INSERT INTO sessions VALUES ('ow1', '/home/dev/ow', "
                       "'anthropic:claude-opus-5', 'Files', 'cowork');",
                       nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(database);
  const Read read = figures_of({dir.str()});
  REQUIRE(read.calls.size() == 3);
  CHECK(read.calls[0].session->project == "/home/dev/ow");
  CHECK(read.calls[0].session->agent == "cowork");
  CHECK(read.calls[0].session->title == "Files");
  CHECK(read.calls[2].model() == "claude-opus-5");
}

TEST_CASE("atif: a document over many lines") {
  // 1000 of which 0 cached / 50, 1200 of which 1000 cached / 30.
  const Read read = figures_of({log_fixture("atif")});
  CHECK(totals_of(read.calls) == Totals{2, 1200, 1000, 0, 80});
  CHECK(read.calls[0].model() == "claude-sonnet-5");
  CHECK(read.calls[1].model() == "claude-haiku-4.5");
  CHECK(read.calls[0].session->agent == "openworker");
  EventSink sink;
  read_events({log_fixture("atif")}, sink);
  CHECK(totals_of(calls_of_events(sink)) == totals_of(read.calls));
  CHECK(payloads<schema::ToolCompletedT>(sink, "trial-1").size() == 1);
}

TEST_CASE("an export goes back into another journal byte for byte, once") {
  Cli from = with_demo();
  const CliRun exported = from.run({"export", "demo"});
  REQUIRE(exported.code == 0);
  const TempDir dir;
  write_file(dir.path() / "demo.jsonl", exported.out);
  Cli to;
  CHECK(to.run({"import", dir.str()}).code == 0);
  CHECK(to.run({"export", "demo"}).out == exported.out);
  CHECK(to.run({"verify"}).code == 0);
  const auto order = to.store->order.size();
  CHECK(to.run({"import", dir.str()}).code == 0);
  CHECK(to.store->order.size() == order);
}

TEST_CASE("an export's calls are read without a journal") {
  Cli from = with_demo();
  const TempDir dir;
  write_file(dir.path() / "demo.jsonl", from.run({"export", "demo"}).out);
  const Read read = figures_of({dir.str()});
  REQUIRE(read.calls.size() == 2);
  CHECK(read.calls[0].session->kind == "daybook");
}

/// The demonstration's export, with one line of a kind changed.
std::string damaged_export(const std::string& before, std::size_t from = 0) {
  Cli demo = with_demo();
  std::string text = demo.run({"export", "demo"}).out;
  std::size_t at = text.find(before, from) + before.size() + 20;
  text[at] = text[at] == 'A' ? 'B' : 'A';
  text[at + 1] = '!';
  return text;
}

TEST_CASE("a damaged event of an export is skipped and reported; what follows it cannot go back") {
  const std::string text = damaged_export("\"bytes\":\"", 4000);
  const TempDir dir;
  write_file(dir.path() / "demo.jsonl", text);
  Cli to;
  const CliRun run = to.run({"import", dir.str()});
  INFO(run.out << run.err);
  CHECK(run.code == 10);
  CHECK(run.out.find("demo.jsonl, offset ") != std::string::npos);
  CHECK(run.out.find("behind the damage cannot be put back") != std::string::npos);
  // What came before is there, and sound.
  CHECK(to.run({"verify"}).code == 0);
  CHECK(json_lines(to.run({"sessions", "--json"}).out).size() == 1);
  // The whole export completes it.
  Cli demo = with_demo();
  write_file(dir.path() / "demo.jsonl", demo.run({"export", "demo"}).out);
  CHECK(to.run({"import", dir.str()}).code == 0);
  CHECK(to.run({"export", "demo"}).out == demo.run({"export", "demo"}).out);
  // Its calls are counted but for those that the damaged line told.
  write_file(dir.path() / "demo.jsonl", text);
  const Read read = figures_of({dir.str()});
  CHECK(read.report.damaged == 1);
  CHECK(read.calls.size() <= 2);
}

TEST_CASE("an export without one of its blobs, one event or its end is put back to there") {
  Cli demo = with_demo();
  const std::string whole = demo.run({"export", "demo"}).out;
  const auto without = [&](const std::string& kind, std::size_t from) {
    const std::size_t at = whole.find("{\"line\":\"" + kind + "\"", from);
    REQUIRE(at != std::string::npos);
    return whole.substr(0, at) + whole.substr(whole.find('\n', at) + 1);
  };
  std::vector<std::string> texts = {without("event", whole.size() / 2)};
  if (whole.find("{\"line\":\"blob\"") != std::string::npos) texts.push_back(without("blob", 0));
  texts.push_back(whole.substr(0, whole.size() * 2 / 3));
  for (const std::string& text : texts) {
    const TempDir dir;
    write_file(dir.path() / "demo.jsonl", text);
    Cli to;
    const CliRun run = to.run({"import", dir.str()});
    INFO(run.out << run.err);
    CHECK(run.code == 10);
    CHECK(to.run({"verify"}).code == 0);
  }
}

}  // namespace
}  // namespace daybook::tests
