// What was really executed in a session, computed from its events.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "journal/journal.h"

namespace daybook::tools {

/// What is known of a command that a call started in the background.
struct BackgroundTask {
  std::string task_id;
  /// As the model last saw it: running, exited, killed, failed; ended: with the process that
  /// started it, nobody saw how.
  std::string status = "running";
  std::optional<std::int64_t> exit_code;
};

/// One attempt of one tool call, or a call that never started.
struct AuditRow {
  std::uint64_t version = 0;  // of the event that settled it, or of its latest event
  std::uint32_t turn = 0;
  std::string call_id, tool;
  /// waiting, denied, refused, allowed, unsettled, done, stopped, not-run, unknown, reconciled
  std::string state = "waiting";
  std::string decided_by;
  std::uint32_t attempt = 0;            // 0: never started
  std::uint32_t policy_generation = 0;  // that it ran under; before that, was decided under
  std::string provider, enforcement;
  Digest arguments;
  std::unique_ptr<schema::ReceiptT> receipt;  // null: none
  std::optional<BackgroundTask> background;
  std::string reconciled_as, reconciled_by, note;
};

struct Audit {
  std::vector<AuditRow> rows;
  std::vector<std::string> anomalies;  // "version 9: call c1 ran without a decision"
  bool has_unknown = false;            // something may have run and nobody knows
  std::string imported_from;           // kind of log: nothing here was run by Daybook
};

/// Reads strictly: damage, that of a blob which an event names included, is an error naming session
/// and version.
Result<Audit> audit(journal::Journal& journal, const SessionId& session);

}  // namespace daybook::tools
