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
#include "tools/time_span.h"
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

Result<CostQuery> query_of(const Arguments& arguments, const Calendar& calendar) {
  CostQuery query;
  auto groups = groups_of(arguments);
  if (!groups) return fail(groups.error());
  query.by = std::move(*groups);
  const auto span = span_of(arguments, calendar);
  if (!span) return fail(span.error());
  query.since = span->since;
  query.until = span->until;
  const auto prices_at = moment_of(arguments, calendar, "--prices-at", Calendar::Edge::begin);
  if (!prices_at) return fail(prices_at.error());
  query.prices_at = *prices_at;
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
  std::optional<WantedCall> wanted;  // by --explain
  std::string session;               // by --session, as it is written; once visited its name
  std::vector<std::string> losses;   // what could not be read, once visited
  int exit_code_of_losses = kExitDamaged;
};

/// The journal's calls: of the one session that --explain names, or all that the one of --session
/// may share calls with.
Result<void> use_journal(Context& context, const Arguments& arguments, Calls& calls) {
  auto opened = open_for_reading(context, arguments);
  if (!opened) return fail(opened.error());
  const std::shared_ptr<journal::Journal> journal = std::move(*opened);
  CallScope scope;
  const bool explains_session = calls.wanted && calls.wanted->event_id.empty();
  const auto given =
      explains_session ? std::optional(calls.wanted->session) : arguments.text("--session");
  if (given) {
    auto info = find_session(*journal, *given);
    if (!info) return fail(std::move(info.error()));
    scope.session = info->session;
    scope.copies = !explains_session;
    (explains_session ? calls.wanted->session : calls.session) = info->session.str();
  }
  calls.visit = [journal, scope, &calls](const CallVisitor& visit) -> Result<void> {
    const auto holes = visit_journal_calls(*journal, scope, visit);
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
  const bool explains_session = calls.wanted && calls.wanted->event_id.empty();
  calls.session = arguments.text("--session").value_or("");
  calls.visit = [found = std::move(*found), explains_session,
                 &calls](const CallVisitor& visit) -> Result<void> {
    // The table merges copies itself; an explanation needs them merged.
    if (!calls.wanted) {
      calls.losses = losses_of(found.unread, scan_log_calls(found.sources, {}, visit));
      return {};
    }
    std::set<std::string> sessions;
    std::vector<replay::Call> waiting;  // of sessions whose names begin as the one to explain
    const auto take = [&](replay::Call&& call) {
      if (!explains_session) return visit(std::move(call));
      sessions.insert(call.session->id);
      if (call.session->id.starts_with(calls.wanted->session)) waiting.push_back(std::move(call));
    };
    const LogReport report = visit_log_calls(found.sources, {}, take);
    if (explains_session) {
      const auto session = find_log_session(calls.wanted->session, sessions);
      if (!session) return fail(session.error());
      calls.wanted->session = *session;
      for (replay::Call& call : waiting) {
        if (call.session->id == *session) visit(std::move(call));
      }
    }
    calls.losses = losses_of(found.unread, report);
    return {};
  };
  return {};
}

/// The session of --session, among those that have calls.
Result<void> name_session(const replay::CallTable& table, bool in_logs, Calls& calls) {
  if (calls.session.empty() || !in_logs) return {};
  std::set<std::string> names;
  for (const auto& session : table.sessions()) names.insert(session.name());
  const auto session = find_log_session(calls.session, names);
  if (!session) return fail(session.error());
  calls.session = *session;
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
  DAYBOOK_TRY(name_session(table, !arguments.list("PATH").empty(), calls));
  query->session = calls.session;
  constexpr unsigned kThreads = 2;
  const auto report = replay::cost_report(table, *book, *calendar, *query, kThreads);
  if (!calls.session.empty() && report.total.calls == 0 && !query->since && !query->until) {
    context.err << fmt::format("daybook: no call counts in session {}: copies count in another\n",
                               printable(calls.session));
  }
  const CostPrinting printing = {
      query->by,
      calendar->zone(),
      arguments.text("--prices-at").value_or(""),
      calls.session.empty() ? table.copies() : table.copies_in(calls.session),
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
