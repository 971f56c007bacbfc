#include <algorithm>
#include <ostream>

#include "tools/command.h"
#include "tools/format.h"
#include "tools/json_writer.h"
#include "tools/owner_probe.h"
#include "tools/read_journal.h"
#include "tools/session_summary.h"
#include "tools/table.h"

namespace daybook::tools {
namespace {

struct Row {
  journal::SessionInfo info;
  SessionSummary summary;
};

void write_names(JsonWriter& out, std::string_view key, const std::set<std::string>& names) {
  out.key(key).begin_array();
  for (const std::string& name : names) out.value(name);
  out.end_array();
}

/// A log may tell no time at all.
void write_time(JsonWriter& out, std::string_view key, std::int64_t at_ns) {
  out.key(key);
  if (at_ns == 0) {
    out.null();
  } else {
    out.value(rfc3339(at_ns));
  }
}

std::string json_line(const Row& row) {
  const SessionSummary& summary = row.summary;
  JsonWriter out;
  out.begin_object();
  out.member("session", row.info.session.str());
  out.member("status", name_of(summary.status));
  out.member("title", summary.title);
  out.member("agent", summary.agent);
  out.member("model", summary.model);
  out.member("workspace", summary.workspace);
  out.member("turns", summary.turns);
  out.member("version", row.info.head.version);
  write_time(out, "started_at", summary.started_at_ns);
  write_time(out, "last_at", summary.last_at_ns);
  write_names(out, "waiting_approval", summary.waiting);
  write_names(out, "needs_reconcile", summary.unknown);
  if (!summary.damage.empty()) out.member("damage", summary.damage);
  return out.end_object().text();
}

Result<std::vector<Row>> read_rows(journal::Journal& journal, const std::string& folder) {
  const std::string live = live_owner(folder);
  const auto is_alive = [&](std::string_view owner) { return owner == live; };
  const auto sessions = journal.sessions("");
  if (!sessions) return fail(sessions.error());
  std::vector<Row> rows;
  for (const auto& info : *sessions) {
    auto summary = summarise(journal, info.session, is_alive);
    if (!summary) return fail(summary.error());
    rows.push_back({info, std::move(*summary)});
  }
  std::ranges::stable_sort(rows, std::greater{},
                           [](const Row& row) { return row.summary.last_at_ns; });
  return rows;
}

Result<int> run(Context& context, const Arguments& arguments) {
  const auto folder = journal_folder(context, arguments);
  if (!folder) return fail(folder.error());
  const auto journal = open_for_reading(context, arguments);
  if (!journal) return fail(journal.error());
  const auto rows = read_rows(**journal, *folder);
  if (!rows) return fail(rows.error());

  if (arguments.flag("--json")) {
    for (const Row& row : *rows) context.out << json_line(row) << '\n';
    return kExitOk;
  }
  Table table({"SESSION", "STATUS", "TURNS", "LAST ACTIVITY", "MODEL", "WORKSPACE", "TITLE"}, 6);
  for (const auto& [info, summary] : *rows) {
    table.add({info.session.str(), std::string(name_of(summary.status)),
               std::to_string(summary.turns),
               summary.last_at_ns == 0 ? "" : short_time(summary.last_at_ns), summary.model,
               summary.workspace, summary.title});
  }
  table.print(context.out, context.columns, context.colour());
  return kExitOk;
}

}  // namespace

Command sessions_command() {
  return {"sessions", "List the sessions, the most recently active first", {}, {}, run};
}

}  // namespace daybook::tools
