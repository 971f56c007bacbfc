// Configuration: what the user wants, from files, environment and flags, checked once.
//
// Layers, each over the one before, key by key: the shipped tables (engine/models.toml,
// engine/profiles.toml), the machine's file, the project's file, DAYBOOK_* variables, flags.
// docs/configuration.md lists every key.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "schema/event.h"
#include "schema/result.h"

namespace daybook::engine {

/// Environment variables, passed in so that nothing here reads global state.
using Environment = std::map<std::string, std::string, std::less<>>;

struct ProviderConfig {
  std::string name;
  std::string kind;      // one of known_provider_kinds
  std::string base_url;  // without a slash at its end; the codec's path follows it
  std::string key_env;   // variable that holds the key; "": none is sent
  std::vector<std::pair<std::string, std::string>> headers;
  std::string extra;  // further members of every request: `"a":1,"b":{}`, or ""
  std::uint32_t connect_timeout_ms = 20'000;
  std::uint32_t idle_timeout_ms = 300'000;
};

enum class Thinking { none, budget, effort };

/// What is known of a model. The initial values are the conservative ones for unknown models.
struct ModelSettings {
  std::uint32_t context_window = 128'000;  // tokens
  std::uint32_t max_output_tokens = 8'192;
  bool max_output_known = false;  // it is what the model can write, not the value for unknown ones
  Thinking thinking = Thinking::none;
  std::uint32_t thinking_budget_tokens = 0;  // thinking = budget
  std::string reasoning_effort;              // thinking = effort; "": the provider's own
  bool cache_markers = false;                // requests may carry explicit cache markers
  std::string max_tokens_field = "max_tokens";
};

/// One [models."..."] table: only what it says.
struct ModelOverride {
  std::optional<std::uint32_t> context_window, max_output_tokens, thinking_budget_tokens;
  std::optional<Thinking> thinking;
  std::optional<std::string> reasoning_effort, max_tokens_field;
  std::optional<bool> cache_markers;
};

struct AgentProfile {
  std::string name;
  std::string instructions;
  std::vector<std::string> tools;  // names, in the order the model is told of them
};

struct Config {
  std::string model;  // "provider:model"; "": none is set
  std::string agent = "cowork";
  schema::ApprovalMode approval_mode = schema::ApprovalMode::interactive;
  std::uint32_t max_iterations = 50;                     // model responses a turn may use
  std::uint32_t turn_timeout_ms = 0;                     // 0: no limit
  bool compaction = true;                                // of a history that grows too long
  std::uint32_t compaction_cap_tokens = 250'000;         // on the trigger, whatever the window
  std::uint32_t compaction_summary_max_tokens = 16'000;  // of a summary, reasoning included
  std::string journal;                                   // folder
  std::string prices;  // file that goes over the shipped prices; "": none
  std::map<std::string, ProviderConfig, std::less<>> providers;
  std::map<std::string, ModelOverride, std::less<>> models;  // by "provider:model" or "prefix*"
  std::map<std::string, AgentProfile, std::less<>> agents;
};

/// Values from the command line; absent ones leave the layer below.
struct ConfigFlags {
  std::optional<std::string> model, agent, journal, approval_mode;
  std::optional<std::uint32_t> max_iterations, turn_timeout_ms;
};

struct ConfigSources {
  Environment environment;
  std::string workspace;  // folder whose project file applies; "": none
  ConfigFlags flags;
};

/// Reads and checks every layer. Errors are `invalid_argument` (with file, line and the nearest
/// known key), `not_found` ($DAYBOOK_CONFIG names no file) or `io`.
Result<Config> load_config(const ConfigSources& sources);

/// A model ready to be called.
struct ResolvedModel {
  ProviderConfig provider;
  std::string model;  // script: the scenario file
  std::string key;    // secret: never written anywhere; "" when the provider needs none
  ModelSettings settings;
};

/// `name` is "provider:model". Errors are `invalid_argument` (shape, unknown provider: known ones
/// and the nearest) and `not_found` (the key's variable is not set: which one).
Result<ResolvedModel> resolve_model(const Config& config, std::string_view name,
                                    const Environment& environment);

/// Settings of "provider:model": every matching pattern over the defaults, the longest last.
ModelSettings settings_of(const Config& config, std::string_view name);

/// Lives as long as `config`. An unknown name is `invalid_argument` and lists the known.
Result<const AgentProfile*> find_agent(const Config& config, std::string_view name);

/// "interactive" or "bypass-approvals".
std::optional<schema::ApprovalMode> parse_approval_mode(std::string_view text);
std::string_view name_of(schema::ApprovalMode mode);

/// What a provider may speak: "script" and the wire formats.
const std::vector<std::string>& known_provider_kinds();

/// Names of the tools that a profile may list, in their canonical order.
const std::vector<std::string>& known_tools();

}  // namespace daybook::engine
