// The only file that knows the command-line library.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <list>
#include <ostream>

#include "engine/nearest.h"
#include "tools/command.h"

namespace daybook::tools {
namespace {

/// A command with the places that its parsed values go to.
struct Bound {
  Command command;
  CLI::App* app = nullptr;
  Arguments::Values values;
  std::map<std::string, bool> flags;
};

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
  return fmt::format("'{}' is not a whole number", text);
}

void add_option(Bound& bound, const Option& option) {
  std::vector<std::string>& values = bound.values[option.name];
  if (option.kind == ValueKind::flag) {
    bound.app->add_flag(option.name, bound.flags[option.name], option.help);
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
    added->expected(1)->type_name("")->required(positional.required)->allow_extra_args(false);
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

int usage_error(Context& context, const std::string& what) {
  context.err << "daybook: " << what << '\n';
  return kExitUsage;
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
  if (const std::string name = empty_option(bound); !name.empty()) {
    return usage_error(context, fmt::format("the value of {} is empty; leave the option out or "
                                            "give it a value",
                                            name));
  }
  for (const auto& [name, given] : bound.flags) {
    if (given) bound.values[name].emplace_back("true");
  }
  const auto result = bound.command.run(context, Arguments(std::move(bound.values)));
  if (result) return *result;
  context.err << "daybook: " << result.error().message << '\n';
  return exit_code_of(result.error().code);
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
    if (dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr && !all.empty()) {
      return usage_error(context, before_command.empty()
                                      ? describe_extra(all.front(), used(), commands)
                                      : describe_extra(before_command.front(), nullptr, commands));
    }
    return usage_error(context, error.what());
  }
  Bound* const bound = used();
  if (bound == nullptr) {
    context.err << root.help();
    return kExitUsage;
  }
  return run_bound(context, *bound);
}

}  // namespace daybook::tools
