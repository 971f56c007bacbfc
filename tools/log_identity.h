// Identities of what a log holds: the same in every copy of it, and times as logs write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/ids.h"
#include "tools/log_json.h"
#include "tools/log_source.h"

namespace daybook::tools {

/// UUIDv8 over the kind of log, what the thing is ("response", "line", ...), its own id (or its
/// payload's hash) and how many of the same came before it.
Uuid log_event_id(LogKind kind, std::string_view role, std::string_view stable_id,
                  std::uint64_t occurrence = 0);

std::vector<std::uint8_t> sha256(std::string_view bytes);

/// SHA-256 over the members of a record but its time and its ordinal, in their order.
std::vector<std::uint8_t> payload_sha256(std::string_view record);

/// UTC ns of an RFC 3339 time; nothing when it is none.
std::optional<std::int64_t> log_time(std::string_view text);

/// A record's time: UTC ns; 0: it has none, or, when `wrong`, none that can be read.
struct LogTime {
  std::int64_t at = 0;
  bool wrong = false;
};
LogTime time_of(JsonSpan value);
inline constexpr std::string_view kWrongTime = "its time cannot be read, and is taken for none";

/// Name of the journal's session for a log's session: the kind's prefix ("claude-", "codex-",
/// "openworker-", "atif-") and the log's id with characters outside [A-Za-z0-9._-] made '.'. When
/// that changes the id or makes more than 64 characters, the end is 16 digits of the id's digest.
SessionId session_for_log(LogKind kind, std::string_view log_session);

}  // namespace daybook::tools
