// The sessions and calls that --session, --explain and --why name.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "schema/result.h"

namespace daybook::tools {

/// "SESSION:VERSION", or the id of the event that answered a call.
struct WantedCall {
  std::string session;
  std::uint64_t version = 0;
  std::string event_id;  // instead of the two above

  /// Versions of a call are those of its request, where that is known, and of what answered it.
  bool matches(std::string_view session_name, std::uint64_t answered, std::uint64_t requested,
               std::string_view id) const {
    if (!event_id.empty()) return id == event_id;
    return session_name == session && (version == answered || version == requested);
  }
  std::string shown() const;
};

/// `invalid_argument` when it is neither form.
Result<WantedCall> parse_wanted_call(std::string_view text);

/// The session of log files that has this name, or the only one whose name begins so: as
/// find_session does for a journal. `invalid_argument` when several do, `not_found` when none does.
Result<std::string> find_log_session(std::string_view given, const std::set<std::string>& names);

}  // namespace daybook::tools
