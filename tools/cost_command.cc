#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "engine/nearest.h"
#include "replay/calendar.h"
#include "replay/call_table.h"
#include "replay/cost_report.h"
#include "tools/command.h"
#include "tools/cost_calls.h"
#include "tools/cost_explain.h"
#include "tools/cost_print.h"
#include "tools/read_journal.h"

namespace daybook::tools {
namespace {

using replay::Calendar;
using replay::CostQuery;
using replay::GroupBy;

/// The shipped prices with the user's over them.
Result<replay::PriceBook> open_prices(const Context& context, const Arguments& arguments) {
  auto book = replay::PriceBook::shipped();
  std::string path;
  if (const auto given = arguments.text("--prices")) {
    path = given->starts_with('/') ? *given : context.current_folder + '/' + *given;
  } else {
    const auto config = engine::load_config({context.environment, "", {}});
    if (!config) return fail(config.error());
    path = config->prices;
  }
  if (!path.empty()) DAYBOOK_TRY(book.add_file(path));
  return book;
}

Result<std::vector<GroupBy>> groups_of(const Arguments& arguments) {
  std::vector<GroupBy> groups;
  for (const std::string& name : arguments.list("--by")) {
    const auto group = replay::parse_group(name);
    if (!group) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("--by cannot be '{}'{}", name,
                              engine::suggestion(name, replay::group_names())));
    }
    if (std::ranges::find(groups, *group) != groups.end()) {
      return fail(ErrorCode::invalid_argument, fmt::format("--by {} is given twice", name));
    }
    groups.push_back(*group);
  }
  if (groups.empty()) groups.push_back(GroupBy::day);
  return groups;
}

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

Result<CostQuery> query_of(const Arguments& arguments, const Calendar& calendar) {
  CostQuery query;
  auto groups = groups_of(arguments);
  if (!groups) return fail(groups.error());
  query.by = std::move(*groups);
  const auto moment = [&](const char* option, Calendar::Edge edge,
                          std::optional<std::int64_t>& out) -> Result<void> {
    const auto text = arguments.text(option);
    if (!text) return {};
    const auto at = calendar.moment(*text, edge, option);
    if (!at) return fail(at.error());
    out = *at;
    return {};
  };
  DAYBOOK_TRY(moment("--since", Calendar::Edge::begin, query.since));
  DAYBOOK_TRY(moment("--until", Calendar::Edge::end, query.until));
  DAYBOOK_TRY(moment("--prices-at", Calendar::Edge::begin, query.prices_at));
  if (query.since && query.until && *query.since >= *query.until) {
    return fail(ErrorCode::invalid_argument, "--until must not be before --since");
  }
  return query;
}

Result<void> check_formats(const Arguments& arguments) {
  if (arguments.flag("--json") && arguments.flag("--csv")) {
    return fail(ErrorCode::invalid_argument, "--json and --csv exclude each other");
  }
  if (!arguments.text("--explain")) return {};
  for (const char* option : {"--by", "--since", "--until", "--csv", "--session"}) {
    if (arguments.list(option).empty()) continue;
    return fail(ErrorCode::invalid_argument,
                fmt::format("--explain shows one call: {} does not go with it", option));
  }
  return {};
}

void say_holes(Context& context, const std::vector<CallHole>& holes) {
  constexpr std::size_t kMostShown = 5;
  for (std::size_t i = 0; i < std::min(holes.size(), kMostShown); ++i) {
    context.err << fmt::format(
        "daybook: session {}, version {}: {}; its call, if it was one, is "
        "missing\n",
        holes[i].session, holes[i].version, holes[i].damage);
  }
  if (holes.size() > kMostShown) {
    context.err << fmt::format("daybook: {} more damaged events\n", holes.size() - kMostShown);
  }
}

Result<std::optional<SessionId>> session_of(journal::Journal& journal, const Arguments& arguments) {
  const auto given = arguments.text("--session");
  if (!given) return std::nullopt;
  auto info = find_session(journal, *given);
  if (!info) return fail(std::move(info.error()));
  return info->session;
}

Result<int> run(Context& context, const Arguments& arguments) {
  DAYBOOK_TRY(check_formats(arguments));
  if (!arguments.list("PATH").empty()) {
    return fail(ErrorCode::unsupported,
                "reading costs from log files is not built yet: leave PATH out to see the "
                "sessions of the journal");
  }
  const auto calendar = calendar_of(context, arguments);
  if (!calendar) return fail(calendar.error());
  const auto query = query_of(arguments, *calendar);
  if (!query) return fail(query.error());
  const auto book = open_prices(context, arguments);
  if (!book) return fail(book.error());
  const auto journal = open_for_reading(context, arguments);
  if (!journal) return fail(journal.error());
  if (const auto call = arguments.text("--explain")) {
    return explain_cost(context, **journal, *book, *call, query->prices_at,
                        arguments.flag("--json"));
  }
  const auto session = session_of(**journal, arguments);
  if (!session) return fail(session.error());

  replay::CallTable table;
  const auto holes =
      visit_journal_calls(**journal, *session, [&](const replay::Call& call) { table.add(call); });
  if (!holes) return fail(holes.error());
  const auto report = replay::cost_report(table, *book, *calendar, *query);
  const CostPrinting printing = {
      query->by,      calendar->zone(), arguments.text("--prices-at").value_or(""),
      table.copies(), context.columns,  context.colour()};
  if (arguments.flag("--json")) {
    print_cost_json(context.out, report, printing);
  } else if (arguments.flag("--csv")) {
    print_cost_csv(context.out, report, printing);
  } else {
    print_cost_table(context.out, report, printing);
  }
  say_holes(context, *holes);
  return holes->empty() ? kExitOk : kExitDamaged;
}

}  // namespace

Command cost_command() {
  return {
      "cost",
      "What model calls cost, by day, model, project, tool and more",
      {{"PATH", "log file or folder to read instead of the journal", false, true}},
      {
          {"--by", ValueKind::list, "KEY",
           "day (default), week, month, session, project, model, agent or tool; may be "
           "repeated"},
          {"--since", ValueKind::text, "DATE", "calls from this day or time on"},
          {"--until", ValueKind::text, "DATE", "calls to the end of this day, or before a time"},
          {"--session", ValueKind::text, "NAME", "calls of this session only"},
          {"--timezone", ValueKind::text, "NAME",
           "zone that days are of, such as Europe/Berlin (default: the system's)"},
          {"--prices", ValueKind::text, "FILE", "prices that go over the shipped ones"},
          {"--prices-at", ValueKind::text, "DATE", "prices of this day instead of the calls' own"},
          {"--explain", ValueKind::text, "CALL",
           "the arithmetic of one call: SESSION:VERSION, or the id of its event"},
          {"--csv", ValueKind::flag, "", "comma-separated values"},
      },
      run};
}

}  // namespace daybook::tools
