// The processes below one process, read from /proc.
//
// Everything here may run between fork and exec: no allocation, no locks, raw system calls only.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace daybook::executor::tree {

inline constexpr std::size_t kMaxListed = 4096;

struct Pids {
  pid_t list[kMaxListed];
  std::size_t count = 0;  // a larger tree is listed in part: list again after killing
};

/// Every living descendant of `root`, parents before children; zombies and `root` are left out.
void list_descendants(pid_t root, Pids& out);

/// Direct children of `root`, zombies included.
void list_children(pid_t root, Pids& out);

/// State letter of a process as in /proc/PID/stat, 0 when there is none.
char state_of(pid_t pid);

}  // namespace daybook::executor::tree
