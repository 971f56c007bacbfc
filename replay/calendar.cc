#include "replay/calendar.h"

#include <cctz/civil_time.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace daybook::replay {
namespace {

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
/// Years whose nanoseconds fit 64 bits.
constexpr int kFirstYear = 1970, kLastYear = 2260;

using Instant = cctz::time_point<cctz::seconds>;

Instant instant_of(std::int64_t utc_ns) {
  const std::int64_t seconds = utc_ns / kNsPerSecond - (utc_ns % kNsPerSecond < 0 ? 1 : 0);
  return Instant(cctz::seconds(seconds));
}

cctz::civil_day day_of(std::int64_t utc_ns, const cctz::time_zone& zone) {
  return cctz::civil_day(cctz::convert(instant_of(utc_ns), zone));
}

/// A name of the database, not a path out of it.
bool is_zone_name(std::string_view name) {
  const auto usable = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '+' || c == '/';
  };
  return !name.empty() && name.front() != '/' && std::ranges::all_of(name, usable);
}

/// "2026-10-15" exactly; nothing for dates that do not exist.
bool parse_day(std::string_view text, cctz::civil_day& day) {
  constexpr std::string_view kShape = "0000-00-00";
  if (text.size() != kShape.size()) return false;
  int parts[3] = {};
  int part = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (kShape[i] == '-') {
      if (text[i] != '-') return false;
      ++part;
    } else if (text[i] < '0' || text[i] > '9') {
      return false;
    } else {
      parts[part] = parts[part] * 10 + (text[i] - '0');
    }
  }
  if (parts[0] < kFirstYear || parts[0] > kLastYear) return false;
  day = cctz::civil_day(parts[0], parts[1], parts[2]);
  return day.year() == parts[0] && day.month() == parts[1] && day.day() == parts[2];
}

}  // namespace

Result<Calendar> Calendar::open(std::string_view zone) {
  const std::string name(zone);
  if (zone.empty()) return Calendar(cctz::local_time_zone(), "local time");
  cctz::time_zone found;
  if (!is_zone_name(zone) || !cctz::load_time_zone(name, &found)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("there is no time zone '{}' in the system's tz database: write a name "
                            "such as Europe/Berlin or UTC",
                            name));
  }
  return Calendar(found, name);
}

std::string Calendar::day(std::int64_t utc_ns) const {
  const cctz::civil_day day = day_of(utc_ns, zone_);
  return fmt::format("{:04}-{:02}-{:02}", day.year(), day.month(), day.day());
}

std::string Calendar::week(std::int64_t utc_ns) const {
  const cctz::civil_day day = day_of(utc_ns, zone_);
  // A week belongs to the year that its Thursday is in.
  const cctz::civil_day thursday = cctz::prev_weekday(day + 1, cctz::weekday::monday) + 3;
  return fmt::format("{:04}-W{:02}", thursday.year(), (cctz::get_yearday(thursday) - 1) / 7 + 1);
}

std::string Calendar::month(std::int64_t utc_ns) const {
  const cctz::civil_day day = day_of(utc_ns, zone_);
  return fmt::format("{:04}-{:02}", day.year(), day.month());
}

Result<std::int64_t> Calendar::moment(std::string_view text, Edge edge,
                                      std::string_view option) const {
  cctz::civil_day day;
  if (parse_day(text, day)) {
    const cctz::civil_second midnight(edge == Edge::end ? day + 1 : day);
    return cctz::convert(midnight, zone_).time_since_epoch().count() * kNsPerSecond;
  }
  std::chrono::time_point<std::chrono::system_clock, std::chrono::nanoseconds> instant;
  if (text.size() > 10 && text[10] == 'T' && parse_day(text.substr(0, 10), day) &&
      cctz::parse("%Y-%m-%dT%H:%M:%E*S%Ez", std::string(text), cctz::utc_time_zone(), &instant)) {
    return instant.time_since_epoch().count();
  }
  return fail(ErrorCode::invalid_argument,
              fmt::format("{} cannot be '{}': write a date from {} to {}, such as 2026-10-15, or a "
                          "time such as 2026-10-15T12:00:00Z",
                          option, text, kFirstYear, kLastYear));
}

}  // namespace daybook::replay
