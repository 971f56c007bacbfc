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

}  // namespace

Result<std::vector<CallHole>> visit_journal_calls(journal::Journal& journal,
                                                  const std::optional<SessionId>& session,
                                                  const CallVisitor& visit) {
  std::vector<CallHole> holes;
  if (session) {
    DAYBOOK_TRY(visit_session(journal, *session, visit, holes));
    return holes;
  }
  const auto sessions = journal.sessions("");
  if (!sessions) return fail(sessions.error());
  for (const auto& info : *sessions) {
    DAYBOOK_TRY(visit_session(journal, info.session, visit, holes));
  }
  return holes;
}

}  // namespace daybook::tools
