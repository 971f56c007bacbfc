// Building blocks of the price tests.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

#include "replay/price_call.h"

namespace daybook::tests {

/// "2026-03-13T00:00:00Z" as UTC ns.
inline std::int64_t at(const char* text) {
  int year = 0, hour = 0, minute = 0, second = 0;
  unsigned month = 0, day = 0;
  std::sscanf(text, "%d-%u-%uT%d:%d:%dZ", &year, &month, &day, &hour, &minute, &second);
  const auto days = std::chrono::sys_days(std::chrono::year(year) / std::chrono::month(month) /
                                          std::chrono::day(day));
  const std::int64_t seconds =
      days.time_since_epoch().count() * std::int64_t{86'400} + hour * 3600 + minute * 60 + second;
  return seconds * 1'000'000'000;
}

/// A Thursday morning, past DeepSeek's peak.
inline const std::int64_t kAutumn = at("2026-10-15T12:00:00Z");

/// As Anthropic reports.
inline replay::CallUsage split(std::uint64_t input, std::uint64_t read, std::uint64_t write_5m,
                               std::uint64_t write_1h, std::uint64_t output,
                               std::uint64_t searches = 0) {
  replay::CallUsage usage;
  usage.input_uncached = input;
  usage.cache_read = read;
  usage.cache_write = write_5m + write_1h;
  usage.cache_write_5m = write_5m;
  usage.cache_write_1h = write_1h;
  usage.output = output;
  if (searches > 0) usage.web_searches = searches;
  return usage;
}

/// The same before the split of writes was reported.
inline replay::CallUsage unsplit(std::uint64_t input, std::uint64_t read, std::uint64_t write,
                                 std::uint64_t output) {
  replay::CallUsage usage;
  usage.input_uncached = input;
  usage.cache_read = read;
  usage.cache_write = write;
  usage.output = output;
  return usage;
}

/// More was written than the split accounts for.
inline replay::CallUsage partly_split(std::uint64_t write_5m, std::uint64_t write_1h,
                                      std::uint64_t write) {
  replay::CallUsage usage = split(0, 0, write_5m, write_1h, 0);
  usage.cache_write = write;
  return usage;
}

/// As OpenAI reports: the total includes cached and written tokens. Negative: not reported.
inline replay::CallUsage total(std::uint64_t input, std::int64_t cached, std::int64_t written,
                               std::uint64_t output) {
  replay::CallUsage usage;
  usage.input_total = input;
  if (cached >= 0) usage.cache_read = static_cast<std::uint64_t>(cached);
  if (written >= 0) usage.cache_write = static_cast<std::uint64_t>(written);
  usage.output = output;
  return usage;
}

inline replay::CallCost cost_of(const replay::PriceBook& book, std::string_view provider,
                                std::string_view model, const replay::CallUsage& usage,
                                std::int64_t when) {
  return replay::price_call(book.rows_for(provider, model), usage, {when, when});
}

}  // namespace daybook::tests
