#include "engine/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/config_file.h"
#include "engine/embedded.h"
#include "engine/nearest.h"
#include "schema/json.h"

namespace daybook::engine {
namespace {

namespace fs = std::filesystem;

/// A configuration larger than this is some other file.
constexpr std::uintmax_t kMaxFileBytes = 1 << 20;

std::string_view variable(const Environment& environment, std::string_view name) {
  const auto found = environment.find(name);
  return found == environment.end() ? std::string_view() : std::string_view(found->second);
}

/// $`xdg`/daybook/`leaf`, or ~/`below_home`/daybook/`leaf`; "" without a home.
std::string xdg_path(const Environment& environment, std::string_view xdg,
                     std::string_view below_home, std::string_view leaf) {
  const std::string_view base = variable(environment, xdg);
  if (base.starts_with('/')) return fmt::format("{}/daybook/{}", base, leaf);
  const std::string_view home = variable(environment, "HOME");
  if (home.empty()) return {};
  return fmt::format("{}/{}/daybook/{}", home, below_home, leaf);
}

Result<std::string> read_config_file(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    return fail(ErrorCode::io, fmt::format("{}: cannot read the configuration file: {}", path,
                                           error ? error.message() : "it is not a file"));
  }
  const std::uintmax_t size = fs::file_size(path, error);
  if (!error && size > kMaxFileBytes) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}: {} bytes is too long for a configuration file", path, size));
  }
  std::ifstream in(path, std::ios::binary);
  std::string text(error ? 0 : static_cast<std::size_t>(size), '\0');
  if (error || !in.read(text.data(), static_cast<std::streamsize>(text.size()))) {
    return fail(ErrorCode::io, fmt::format("{}: cannot read the configuration file: {}", path,
                                           error ? error.message() : std::strerror(errno)));
  }
  return text;
}

Result<void> apply_file(Config& config, const std::string& path, ConfigScope scope) {
  const auto text = read_config_file(path);
  if (!text) return fail(text.error());
  return apply_config_text(config, *text, path, scope);
}

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// A file of prices beside the configuration needs no key to be found.
void find_prices(Config& config, const std::string& machine_file, const Environment& environment) {
  const std::string_view home = variable(environment, "HOME");
  const fs::path folder = fs::path(machine_file).parent_path();
  if (config.prices.empty()) {
    const std::string beside = (folder / "prices.toml").string();
    if (!machine_file.empty() && exists(beside)) config.prices = beside;
  } else if (config.prices.starts_with("~/") && !home.empty()) {
    config.prices = std::string(home) + config.prices.substr(1);
  } else if (!config.prices.starts_with('/')) {
    config.prices = (folder / config.prices).string();
  }
}

Result<void> apply_machine_file(Config& config, const Environment& environment) {
  if (const std::string_view named = variable(environment, "DAYBOOK_CONFIG"); !named.empty()) {
    const std::string path(named);
    if (!exists(path)) {
      return fail(ErrorCode::not_found,
                  fmt::format("{}: there is no such file, but DAYBOOK_CONFIG names it", path));
    }
    DAYBOOK_TRY(apply_file(config, path, ConfigScope::machine));
    find_prices(config, path, environment);
    return {};
  }
  const std::string path = xdg_path(environment, "XDG_CONFIG_HOME", ".config", "config.toml");
  if (!path.empty() && exists(path)) DAYBOOK_TRY(apply_file(config, path, ConfigScope::machine));
  find_prices(config, path, environment);
  return {};
}

Result<void> apply_project_file(Config& config, const std::string& workspace) {
  if (workspace.empty()) return {};
  const std::string hidden = workspace + "/.daybook/config.toml";
  const std::string plain = workspace + "/daybook.toml";
  if (exists(hidden) && exists(plain)) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} and {} both exist: keep one of them", hidden, plain));
  }
  if (exists(hidden)) return apply_file(config, hidden, ConfigScope::project);
  if (exists(plain)) return apply_file(config, plain, ConfigScope::project);
  return {};
}

Result<void> set_approval_mode(Config& config, std::string_view text, std::string_view source) {
  const auto mode = parse_approval_mode(text);
  if (!mode) {
    const std::vector<std::string> known = {"interactive", "bypass-approvals"};
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} cannot be '{}'{}", source, text, suggestion(text, known)));
  }
  config.approval_mode = *mode;
  return {};
}

Result<void> check_range(std::int64_t value, std::uint32_t least, std::uint32_t most,
                         std::string_view source) {
  if (value >= least && value <= most) return {};
  return fail(ErrorCode::invalid_argument,
              fmt::format("{} must be from {} to {}, not {}", source, least, most, value));
}

Result<void> number_from(const Environment& environment, std::string_view name, std::uint32_t least,
                         std::uint32_t most, std::uint32_t& out) {
  const std::string_view text = variable(environment, name);
  if (text.empty()) return {};
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{} must be a whole number, not '{}'", name, text));
  }
  DAYBOOK_TRY(check_range(value, least, most, name));
  out = static_cast<std::uint32_t>(value);
  return {};
}

Result<void> apply_environment(Config& config, const Environment& environment) {
  const auto text = [&](std::string_view name, std::string& out) {
    if (const auto value = variable(environment, name); !value.empty()) out = std::string(value);
  };
  text("DAYBOOK_MODEL", config.model);
  text("DAYBOOK_AGENT", config.agent);
  text("DAYBOOK_HOME", config.journal);
  DAYBOOK_TRY(
      number_from(environment, "DAYBOOK_MAX_ITERATIONS", 1, kMaxIterations, config.max_iterations));
  DAYBOOK_TRY(number_from(environment, "DAYBOOK_TURN_TIMEOUT_MS", 0, kMaxTimeoutMs,
                          config.turn_timeout_ms));
  DAYBOOK_TRY(number_from(environment, "DAYBOOK_COMPACTION_CAP_TOKENS", kLeastCompactionCap,
                          kMaxTokens, config.compaction_cap_tokens));
  DAYBOOK_TRY(number_from(environment, "DAYBOOK_COMPACTION_SUMMARY_MAX_TOKENS", kLeastSummaryTokens,
                          kMaxTokens, config.compaction_summary_max_tokens));
  const std::string_view compaction = variable(environment, "DAYBOOK_COMPACTION");
  if (!compaction.empty() && compaction != "auto" && compaction != "off") {
    return fail(ErrorCode::invalid_argument,
                fmt::format("DAYBOOK_COMPACTION must be auto or off, not '{}'", compaction));
  }
  if (!compaction.empty()) config.compaction = compaction == "auto";
  const std::string_view mode = variable(environment, "DAYBOOK_APPROVAL_MODE");
  return mode.empty() ? Result<void>() : set_approval_mode(config, mode, "DAYBOOK_APPROVAL_MODE");
}

Result<void> apply_flags(Config& config, const ConfigFlags& flags) {
  if (flags.model) config.model = *flags.model;
  if (flags.agent) config.agent = *flags.agent;
  if (flags.journal) config.journal = *flags.journal;
  if (flags.max_iterations) {
    DAYBOOK_TRY(check_range(*flags.max_iterations, 1, kMaxIterations, "--max-iterations"));
    config.max_iterations = *flags.max_iterations;
  }
  if (flags.turn_timeout_ms) {
    DAYBOOK_TRY(check_range(*flags.turn_timeout_ms, 0, kMaxTimeoutMs, "the turn's timeout"));
    config.turn_timeout_ms = *flags.turn_timeout_ms;
  }
  if (flags.approval_mode)
    return set_approval_mode(config, *flags.approval_mode, "--approval-mode");
  return {};
}

/// "~/x" below the home folder; a default when nothing is set.
Result<void> settle_journal(Config& config, const Environment& environment) {
  const std::string_view home = variable(environment, "HOME");
  if (config.journal.starts_with("~/") && !home.empty()) {
    config.journal = std::string(home) + config.journal.substr(1);
  }
  if (config.journal.empty()) {
    config.journal = xdg_path(environment, "XDG_DATA_HOME", ".local/share", "journal");
  }
  if (!config.journal.empty()) return {};
  return fail(ErrorCode::invalid_argument,
              "there is no folder for the journal: set --journal, DAYBOOK_HOME or HOME");
}

template <class Map>
std::vector<std::string> names_of(const Map& map) {
  std::vector<std::string> names;
  names.reserve(map.size());
  for (const auto& entry : map) names.push_back(entry.first);
  return names;
}

/// The member of requests that the model's 'thinking' sets; nothing when it sets none.
std::vector<std::string> thinking_member(std::string_view kind, const ModelSettings& settings) {
  const bool effort = settings.thinking == Thinking::effort && !settings.reasoning_effort.empty();
  const bool budget = settings.thinking == Thinking::budget;
  if (kind == "anthropic" && budget) return {"thinking"};
  if (kind == "anthropic" && effort) return {"output_config"};
  if (kind == "openai-chat" && effort) return {"reasoning_effort"};
  if (kind == "openai-responses" && effort) return {"reasoning", "effort"};
  if (kind == "gemini" && settings.thinking != Thinking::none) {
    return {"generationConfig", "thinkingConfig"};
  }
  return {};
}

/// Members that requests have because of the model's settings, and that 'extra' sets as well.
Result<void> check_extra(const ResolvedModel& resolved, std::string_view name) {
  const auto extra = parse_json("{" + resolved.provider.extra + "}");
  DAYBOOK_CHECK(extra.has_value());
  const ModelSettings& settings = resolved.settings;
  const std::vector<std::string> path = thinking_member(resolved.provider.kind, settings);
  if (path.empty()) return {};
  const Json* at = &*extra;
  for (const std::string& key : path) {
    if (!at->is_object() || !at->contains(key)) return {};
    at = &(*at)[key];
  }
  return fail(ErrorCode::invalid_argument,
              fmt::format("'extra' in [providers.{}] may not set '{}', which the 'thinking' of {} "
                          "sets: keep one of them",
                          resolved.provider.name, fmt::join(path, "."), name));
}

}  // namespace

Result<Config> load_config(const ConfigSources& sources) {
  Config config;
  const auto models =
      apply_config_text(config, kModelsToml, "engine/models.toml", ConfigScope::machine);
  const auto profiles =
      apply_config_text(config, kProfilesToml, "engine/profiles.toml", ConfigScope::machine);
  DAYBOOK_CHECK(models.has_value() && profiles.has_value());

  DAYBOOK_TRY(apply_machine_file(config, sources.environment));
  DAYBOOK_TRY(apply_project_file(config, sources.workspace));
  DAYBOOK_TRY(apply_environment(config, sources.environment));
  DAYBOOK_TRY(apply_flags(config, sources.flags));
  DAYBOOK_TRY(settle_journal(config, sources.environment));
  return config;
}

ModelSettings settings_of(const Config& config, std::string_view name) {
  std::vector<std::pair<std::size_t, const ModelOverride*>> matching;
  for (const auto& [pattern, model] : config.models) {
    const bool open = pattern.ends_with('*');
    const std::string_view start = std::string_view(pattern).substr(0, pattern.size() - open);
    if (open ? name.starts_with(start) : name == start) {
      matching.emplace_back(open ? start.size() : std::string_view::npos, &model);
    }
  }
  std::ranges::sort(matching, {}, &std::pair<std::size_t, const ModelOverride*>::first);

  ModelSettings settings;
  const auto put = [](const auto& value, auto& out) {
    if (value) out = *value;
  };
  for (const auto& [length, model] : matching) {
    put(model->context_window, settings.context_window);
    put(model->max_output_tokens, settings.max_output_tokens);
    settings.max_output_known |= model->max_output_tokens.has_value();
    put(model->thinking, settings.thinking);
    put(model->thinking_budget_tokens, settings.thinking_budget_tokens);
    put(model->reasoning_effort, settings.reasoning_effort);
    put(model->cache_markers, settings.cache_markers);
    put(model->max_tokens_field, settings.max_tokens_field);
  }
  return settings;
}

Result<ResolvedModel> resolve_model(const Config& config, std::string_view name,
                                    const Environment& environment) {
  if (name.empty()) {
    return fail(ErrorCode::invalid_argument,
                "no model is set: pass --model provider:model, or set DAYBOOK_MODEL or 'model' in "
                "a configuration file");
  }
  const bool plain = std::ranges::none_of(
      name, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (!plain) {
    return fail(ErrorCode::invalid_argument,
                "the model's name holds control characters: write provider:model");
  }
  const auto colon = name.find(':');
  if (colon == std::string_view::npos || colon == 0 || colon + 1 == name.size()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("'{}' is not a model: write provider:model, such as "
                            "script:FILE",
                            name));
  }
  const std::string_view provider = name.substr(0, colon);
  const auto found = config.providers.find(provider);
  if (found == config.providers.end()) {
    const auto known = names_of(config.providers);
    const std::string near = nearest(provider, known);
    return fail(ErrorCode::invalid_argument,
                fmt::format("there is no provider '{}'{}{}", provider,
                            near.empty() ? "" : fmt::format("; did you mean '{}'?", near),
                            suggestion("", known)));
  }
  ResolvedModel resolved{found->second, std::string(name.substr(colon + 1)), "",
                         settings_of(config, name)};
  DAYBOOK_TRY(check_extra(resolved, name));
  const std::string& key_env = resolved.provider.key_env;
  if (!key_env.empty()) {
    resolved.key = std::string(variable(environment, key_env));
    if (resolved.key.empty()) {
      return fail(ErrorCode::not_found,
                  fmt::format("provider '{}' needs a key: set the environment variable {}",
                              provider, key_env));
    }
  }
  return resolved;
}

Result<const AgentProfile*> find_agent(const Config& config, std::string_view name) {
  const auto found = config.agents.find(name);
  if (found != config.agents.end()) return &found->second;
  const auto known = names_of(config.agents);
  return fail(ErrorCode::invalid_argument,
              fmt::format("there is no agent '{}'{}", name, suggestion("", known)));
}

std::optional<schema::ApprovalMode> parse_approval_mode(std::string_view text) {
  for (const auto mode :
       {schema::ApprovalMode::interactive, schema::ApprovalMode::bypass_approvals}) {
    if (text == name_of(mode)) return mode;
  }
  return {};
}

std::string_view name_of(schema::ApprovalMode mode) {
  return mode == schema::ApprovalMode::bypass_approvals ? "bypass-approvals" : "interactive";
}

const std::vector<std::string>& known_provider_kinds() {
  static const std::vector<std::string> kinds = {"script", "openai-chat", "openai-responses",
                                                 "anthropic", "gemini"};
  return kinds;
}

const std::vector<std::string>& known_tools() {
  static const std::vector<std::string> names = {"read_file",       "list_files",
                                                 "write_file",      "replace_in_file",
                                                 "apply_patch",     "apply_unified_diff",
                                                 "git_status",      "git_diff",
                                                 "git_log",         "grep",
                                                 "run_shell",       "shell_task_output",
                                                 "shell_task_kill", "current_time"};
  return names;
}

}  // namespace daybook::engine
