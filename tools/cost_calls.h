// Where the calls come from that `daybook cost` prices.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "journal/journal.h"
#include "replay/call.h"

namespace daybook::tools {

using CallVisitor = std::function<void(replay::Call&&)>;
/// Visits calls, wherever they come from.
using CallSource = std::function<Result<void>(const CallVisitor&)>;

/// An event that could not be read.
struct CallHole {
  std::string session;
  std::uint64_t version = 0;
  std::string damage;
};

/// Visits every call of the journal's sessions, or of the one named. Damaged events are left out
/// and returned: their calls are missing.
Result<std::vector<CallHole>> visit_journal_calls(journal::Journal& journal,
                                                  const std::optional<SessionId>& session,
                                                  const CallVisitor& visit);

}  // namespace daybook::tools
