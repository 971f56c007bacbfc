#include "executor/process_env.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "executor/secrets.h"

namespace daybook::executor {
namespace {

constexpr std::array<std::string_view, 7> kFixed = {"GIT_TERMINAL_PROMPT=0",
                                                    "DEBIAN_FRONTEND=noninteractive",
                                                    "PYTHONUNBUFFERED=1",
                                                    "PIP_NO_INPUT=1",
                                                    "TERM=dumb",
                                                    "PAGER=cat",
                                                    "GIT_PAGER=cat"};
constexpr std::array<std::string_view, 4> kShellStart = {"BASH_ENV", "ENV", "SHELLOPTS",
                                                         "BASHOPTS"};
constexpr std::string_view kDefaultPath = "/usr/local/bin:/usr/bin:/bin";

bool is_passed_on(std::string_view entry) {
  const std::string_view name = entry.substr(0, entry.find('='));
  if (name.size() == entry.size() || is_secret_name(name)) return false;
  if (name.starts_with("DAYBOOK_")) return false;
  if (std::find(kShellStart.begin(), kShellStart.end(), name) != kShellStart.end()) return false;
  return std::none_of(kFixed.begin(), kFixed.end(), [&](std::string_view fixed) {
    return fixed.substr(0, fixed.find('=')) == name;
  });
}

bool is_executable_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::vector<std::string> command_environment(std::span<const std::string> parent) {
  std::vector<std::string> made;
  std::copy_if(parent.begin(), parent.end(), std::back_inserter(made), is_passed_on);
  made.insert(made.end(), kFixed.begin(), kFixed.end());
  return made;
}

std::string_view variable(std::span<const std::string> environment, std::string_view name) {
  for (const std::string& entry : environment) {
    if (entry.size() > name.size() && entry.starts_with(name) && entry[name.size()] == '=') {
      return std::string_view(entry).substr(name.size() + 1);
    }
  }
  return {};
}

Result<std::string> find_program(std::string_view name, std::span<const std::string> environment) {
  if (name.find('/') != std::string_view::npos) return std::string(name);
  std::string_view rest = variable(environment, "PATH");
  if (rest.empty()) rest = kDefaultPath;
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const std::string folder(rest.substr(0, colon));
    rest.remove_prefix(std::min(colon + 1, rest.size()));
    // A relative entry would run a program of the workspace.
    if (!folder.starts_with('/')) continue;
    std::string path = folder + "/" + std::string(name);
    if (is_executable_file(path)) return path;
  }
  return fail(ErrorCode::not_found,
              "the program '" + std::string(name) + "' is not in PATH; install it");
}

}  // namespace daybook::executor
