// Where a process dies of SIGKILL, for the crash tests. Only the program daybook_crash has these
// points: it is the shipped program around another journal and another renameat2.
#pragma once

#include <memory>

#include "journal/journal.h"

namespace daybook::tests {

/// From DAYBOOK_TEST_KILL: "append:3:before", "append:3:after", "rename:1:before" or
/// "rename:1:after". Unset: no point.
///
/// append before: nothing of the append is written. append after: it is durable, and nobody was
/// told. rename: around the commit of a file tool's change.
struct KillPoint {
  enum class What { nothing, append, rename };
  What what = What::nothing;
  int number = 0;  // 1: the first one of the process
  bool after = false;
};

KillPoint kill_point_of_process();

/// Counts appends; dies at the point.
std::unique_ptr<journal::Journal> with_kill_point(std::unique_ptr<journal::Journal> inner,
                                                  KillPoint point);

}  // namespace daybook::tests
