#include "tools/time_span.h"

#include <fmt/format.h>

namespace daybook::tools {

using replay::Calendar;

Result<Calendar> calendar_of(const Context& context, const Arguments& arguments) {
  if (const auto zone = arguments.text("--timezone")) return Calendar::open(*zone);
  const auto set = context.environment.find("TZ");
  if (set == context.environment.end() || set->second.empty()) return Calendar::open("");
  std::string_view zone = set->second;
  if (zone.starts_with(':')) zone.remove_prefix(1);
  auto calendar = Calendar::open(zone);
  // Other forms of TZ than names are rare, and the system's zone is not what they say.
  if (!calendar) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("TZ is '{}', which is not a name of the tz database: pass --timezone",
                            set->second));
  }
  return calendar;
}

Result<std::optional<std::int64_t>> moment_of(const Arguments& arguments, const Calendar& calendar,
                                              const char* option, Calendar::Edge edge) {
  const auto text = arguments.text(option);
  if (!text) return std::optional<std::int64_t>();
  const auto at = calendar.moment(*text, edge, option);
  if (!at) return fail(at.error());
  return std::optional(*at);
}

Result<ReportSpan> span_of(const Arguments& arguments, const Calendar& calendar) {
  const auto since = moment_of(arguments, calendar, "--since", Calendar::Edge::begin);
  if (!since) return fail(since.error());
  const auto until = moment_of(arguments, calendar, "--until", Calendar::Edge::end);
  if (!until) return fail(until.error());
  if (*since && *until && **since >= **until) {
    return fail(ErrorCode::invalid_argument, "--until must be after --since");
  }
  return ReportSpan{*since, *until};
}

}  // namespace daybook::tools
