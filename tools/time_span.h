// --since, --until and --timezone, which every report takes alike.
#pragma once

#include <cstdint>
#include <optional>

#include "replay/calendar.h"
#include "tools/command.h"

namespace daybook::tools {

/// In the zone of --timezone, else of TZ, else of the system.
Result<replay::Calendar> calendar_of(const Context& context, const Arguments& arguments);

/// UTC ns: `since` belongs to it, `until` does not.
struct ReportSpan {
  std::optional<std::int64_t> since;
  std::optional<std::int64_t> until;
  bool given() const { return since || until; }
  /// A time that is not known (0) lies in no span that is given.
  bool holds(std::int64_t at) const {
    return !given() || (at != 0 && (!since || at >= *since) && (!until || at < *until));
  }
};
Result<ReportSpan> span_of(const Arguments& arguments, const replay::Calendar& calendar);

/// A moment that an option names, as Calendar::moment reads it; nothing when it is not given.
Result<std::optional<std::int64_t>> moment_of(const Arguments& arguments,
                                              const replay::Calendar& calendar, const char* option,
                                              replay::Calendar::Edge edge);

}  // namespace daybook::tools
