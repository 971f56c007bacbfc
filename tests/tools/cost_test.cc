#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "schema/json.h"
#include "tests/support/build_paths.h"
#include "tests/support/cli.h"
#include "tests/support/journal_events.h"
#include "tests/support/temp_dir.h"

namespace daybook::tests {
namespace {

using Catch::Contains;

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kMorning = 1'791'966'600 * kSecond;  // 2026-10-14T08:30:00Z
constexpr std::int64_t kHour = 3'600 * kSecond;

struct Told {
  std::string model = "claude-opus-5-5";
  std::int64_t at = kMorning;
  std::string tool;
  std::optional<std::uint64_t> input, read, write, write_5m, write_1h, output, searches;
  std::string speed, region;
  schema::Authority authority = schema::Authority::exact;
  bool any = true;
};

void add_call(journal::Batch& batch, const Told& told) {
  schema::ModelRequestedT request;
  request.provider = "anthropic";
  request.provider_kind = "anthropic";
  request.model = told.model;
  request.head = batch.content("{}");
  request.evidence = schema::Evidence::usage_only;
  batch.add(draft(std::move(request), 1));
  schema::ModelRespondedT response;
  response.started_at = told.at;
  if (!told.tool.empty()) {
    auto block = std::make_unique<schema::BlockT>();
    block->kind = schema::BlockKind::tool_call;
    block->tool = told.tool;
    block->text = batch.content("{}");
    block->call_id = "c";
    response.blocks.push_back(std::move(block));
  }
  if (told.any) {
    auto usage = std::make_unique<schema::UsageT>();
    const auto set = [](auto& field, const auto& value) {
      if (value) field = *value;
    };
    set(usage->input_uncached, told.input);
    set(usage->cache_read, told.read);
    set(usage->cache_write, told.write);
    set(usage->cache_write_5m, told.write_5m);
    set(usage->cache_write_1h, told.write_1h);
    set(usage->output, told.output);
    set(usage->web_searches, told.searches);
    usage->speed = told.speed;
    usage->region = told.region;
    usage->authority = told.authority;
    response.usage = std::move(usage);
  }
  batch.add(draft(std::move(response), 1));
}

/// Versions: 1 OwnerAcquired, 2 SessionStarted, then request and response of each call.
void write_session(Cli& cli, const std::string& name, const std::vector<Told>& calls) {
  MemoryJournal journal(cli.store);
  auto pen = pen_for(session_id(name));
  REQUIRE(append_and_wait(journal, acquire(pen)));
  journal::Batch batch;
  schema::SessionStartedT started;
  started.workspace = "/home/ann/" + name;
  started.agent = "code";
  batch.add(draft(std::move(started)));
  for (const Told& told : calls) add_call(batch, told);
  REQUIRE(append_and_wait(journal, pen.next(std::move(batch))));
}

Told told(std::uint64_t input, std::uint64_t read, std::uint64_t output) {
  Told made;
  made.input = input;
  made.read = read;
  made.write = 0;
  made.output = output;
  return made;
}

/// Two days, a model without a price, and writes without their lifetime.
Cli sample() {
  Cli cli;
  cli.environment["TZ"] = "UTC";
  Told first = told(1'000, 200'000, 2'000);
  first.tool = "grep";
  Told second = told(0, 0, 500);
  second.at += 24 * kHour;
  second.write = 10'000;
  Told third = told(77, 0, 3);
  third.model = "nobody-knows";
  third.at += 25 * kHour;
  Told fourth;
  fourth.any = false;
  fourth.at += 26 * kHour;
  write_session(cli, "site", {first, second, third, fourth});
  return cli;
}

std::string error_of(Cli& cli, const std::vector<std::string>& arguments, int code = 2) {
  const CliRun run = cli.run(arguments);
  CHECK(run.code == code);
  CHECK(run.out.empty());
  return run.err;
}

TEST_CASE("cost: a table of days with its total, and what it cannot say in the footer") {
  Cli cli = sample();
  const CliRun run = cli.run({"cost"});
  CHECK(run.code == 0);
  CHECK(run.err.empty());
  CHECK(run.out ==
        "DAY         CALLS  INPUT     READ  WRITTEN  OUTPUT             COST     UNPRICED\n"
        "2026-10-14      1  1,000  200,000        0   2,000          $0.0840\n"
        "2026-10-15      3     77        0   10,000     503  $0.0600–$0.0900  ?        80\n"
        "total           4  1,077  200,000   10,000   2,503  $0.1440–$0.1740  ?        80\n"
        "a cost of two figures: the log does not tell the class of some tokens; it is between "
        "them\n"
        "? 1 call reported no usage and may have been billed\n"
        "unpriced: anthropic:nobody-knows: no price for this model, 1 call, 80 tokens\n"
        "list prices at the time of each call; days and times in UTC\n");
}

TEST_CASE("cost: what has no price or no figures is not shown as zero") {
  Cli cli = sample();
  const std::string models = cli.run({"cost", "--by", "model"}).out;
  CHECK_THAT(models, Contains("nobody-knows") && Contains("unpriced           80\n"));
  CHECK_THAT(models, !Contains("$0.00 "));
  Cli silent;
  silent.environment["TZ"] = "UTC";
  Told nothing;
  nothing.any = false;
  write_session(silent, "s", {nothing});
  CHECK_THAT(silent.run({"cost"}).out, Contains("not known  ?\n"));
  CHECK_THAT(cli.run({"cost", "--explain", "site:8"}).out, Contains("unpriced\n"));
}

TEST_CASE("cost: a narrow terminal shortens numbers before it cuts names") {
  Cli cli;
  cli.environment["TZ"] = "UTC";
  cli.columns = 60;
  write_session(cli, "site", {told(12'345'678, 987'654'321, 55'555)});
  const CliRun run = cli.run({"cost", "--by", "project"});
  CHECK_THAT(run.out, Contains("12.3M") && Contains("988M") && Contains("55.6k"));
  CHECK_THAT(run.out, Contains("/home/ann/site"));
  for (std::size_t begin = 0, line = 0; line < 3; ++line) {
    const std::size_t end = run.out.find('\n', begin);
    CHECK(end - begin <= 60);
    begin = end + 1;
  }
}

TEST_CASE("cost: JSON holds exact decimals, rows, reasons and one total") {
  Cli cli = sample();
  const CliRun run = cli.run({"cost", "--by", "session", "--by", "tool", "--json"});
  CHECK(run.code == 0);
  const auto lines = json_lines(run.out);
  REQUIRE(lines.size() == 4);
  CHECK(lines[0]["line"] == "row");
  CHECK(lines[0]["session"] == "site");
  CHECK(lines[0]["tool"] == "(no tool)");
  CHECK(lines[0]["calls"] == 3);
  CHECK(lines[0]["tokens"]["cache_write"] == 10'000);
  CHECK(lines[0]["cost_usd"]["low"] == "0.06");
  CHECK(lines[0]["cost_usd"]["high"] == "0.09");
  CHECK(lines[0]["unpriced"]["tokens"] == 80);
  CHECK(lines[0]["without_usage"] == 1);
  CHECK(lines[1]["tool"] == "grep");
  CHECK(lines[1]["cost_usd"]["low"] == "0.084");
  CHECK(lines[2]["line"] == "unpriced");
  CHECK(lines[2]["model"] == "nobody-knows");
  CHECK(lines[3]["line"] == "total");
  CHECK(lines[3]["cost_usd"]["low"] == "0.144");
  CHECK(lines[3]["authority"]["exact"] == 3);
  CHECK(lines[3]["timezone"] == "UTC");
}

TEST_CASE("cost: CSV quotes what needs it") {
  Cli cli;
  write_session(cli, "site", {told(1'000, 0, 0)});
  const CliRun run = cli.run({"cost", "--by", "model", "--csv", "--timezone", "UTC"});
  CHECK(run.out ==
        "model,calls,input,cache_read,cache_write_5m,cache_write_1h,cache_write,output,"
        "web_searches,cost_low_usd,cost_high_usd,unpriced_calls,unpriced_tokens,without_usage,"
        "without_input,without_cache_read,without_cache_write,without_output,"
        "without_web_searches,exact,derived,lower_bound,estimate\r\n"
        "claude-opus-5-5,1,1000,0,0,0,0,0,0,0.004,0.004,0,0,0,0,0,0,0,0,1,0,0,0\r\n");
  Told odd = told(1, 0, 0);
  odd.model = "a,\"b\"";
  Cli other;
  write_session(other, "s", {odd});
  CHECK_THAT(other.run({"cost", "--by", "model", "--csv", "--timezone", "UTC"}).out,
             Contains("\r\n\"a,\"\"b\"\"\",1,1,"));
  Told hostile = told(1, 0, 0);
  hostile.model = "a\x1b[2J\r\nb";
  Cli third;
  write_session(third, "s", {hostile});
  CHECK_THAT(third.run({"cost", "--by", "model", "--csv", "--timezone", "UTC"}).out,
             Contains("\r\na\\x1b[2J\\x0d\\x0ab,1,1,"));
  Told control = told(1, 0, 0);
  control.model =
      "a\xc2\x9b"
      "2J";  // the one-byte form of ESC [
  Cli fourth;
  write_session(fourth, "s", {control});
  CHECK_THAT(fourth.run({"cost", "--by", "model", "--csv", "--timezone", "UTC"}).out,
             !Contains("\xc2\x9b"));
}

TEST_CASE("cost: a span of days, in a zone") {
  Cli cli = sample();
  const auto calls = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "cost");
    arguments.emplace_back("--json");
    const auto lines = json_lines(cli.run(arguments).out);
    REQUIRE_FALSE(lines.empty());
    return lines.back()["calls"].get<int>();
  };
  CHECK(calls({}) == 4);
  CHECK(calls({"--since", "2026-10-15"}) == 3);
  CHECK(calls({"--until", "2026-10-14"}) == 1);
  CHECK(calls({"--since", "2026-10-14", "--until", "2026-10-14"}) == 1);
  CHECK(calls({"--until", "2026-10-15T09:30:00Z"}) == 2);
  // 08:30 UTC is the evening before in Honolulu.
  CHECK(calls({"--since", "2026-10-14", "--timezone", "Pacific/Honolulu"}) == 3);
}

TEST_CASE("cost: marks tell how far figures can be trusted") {
  Cli cli;
  Told bound = told(1'000, 0, 1);
  bound.authority = schema::Authority::lower_bound;
  Told derived = told(1'000, 0, 1);
  derived.authority = schema::Authority::derived;
  Told estimate = told(1'000, 0, 1);
  estimate.authority = schema::Authority::estimate;
  Told silent;
  silent.input = 5;
  write_session(cli, "s", {bound, derived, estimate, silent});
  const std::string out = cli.run({"cost", "--timezone", "UTC"}).out;
  CHECK_THAT(out, Contains("≥~*"));
  CHECK_THAT(out, Contains("≥ lower bound: the log lacks the final figures of 1 call\n"));
  CHECK_THAT(out, Contains("≥ lower bound: 1 call did not report the output\n"));
  CHECK_THAT(
      out,
      Contains(
          "~ estimate: 1 call with figures that contradict each other or only resemble usage\n"));
  CHECK_THAT(out, Contains("* derived: 1 call from the difference of two running totals\n"));
}

TEST_CASE("cost: the user's prices go over the shipped ones") {
  const TempDir folder;
  write_file(folder.path() / "prices.toml",
             "[[price]]\nmodels = [\"nobody-knows\"]\ninput = 1000\noutput = 0\n");
  Cli cli = sample();
  const auto unpriced = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"cost", "--json"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const CliRun run = cli.run(arguments);
    REQUIRE(run.code == 0);
    return json_lines(run.out).back()["unpriced"]["tokens"].get<int>();
  };
  CHECK(unpriced({}) == 80);
  CHECK(unpriced({"--prices", folder.str("prices.toml")}) == 0);
  // Beside the configuration, or named by it.
  write_file(folder.path() / "config.toml", "");
  cli.environment["DAYBOOK_CONFIG"] = folder.str("config.toml");
  CHECK(unpriced({}) == 0);
  write_file(folder.path() / "other.toml", "");
  write_file(folder.path() / "config.toml", "prices = \"other.toml\"\n");
  CHECK(unpriced({}) == 80);
  write_file(folder.path() / "other.toml", "[[price]]\nmodel = [\"m\"]\n");
  CHECK(error_of(cli, {"cost"}) == "daybook: " + folder.str("other.toml") +
                                       ":2:1: unknown key 'model' in [[price]]; did you mean "
                                       "'models'?\n");
  CHECK(error_of(cli, {"cost", "--prices", "/no/file"}, 3) ==
        "daybook: /no/file: there is no such file of prices\n");
}

TEST_CASE("cost: the arithmetic of one call, with the price row that was used") {
  Cli cli;
  Told call = told(1'000, 20'000, 500);
  call.write = 7'000;
  call.write_5m = 3'000;
  call.write_1h = 4'000;
  call.searches = 2;
  call.speed = "fast";
  call.region = "us";
  write_session(cli, "site", {call});
  const CliRun run = cli.run({"cost", "--explain", "site:4"});
  CHECK(run.code == 0);
  CHECK_THAT(run.out, Contains("call      site:4\n"));
  CHECK_THAT(run.out, Contains("time      2026-10-14 08:30:00Z\n"));
  CHECK_THAT(run.out, Contains("model     claude-opus-5-5 at anthropic\n"));
  CHECK_THAT(run.out, Contains("price     anthropic: claude-opus-5-5, claude-opus-5.5, at any "
                               "date\n          replay/prices.toml:"));
  CHECK_THAT(run.out, Contains("source    https://platform.claude.com/docs/en/about-claude/pricing"
                               ", read 2026-09-22\n"));
  CHECK_THAT(run.out, Contains("factors   speed fast 2 × region us 1.1\n"));
  // 2.2 times 4, 0.2, 5, 8 and 20 dollars a million; searches take no factors.
  CHECK_THAT(run.out, Contains("\ninput           1,000   4 × factors    0.0088\n"));
  CHECK_THAT(run.out, Contains("\ncache_read      20,000  0.2 × factors  0.0088\n"));
  CHECK_THAT(run.out, Contains("\ncache_write_5m  3,000   5 × factors    0.033\n"));
  CHECK_THAT(run.out, Contains("\ncache_write_1h  4,000   8 × factors    0.0704\n"));
  CHECK_THAT(run.out, Contains("\noutput          500     20 × factors   0.022\n"));
  CHECK_THAT(run.out, Contains("\nweb_search      2       0.01 each      0.02\n"));
  CHECK_THAT(run.out, Contains("\ntotal           28,500                 0.163\n"));

  const auto json = json_lines(cli.run({"cost", "--explain", "site:3", "--json"}).out);
  REQUIRE(json.size() == 1);
  CHECK(json[0]["cost_low_usd"] == "0.163");
  CHECK(json[0]["lines"][3]["class"] == "cache_write_1h");
  CHECK(json[0]["price"]["read"] == "2026-09-22");
  const std::string event = json[0]["event"];
  CHECK(cli.run({"cost", "--explain", event}).out == run.out);
}

TEST_CASE("cost: what is ambiguous or has no price is explained") {
  Cli cli = sample();
  CHECK_THAT(cli.run({"cost", "--explain", "site:6"}).out,
             Contains("5 to 8 (cache_write_5m or cache_write_1h)  0.05 to 0.08"));
  const std::string unknown = cli.run({"cost", "--explain", "site:8"}).out;
  CHECK_THAT(unknown, Contains("unpriced  no price for this model\n"));
  CHECK_THAT(unknown, Contains("no price       unpriced"));
  const std::string silent = cli.run({"cost", "--explain", "site:10"}).out;
  CHECK_THAT(silent, Contains("none reported"));
  CHECK_THAT(silent, Contains("total  ?") && Contains("not known"));
}

TEST_CASE("cost: mistakes say what to do") {
  Cli cli = sample();
  CHECK(error_of(cli, {"cost", "--by", "modle"}) ==
        "daybook: --by cannot be 'modle'; did you mean 'model'?\n");
  CHECK(error_of(cli, {"cost", "--by", "day", "--by", "day"}) ==
        "daybook: --by day is given twice\n");
  CHECK_THAT(
      error_of(cli, {"cost", "--since", "yesterday"}),
      Contains(
          "--since cannot be 'yesterday': write a date from 1970 to 2260, such as 2026-10-15"));
  CHECK_THAT(error_of(cli, {"cost", "--timezone", "Berlin"}),
             Contains("there is no time zone 'Berlin'"));
  CHECK(error_of(cli, {"cost", "--since", "2026-10-16", "--until", "2026-10-14"}) ==
        "daybook: --until must be after --since\n");
  CHECK(error_of(cli, {"cost", "--json", "--csv"}) ==
        "daybook: --json and --csv exclude each other\n");
  CHECK_THAT(error_of(cli, {"cost", "--explain", "site:x"}), Contains("is not a call"));
  CHECK(error_of(cli, {"cost", "--explain", "site:2"}, 3) ==
        "daybook: there is no model call site:2: of the 4 of this session the nearest is site:4\n");
  CHECK(error_of(cli, {"cost", "--explain", "site:0"}) ==
        "daybook: 'site:0' is not a call: calls are counted from 1\n");
  CHECK_THAT(error_of(cli, {"cost", "--explain", "site:4", "--by", "day"}),
             Contains("--by does not go with it"));
  CHECK_THAT(error_of(cli, {"cost", "one.jsonl", "two.jsonl"}, 3), Contains("one.jsonl"));
  cli.environment["TZ"] = "EST5EDT,M3.2.0,M11.1.0";
  CHECK_THAT(error_of(cli, {"cost"}), Contains("pass --timezone"));
}

TEST_CASE("cost: damage leaves its call out, is said, and shows in the exit code") {
  Cli cli = sample();
  cli.store->lose_event("site", 4);
  const CliRun run = cli.run({"cost", "--json"});
  CHECK(run.code == 6);
  CHECK(json_lines(run.out).back()["calls"] == 3);
  CHECK_THAT(run.err, Contains("session site, version 4: "));
}

}  // namespace
// By hand, from the file and the list price of claude-sonnet-5 (dollars per million tokens: input
// 2, 5-minute write 2.50, read 0.20, output 10):
//   m1: 3 x 2 + 200 x 2.50 + 1,000 x 0.20 + 260 x 10 = 3,306 millionths of a dollar
//   m2: 5 x 2 +  60 x 2.50 + 1,200 x 0.20 +  40 x 10 =   800
TEST_CASE("a log file is priced without being stored", "[cost]") {
  Cli cli;
  const std::string log = source_path("/tests/data/logs/claude/four-blocks.jsonl");
  const auto total = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"cost", "--json"});
    const auto run = cli.run(arguments);
    CAPTURE(run.err);
    CHECK(run.code == 0);
    const std::string last = run.out.substr(run.out.rfind('\n', run.out.size() - 2) + 1);
    return *parse_json(last);
  };
  const auto once = total({log});
  CHECK(once.at("calls") == 2);
  CHECK(once.at("cost_usd").at("low") == "0.004106");
  CHECK(once.at("cost_usd").at("high") == "0.004106");
  CHECK(total({log, log}).at("cost_usd") == once.at("cost_usd"));
  CHECK(total({"--session", "four-blocks", log}).at("calls") == 2);
  CHECK(total({"--session", "four", log}).at("calls") == 2);
  CHECK(error_of(cli, {"cost", "--session", "four-block5", log}, 3) ==
        "daybook: there is no session 'four-block5' in these logs; did you mean 'four-blocks'?\n");
  CHECK(cli.run({"cost", "--explain", "four:1", log}).out ==
        cli.run({"cost", "--explain", "four-blocks:1", log}).out);
  CHECK(error_of(cli, {"cost", "--explain", "four-blocks:9", log}, 3) ==
        "daybook: there is no model call four-blocks:9: of the 2 of this session the nearest is "
        "four-blocks:2\n");
  CHECK(error_of(cli, {"cost", "--explain", "other:1", log}, 3) ==
        "daybook: there is no session 'other' in these logs; there are: four-blocks\n");
  const auto explained = cli.run({"cost", "--json", "--explain", "four-blocks:1", log});
  CHECK(parse_json(explained.out)->at("cost_low_usd") == "0.003306");
  CHECK_THAT(error_of(cli, {"cost", source_path("/schema")}, 3),
             Contains("no log of a known kind"));
  CHECK_THAT(error_of(cli, {"cost", "/nowhere/at/all"}, 3), Contains("/nowhere/at/all"));
}

}  // namespace daybook::tests
