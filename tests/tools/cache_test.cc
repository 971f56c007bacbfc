#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "journal/session_writer.h"
#include "tests/support/cli.h"
#include "tests/support/journal_events.h"
#include "tests/support/temp_dir.h"
#include "tests/tools/both_ways.h"

using namespace daybook;
using journal::Batch;
using tests::Cli;

namespace {

/// The prompt of an answer that came in the same second: it tells when the request was sent.
std::string prompt_line(std::string_view session, std::string_view time) {
  return fmt::format(R"({{"type":"user","sessionId":"{0}","uuid":"p-{0}-{1}",)"
                     R"("timestamp":"2026-05-01T{1}Z","cwd":"/p","version":"2.0.0",)"
                     R"("message":{{"role":"user","content":"go on"}}}})",
                     session, time) +
         "\n";
}

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
  CHECK(run.out.find("the provider said system_changed of 1 call: finer") != std::string::npos);
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
  CHECK(lines[1]["recoverable_usd"] == lines[1]["waste_usd"]["low"]);
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
  const auto error = [&](const char* name, int code) {
    const auto run = cli.run({"cache", "--why", name});
    CHECK(run.code == code);
    CHECK(run.out.empty());
    return run.err;
  };
  for (const char* name : {"clock", "clock:5000"}) {
    CHECK(error(name, 3).find(std::string("there is no call '") + name + "'") != std::string::npos);
  }
  CHECK(error("other:7", 3).find("there is no session 'other'") != std::string::npos);
  CHECK(error("clock:x", 2).find("write SESSION:VERSION") != std::string::npos);
  CHECK(error("clock:0", 2).find("calls are counted from 1") != std::string::npos);
}

TEST_CASE("a call is named as daybook cost names it: by a prefix, by its request as well") {
  Cli cli = with_clock();
  const std::string whole = cli.run({"cache", "--why", "clock:7"}).out;
  CHECK(whole.starts_with("clock:7 "));
  CHECK(cli.run({"cache", "--why", "cl:7"}).out == whole);
  CHECK(cli.run({"cache", "--why", "clock:6"}).out == whole);
}

TEST_CASE("options that exclude each other, and policies that cannot be, are errors") {
  Cli cli = with_clock();
  const auto error = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "cache");
    const auto run = cli.run(arguments);
    CHECK(run.code == 2);
    CHECK(run.out.empty());
    return run.err;
  };
  CHECK(error({"--why", "clock:7", "--what-if", "1h"}) ==
        "daybook: --why explains one call: --what-if does not go with it\n");
  CHECK(error({"--why", "clock:7", "--session", "clock"}).find("--session does not go with it") !=
        std::string::npos);
  CHECK(error({"--what-if", "model=anthropic:claude-opus-5_5"})
            .find("there is no price for this model; did you mean 'anthropic:claude-opus-5-5'?") !=
        std::string::npos);
  CHECK(error({"--what-if", "keep-warm=0"}).find("from 1") != std::string::npos);
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
  CHECK(run.out.starts_with("spent as recorded (4 calls): $"));
  CHECK(run.out.find("26,012  12,000  14,000") != std::string::npos);
  CHECK(run.out.find("\nthe policy would have cost $0.0206 less\n") != std::string::npos);
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
  std::ofstream(logs + "/s1.jsonl")
      << line(1, "10:00:00", 0, 5000) << '\n'
      << line(2, "10:01:00", 5000, 1000) << '\n'
      << prompt_line("s1", "10:20:00") << line(3, "10:20:00", 0, 7000) << '\n';
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
  // than reads. Writes of an hour cost $2.25 a million more: for 5,000, 1,000 and the 1,002 that
  // would still be written.
  CHECK(lines[1]["waste_usd"]["low"] == "0.0206985");
  CHECK(lines[1]["recoverable_usd"] == "0.004944");
  CHECK(lines[3]["evidence"] == Json::array({"usage only"}));
  const std::string id = lines[4]["id"];
  CHECK(cli.run({"cache", logs, "--why", id}).out.find("T1: 6,000 tokens") != std::string::npos);
  CHECK(cli.run({"cache", logs, "--why", "s:3"}).out.find("T1: 6,000 tokens") != std::string::npos);
  CHECK(cli.run({"cache", logs, "--session", "s2"}).err ==
        "daybook: there is no session 's2' in these logs; did you mean 's1'?\n");
  const auto what_if = cli.run({"cache", logs, "--what-if", "1h"});
  CHECK(what_if.code == 2);
  CHECK(what_if.err.find("`daybook import` first") != std::string::npos);
  CHECK(cli.run({"cache", logs + "/none"}).code == 3);
}

TEST_CASE("calls of one time keep the order of their file") {
  Cli cli;
  const tests::TempDir folder;
  const std::string log = folder.str("s1.jsonl");
  std::ofstream out(log);
  for (int i = 1; i <= 8; ++i) {
    out << fmt::format(R"({{"type":"assistant","sessionId":"s1","uuid":"u{0}","requestId":"r{0}",)"
                       R"("timestamp":"2026-05-01T10:00:00Z","cwd":"/p","version":"2.0.0",)"
                       R"("message":{{"id":"m{0}","type":"message","role":"assistant",)"
                       R"("model":"claude-sonnet-4-5","content":[{{"type":"text","text":"ok"}}],)"
                       R"("stop_reason":"end_turn","usage":{{"input_tokens":3,)"
                       R"("cache_read_input_tokens":{1},"cache_creation_input_tokens":2000,)"
                       R"("output_tokens":9}}}}}})",
                       i, (i - 1) * 2000)
        << '\n';
  }
  out.close();
  // Each reads what the one before it left.
  CHECK(tests::json_lines(cli.run({"cache", log, "--json"}).out).at(0)["lost"] == 0);
  CHECK(cli.run({"cost", "--explain", "s1:1", log}).out.find("cache read") == std::string::npos);
}

TEST_CASE("of copies that a growing log leaves, the whole answer is the one that is analysed") {
  const tests::TempDir folder;
  const std::string log = folder.str("s1.jsonl");
  const auto line = [](const char* uuid, int output) {
    return fmt::format(
               R"({{"type":"assistant","sessionId":"s1","uuid":"{}","requestId":"r1",)"
               R"("timestamp":"2026-05-01T10:00:00Z","cwd":"/p","version":"2.0.0",)"
               R"("message":{{"id":"m1",)"
               R"("type":"message","role":"assistant","model":"claude-sonnet-4-5","content":)"
               R"([{{"type":"text","text":"ok"}}],"stop_reason":"end_turn",)"
               R"("usage":{{"input_tokens":3,)"
               R"("cache_read_input_tokens":0,"cache_creation_input_tokens":0,)"
               R"("output_tokens":{}}}}}}})",
               uuid, output) +
           "\n";
  };
  Cli grown;
  tests::write_file(log, line("u1", 5));
  REQUIRE(grown.run({"import", log}).code == 0);
  tests::write_file(log, line("u1", 5) + line("u2", 700));
  REQUIRE(grown.run({"import", log}).code == 0);
  Cli whole;
  REQUIRE(whole.run({"import", log}).code == 0);
  const auto total = [](Cli& cli) {
    return tests::json_lines(cli.run({"cache", "--json"}).out).at(0);
  };
  CHECK(total(grown) == total(whole));
  // 3 tokens at $3 and 700 at $15 a million, not 5.
  CHECK(total(grown).dump().find("0.010509") != std::string::npos);
}

TEST_CASE("the remedy for expiry is one that the gap and the prompt leave") {
  Cli cli;
  const tests::TempDir folder;
  const auto remedy = [&](const char* name, const char* second, int tokens) {
    const std::string log = folder.path().string() + '/' + name + ".jsonl";
    std::ofstream out(log);
    int number = 0;
    for (const char* time : {"10:00:00", second}) {
      out << prompt_line(name, time)
          << fmt::format(
                 R"({{"type":"assistant","sessionId":"{0}","uuid":"{0}{1}","requestId":"{0}{1}",)"
                 R"("timestamp":"2026-05-01T{2}Z","cwd":"/p","version":"2.0.0","message":)"
                 R"({{"id":"{0}{1}","type":"message","role":"assistant",)"
                 R"("model":"claude-sonnet-4-5",)"
                 R"("content":[],"stop_reason":"end_turn","usage":{{"input_tokens":3,)"
                 R"("cache_read_input_tokens":0,"cache_creation_input_tokens":{3},)"
                 R"("output_tokens":9,)"
                 R"("cache_creation":{{"ephemeral_5m_input_tokens":{3},)"
                 R"("ephemeral_1h_input_tokens":0}}}}}}}})",
                 name, number++, time, tokens)
          << '\n';
    }
    out.close();
    const std::string shown = cli.run({"cache", log, "--why", std::string(name) + ":2"}).out;
    const std::size_t at = shown.find("remedy: ");
    return at == std::string::npos ? shown : shown.substr(at, shown.find('\n', at) - at);
  };
  CHECK(remedy("short", "10:20:00", 5000).find("one-hour markers, or a ping") != std::string::npos);
  const std::string overnight = remedy("long", "14:00:00", 5000);
  CHECK(overnight.find("outlasts one-hour markers too") != std::string::npos);
  CHECK(overnight.find("a ping at least every 5 min") != std::string::npos);
  CHECK(remedy("small", "10:20:00", 700).find("1,024 is the least that is cached") !=
        std::string::npos);
}

/// Two calls two hours apart that write the same 5,000 tokens.
std::string two_hours(const char* model) {
  std::string text;
  for (const char* time : {"10:00:00", "12:00:00"}) {
    text += prompt_line("s1", time);
    text += fmt::format(
                R"({{"type":"assistant","sessionId":"s1","uuid":"u{0}","requestId":"r{0}",)"
                R"("timestamp":"2026-05-01T{0}Z","cwd":"/p","version":"2.0.0","message":)"
                R"({{"id":"m{0}","type":"message","role":"assistant","model":"{1}","content":[],)"
                R"("stop_reason":"end_turn","usage":{{"input_tokens":3,)"
                R"("cache_read_input_tokens":0,"cache_creation_input_tokens":5000,)"
                R"("output_tokens":9,"cache_creation":{{"ephemeral_5m_input_tokens":5000,)"
                R"("ephemeral_1h_input_tokens":0}}}}}}}})",
                time, model) +
            "\n";
  }
  return text;
}

TEST_CASE("pings are paid at the price of the model whose prompt they read") {
  Cli cli;
  const tests::TempDir folder;
  std::string prices;
  for (const auto& [model, read] : {std::pair("one", 1), std::pair("other", 3)}) {
    prices += fmt::format(
        "[[price]]\nprovider = \"anthropic\"\nmodels = [\"{}\"]\ninput = 10\n"
        "cache_read = {}\ncache_write_5m = 12\noutput = 50\n",
        model, read);
  }
  tests::write_file(folder.path() / "prices.toml", prices);
  std::string text;
  const std::string usage = tests::claude_usage_json(0, 0, 10'000, 20);
  const auto call = [&](const char* id, const char* time, const char* model) {
    text += prompt_line("s1", time) + tests::claude_answer(id, time, usage, model);
  };
  call("m1", "10:00:00", "one");
  call("m2", "10:00:05", "other");
  call("m3", "10:20:05", "one");
  tests::write_file(folder.path() / "s1.jsonl", text);
  CHECK(cli.run({"import", folder.str("s1.jsonl")}).code == 0);
  const tests::CliRun run = cli.run(
      {"cache", "--what-if", "keep-warm=3600", "--prices", folder.str("prices.toml"), "--json"});
  INFO(run.out << run.err);
  const Json total = tests::json_lines(run.out).at(0);
  // Behind the second call at 270, 540, 810 and 1,080 s: 10,000 tokens at $3 and one at $50.
  CHECK(total["pings"] == 4);
  CHECK(total["recorded_usd"] == "0.363");
  CHECK(total["changed_usd"] == "0.4832");
}

TEST_CASE("what pings would win back behind a gap of hours is told") {
  Cli cli;
  const tests::TempDir folder;
  const std::string log = folder.str("s1.jsonl");
  const auto cause = [&](const char* model) {
    tests::write_file(log, two_hours(model));
    const auto lines = tests::json_lines(cli.run({"cache", log, "--json"}).out);
    CHECK(lines.at(1)["cause"] == "T1");
    return lines.at(1);
  };
  // 24 pings that read 5,000 tokens at a tenth cost more than the 5,000 that were lost.
  const auto dear = cause("claude-sonnet-4-5");
  CHECK(dear["recoverable_usd"] == "0");
  CHECK(cli.run({"cache", log, "--why", "s1:2"})
            .out.find("24 of them cost $0.0360, not less than was lost") != std::string::npos);
  // Of 3 uncached and 5,000 written tokens 2 and 4,998 were lost: 2 x $9.75 and 4,998 x $12.25 a
  // million; 24 x 5,000 reads at $0.25 a million are $0.03.
  const auto cheap = cause("claude-fable-5-1");
  CHECK(cheap["waste_usd"]["low"] == "0.061245");
  CHECK(cheap["recoverable_usd"] == "0.031245");
  CHECK(cli.run({"cache", log, "--why", "s1:2"})
            .out.find("24 of them cost $0.0300, less than was lost") != std::string::npos);
}

TEST_CASE("the explanation of a call says the same in JSON: rules, remedy, time") {
  Cli cli = with_clock();
  const auto json = tests::json_lines(cli.run({"cache", "--why", "clock:7", "--json"}).out).at(0);
  CHECK(json["rules"]["family"] == "anthropic");
  CHECK(json["rules"]["min_tokens"] == 1024);
  CHECK(json["rules"]["lives_s"] == 300);
  CHECK(json["started_at"] == "2026-05-28T20:28:40.000000000Z");
  CHECK(json["lost"][0]["remedies"][0]["leaf"] == "P3.clock");
  const std::string remedy = json["lost"][0]["remedies"][0]["remedy"];
  CHECK(cli.run({"cache", "--why", "clock:7"}).out.find("remedy: " + remedy + "\n") !=
        std::string::npos);
}

TEST_CASE("a call without a time is not of 1970") {
  Cli cli;
  const tests::TempDir folder;
  const std::string log = folder.str("s1.jsonl");
  std::string text = two_hours("claude-sonnet-4-5");
  for (const char* time :
       {R"("timestamp":"2026-05-01T10:00:00Z",)", R"("timestamp":"2026-05-01T12:00:00Z",)"}) {
    // Of the prompt and of its answer.
    for (int line = 0; line < 2; ++line) text.erase(text.find(time), std::string_view(time).size());
  }
  tests::write_file(log, text);
  REQUIRE(cli.run({"import", log}).code == 0);
  const auto lines = tests::json_lines(cli.run({"cache", "--json"}).out);
  const auto call =
      std::ranges::find_if(lines, [](const auto& line) { return line["line"] == "call"; });
  REQUIRE(call != lines.end());
  CHECK((*call)["started_at"].is_null());
  const std::string name = fmt::format("claude-s1:{}", (*call)["version"].get<int>());
  const auto run = cli.run({"cache", "--why", name});
  CHECK(run.out.find("1970") == std::string::npos);
  CHECK(run.out.find("time not known") != std::string::npos);
  const auto json = tests::json_lines(cli.run({"cache", "--why", name, "--json"}).out).at(0);
  CHECK(json["started_at"].is_null());
}

TEST_CASE("a transcript is compared with itself: the model it has changes nothing, an hour does") {
  Cli cli;
  const tests::TempDir folder;
  const std::string log = folder.path().string() + "/t.jsonl";
  std::ofstream out(log);
  std::string parent = "null";
  int context = 6'000;
  for (int i = 0; i < 6; ++i) {
    const int minute = i * 2 + (i > 3 ? 20 : 0);
    out << fmt::format(
               R"({{"type":"user","uuid":"u{0}","parentUuid":{1},"sessionId":"t","timestamp":)"
               R"("2026-05-01T10:{2:02}:00Z","cwd":"/p","version":"2.0.1",)"
               R"("message":{{"role":"user",)"
               R"("content":"{3}"}}}})",
               i, parent, minute, std::string(2'000, static_cast<char>('a' + i)))
        << '\n';
    const int read = i == 0 || i == 4 ? 0 : context - 500;
    out << fmt::format(
               R"({{"type":"assistant","uuid":"a{0}","parentUuid":"u{0}","sessionId":"t",)"
               R"("timestamp":)"
               R"("2026-05-01T10:{1:02}:04Z","cwd":"/p","version":"2.0.1",)"
               R"("requestId":"r{0}","message":)"
               R"({{"id":"m{0}","type":"message","role":"assistant","model":"claude-sonnet-4-5",)"
               R"("content":[{{"type":"text","text":"ok"}}],"stop_reason":"end_turn","usage":)"
               R"({{"input_tokens":3,"cache_read_input_tokens":{2},)"
               R"("cache_creation_input_tokens":{3},)"
               R"("cache_creation":{{"ephemeral_5m_input_tokens":{3},)"
               R"("ephemeral_1h_input_tokens":0}},)"
               R"("output_tokens":9}}}}}})",
               i, minute, read, context - read)
        << '\n';
    parent = fmt::format("\"a{}\"", i);
    context += 500;
  }
  out.close();
  REQUIRE(cli.run({"import", log}).code == 0);
  const auto total = [&](const char* policy) {
    const auto run = cli.run({"cache", "--json", "--what-if", policy});
    INFO(run.out << run.err);
    REQUIRE(run.code == 0);
    return tests::json_lines(run.out)[0];
  };
  const auto same = total("model=anthropic:claude-sonnet-4-5");
  CHECK(same["changed_usd"] == same["recorded_usd"]);
  CHECK(same["changed_calls"] == 0);
  const auto hour = total("1h");
  CHECK(hour["changed_read"].get<int>() > hour["recorded_read"].get<int>() + 7'000);
  const auto tools = cli.run({"cache", "--what-if", "stable-tools"});
  CHECK(tools.code == 2);
  CHECK(tools.err.find("transcripts do not show") != std::string::npos);
}

TEST_CASE("what a policy's difference owes to calls that are simulated otherwise is told apart") {
  Cli cli;
  const tests::TempDir folder;
  const std::string log = folder.str("s1.jsonl");
  // The first call reads what other sessions left, which the simulation knows nothing of.
  tests::write_file(
      log,
      prompt_line("s1", "10:00:00") +
          R"({"type":"assistant","sessionId":"s1","uuid":"u1","requestId":"r1","timestamp":)"
          R"("2026-05-01T10:00:05Z","cwd":"/p","message":{"id":"m1","type":"message","role":)"
          R"("assistant","model":"claude-sonnet-4-5","content":[],"stop_reason":"end_turn",)"
          R"("usage":{"input_tokens":10,"cache_read_input_tokens":15000,"output_tokens":100,)"
          R"("cache_creation_input_tokens":5000,"cache_creation":{"ephemeral_5m_input_tokens":)"
          R"(5000,"ephemeral_1h_input_tokens":0}}}})"
          "\n");
  REQUIRE(cli.run({"import", log}).code == 0);
  const auto run = cli.run({"cache", "--what-if", "1h"});
  INFO(run.out << run.err);
  // 10 x $3 + 15,000 x $0.30 + 5,000 x $3.75 + 100 x $15 a million.
  CHECK(run.out.starts_with("spent as recorded (1 call): $0.0248\n"));
  // Simulated are 20,000 writes, which cost $2.25 a million more for an hour.
  CHECK(run.out.find("\nthe policy would have cost $0.0450 more\n"
                     "calls whose simulation as recorded is not what was reported: 1, which would "
                     "have cost $0.0450 more\n") != std::string::npos);
  const auto total = tests::json_lines(cli.run({"cache", "--what-if", "1h", "--json"}).out)[0];
  CHECK(total["differing_usd"] == "0.045");
  CHECK(total["spent_usd"]["high"] == "0.02478");
}

TEST_CASE("a count that cannot be right is not priced by the cache analysis either") {
  Cli cli;
  {
    tests::MemoryJournal journal(cli.store);
    ClockSession session(journal);
    session.call("10:00", 0, 5'000'000'000);
  }
  const auto total = tests::json_lines(cli.run({"cache", "--json"}).out)[0];
  CHECK(total["unpriced_calls"] == 1);
  CHECK(total["total_usd"] == Json({{"low", "0"}, {"high", "0"}}));
}
