#include <fmt/format.h>

#include <ostream>

#include "tools/audit.h"
#include "tools/command.h"
#include "tools/format.h"
#include "tools/json_writer.h"
#include "tools/read_journal.h"
#include "tools/table.h"

namespace daybook::tools {
namespace {

/// Digits of a digest that tell it from others at a glance; --json has all of them.
constexpr std::size_t kShortDigest = 12;

std::string short_digest(const schema::Digest* digest) {
  return digest == nullptr ? "-" : Digest::from(digest).hex().substr(0, kShortDigest);
}

std::string exit_text(const schema::ReceiptT& receipt) {
  const std::string kind = spelled(schema::EnumNameExitKind(receipt.exit));
  const bool has_code =
      receipt.exit == schema::ExitKind::exited || receipt.exit == schema::ExitKind::signalled;
  return has_code ? fmt::format("{} {}", kind, receipt.code) : kind;
}

/// "background: exited 3": the call itself only started it.
std::string exit_text(const AuditRow& row) {
  if (!row.background) return row.receipt ? exit_text(*row.receipt) : "-";
  const auto& code = row.background->exit_code;
  return fmt::format("background: {}{}", row.background->status,
                     code ? fmt::format(" {}", *code) : "");
}

/// Tools other than commands have no output: their result is what the model was told.
bool has_output(const schema::ReceiptT& receipt) {
  return receipt.output && !Digest::from(&receipt.output->digest()).is_zero();
}

std::string state_text(const AuditRow& row) {
  return row.reconciled_as.empty() ? row.state
                                   : fmt::format("{}: {}", row.state, row.reconciled_as);
}

void print_tables(Context& context, const Audit& audit) {
  Table calls({"VERSION", "TURN", "CALL", "TOOL", "STATE", "BY", "POLICY", "EXIT", "DURATION",
               "OUTPUT", "WHERE"},
              10);
  Table files({"VERSION", "CALL", "CHANGE", "BEFORE", "AFTER", "PATH"}, 5);
  bool has_files = false;
  for (const AuditRow& row : audit.rows) {
    const schema::ReceiptT* receipt = row.receipt.get();
    const std::string by = row.reconciled_by.empty() ? row.decided_by : row.reconciled_by;
    const std::string output = receipt == nullptr || !has_output(*receipt)
                                   ? "-"
                                   : fmt::format("{} {}", receipt->output->total(),
                                                 short_digest(&receipt->output->digest()));
    calls.add({std::to_string(row.version), std::to_string(row.turn), row.call_id, row.tool,
               state_text(row), by, std::to_string(row.policy_generation), exit_text(row),
               receipt == nullptr ? "-" : duration(receipt->duration_ns), output,
               receipt == nullptr ? "-" : receipt->cwd_before});
    if (receipt == nullptr) continue;
    for (const auto& file : receipt->files) {
      has_files = true;
      files.add({std::to_string(row.version), row.call_id, schema::EnumNameFileOpKind(file->kind),
                 short_digest(file->before.get()), short_digest(file->after.get()), file->path});
    }
  }
  calls.print(context.out, context.columns, context.colour());
  if (has_files) {
    context.out << '\n';
    files.print(context.out, context.columns, context.colour());
  }
  if (!audit.imported_from.empty()) {
    context.out << fmt::format(
        "imported from {}: what ran is that log's word; it has no decisions and no receipts\n",
        audit.imported_from);
  }
  for (const std::string& anomaly : audit.anomalies) {
    context.out << "anomaly: " << one_line(anomaly) << '\n';
  }
}

void write_digest(JsonWriter& out, std::string_view key, const schema::Digest* digest) {
  if (digest != nullptr) out.member(key, Digest::from(digest).hex());
}

void write_receipt(JsonWriter& out, const schema::ReceiptT& receipt) {
  out.key("receipt").begin_object();
  out.member("exit", spelled(schema::EnumNameExitKind(receipt.exit)));
  out.member("code", receipt.code);
  out.member("cwd_before", receipt.cwd_before).member("cwd_after", receipt.cwd_after);
  out.member("started_at", rfc3339(receipt.started_at));
  out.member("ended_at", rfc3339(receipt.ended_at));
  out.member("duration_ns", receipt.duration_ns);
  if (has_output(receipt)) {
    out.member("output_bytes", receipt.output->total());
    out.member("output_kept", receipt.output->kept());
    write_digest(out, "output_digest", &receipt.output->digest());
  } else {
    out.key("output_bytes").null().key("output_kept").null().key("output_digest").null();
  }
  out.key("files").begin_array();
  for (const auto& file : receipt.files) {
    out.begin_object().member("kind", schema::EnumNameFileOpKind(file->kind));
    out.member("path", file->path);
    write_digest(out, "before", file->before.get());
    write_digest(out, "after", file->after.get());
    out.end_object();
  }
  out.end_array();
  out.member("survivors_killed", receipt.survivors_killed);
  out.key("notices").begin_array();
  for (const std::string& notice : receipt.notices) out.value(notice);
  out.end_array();
  if (!receipt.error.empty()) out.member("error", receipt.error);
  out.end_object();
}

std::string json_of(const AuditRow& row) {
  JsonWriter out;
  out.begin_object().member("line", "call").member("version", row.version).member("turn", row.turn);
  out.member("call_id", row.call_id).member("tool", row.tool).member("state", row.state);
  out.member("decided_by", row.decided_by).member("attempt", row.attempt);
  out.member("policy_generation", row.policy_generation);
  out.member("provider", row.provider).member("enforcement", row.enforcement);
  out.member("arguments_digest", row.arguments.hex());
  if (!row.reconciled_as.empty()) {
    out.member("reconciled_as", row.reconciled_as).member("reconciled_by", row.reconciled_by);
  }
  if (!row.note.empty()) out.member("note", row.note);
  if (row.background) {
    const auto& task = *row.background;
    out.key("background").begin_object().member("task_id", task.task_id);
    out.member("status", task.status).key("exit_code");
    if (task.exit_code) {
      out.value(*task.exit_code);
    } else {
      out.null();
    }
    out.end_object();
  }
  if (row.receipt) write_receipt(out, *row.receipt);
  return out.end_object().text();
}

void print_json(Context& context, const Audit& audit) {
  for (const AuditRow& row : audit.rows) context.out << json_of(row) << '\n';
  for (const std::string& anomaly : audit.anomalies) {
    JsonWriter out;
    out.begin_object().member("line", "anomaly").member("what", anomaly);
    context.out << out.end_object().text() << '\n';
  }
}

Result<int> run(Context& context, const Arguments& arguments) {
  const auto journal = open_for_reading(context, arguments);
  if (!journal) return fail(journal.error());
  const auto info = find_session(**journal, *arguments.text("SESSION"));
  if (!info) return fail(info.error());
  const auto found = audit(**journal, info->session);
  if (!found) return fail(found.error());
  if (arguments.flag("--json")) {
    print_json(context, *found);
  } else {
    print_tables(context, *found);
  }
  if (!found->anomalies.empty()) return kExitDamaged;
  return found->has_unknown ? kExitNeedsDecision : kExitOk;
}

}  // namespace

Command audit_command() {
  return {"audit",
          "Print what was really executed: one receipt per call, with the decision behind it",
          {{"SESSION", "name of a session, or a start of it"}},
          {},
          run};
}

}  // namespace daybook::tools
