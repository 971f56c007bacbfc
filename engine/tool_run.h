// One tool call outside the engine's thread: what is planned, what came of it.
#pragma once

#include <functional>
#include <optional>
#include <stop_token>
#include <string>

#include "engine/clock.h"
#include "engine/state.h"
#include "executor/executor.h"
#include "journal/journal.h"

namespace daybook::engine {

/// A finished call, bounded for the model.
struct ToolDone {
  executor::Receipt receipt;
  std::string result;
  bool is_error = false;
  std::optional<std::string> full_output;  // when `result` is a cut of it
  std::string spill_path;
  schema::SettledBy settled_by = schema::SettledBy::execution;
};

/// Runs calls against an executor. Thread-safe as the executor is.
class ToolRunner {
 public:
  /// `stop_reason` says, on any thread, why calls are being stopped; it is asked after one was.
  ToolRunner(executor::Executor& executor, std::string spill_folder,
             std::function<std::string()> stop_reason)
      : executor_(executor),
        spill_folder_(std::move(spill_folder)),
        stop_reason_(std::move(stop_reason)) {}

  Result<executor::Plan> plan(const executor::ToolRequest& request) const;
  ToolDone run(const executor::ToolRequest& request, const executor::Plan& plan,
               const executor::OutputSink& sink, std::stop_token stop) const;

  /// A call whose plan was refused: nothing was done.
  ToolDone refused(const executor::ToolRequest& request, const Error& error,
                   std::int64_t now_ns) const;

  /// An intent left by a crash. Nothing means: nobody can know.
  std::optional<ToolDone> settle(const executor::ToolRequest& request, schema::Effect effect,
                                 const executor::Plan& plan, const executor::OutputSink& sink,
                                 std::stop_token stop, std::int64_t now_ns) const;

 private:
  ToolDone bound(const executor::ToolRequest& request, executor::Outcome outcome) const;
  void add_reason(executor::Outcome& outcome) const;

  executor::Executor& executor_;
  std::string spill_folder_;
  std::function<std::string()> stop_reason_;
};

/// Why an outcome is unknown, for the event and the person.
std::string unknown_reason(schema::Effect effect);

}  // namespace daybook::engine
