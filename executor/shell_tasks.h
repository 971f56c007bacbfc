// Commands that run in the background, each under a supervisor of its own.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "executor/secrets.h"
#include "executor/shell_dir.h"
#include "executor/supervisor.h"
#include "schema/result.h"

namespace daybook::executor {

struct TaskView {
  std::string status;            // "running", "exited", "killed", "failed"
  std::optional<int> exit_code;  // of a task that exited; 128 + n after signal n
  std::string output;            // since the last read, UTF-8
  bool truncated = false;        // older unread output was dropped
};

/// Thread-safe.
class ShellTasks {
 public:
  ShellTasks(std::vector<std::string> env, SecretMask mask, KillLadder ladder);
  ~ShellTasks();
  ShellTasks(const ShellTasks&) = delete;
  ShellTasks& operator=(const ShellTasks&) = delete;

  /// Ids are task-1, task-2, ... Error: cancelled after close(); io.
  Result<std::string> start(const std::string& command, const std::string& cwd);

  /// Output since the last read. The same reader asking again gets the same answer, so that a
  /// reply that got lost can be asked for again. Error: not_found.
  Result<TaskView> read(std::string_view id, const std::string& reader);

  /// Ends the task with everything below it, and waits for that. Repeatable. Error: not_found.
  Result<TaskView> kill(std::string_view id);

  /// Ends all.
  void close();

 private:
  struct Task;
  std::shared_ptr<Task> find(std::string_view id);

  const std::vector<std::string> env_;
  const SecretMask mask_;
  const KillLadder ladder_;
  std::mutex mutex_;
  ShellDir dir_;
  std::map<std::string, std::shared_ptr<Task>, std::less<>> tasks_;
  bool closed_ = false;
};

}  // namespace daybook::executor
