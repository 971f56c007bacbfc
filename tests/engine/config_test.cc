#include "engine/config.h"

#include <catch2/catch.hpp>
#include <filesystem>

#include "engine/config_file.h"
#include "engine/nearest.h"
#include "tests/support/temp_dir.h"

namespace daybook::engine {
namespace {

using Catch::Contains;
using Catch::StartsWith;
using tests::TempDir;
using tests::write_file;

/// A home folder with the machine's file, and a workspace with the project's.
struct Setup {
  TempDir dir;
  ConfigSources sources;

  Setup() {
    sources.environment["HOME"] = dir.str("home");
    sources.workspace = dir.str("work");
    std::filesystem::create_directories(dir.path() / "home/.config/daybook");
    std::filesystem::create_directories(dir.path() / "work/.daybook");
  }
  std::string machine_path() const { return dir.str("home/.config/daybook/config.toml"); }
  std::string project_path() const { return dir.str("work/.daybook/config.toml"); }
  void machine(const std::string& text) const { write_file(machine_path(), text); }
  void project(const std::string& text) const { write_file(project_path(), text); }
  Config load() const {
    auto config = load_config(sources);
    if (!config) FAIL(config.error().message);
    return std::move(*config);
  }
  std::string error() const {
    const auto config = load_config(sources);
    REQUIRE_FALSE(config.has_value());
    return config.error().message;
  }
};

std::string error_of(std::string_view text, ConfigScope scope = ConfigScope::machine) {
  Config config;
  const auto applied = apply_config_text(config, text, "c.toml", scope);
  REQUIRE_FALSE(applied.has_value());
  REQUIRE(applied.error().code == ErrorCode::invalid_argument);
  return applied.error().message;
}

TEST_CASE("without any file the shipped tables are the configuration") {
  const Config config = Setup().load();
  CHECK(config.model.empty());
  CHECK(config.agent == "cowork");
  CHECK(config.approval_mode == schema::ApprovalMode::interactive);
  CHECK(config.journal.ends_with("/home/.local/share/daybook/journal"));
  for (const char* name :
       {"script", "openai", "openai-responses", "anthropic", "gemini", "openrouter", "together",
        "moonshot", "deepseek", "zhipu", "ollama", "vllm"}) {
    INFO(name);
    CHECK(config.providers.contains(name));
  }
  CHECK(config.agents.at("cowork").tools.size() == 14);
  CHECK(config.agents.at("code").tools == known_tools());
}

TEST_CASE("each layer goes over the one before, key by key") {
  Setup setup;
  setup.machine(
      "model = 'a:machine'\nagent = 'code'\nmax_iterations = 1\njournal = '/j/machine'\n");
  CHECK(setup.load().model == "a:machine");
  CHECK(setup.load().journal == "/j/machine");

  setup.project("model = 'a:project'\nmax_iterations = 2\n");
  CHECK(setup.load().model == "a:project");
  CHECK(setup.load().agent == "code");
  CHECK(setup.load().max_iterations == 2);

  setup.sources.environment["DAYBOOK_MODEL"] = "a:environment";
  setup.sources.environment["DAYBOOK_HOME"] = "/j/environment";
  setup.sources.environment["DAYBOOK_MAX_ITERATIONS"] = "3";
  setup.sources.environment["DAYBOOK_APPROVAL_MODE"] = "bypass-approvals";
  CHECK(setup.load().model == "a:environment");
  CHECK(setup.load().journal == "/j/environment");
  CHECK(setup.load().max_iterations == 3);
  CHECK(setup.load().approval_mode == schema::ApprovalMode::bypass_approvals);

  setup.sources.flags.model = "a:flag";
  setup.sources.flags.journal = "/j/flag";
  setup.sources.flags.max_iterations = 4;
  setup.sources.flags.approval_mode = "interactive";
  CHECK(setup.load().model == "a:flag");
  CHECK(setup.load().journal == "/j/flag");
  CHECK(setup.load().max_iterations == 4);
  CHECK(setup.load().approval_mode == schema::ApprovalMode::interactive);
  CHECK(setup.load().agent == "code");
}

TEST_CASE("the machine's file is found by DAYBOOK_CONFIG, XDG_CONFIG_HOME, HOME, in this order") {
  Setup setup;
  setup.machine("model = 'a:home'");
  CHECK(setup.load().model == "a:home");
  std::filesystem::create_directories(setup.dir.path() / "xdg/daybook");
  write_file(setup.dir.path() / "xdg/daybook/config.toml", "model = 'a:xdg'");
  setup.sources.environment["XDG_CONFIG_HOME"] = setup.dir.str("xdg");
  CHECK(setup.load().model == "a:xdg");
  write_file(setup.dir.path() / "named.toml", "model = 'a:named'");
  setup.sources.environment["DAYBOOK_CONFIG"] = setup.dir.str("named.toml");
  CHECK(setup.load().model == "a:named");

  setup.sources.environment["DAYBOOK_CONFIG"] = setup.dir.str("gone.toml");
  CHECK(setup.error() ==
        setup.dir.str("gone.toml") + ": there is no such file, but DAYBOOK_CONFIG names it");
  setup.sources.environment["DAYBOOK_CONFIG"] = setup.dir.str();
  CHECK_THAT(setup.error(), StartsWith(setup.dir.str() + ": cannot read the configuration file"));
}

TEST_CASE("a relative XDG folder is ignored, as its specification says") {
  Setup setup;
  setup.sources.environment["XDG_DATA_HOME"] = "relative";
  CHECK(setup.load().journal == setup.dir.str("home/.local/share/daybook/journal"));
  setup.sources.environment["XDG_DATA_HOME"] = "/data";
  CHECK(setup.load().journal == "/data/daybook/journal");
}

TEST_CASE("without a home the journal must be named") {
  ConfigSources sources;
  const auto config = load_config(sources);
  REQUIRE_FALSE(config.has_value());
  CHECK_THAT(config.error().message, Contains("set --journal, DAYBOOK_HOME or HOME"));
  sources.flags.journal = "/j";
  CHECK(load_config(sources).value().journal == "/j");
}

TEST_CASE("a tilde in the journal's folder is the home folder") {
  Setup setup;
  setup.machine("journal = '~/books'");
  CHECK(setup.load().journal == setup.dir.str("home/books"));
}

TEST_CASE("a project file may be daybook.toml, but not both") {
  Setup setup;
  write_file(setup.dir.path() / "work/daybook.toml", "model = 'a:plain'");
  CHECK(setup.load().model == "a:plain");
  setup.project("model = 'a:hidden'");
  CHECK_THAT(setup.error(), Contains("both exist: keep one of them"));
}

TEST_CASE("errors in a file say its path") {
  Setup setup;
  setup.machine("model = 1");
  CHECK(setup.error() == setup.machine_path() + ":1: 'model' must be a string, not a whole number");
  setup.machine("");
  setup.project("\nmodl = 'a:b'");
  CHECK(setup.error() == setup.project_path() + ":2: unknown key 'modl'; did you mean 'model'?");
}

TEST_CASE("a file that is far too long is not read") {
  Setup setup;
  setup.machine(std::string((1 << 20) + 1, '#'));
  CHECK_THAT(setup.error(), Contains("1048577 bytes is too long for a configuration file"));
}

TEST_CASE("an unknown key is an error with line and nearest key, in every table") {
  CHECK(error_of("model = 'a:b'\n\nmax_iteration = 3\n") ==
        "c.toml:3: unknown key 'max_iteration'; did you mean 'max_iterations'?");
  CHECK(
      error_of("[providers.openai]\nkind = 'openai-chat'\nbase_url = 'http://h'\nkey_evn = 'X'") ==
      "c.toml:4: unknown key 'key_evn' in [providers.openai]; did you mean 'key_env'?");
  CHECK(error_of("[models.'a:b']\ncontext_windw = 1") ==
        "c.toml:2: unknown key 'context_windw' in [models.\"a:b\"]; did you mean "
        "'context_window'?");
  CHECK(error_of("[agents.x]\ninstructions = 'i'\nzzzzzz = 1") ==
        "c.toml:3: unknown key 'zzzzzz' in [agents.x]; known: instructions, tools");
}

TEST_CASE("a wrong type is an error with line and the expected type") {
  CHECK(error_of("\nmodel = true") == "c.toml:2: 'model' must be a string, not true or false");
  CHECK(error_of("max_iterations = '3'") ==
        "c.toml:1: 'max_iterations' must be a whole number, not a string");
  CHECK(error_of("max_iterations = 3.0") ==
        "c.toml:1: 'max_iterations' must be a whole number, not a fraction");
  CHECK(error_of("providers = 3") == "c.toml:1: 'providers' must be a table, not a whole number");
  CHECK(error_of("providers.x = 3") ==
        "c.toml:1: 'providers.x' must be a table, not a whole number");
  CHECK(error_of("[models.'a:b']\ncache_markers = 1") ==
        "c.toml:2: 'cache_markers' in [models.\"a:b\"] must be true or false, not a whole number");
  CHECK(error_of("[agents.x]\ninstructions = 'i'\ntools = 'grep'") ==
        "c.toml:3: 'tools' in [agents.x] must be a list of strings, not a string");
  CHECK(error_of("[agents.x]\ninstructions = 'i'\ntools = [1]") ==
        "c.toml:3: 'tools' in [agents.x] must be a list of strings, not a whole number");
  CHECK(error_of("[providers.x]\nheaders = { a = 1979-05-27 }") ==
        "c.toml:2: 'a' in [providers.x] must be a string, not a date or time");
}

TEST_CASE("a number out of range is an error, also beyond 32 bits") {
  CHECK(error_of("max_iterations = 0") ==
        "c.toml:1: 'max_iterations' must be from 1 to 10000, not 0");
  CHECK(error_of("max_iterations = 4294967297") ==
        "c.toml:1: 'max_iterations' must be from 1 to 10000, not 4294967297");
  CHECK(error_of("max_iterations = -1") ==
        "c.toml:1: 'max_iterations' must be from 1 to 10000, not -1");
}

TEST_CASE("a value out of a set names the set or the nearest") {
  CHECK(error_of("approval_mode = 'interactiv'") ==
        "c.toml:1: 'approval_mode' cannot be 'interactiv'; did you mean 'interactive'?");
  CHECK(error_of("[providers.x]\nkind = 'grpc'") ==
        "c.toml:2: 'kind' in [providers.x] cannot be 'grpc'; known: script, openai-chat, "
        "openai-responses, anthropic, gemini");
  CHECK(error_of("[providers.x]\nkind = 'openai-response'") ==
        "c.toml:2: 'kind' in [providers.x] cannot be 'openai-response'; did you mean "
        "'openai-responses'?");
}

TEST_CASE("bad TOML is an error with file, line and column") {
  CHECK_THAT(error_of("model = 'a:b'\nagent = = 3"), StartsWith("c.toml:2:9: not valid TOML: "));
  CHECK_THAT(error_of("model = 'a:b'\nmodel = 'a:c'"), StartsWith("c.toml:2:"));
  CHECK_THAT(error_of("model = 'open"), StartsWith("c.toml:1:"));
  CHECK_THAT(error_of("a = '\xff'"), StartsWith("c.toml:1:"));
  CHECK_THAT(error_of("a = " + std::string(100'000, '[')), StartsWith("c.toml:1:"));
}

TEST_CASE("a project may not set what belongs to the machine") {
  const auto refused = [](std::string_view text) { return error_of(text, ConfigScope::project); };
  CHECK(refused("model = 'a:b'\njournal = '/elsewhere'") ==
        "c.toml:2: a project may not set 'journal': move it to the machine's configuration file");
  CHECK_THAT(refused("prices = '/elsewhere'"),
             StartsWith("c.toml:1: a project may not set 'prices'"));
  CHECK_THAT(refused("approval_mode = 'bypass-approvals'"),
             StartsWith("c.toml:1: a project may not set 'approval_mode'"));
  CHECK_THAT(refused("[providers.openai]\nkey_env = 'AWS_SECRET'"),
             StartsWith("c.toml:1: a project may not set 'providers'"));
  Config config;
  CHECK(apply_config_text(config,
                          "model = 'a:b'\nagent = 'mine'\n[agents.mine]\n"
                          "instructions = 'i'\n[models.'a:b']\nmax_output_tokens = 7",
                          "c.toml", ConfigScope::project));
  CHECK(config.agents.at("mine").instructions == "i");
}

TEST_CASE("a provider must be usable") {
  CHECK(error_of("[providers.x]\nbase_url = 'http://h'") ==
        "c.toml:1: provider 'x' needs a kind: one of script, openai-chat, openai-responses, "
        "anthropic, gemini");
  CHECK_THAT(error_of("[providers.x]\nkind = 'anthropic'\nbase_url = 'h.example'"),
             Contains("provider 'x' needs a base_url that starts with http:// or https://"));
  CHECK_THAT(error_of("[providers.'x:y']\nkind = 'script'"), Contains("a name without ':'"));
  CHECK_THAT(error_of("[providers.x]\nkind = 'script'\nheaders = { a = \"b\\r\\nc: d\" }"),
             Contains("c.toml:3: header 'a' holds a line break"));
  CHECK_THAT(error_of("[providers.x]\nkind = 'script'\nextra = { a = inf }"),
             Contains("JSON cannot say"));
  for (const std::string name : {"a b", "a:b", "", "é", "a\\nb"}) {
    INFO(name);
    CHECK_THAT(error_of("[providers.x]\nkind = 'script'\nheaders = { \"" + name + "\" = 'v' }"),
               StartsWith("c.toml:3: '") && Contains("cannot be a header's name"));
  }
  for (const std::string url : {"http://h/v1?a=b", "http://h/v1#x", "http://h/v 1"}) {
    INFO(url);
    CHECK_THAT(error_of("[providers.x]\nkind = 'anthropic'\nbase_url = '" + url + "'"),
               StartsWith("c.toml:3: 'base_url' may hold no query, fragment or space"));
  }
}

TEST_CASE("'extra' may not set what requests have anyway") {
  const auto extra = [](const std::string& kind, const std::string& member) {
    return error_of("[providers.x]\nkind = '" + kind +
                    "'\nbase_url = 'http://h'\nextra = { a = 1, " + member + " = 1 }");
  };
  for (const std::string member : {"model", "messages", "tools", "stream", "stream_options"}) {
    CHECK(extra("openai-chat", member) ==
          "c.toml:4: 'extra' may not set '" + member + "', which every request has already");
  }
  CHECK_THAT(extra("openai-chat", "max_completion_tokens"), Contains("use max_output_tokens in"));
  CHECK_THAT(extra("anthropic", "system"), Contains("may not set 'system'"));
  CHECK_THAT(extra("anthropic", "max_tokens"), Contains("may not set 'max_tokens'"));
  for (const std::string member : {"input", "instructions", "store", "include"}) {
    CHECK(extra("openai-responses", member) ==
          "c.toml:4: 'extra' may not set '" + member + "', which every request has already");
  }
  CHECK_THAT(extra("openai-responses", "max_output_tokens"), Contains("use max_output_tokens in"));
  for (const std::string member : {"contents", "systemInstruction", "generation_config"}) {
    CHECK_THAT(extra("gemini", member), Contains("may not set '" + member + "'"));
  }
  CHECK_THAT(
      extra("gemini", "generationConfig"),
      StartsWith("c.toml:4: 'extra.generationConfig' in [providers.x] must be a table, not "));
  CHECK(extra("gemini", "generationConfig.maxOutputTokens") ==
        "c.toml:4: 'extra' may not set 'maxOutputTokens', which every request has already: use "
        "max_output_tokens in [models.\"PROVIDER:MODEL\"]");

  Setup setup;
  setup.machine(
      "[providers.x]\nkind = 'anthropic'\nbase_url = 'http://h'\nextra = { thinking = 1 }\n"
      "[models.'x:deep']\nthinking = 'budget'\nthinking_budget_tokens = 2000\n");
  const Config config = setup.load();
  CHECK(resolve_model(config, "x:plain", {}).has_value());
  CHECK(resolve_model(config, "x:deep", {}).error().message ==
        "'extra' in [providers.x] may not set 'thinking', which the 'thinking' of x:deep sets: "
        "keep one of them");
}

TEST_CASE("'extra' stands beside what the model's thinking sets, never over it") {
  Setup setup;
  const auto refused = [&](const std::string& kind, const std::string& extra,
                           const std::string& thinking) -> std::string {
    setup.machine("[providers.x]\nkind = '" + kind + "'\nbase_url = 'http://h'\nextra = " + extra +
                  "\n[models.'x:m']\n" + thinking);
    const auto resolved = resolve_model(setup.load(), "x:m", {});
    return resolved ? "" : resolved.error().message;
  };
  const std::string effort = "thinking = 'effort'\nreasoning_effort = 'low'";
  CHECK_THAT(refused("openai-responses", "{ reasoning = { effort = 'high' } }", effort),
             Contains("may not set 'reasoning.effort', which the 'thinking' of x:m sets"));
  CHECK(refused("openai-responses", "{ reasoning = { summary = 'auto' } }", effort).empty());
  CHECK(refused("openai-responses", "{ reasoning = { effort = 'high' } }", "thinking = 'effort'")
            .empty());
  const std::string thoughts =
      "{ generationConfig = { thinkingConfig = { thinkingLevel = 'low' } } }";
  CHECK_THAT(refused("gemini", thoughts, "thinking = 'effort'"),
             Contains("may not set 'generationConfig.thinkingConfig'"));
  CHECK(refused("gemini", thoughts, "thinking = 'none'").empty());
  CHECK(refused("gemini", "{ generationConfig = { topP = 0.5 } }", effort).empty());
}

TEST_CASE("shipped settings of models") {
  const Config config = Setup().load();
  const auto of = [&](std::string_view name) { return settings_of(config, name); };
  CHECK(of("openai-responses:gpt-6.2-sol").thinking == Thinking::effort);
  CHECK(of("openai-responses:gpt-6.2-sol").reasoning_effort.empty());
  CHECK(of("openai-responses:gpt-6.2-sol").context_window == 1'050'000);
  CHECK(of("openai-responses:gpt-6.2-sol").max_output_tokens == 128'000);
  // They refuse to be asked for their reasoning.
  CHECK(of("openai-responses:gpt-4o").thinking == Thinking::none);
  CHECK(of("openai-responses:gpt-4.1-mini").thinking == Thinking::none);
  CHECK(of("openai-responses:o4-mini").thinking == Thinking::effort);
  CHECK(of("gemini:gemini-4-argon").thinking == Thinking::effort);
  CHECK(of("gemini:gemini-4-argon").max_output_tokens == 65'536);
  CHECK(of("gemini:gemini-4-argon").context_window == 1'000'000);
}

TEST_CASE("a relative journal in a file is an error, as it would depend on where a command runs") {
  CHECK(error_of("model = 'a:b'\njournal = 'books'") ==
        "c.toml:2: 'journal' cannot be 'books': give an absolute path, or one that starts with ~/");
}

TEST_CASE("a shipped provider is overridden key by key") {
  Setup setup;
  setup.machine(
      "[providers.openai]\nbase_url = 'http://proxy/v1//'\nidle_timeout_ms = 5\n"
      "headers = { x-team = 'blue' }\n"
      "extra = { b = [1, 2.5, 'x\"y'], a = { t = true } }\n");
  const Config config = setup.load();
  const ProviderConfig& openai = config.providers.at("openai");
  CHECK(openai.kind == "openai-chat");
  CHECK(openai.base_url == "http://proxy/v1");
  CHECK(openai.key_env == "OPENAI_API_KEY");
  CHECK(openai.idle_timeout_ms == 5);
  CHECK(openai.connect_timeout_ms == 20'000);
  REQUIRE(openai.headers.size() == 1);
  CHECK(openai.headers[0] == std::pair<std::string, std::string>("x-team", "blue"));
  CHECK(openai.extra == R"("a":{"t":true},"b":[1,2.5,"x\"y"])");
}

TEST_CASE("environment and flags are checked like a file") {
  Setup setup;
  setup.sources.environment["DAYBOOK_MAX_ITERATIONS"] = "many";
  CHECK(setup.error() == "DAYBOOK_MAX_ITERATIONS must be a whole number, not 'many'");
  setup.sources.environment["DAYBOOK_MAX_ITERATIONS"] = "0";
  CHECK(setup.error() == "DAYBOOK_MAX_ITERATIONS must be from 1 to 10000, not 0");
  setup.sources.environment.erase("DAYBOOK_MAX_ITERATIONS");
  setup.sources.environment["DAYBOOK_APPROVAL_MODE"] = "none";
  CHECK(setup.error() ==
        "DAYBOOK_APPROVAL_MODE cannot be 'none'; known: interactive, bypass-approvals");
  setup.sources.environment.erase("DAYBOOK_APPROVAL_MODE");
  setup.sources.flags.approval_mode = "bypass-approval";
  CHECK(setup.error() ==
        "--approval-mode cannot be 'bypass-approval'; did you mean 'bypass-approvals'?");
  setup.sources.flags.approval_mode.reset();
  setup.sources.flags.max_iterations = 10'001;
  CHECK(setup.error() == "--max-iterations must be from 1 to 10000, not 10001");
}

TEST_CASE("a model resolves to its provider, key and settings") {
  Setup setup;
  setup.machine(
      "[models.'openai:*']\nreasoning_effort = 'low'\n"
      "[models.'openai:big-*']\ncontext_window = 400000\n"
      "[models.'openai:big-one']\nthinking = 'effort'\nmax_output_tokens = 9\n");
  const Config config = setup.load();
  const auto model = resolve_model(config, "openai:big-one", {{"OPENAI_API_KEY", "k"}}).value();
  CHECK(model.provider.name == "openai");
  CHECK(model.model == "big-one");
  CHECK(model.key == "k");
  CHECK(model.settings.context_window == 400'000);
  CHECK(model.settings.max_output_tokens == 9);
  CHECK(model.settings.thinking == Thinking::effort);
  CHECK(model.settings.reasoning_effort == "low");
  CHECK(model.settings.max_tokens_field == "max_completion_tokens");
  CHECK(settings_of(config, "openai:small").context_window == 128'000);
  CHECK(settings_of(config, "anthropic:any").cache_markers);
  CHECK_FALSE(settings_of(config, "unheard:of").cache_markers);
}

TEST_CASE("the longer pattern wins whatever the order of the tables") {
  Config config;
  REQUIRE(apply_config_text(config,
                            "[models.'p:zz*']\nmax_output_tokens = 2\n"
                            "[models.'p:*']\nmax_output_tokens = 1\n"
                            "[models.'p:zzz']\nmax_output_tokens = 3\n",
                            "c.toml", ConfigScope::machine));
  CHECK(settings_of(config, "p:a").max_output_tokens == 1);
  CHECK(settings_of(config, "p:a").max_output_known);
  CHECK_FALSE(settings_of(config, "q:a").max_output_known);
  CHECK(settings_of(config, "p:zz").max_output_tokens == 2);
  CHECK(settings_of(config, "p:zzz").max_output_tokens == 3);
  CHECK(settings_of(config, "p:zzzz").max_output_tokens == 2);
}

TEST_CASE("a script is a model without a key, and its path may hold colons") {
  const Config config = Setup().load();
  const auto model = resolve_model(config, "script:dir/a:b.toml", {}).value();
  CHECK(model.provider.kind == "script");
  CHECK(model.model == "dir/a:b.toml");
  CHECK(model.key.empty());
}

TEST_CASE("a model that cannot be resolved says why") {
  const Config config = Setup().load();
  const auto message = [&](std::string_view name) {
    const auto model = resolve_model(config, name, {{"ANTHROPIC_API_KEY", ""}});
    REQUIRE_FALSE(model.has_value());
    return model.error().message;
  };
  CHECK(message("anthropic:x") ==
        "provider 'anthropic' needs a key: set the environment variable ANTHROPIC_API_KEY");
  CHECK(message("antropic:x") ==
        "there is no provider 'antropic'; did you mean 'anthropic'?; known: anthropic, deepseek, "
        "gemini, moonshot, ollama, openai, openai-responses, openrouter, script, together, vllm, "
        "zhipu");
  CHECK_THAT(message("claude"), StartsWith("'claude' is not a model: write provider:model"));
  CHECK_THAT(message("openai:"), StartsWith("'openai:' is not a model"));
  CHECK_THAT(message(":x"), StartsWith("':x' is not a model"));
  CHECK_THAT(message(""), StartsWith("no model is set: pass --model"));
}

TEST_CASE("agents are found by name, and users define their own") {
  Setup setup;
  setup.machine(
      "[agents.code]\ntools = ['grep', 'read_file']\n"
      "[agents.mine]\ninstructions = 'Be mine.'\n");
  const Config config = setup.load();
  CHECK(find_agent(config, "code").value()->tools == std::vector<std::string>{"grep", "read_file"});
  CHECK_THAT(find_agent(config, "code").value()->instructions, Contains("coding agent"));
  CHECK(find_agent(config, "mine").value()->tools == known_tools());
  CHECK(find_agent(config, "coder").error().message ==
        "there is no agent 'coder'; known: code, cowork, mine");
}

TEST_CASE("an agent must be usable") {
  CHECK(error_of("[agents.x]\ntools = []") == "c.toml:1: agent 'x' needs instructions");
  CHECK(error_of("[agents.x]\ninstructions = 'i'\ntools = ['grepp']") ==
        "c.toml:3: there is no tool 'grepp'; did you mean 'grep'?");
  CHECK(error_of("[agents.x]\ninstructions = 'i'\ntools = ['grep', 'grep']") ==
        "c.toml:3: tool 'grep' is listed twice");
}

TEST_CASE("nearest forgives few edits, not many") {
  const std::vector<std::string> known = {"sessions", "show", "log", "audit"};
  CHECK(nearest("sesions", known) == "sessions");
  CHECK(nearest("shwo", known) == "show");
  CHECK(nearest("lgo", known) == "log");
  CHECK(nearest("logs", known) == "log");
  CHECK(nearest("xyz", known).empty());
  CHECK(nearest("", known).empty());
  CHECK(nearest(std::string(100'000, 'a'), known).empty());
}

}  // namespace
}  // namespace daybook::engine
