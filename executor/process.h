// Running one program to its end.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "executor/executor.h"
#include "executor/process_output.h"
#include "executor/secrets.h"
#include "executor/supervisor.h"

namespace daybook::executor {

struct ProcessSpec {
  std::vector<std::string> argv;  // argv[0]: a path, or a name looked up in env's PATH
  std::vector<std::string> env;   // NAME=value; the whole environment
  std::string cwd;                // folder to start in; ignored when cwd_fd is given
  int cwd_fd = -1;                // stays the caller's
  std::string_view stdin_bytes;   // must outlive the call; without any, stdin is /dev/null
  int stdin_fd = -1;              // what stdin is instead; stays the caller's
  bool merge_stderr = false;      // stderr into the same stream as stdout
  bool live_stderr = true;        // whether the sink sees stderr too
  std::int64_t timeout_ms = 0;    // 0: none
  OutputLimits limits;            // of each stream
  const SecretMask* mask = nullptr;
  KillLadder ladder;
};

struct ProcessResult {
  /// exited, signalled, timed_out, user_stop, spawn_failed; error: the outcome is not known.
  schema::ExitKind exit = schema::ExitKind::error;
  int code = 0;  // exit code, signal number, or errno of spawn_failed
  KeptOutput out;
  KeptOutput err;
  std::uint32_t survivors_killed = 0;  // processes that outlived the program
  std::uint32_t survivors_left = 0;    // those that could not be killed
  std::uint64_t user_time_us = 0;      // of the whole tree
  std::uint64_t system_time_us = 0;
  std::uint64_t max_rss_kib = 0;
  std::string error;
};

/// The end is the program's exit, not the end of its output: what it leaves running gets
/// `ladder.drain_*` to write, then is killed and counted. Returns within timeout + ladder.
/// Thread-safe. `sink` sees both streams, on the calling thread.
ProcessResult run_process(const ProcessSpec& spec, const OutputSink& sink, std::stop_token stop);

}  // namespace daybook::executor
