#include "engine/config_file.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>

#include "engine/nearest.h"
#include "engine/toml_reader.h"
#include "schema/json.h"

namespace daybook::engine {
namespace {

/// TOML value as JSON text; false for what JSON cannot say.
bool append_json(std::string& out, const toml::node& node) {
  if (const auto* text = node.as_string()) {
    append_json_string(out, text->get());
  } else if (const auto* number = node.as_integer()) {
    out += std::to_string(number->get());
  } else if (const auto* fraction = node.as_floating_point()) {
    if (!std::isfinite(fraction->get())) return false;
    out += fmt::format("{}", fraction->get());
  } else if (const auto* truth = node.as_boolean()) {
    out += truth->get() ? "true" : "false";
  } else if (const auto* list = node.as_array()) {
    out += '[';
    for (std::size_t i = 0; i < list->size(); ++i) {
      if (i > 0) out += ',';
      if (!append_json(out, *list->get(i))) return false;
    }
    out += ']';
  } else if (const auto* table = node.as_table()) {
    out += '{';
    bool first = true;
    for (const auto& [key, value] : *table) {
      if (!first) out += ',';
      first = false;
      append_json_string(out, key.str());
      out += ':';
      if (!append_json(out, value)) return false;
    }
    out += '}';
  } else {
    return false;
  }
  return true;
}

/// A header's name is a token (RFC 9110, 5.6.2).
bool is_token(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 ||
           std::string_view("!#$%&'*+-.^_`|~").find(static_cast<char>(c)) != std::string_view::npos;
  });
}

void read_headers(TableReader& reader, ProviderConfig& provider) {
  const toml::table* headers = reader.table("headers");
  if (headers == nullptr) return;
  provider.headers.clear();
  for (const auto& [name, value] : *headers) {
    const auto* text = value.as_string();
    if (text == nullptr) return reader.wrong(value, name.str(), "a string");
    const auto is_break = [](char c) { return c == '\r' || c == '\n' || c == '\0'; };
    if (!is_token(name.str())) {
      return reader.fail_at(
          value,
          fmt::format("'{}' cannot be a header's name: use letters, digits and '-'", name.str()));
    }
    if (std::ranges::any_of(text->get(), is_break)) {
      return reader.fail_at(value, fmt::format("header '{}' holds a line break: a header is one "
                                               "line",
                                               name.str()));
    }
    provider.headers.emplace_back(name.str(), text->get());
  }
}

/// Members of every request of that wire format; a second one would make two of one name.
std::vector<std::string_view> own_members(std::string_view kind) {
  if (kind == "openai-chat") {
    return {"model",
            "messages",
            "tools",
            "stream",
            "stream_options",
            "max_tokens",
            "max_completion_tokens"};
  }
  if (kind == "openai-responses") {
    return {"model",  "input", "instructions", "tools",
            "stream", "store", "include",      "max_output_tokens"};
  }
  if (kind == "anthropic") return {"model", "messages", "system", "tools", "stream", "max_tokens"};
  if (kind == "gemini") {
    return {"contents", "systemInstruction", "system_instruction", "tools", "generation_config"};
  }
  return {};
}

/// The table in `extra` whose members are laid beside those that requests have in it.
std::string_view merged_member(std::string_view kind) {
  if (kind == "openai-responses") return "reasoning";
  return kind == "gemini" ? "generationConfig" : "";
}

void check_merged(TableReader& reader, const ProviderConfig& provider, const toml::table& extra) {
  const std::string_view name = merged_member(provider.kind);
  const toml::node* node = name.empty() ? nullptr : extra.get(name);
  if (node == nullptr) return;
  if (!node->is_table()) return reader.wrong(*node, fmt::format("extra.{}", name), "a table");
  if (const toml::node* limit = node->as_table()->get("maxOutputTokens")) {
    reader.fail_at(*limit,
                   "'extra' may not set 'maxOutputTokens', which every request has already: use "
                   "max_output_tokens in [models.\"PROVIDER:MODEL\"]");
  }
}

void read_extra(TableReader& reader, ProviderConfig& provider) {
  const toml::table* extra = reader.table("extra");
  if (extra == nullptr) return;
  std::string object;
  if (!append_json(object, *extra)) {
    return reader.fail_at(*extra, "'extra' holds a date, inf or nan, which JSON cannot say");
  }
  provider.extra = object.substr(1, object.size() - 2);
  const std::vector<std::string_view> own = own_members(provider.kind);
  for (const auto& [name, value] : *extra) {
    if (std::ranges::find(own, name.str()) == own.end()) continue;
    const bool is_limit = name.str().starts_with("max_");
    return reader.fail_at(
        value,
        fmt::format("'extra' may not set '{}', which every request has already{}", name.str(),
                    is_limit ? ": use max_output_tokens in [models.\"PROVIDER:MODEL\"]" : ""));
  }
  check_merged(reader, provider, *extra);
}

Result<void> read_provider(const toml::table& table, std::string_view file,
                           ProviderConfig& provider) {
  TableReader reader(table, file, "providers." + provider.name);
  if (const auto kind = reader.choice("kind", known_provider_kinds())) {
    provider.kind = *kind;
  }
  reader.text("base_url", provider.base_url);
  reader.text("key_env", provider.key_env);
  read_headers(reader, provider);
  read_extra(reader, provider);
  reader.number("connect_timeout_ms", provider.connect_timeout_ms, 1, kMaxTimeoutMs);
  reader.number("idle_timeout_ms", provider.idle_timeout_ms, 1, kMaxTimeoutMs);

  if (const auto* url = table.get("base_url");
      url != nullptr && provider.base_url.find_first_of("?# ") != std::string::npos) {
    reader.fail_at(*url,
                   "'base_url' may hold no query, fragment or space: the wire format's path "
                   "is added at its end");
  }
  while (provider.base_url.ends_with('/')) provider.base_url.pop_back();
  const auto line = table.source().begin.line;
  if (provider.name.empty() || provider.name.find(':') != std::string::npos) {
    reader.fail_at_line(line,
                        fmt::format("provider '{}' must have a name without ':'", provider.name));
  } else if (provider.kind.empty()) {
    reader.fail_at_line(line, fmt::format("provider '{}' needs a kind: one of {}", provider.name,
                                          fmt::join(known_provider_kinds(), ", ")));
  } else if (provider.kind != "script" && !provider.base_url.starts_with("http://") &&
             !provider.base_url.starts_with("https://")) {
    reader.fail_at_line(line, fmt::format("provider '{}' needs a base_url that starts with http:// "
                                          "or https://",
                                          provider.name));
  }
  return reader.finish();
}

Result<void> read_model(const toml::table& table, std::string_view file, std::string_view name,
                        ModelOverride& model) {
  TableReader reader(table, file, fmt::format("models.\"{}\"", name));
  constexpr auto kMost = std::numeric_limits<std::int32_t>::max();
  reader.number("context_window", model.context_window, 1'000, kMost);
  reader.number("max_output_tokens", model.max_output_tokens, 1, kMost);
  if (const auto thinking = reader.choice("thinking", {"none", "budget", "effort"})) {
    model.thinking = *thinking == "budget"   ? Thinking::budget
                     : *thinking == "effort" ? Thinking::effort
                                             : Thinking::none;
  }
  reader.number("thinking_budget_tokens", model.thinking_budget_tokens, 1, kMost);
  reader.text("reasoning_effort", model.reasoning_effort);
  reader.boolean("cache_markers", model.cache_markers);
  if (const auto field =
          reader.choice("max_tokens_field", {"max_tokens", "max_completion_tokens"})) {
    model.max_tokens_field = *field;
  }
  if (name.find(':') == std::string_view::npos) {
    reader.fail_at_line(table.source().begin.line,
                        fmt::format("'{}' must be written \"provider:model\"", name));
  }
  return reader.finish();
}

Result<void> read_agent(const toml::table& table, std::string_view file, AgentProfile& agent) {
  TableReader reader(table, file, "agents." + agent.name);
  reader.text("instructions", agent.instructions);
  if (const toml::array* tools = reader.list("tools")) {
    agent.tools.clear();
    for (const toml::node& node : *tools) {
      const auto* tool = node.as_string();
      if (tool == nullptr) {
        reader.wrong(node, "tools", "a list of strings");
      } else if (std::ranges::find(known_tools(), tool->get()) == known_tools().end()) {
        reader.fail_at(node, fmt::format("there is no tool '{}'{}", tool->get(),
                                         suggestion(tool->get(), known_tools())));
      } else if (std::ranges::find(agent.tools, tool->get()) != agent.tools.end()) {
        reader.fail_at(node, fmt::format("tool '{}' is listed twice", tool->get()));
      } else {
        agent.tools.push_back(tool->get());
      }
    }
  }
  if (agent.instructions.empty()) {
    reader.fail_at_line(table.source().begin.line,
                        fmt::format("agent '{}' needs instructions", agent.name));
  }
  return reader.finish();
}

/// Calls `read(name, table)` for each table below `key`.
template <class Read>
Result<void> for_each_table(TableReader& reader, const char* key, Read read) {
  const toml::table* tables = reader.table(key);
  if (tables == nullptr) return {};
  for (const auto& [name, value] : *tables) {
    const toml::table* table = value.as_table();
    if (table == nullptr) {
      reader.wrong(value, fmt::format("{}.{}", key, name.str()), "a table");
      return {};
    }
    DAYBOOK_TRY(read(std::string(name.str()), *table));
  }
  return {};
}

Result<void> read_top(Config& config, const toml::table& root, std::string_view file,
                      ConfigScope scope) {
  TableReader reader(root, file, "");
  if (scope == ConfigScope::project) {
    for (const char* key : {"providers", "approval_mode", "journal", "prices"}) {
      if (const toml::node* node = reader.find(key)) {
        reader.fail_at(*node, fmt::format("a project may not set '{}': move it to the machine's "
                                          "configuration file",
                                          key));
      }
    }
  } else {
    reader.text("journal", config.journal);
    if (const auto* journal = root.get("journal"); journal != nullptr && journal->is_string() &&
                                                   !config.journal.starts_with('/') &&
                                                   !config.journal.starts_with("~/")) {
      reader.fail_at(*journal,
                     fmt::format("'journal' cannot be '{}': give an absolute path, or one "
                                 "that starts with ~/",
                                 config.journal));
    }
    reader.text("prices", config.prices);
    if (const auto mode = reader.choice("approval_mode", {"interactive", "bypass-approvals"})) {
      config.approval_mode = *parse_approval_mode(*mode);
    }
    DAYBOOK_TRY(for_each_table(reader, "providers", [&](std::string name, const toml::table& t) {
      ProviderConfig& provider = config.providers[name];
      provider.name = std::move(name);
      return read_provider(t, file, provider);
    }));
  }
  reader.text("model", config.model);
  reader.text("agent", config.agent);
  reader.number("max_iterations", config.max_iterations, 1, kMaxIterations);
  if (const auto mode = reader.choice("compaction", {"auto", "off"})) {
    config.compaction = *mode == "auto";
  }
  reader.number("compaction_cap_tokens", config.compaction_cap_tokens, kLeastCompactionCap,
                kMaxTokens);
  reader.number("compaction_summary_max_tokens", config.compaction_summary_max_tokens,
                kLeastSummaryTokens, kMaxTokens);
  reader.number("turn_timeout_ms", config.turn_timeout_ms, 0, kMaxTimeoutMs);
  DAYBOOK_TRY(for_each_table(reader, "models", [&](const std::string& name, const toml::table& t) {
    return read_model(t, file, name, config.models[name]);
  }));
  DAYBOOK_TRY(for_each_table(reader, "agents", [&](std::string name, const toml::table& t) {
    AgentProfile& agent = config.agents[name];
    if (agent.name.empty()) agent.tools = known_tools();
    agent.name = std::move(name);
    return read_agent(t, file, agent);
  }));
  return reader.finish();
}

}  // namespace

Result<void> apply_config_text(Config& config, std::string_view text, std::string_view file,
                               ConfigScope scope) {
  try {
    const toml::table root = toml::parse(text, std::string(file));
    return read_top(config, root, file, scope);
  } catch (const toml::parse_error& error) {
    const auto at = error.source().begin;
    return fail(ErrorCode::invalid_argument, fmt::format("{}:{}:{}: not valid TOML: {}", file,
                                                         at.line, at.column, error.description()));
  }
}

}  // namespace daybook::engine
