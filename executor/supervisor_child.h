// What runs in the supervisor process, and the messages it exchanges with the host.
//
// The supervisor is forked from a process with many threads and never executes another program:
// its code may not allocate, lock or throw.
#pragma once

#include <sys/types.h>

#include <cstdint>

#include "executor/supervisor.h"

namespace daybook::executor::child {

/// Host to supervisor, one byte each.
enum class Order : char {
  stop = 'k',    // end the whole tree by the ladder
  sweep = 's',   // end everything but the target, and go on
  finish = 'f',  // the target has ended: end what is left
};

/// Supervisor to host.
struct Message {
  ReportKind kind;
  std::int32_t value;
  std::uint32_t survivors;
  std::uint32_t left;
  std::uint64_t user_time_us;
  std::uint64_t system_time_us;
  std::uint64_t max_rss_kib;
};

/// Prepared before fork; descriptors are all above 2, or -1 for /dev/null.
struct Launch {
  const char* program;
  char* const* argv;
  char* const* env;
  int control;
  int cwd;
  int stdio[3];
  int extra;  // becomes kExtraFd
  KillLadder ladder;
};

/// Runs the supervisor and ends the process. All signals must be blocked.
[[noreturn]] void supervise(const Launch& launch);

}  // namespace daybook::executor::child
