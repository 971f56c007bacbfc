// The only file that knows the command-line library.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <list>
#include <ostream>

#include "engine/nearest.h"
#include "tools/command.h"
#include "tools/format.h"
#include "tools/json_writer.h"
#include "tools/program.h"

namespace daybook::tools {
namespace {

/// A command with the places that its parsed values go to.
struct Bound {
  Command command;
  CLI::App* app = nullptr;
  Arguments::Values values;
  std::map<std::string, bool> flags;
};

constexpr int kMostPositionals = CLI::detail::expected_max_vector_size;

const std::vector<Option>& common_options() {
  static const std::vector<Option> options = {
      {"--journal", ValueKind::text, "DIR", "folder of the journal (default: $DAYBOOK_HOME)"},
      {"--json", ValueKind::flag, "", "machine-readable output"},
  };
  return options;
}

std::string check_number(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size()) return {};
  return fmt::format("'{}' is not a whole number of 0 or more", text);
}

void add_option(Bound& bound, const Option& option) {
  std::vector<std::string>& values = bound.values[option.name];
  if (option.kind == ValueKind::flag) {
    bound.app->add_flag(option.name, bound.flags[option.name], option.help)
        ->disable_flag_override();
    return;
  }
  CLI::Option* added = bound.app->add_option(option.name, values, option.help);
  // Without this a repeatable option would swallow the positionals behind it.
  added->type_name(option.value_name)->expected(1)->allow_extra_args(false);
  if (option.kind == ValueKind::list) {
    added->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  } else {
    added->multi_option_policy(CLI::MultiOptionPolicy::Throw);
  }
  if (option.kind == ValueKind::number) {
    added->check(CLI::Validator(check_number, "", "number"));
  }
}

void bind(CLI::App& root, Bound& bound) {
  bound.app = root.add_subcommand(bound.command.name, bound.command.summary);
  for (const Positional& positional : bound.command.positionals) {
    auto* added =
        bound.app->add_option(positional.name, bound.values[positional.name], positional.help);
    added->type_name("")->required(positional.required);
    if (positional.many) {
      added->expected(1, kMostPositionals)->allow_extra_args(true);
    } else {
      added->expected(1)->allow_extra_args(false);
    }
  }
  for (const Option& option : bound.command.options) add_option(bound, option);
  for (const Option& option : common_options()) add_option(bound, option);
}

std::vector<std::string> option_names(const Bound& bound) {
  std::vector<std::string> names = {"--help"};
  for (const Option& option : bound.command.options) names.push_back(option.name);
  for (const Option& option : common_options()) names.push_back(option.name);
  return names;
}

/// What is wrong with the first argument that nothing takes.
std::string describe_extra(const std::string& extra, const Bound* used,
                           const std::list<Bound>& commands) {
  if (used != nullptr) {
    const std::string name = extra.substr(0, extra.find('='));
    if (!extra.starts_with('-')) {
      return fmt::format("'{}' takes no further argument '{}'", used->command.name, extra);
    }
    return fmt::format("'{}' has no option '{}'{}", used->command.name, name,
                       engine::suggestion(name, option_names(*used)));
  }
  if (extra.starts_with('-')) {
    return fmt::format("unknown option '{}'; options follow the command, see daybook --help",
                       extra);
  }
  std::vector<std::string> names;
  for (const Bound& bound : commands) names.push_back(bound.command.name);
  return fmt::format("there is no command '{}'{}", extra, engine::suggestion(extra, names));
}

/// One sentence on standard error; for a command that tells its outcome, one JSON line as well.
int told_error(Context& context, const Bound* used, bool json, const Error& error) {
  context.err << "daybook: " << printable(error.message) << '\n';
  if (json && used != nullptr && used->command.tells_outcome) {
    JsonWriter writer;
    writer.begin_object().member("outcome", "error").member("error", name_of(error.code));
    writer.member("message", error.message);
    context.out << writer.end_object().text() << '\n';
  }
  return exit_code_of(error.code);
}

/// What the library found wrong, in words of our own.
std::string describe_mistake(const CLI::ParseError& error, const Bound* used) {
  std::string text = error.what();
  if (used == nullptr) return text;
  const std::string& command = used->command.name;
  for (const Positional& positional : used->command.positionals) {
    if (dynamic_cast<const CLI::RequiredError*>(&error) != nullptr &&
        text.starts_with(positional.name)) {
      return fmt::format("'{}' needs {}: {}", command, positional.name, positional.help);
    }
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) == nullptr) return text;
  std::vector<Option> options = used->command.options;
  options.insert(options.end(), common_options().begin(), common_options().end());
  for (const Option& option : options) {
    // For flags the library leaves the dashes out.
    const std::string name = text.substr(0, text.find_first_of(": "));
    if (name != option.name && "--" + name != option.name) continue;
    const CLI::Option* given = used->app->get_option_no_throw(option.name);
    if (option.kind == ValueKind::flag) return fmt::format("{} takes no value", option.name);
    if (given != nullptr && given->count() > 1) {
      return fmt::format("{} is given twice; give it once", option.name);
    }
    return fmt::format("{} needs a value, {}", option.name, option.value_name);
  }
  return text;
}

/// An unset shell variable must not turn an option into nothing. Prompts and notes may be empty:
/// the first has its own error, the second is allowed.
std::string empty_option(const Bound& bound) {
  for (const auto& [name, values] : bound.values) {
    if (!name.starts_with("--") || name == "--prompt" || name == "--note") continue;
    if (std::ranges::find(values, "") != values.end()) return name;
  }
  return {};
}

int run_bound(Context& context, Bound& bound) {
  const bool json = bound.flags["--json"];
  if (const auto level = check_log_level(context.environment); !level) {
    return told_error(context, &bound, json, level.error());
  }
  if (const std::string name = empty_option(bound); !name.empty()) {
    return told_error(context, &bound, json,
                      {ErrorCode::invalid_argument,
                       fmt::format("the value of {} is empty; leave the option out or give it a "
                                   "value",
                                   name)});
  }
  for (const auto& [name, given] : bound.flags) {
    if (given) bound.values[name].emplace_back("true");
  }
  const auto result = bound.command.run(context, Arguments(std::move(bound.values)));
  if (result) return *result;
  return told_error(context, &bound, json, result.error());
}

}  // namespace

int run_cli(std::span<const std::string> arguments, Context& context) {
  CLI::App root("An event-sourced engine for LLM agent sessions.", "daybook");
  root.set_version_flag("--version", fmt::format("daybook {}", version()));
  root.require_subcommand(0, 1);
  std::list<Bound> commands;
  for (Command& command : all_commands()) {
    commands.push_back({std::move(command), nullptr, {}, {}});
    bind(root, commands.back());
  }

  const auto used = [&]() -> Bound* {
    const auto found =
        std::ranges::find_if(commands, [](const Bound& bound) { return bound.app->parsed(); });
    return found == commands.end() ? nullptr : &*found;
  };
  try {
    root.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      root.exit(error, context.out, context.err);
      return kExitOk;
    }
    const auto before_command = root.remaining(false);
    const auto all = root.remaining(true);
    std::string what = describe_mistake(error, used());
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !all.empty()) {
      what = before_command.empty() ? describe_extra(all.front(), used(), commands)
                                    : describe_extra(before_command.front(), nullptr, commands);
    }
    const bool json = std::ranges::find(arguments, "--json") != arguments.end();
    return told_error(context, used(), json, {ErrorCode::invalid_argument, std::move(what)});
  }
  Bound* const bound = used();
  if (bound == nullptr) {
    context.err << root.help();
    return kExitUsage;
  }
  return run_bound(context, *bound);
}

}  // namespace daybook::tools
