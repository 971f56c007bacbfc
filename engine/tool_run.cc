#include "engine/tool_run.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "engine/result_cap.h"

namespace daybook::engine {

Result<executor::Plan> ToolRunner::plan(const executor::ToolRequest& request) const {
  return executor_.plan(request);
}

ToolDone ToolRunner::bound(const executor::ToolRequest& request, executor::Outcome outcome) const {
  ToolDone done;
  done.receipt = std::move(outcome.receipt);
  done.is_error = outcome.is_error;
  if (outcome.result.size() <= kResultBytes) {
    done.result = cap_result(outcome.result, kResultBytes, "");
    return done;
  }
  // The file is for read_file; the journal keeps the same bytes as a blob.
  const auto folder = std::filesystem::path(spill_folder_) / request.session;
  done.spill_path = (folder / (request.call_id + ".txt")).string();
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  std::ofstream file(done.spill_path, std::ios::binary | std::ios::trunc);
  file << outcome.result;
  file.close();
  if (!file) {
    done.receipt.notices.push_back(
        fmt::format("the full result could not be written to {}", done.spill_path));
  }
  done.result = cap_result(outcome.result, kResultBytes, done.spill_path);
  done.full_output = std::move(outcome.result);
  return done;
}

ToolDone ToolRunner::run(const executor::ToolRequest& request, const executor::Plan& plan,
                         const executor::OutputSink& sink, std::stop_token stop) const {
  return bound(request, executor_.run(request, plan, sink, std::move(stop)));
}

ToolDone ToolRunner::refused(const executor::ToolRequest& request, const Error& error,
                             std::int64_t now_ns) const {
  executor::Outcome outcome;
  outcome.receipt.exit = schema::ExitKind::not_run;
  outcome.receipt.started_at_ns = outcome.receipt.ended_at_ns = now_ns;
  outcome.receipt.error = error.message;
  outcome.result = "Error: " + error.message;
  outcome.is_error = true;
  return bound(request, std::move(outcome));
}

std::optional<ToolDone> ToolRunner::settle(const executor::ToolRequest& request,
                                           schema::Effect effect, const executor::Plan& plan,
                                           const executor::OutputSink& sink, std::stop_token stop,
                                           std::int64_t now_ns) const {
  if (effect == schema::Effect::read_only) return run(request, plan, sink, std::move(stop));
  if (effect == schema::Effect::uncheckable) return std::nullopt;
  switch (executor_.settle(plan)) {
    case executor::Settlement::conflict:
      return std::nullopt;
    case executor::Settlement::not_applied:
    case executor::Settlement::partial: {
      ToolDone done = run(request, plan, sink, std::move(stop));
      done.settled_by = schema::SettledBy::file_hashes;
      return done;
    }
    case executor::Settlement::applied:
      break;
  }
  executor::Outcome outcome;
  outcome.receipt.exit = schema::ExitKind::ok;
  outcome.receipt.started_at_ns = outcome.receipt.ended_at_ns = now_ns;
  outcome.receipt.files = plan.ops;
  outcome.receipt.cwd_before = outcome.receipt.cwd_after = plan.cwd;
  outcome.receipt.notices.emplace_back("found applied after a crash, by the files' hashes");
  outcome.result = plan.planned_result;
  ToolDone done = bound(request, std::move(outcome));
  done.settled_by = schema::SettledBy::file_hashes;
  return done;
}

std::string unknown_reason(schema::Effect effect) {
  return effect == schema::Effect::checked
             ? "the process died while the call ran, and the files are neither as before nor as "
               "planned"
             : "the process died while the call ran; whether it took effect cannot be told";
}

}  // namespace daybook::engine
