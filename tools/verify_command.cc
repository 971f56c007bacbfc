#include <fmt/format.h>

#include <optional>
#include <ostream>

#include "engine/load.h"
#include "replay/requests.h"
#include "tools/command.h"
#include "tools/format.h"
#include "tools/json_writer.h"
#include "tools/read_journal.h"

namespace daybook::tools {
namespace {

struct Checked {
  journal::VerifyReport journal;
  std::optional<std::uint64_t> requests;  // rebuilt byte for byte; absent when not asked for
};

/// Rebuilds every model request of the session; what differs from what was sent is a finding.
void rebuild(journal::Journal& journal, const SessionId& session, Checked& checked) {
  const auto finding = [&](std::string where, std::string what) {
    checked.journal.damage.push_back({std::move(where), std::move(what)});
  };
  const auto done =
      replay::rebuild_requests(journal, session, [&](const replay::RebuiltRequest& request) {
        if (request.identical) {
          ++*checked.requests;
        } else {
          finding(fmt::format("session {}, version {}", session.str(), request.version),
                  fmt::format("request {} cannot be rebuilt as it was sent", request.request));
        }
        return true;
      });
  if (!done) finding(fmt::format("requests of session {}", session.str()), done.error().message);
}

Result<void> rebuild_all(journal::Journal& journal, Checked& checked) {
  checked.requests = 0;
  const auto sessions = journal.sessions("");
  if (!sessions) return fail(sessions.error());
  for (const auto& info : *sessions) rebuild(journal, info.session, checked);
  return {};
}

std::string json_of(const Checked& checked) {
  const auto& report = checked.journal;
  JsonWriter out;
  out.begin_object();
  out.member("sessions", report.sessions);
  out.member("events", report.events);
  out.member("blobs", report.blobs);
  out.member("blob_bytes", report.blob_bytes);
  out.member("unreferenced_blobs", report.unreferenced_blobs);
  out.member("checkpoints", report.checkpoints);
  if (checked.requests) out.member("requests", *checked.requests);
  out.key("damage").begin_array();
  for (const auto& finding : report.damage) {
    out.begin_object().member("where", finding.where).member("what", finding.what).end_object();
  }
  out.end_array();
  return out.end_object().text();
}

/// "1 session", "2 sessions".
std::string counted(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

void print(std::ostream& out, const Checked& checked) {
  const auto& report = checked.journal;
  for (const auto& finding : report.damage) {
    out << one_line(finding.where + ": " + finding.what) << '\n';
  }
  out << fmt::format("{}, {}, {} ({}, {} unreferenced), {}", counted(report.sessions, "session"),
                     counted(report.events, "event"), counted(report.blobs, "blob"),
                     counted(report.blob_bytes, "byte"), report.unreferenced_blobs,
                     counted(report.checkpoints, "checkpoint"));
  if (checked.requests) {
    out << fmt::format(", {} rebuilt byte-identically", counted(*checked.requests, "request"));
  }
  out << (report.damage.empty() ? ": no damage" : fmt::format(": {} damaged", report.damage.size()))
      << '\n';
}

Result<int> run(Context& context, const Arguments& arguments) {
  const auto journal = open_for_reading(context, arguments);
  if (!journal) return fail(journal.error());
  auto report = (*journal)->verify(engine::refold(**journal));
  if (!report) return fail(std::move(report.error()));
  Checked checked{std::move(*report), {}};
  if (arguments.flag("--requests")) DAYBOOK_TRY(rebuild_all(**journal, checked));
  if (arguments.flag("--json")) {
    context.out << json_of(checked) << '\n';
  } else {
    print(context.out, checked);
  }
  return checked.journal.damage.empty() ? kExitOk : kExitDamaged;
}

}  // namespace

Command verify_command() {
  return {"verify",
          "Check everything in the journal: chains, digests, blobs, indexes, checkpoints",
          {},
          {{"--requests", ValueKind::flag, "",
            "also rebuild every model request and compare it with what was sent"}},
          run};
}

}  // namespace daybook::tools
