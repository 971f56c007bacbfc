#include "tools/session_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "tools/counted.h"

namespace daybook::tools {
namespace {

class SummaryFold {
 public:
  void add(const journal::Entry& entry) {
    if (entry.event == nullptr) {
      if (summary_.damage.empty()) {
        summary_.damage = fmt::format("version {}: {}", entry.version, entry.damage);
      }
      return;
    }
    const schema::Event& event = *entry.event;
    take_time(event);
    add_life(event);
    add_calls(event);
  }

  SessionSummary finish(const OwnerAlive& owner_alive) {
    // What a dead process started and only a person can settle; resume settles the rest.
    if (summary_.owner.empty() || !owner_alive(summary_.owner)) {
      for (const auto& [call, effect] : started_) {
        if (effect == schema::Effect::uncheckable) summary_.unknown.insert(call);
      }
    }
    summary_.status = status(owner_alive);
    return std::move(summary_);
  }

 private:
  void take_time(const schema::Event& event) {
    // An imported event happened when the log says, not when it was imported.
    std::int64_t at = event.recorded_at();
    if (imported_) at = event.provenance() == nullptr ? 0 : event.provenance()->at();
    if (at == 0) return;
    if (summary_.started_at_ns == 0) summary_.started_at_ns = at;
    // Logs tell some things late.
    summary_.last_at_ns = std::max(summary_.last_at_ns, at);
  }

  void add_life(const schema::Event& event) {
    if (const auto* imported = event.payload_as_SessionImported()) {
      imported_ = true;
      summary_.title = text_of(imported->title());
      summary_.agent = text_of(imported->agent());
      summary_.workspace = text_of(imported->workspace());
      summary_.started_at_ns = summary_.last_at_ns = imported->started_at();
      return;
    }
    if (const auto* requested = event.payload_as_ModelRequested(); requested && imported_) {
      summary_.model =
          fmt::format("{}:{}", text_of(requested->provider()), text_of(requested->model()));
    }
    if (const auto* replay = event.payload_as_ReplayStarted()) {
      replay_ = true;
      summary_.title = fmt::format(
          "replay of {} with {}",
          counted(replay->cases() == nullptr ? 0 : replay->cases()->size(), "compaction"),
          counted(replay->arms() == nullptr ? 0 : replay->arms()->size(), "arm"));
    }
    if (const auto* started = event.payload_as_SessionStarted()) {
      summary_.title = text_of(started->title());
      summary_.agent = text_of(started->agent());
      summary_.workspace = text_of(started->workspace());
    } else if (const auto* acquired = event.payload_as_OwnerAcquired()) {
      summary_.owner = text_of(acquired->owner());
    } else if (event.payload_as_OwnerReleased() != nullptr) {
      summary_.owner.clear();
    } else if (const auto* turn = event.payload_as_TurnStarted()) {
      ++summary_.turns;
      open_ = true;
      summary_.model = fmt::format("{}:{}", text_of(turn->provider()), text_of(turn->model()));
    } else if (const auto* ended = event.payload_as_TurnEnded()) {
      open_ = false;
      outcome_ = ended->outcome();
    }
  }

  void add_calls(const schema::Event& event) {
    if (const auto* requested = event.payload_as_ApprovalRequested()) {
      summary_.waiting.emplace(text_of(requested->call_id()));
    } else if (const auto* decided = event.payload_as_ApprovalDecided()) {
      summary_.waiting.erase(std::string(text_of(decided->call_id())));
    } else if (const auto* cleared = event.payload_as_ApprovalCleared()) {
      summary_.waiting.erase(std::string(text_of(cleared->call_id())));
    } else if (const auto* dispatched = event.payload_as_ToolDispatched()) {
      started_[std::string(text_of(dispatched->call_id()))] = dispatched->effect();
    } else if (const auto* completed = event.payload_as_ToolCompleted()) {
      started_.erase(std::string(text_of(completed->call_id())));
    } else if (const auto* unknown = event.payload_as_ToolOutcomeUnknown()) {
      started_.erase(std::string(text_of(unknown->call_id())));
      summary_.unknown.emplace(text_of(unknown->call_id()));
    } else if (const auto* reconciled = event.payload_as_ToolReconciled()) {
      summary_.unknown.erase(std::string(text_of(reconciled->call_id())));
    }
  }

  SessionStatus status(const OwnerAlive& owner_alive) const {
    if (!summary_.damage.empty()) return SessionStatus::damaged;
    if (!summary_.unknown.empty() && !imported_) return SessionStatus::needs_reconcile;
    if (!summary_.waiting.empty()) return SessionStatus::waiting_approval;
    if (imported_) return SessionStatus::imported;
    if (replay_) return SessionStatus::replay;
    if (summary_.turns == 0) return SessionStatus::fresh;
    if (open_) {
      const bool alive = !summary_.owner.empty() && owner_alive(summary_.owner);
      return alive ? SessionStatus::running : SessionStatus::interrupted;
    }
    switch (outcome_) {
      case schema::TurnOutcome::completed:
        return SessionStatus::completed;
      case schema::TurnOutcome::failed:
        return SessionStatus::failed;
      case schema::TurnOutcome::iteration_limit:
        return SessionStatus::iteration_limit;
      case schema::TurnOutcome::interrupted:
        break;
    }
    return SessionStatus::interrupted;
  }

  SessionSummary summary_;
  std::map<std::string, schema::Effect> started_;  // calls without an outcome
  bool open_ = false;
  bool imported_ = false;
  bool replay_ = false;
  schema::TurnOutcome outcome_ = schema::TurnOutcome::completed;
};

}  // namespace

std::string_view name_of(SessionStatus status) {
  switch (status) {
    case SessionStatus::fresh:
      return "new";
    case SessionStatus::running:
      return "running";
    case SessionStatus::waiting_approval:
      return "waiting-approval";
    case SessionStatus::needs_reconcile:
      return "needs-reconcile";
    case SessionStatus::interrupted:
      return "interrupted";
    case SessionStatus::failed:
      return "failed";
    case SessionStatus::iteration_limit:
      return "iteration-limit";
    case SessionStatus::completed:
      return "completed";
    case SessionStatus::imported:
      return "imported";
    case SessionStatus::replay:
      return "replay";
    case SessionStatus::damaged:
      return "damaged";
  }
  return "unknown";
}

Result<SessionSummary> summarise(journal::Journal& journal, const SessionId& session,
                                 const OwnerAlive& owner_alive) {
  SummaryFold fold;
  DAYBOOK_TRY(
      journal.read(session, 1, journal::ReadMode::lenient, [&](const journal::Entry& entry) {
        fold.add(entry);
        return true;
      }));
  return fold.finish(owner_alive);
}

}  // namespace daybook::tools
