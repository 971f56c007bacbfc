// The executor's contract: tools that touch the world, one receipt for every call.
//
// A call goes through plan (no effect; what would change) and run (the effect). The caller makes
// the plan durable in between, so that after a crash `settle` can tell from file hashes whether a
// planned change happened. Direct mode implements this; a runner process or a sandbox implements
// the same contract and passes the same tests.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "schema/event.h"

namespace daybook::executor {

enum class Risk {
  read,         // never asked about
  write_local,  // changes files below a writable root
  exec,         // runs commands
};

struct ToolSpec {
  std::string name;
  std::string description;
  std::string parameters;  // JSON schema of the arguments object
  Risk risk = Risk::read;
  schema::Effect effect = schema::Effect::read_only;
  bool in_order = false;  // never beside its neighbours, though it may only read
};

struct Root {
  std::string path;  // absolute, resolved
  bool writable = false;
};

/// What a call may touch; roots[0] is the workspace.
struct Policy {
  std::uint32_t generation = 0;
  std::vector<Root> roots;
};

struct ToolRequest {
  std::string session;
  std::string call_id;
  std::uint32_t attempt = 1;
  std::string tool;
  std::string arguments;  // JSON object text, parsed already once without error
  Policy policy;
};

/// One change of a file. Without a digest the file does not exist on that side.
struct FileOp {
  schema::FileOpKind kind = schema::FileOpKind::update;
  std::string path;  // absolute
  std::optional<BlobRef> before;
  std::optional<BlobRef> after;
};

struct Plan {
  std::vector<FileOp> ops;     // empty unless the tool's effect is checked
  std::string planned_result;  // what run will return if it succeeds
  std::string cwd;             // where it will run
};

struct Receipt {
  schema::ExitKind exit = schema::ExitKind::ok;
  int code = 0;  // exit code or signal number
  std::string cwd_before;
  std::string cwd_after;
  std::int64_t started_at_ns = 0;  // UTC
  std::int64_t ended_at_ns = 0;
  std::uint64_t duration_ns = 0;   // monotonic
  std::uint64_t output_bytes = 0;  // all that the command wrote, whether kept or not
  std::uint64_t output_kept = 0;
  Digest output_digest;       // of all bytes
  std::vector<FileOp> files;  // what changed
  std::uint64_t user_time_us = 0;
  std::uint64_t system_time_us = 0;
  std::uint64_t max_rss_kib = 0;
  std::uint32_t survivors_killed = 0;
  std::vector<std::string> notices;
  std::string error;
};

struct Outcome {
  Receipt receipt;
  std::string result;  // what the model is told: JSON text in the shape of the tool's reference
  bool is_error = false;
};

enum class Settlement {
  applied,      // every planned change is there
  not_applied,  // none is: running the call now is safe
  partial,      // some are: run completes the rest
  conflict,     // the files are in neither state
};

/// Live view of a running command's output; may be dropped, the receipt is the record.
using OutputSink = std::function<void(std::string_view)>;

/// Thread-safe: read-only calls of one turn run concurrently, each on its own thread.
class Executor {
 public:
  virtual ~Executor() = default;

  virtual std::span<const ToolSpec> tools() const = 0;

  /// Checks the arguments and computes what would change. The error's message is for the model.
  virtual Result<Plan> plan(const ToolRequest& request) = 0;

  /// Does it. Blocks; a stop request ends the call within the limits of the tool and yields
  /// exit user_stop. Never throws. A file that no longer matches `plan.ops[i].before` is an error
  /// and stays as it is. After a crash `run` with a partial plan completes what is missing.
  virtual Outcome run(const ToolRequest& request, const Plan& plan, const OutputSink& sink,
                      std::stop_token stop) = 0;

  /// Compares the files with a plan recorded by an earlier process. When they are in neither state,
  /// what that process left beside them goes: nothing will finish it.
  virtual Settlement settle(const ToolRequest& request, const Plan& plan) = 0;

  /// Ends the session's shell and its background tasks, with everything below them.
  virtual void close() = 0;
};

}  // namespace daybook::executor
