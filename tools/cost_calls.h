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

/// Which sessions of a journal are read.
struct CallScope {
  std::optional<SessionId> session;  // absent: all
  /// With those that may hold copies of its calls: an imported session's, every imported one.
  bool copies = false;
};

/// Visits every call of the journal's sessions, copies included. Damaged events are left out and
/// returned: their calls are missing.
Result<std::vector<CallHole>> visit_journal_calls(journal::Journal& journal, const CallScope& scope,
                                                  const CallVisitor& visit);

}  // namespace daybook::tools
