// The session's shell: variables, functions and the folder last from one command to the next.
//
// One bash under a supervisor. Nothing of the protocol passes through a command's streams: its
// text is a private file that bash reads with `.`, its output is a FIFO of its own, and the status
// comes over a descriptor that commands do not inherit, with a fresh nonce.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "executor/executor.h"
#include "executor/process_output.h"
#include "executor/secrets.h"
#include "executor/shell_dir.h"
#include "executor/supervisor.h"

namespace daybook::executor {

struct ShellOptions {
  std::string cwd;               // the workspace: where a shell starts when nothing better is known
  std::string start_cwd;         // where the first shell starts instead, if it is there
  std::vector<std::string> env;  // of commands: see command_environment
  SecretMask mask;
  KillLadder ladder;
  OutputLimits limits;
  bool resumed = false;  // an earlier process had a shell: the first result says what is lost
};

struct ShellResult {
  /// exited, signalled (the shell itself), timed_out, user_stop, spawn_failed, error.
  schema::ExitKind exit = schema::ExitKind::error;
  int code = 0;
  KeptOutput output;  // stdout and stderr in the order they were written
  std::string cwd_before;
  std::string cwd_after;
  std::uint32_t survivors_killed = 0;
  std::uint64_t user_time_us = 0;  // in steps of the kernel's clock tick while the shell lives on
  std::uint64_t system_time_us = 0;
  std::uint64_t max_rss_kib = 0;   // known only when the shell ended with the command
  std::vector<std::string> notes;  // for the model, deterministic
  std::string error;
};

/// A living bash and its channels; see shell_process.h.
class ShellProcess;

/// Thread-safe; one command at a time, others wait their turn.
class Shell {
 public:
  explicit Shell(ShellOptions options);
  ~Shell();
  Shell(const Shell&) = delete;
  Shell& operator=(const Shell&) = delete;

  /// A command with a syntax error does not reach the shell. Whatever a command does, the next
  /// one finds a usable shell: a new one in the last known folder when the old one ended.
  ShellResult run(const std::string& command, std::int64_t timeout_ms, const OutputSink& sink,
                  std::stop_token stop);

  /// Folder that the next command starts in.
  std::string cwd() const;

  /// Ends a command under way and the shell; further commands are refused.
  void close();

 private:
  ShellResult run_locked(const std::string& command, std::int64_t timeout_ms,
                         const OutputSink& sink, const std::stop_token& stop);
  bool parses(const std::string& command, ShellResult& result, std::stop_token stop);
  bool start_process(ShellResult& result);
  void set_cwd(std::string cwd);

  const ShellOptions options_;
  std::stop_source closing_;
  std::mutex running_;  // held by the command that runs
  mutable std::mutex cwd_mutex_;
  std::string cwd_;
  ShellDir dir_;
  std::unique_ptr<ShellProcess> process_;
  bool resumed_;
};

}  // namespace daybook::executor
