// The script provider: plays a scenario file instead of calling a model. The file's format is
// documented in docs/scenarios.md.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/clock.h"
#include "engine/model.h"

namespace daybook::engine {

/// One response of a scenario.
struct ScriptStep {
  Reply reply;
  std::optional<Failure> failure;  // comes instead, on the first `failures` attempts
  std::uint32_t failures = 0;
};

struct Scenario {
  std::vector<ScriptStep> steps;
  std::vector<ScriptStep> summaries;  // replies of the summariser
};

/// Errors name line and column.
Result<Scenario> parse_scenario(std::string_view toml, std::string_view file_name);
Result<Scenario> load_scenario(const std::string& path);

/// Answers request N of a session with the scenario's response N, so that a resumed session goes
/// on where it was, and the Nth request for a summary with summary N. A request beyond the last
/// one is a permanent failure.
std::unique_ptr<Model> make_script_model(Scenario scenario, Clock& clock);

/// The wire format of script requests: neutral, readable JSON.
const Codec& script_codec();

}  // namespace daybook::engine
