#include <fmt/format.h>

#include <algorithm>

#include "engine/driver.h"

namespace daybook::engine {

Preamble make_preamble(const Agent& agent, const std::vector<executor::Root>& roots,
                       std::span<const executor::ToolSpec> tools) {
  Preamble preamble;
  if (!agent.instructions.empty()) preamble.system.push_back(agent.instructions);
  std::string folders = "Folders you may use:\n";
  for (std::size_t i = 0; i < roots.size(); ++i) {
    folders += fmt::format("- {} ({}{})\n", roots[i].path, i == 0 ? "workspace, " : "",
                           roots[i].writable ? "read and write" : "read only");
  }
  folders += "Relative paths start at the workspace.";
  preamble.system.push_back(std::move(folders));
  for (const auto& tool : tools) {
    if (std::find(agent.tools.begin(), agent.tools.end(), tool.name) == agent.tools.end()) continue;
    preamble.tools.push_back({tool.name, tool.description, tool.parameters});
  }
  return preamble;
}

}  // namespace daybook::engine
