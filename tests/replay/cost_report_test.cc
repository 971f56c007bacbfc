#include "replay/cost_report.h"

#include <array>
#include <catch2/catch.hpp>

#include "tests/replay/price_support.h"

using namespace daybook;
using namespace daybook::replay;
using namespace daybook::tests;

namespace {

Calendar calendar(std::string_view zone) {
  auto opened = Calendar::open(zone);
  REQUIRE(opened);
  return *opened;
}

std::string error_of(const Result<std::int64_t>& result) {
  return result ? "" : result.error().message;
}

struct Given {
  std::uint64_t id;
  const char* when;  // "": not known
  const char* session;
  const char* project;
  const char* model;
  std::uint64_t input;
  std::vector<std::string> tools;
};

CallTable table_of(const std::vector<Given>& all) {
  CallTable table;
  for (const Given& it : all) {
    CallSession session;
    session.id = it.session;
    session.project = it.project;
    Call call;
    call.id = {2, it.id};
    call.session = std::make_shared<const CallSession>(session);
    call.provider = "anthropic";
    call.served_model = it.model;
    call.started_at = *it.when == '\0' ? 0 : at(it.when);
    call.usage = split(it.input, 0, 0, 0, 0);
    // Some may have searched the web more often than they told.
    call.usage.searches_open = it.id % 7 == 0;
    call.tools_called = it.tools;
    table.add(call);
  }
  return table;
}

CallTable sample() {
  return table_of({
      {1, "2026-10-14T22:30:00Z", "s1", "/p", "claude-opus-5", 1'000'000, {"grep"}},
      {2, "2026-10-15T08:00:00Z", "s1", "/p", "claude-haiku-4-5", 2'000'000, {"grep", "a"}},
      {3, "2026-10-18T21:59:59Z", "s2", "/q", "claude-opus-5", 1'000'000, {}},
      {4, "2026-10-18T22:00:00Z", "s2", "/q", "nobody-knows", 500, {"a", "grep"}},
      {5, "", "s3", "", "claude-opus-5", 100'000, {}},
  });
}

std::string shape(const CallTable& table, CostQuery query, const char* zone = "Europe/Berlin") {
  const auto book = PriceBook::shipped();
  const CostReport report = cost_report(table, book, calendar(zone), query);
  std::string out;
  MoneyRange sum;
  std::uint64_t calls = 0, unpriced = 0;
  for (const CostRow& row : report.rows) {
    for (const auto& key : row.keys) out += key + " ";
    out += row.sums.cost.low.exact() + (row.sums.unpriced_tokens > 0 ? "+" : "") + "; ";
    sum += row.sums.cost;
    calls += row.sums.calls;
    unpriced += row.sums.unpriced_tokens;
  }
  // Money and calls are conserved whatever the grouping.
  CHECK(sum == report.total.cost);
  CHECK(calls == report.total.calls);
  CHECK(unpriced == report.total.unpriced_tokens);
  return out + report.total.cost.low.exact();
}

}  // namespace

TEST_CASE("days, weeks and months are those of the zone") {
  const Calendar berlin = calendar("Europe/Berlin");
  CHECK(berlin.day(at("2026-10-14T21:59:59Z")) == "2026-10-14");
  CHECK(berlin.day(at("2026-10-14T22:00:00Z")) == "2026-10-15");
  CHECK(berlin.month(at("2026-12-31T23:00:00Z")) == "2027-01");
  const Calendar utc = calendar("UTC");
  CHECK(utc.week(at("2026-10-18T23:59:59Z")) == "2026-W42");  // Sunday
  CHECK(utc.week(at("2026-10-19T00:00:00Z")) == "2026-W43");  // Monday
  CHECK(utc.week(at("2027-01-01T00:00:00Z")) == "2026-W53");
  CHECK(utc.week(at("2024-12-30T00:00:00Z")) == "2025-W01");
  CHECK(calendar("Asia/Kolkata").day(at("2026-10-14T18:30:00Z")) == "2026-10-15");
}

TEST_CASE("a day begins at midnight of the zone, whatever its clocks do") {
  const Calendar berlin = calendar("Europe/Berlin");
  const auto moment = [&](const char* text, Calendar::Edge edge) {
    return berlin.moment(text, edge, "--since").value();
  };
  using enum Calendar::Edge;
  CHECK(moment("2026-10-25", begin) == at("2026-10-24T22:00:00Z"));
  CHECK(moment("2026-10-25", end) == at("2026-10-25T23:00:00Z"));  // 25 hours
  CHECK(moment("2026-10-25T01:00:00+02:00", end) == at("2026-10-24T23:00:00Z"));
  CHECK(moment("2026-10-25T01:00:00Z", begin) == at("2026-10-25T01:00:00Z"));
  CHECK(moment("2026-10-25T01:00:00.25Z", begin) == at("2026-10-25T01:00:00Z") + 250'000'000);
  for (const char* bad : {"", "today", "2026-13-01", "2026-02-29", "2026-1-1", "2026-10-25T",
                          "2026-10-25T10:00:00", "2026-10-25x", "1969-12-31"}) {
    INFO(bad);
    CHECK(error_of(berlin.moment(bad, begin, "--since")) ==
          "--since cannot be '" + std::string(bad) +
              "': write a date from 1970 to 2260, such as 2026-10-15, or a time such as "
              "2026-10-15T12:00:00Z");
  }
}

TEST_CASE("a zone that the tz database does not have is an error") {
  for (const char* bad : {"Mars/Olympus", "../../etc/passwd", "/etc/localtime", "EST5EDT,M3.2.0"}) {
    const auto opened = Calendar::open(bad);
    REQUIRE_FALSE(opened);
    CHECK(opened.error().code == ErrorCode::invalid_argument);
  }
}

TEST_CASE("rows by every key add up to the same total") {
  const CallTable table = sample();
  CHECK(shape(table, {{GroupBy::day}, {}, {}, {}}) ==
        "(no date) 0.5; 2026-10-15 7; 2026-10-18 5; 2026-10-19 0+; 12.5");
  CHECK(shape(table, {{GroupBy::day}, {}, {}, {}}, "UTC") ==
        "(no date) 0.5; 2026-10-14 5; 2026-10-15 2; 2026-10-18 5+; 12.5");
  CHECK(shape(table, {{GroupBy::week}, {}, {}, {}}) ==
        "(no date) 0.5; 2026-W42 12; 2026-W43 0+; 12.5");
  CHECK(shape(table, {{GroupBy::month}, {}, {}, {}}) == "(no date) 0.5; 2026-10 12+; 12.5");
  CHECK(shape(table, {{GroupBy::session}, {}, {}, {}}) == "s1 7; s2 5+; s3 0.5; 12.5");
  CHECK(shape(table, {{GroupBy::project}, {}, {}, {}}) == "/p 7; /q 5+; (unknown) 0.5; 12.5");
  CHECK(shape(table, {{GroupBy::model}, {}, {}, {}}) ==
        "claude-opus-5 10.5; claude-haiku-4-5 2; nobody-knows 0+; 12.5");
  CHECK(shape(table, {{GroupBy::agent}, {}, {}, {}}) == "(unknown) 12.5+; 12.5");
  CHECK(shape(table, {{GroupBy::tool}, {}, {}, {}}) == "(no tool) 5.5; grep 5; a+grep 2+; 12.5");
  CHECK(shape(table, {{GroupBy::month, GroupBy::project}, {}, {}, {}}) ==
        "(no date) (unknown) 0.5; 2026-10 /p 7; 2026-10 /q 5+; 12.5");
}

TEST_CASE("a span of time includes its begin and not its end, and says what has no date") {
  CostQuery query{{GroupBy::day}, at("2026-10-15T08:00:00Z"), at("2026-10-18T22:00:00Z"), {}};
  CHECK(shape(sample(), query) == "2026-10-15 2; 2026-10-18 5; 7");
  const CostReport report = cost_report(sample(), PriceBook::shipped(), calendar("UTC"), query);
  CHECK(report.undated_left_out == 1);
}

TEST_CASE("a report is the same on one thread and on several") {
  constexpr std::uint64_t kCalls = 36'000;
  const std::array models = {"claude-opus-5", "claude-haiku-4-5", "nobody-knows"};
  const std::array times = {"2026-10-14T22:30:00Z", "2026-10-15T08:00:00Z", ""};
  std::vector<Given> list;
  for (std::uint64_t i = 0; i < kCalls; ++i) {
    list.push_back({i + 1, times[i / 3 % 3], i % 2 == 0 ? "s1" : "s2", "/p", models[i % 3], i, {}});
  }
  const CallTable table = table_of(list);
  const auto book = PriceBook::shipped();
  const CostQuery query{{GroupBy::model, GroupBy::session}, at("2026-10-15T00:00:00Z"), {}, {}};
  const CostReport one = cost_report(table, book, calendar("UTC"), query, 1);
  const CostReport many = cost_report(table, book, calendar("UTC"), query, 3);
  // Every third triple is of the right day, every third one has no date.
  CHECK(one.total.calls == kCalls / 3);
  CHECK(one.undated_left_out == kCalls / 3);
  CHECK(one.total.without_searches > 0);
  CHECK(many.total == one.total);
  CHECK(many.undated_left_out == one.undated_left_out);
  REQUIRE(many.rows.size() == 6);
  REQUIRE(one.rows.size() == 6);
  for (std::size_t i = 0; i < one.rows.size(); ++i) {
    CHECK(many.rows[i].keys == one.rows[i].keys);
    CHECK(many.rows[i].sums == one.rows[i].sums);
  }
  REQUIRE(many.unpriced.size() == 1);
  REQUIRE(one.unpriced.size() == 1);
  CHECK(many.unpriced[0].calls == one.unpriced[0].calls);
  CHECK(many.unpriced[0].tokens == one.unpriced[0].tokens);
  CHECK(many.unpriced[0].tokens == one.total.unpriced_tokens);
}

TEST_CASE("prices of another day can be asked for") {
  PriceBook book;
  REQUIRE(
      book.add("[[price]]\nmodels = [\"m\"]\ninput = 1\nvalid_to = 2026-10-01\n"
               "[[price]]\nmodels = [\"m\"]\ninput = 3\nvalid_from = 2026-10-01\n",
               "p"));
  const CallTable table = table_of({{1, "2026-09-01T00:00:00Z", "s", "", "m", 1'000'000, {}}});
  CostQuery query{{GroupBy::day}, {}, {}, {}};
  CHECK(cost_report(table, book, calendar("UTC"), query).total.cost.low.exact() == "1");
  query.prices_at = at("2026-10-01T00:00:00Z");
  CHECK(cost_report(table, book, calendar("UTC"), query).total.cost.low.exact() == "3");
}

TEST_CASE("what is not priced is listed with its reason and its tokens") {
  const CostReport report =
      cost_report(sample(), PriceBook::shipped(), calendar("UTC"), {{GroupBy::day}, {}, {}, {}});
  REQUIRE(report.unpriced.size() == 1);
  CHECK(report.unpriced[0].provider == "anthropic");
  CHECK(report.unpriced[0].model == "nobody-knows");
  CHECK(report.unpriced[0].why == Unpriced::model);
  CHECK(report.unpriced[0].calls == 1);
  CHECK(report.unpriced[0].tokens == 500);
  CHECK(report.total.unpriced_calls == 1);
}

TEST_CASE("calls are counted by how far their figures can be trusted") {
  CallTable table;
  for (std::uint64_t i = 0; i < 6; ++i) {
    Call call;
    call.id = {3, i};
    if (i < 4) {
      call.usage = split(1, 0, 0, 0, 1);
      call.usage.authority = static_cast<schema::Authority>(i);
    }
    if (i == 5) call.usage.cache_read = 7;  // and nothing else: that much at least
    table.add(call);
  }
  const CostReport report =
      cost_report(table, PriceBook::shipped(), calendar("UTC"), {{}, {}, {}, {}});
  CHECK(report.total.by_authority == std::array<std::uint64_t, 4>{1, 1, 2, 1});
  CHECK(report.total.unfinished == 1);
  CHECK(report.total.without_usage == 1);
  CHECK(report.total.without_input == 1);
  CHECK(report.total.without_read == 0);
  CHECK(report.total.without_write == 1);
  CHECK(report.total.without_output == 1);
  REQUIRE(report.rows.size() == 1);
}
