// Measuring in a process of its own: its peak memory is then its own, too.
#pragma once

#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <type_traits>

#include "schema/result.h"

namespace daybook::bench {

template <class T>
struct ChildResult {
  T value{};
  double peak_mib = 0;  // of resident memory
};

/// Runs `body` in a forked child and returns what it returned. The calling process must have no
/// other thread: the child has only the calling one.
template <class Body, class T = std::invoke_result_t<Body>>
ChildResult<T> in_child(const Body& body) {
  static_assert(std::is_trivially_copyable_v<T>);
  int ends[2];
  DAYBOOK_CHECK(pipe(ends) == 0);
  const pid_t child = fork();
  DAYBOOK_CHECK(child >= 0);
  if (child == 0) {
    const T value = body();
    DAYBOOK_CHECK(write(ends[1], &value, sizeof(value)) == sizeof(value));
    _exit(0);
  }
  close(ends[1]);
  ChildResult<T> result;
  const auto got = read(ends[0], &result.value, sizeof(result.value));
  close(ends[0]);
  int status = 0;
  rusage usage{};
  DAYBOOK_CHECK(wait4(child, &status, 0, &usage) == child);
  DAYBOOK_CHECK(got == sizeof(result.value) && status == 0);
  result.peak_mib = static_cast<double>(usage.ru_maxrss) / 1024;
  return result;
}

}  // namespace daybook::bench
