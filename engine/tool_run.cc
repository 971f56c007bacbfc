#include "engine/tool_run.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/result_cap.h"
#include "engine/spill.h"
#include "schema/json.h"

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
  done.spill_path =
      (std::filesystem::path(spill_folder_) / request.session / (request.call_id + ".txt"))
          .string();
  const bool written = write_spill(done.spill_path, outcome.result);
  // A command's output has a limit of its own, so the file may not hold all that was written.
  const auto& receipt = done.receipt;
  const std::string content =
      receipt.output_kept < receipt.output_bytes
          ? fmt::format("the first and last of the output's {} bytes, {} in all, are",
                        receipt.output_bytes, receipt.output_kept)
          : "the full text is";
  std::string where = fmt::format("{} in {}", content, done.spill_path);
  if (!written) {
    where = fmt::format("the full result could not be written to {}", done.spill_path);
    done.receipt.notices.push_back(where);
  }
  done.result = cap_result(outcome.result, kResultBytes, where);
  done.full_output = std::move(outcome.result);
  return done;
}

ToolDone ToolRunner::run(const executor::ToolRequest& request, const executor::Plan& plan,
                         const executor::OutputSink& sink, std::stop_token stop) const {
  auto outcome = executor_.run(request, plan, sink, std::move(stop));
  if (outcome.receipt.exit == schema::ExitKind::user_stop) add_reason(outcome);
  return bound(request, std::move(outcome));
}

/// The executor knows that it was stopped, not by what.
void ToolRunner::add_reason(executor::Outcome& outcome) const {
  const std::string reason = stop_reason_();
  if (reason.empty() || outcome.receipt.error.empty()) return;
  outcome.receipt.error += ": " + reason;
  auto result = parse_json(outcome.result);
  if (!result || !result->is_object() || !result->contains("error")) return;
  (*result)["error"] = outcome.receipt.error;
  outcome.result = dump_json(*result);
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
  switch (executor_.settle(request, plan)) {
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
