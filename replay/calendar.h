// Days, weeks and months in a time zone of the system's tz database.
#pragma once

#include <cctz/time_zone.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "schema/result.h"

namespace daybook::replay {

/// Thread-safe once made.
class Calendar {
 public:
  /// `zone` is a name such as "Europe/Berlin" or "UTC"; "": the system's own zone.
  /// An unknown one is `invalid_argument`.
  static Result<Calendar> open(std::string_view zone);

  std::string day(std::int64_t utc_ns) const;    // "2026-10-15"
  std::string week(std::int64_t utc_ns) const;   // "2026-W42": ISO 8601, from Monday
  std::string month(std::int64_t utc_ns) const;  // "2026-10"

  enum class Edge { begin, end };
  /// "2026-10-15" (its begin, or the begin of the day after it), or "2026-10-15T12:00:00Z" with Z
  /// or an offset. `invalid_argument` says what was expected; `option` names it.
  Result<std::int64_t> moment(std::string_view text, Edge edge, std::string_view option) const;

  const std::string& zone() const { return name_; }

 private:
  Calendar(cctz::time_zone zone, std::string name) : zone_(zone), name_(std::move(name)) {}

  cctz::time_zone zone_;
  std::string name_;
};

}  // namespace daybook::replay
