// What the four writing tools share: draft the edits from the arguments, plan them, run them.
#pragma once

#include <functional>
#include <string>

#include "executor/edits.h"
#include "executor/tool.h"

namespace daybook::executor {

class WriterTool : public Tool {
 public:
  const ToolSpec& spec() const override { return spec_; }
  Result<Plan> plan(const ToolRequest& request, const Json& arguments) override;
  Outcome run(const ToolRequest& request, const Json& arguments, const Plan& plan,
              const OutputSink& sink, std::stop_token stop) override;

 protected:
  struct Draft {
    FileEdits edits;
    std::function<std::string()> result;  // JSON text; asked after all transforms ran
  };

  WriterTool(std::string name, std::string description, std::string parameters, CommitHook hook);

  /// Reads nothing from disk: after a crash the same arguments give the same edits.
  virtual Result<Draft> draft(const Policy& policy, const Json& arguments) const = 0;

 private:
  ToolSpec spec_;
  CommitHook hook_;
};

}  // namespace daybook::executor
