// Calls of models in a replay's session, each recorded before it is made and when it ends: a run
// that is interrupted goes on where it was, and no finished call is paid again.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "engine/clock.h"
#include "engine/context.h"
#include "journal/session_writer.h"
#include "replay/spent.h"

namespace daybook::replay {

/// A model as a replay calls it.
struct ArmModel {
  engine::ModelChoice choice;
  engine::Model* model = nullptr;
  std::uint64_t window = 128'000;  // tokens
  std::uint64_t reply = 0;         // tokens of its longest answer; 0: no limit is known
};

/// What a call needs of the process around it.
struct CallWorld {
  journal::Journal& journal;
  engine::Clock& clock;
  const PriceBook& prices;
  /// Runs the event loop until `ready`.
  std::function<void(const std::function<bool()>& ready)> wait;
  std::function<bool()> stopped;
  /// One line for whoever watches: why it waits. Optional.
  std::function<void(std::string_view)> tell = {};
};

/// What failed, and where.
std::string told(const engine::ModelChoice& choice, const engine::Failure& failure);

/// Whether the endpoint refused this one request and would take another: it is too long, or what it
/// holds is not allowed. A key, an account without money, a model's name, a limit of calls or a
/// fault of the endpoint is no matter of the request.
bool is_about_request(const engine::Failure& failure);

/// The most that a call may cost.
Spent most_for(const CallWorld& world, const engine::ModelChoice& choice, std::uint64_t body_bytes,
               std::uint64_t reply_tokens);

/// Whether `limit` allows another call of at most `call`. An error when nobody can tell: a model
/// without a price, or calls before it that reported no usage.
Result<bool> allows(const Money& limit, const Spent& before, const Spent& call,
                    const engine::ModelChoice& choice);

enum class CallEnd : std::uint8_t { done, stopped, too_dear };

class RecordedCalls {
 public:
  /// Folds an event that is in the journal.
  using Take = std::function<Result<void>(const journal::Entry&)>;
  RecordedCalls(const CallWorld& world, const SessionId& session, Take take);

  /// Folds all that is recorded.
  Result<void> load();
  /// Takes the session. `open_request`: one whose process died before its answer came.
  Result<void> acquire(const std::string& owner, schema::OwnReason reason,
                       std::uint64_t open_request);
  Result<void> release(std::string reason);
  /// Appends, durably, and folds.
  Result<void> append(journal::Batch batch);

  struct Question {
    const ArmModel* model = nullptr;
    std::string lineage;
    std::uint32_t number = 0;  // which answer of a scenario it takes
    bool summary = false;
    std::function<engine::PreparedRequest()> request;
    /// Before each attempt; false ends the run as too dear.
    std::function<Result<bool>(const engine::PreparedRequest&)> allowed;
    /// Records an outcome; `last`: no attempt follows, and a failure is about the request.
    std::function<Result<void>(const engine::ModelOutcome&, bool last)> record;
  };
  /// Asks until an answer comes, or a failure that asking again would not mend. One that is not
  /// about the request is an error: it says nothing about what was asked.
  Result<CallEnd> ask(const Question& question);

 private:
  Result<void> append(journal::Batch batch, bool acquire);
  Result<std::shared_ptr<engine::ModelOutcome>> call(const Question& question,
                                                     std::uint32_t attempt,
                                                     engine::PreparedRequest request);
  bool pause(std::int64_t wait_ms);  // false: stopped

  const CallWorld& world_;
  SessionId session_;
  Take take_;
  std::unique_ptr<journal::SessionWriter> writer_;
};

}  // namespace daybook::replay
