#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <set>

#include "engine/nearest.h"
#include "replay/calendar.h"
#include "replay/call_table.h"
#include "replay/cost_report.h"
#include "tools/command.h"
#include "tools/cost_calls.h"
#include "tools/cost_explain.h"
#include "tools/cost_print.h"
#include "tools/format.h"
#include "tools/log_calls.h"
#include "tools/log_losses.h"
#include "tools/open_prices.h"
#include "tools/read_journal.h"
#include "tools/wanted_call.h"

namespace daybook::tools {
namespace {

using replay::Calendar;
using replay::CostQuery;
using replay::GroupBy;

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
    return fail(ErrorCode::invalid_argument, "--until must be after --since");
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

/// Says what is missing in the figures, the first of it one by one.
void say_losses(Context& context, const std::vector<std::string>& losses) {
  constexpr std::size_t kMostShown = 12;
  for (std::size_t i = 0; i < std::min(losses.size(), kMostShown); ++i) {
    context.err << "daybook: " << printable(losses[i]) << '\n';
  }
  if (losses.size() > kMostShown) {
    context.err << fmt::format("daybook: and {} more\n", losses.size() - kMostShown);
  }
}

/// What `daybook cost` works on.
struct Calls {
  CallSource visit;
  std::optional<WantedCall> wanted;    // by --explain
  std::optional<std::string> session;  // that --session names, once visited as the calls name it
  std::vector<std::string> losses;     // what could not be read, once visited
  int exit_code_of_losses = kExitDamaged;

  /// The session that --session or --explain names, as it was written.
  std::optional<std::string> given_session() const {
    const bool explains = wanted && wanted->event_id.empty();
    return explains ? std::optional(wanted->session) : session;
  }
  void set_session(const std::string& name) { (wanted ? wanted->session : *session) = name; }
};

/// The journal's calls. Of one session all are looked at as well: which of several copies of a call
/// counts depends on the others. An explanation needs its session's only.
Result<void> use_journal(Context& context, const Arguments& arguments, Calls& calls) {
  auto opened = open_for_reading(context, arguments);
  if (!opened) return fail(opened.error());
  const std::shared_ptr<journal::Journal> journal = std::move(*opened);
  std::optional<SessionId> only;
  if (const auto given = calls.given_session()) {
    auto info = find_session(*journal, *given);
    if (!info) return fail(std::move(info.error()));
    calls.set_session(info->session.str());
    if (calls.wanted) only = info->session;
  }
  calls.visit = [journal, only, &calls](const CallVisitor& visit) -> Result<void> {
    const auto holes = visit_journal_calls(*journal, only, visit);
    if (!holes) return fail(holes.error());
    for (const CallHole& hole : *holes) {
      calls.losses.push_back(
          fmt::format("session {}, version {}: {}; its call, if it was one, is missing",
                      hole.session, hole.version, hole.damage));
    }
    return {};
  };
  return {};
}

/// The calls of log files, which are read without being stored.
Result<void> use_logs(Context& context, const Arguments& arguments, Calls& calls) {
  DAYBOOK_TRY(check_no_journal(arguments));
  const auto paths = given_logs(context, arguments);
  if (!paths) return fail(paths.error());
  auto found = discover_given_logs(*paths, &context.err);
  if (!found) return fail(std::move(found.error()));
  calls.exit_code_of_losses = kExitLosses;
  calls.visit = [found = std::move(*found), &calls](const CallVisitor& visit) -> Result<void> {
    const auto given = calls.given_session();
    std::set<std::string> sessions;
    std::vector<replay::Call> waiting;  // of sessions whose names begin as the one to explain
    const auto take = [&](replay::Call&& call) {
      if (given) sessions.insert(call.session->id);
      if (!calls.wanted || !given) {
        visit(std::move(call));
      } else if (call.session->id.starts_with(*given)) {
        waiting.push_back(std::move(call));
      }
    };
    // The table merges copies itself; an explanation needs them merged.
    const LogReport report = calls.wanted ? visit_log_calls(found.sources, {}, take)
                                          : scan_log_calls(found.sources, {}, take);
    if (given) {
      const auto session = find_log_session(*given, sessions);
      if (!session) return fail(session.error());
      calls.set_session(*session);
    }
    for (replay::Call& call : waiting) {
      if (call.session->id == calls.wanted->session) visit(std::move(call));
    }
    calls.losses = losses_of(found.unread, report);
    return {};
  };
  return {};
}

Result<int> print_report(Context& context, const Arguments& arguments, const Calls& calls,
                         const replay::CostReport& report, const CostPrinting& printing) {
  // Nothing that could be read is not nothing that was spent.
  if (report.total.calls == 0 && !calls.losses.empty()) {
    say_losses(context, calls.losses);
    return calls.exit_code_of_losses;
  }
  if (arguments.flag("--json")) {
    print_cost_json(context.out, report, printing);
  } else if (arguments.flag("--csv")) {
    print_cost_csv(context.out, report, printing);
  } else {
    print_cost_table(context.out, report, printing);
  }
  say_losses(context, calls.losses);
  return calls.losses.empty() ? kExitOk : calls.exit_code_of_losses;
}

Result<int> run(Context& context, const Arguments& arguments) {
  DAYBOOK_TRY(check_formats(arguments));
  const auto calendar = calendar_of(context, arguments);
  if (!calendar) return fail(calendar.error());
  auto query = query_of(arguments, *calendar);
  if (!query) return fail(query.error());
  const auto book = open_prices(context, arguments);
  if (!book) return fail(book.error());
  Calls calls;
  calls.session = arguments.text("--session");
  if (const auto text = arguments.text("--explain")) {
    auto wanted = parse_wanted_call(*text);
    if (!wanted) return fail(std::move(wanted.error()));
    calls.wanted = std::move(*wanted);
  }
  DAYBOOK_TRY(arguments.list("PATH").empty() ? use_journal(context, arguments, calls)
                                             : use_logs(context, arguments, calls));
  if (calls.wanted) {
    return explain_cost(context, calls.visit, *calls.wanted, *book, query->prices_at,
                        arguments.flag("--json"));
  }
  replay::CallTable table;
  DAYBOOK_TRY(calls.visit([&](const replay::Call& call) { table.add(call); }));
  table.settle();
  query->session = calls.session;
  constexpr unsigned kThreads = 2;
  const auto report = replay::cost_report(table, *book, *calendar, *query, kThreads);
  if (calls.session && report.total.calls == 0 && !query->since && !query->until) {
    context.err << fmt::format("daybook: no call counts in session {}: copies count in another\n",
                               printable(*calls.session));
  }
  // Which of the copies are this session's is not kept.
  const CostPrinting printing = {query->by,
                                 calendar->zone(),
                                 arguments.text("--prices-at").value_or(""),
                                 calls.session ? 0 : table.copies(),
                                 context.columns,
                                 context.colour()};
  return print_report(context, arguments, calls, report, printing);
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
