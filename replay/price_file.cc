#include "replay/price_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <sstream>

#include "engine/toml_reader.h"

namespace daybook::replay {
namespace {

using engine::TableReader;
using engine::TomlPlace;

constexpr auto kPlace = TomlPlace::line_and_column;
constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kNsPerDay = 86'400 * kNsPerSecond;
/// Nanoseconds since 1970 fit 64 bits from 1678 to 2261.
constexpr int kFirstYear = 1970, kLastYear = 2260;

std::optional<std::int32_t> day_of(const toml::date& date) {
  const std::chrono::year_month_day day{std::chrono::year(date.year),
                                        std::chrono::month(date.month), std::chrono::day(date.day)};
  if (!day.ok() || date.year < kFirstYear || date.year > kLastYear) return std::nullopt;
  return static_cast<std::int32_t>(std::chrono::sys_days(day).time_since_epoch().count());
}

std::int64_t seconds_of(const toml::time& time) {
  return time.hour * 3600 + time.minute * 60 + time.second;
}

std::string written(const toml::node& node) {
  std::ostringstream text;
  if (const auto* date = node.as_date()) {
    text << date->get();
  } else if (const auto* time = node.as_date_time()) {
    text << time->get();
  }
  return text.str();
}

/// A date (midnight UTC) or a time with an offset.
void read_moment(TableReader& reader, const char* key, std::int64_t& ns, std::string& text) {
  const toml::node* node = reader.find(key);
  if (node == nullptr) return;
  std::optional<std::int32_t> day;
  std::int64_t seconds = 0;
  if (const auto* date = node->as_date()) {
    day = day_of(date->get());
  } else if (const auto* time = node->as_date_time(); time != nullptr && time->get().offset) {
    day = day_of(time->get().date);
    seconds = seconds_of(time->get().time) - std::int64_t{60} * time->get().offset->minutes;
  }
  if (!day) {
    return reader.wrong(*node, key, "a date, or a time with Z or an offset, from 1970 to 2260");
  }
  ns = *day * kNsPerDay + seconds * kNsPerSecond;
  text = written(*node);
}

void read_rate(TableReader& reader, const char* key, std::uint64_t units,
               std::optional<Rate>& out) {
  const auto dollars = reader.fraction(key);
  if (!dollars) return;
  out = rate_of(*dollars, units);
  if (out) return;
  reader.fail_at(*reader.find(key),
                 fmt::format("{} must be from 0 to {} dollars with at most six decimals",
                             reader.shown(key), kMostDollarsPerMillion));
}

void read_rates(TableReader& reader, Rates& rates) {
  constexpr std::uint64_t kMillion = 1'000'000, kThousand = 1'000;
  const auto read = [&](const char* key, TokenClass what, std::uint64_t units) {
    read_rate(reader, key, units, rates.of[index_of(what)]);
  };
  read("input", TokenClass::input, kMillion);
  read("cache_read", TokenClass::cache_read, kMillion);
  read("cache_write", TokenClass::cache_write, kMillion);
  read("cache_write_5m", TokenClass::cache_write_5m, kMillion);
  read("cache_write_1h", TokenClass::cache_write_1h, kMillion);
  read("output", TokenClass::output, kMillion);
  read("web_search_per_1000", TokenClass::web_search, kThousand);
  if (rates[TokenClass::cache_write] &&
      (rates[TokenClass::cache_write_5m] || rates[TokenClass::cache_write_1h])) {
    reader.fail_here(
        "'cache_write' is the price of every write: with it there is no 'cache_write_5m' or "
        "'cache_write_1h'");
  }
}

void read_multipliers(TableReader& reader, const char* key, Multipliers& out) {
  const toml::table* table = reader.table(key);
  if (table == nullptr) return;
  for (const auto& [name, node] : *table) {
    const auto factor = node.value<double>();
    const auto multiplier = factor ? multiplier_of(*factor) : std::nullopt;
    if (!multiplier || node.is_string()) {
      return reader.fail_at(
          node, fmt::format("{} has '{}', which must be a factor above 0, at most {}, with at most "
                            "three decimals",
                            reader.shown(key), name.str(), kMostMultiplier));
    }
    out.insert_or_assign(std::string(name.str()), *multiplier);
  }
}

class RowReader {
 public:
  RowReader(const toml::table& table, std::string_view file)
      : file_(file), reader_(table, file, "[price]", kPlace) {
    row_.file = file;
    row_.line = static_cast<std::uint32_t>(table.source().begin.line);
  }

  Result<PriceRow> read() {
    reader_.text("provider", row_.provider);
    row_.models = reader_.strings("models");
    reader_.text("tier", row_.tier);
    read_moment(reader_, "valid_from", row_.from, row_.valid_from);
    read_moment(reader_, "valid_to", row_.to, row_.valid_to);
    read_rates(reader_, row_.rates);
    DAYBOOK_TRY(long_contexts());
    DAYBOOK_TRY(peak());
    read_multipliers(reader_, "tiers", row_.tiers);
    read_multipliers(reader_, "speeds", row_.speeds);
    read_multipliers(reader_, "regions", row_.regions);
    reader_.text("source", row_.source);
    read_date();
    reader_.text("note", row_.note);
    DAYBOOK_TRY(reader_.finish());  // a misspelt key first: it may be what is missing
    check();
    DAYBOOK_TRY(reader_.finish());
    return std::move(row_);
  }

 private:
  void read_date() {
    const toml::node* node = reader_.find("read");
    if (node == nullptr) return;
    row_.read = node->is_date() ? written(*node) : "";
    if (row_.read.empty()) return reader_.wrong(*node, "read", "a date");
    const auto day = day_of(node->as_date()->get());
    if (day && row_.to == kNoEnd) row_.stale_from = (*day + kStaleDays) * kNsPerDay;
  }

  Result<void> long_contexts() {
    const toml::array* list = reader_.list("long", "tables");
    if (list == nullptr) return {};
    for (const toml::node& node : *list) {
      const toml::table* table = node.as_table();
      if (table == nullptr) {
        reader_.wrong(node, "long", "a list of tables");
        return {};
      }
      TableReader inner(*table, file_, "price.long", kPlace);
      LongContext context;
      std::optional<std::uint64_t> above;
      inner.number("above", above, 1, std::numeric_limits<std::int64_t>::max());
      context.above = above.value_or(0);
      inner.boolean("inclusive", context.inclusive);
      if (above && std::ranges::count(row_.long_contexts, *above, &LongContext::above) > 0) {
        inner.fail_at(*table->get("above"),
                      fmt::format("the threshold {} is there twice: which prices hold?", *above));
      }
      read_rates(inner, context.rates);
      Multipliers tiers;
      read_multipliers(inner, "tiers", tiers);
      if (table->contains("tiers")) context.tiers = std::move(tiers);
      DAYBOOK_TRY(inner.finish());
      if (!above) inner.fail_here("a long context needs 'above', a number of tokens");
      DAYBOOK_TRY(inner.finish());
      row_.long_contexts.push_back(std::move(context));
    }
    std::ranges::sort(row_.long_contexts, {}, &LongContext::above);
    return {};
  }

  Result<void> peak() {
    const toml::table* table = reader_.table("peak");
    if (table == nullptr) return {};
    TableReader inner(*table, file_, "price.peak", kPlace);
    Peak peak;
    days(inner, peak);
    hours(inner, peak);
    except(inner, peak);
    read_rates(inner, peak.rates);
    DAYBOOK_TRY(inner.finish());
    row_.peak = std::move(peak);
    return {};
  }

  static void days(TableReader& inner, Peak& peak) {
    static constexpr std::array<std::string_view, 7> kDays = {"mon", "tue", "wed", "thu",
                                                              "fri", "sat", "sun"};
    for (const std::string& name : inner.strings("days")) {
      const auto* const found = std::ranges::find(kDays, name);
      if (found == kDays.end()) {
        return inner.fail_at(*inner.find("days"),
                             fmt::format("there is no day '{}': write mon, tue, wed, thu, fri, sat "
                                         "or sun",
                                         name));
      }
      peak.days[static_cast<std::size_t>(found - kDays.begin())] = true;
    }
  }

  static void hours(TableReader& inner, Peak& peak) {
    constexpr int kMinutes = 24 * 60;
    for (const std::string& text : inner.strings("hours")) {
      const auto digit = [&](std::size_t at) { return text[at] - '0'; };
      const auto minute = [&](std::size_t at) {
        return (digit(at) * 10 + digit(at + 1)) * 60 + digit(at + 3) * 10 + digit(at + 4);
      };
      const auto shaped = [&] {
        constexpr std::string_view kShape = "00:00-00:00";
        if (text.size() != kShape.size()) return false;
        for (std::size_t i = 0; i < text.size(); ++i) {
          const bool is_digit = text[i] >= '0' && text[i] <= '9';
          if (kShape[i] == '0' ? !is_digit : text[i] != kShape[i]) return false;
        }
        return digit(3) < 6 && digit(9) < 6;
      };
      if (!shaped() || minute(0) >= minute(6) || minute(6) > kMinutes) {
        return inner.fail_at(*inner.find("hours"),
                             fmt::format("'{}' must be hours such as \"01:00-04:00\", in UTC, "
                                         "within one day",
                                         text));
      }
      peak.hours.push_back({minute(0), minute(6)});
    }
  }

  static void except(TableReader& inner, Peak& peak) {
    const toml::array* list = inner.list("except", "dates");
    if (list == nullptr) return;
    for (const toml::node& node : *list) {
      const auto* date = node.as_date();
      const auto day = date == nullptr ? std::nullopt : day_of(date->get());
      if (!day) return inner.wrong(node, "except", "a list of dates");
      peak.except.push_back(*day);
    }
  }

  void check() {
    const auto bad_name = [](const std::string& name) {
      const auto star = name.find('*');
      return name.empty() || (star != std::string::npos && star + 1 != name.size());
    };
    if (row_.models.empty()) {
      reader_.fail_here("a price needs 'models', a list of names");
    } else if (std::ranges::any_of(row_.models, bad_name)) {
      reader_.fail_at(*reader_.find("models"),
                      "a model's name is not empty, and '*' may only end it");
    } else if (row_.from >= row_.to) {
      reader_.fail_here("'valid_to' must be after 'valid_from'");
    } else if (row_.peak && !row_.long_contexts.empty()) {
      reader_.fail_here("a price has either 'peak' or 'long', not both");
    }
    for (std::string& name : row_.models) std::ranges::transform(name, name.begin(), lower);
  }

  static char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

  std::string_view file_;
  TableReader reader_;
  PriceRow row_;
};

std::string place_of(std::string_view file, const toml::node& node) {
  return fmt::format("{}:{}:{}", file, node.source().begin.line, node.source().begin.column);
}

Result<void> read_providers(TableReader& top, std::string_view file, PriceFile& out) {
  const toml::table* tables = top.table("providers");
  if (tables == nullptr) return {};
  for (const auto& [name, value] : *tables) {
    const toml::table* table = value.as_table();
    if (table == nullptr) {
      top.wrong(value, fmt::format("providers.{}", name.str()), "a table");
      return {};
    }
    TableReader reader(*table, file, fmt::format("providers.{}", name.str()), kPlace);
    PriceProvider provider;
    provider.also = reader.strings("also");
    provider.lists = reader.strings("lists");
    DAYBOOK_TRY(reader.finish());
    for (std::size_t i = 0; i < provider.also.size(); ++i) {
      out.other_names.push_back(
          {provider.also[i], place_of(file, *(*table)["also"][i].node()), std::string(name.str())});
    }
    for (std::size_t i = 0; i < provider.lists.size(); ++i) {
      out.named.push_back({provider.lists[i], place_of(file, *(*table)["lists"][i].node())});
    }
    out.providers.insert_or_assign(std::string(name.str()), std::move(provider));
  }
  return {};
}

bool overlap(const PriceRow& a, const PriceRow& b) {
  return a.from < b.to && b.from < a.to;
}

/// Two rows for the same name, tier and moment would make the price a matter of order.
Result<void> check_overlaps(const PriceFile& file) {
  std::map<std::string, std::vector<const PriceRow*>> by_name;
  for (const PriceRow& row : file.rows) {
    for (const std::string& model : row.models) {
      auto& rows = by_name[fmt::format("{}\n{}\n{}", row.provider, model, row.tier)];
      for (const PriceRow* other : rows) {
        if (!overlap(row, *other)) continue;
        return fail(ErrorCode::invalid_argument,
                    fmt::format("{}:{}:1: the price of '{}' overlaps with the one in line {}: let "
                                "'valid_to' of one be 'valid_from' of the other",
                                row.file, row.line, model, other->line));
      }
      rows.push_back(&row);
    }
  }
  return {};
}

Result<PriceFile> read_top(const toml::table& root, std::string_view file) {
  PriceFile out;
  TableReader top(root, file, "", kPlace);
  DAYBOOK_TRY(read_providers(top, file, out));
  if (const toml::array* prices = top.list("price", "tables, each written [[price]]")) {
    for (const toml::node& node : *prices) {
      const toml::table* table = node.as_table();
      if (table == nullptr) {
        top.wrong(node, "price", "a list of tables, each written [[price]]");
        break;
      }
      auto row = RowReader(*table, file).read();
      if (!row) return fail(std::move(row.error()));
      if (const toml::node* provider = table->get("provider")) {
        out.named.push_back({row->provider, place_of(file, *provider)});
      }
      out.rows.push_back(std::move(*row));
    }
  }
  DAYBOOK_TRY(top.finish());
  DAYBOOK_TRY(check_overlaps(out));
  return out;
}

}  // namespace

Result<PriceFile> read_prices(std::string_view toml, std::string_view file) {
  try {
    return read_top(toml::parse(toml, std::string(file)), file);
  } catch (const toml::parse_error& error) {
    const auto at = error.source().begin;
    return fail(ErrorCode::invalid_argument, fmt::format("{}:{}:{}: not valid TOML: {}", file,
                                                         at.line, at.column, error.description()));
  }
}

}  // namespace daybook::replay
