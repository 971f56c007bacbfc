// Codex fixtures: totals derived by hand, beside each.
#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/support/temp_dir.h"
#include "tests/tools/log_reading.h"
#include "tools/log_readers.h"

namespace daybook::tests {
namespace {

using schema::Authority;

std::string rollout(const std::string& thread) {
  return log_fixture("codex/rollout-2026-10-02T10-00-00-" + thread + ".jsonl");
}

struct Row {
  std::string thread;
  Totals totals;  // calls, uncached, read, write, output
  Authority authority;
  std::string why;  // input/cached/output of each response
};

const std::vector<Row> kRows = {
    {"0a01",
     {2, 500, 1600, 100, 150},
     Authority::derived,
     "1000/600/100, 1200/1000/50 of which 100 written; three counters sent again"},
    {"0a02",
     {3, 1200, 500, 0, 170},
     Authority::derived,
     "1000/0/100, reset to 300/200/30, 400/300/40"},
    {"0a03",
     {2, 1400, 100, 0, 160},
     Authority::derived,
     "1000/0/100, overwritten by the window, 500/100/60"},
    {"0a04",
     {2, 2700, 0, 0, 170},
     Authority::derived,
     "2000/0/100, an estimate of 5000 in all, 700/0/70"},
    {"0a05", {1, 800, 0, 0, 80}, Authority::derived, "rate limits only, then 800/0/80"},
    {"0b01", {3, 1700, 2500, 0, 220}, Authority::derived, "1000/0/100, 1500/1000/50, 1700/1500/70"},
    {"0c01", {1, 400, 500, 0, 45}, Authority::derived, "after ordinal \"5\": 900/500/45"},
    {"0e02",
     {3, 1400, 2000, 0, 170},
     Authority::derived,
     "1000/0/100 by the counter, 1100/900/40 by both, 1300/1100/30 by record"},
    {"0f01",
     {3, 200, 100, 0, 30},
     Authority::derived,
     "100.0/0/\"10\", 200/100/20, an answer without figures"},
    {"0f02", {1, 100, 0, 0, 10}, Authority::derived, "the last line is unfinished"},
    {"0f03", {2, 300, 0, 0, 30}, Authority::derived, "100/0/10 written again, 200/0/20"},
    {"0f04", {1, 100, 0, 0, 10}, Authority::derived, "a row of NUL bytes"},
    {"2a02", {1, 100, 0, 0, 10}, Authority::derived, "no turn_context"},
    {"2a03", {2, 200, 100, 0, 30}, Authority::derived, "100/0/10, 200/100/20"},
    {"2a04", {3, 310, 200, 0, 60}, Authority::derived, "100/0/10, 200/100/20, 210/100/30"},
    {"2a05", {2, 200, 100, 0, 30}, Authority::derived, "100/0/10, 200/100/20"},
    {"3a02", {2, 150, 150, 0, 30}, Authority::estimate, "100/150 is clamped to 100/100, 200/50/20"},
    {"3a03", {1, 100, 0, 0, 10}, Authority::derived, "members reversed, spaces, CRLF"},
};

/// Both ways must tell the same calls.
void check_both(const std::vector<std::string>& paths, const std::vector<replay::Call>& figures) {
  EventSink sink;
  read_events(paths, sink);
  auto calls = calls_of_events(sink);
  REQUIRE(calls.size() == figures.size());
  for (std::size_t i = 0; i < calls.size(); ++i) {
    CHECK(calls[i].id == figures[i].id);
    CHECK(calls[i].usage == figures[i].usage);
    CHECK(calls[i].model() == figures[i].model());
    CHECK(calls[i].started_at == figures[i].started_at);
    CHECK(calls[i].session->title == figures[i].session->title);
    CHECK(calls[i].session->project == figures[i].session->project);
    CHECK(calls[i].after_compaction == figures[i].after_compaction);
    CHECK(calls[i].lineage == figures[i].lineage);
  }
}

TEST_CASE("codex fixtures: totals by hand, as figures and as events") {
  for (const Row& row : kRows) {
    INFO(row.thread << ": " << row.why);
    const Read read = figures_of({rollout(row.thread)});
    CHECK(totals_of(read.calls) == row.totals);
    REQUIRE_FALSE(read.calls.empty());
    CHECK(read.calls[0].usage.authority == row.authority);
    CHECK(read.calls[0].session->id == row.thread);
    check_both({rollout(row.thread)}, read.calls);
  }
}

TEST_CASE("codex: what a fork copied belongs to its parent") {
  const auto of = [](const std::vector<std::string>& paths, const std::string& thread) {
    auto read = figures_of(paths);
    std::erase_if(read.calls, [&](const replay::Call& call) { return call.session->id != thread; });
    return std::move(read.calls);
  };
  const std::vector<std::string> all = {rollout("0b01"), rollout("0b02"), rollout("0d02")};
  const auto child = of(all, "0b02");
  CHECK(totals_of(child) == Totals{1, 200, 1400, 0, 90});  // 1600/1400/90
  CHECK(child[0].model() == "gpt-5.6-mini");
  CHECK(child[0].session->parent == "0b01");
  CHECK(child[0].session->relation == schema::Relation::fork);
  CHECK(child[0].usage.authority == Authority::derived);
  // Three headers: its own, its parent's, its grandparent's.
  CHECK(totals_of(of(all, "0d02")) == Totals{1, 200, 1800, 0, 10});
  CHECK(totals_of(of(all, "0b01")) == Totals{3, 1700, 2500, 0, 220});
  check_both(all, figures_of(all).calls);
}

TEST_CASE("codex: without the parent's file the first second is taken for the copy") {
  const Read read = figures_of({log_fixture("codex/absent")});
  CHECK(totals_of(read.calls) == Totals{1, 200, 900, 0, 60});  // 1100/900/60
  CHECK(read.calls[0].usage.authority == Authority::estimate);
}

TEST_CASE("codex: a fork's copied part is known by its parent's file, whatever that is called") {
  namespace fs = std::filesystem;
  const auto check = [](const std::vector<std::string>& paths, const std::string& thread,
                        const Totals& totals) {
    auto read = figures_of(paths);
    std::erase_if(read.calls, [&](const replay::Call& call) { return call.session->id != thread; });
    CHECK(totals_of(read.calls) == totals);
    REQUIRE_FALSE(read.calls.empty());
    CHECK(read.calls[0].usage.authority == Authority::derived);
  };
  const TempDir renamed;
  fs::copy_file(rollout("0b01"), renamed.path() / "first.jsonl");
  fs::copy_file(rollout("0b02"), renamed.path() / "second.jsonl");
  check({renamed.str()}, "0b02", {1, 200, 1400, 0, 90});
  // Only the fork is named; its parent's file lies beside it.
  const TempDir beside;
  for (const char* thread : {"0b01", "0b02", "0d02"}) {
    const std::string file = rollout(thread);
    fs::copy_file(file, beside.path() / fs::path(file).filename());
  }
  const auto path = [&](const std::string& thread) {
    return beside.str(fs::path(rollout(thread)).filename().string());
  };
  check({path("0b02")}, "0b02", {1, 200, 1400, 0, 90});
  // Or in the folder of another day, or in the archive.
  for (const char* folder : {"sessions/2026/09/30", "archived_sessions"}) {
    const TempDir days;
    for (const auto& [thread, day] :
         {std::pair("0b01", folder), std::pair("0b02", "sessions/2026/10/02")}) {
      fs::create_directories(days.path() / day);
      fs::copy_file(rollout(thread), days.path() / day / fs::path(rollout(thread)).filename());
    }
    const auto fork = days.path() / "sessions/2026/10/02" / fs::path(rollout("0b02")).filename();
    check({fork.string()}, "0b02", {1, 200, 1400, 0, 90});
  }
  // Its parent's file holds what that copied of its own parent's.
  fs::remove(path("0b01"));
  check({path("0d02")}, "0d02", {1, 200, 1800, 0, 10});
  check_both({path("0d02")}, figures_of({path("0d02")}).calls);
}

TEST_CASE("codex: records count once a response, the compaction's too") {
  // resp_1 1000/0/100 (also by the counter), resp_2 1200/1000/50 (twice, and once with another
  // count: excluded), resp_c 5000/0/300, resp_3 600/100/20 with 200 written; another thread's is
  // not ours.
  const Read read = figures_of({rollout("0e01")});
  CHECK(totals_of(read.calls) == Totals{4, 6300, 100, 200, 420});
  CHECK(read.report.conflicts == 1);
  CHECK_FALSE(read.report.lossless());
  for (const replay::Call& call : read.calls) {
    CHECK(call.usage.any() == (call.response_id != "resp_2"));
    CHECK(call.usage.authority == Authority::exact);
    CHECK(call.lineage == (call.response_id == "resp_c" ? "compaction" : ""));
  }
  check_both({rollout("0e01")}, read.calls);
}

TEST_CASE("codex: compressed and archived twins are one file") {
  const auto found = discovered({log_fixture("codex/home")});
  REQUIRE(found.sources.size() == 3);
  CHECK_FALSE(found.sources[0].compressed);
  CHECK(found.sources[0].twins.size() == 1);
  CHECK(found.sources[1].path.find("archived") == std::string::npos);
  CHECK(found.sources[2].compressed);
  // 100/10, 200/20 + 300/30, 400/40
  CHECK(totals_of(figures_of({log_fixture("codex/home")}).calls) == Totals{4, 1000, 0, 0, 100});
}

TEST_CASE(
    "codex: of files of one name the longer counts, and others that only look alike do, too") {
  const std::string whole = read_file(rollout("0a01"));
  const std::string start = whole.substr(0, whole.find('\n', whole.size() / 2) + 1);
  const std::string other = read_file(rollout("0a02"));
  const auto calls = [](const std::string& active, const std::string& archived) {
    const TempDir dir;
    for (const auto& [folder, text] :
         {std::pair("sessions/2026", &active), std::pair("archived_sessions", &archived)}) {
      std::filesystem::create_directories(dir.path() / folder);
      write_file(dir.path() / folder / "rollout-2026-10-02T10-00-00-0a01.jsonl", *text);
    }
    return figures_of({dir.str()}).calls.size();
  };
  const std::size_t all = figures_of({rollout("0a01")}).calls.size();
  CHECK(calls(whole, whole) == all);
  CHECK(calls(start, whole) == all);
  CHECK(calls(whole, start) == all);
  CHECK(calls(whole, other) == all + figures_of({rollout("0a02")}).calls.size());
  // A copy anywhere that was cut off between an answer and its figures is no other answer.
  const TempDir dir;
  std::filesystem::create_directories(dir.path() / "backup");
  write_file(dir.path() / "r.jsonl", whole);
  write_file(dir.path() / "backup/r.jsonl", whole.substr(0, whole.rfind("{", whole.size() - 2)));
  CHECK(figures_of({dir.str()}).calls.size() == all);
}

TEST_CASE("codex: exec output counts whole turns, running totals as differences") {
  const Read read = figures_of({log_fixture("codex/exec.jsonl")});
  // 1000/400/50, then 2500/1400/90 in all.
  CHECK(totals_of(read.calls) == Totals{2, 1100, 1400, 0, 90});
  CHECK(read.calls[0].usage.authority == Authority::estimate);
  CHECK(read.calls[0].session->id == "3a01");
}

EventSink events_of(const std::string& path, tools::LogReport* report = nullptr) {
  EventSink sink;
  auto made = read_events({path}, sink);
  if (report != nullptr) *report = std::move(made);
  return sink;
}

TEST_CASE("codex: files older than the envelope are read without figures") {
  const EventSink sink = events_of(log_fixture("codex/rollout-2025-07-01T10-00-00-2a01.jsonl"));
  CHECK(payloads<schema::TurnStartedT>(sink, "2a01").size() == 1);
  const auto answers = payloads<schema::ModelRespondedT>(sink, "2a01");
  REQUIRE(answers.size() == 2);
  CHECK(answers[0].usage == nullptr);
  CHECK(payloads<schema::ToolCompletedT>(sink, "2a01").size() == 1);
}

TEST_CASE("codex: the one document of a rollout of April 2025 is read like its lines") {
  const std::string path = log_fixture("codex/rollout-2025-04-20-1a01.json");
  const auto found = discovered({path});
  REQUIRE(found.sources.size() == 1);
  CHECK(found.sources[0].kind == tools::LogKind::codex);
  tools::LogReport report;
  const EventSink sink = events_of(path, &report);
  CHECK(report.lossless());
  CHECK(report.lines == 6);
  const auto turns = payloads<schema::TurnStartedT>(sink, "1a01");
  REQUIRE(turns.size() == 1);
  const auto answers = payloads<schema::ModelRespondedT>(sink, "1a01");
  REQUIRE(answers.size() == 2);
  CHECK(answers[0].usage == nullptr);
  CHECK(payloads<schema::ToolCompletedT>(sink, "1a01").size() == 1);
  // The same bytes on one line, as another program would write them.
  const TempDir dir;
  std::string text = read_file(path);
  std::erase(text, '\n');
  write_file(dir.path() / "rollout-2025-04-20-1a01.json", text);
  CHECK(discovered({dir.str()}).sources.at(0).document);
  check_both({path}, figures_of({path}).calls);
}

TEST_CASE("codex: an answer that is an item and a completed one counts once") {
  const Read read = figures_of({rollout("2a06")});
  CHECK(totals_of(read.calls) == Totals{1, 300, 100, 0, 40});  // 400/100/40
  check_both({rollout("2a06")}, read.calls);
  const EventSink sink = events_of(rollout("2a06"));
  CHECK(payloads<schema::TurnStartedT>(sink, "2a06").size() == 1);
  CHECK(payloads<schema::ModelRespondedT>(sink, "2a06").size() == 1);
  CHECK(payloads<schema::ToolDispatchedT>(sink, "2a06").size() == 1);
  CHECK(payloads<schema::ToolCompletedT>(sink, "2a06").size() == 1);
}

TEST_CASE("codex: two records of one call are one call, an orphan is unknown") {
  const EventSink sink = events_of(rollout("2a03"));
  CHECK(payloads<schema::ToolDispatchedT>(sink, "2a03").size() == 2);
  const auto completed = payloads<schema::ToolCompletedT>(sink, "2a03");
  REQUIRE(completed.size() == 1);
  REQUIRE(completed[0].receipt != nullptr);
  CHECK(completed[0].receipt->code == 2);
  CHECK(completed[0].is_error);
  const auto unknown = payloads<schema::ToolOutcomeUnknownT>(sink, "2a03");
  REQUIRE(unknown.size() == 1);
  CHECK(unknown[0].call_id == "k2");
  const auto ended = payloads<schema::TurnEndedT>(sink, "2a03");
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].outcome == schema::TurnOutcome::interrupted);
}

TEST_CASE("codex: rolled back turns are no longer sent; steering starts no turn") {
  const EventSink rolled = events_of(rollout("2a04"));
  const auto requests = payloads<schema::ModelRequestedT>(rolled, "2a04");
  REQUIRE(requests.size() == 3);
  // One, a, Two | One, a, Three
  CHECK(requests[1].shared + requests[1].appended.size() == 3);
  CHECK(requests[2].shared == 2);
  CHECK(requests[2].appended.size() == 1);
  const EventSink steered = events_of(rollout("2a05"));
  CHECK(payloads<schema::TurnStartedT>(steered, "2a05").size() == 1);
  const auto later = payloads<schema::ModelRequestedT>(steered, "2a05");
  REQUIRE(later.size() == 2);
  CHECK(later[1].appended.size() == 3);  // the call, its output, the steering message
}

TEST_CASE("codex: damage is counted, types that are not known are named") {
  tools::LogReport report;
  events_of(rollout("0f03"), &report);
  CHECK(report.damaged == 1);
  events_of(rollout("0f04"), &report);
  CHECK(report.damaged == 1);
  events_of(rollout("3a03"), &report);
  CHECK(report.unmapped == 1);
  events_of(rollout("0f02"), &report);
  CHECK(report.lossless());
  CHECK(report.committed < report.bytes);
}

TEST_CASE("codex: a line over the limit is damage, and reading goes on behind it") {
  const std::string text = read_file(rollout("0a05"));
  const std::string huge = R"({"timestamp":"2026-10-02T10:00:01.000Z","type":"compacted",)"
                           R"("payload":{"message":")" +
                           std::string(20'000, 'A') + "\"}}\n";
  const std::size_t second = text.find('\n') + 1;
  const std::string whole = text.substr(0, second) + huge + text.substr(second);
  tools::LogSource source = discovered({rollout("0a05")}).sources.at(0);
  for (const auto depth : {tools::Depth::usage, tools::Depth::requests, tools::Depth::whole}) {
    for (const std::size_t limit : {std::size_t{16'000}, std::size_t{64'000}}) {
      INFO("depth " << static_cast<int>(depth) << ", limit " << limit);
      tools::LogReadOptions options;
      options.depth = depth;
      options.most_line_bytes = limit;
      EventSink sink;
      const auto bytes = tools::bytes_of(whole);
      const auto report = tools::read_log_bytes(source, options, *bytes, sink);
      REQUIRE(report.has_value());
      const bool over = limit < huge.size();
      CHECK(report->damaged == (over ? 1 : 0));
      CHECK(report->calls == 1);
      CHECK(report->committed == whole.size());
      if (!over) continue;
      REQUIRE(report->damage.size() == 1);
      CHECK(report->damage[0].offset == second);
      CHECK(report->damage[0].what == "longer than the limit of 16000 bytes");
    }
  }
}

TEST_CASE("codex: a line of 64 MiB is read, and what follows it") {
  const TempDir dir;
  std::string text = read_file(rollout("0a05"));
  text += R"({"timestamp":"2026-10-02T10:05:00.000Z","type":"compacted","payload":{"message":"s",)"
          R"("replacement_history":[{"type":"message","role":"user","content":[{"type":)"
          R"("input_image","image_url":"data:image/png;base64,)";
  text.append(std::size_t{64} << 20, 'A');
  text += "\"}]}]}}\n";
  text += R"({"type":"event_msg","timestamp":"2026-10-02T10:06:00.000Z","payload":{"type":)"
          R"("token_count","info":{"total_token_usage":{"input_tokens":900,"output_tokens":90,)"
          R"("cached_input_tokens":0,"total_tokens":990}}}})"
          "\n";
  write_file(dir.path() / "rollout-2026-10-02T10-00-00-0a05.jsonl", text);
  const Read read = figures_of({dir.str()});
  CHECK(totals_of(read.calls) == Totals{2, 900, 0, 0, 90});
  check_both({dir.str()}, read.calls);
}

}  // namespace
}  // namespace daybook::tests
