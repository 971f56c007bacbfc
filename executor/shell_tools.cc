#include "executor/shell_tools.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "executor/outcome.h"
#include "executor/process_env.h"
#include "executor/process_receipt.h"

namespace daybook::executor {
namespace {

using schema::ExitKind;

constexpr const char* kNoFolder = "the session has no folder; add one to its policy";

struct ShellArguments {
  std::string command;
  std::int64_t timeout_s = 0;
  bool background = false;
};

Result<ShellArguments> shell_arguments(const Json& arguments) {
  ShellArguments made;
  made.command = json_text(arguments, "command");
  if (made.command.find('\0') != std::string::npos) {
    return fail(ErrorCode::invalid_argument, "the command holds a NUL byte; write it as \\0");
  }
  made.timeout_s = static_cast<std::int64_t>(arguments.at("timeout_seconds").get<double>());
  made.background = arguments.value("run_in_background", false);
  return made;
}

std::string joined(const std::vector<std::string>& notes) {
  std::string all;
  for (const std::string& note : notes) all += (all.empty() ? "" : " ") + note;
  return all;
}

std::string survivors_note(std::uint32_t count) {
  return (count == 1 ? "1 process that the command left running was ended"
                     : std::to_string(count) +
                           " processes that the command left running were "
                           "ended") +
         std::string("; use run_in_background for what should go on.");
}

class RunShell final : public Tool {
 public:
  explicit RunShell(std::shared_ptr<ShellSession> session) : session_(std::move(session)) {
    spec_.name = "run_shell";
    spec_.description =
        "Runs a bash command. Variables, functions and the working folder last from one command "
        "to the next; stdin is empty, there is no terminal, so nothing can be answered "
        "interactively. When the command ends or its time is over, all that it started is ended; "
        "with run_in_background it runs apart from the shell (in its folder, without its "
        "variables) until it ends or shell_task_kill ends it, and shell_task_output reads what "
        "it writes. Prefer the file tools for reading and changing files.";
    spec_.parameters =
        R"({"type":"object","properties":{)"
        R"("command":{"type":"string","description":"bash command or script"},)"
        R"("description":{"type":"string",)"
        R"("description":"what it does, for the person who approves it"},)"
        R"("timeout_seconds":{"type":"number","minimum":1,"maximum":600,"default":120},)"
        R"("run_in_background":{"type":"boolean","description":"return at once with a task_id"}},)"
        R"("required":["command"]})";
    spec_.risk = Risk::exec;
    spec_.effect = schema::Effect::uncheckable;
  }

  const ToolSpec& spec() const override { return spec_; }

  Result<Plan> plan(const ToolRequest& request, const Json& arguments) override {
    DAYBOOK_TRY(shell_arguments(arguments));
    if (request.policy.roots.empty()) {
      return fail(ErrorCode::permission, kNoFolder);
    }
    Plan made;
    made.cwd = session_->shell(request.policy.roots[0].path).cwd();
    return made;
  }

  Outcome run(const ToolRequest& request, const Json& arguments, const Plan&,
              const OutputSink& sink, std::stop_token stop) override {
    const auto parsed = shell_arguments(arguments);
    if (!parsed) return failure(parsed.error(), ExitKind::not_run);
    if (request.policy.roots.empty()) {
      return failure({ErrorCode::permission, kNoFolder}, ExitKind::not_run);
    }
    Shell& shell = session_->shell(request.policy.roots[0].path);
    if (parsed->background) return start_task(shell, *parsed);
    const ShellResult result =
        shell.run(parsed->command, parsed->timeout_s * 1000, sink, std::move(stop));
    return outcome_of(*parsed, result);
  }

 private:
  Outcome start_task(Shell& shell, const ShellArguments& arguments) {
    const std::string cwd = shell.cwd();
    const auto id = session_->tasks().start(arguments.command, cwd);
    if (!id) return failure(id.error(), ExitKind::not_run);
    Outcome outcome;
    outcome.receipt.cwd_before = outcome.receipt.cwd_after = cwd;
    outcome.receipt.exit = ExitKind::ok;
    outcome.result = dump_json(
        Json{{"task_id", *id},
             {"command", session_->mask().masked(arguments.command)},
             {"status", "running"},
             {"note", "Read its output with shell_task_output, end it with shell_task_kill."}});
    return outcome;
  }

  static std::string error_text(const ShellArguments& arguments, const ShellResult& result) {
    if (result.exit == ExitKind::timed_out) {
      return "the command was ended after " + std::to_string(arguments.timeout_s) +
             (arguments.timeout_s == 1 ? " second" : " seconds");
    }
    if (result.exit == ExitKind::user_stop) return "the command was stopped";
    return result.error;
  }

  Outcome outcome_of(const ShellArguments& arguments, const ShellResult& result) const {
    Outcome outcome;
    Receipt& receipt = outcome.receipt;
    receipt.exit = result.exit;
    receipt.code = result.code;
    receipt.cwd_before = result.cwd_before;
    receipt.cwd_after = result.cwd_after;
    describe(result.output, receipt);
    receipt.user_time_us = result.user_time_us;
    receipt.system_time_us = result.system_time_us;
    receipt.max_rss_kib = result.max_rss_kib;
    receipt.survivors_killed = result.survivors_killed;
    receipt.notices = result.notes;
    if (result.exit == ExitKind::exited && result.survivors_killed > 0) {
      receipt.notices.push_back(survivors_note(result.survivors_killed));
    }
    receipt.error = error_text(arguments, result);
    Json json{{"command", session_->mask().masked(arguments.command)},
              {"cwd", result.cwd_after},
              {"exit_code", nullptr},
              {"output", result.output.text()},
              {"timed_out", result.exit == ExitKind::timed_out},
              {"truncated", result.output.dropped > 0}};
    if (result.exit == ExitKind::exited) json["exit_code"] = result.code;
    if (result.exit == ExitKind::signalled) json["exit_code"] = 128 + result.code;
    if (!receipt.error.empty()) json["error"] = receipt.error;
    if (!receipt.notices.empty()) json["note"] = joined(receipt.notices);
    outcome.result = dump_json(json);
    outcome.is_error = result.exit == ExitKind::spawn_failed || result.exit == ExitKind::error;
    return outcome;
  }

  std::shared_ptr<ShellSession> session_;
  ToolSpec spec_;
};

/// What the two tools for tasks share. Both count as read-only: neither reaches beyond processes
/// that an approved run_shell started, and repeating one after a crash is safe, because tasks end
/// with the process that started them. But what a task wrote before it was killed is read before.
class TaskTool : public Tool {
 public:
  TaskTool(std::shared_ptr<ShellSession> session, std::string name, std::string description)
      : session_(std::move(session)) {
    spec_.name = std::move(name);
    spec_.description = std::move(description);
    spec_.parameters = R"({"type":"object","properties":{"task_id":{"type":"string",)"
                       R"("description":"as run_shell returned it"}},"required":["task_id"]})";
    spec_.risk = Risk::read;
    spec_.effect = schema::Effect::read_only;
    spec_.in_order = true;
  }

  const ToolSpec& spec() const override { return spec_; }

  Result<Plan> plan(const ToolRequest& request, const Json&) override {
    return no_changes(request.policy);
  }

  Outcome run(const ToolRequest& request, const Json& arguments, const Plan&, const OutputSink&,
              std::stop_token) override {
    const std::string id = json_text(arguments, "task_id");
    const auto view = look(id, request.call_id);
    if (!view) return failure(view.error(), ExitKind::not_run);
    Json json{{"task_id", id}, {"status", view->status}, {"exit_code", nullptr}};
    if (view->exit_code) json["exit_code"] = *view->exit_code;
    Outcome outcome;
    add(*view, json, outcome.receipt);
    outcome.result = dump_json(json);
    return outcome;
  }

 protected:
  virtual Result<TaskView> look(const std::string& id, const std::string& call_id) = 0;
  virtual void add(const TaskView&, Json&, Receipt&) const {}
  ShellSession& session() { return *session_; }

 private:
  std::shared_ptr<ShellSession> session_;
  ToolSpec spec_;
};

class TaskOutput final : public TaskTool {
 public:
  explicit TaskOutput(std::shared_ptr<ShellSession> session)
      : TaskTool(std::move(session), "shell_task_output",
                 "Returns what a background task wrote since the last call, and whether it still "
                 "runs.") {}

 private:
  Result<TaskView> look(const std::string& id, const std::string& call_id) override {
    return session().tasks().read(id, call_id);
  }
  void add(const TaskView& view, Json& json, Receipt& receipt) const override {
    json["output"] = view.output;
    json["truncated"] = view.truncated;
    receipt.output_bytes = receipt.output_kept = view.output.size();
    receipt.output_digest = Digest::of(view.output);
  }
};

class TaskKill final : public TaskTool {
 public:
  explicit TaskKill(std::shared_ptr<ShellSession> session)
      : TaskTool(std::move(session), "shell_task_kill",
                 "Ends a background task with everything that it started.") {}

 private:
  Result<TaskView> look(const std::string& id, const std::string&) override {
    return session().tasks().kill(id);
  }
};

}  // namespace

ShellSession::ShellSession(ShellSettings settings)
    : settings_(std::move(settings)),
      command_env_(command_environment(settings_.environment)),
      mask_(settings_.environment),
      tasks_(command_env_, mask_, settings_.ladder) {}

Shell& ShellSession::shell(const std::string& workspace) {
  const std::lock_guard lock(mutex_);
  if (!shell_) {
    ShellOptions options;
    options.cwd = workspace;
    options.start_cwd = settings_.cwd;
    options.env = command_env_;
    options.mask = mask_;
    options.ladder = settings_.ladder;
    options.resumed = settings_.resumed;
    shell_.emplace(std::move(options));
    if (closed_) shell_->close();
  }
  return *shell_;
}

void ShellSession::close() {
  tasks_.close();
  const std::lock_guard lock(mutex_);
  closed_ = true;
  if (shell_) shell_->close();
}

Tools make_shell_tools(std::shared_ptr<ShellSession> session) {
  Tools tools;
  tools.push_back(std::make_unique<RunShell>(session));
  tools.push_back(std::make_unique<TaskOutput>(session));
  tools.push_back(std::make_unique<TaskKill>(std::move(session)));
  return tools;
}

}  // namespace daybook::executor
