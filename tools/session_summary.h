// What a listing says of a session, computed from its events.
#pragma once

#include <map>
#include <set>
#include <string>

#include "journal/journal.h"

namespace daybook::tools {

/// Computed, never stored.
enum class SessionStatus {
  fresh,    // no turn yet
  running,  // a turn is open and its owner is alive
  waiting_approval,
  needs_reconcile,  // a call's outcome is unknown
  interrupted,      // a turn is open without an owner, or ended so
  failed,
  iteration_limit,
  completed,
  imported,  // another program's log
  replay,    // summaries of a replay
  damaged,   // its events cannot be read whole
};

/// As tables and JSON show it: "waiting-approval".
std::string_view name_of(SessionStatus status);

struct SessionSummary {
  SessionStatus status = SessionStatus::fresh;
  std::string title, agent, workspace, model, owner;
  std::uint32_t turns = 0;
  std::int64_t started_at_ns = 0;
  std::int64_t last_at_ns = 0;
  std::set<std::string> waiting;  // calls whose approval is open
  std::set<std::string> unknown;  // calls whose outcome is unknown
  std::string damage;
};

/// `owner_alive` says whether the process that an OwnerAcquired named still holds the journal.
using OwnerAlive = std::function<bool(std::string_view owner)>;

/// Reads the whole session, damaged or not.
Result<SessionSummary> summarise(journal::Journal& journal, const SessionId& session,
                                 const OwnerAlive& owner_alive);

}  // namespace daybook::tools
