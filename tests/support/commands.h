// Running commands in tests, and looking for processes that should be gone.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "executor/process.h"
#include "executor/process_env.h"
#include "executor/secrets.h"

namespace daybook::tests {

/// A ladder that tests can afford.
inline executor::KillLadder short_ladder() {
  return {300, 300, 900, 100, 100, 400};
}

inline executor::ProcessSpec shell_spec(const std::string& script) {
  executor::ProcessSpec spec;
  spec.argv = {"/bin/bash", "--noprofile", "--norc", "-c", script};
  spec.env = executor::command_environment(executor::process_environment());
  spec.cwd = "/tmp";
  spec.ladder = short_ladder();
  spec.timeout_ms = 20'000;
  return spec;
}

inline executor::ProcessResult run(const executor::ProcessSpec& spec) {
  return executor::run_process(spec, {}, {});
}

inline std::int64_t ms_of(const std::function<void()>& work) {
  const auto begun = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() -
                                                               begun)
      .count();
}

/// An upper bound for what takes no time on an idle machine, where a failure would wait for ever.
inline constexpr int kPromptMs = 30'000;

/// Waits until `condition` holds, up to a deadline; whether it did.
inline bool eventually(const std::function<bool()>& condition, int limit_ms = kPromptMs) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(limit_ms);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

/// How many living processes have `marker` as one of their arguments.
int count_marked(const std::string& marker);

/// An argument that no other process has.
std::string unique_marker();

}  // namespace daybook::tests
