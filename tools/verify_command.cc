#include <fmt/format.h>

#include <ostream>

#include "tools/command.h"
#include "tools/format.h"
#include "tools/json_writer.h"
#include "tools/read_journal.h"

namespace daybook::tools {
namespace {

std::string json_of(const journal::VerifyReport& report) {
  JsonWriter out;
  out.begin_object();
  out.member("sessions", report.sessions);
  out.member("events", report.events);
  out.member("blobs", report.blobs);
  out.member("blob_bytes", report.blob_bytes);
  out.member("unreferenced_blobs", report.unreferenced_blobs);
  out.member("checkpoints", report.checkpoints);
  out.key("damage").begin_array();
  for (const auto& finding : report.damage) {
    out.begin_object().member("where", finding.where).member("what", finding.what).end_object();
  }
  out.end_array();
  return out.end_object().text();
}

Result<int> run(Context& context, const Arguments& arguments) {
  const auto journal = open_for_reading(context, arguments);
  if (!journal) return fail(journal.error());
  // No projection is checkpointed by this build, so there is nothing to fold again.
  const auto report =
      (*journal)->verify([](const auto&, auto, const auto&) -> Result<std::optional<std::string>> {
        return std::nullopt;
      });
  if (!report) return fail(report.error());
  if (arguments.flag("--json")) {
    context.out << json_of(*report) << '\n';
  } else {
    for (const auto& finding : report->damage) {
      context.out << one_line(finding.where + ": " + finding.what) << '\n';
    }
    context.out << fmt::format(
        "{} sessions, {} events, {} blobs ({} bytes, {} unreferenced), {} checkpoints: {}\n",
        report->sessions, report->events, report->blobs, report->blob_bytes,
        report->unreferenced_blobs, report->checkpoints,
        report->damage.empty() ? "no damage" : fmt::format("{} damaged", report->damage.size()));
  }
  return report->damage.empty() ? kExitOk : kExitDamaged;
}

}  // namespace

Command verify_command() {
  return {"verify",
          "Check everything in the journal: chains, digests, blobs, indexes, checkpoints",
          {},
          {},
          run};
}

}  // namespace daybook::tools
