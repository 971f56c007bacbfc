// The environment of commands.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/result.h"

namespace daybook::executor {

/// `parent` without what looks secret, without DAYBOOK_*, without what makes a shell run code at
/// its start; with what keeps programs from asking questions.
std::vector<std::string> command_environment(std::span<const std::string> parent);

/// Value of a variable, or "".
std::string_view variable(std::span<const std::string> environment, std::string_view name);

/// Path of a program: `name` itself when it holds a slash, otherwise the first executable file in
/// the environment's PATH. Error: not_found.
Result<std::string> find_program(std::string_view name, std::span<const std::string> environment);

}  // namespace daybook::executor
