// What a recorded session says of itself, read back from its journal.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "journal/journal.h"

namespace daybook::tests {

struct CallView {
  std::string tool;
  schema::Effect effect = schema::Effect::read_only;
  int intents = 0;
  int retries = 0;           // granted by reconcile
  int outcomes = 0;          // receipts, reconciliations, denials, refusals
  bool open_intent = false;  // started, without an outcome
  bool unknown = false;      // waits for reconcile
  bool ever_unknown = false;
  bool lost = false;  // reconciled as not applied
  bool settled_by_hashes = false;
  std::string receipt_exit;  // "exited"; of the last receipt
};

struct SentRequest {
  std::uint64_t version = 0;
  std::uint32_t number = 0;
  std::string body;
};

struct SessionView {
  std::uint64_t version = 0;
  bool turn_open = false;
  std::vector<std::string> outcomes;  // of the turns that ended, such as "completed"
  std::map<std::string, CallView> calls;
  std::vector<SentRequest> requests;  // rebuilt; those that differ from what was sent are faults
  std::uint64_t told_at = 0;          // first reconciliation whose text the model is told; 0: none
  std::set<std::string> owners;
  std::vector<std::string> faults;  // what must never be
};

/// Reads strictly. A session that does not exist yet is an empty view.
SessionView view_session(const std::string& journal_folder, const std::string& session);

/// What is wrong with a script request by the pairing rule, or "".
std::string pairing_fault(const std::string& body);

}  // namespace daybook::tests
