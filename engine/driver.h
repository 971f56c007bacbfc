// The loop: asks the folded state what comes next, writes down that it is about to do it, does
// it, and writes down what happened.
//
// Threads: everything runs on the io_context's one thread, except tool calls, which `run_blocking`
// takes elsewhere and whose completions are posted back.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/clock.h"
#include "engine/context.h"
#include "engine/next.h"
#include "journal/session_writer.h"

namespace boost::asio {
class io_context;
}

namespace daybook::engine {

/// What a person is asked before a call runs.
struct Question {
  std::string session;
  std::string call_id;
  std::string tool;
  std::string arguments;  // JSON text
  std::string summary;    // one line
  std::string cwd;        // folder that the call would run in
};

struct Answer {
  enum class Kind {
    allow_once,
    allow_session,  // this tool, for the rest of the session
    deny,
    unavailable,  // nobody can be asked here; the question stays open
    cancelled,
  };
  Kind kind = Kind::unavailable;
  std::string actor;  // "person:root"
  std::string note;   // told to the model on a denial
};

/// Asks; calls `done` once on the engine's thread. One question at a time.
class Approver {
 public:
  virtual ~Approver() = default;
  virtual void ask(const Question& question, std::function<void(Answer)> done) = 0;
  /// Whether to try again (allow) or go on without a summary (deny) when the gate accepted none;
  /// `why` says what was wrong. Whoever nobody attends does not wait: `unavailable`.
  virtual void ask_summary(const std::string& why, std::function<void(Answer)> done) {
    static_cast<void>(why);
    std::exchange(done, nullptr)({Answer::Kind::unavailable, "", ""});
  }
  virtual void cancel() = 0;
};

/// Sees what happens; called on the engine's thread, events only once they are durable.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void on_event(const schema::Event& event, std::span<const std::byte> bytes) = 0;
  virtual void on_delta(const Delta& delta) = 0;
  /// Live output of a tool; called on the tool's thread.
  virtual void on_output(std::string_view call_id, std::string_view bytes) = 0;
};

struct Agent {
  std::string name;
  std::string instructions;
  std::vector<std::string> tools;  // names; the rest of the executor's tools stay out
};

struct PolicyWish {
  schema::ApprovalMode mode = schema::ApprovalMode::interactive;
  std::vector<executor::Root> roots;  // roots[0] is the workspace
};

/// Everything outside the core.
struct World {
  journal::Journal& journal;
  executor::Executor& executor;
  Model& model;
  Clock& clock;
  Approver& approver;
  Observer& observer;
  std::function<void(std::function<void()>)> run_blocking;
};

struct TurnRequest {
  explicit TurnRequest(SessionId name) : session(std::move(name)), state(empty_state()) {}

  SessionId session;
  SessionState state;                 // as loaded; empty for a new session
  std::optional<std::string> prompt;  // absent: go on with what is unfinished
  std::string request_id;             // of the command, may be empty
  Digest request_content;
  std::string owner;
  schema::OwnReason reason = schema::OwnReason::start;
  ModelChoice model;
  Agent agent;
  PolicyWish policy;
  std::uint32_t max_iterations = 0;
  std::string spill_folder;  // files for tool results that are cut
  std::string version;       // of the program, recorded in SessionStarted
  Limits limits;
};

struct TurnReport {
  enum class Kind {
    completed,
    interrupted,
    failed,
    iteration_limit,
    needs_reconcile,
    needs_approval,
    nothing_to_do,
  };
  Kind kind = Kind::nothing_to_do;
  std::string answer;
  bool truncated = false;
  std::string message;
  std::vector<std::string> calls;  // that wait for a person
};

/// As `--json` shows it: "needs-reconcile".
std::string_view name_of(TurnReport::Kind kind);

class Driver {
 public:
  Driver(boost::asio::io_context& io, World world, TurnRequest request);
  ~Driver();
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;

  /// Takes the session and runs one turn. `done` is called once on the io_context's thread; the
  /// driver must live until then.
  void start(std::function<void(Result<TurnReport>)> done);

  /// Ends the turn cleanly: what runs is stopped, every open call answered. From the io_context's
  /// thread.
  void stop(std::string reason);

  const SessionState& state() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// Bytes of the system prompt for an agent working below these roots. No clock, no counter.
Preamble make_preamble(const Agent& agent, const std::vector<executor::Root>& roots,
                       std::span<const executor::ToolSpec> tools);

}  // namespace daybook::engine
