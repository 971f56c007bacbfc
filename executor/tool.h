// One tool behind the direct executor.
#pragma once

#include <memory>
#include <vector>

#include "executor/executor.h"
#include "schema/json.h"

namespace daybook::executor {

class Tool {
 public:
  virtual ~Tool() = default;
  virtual const ToolSpec& spec() const = 0;
  /// No effect. Errors are for the model: what is wrong with the call.
  virtual Result<Plan> plan(const ToolRequest& request, const Json& arguments) = 0;
  virtual Outcome run(const ToolRequest& request, const Json& arguments, const Plan& plan,
                      const OutputSink& sink, std::stop_token stop) = 0;
};

using Tools = std::vector<std::unique_ptr<Tool>>;

Tools make_file_tools();   // read_file list_files write_file replace_in_file
Tools make_patch_tools();  // apply_patch apply_unified_diff
Tools make_git_tools();    // git_status git_diff git_log
Tools make_grep_tool();    // grep

}  // namespace daybook::executor
