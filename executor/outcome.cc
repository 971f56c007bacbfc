#include "executor/outcome.h"

#include "schema/json.h"

namespace daybook::executor {

Outcome success(std::string result) {
  Outcome outcome;
  outcome.result = std::move(result);
  return outcome;
}

Outcome failure(const Error& error, schema::ExitKind exit) {
  Outcome outcome;
  outcome.receipt.exit = error.code == ErrorCode::cancelled ? schema::ExitKind::user_stop : exit;
  outcome.receipt.error = error.message;
  outcome.result = "{\"error\":";
  append_json_string(outcome.result, error.message);
  outcome.result += '}';
  outcome.is_error = true;
  return outcome;
}

Plan no_changes(const Policy& policy) {
  Plan plan;
  if (!policy.roots.empty()) plan.cwd = policy.roots.front().path;
  return plan;
}

}  // namespace daybook::executor
