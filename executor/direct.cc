#include "executor/direct.h"

#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <mutex>
#include <nlohmann/json.hpp>

#include "executor/arguments.h"
#include "executor/commit.h"
#include "executor/edits.h"
#include "executor/outcome.h"

namespace daybook::executor {
namespace {

std::int64_t utc_ns() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now).count();
}

struct Call {
  Tool* tool = nullptr;
  Json arguments;
};

class DirectExecutor : public Executor {
 public:
  DirectExecutor(Tools tools, std::function<void()> on_close)
      : tools_(std::move(tools)), on_close_(std::move(on_close)) {
    for (const std::unique_ptr<Tool>& tool : tools_) {
      specs_.push_back(tool->spec());
      Result<Json> schema = parse_json(tool->spec().parameters);
      DAYBOOK_CHECK(schema.has_value());
      schemas_.push_back(std::move(*schema));
    }
  }

  ~DirectExecutor() override { DirectExecutor::close(); }

  std::span<const ToolSpec> tools() const override { return specs_; }

  Result<Plan> plan(const ToolRequest& request) override {
    Result<Call> call = resolve(request);
    if (!call) return fail(std::move(call.error()));
    return call->tool->plan(request, call->arguments);
  }

  Outcome run(const ToolRequest& request, const Plan& plan, const OutputSink& sink,
              std::stop_token stop) override {
    const std::int64_t started = utc_ns();
    const auto begin = std::chrono::steady_clock::now();
    Outcome outcome = dispatch(request, plan, sink, std::move(stop));
    const auto spent = std::chrono::steady_clock::now() - begin;
    Receipt& receipt = outcome.receipt;
    receipt.started_at_ns = started;
    receipt.ended_at_ns = utc_ns();
    receipt.duration_ns = static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(spent).count());
    if (receipt.cwd_before.empty()) receipt.cwd_before = no_changes(request.policy).cwd;
    if (receipt.cwd_after.empty()) receipt.cwd_after = receipt.cwd_before;
    return outcome;
  }

  Settlement settle(const ToolRequest& request, const Plan& plan) override {
    const Settlement settlement = settle_ops(plan.ops);
    if (settlement == Settlement::conflict) remove_leftovers(request, plan.ops);
    return settlement;
  }

  void close() override {
    std::call_once(closed_, [this] {
      if (on_close_) on_close_();
    });
  }

 private:
  Result<Call> resolve(const ToolRequest& request) {
    for (std::size_t i = 0; i < tools_.size(); ++i) {
      if (specs_[i].name != request.tool) continue;
      const Result<Json> parsed = parse_json(request.arguments);
      if (!parsed) {
        return fail(parsed.error().code, fmt::format("the arguments of {} are {}", request.tool,
                                                     parsed.error().message));
      }
      Result<Json> checked = check_arguments(request.tool, schemas_[i], *parsed);
      if (!checked) return fail(std::move(checked.error()));
      return Call{tools_[i].get(), std::move(*checked)};
    }
    std::string known;
    for (const ToolSpec& spec : specs_) known += (known.empty() ? "" : ", ") + spec.name;
    return fail(ErrorCode::not_found,
                fmt::format("there is no tool '{}'; the tools are: {}", request.tool, known));
  }

  Outcome dispatch(const ToolRequest& request, const Plan& plan, const OutputSink& sink,
                   std::stop_token stop) {
    Result<Call> call = resolve(request);
    if (!call) return failure(call.error(), schema::ExitKind::not_run);
    try {
      return call->tool->run(request, call->arguments, plan, sink, std::move(stop));
    } catch (const std::exception& thrown) {
      return failure({ErrorCode::io, fmt::format("{} failed: {}; its effect is not known",
                                                 request.tool, thrown.what())});
    }
  }

  Tools tools_;
  std::function<void()> on_close_;
  std::once_flag closed_;
  std::vector<ToolSpec> specs_;
  std::vector<Json> schemas_;
};

}  // namespace

std::unique_ptr<Executor> make_direct_executor(Tools tools, std::function<void()> on_close) {
  return std::make_unique<DirectExecutor>(std::move(tools), std::move(on_close));
}

}  // namespace daybook::executor
