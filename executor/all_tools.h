// The thirteen tools, together.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "executor/tool.h"

namespace daybook::executor {

struct ToolsetOptions {
  std::vector<std::string> environment;  // NAME=value, of this process; secrets are taken out
  std::string shell_cwd;                 // where an earlier process left the shell; "": it had none
};

struct Toolset {
  Tools tools;
  std::function<void()> close;  // ends the shell and its tasks
};

Toolset make_all_tools(ToolsetOptions options);

}  // namespace daybook::executor
