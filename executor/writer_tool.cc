#include "executor/writer_tool.h"

#include "executor/outcome.h"

namespace daybook::executor {

WriterTool::WriterTool(std::string name, std::string description, std::string parameters,
                       CommitHook hook)
    : spec_{std::move(name), std::move(description), std::move(parameters), Risk::write_local,
            schema::Effect::checked},
      hook_(std::move(hook)) {}

Result<Plan> WriterTool::plan(const ToolRequest& request, const Json& arguments) {
  Result<Draft> drafted = draft(request.policy, arguments);
  if (!drafted) return fail(std::move(drafted.error()));
  Result<std::vector<FileOp>> ops = plan_edits(request.policy, drafted->edits);
  if (!ops) return fail(std::move(ops.error()));
  Plan plan = no_changes(request.policy);
  plan.ops = std::move(*ops);
  plan.planned_result = drafted->result();
  return plan;
}

Outcome WriterTool::run(const ToolRequest& request, const Json& arguments, const Plan& plan,
                        const OutputSink& /*sink*/, std::stop_token stop) {
  const Result<Draft> drafted = draft(request.policy, arguments);
  if (!drafted) return failure(drafted.error());
  return run_edits(request, drafted->edits, plan, stop, hook_);
}

}  // namespace daybook::executor
