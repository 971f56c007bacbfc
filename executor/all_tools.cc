#include "executor/all_tools.h"

#include "executor/shell_tools.h"

namespace daybook::executor {
namespace {

void add(Tools& to, Tools from) {
  for (auto& tool : from) to.push_back(std::move(tool));
}

}  // namespace

Toolset make_all_tools(ToolsetOptions options) {
  ShellSettings settings;
  settings.environment = std::move(options.environment);
  settings.resumed = !options.shell_cwd.empty();
  settings.cwd = std::move(options.shell_cwd);
  auto session = std::make_shared<ShellSession>(std::move(settings));
  Toolset set;
  add(set.tools, make_file_tools());
  add(set.tools, make_patch_tools());
  add(set.tools, make_git_tools());
  add(set.tools, make_grep_tool());
  add(set.tools, make_shell_tools(session));
  set.close = [session] { session->close(); };
  return set;
}

}  // namespace daybook::executor
