#include "engine/tool_run.h"

#include <fmt/format.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "engine/result_cap.h"
#include "schema/json.h"

namespace daybook::engine {
namespace {

/// What tools wrote is for the journal's owner alone, as the journal is.
bool make_private_folder(const std::filesystem::path& folder) {
  std::error_code error;
  const auto parent = folder.parent_path();
  if (!std::filesystem::exists(parent, error)) {
    std::filesystem::create_directories(parent, error);
    if (!error) chmod(parent.c_str(), 0700);
  }
  return mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST;
}

bool write_private_file(const std::string& path, std::string_view bytes) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  while (!bytes.empty()) {
    const ssize_t wrote = write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return close(fd) == 0 && bytes.empty();
}

}  // namespace

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
  const bool written =
      make_private_folder(folder) && write_private_file(done.spill_path, outcome.result);
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
