// Claude Code fixtures: totals derived by hand, beside each.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "schema/json.h"
#include "tests/support/temp_dir.h"
#include "tests/tools/log_reading.h"

namespace daybook::tests {
namespace {

using schema::Authority;

struct Row {
  std::vector<std::string> files;
  Totals totals;  // calls, uncached, read, write, output
  std::string why;
};

// Unless a row says otherwise, every response has 3 uncached, 1,000 read and 200 written tokens.
const std::vector<Row> kRows = {
    {{"four-blocks.jsonl"}, {2, 8, 2200, 260, 300}, "m1 = 3/1000/200/260, m2 = 5/1200/60/40"},
    {{"same-usage.jsonl"}, {1, 3, 1000, 200, 75}, "three lines of one response"},
    {{"model-switch.jsonl"}, {1, 30, 800, 0, 120}, "the line with 120 whole, not 900 of the other"},
    {{"no-request.jsonl"}, {2, 6, 2000, 400, 42}, "33 + 9"},
    {{"replay.jsonl"}, {2, 5, 2203, 220, 62}, "m1 = 50, its replay not; m9 = 2/1203/20/12"},
    {{"with-agent.jsonl", "with-agent"}, {4, 12, 4000, 800, 176}, "80 + 30 + 2 + 64"},
    {{"resume-a.jsonl", "resume-b.jsonl"}, {2, 6, 2000, 400, 24}, "11 once, 13"},
    {{"double-compact.jsonl"}, {3, 9, 3000, 600, 66}, "21 + 22 + 23"},
    {{"compacted.jsonl"}, {2, 12, 162000, 14000, 150}, "3/150000/5000/100 + 9/12000/9000/50"},
    {{"summary-only.jsonl"}, {0, 0, 0, 0, 0}, "titles of sessions that are gone"},
    {{"roots.jsonl"}, {2, 6, 2000, 400, 11}, "5 + 6"},
    {{"cycle.jsonl"}, {2, 6, 2000, 400, 13}, "5 + 8"},
    {{"surrogate.jsonl"}, {1, 3, 1000, 200, 14}, ""},
    {{"splice.jsonl"}, {3, 9, 3000, 600, 51}, "16 + 17 + 18; 15 was cut off before its usage"},
    {{"nul.jsonl"}, {2, 6, 2000, 400, 39}, "19 behind a hole, 20"},
    {{"persisted.jsonl"}, {3, 9, 3000, 600, 78}, "25 + 26 + 27"},
    {{"synthetic.jsonl"}, {2, 3, 1000, 200, 28}, "m3 = 28; m4 has no usage; two are no calls"},
    {{"unknown-type.jsonl"}, {1, 3, 1000, 200, 29}, ""},
    {{"ttl.jsonl"}, {2, 3, 800, 1200, 61}, "1/0/800/30 + 2/800/400/31"},
    {{"fast.jsonl"}, {3, 203002, 0, 0, 4540}, "2/40 + 23000/1000 + the API's own 180000/3500"},
    {{"orphan.jsonl"}, {3, 9, 3000, 600, 126}, "41 + 42 + 43"},
    {{"branch.jsonl"}, {3, 9, 3000, 600, 156}, "51 + 52 + 53"},
    {{"spaced.jsonl"}, {1, 3, 1000, 200, 60}, "members reversed, spaces, BOM, CRLF, no last end"},
    {{"torn.jsonl"}, {1, 3, 1000, 200, 61}, "the last line is unfinished"},
};

std::vector<std::string> paths_of(const Row& row) {
  std::vector<std::string> paths;
  for (const std::string& file : row.files) paths.push_back(log_fixture("claude/" + file));
  return paths;
}

TEST_CASE("claude fixtures: totals by hand, as figures and as events") {
  for (const Row& row : kRows) {
    INFO(row.files.front() << ": " << row.why);
    const Read read = figures_of(paths_of(row));
    CHECK(totals_of(read.calls) == row.totals);
    EventSink sink;
    read_events(paths_of(row), sink);
    const auto calls = calls_of_events(sink);
    CHECK(totals_of(calls) == row.totals);
    REQUIRE(calls.size() == read.calls.size());
    for (std::size_t i = 0; i < calls.size(); ++i) {
      const replay::Call& a = calls[i];
      const replay::Call& b = read.calls[i];
      CHECK(a.id == b.id);
      CHECK(a.session->id == b.session->id);
      CHECK(a.session->project == b.session->project);
      CHECK(a.session->agent == b.session->agent);
      CHECK(a.session->title == b.session->title);
      CHECK(a.usage == b.usage);
      CHECK(a.model() == b.model());
      CHECK(a.started_at == b.started_at);
      CHECK(a.stop == b.stop);
      CHECK(a.tools_called == b.tools_called);
      CHECK(a.after_compaction == b.after_compaction);
    }
  }
}

Read one(const std::string& file) {
  return figures_of({log_fixture("claude/" + file)});
}

EventSink events_of(const std::string& file, tools::LogReport* report = nullptr) {
  EventSink sink;
  auto made = read_events({log_fixture("claude/" + file)}, sink);
  if (report != nullptr) *report = std::move(made);
  return sink;
}

TEST_CASE("claude: the line with the most output counts whole and is dated by the first") {
  const Read read = one("model-switch.jsonl");
  CHECK(read.calls[0].model() == "claude-sonnet-5");
  // 2026-10-01T10:00:02Z, in seconds: the second line of the session.
  CHECK(read.calls[0].started_at == 1'790'848'802'000'000'000);
}

TEST_CASE("claude: classes, tier, speed, region and searches") {
  const Read ttl = one("ttl.jsonl");
  CHECK(ttl.calls[0].usage.cache_write_5m == 100);
  CHECK(ttl.calls[0].usage.cache_write_1h == 700);
  CHECK_FALSE(ttl.calls[1].usage.cache_write_5m.has_value());
  CHECK(ttl.calls[1].usage.cache_write == 400);
  const Read fast = one("fast.jsonl");
  const auto quick = std::ranges::find_if(
      fast.calls, [](const replay::Call& call) { return call.usage.speed == "fast"; });
  REQUIRE(quick != fast.calls.end());
  CHECK(quick->usage.service_tier == "priority");
  CHECK(quick->usage.region == "us");
  CHECK(quick->usage.web_searches == 3);
  CHECK(quick->usage.reasoning == 15);
}

TEST_CASE("claude: absent usage is unknown, not zero") {
  const Read read = one("synthetic.jsonl");
  REQUIRE(read.calls.size() == 2);
  CHECK(read.calls[0].usage.any());
  CHECK_FALSE(read.calls[1].usage.any());
}

TEST_CASE("claude: a subagent's response without a final line is a lower bound") {
  const Read read = figures_of({log_fixture("claude/with-agent")});
  REQUIRE(read.calls.size() == 2);
  CHECK(read.calls[0].usage.authority == Authority::lower_bound);
  CHECK(read.calls[1].usage.authority == Authority::exact);
  CHECK(read.calls[0].session->relation == schema::Relation::subagent);
  CHECK(read.calls[0].session->parent == "with-agent");
  CHECK(read.calls[0].session->agent == "explorer");
}

TEST_CASE("claude: damage is counted where it is, the rest is read") {
  tools::LogReport report;
  events_of("nul.jsonl", &report);
  REQUIRE(report.damage.size() == 2);
  CHECK(report.damage[0].what == "holds NUL bytes");
  events_of("splice.jsonl", &report);
  REQUIRE(report.damage.size() == 1);
  CHECK(report.damage[0].what == "spliced: part of it was read");
  events_of("surrogate.jsonl", &report);
  CHECK(report.lossless());
  events_of("unknown-type.jsonl", &report);
  CHECK(report.unmapped == 2);
  REQUIRE(report.types.size() == 1);
  CHECK(report.types[0].type == "hologram");
  CHECK(report.types[0].count == 2);
  const auto torn = events_of("torn.jsonl", &report);
  CHECK(report.damaged == 0);
  CHECK(report.committed < report.bytes);
}

TEST_CASE("claude: halves of surrogate pairs become U+FFFD, the raw line stays") {
  const EventSink sink = events_of("surrogate.jsonl");
  const auto turns = payloads<schema::TurnStartedT>(sink, "surrogate");
  REQUIRE(turns.size() == 1);
  CHECK(std::string(turns[0].prompt->bytes.begin(), turns[0].prompt->bytes.end()) ==
        "Cut here: \xef\xbf\xbd");
}

TEST_CASE("claude: calls without results are unknown, results without calls are kept as lines") {
  const EventSink sink = events_of("orphan.jsonl");
  const auto unknown = payloads<schema::ToolOutcomeUnknownT>(sink, "orphan");
  REQUIRE(unknown.size() == 1);
  CHECK(unknown[0].call_id == "t1");
  CHECK(payloads<schema::ToolCompletedT>(sink, "orphan").empty());
  CHECK(payloads<schema::TurnStartedT>(sink, "orphan").size() == 2);
}

TEST_CASE("claude: persisted outputs are copied while they exist") {
  tools::LogReport report;
  const EventSink sink = events_of("persisted.jsonl", &report);
  const auto completed = payloads<schema::ToolCompletedT>(sink, "persisted");
  REQUIRE(completed.size() == 2);
  REQUIRE(completed[0].full_output != nullptr);
  CHECK(sink.blobs.at(Digest::from(&completed[0].full_output->digest())) ==
        "line 1\nline 2\nline 3\n");
  CHECK(completed[1].full_output == nullptr);
  CHECK(report.notes.size() == 1);
}

TEST_CASE("claude: a boundary and its summary are one compaction") {
  const EventSink sink = events_of("compacted.jsonl");
  const auto compactions = payloads<schema::CompactionCommittedT>(sink, "compacted");
  REQUIRE(compactions.size() == 1);
  CHECK(compactions[0].trigger == "auto");
  CHECK(compactions[0].tokens_before == 155103u);
  CHECK(compactions[0].tokens_after == 9000u);
  CHECK(compactions[0].summary != nullptr);
  const auto requests = payloads<schema::ModelRequestedT>(sink, "compacted");
  REQUIRE(requests.size() == 2);
  CHECK(requests[1].base == 0);
  CHECK(requests[1].appended.size() == 2);  // the summary and the next prompt
}

TEST_CASE("claude: rewritten rows of a second compaction are duplicates") {
  tools::LogReport report;
  const EventSink sink = events_of("double-compact.jsonl", &report);
  CHECK(report.duplicates == 4);
  CHECK(payloads<schema::CompactionCommittedT>(sink, "double-compact").size() == 1);
}

TEST_CASE("claude: requests are rebuilt from the conversation and share their beginning") {
  const EventSink sink = events_of("four-blocks.jsonl");
  const auto requests = payloads<schema::ModelRequestedT>(sink, "four-blocks");
  REQUIRE(requests.size() == 2);
  CHECK(requests[0].shared == 0);
  CHECK(requests[0].appended.size() == 1);  // the prompt
  CHECK(requests[1].shared == 1);
  CHECK(requests[1].appended.size() == 3);  // the answer and two results
  CHECK(requests[1].base != 0);
  const auto answer = sink.blobs.at(Digest::from(&requests[1].appended[0].blob().digest()));
  CHECK(answer.find("\"thinking\"") < answer.find("Looking."));
  CHECK(answer.find("Looking.") < answer.find("\"t1\""));
}

TEST_CASE("claude: a prompt under an older answer starts another branch") {
  const EventSink sink = events_of("branch.jsonl");
  const auto requests = payloads<schema::ModelRequestedT>(sink, "branch");
  REQUIRE(requests.size() == 3);
  // One, a, Two | One, a, Two again: two messages are shared, one is new.
  CHECK(requests[1].appended.size() == 2);
  CHECK(requests[2].shared == 2);
  CHECK(requests[2].appended.size() == 1);
}

TEST_CASE("claude: two branches that take turns each go on from their own answers") {
  EventSink sink;
  const TempDir dir;
  std::string text;
  int second = 0;
  const auto add = [&](const std::string& parent, const std::string& uuid, const char* type,
                       const std::string& message) {
    text += fmt::format(
        R"({{"parentUuid":{},"sessionId":"turns","version":"2.1.60","type":"{}","uuid":"{}",)"
        R"("timestamp":"2026-10-01T10:00:{:02}.000Z","message":{}}})"
        "\n",
        parent.empty() ? "null" : "\"" + parent + "\"", type, uuid, ++second, message);
  };
  const auto says = [&](const std::string& parent, const std::string& uuid) {
    add(parent, uuid, "user", fmt::format(R"({{"role":"user","content":"{}"}})", uuid));
  };
  const auto answers = [&](const std::string& parent, const std::string& uuid) {
    add(parent, uuid, "assistant",
        fmt::format(R"({{"id":"{0}","role":"assistant","model":"claude-sonnet-5","content":[)"
                    R"({{"type":"tool_use","id":"t{0}","name":"Bash","input":{{}}}}],)"
                    R"("stop_reason":"tool_use","usage":{{"input_tokens":1,"output_tokens":1}}}})",
                    uuid));
  };
  const auto results = [&](const std::string& parent, const std::string& uuid) {
    add(parent, uuid, "user",
        fmt::format(R"({{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{}",)"
                    R"("content":"{}"}}]}})",
                    parent, uuid));
  };
  says("", "p");
  answers("p", "a0");
  results("a0", "r0");
  answers("r0", "a1");  // one goes on
  says("r0", "q");      // the other, from the result on
  answers("q", "b1");
  results("a1", "ra1");
  answers("ra1", "a2");
  results("b1", "rb1");
  results("a2", "ra2");
  answers("rb1", "b2");
  answers("ra2", "a3");
  write_file(dir.path() / "turns.jsonl", text);
  read_events({dir.str()}, sink);

  // What each request held, and whether it shares all that it can with the one before it.
  std::vector<std::vector<std::string>> sent;
  for (const auto& request : payloads<schema::ModelRequestedT>(sink, "turns")) {
    const std::size_t shared = request.shared;
    std::vector<std::string> messages;
    if (shared > 0) messages.assign(sent.back().begin(), sent.back().begin() + shared);
    for (const auto& segment : request.appended) {
      messages.push_back(sink.blobs.at(Digest::from(&segment.blob().digest())));
    }
    if (!sent.empty()) {
      const auto ends = std::ranges::mismatch(sent.back(), messages);
      CHECK(shared == static_cast<std::size_t>(ends.in1 - sent.back().begin()));
    }
    sent.push_back(std::move(messages));
  }
  const auto told = [&](std::size_t request) {
    std::string all;
    for (const std::string& message : sent.at(request)) {
      const Json json = parse_json(message).value();
      const Json& content = json["content"];
      all += content.is_string()           ? content.get<std::string>()
             : content[0].contains("name") ? content[0]["id"].get<std::string>()
                                           : content[0]["content"].get<std::string>();
      all += ' ';
    }
    return all;
  };
  REQUIRE(sent.size() == 6);
  CHECK(told(1) == "p ta0 r0 ");
  CHECK(told(2) == "p ta0 r0 q ");
  CHECK(told(3) == "p ta0 r0 ta1 ra1 ");
  CHECK(told(4) == "p ta0 r0 q tb1 rb1 ");
  CHECK(told(5) == "p ta0 r0 ta1 ra1 ta2 ra2 ");
}

TEST_CASE("claude: every event says where it is from, and each line's raw text is kept once") {
  const std::string bytes = [] {
    EventSink sink = events_of("four-blocks.jsonl");
    std::string all;
    for (const std::string& event : sink.sessions["four-blocks"]) {
      const auto* provenance = view_event(as_bytes(event)).value()->provenance();
      REQUIRE(provenance != nullptr);
      CHECK(text_of(provenance->file()) == "four-blocks.jsonl");
      if (provenance->raw() != nullptr) all += inline_bytes(*provenance->raw());
    }
    return all;
  }();
  CHECK(std::ranges::count(bytes, '\n') == 0);
  // Eight lines: each begins with its parent.
  std::size_t lines = 0;
  for (std::size_t at = 0; (at = bytes.find("{\"parentUuid\"", at)) != std::string::npos; ++at) {
    ++lines;
  }
  CHECK(lines == 8);
}

}  // namespace
}  // namespace daybook::tests
