#include "tools/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "schema/utf8.h"

namespace daybook::tools {
namespace {

struct Moment {
  int year;
  unsigned month, day;
  long hour, minute, second;
  long nanosecond;
};

Moment moment_of(std::int64_t utc_ns) {
  using namespace std::chrono;
  const sys_time<nanoseconds> time{nanoseconds(utc_ns)};
  const auto day = floor<days>(time);
  const year_month_day date(day);
  const hh_mm_ss clock(time - day);
  return {int(date.year()),          unsigned(date.month()),  unsigned(date.day()),
          clock.hours().count(),     clock.minutes().count(), clock.seconds().count(),
          clock.subseconds().count()};
}

struct CodePoint {
  char32_t value;
  std::size_t length;
};

/// First code point of valid UTF-8.
CodePoint decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto tail = [&](std::size_t i) { return static_cast<char32_t>(byte(i) & 0x3f); };
  if (byte(0) < 0x80) return {byte(0), 1};
  if (byte(0) < 0xe0) return {(byte(0) & 0x1fU) << 6 | tail(1), 2};
  if (byte(0) < 0xf0) return {(byte(0) & 0x0fU) << 12 | tail(1) << 6 | tail(2), 3};
  return {(byte(0) & 0x07U) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3), 4};
}

struct Range {
  char32_t first, last;
};

bool within(char32_t point, std::initializer_list<Range> ranges) {
  for (const Range& range : ranges) {
    if (point >= range.first && point <= range.last) return true;
  }
  return false;
}

std::size_t cells_of(char32_t point) {
  if (point < 0x300) return 1;
  if (within(point, {{0x300, 0x36f}, {0x200b, 0x200f}, {0x20d0, 0x20ff}, {0xfe00, 0xfe0f}})) {
    return 0;
  }
  return within(point, {{0x1100, 0x115f},
                        {0x2e80, 0xa4cf},
                        {0xac00, 0xd7a3},
                        {0xf900, 0xfaff},
                        {0xfe30, 0xfe6f},
                        {0xff00, 0xff60},
                        {0xffe0, 0xffe6},
                        {0x1f300, 0x1f64f},
                        {0x1f680, 0x1f6ff},
                        {0x1f900, 0x1f9ff},
                        {0x20000, 0x3fffd}})
             ? 2
             : 1;
}

}  // namespace

std::string rfc3339(std::int64_t utc_ns) {
  const Moment m = moment_of(utc_ns);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", m.year, m.month, m.day, m.hour,
                     m.minute, m.second, m.nanosecond);
}

std::string short_time(std::int64_t utc_ns) {
  const Moment m = moment_of(utc_ns);
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}Z", m.year, m.month, m.day, m.hour,
                     m.minute, m.second);
}

std::string duration(std::uint64_t ns) {
  if (ns < 1'000'000) return fmt::format("{} us", ns / 1'000);
  if (ns < 1'000'000'000) return fmt::format("{} ms", ns / 1'000'000);
  const std::uint64_t tenths = ns / 100'000'000;
  if (tenths < 600) return fmt::format("{}.{} s", tenths / 10, tenths % 10);
  return fmt::format("{} min {} s", tenths / 600, tenths / 10 % 60);
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = bytes.size() - i;
    const auto byte = [&](std::size_t k) -> std::uint32_t {
      return k < left ? static_cast<unsigned char>(bytes[i + k]) : 0;
    };
    const std::uint32_t group = byte(0) << 16 | byte(1) << 8 | byte(2);
    out += kDigits[group >> 18];
    out += kDigits[group >> 12 & 63];
    out += left > 1 ? kDigits[group >> 6 & 63] : '=';
    out += left > 2 ? kDigits[group & 63] : '=';
  }
  return out;
}

/// Marks that make a terminal show text in another order than it has.
bool reorders(std::uint32_t point) {
  return (point >= 0x202a && point <= 0x202e) || (point >= 0x2066 && point <= 0x2069) ||
         point == 0x200e || point == 0x200f || point == 0x061c;
}

std::string printable(std::string_view bytes) {
  const std::string text = repair_utf8(bytes);
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const CodePoint point = decode(std::string_view(text).substr(i));
    const bool control = point.value < 0x20 || (point.value >= 0x7f && point.value < 0xa0);
    if (control && point.value != '\n' && point.value != '\t') {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(point.value));
    } else if (reorders(point.value)) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(point.value));
    } else {
      out.append(text, i, point.length);
    }
    i += point.length;
  }
  return out;
}

std::string one_line(std::string_view bytes) {
  std::string text = printable(bytes);
  for (char& c : text) {
    if (c == '\n' || c == '\t') c = ' ';
  }
  return text;
}

std::size_t display_width(std::string_view text) {
  std::size_t cells = 0;
  while (!text.empty()) {
    const CodePoint point = decode(text);
    cells += cells_of(point.value);
    text.remove_prefix(point.length);
  }
  return cells;
}

std::string spelled(std::string_view enum_name) {
  std::string text(enum_name);
  std::ranges::replace(text, '_', '-');
  return text;
}

std::string fit(std::string_view text, std::size_t cells) {
  if (display_width(text) <= cells) return std::string(text);
  if (cells == 0) return {};
  std::size_t used = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const CodePoint point = decode(text.substr(at));
    if (used + cells_of(point.value) > cells - 1) break;
    used += cells_of(point.value);
    at += point.length;
  }
  return std::string(text.substr(0, at)) + "…";
}

}  // namespace daybook::tools
