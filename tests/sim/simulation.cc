#include "tests/sim/simulation.h"

#include <boost/asio/executor_work_guard.hpp>

#include "engine/load.h"
#include "engine/script_model.h"
#include "replay/requests.h"
#include "tests/sim/world.h"

namespace daybook::tests {
namespace {

using Kind = engine::TurnReport::Kind;

constexpr std::uint32_t kTurns = 3;
constexpr std::uint32_t kMostProcesses = 400;

class Quiet : public engine::Observer {
 public:
  void on_event(const schema::Event&, std::span<const std::byte>) override {}
  void on_delta(const engine::Delta&) override {}
  void on_output(std::string_view, std::string_view) override {}
};

engine::CompactionLimits compaction_limits() {
  engine::CompactionLimits limits;
  limits.window = 2'500;
  limits.reply = 600;
  return limits;
}

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed) : outside_(seed), session_(*SessionId::parse("sim")) {}

  SimulationResult run() {
    const bool interactive = outside_.random.chance(50);
    mode_ =
        interactive ? schema::ApprovalMode::interactive : schema::ApprovalMode::bypass_approvals;
    // In half of the runs the window is so small that the history is compacted again and again.
    small_window_ = outside_.random.chance(50);
    if (small_window_) outside_.result_bytes = 600;
    crash_percent_ = static_cast<std::uint32_t>(outside_.random.below(12));
    while (result_.ok && !finished_) {
      if (++result_.processes > kMostProcesses) {
        break_off("no end after " + std::to_string(kMostProcesses) + " processes");
      } else {
        live();
      }
    }
    if (result_.ok) check_end();
    for (const auto& [call, times] : outside_.effects) result_.effects += times;
    return result_;
  }

 private:
  void break_off(std::string why) {
    if (!result_.ok) return;
    result_.ok = false;
    result_.failure = std::move(why);
  }

  Result<engine::SessionState> load() {
    MemoryJournal journal(outside_.store);
    return engine::load_state(journal, session_);
  }

  void live();
  std::optional<Result<engine::TurnReport>> drive(engine::SessionState state);
  void reconcile(const engine::SessionState& state);
  void check_effects(const engine::SessionState& state);
  void check_end();
  void check_view(const engine::SessionState& state);
  void check_compaction(const schema::CompactionCommitted& compacted);

  Outside outside_;
  SessionId session_;
  schema::ApprovalMode mode_ = schema::ApprovalMode::interactive;
  std::uint32_t crash_percent_ = 0;
  std::uint32_t given_up_ = 0;
  bool small_window_ = false;
  bool finished_ = false;
  SimulationResult result_;
};

/// One process, from its start to its end or death.
void Simulation::live() {
  auto state = load();
  if (!state) return break_off("after a crash: " + state.error().message);
  check_effects(*state);
  const auto turn = state->turn->number;
  const bool open = state->turn->open;
  if (!open && state->turn->outcome == schema::TurnOutcome::completed && turn >= kTurns) {
    finished_ = true;
    return;
  }
  // A turn that fails for good is given up after a while.
  if (!open && turn > 0 && state->turn->outcome != schema::TurnOutcome::completed &&
      ++given_up_ > 12) {
    finished_ = true;
    return;
  }
  for (const auto& call : state->calls) {
    if (call->phase == schema::CallPhase::unknown) return reconcile(*state);
  }
  const auto report = drive(std::move(*state));
  if (!outside_.broken.empty()) return break_off(outside_.broken);
  if (!report) {
    ++result_.crashes;
  } else if (!*report) {
    break_off("a living process failed: " + report->error().message);
  }
}

/// Nothing: the process died.
std::optional<Result<engine::TurnReport>> Simulation::drive(engine::SessionState state) {
  Process process(outside_, crash_percent_);
  const auto journal = make_sim_journal(process);
  const auto model = make_sim_model(process);
  const auto executor = make_sim_executor(process);
  const auto approver = make_sim_approver(process);
  const auto clock = make_sim_clock(process);
  Quiet observer;
  engine::TurnRequest turn(session_);
  const bool completed =
      state.turn->number == 0 || state.turn->outcome == schema::TurnOutcome::completed;
  if (!state.turn->open && completed) {
    turn.prompt = "turn " + std::to_string(state.turn->number + 1);
    turn.request_id = "request-" + std::to_string(state.turn->number + 1);
    turn.request_content = Digest::of(*turn.prompt);
  }
  turn.state = std::move(state);
  turn.owner = "process " + std::to_string(result_.processes);
  turn.model.provider = "sim";
  turn.model.model = "sim";
  turn.model.codec = &engine::script_codec();
  turn.model.params.model = "sim";
  turn.agent = {"sim", "Be good.", {"read_file", "grep", "write_file", "run_shell"}};
  turn.policy = {mode_, {{"/work", true}}};
  turn.max_iterations = 8;
  turn.limits.max_attempts = 3;
  if (small_window_) turn.limits.compaction = compaction_limits();
  engine::Driver driver(process.io,
                        {*journal, *executor, *model, *clock, *approver, observer,
                         [](std::function<void()> work) { work(); }},
                        std::move(turn));
  process.stop = [&driver](std::string why) { driver.stop(std::move(why)); };
  const auto guard = boost::asio::make_work_guard(process.io);
  std::optional<Result<engine::TurnReport>> report;
  driver.start([&](Result<engine::TurnReport> done) {
    report = std::move(done);
    process.io.stop();
  });
  process.io.run();
  return process.crashed() ? std::nullopt : report;
}

/// A person looks at the world and tells the truth.
void Simulation::reconcile(const engine::SessionState& state) {
  Process process(outside_, crash_percent_);
  const auto journal = make_sim_journal(process);
  const auto clock = make_sim_clock(process);
  const engine::CallState* unknown = nullptr;
  for (const auto& call : state.calls) {
    if (call->phase == schema::CallPhase::unknown) unknown = call.get();
  }
  ++result_.unknown;
  const auto key = unknown->call_id + "#" + std::to_string(unknown->attempt);
  const bool happened = outside_.effects[key] > 0;
  journal::SessionWriter writer(
      session_, {state.version, state.epoch, engine::state_hash(state)}, [&] {
        return journal::Stamp{clock->utc_ns(), clock->random(), clock->random()};
      });
  journal::Batch batch;
  schema::OwnerAcquiredT owner;
  owner.owner = "a person";
  batch.add(draft(std::move(owner)));
  schema::ToolReconciledT event;
  event.call_id = unknown->call_id;
  event.outcome = happened ? schema::Reconciliation::applied
                           : (outside_.random.chance(50) ? schema::Reconciliation::retry
                                                         : schema::Reconciliation::not_applied);
  event.result = batch.content("reconciled");
  batch.add(draft(std::move(event), state.turn->number));
  journal->append(writer.acquire(std::move(batch)), [](const Result<journal::Appended>&) {});
  if (process.crashed()) ++result_.crashes;
}

void Simulation::check_effects(const engine::SessionState& state) {
  for (const auto& [call, times] : outside_.effects) {
    if (times > 1) break_off(call + " took effect " + std::to_string(times) + " times");
  }
  if (state.request->open && !state.turn->open) break_off("a request is open without a turn");
}

/// Each compaction shortens the view to what the budgets leave.
void Simulation::check_compaction(const schema::CompactionCommitted& compacted) {
  ++result_.compactions;
  const std::uint64_t after = compacted.tokens_after().value_or(UINT64_MAX);
  if (after >= compacted.tokens_before().value_or(0)) break_off("a compaction gains nothing");
  MemoryJournal journal(outside_.store);
  auto block = journal::content_bytes(journal, compacted.block());
  const auto budgets = engine::budgets_of(compaction_limits());
  // Beside what the budgets are for, a block has its frame: about 1,200 bytes.
  const std::uint64_t most =
      4 * (budgets.summary + budgets.pinned + budgets.users + budgets.work) + 1'600;
  if (!block || block->size() > most) break_off("a block exceeds its budgets");
}

/// A compacted view begins with its block, which quotes the first message of the session.
void Simulation::check_view(const engine::SessionState& state) {
  if (state.compaction->committed == 0) return;
  MemoryJournal journal(outside_.store);
  auto block = journal::content_bytes(journal, state.compaction->block.get());
  if (!block || block->find(">\nturn 1\n</user-message ") == std::string::npos) {
    break_off("the first message is lost");
  }
  const auto& marks = state.request->marks;
  const bool first = state.compaction->block_pending || (!marks.empty() && marks[0].is_block());
  if (!first || marks.size() != state.request->messages.size()) break_off("the view has no block");
}

/// What the journal says happened is what happened.
void Simulation::check_end() {
  MemoryJournal journal(outside_.store);
  std::map<std::string, std::string> recorded;  // "call-3#1": done, applied, not-applied
  std::map<std::string, std::uint32_t> attempt;
  std::set<std::string> shell;
  auto read = journal.read(session_, 1, journal::ReadMode::strict, [&](const auto& entry) {
    ++result_.events;
    const auto& event = *entry.event;
    if (const auto* compacted = event.payload_as_CompactionCommitted())
      check_compaction(*compacted);
    if (const auto* e = event.payload_as_ToolDispatched()) {
      attempt[e->call_id()->str()] = e->attempt();
      if (text_of(e->tool()) == "run_shell") shell.insert(e->call_id()->str());
    } else if (const auto* completed = event.payload_as_ToolCompleted()) {
      const auto id = completed->call_id()->str();
      recorded[id + "#" + std::to_string(attempt[id])] = "done";
    } else if (const auto* e2 = event.payload_as_ToolReconciled()) {
      const auto id = e2->call_id()->str();
      recorded[id + "#" + std::to_string(attempt[id])] =
          e2->outcome() == schema::Reconciliation::applied ? "applied" : "not-applied";
    }
    return true;
  });
  if (!read) return break_off(read.error().message);
  for (const auto& [key, what] : recorded) {
    if (!shell.contains(key.substr(0, key.find('#')))) continue;
    const bool happened = outside_.effects.contains(key) && outside_.effects[key] == 1;
    if (happened != (what != "not-applied")) {
      break_off(key + " is recorded as " + what + ", the world disagrees");
    }
  }
  for (const auto& [key, times] : outside_.effects) {
    if (times > 0 && !recorded.contains(key)) break_off(key + " took effect without a record");
  }
  auto report = journal.verify(engine::refold(journal));
  if (!report || !report->damage.empty()) break_off("verify finds damage");
  auto rebuilt = replay::rebuild_requests(journal, session_, [&](const auto& request) {
    if (!request.identical || request.first_difference >= 0) {
      break_off("request " + std::to_string(request.request) + " does not rebuild");
    }
    return true;
  });
  if (!rebuilt) break_off(rebuilt.error().message);
  auto state = load();
  if (state && small_window_) check_view(*state);
  for (std::uint64_t version = 1; state && version <= state->version; version += 7) {
    auto at = engine::load_state_at(journal, session_, version);
    if (!at) return break_off("a prefix does not fold: " + at.error().message);
    auto packed = engine::unpack_state(engine::pack_state(*at));
    if (!packed || engine::pack_state(*packed) != engine::pack_state(*at)) {
      return break_off("a checkpoint at version " + std::to_string(version) + " is not its state");
    }
  }
}

}  // namespace

SimulationResult simulate(std::uint64_t seed) {
  return Simulation(seed).run();
}

}  // namespace daybook::tests
