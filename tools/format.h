// How values look to people and in JSON.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace daybook::tools {

/// RFC 3339 in UTC with nine digits: "2026-01-02T03:04:05.000000006Z".
std::string rfc3339(std::int64_t utc_ns);

/// "2026-01-02 03:04:05Z".
std::string short_time(std::int64_t utc_ns);

/// "850 us", "12 ms", "3.4 s", "2 min 5 s".
std::string duration(std::uint64_t ns);

std::string base64(std::string_view bytes);

/// Valid UTF-8 without control characters but newline and tab: those become "\x1b", so that
/// recorded output cannot drive the terminal it is shown on.
std::string printable(std::string_view bytes);

/// The same on one line: newlines and tabs become spaces.
std::string one_line(std::string_view bytes);

/// Terminal cells of valid UTF-8: wide East Asian and emoji count two, combining marks none.
std::size_t display_width(std::string_view text);

/// The name of a schema's enum value as everything shows it: "not-run" of not_run.
std::string spelled(std::string_view enum_name);

/// The longest start of at most `cells` cells, with "…" as its last cell when something is cut.
std::string fit(std::string_view text, std::size_t cells);

}  // namespace daybook::tools
