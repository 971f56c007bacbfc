#include "tools/cost_calls.h"

namespace daybook::tools {
namespace {

Result<void> visit_session(journal::Journal& journal, const SessionId& session,
                           const CallVisitor& visit, std::vector<CallHole>& holes) {
  replay::CallFold fold(session.str(), visit);
  return journal.read(session, 1, journal::ReadMode::lenient, [&](const journal::Entry& entry) {
    if (entry.event == nullptr) {
      holes.push_back({session.str(), entry.version, entry.damage});
    } else {
      fold.take(*entry.event);
    }
    return true;
  });
}

/// Whether it is a log's: calls of others have no copies.
Result<bool> is_imported(journal::Journal& journal, const SessionId& session) {
  bool imported = false;
  DAYBOOK_TRY(journal.read(session, 1, journal::ReadMode::lenient, [&](const auto& entry) {
    if (entry.event == nullptr || entry.event->payload_type() == schema::Payload::OwnerAcquired) {
      return true;
    }
    imported = entry.event->payload_type() == schema::Payload::SessionImported;
    return false;
  }));
  return imported;
}

}  // namespace

Result<std::vector<CallHole>> visit_journal_calls(journal::Journal& journal, const CallScope& scope,
                                                  const CallVisitor& visit) {
  std::vector<CallHole> holes;
  if (scope.session) {
    bool alone = true;
    if (scope.copies) {
      const auto imported = is_imported(journal, *scope.session);
      if (!imported) return fail(imported.error());
      alone = !*imported;
    }
    if (alone) {
      DAYBOOK_TRY(visit_session(journal, *scope.session, visit, holes));
      return holes;
    }
  }
  const auto sessions = journal.sessions("");
  if (!sessions) return fail(sessions.error());
  for (const auto& info : *sessions) {
    if (scope.session) {
      const auto imported = is_imported(journal, info.session);
      if (!imported) return fail(imported.error());
      if (!*imported) continue;
    }
    DAYBOOK_TRY(visit_session(journal, info.session, visit, holes));
  }
  // Damage elsewhere is not what was asked for.
  if (scope.session) {
    std::erase_if(holes, [&](const auto& hole) { return hole.session != scope.session->str(); });
  }
  return holes;
}

}  // namespace daybook::tools
