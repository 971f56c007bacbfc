#include "replay/price_book.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>

#include "tests/replay/price_support.h"
#include "tests/support/temp_dir.h"

using namespace daybook;
using namespace daybook::replay;
using namespace daybook::tests;

namespace {

std::string error_of(const std::string& toml) {
  PriceBook book;
  const auto added = book.add(toml, "p.toml");
  REQUIRE_FALSE(added);
  CHECK(added.error().code == ErrorCode::invalid_argument);
  CHECK(book.rows().empty());
  return added.error().message;
}

PriceBook book_of(std::initializer_list<const char*> files) {
  PriceBook book;
  for (const char* toml : files) REQUIRE(book.add(toml, "p.toml"));
  return book;
}

/// The input price of a million tokens, or "-".
std::string input_of(const PriceBook& book, std::string_view provider, std::string_view model,
                     std::int64_t when = kAutumn) {
  const CallCost cost = cost_of(book, provider, model, split(1'000'000, 0, 0, 0, 0), when);
  return cost.why == Unpriced::no ? cost.total.low.exact() : "-";
}

std::string row(const std::string& models, double input, const std::string& more = "") {
  return "[[price]]\nmodels = [" + models + "]\ninput = " + std::to_string(input) + "\n" + more +
         "\n";
}

}  // namespace

TEST_CASE("the shipped book: every row says where its prices come from and when they were read") {
  const PriceBook book = PriceBook::shipped();
  CHECK(book.rows().size() >= 35);
  for (const PriceRow& it : book.rows()) {
    INFO(it.file << ":" << it.line);
    CHECK_FALSE(it.provider.empty());
    CHECK(it.source.starts_with("https://"));
    CHECK(it.read.starts_with("2026-"));
    CHECK(it.rates[TokenClass::input]);
    CHECK(it.rates[TokenClass::output]);
    CHECK(it.line > 0);
  }
}

TEST_CASE("names are looked up as given, then without what stands around them") {
  const auto names = [](std::string_view model) { return model_names(model).names; };
  using List = std::vector<std::string>;
  CHECK(names("gpt-5") == List{"gpt-5"});
  CHECK(names("Claude-Opus-5") == List{"claude-opus-5"});
  CHECK(names("claude-sonnet-4-5-20250929") ==
        List{"claude-sonnet-4-5-20250929", "claude-sonnet-4-5"});
  CHECK(names("gpt-5-2025-08-07") == List{"gpt-5-2025-08-07", "gpt-5"});
  CHECK(names("anthropic/claude-opus-4.5") == List{"anthropic/claude-opus-4.5", "claude-opus-4.5"});
  CHECK(names("us.anthropic.claude-opus-4-5-20251101-v1:0") ==
        List{"us.anthropic.claude-opus-4-5-20251101-v1:0", "claude-opus-4-5-20251101-v1:0",
             "claude-opus-4-5-20251101", "claude-opus-4-5"});
  CHECK(names("claude-opus-4-6[1m]") == List{"claude-opus-4-6[1m]", "claude-opus-4-6"});
  CHECK(names("claude-sonnet-4@20250514").back() == "claude-sonnet-4");
  CHECK(names("claude-3-7-sonnet-latest").back() == "claude-3-7-sonnet");
  CHECK(names("kimi-k2-0905") == List{"kimi-k2-0905"});  // not a date: a version
  CHECK(names("gpt-5-20250807x") == List{"gpt-5-20250807x"});
  CHECK(names("model:free") == List{"model:free"});  // another price
  CHECK(model_names("openrouter/anthropic/claude-opus-5").vendors ==
        List{"openrouter", "anthropic"});
  CHECK(names("") == List{});
  CHECK(names("/") == List{"/"});
}

TEST_CASE("the longest name wins, and a whole name before a start") {
  const PriceBook book = book_of(
      {(row("\"a*\"", 1) + row("\"a-b*\"", 2) + row("\"a-b-c\"", 3) + row("\"a-b-20250101\"", 4))
           .c_str()});
  CHECK(input_of(book, "", "a-x") == "1");
  CHECK(input_of(book, "", "a-b-x") == "2");
  CHECK(input_of(book, "", "a-b-c") == "3");
  CHECK(input_of(book, "", "a-b-c-20250101") == "3");
  CHECK(input_of(book, "", "a-b-20250101") == "4");
  CHECK(input_of(book, "", "b") == "-");
}

TEST_CASE("nothing is guessed from a name that only resembles another") {
  const PriceBook book = PriceBook::shipped();
  for (const char* name : {"claude-opus-5-6", "claude-opus", "opus-5", "gpt-5-mini", "gpt-5.6-so",
                           "gpt-5.6-sol-pro", "my-claude-opus-5", "claude-opus-5:free"}) {
    INFO(name);
    CHECK(input_of(book, "", name) == "-");
  }
}

TEST_CASE("who bills decides") {
  const PriceBook book = PriceBook::shipped();
  CHECK(input_of(book, "anthropic", "claude-opus-5") == "5");
  CHECK(input_of(book, "Bedrock", "anthropic.claude-opus-5") == "5");
  CHECK(input_of(book, "openrouter", "anthropic/claude-opus-5") == "5");
  CHECK(input_of(book, "openrouter", "openai/claude-opus-5") == "-");
  CHECK(input_of(book, "work", "claude-opus-5") == "5");
  CHECK(input_of(book, "", "anthropic/claude-opus-5") == "5");
  CHECK(input_of(book, "together", "deepseek-v4-pro") == "-");
  CHECK(input_of(book, "ollama", "deepseek-v4-pro") == "-");
  CHECK(input_of(book, "openai", "claude-opus-5") == "-");
}

TEST_CASE("a name at two vendors is not priced for a caller of neither") {
  const std::string two =
      "[providers.p]\n[providers.q]\n"
      "[[price]]\nprovider = \"p\"\nmodels = [\"m\"]\ninput = 1\n"
      "[[price]]\nprovider = \"q\"\nmodels = [\"m\"]\ninput = 2\n";
  const PriceBook book = book_of({two.c_str()});
  CHECK(input_of(book, "p", "m") == "1");
  CHECK(input_of(book, "q", "m") == "2");
  CHECK(input_of(book, "other", "m") == "-");
}

TEST_CASE("a user's file goes over the shipped rows, and where it is silent they hold") {
  PriceBook book = PriceBook::shipped();
  REQUIRE(book.add(row("\"claude-opus-5\"", 1, "valid_from = 2026-11-01") +
                       row("\"own-model\"", 7) +
                       "[[price]]\nprovider = \"work\"\nmodels = [\"gpt-5\"]\ninput = 0.5\n"
                       "[providers.openrouter]\nlists = [\"openai\"]\n[providers.work]\n",
                   "mine.toml"));
  CHECK(input_of(book, "anthropic", "claude-opus-5", at("2026-10-31T23:59:59Z")) == "5");
  CHECK(input_of(book, "anthropic", "claude-opus-5", at("2026-11-01T00:00:00Z")) == "1");
  CHECK(input_of(book, "ollama", "own-model") == "7");  // whoever bills
  CHECK(input_of(book, "work", "gpt-5") == "0.5");
  CHECK(input_of(book, "openai", "gpt-5") == "1.25");
  CHECK(input_of(book, "openrouter", "anthropic/claude-haiku-4-5") == "-");
}

TEST_CASE("a row for a tier goes before a factor") {
  const std::string toml =
      row("\"m\"", 2, "tiers = { flex = 0.5, batch = 0.5 }") + row("\"m\"", 9, "tier = \"flex\"");
  const PriceBook book = book_of({toml.c_str()});
  CallUsage usage = split(1'000'000, 0, 0, 0, 0);
  CHECK(cost_of(book, "", "m", usage, kAutumn).total.low.exact() == "2");
  usage.service_tier = "flex";
  CHECK(cost_of(book, "", "m", usage, kAutumn).total.low.exact() == "9");
  usage.service_tier = "Batch";
  CHECK(cost_of(book, "", "m", usage, kAutumn).total.low.exact() == "1");
}

TEST_CASE("thresholds: strictly greater unless the row says inclusive, the highest passed holds") {
  const std::string toml =
      row("\"m\"", 1,
          "tiers = { fast = 2 }\nlong = [{ above = 200, input = 4, tiers = {} }, "
          "{ above = 100, inclusive = true, input = 2 }]");
  const PriceBook book = book_of({toml.c_str()});
  const auto cost = [&](std::uint64_t tokens, const char* tier = "") {
    CallUsage usage = split(tokens, 0, 0, 0, 0);
    usage.service_tier = tier;
    const CallCost priced = cost_of(book, "", "m", usage, kAutumn);
    return priced.why == Unpriced::no ? priced.total.low.exact() : "-";
  };
  CHECK(cost(99) == "0.000099");
  CHECK(cost(100) == "0.0002");
  CHECK(cost(200) == "0.0004");
  CHECK(cost(201) == "0.000804");
  CHECK(cost(100, "fast") == "0.0004");
  CHECK(cost(201, "fast") == "-");  // not sold for long contexts
}

TEST_CASE("mistakes are named with file, line, column and the nearest key") {
  CHECK(error_of("[[price]]\nmodels = [\"m\"]\ninputt = 1\n") ==
        "p.toml:3:1: unknown key 'inputt' in [[price]]; did you mean 'input'?");
  CHECK(error_of("[[price]]\nmodels = [\"m\"]\n  cache_write5m = 1\n") ==
        "p.toml:3:3: unknown key 'cache_write5m' in [[price]]; did you mean 'cache_write_5m'?");
  CHECK(error_of("[[prices]]\n") == "p.toml:1:3: unknown key 'prices'; did you mean 'price'?");
  CHECK(error_of("x = [").starts_with("p.toml:1:"));
  CHECK(error_of("[[price]]\ninput = 1\n") ==
        "p.toml:1:1: a price needs 'models', a list of names");
  CHECK(error_of("[[price]]\nmodels = [\"a*b\"]\n") ==
        "p.toml:2:10: a model's name is not empty, and '*' may only end it");
  CHECK(error_of("[[price]]\nmodels = [\"m\"]\ninput = \"1\"\n") ==
        "p.toml:3:9: 'input' in [[price]] must be a number, not a string");
  CHECK(error_of("[[price]]\nmodels = [\"m\"]\ninput = 0.0000001\n") ==
        "p.toml:3:9: 'input' in [[price]] must be from 0 to 10000 dollars with at most six "
        "decimals");
  CHECK(error_of("[[price]]\nmodels = [\"m\"]\ntiers = { flex = 0 }\n") ==
        "p.toml:3:18: 'tiers' in [[price]] has 'flex', which must be a factor above 0, at most "
        "100, with at most three decimals");
  CHECK(error_of("[[price]]\nmodels = [\"m\"]\nvalid_from = \"2026-01-01\"\n") ==
        "p.toml:3:14: 'valid_from' in [[price]] must be a date, or a time with Z or an offset, "
        "from 1970 to 2260, not a string");
  CHECK(error_of("[[price]]\nmodels = [\"m\"]\nvalid_from = 2026-02-01\nvalid_to = 2026-02-01\n") ==
        "p.toml:1:1: 'valid_to' must be after 'valid_from'");
  CHECK(error_of("[[price]]\nmodels = [\"m\"]\nlong = [{ abov = 3 }]\n") ==
        "p.toml:3:11: unknown key 'abov' in [price.long]; did you mean 'above'?");
  CHECK(error_of("[[price]]\nmodels = [\"m\"]\nlong = [{ input = 3 }]\n") ==
        "p.toml:3:9: a long context needs 'above', a number of tokens");
  CHECK(error_of("[[price]]\nmodels = [\"m\"]\nlong = [{ above = 3, inputs = 1 }]\n") ==
        "p.toml:3:22: unknown key 'inputs' in [price.long]; did you mean 'input'?");
  CHECK(error_of("[[price]]\nmodels = [\"m\"]\npeak = { days = [\"monday\"] }\n") ==
        "p.toml:3:17: there is no day 'monday': write mon, tue, wed, thu, fri, sat or sun");
  CHECK(error_of("[[price]]\nmodels = [\"m\"]\npeak = { hours = [\"4:00-5:00\"] }\n") ==
        "p.toml:3:18: '4:00-5:00' must be hours such as \"01:00-04:00\", in UTC, within one day");
  CHECK(error_of("[[price]]\nmodels = [\"m\"]\ncache_write = 1\ncache_write_1h = 2\n") ==
        "p.toml:1:1: 'cache_write' is the price of every write: with it there is no "
        "'cache_write_5m' or 'cache_write_1h'");
}

TEST_CASE("a provider that nobody knows is a mistake, not a row that no call finds") {
  PriceBook book = PriceBook::shipped();
  const std::size_t rows = book.rows().size();
  const auto wrong = [&](const std::string& toml) {
    const auto added = book.add(toml, "p.toml");
    CHECK(book.rows().size() == rows);
    return added ? "" : added.error().message;
  };
  CHECK(wrong("[[price]]\nprovider = \"antropic\"\nmodels = [\"m\"]\n") ==
        "p.toml:2:12: there is no provider 'antropic'; did you mean 'anthropic'?; one of your own "
        "needs a table [providers.antropic]");
  CHECK(
      wrong("[providers.work]\nlists = [\"anthropic\", \"opnai\"]\n") ==
      "p.toml:2:23: there is no provider 'opnai'; did you mean 'openai'?; one of your own needs a "
      "table [providers.opnai]");
  CHECK(book.add("[[price]]\nprovider = \"own\"\nmodels = [\"m\"]\n[providers.own]\n", "p.toml"));
}

TEST_CASE("a name of one provider is no other provider's") {
  const auto error = [](const std::string& toml) {
    PriceBook book = PriceBook::shipped();
    const auto added = book.add(toml, "my.toml");
    return added ? "" : added.error().message;
  };
  CHECK(error("[providers.own]\nalso = [\"mine\"]\n") == "");
  CHECK(error("[providers.own]\nalso = [\"mine\", \"anthropic\"]\n") ==
        "my.toml:2:17: 'anthropic' is a name of the provider 'anthropic' already");
}

TEST_CASE("one threshold has one price") {
  CHECK(error_of("[[price]]\nmodels = [\"m\"]\n"
                 "long = [{ above = 5, input = 1 }, { above = 5, input = 2 }]\n") ==
        "p.toml:3:45: the threshold 5 is there twice: which prices hold?");
}

TEST_CASE("two rows for one name and moment are refused") {
  CHECK(error_of(row("\"m\"", 1, "valid_to = 2026-03-02") +
                 row("\"m\"", 2, "valid_from = 2026-03-01")) ==
        "p.toml:5:1: the price of 'm' overlaps with the one in line 1: let 'valid_to' of one be "
        "'valid_from' of the other");
  PriceBook book;
  CHECK(book.add(row("\"m\"", 1, "valid_to = 2026-03-01") +
                     row("\"m\"", 2, "valid_from = 2026-03-01") + row("\"m\"", 3, "tier = \"x\""),
                 "p.toml"));
}

TEST_CASE("a file of prices that is not there, or no file, is said") {
  const TempDir folder;
  PriceBook book;
  const std::string path = folder.str("prices.toml");
  CHECK(book.add_file(path).error().message == path + ": there is no such file of prices");
  CHECK(book.add_file(folder.str()).error().code == ErrorCode::io);
  std::ofstream(path) << row("\"m\"", 1);
  REQUIRE(book.add_file(path));
  CHECK(input_of(book, "", "m") == "1");
}
