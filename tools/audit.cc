#include "tools/audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "journal/blob_refs.h"
#include "schema/json.h"

namespace daybook::tools {
namespace {

class AuditFold {
 public:
  explicit AuditFold(journal::Journal& journal) : journal_(journal) {}

  void add(const schema::Event& event) {
    add_event(event);
    if (const auto* completed = event.payload_as_ToolCompleted()) follow_task(*completed);
  }

  Audit finish() {
    audit_.has_unknown = std::ranges::any_of(audit_.rows, [](const AuditRow& row) {
      return row.state == "unknown" || row.state == "unsettled";
    });
    return std::move(audit_);
  }

 private:
  void add_event(const schema::Event& event) {
    event_ = &event;
    if (const auto* imported = event.payload_as_SessionImported()) {
      audit_.imported_from = text_of(imported->kind());
    } else if (const auto* policy = event.payload_as_PolicyChanged()) {
      generations_.insert(policy->generation());
    } else if (const auto* requested = event.payload_as_ApprovalRequested()) {
      AuditRow& row = touch(requested->call_id());
      row.tool = text_of(requested->tool());
      row.policy_generation = requested->policy_generation();
      row.arguments = Digest::from(requested->arguments_digest());
    } else if (const auto* decided = event.payload_as_ToolDecided()) {
      decide(*decided);
    } else if (const auto* dispatched = event.payload_as_ToolDispatched()) {
      dispatch(*dispatched);
    } else if (const auto* completed = event.payload_as_ToolCompleted()) {
      complete(*completed);
    } else if (const auto* unknown = event.payload_as_ToolOutcomeUnknown()) {
      AuditRow& row = touch(unknown->call_id());
      row.state = "unknown";
      row.note = text_of(unknown->reason());
    } else if (const auto* reconciled = event.payload_as_ToolReconciled()) {
      reconcile(*reconciled);
    } else if (event.payload_as_OwnerAcquired() != nullptr ||
               event.payload_as_OwnerReleased() != nullptr) {
      end_tasks();
    } else if (event.payload_type() > schema::Payload::MAX) {
      anomaly(
          fmt::format("an event of kind {}, which this build does not know", payload_name(event)));
    }
  }

  AuditRow& touch(const flatbuffers::String* call_id) {
    const std::string id(text_of(call_id));
    const auto [found, is_new] = latest_.try_emplace(id, audit_.rows.size());
    if (is_new) {
      audit_.rows.emplace_back();
      audit_.rows.back().call_id = id;
    }
    AuditRow& row = audit_.rows[found->second];
    row.version = event_->version();
    row.turn = event_->turn();
    return row;
  }

  void decide(const schema::ToolDecided& decided) {
    AuditRow& row = touch(decided.call_id());
    row.tool = text_of(decided.tool());
    row.decided_by = text_of(decided.decided_by());
    row.policy_generation = decided.policy_generation();
    row.arguments = Digest::from(decided.arguments_digest());
    switch (decided.decision()) {
      case schema::Decision::allow:
        row.state = "allowed";
        break;
      case schema::Decision::deny:
        row.state = "denied";
        break;
      case schema::Decision::refuse:
        row.state = "refused";
        break;
    }
  }

  void dispatch(const schema::ToolDispatched& dispatched) {
    if (const auto found = latest_.find(text_of(dispatched.call_id()));
        found != latest_.end() && audit_.rows[found->second].attempt > 0) {
      // A retry that a person decided is an attempt of its own; the first one keeps its record.
      const AuditRow& before = audit_.rows[found->second];
      if (before.reconciled_as != "retry") {
        anomaly(fmt::format("call {} ran again without a decision to retry", before.call_id));
      }
      AuditRow again;
      again.call_id = before.call_id;
      again.state = "allowed";
      again.decided_by = before.decided_by;
      again.arguments = before.arguments;
      found->second = audit_.rows.size();
      audit_.rows.push_back(std::move(again));
    }
    AuditRow& row = touch(dispatched.call_id());
    if (row.state != "allowed") anomaly(fmt::format("call {} ran without a decision", row.call_id));
    if (!generations_.contains(dispatched.policy_generation())) {
      anomaly(fmt::format("call {} ran under policy generation {}, which no event made",
                          row.call_id, dispatched.policy_generation()));
    }
    if (row.arguments != Digest::from(dispatched.arguments_digest())) {
      anomaly(fmt::format("call {} ran with other arguments than were decided on", row.call_id));
    }
    row.tool = text_of(dispatched.tool());
    row.state = "unsettled";
    row.attempt = dispatched.attempt();
    row.policy_generation = dispatched.policy_generation();
    row.provider = text_of(dispatched.provider());
    row.enforcement = text_of(dispatched.enforcement());
  }

  void complete(const schema::ToolCompleted& completed) {
    AuditRow& row = touch(completed.call_id());
    const auto* receipt = completed.receipt();
    const bool ran = receipt == nullptr || receipt->exit() != schema::ExitKind::not_run;
    if (row.receipt != nullptr) {
      anomaly(fmt::format("call {} has two receipts for one attempt", row.call_id));
    }
    if (ran && row.attempt == 0) {
      anomaly(fmt::format("call {} has a receipt but was never started", row.call_id));
    }
    if (receipt == nullptr) {
      anomaly(fmt::format("call {} has no receipt", row.call_id));
    } else {
      row.receipt.reset(receipt->UnPack());
    }
    const bool stopped = receipt != nullptr && receipt->exit() == schema::ExitKind::user_stop;
    row.state = stopped ? "stopped" : ran ? "done" : "not-run";
  }

  /// Background commands have no receipt of their own: what their calls and later ones tell the
  /// model of them is all there is.
  void follow_task(const schema::ToolCompleted& completed) {
    const std::size_t at = latest_.find(text_of(completed.call_id()))->second;
    const std::string& tool = audit_.rows[at].tool;
    const bool starts = tool == "run_shell";
    if (!starts && tool != "shell_task_output" && tool != "shell_task_kill") return;
    if (completed.result() == nullptr) return;
    auto text = completed.full_output() == nullptr
                    ? journal::content_bytes(journal_, completed.result())
                    : journal_.blob(BlobRef::from(completed.full_output()));
    if (!text) return;
    const auto result = parse_json(*text);
    const std::string id = result && result->is_object() ? json_text(*result, "task_id") : "";
    if (id.empty()) return;
    if (starts) tasks_[id] = at;
    const auto task = tasks_.find(id);
    if (task == tasks_.end()) return;
    auto& background = audit_.rows[task->second].background;
    if (starts) background = BackgroundTask{id, {}, {}};
    background->status = json_text(*result, "status");
    if (const auto code = result->find("exit_code");
        code != result->end() && code->is_number_integer()) {
      background->exit_code = code->get<std::int64_t>();
    }
  }

  /// They end with the process that started them.
  void end_tasks() {
    for (const auto& [id, row] : tasks_) {
      auto& status = audit_.rows[row].background->status;
      if (status == "running") status = "ended";
    }
    tasks_.clear();
  }

  void reconcile(const schema::ToolReconciled& reconciled) {
    AuditRow& row = touch(reconciled.call_id());
    if (row.state != "unknown") {
      anomaly(fmt::format("call {} was reconciled though its outcome was known", row.call_id));
    }
    row.state = "reconciled";
    switch (reconciled.outcome()) {
      case schema::Reconciliation::applied:
        row.reconciled_as = "applied";
        break;
      case schema::Reconciliation::not_applied:
        row.reconciled_as = "not-applied";
        break;
      case schema::Reconciliation::retry:
        row.reconciled_as = "retry";
        break;
    }
    row.reconciled_by = text_of(reconciled.actor());
    row.note = text_of(reconciled.note());
  }

  void anomaly(const std::string& what) {
    // Another program keeps none of these rules, and gives no receipts.
    if (!audit_.imported_from.empty()) return;
    audit_.anomalies.push_back(fmt::format("version {}: {}", event_->version(), what));
  }

  journal::Journal& journal_;
  Audit audit_;
  std::map<std::string, std::size_t, std::less<>> latest_;  // row of a call's newest attempt
  std::map<std::string, std::size_t, std::less<>> tasks_;   // row that started a background task
  std::set<std::uint32_t> generations_;
  const schema::Event* event_ = nullptr;
};

}  // namespace

namespace {

/// Reads every blob that a session's events name, each once. What a receipt says of bytes that are
/// no longer there proves nothing.
class BlobCheck {
 public:
  BlobCheck(journal::Journal& journal, const SessionId& session)
      : journal_(journal), session_(session) {}

  Result<void> check(const schema::Event& event) {
    Result<void> status;
    journal::visit_blob_refs(event, [&](const BlobRef& ref) {
      if (!status || !seen_.insert({ref.digest.hi, ref.digest.lo}).second) return;
      auto bytes = journal_.blob(ref);
      if (bytes) return;
      // Named by an event and not there is damage.
      const ErrorCode code = bytes.error().code;
      status = fail(code == ErrorCode::not_found ? ErrorCode::corrupt : code,
                    fmt::format("session {}, version {}: {}", session_.str(), event.version(),
                                bytes.error().message));
    });
    return status;
  }

 private:
  journal::Journal& journal_;
  const SessionId& session_;
  std::set<std::pair<std::uint64_t, std::uint64_t>> seen_;
};

}  // namespace

Result<Audit> audit(journal::Journal& journal, const SessionId& session) {
  AuditFold fold(journal);
  BlobCheck blobs(journal, session);
  Result<void> whole;
  DAYBOOK_TRY(journal.read(session, 1, journal::ReadMode::strict, [&](const journal::Entry& entry) {
    whole = blobs.check(*entry.event);
    if (whole) fold.add(*entry.event);
    return whole.has_value();
  }));
  if (!whole) return fail(std::move(whole.error()));
  return fold.finish();
}

}  // namespace daybook::tools
