#include "tools/command.h"

#include <charconv>

namespace daybook::tools {

const std::vector<std::string>& Arguments::list(std::string_view name) const {
  const auto found = values_.find(name);
  DAYBOOK_CHECK(found != values_.end());
  return found->second;
}

std::optional<std::string> Arguments::text(std::string_view name) const {
  const auto& values = list(name);
  return values.empty() ? std::nullopt : std::optional(values.front());
}

std::optional<std::uint64_t> Arguments::number(std::string_view name) const {
  const auto given = text(name);
  if (!given) return {};
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(given->data(), given->data() + given->size(), value);
  DAYBOOK_CHECK(error == std::errc{});
  return value;
}

bool Context::colour() const {
  const auto no_colour = environment.find("NO_COLOR");
  return out_is_terminal && (no_colour == environment.end() || no_colour->second.empty());
}

ExitCode exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::unsupported:
      return kExitUsage;
    case ErrorCode::not_found:
      return kExitNotFound;
    case ErrorCode::conflict:
    case ErrorCode::fenced:
    case ErrorCode::busy:
      return kExitBusy;
    case ErrorCode::corrupt:
      return kExitDamaged;
    case ErrorCode::cancelled:
      return kExitInterrupted;
    case ErrorCode::network:
    case ErrorCode::provider:
      return kExitTurnFailed;
    case ErrorCode::newer_schema:
    case ErrorCode::io:
    case ErrorCode::no_space:
    case ErrorCode::permission:
    case ErrorCode::outcome_unknown:
      return kExitError;
  }
  return kExitError;
}

std::string_view version() {
  return DAYBOOK_VERSION;
}

std::vector<Command> all_commands() {
  return {run_command(),    resume_command(), reconcile_command(), sessions_command(),
          show_command(),   log_command(),    audit_command(),     verify_command(),
          backup_command(), export_command(), import_command(),    cost_command(),
          cache_command(),  replay_command()};
}

}  // namespace daybook::tools
