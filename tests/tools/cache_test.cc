#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "journal/session_writer.h"
#include "tests/support/cli.h"
#include "tests/support/journal_events.h"
#include "tests/support/temp_dir.h"

using namespace daybook;
using journal::Batch;
using tests::Cli;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kStart = 1'780'000'000 * kSecond;

/// A session of the engine's kind whose system prompt holds a clock: the third call pays for it.
/// 4,000 tokens precede the messages, each message has 1,000.
struct ClockSession {
  journal::Journal& journal;
  journal::SessionWriter pen;
  std::vector<BlobRef> messages = {};
  std::uint64_t base = 0;
  int calls = 0;

  explicit ClockSession(journal::Journal& to)
      : journal(to), pen(tests::pen_for(tests::session_id("clock"))) {
    REQUIRE(append_and_wait(journal, tests::acquire(pen)));
  }

  void call(const std::string& clock, std::uint64_t read, std::uint64_t written,
            const std::string& diagnostics = "") {
    const std::int64_t at = kStart + 60 * kSecond * calls++;
    Batch batch;
    schema::ModelRequestedT requested;
    requested.request = static_cast<std::uint32_t>(calls);
    requested.attempt = 1;
    requested.provider = "anthropic";
    requested.provider_kind = "anthropic";
    requested.model = "claude-sonnet-4-5";
    requested.head = batch.content(R"("model":"claude-sonnet-4-5","max_tokens":100)");
    const std::string prompt = std::string(12'000, 'p');
    requested.system.emplace_back(
        batch.blob(fmt::format(R"({{"type":"text","text":"{}. It is {}."}})", prompt, clock)).fb());
    requested.tools.emplace_back(
        batch.blob(R"({"name":"grep","description":"d","input_schema":{}})").fb());
    requested.base = base;
    requested.shared = static_cast<std::uint32_t>(messages.size());
    messages.push_back(
        batch.blob(fmt::format(R"({{"role":"user","content":[{{"type":"text","text":"{}{}"}}]}})",
                               std::string(3'000, 'm'), calls)));
    requested.appended.emplace_back(messages.back().fb());
    requested.markers.push_back(static_cast<std::uint32_t>(messages.size() - 1));
    requested.marker_ttl = schema::CacheTtl::minutes_5;
    requested.body_digest = std::make_unique<schema::Digest>(Digest::of("body").fb());
    requested.evidence = schema::Evidence::exact;
    batch.add(draft(std::move(requested), 1));
    schema::ModelRespondedT responded;
    responded.usage = std::make_unique<schema::UsageT>();
    responded.usage->input_uncached = 3;
    responded.usage->cache_read = read;
    responded.usage->cache_write = written;
    responded.usage->output = 50;
    responded.started_at = at;
    responded.first_byte_at = at + kSecond;
    responded.ended_at = at + 5 * kSecond;
    if (!diagnostics.empty()) responded.diagnostics = batch.content(diagnostics);
    batch.add(draft(std::move(responded), 1));
    const auto appended = append_and_wait(journal, pen.next(std::move(batch)));
    REQUIRE(appended);
    base = appended->head.version - 1;
  }
};

Cli with_clock() {
  Cli cli;
  tests::MemoryJournal journal(cli.store);
  ClockSession session(journal);
  session.call("10:00", 0, 5'000);
  session.call("10:00", 5'000, 1'000);
  session.call(
      "10:02", 0, 7'000,
      R"({"cache_miss_reason":{"type":"system_changed","cache_missed_input_tokens":6000}})");
  session.call("10:02", 7'000, 1'000);
  return cli;
}

}  // namespace

TEST_CASE("the cache command shows the loss, its cause and its call") {
  Cli cli = with_clock();
  const auto run = cli.run({"cache"});
  INFO(run.out << run.err);
  CHECK(run.code == 0);
  CHECK(run.out.find("4 calls, 26,012 input tokens = 12,000 read + 6,000 lost + 8,012 new") !=
        std::string::npos);
  CHECK(run.out.find("P3.clock  avoidable  1      6,000") != std::string::npos);
  CHECK(run.out.find("system[0]") != std::string::npos);
  CHECK(run.out.find("clock:7") != std::string::npos);
  CHECK(run.out.find("the provider said system_changed of 1 calls: finer") != std::string::npos);
}

TEST_CASE("the cache command's JSON is conserved and names every line") {
  Cli cli = with_clock();
  const auto lines = tests::json_lines(cli.run({"cache", "--json"}).out);
  REQUIRE(lines.size() == 6);
  CHECK(lines[0]["line"] == "total");
  CHECK(lines[0]["conserved"] == true);
  CHECK(lines[0]["input"] == 26'012);
  CHECK(lines[0]["new_E0"] == 5'003);
  CHECK(lines[1]["cause"] == "P3.clock");
  CHECK(lines[1]["tokens"] == 6'000);
  // Leaving the clock out costs nothing.
  CHECK(lines[1]["recoverable_usd"] == lines[1]["waste_usd"]);
  CHECK(lines[2]["by"] == "system[0]");
  CHECK(lines[3]["session"] == "clock");
  CHECK(lines[3]["evidence"] == Json::array({"exact bytes"}));
  CHECK(lines[4]["version"] == 7);
  CHECK(lines[5]["agreement"] == "finer");
}

TEST_CASE("a call is explained down to the byte") {
  Cli cli = with_clock();
  const auto run = cli.run({"cache", "--why", "clock:7"});
  INFO(run.out << run.err);
  CHECK(run.code == 0);
  CHECK(run.out.find("compared with clock:5") != std::string::npos);
  CHECK(run.out.find("P3.clock: 6,000 tokens") != std::string::npos);
  // {"type":"text","text":"ppp... It is 10:0: 23 bytes, 12,000, and 12 more.
  CHECK(run.out.find("first difference: system[0], byte 12035") != std::string::npos);
  CHECK(run.out.find("It is 10:00.\"}") != std::string::npos);
  CHECK(run.out.find("It is 10:02.\"}") != std::string::npos);
  CHECK(run.out.find("remedy: take the clock out of the system prompt") != std::string::npos);
  const auto json = tests::json_lines(cli.run({"cache", "--why", "clock:7", "--json"}).out);
  REQUIRE(json.size() == 1);
  CHECK(json[0]["first_difference"]["byte"] == 12'035);
  CHECK(json[0]["lost"][0]["tokens"] == 6'000);
  CHECK(json[0]["vendor"]["label"] == "system_changed");
}

TEST_CASE("a call that is not there is an error that says how to name one") {
  Cli cli = with_clock();
  for (const char* name : {"clock", "clock:x", "clock:6", "other:7"}) {
    const auto run = cli.run({"cache", "--why", name});
    CHECK(run.code == 3);
    CHECK(run.err.find(std::string("there is no call '") + name + "'") != std::string::npos);
  }
}

TEST_CASE("only one session's calls are shown when it is named") {
  Cli cli = with_clock();
  tests::MemoryJournal journal(cli.store);
  tests::write_demo(journal);
  CHECK(tests::json_lines(cli.run({"cache", "--json", "--session", "clock"}).out)[0]["calls"] == 4);
  CHECK(tests::json_lines(cli.run({"cache", "--json", "--session", "demo"}).out)[0]["input"] !=
        26'012);
  CHECK(cli.run({"cache", "--session", "nothing"}).code == 3);
}

TEST_CASE("without a clock the calls read what they could") {
  Cli cli = with_clock();
  const auto lines = tests::json_lines(cli.run({"cache", "--what-if", "no-clock", "--json"}).out);
  REQUIRE(lines.size() >= 2);
  CHECK(lines[0]["line"] == "total");
  CHECK(lines[0]["recorded_read"] == 12'000);
  CHECK(lines[0]["changed_read"].get<std::uint64_t>() >= 17'500);
  CHECK(lines[1]["line"] == "call");
  CHECK(lines[1]["version"] == 7);
  const auto run = cli.run({"cache", "--what-if", "no-clock"});
  INFO(run.out);
  CHECK(run.out.find("not known:") != std::string::npos);
  CHECK(cli.run({"cache", "--what-if", "nothing"}).code == 2);
}

TEST_CASE("log files are analysed without a journal, by their figures") {
  Cli cli;
  const tests::TempDir folder;
  const std::string logs = folder.path().string();
  const auto line = [](int number, const char* time, int read, int written) {
    return fmt::format(
        R"({{"type":"assistant","sessionId":"s1","uuid":"u{0}","requestId":"r{0}",)"
        R"("timestamp":"2026-05-01T{1}Z","cwd":"/p","version":"2.0.0","message":{{"id":"m{0}",)"
        R"("type":"message","role":"assistant","model":"claude-sonnet-4-5","content":)"
        R"([{{"type":"text","text":"ok"}}],"stop_reason":"end_turn","usage":{{"input_tokens":3,)"
        R"("cache_read_input_tokens":{2},"cache_creation_input_tokens":{3},"output_tokens":9,)"
        R"("cache_creation":{{"ephemeral_5m_input_tokens":{3},)"
        R"("ephemeral_1h_input_tokens":0}}}}}}}})",
        number, time, read, written);
  };
  std::ofstream(logs + "/s1.jsonl") << line(1, "10:00:00", 0, 5000) << '\n'
                                    << line(2, "10:01:00", 5000, 1000) << '\n'
                                    << line(3, "10:20:00", 0, 7000) << '\n';
  const auto run = cli.run({"cache", logs, "--json"});
  INFO(run.out << run.err);
  CHECK(run.code == 0);
  const auto lines = tests::json_lines(run.out);
  REQUIRE(lines.size() >= 5);
  CHECK(lines[0]["input"] == 18'009);
  CHECK(lines[0]["conserved"] == true);
  CHECK(lines[1]["cause"] == "T1");
  CHECK(lines[1]["tokens"] == 6'000);
  // Of 3 uncached and 7,000 written tokens 2 and 5,998 were lost: $0.0000054 + $0.0206931 more
  // than reads. Writes of an hour cost $2.25 a million more: for 5,000, 1,000 and the 1,003 that
  // would still be written (6,000 of 7,003 are 5,997 of the 7,000).
  CHECK(lines[1]["waste_usd"] == "0.0206985");
  CHECK(lines[1]["recoverable_usd"] == "0.00494175");
  CHECK(lines[3]["evidence"] == Json::array({"usage only"}));
  const std::string id = lines[4]["id"];
  CHECK(cli.run({"cache", logs, "--why", id}).out.find("T1: 6,000 tokens") != std::string::npos);
  CHECK(cli.run({"cache", logs + "/none"}).code == 3);
}
