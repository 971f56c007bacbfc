// The shell three: run_shell, shell_task_output, shell_task_kill.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "executor/shell.h"
#include "executor/shell_tasks.h"
#include "executor/tool.h"

namespace daybook::executor {

struct ShellSettings {
  std::vector<std::string> environment;  // of this process; commands get a cleaned copy
  KillLadder ladder;
  std::string cwd;       // where the shell starts; "": in the workspace
  bool resumed = false;  // an earlier process may have had a shell: say what is lost, once
};

/// A session's shell and its background tasks. Thread-safe.
class ShellSession {
 public:
  explicit ShellSession(ShellSettings settings);

  /// The shell, made for the first call.
  Shell& shell(const std::string& workspace);
  ShellTasks& tasks() { return tasks_; }
  const SecretMask& mask() const { return mask_; }

  /// Ends the shell and the tasks with everything below them; later commands are refused.
  void close();

 private:
  const ShellSettings settings_;
  const std::vector<std::string> command_env_;
  const SecretMask mask_;
  ShellTasks tasks_;
  std::mutex mutex_;
  std::optional<Shell> shell_;
  bool closed_ = false;
};

Tools make_shell_tools(std::shared_ptr<ShellSession> session);

}  // namespace daybook::executor
