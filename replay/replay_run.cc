#include "replay/replay_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/events.h"
#include "engine/summary_request.h"
#include "replay/mechanical_summary.h"

namespace daybook::replay {
namespace {

using journal::Batch;

/// Share of the window that a transcript may take, in percent.
constexpr std::uint64_t kTranscriptShare = 70;
/// And a reply; the rest is for the instruction.
constexpr std::uint64_t kReplyShare = 25;
constexpr std::size_t kBytesPerToken = 4;
constexpr std::size_t kMechanicalBytes = 16'000;

/// The gate's verdict as an event tells it.
schema::ReplayAttemptedT judged(const engine::GateResult& result) {
  schema::ReplayAttemptedT event;
  event.verdict = static_cast<schema::GateVerdict>(result.verdict);
  event.gate_version = engine::kGateVersion;
  for (const auto& finding : result.findings) {
    auto& to = event.findings.emplace_back(std::make_unique<schema::GateFindingT>());
    to->code = code_of(finding.code);
    to->evidence = finding.evidence;
  }
  return event;
}

class Runner {
 public:
  Runner(const ReplayWorld& world, const SessionId& session, std::optional<Money> max_cost)
      : world_(world),
        session_(session),
        max_cost_(max_cost),
        fold_(world.calls.journal, session),
        calls_(world.calls, session, [this](const auto& entry) { return fold_.take(entry); }) {}

  Result<ReplayOutcome> run(const std::string& owner);

 private:
  const ReplayState& state() const { return fold_.state(); }
  Result<void> use_case(std::uint32_t item);
  Result<CallEnd> unit(const UnitKey& key);
  Result<void> mechanical(const UnitKey& key);
  Result<CallEnd> attempt(const UnitKey& key);
  Result<bool> may_ask(const UnitKey& key, const engine::PreparedRequest& request);
  Result<void> record(const UnitKey& key, const engine::ModelOutcome& outcome, bool give_up);
  engine::SummaryAsk ask_of(const UnitKey& key) const;
  bool has_replied(std::uint32_t arm) const;
  ReplayProgress progress() const;

  const ReplayWorld& world_;
  SessionId session_;
  std::optional<Money> max_cost_;
  ReplayFold fold_;
  RecordedCalls calls_;
  std::optional<CompactionCase> case_;
  std::uint32_t case_index_ = 0;
  std::optional<Money> next_call_;  // that the money did not allow
};

Result<void> Runner::use_case(std::uint32_t item) {
  if (case_ && case_index_ == item) return {};
  auto loaded = load_case(world_.calls.journal, state().cases.at(item));
  if (!loaded) return fail(std::move(loaded.error()));
  case_ = std::move(*loaded);
  case_index_ = item;
  return {};
}

ReplayProgress Runner::progress() const {
  ReplayProgress made;
  made.all = state().arms.size() * state().cases.size() * state().replicates;
  for (const auto& [key, unit] : state().units) {
    made.done += unit.done ? 1 : 0;
    for (const auto& call : unit.calls) made.spent.add(world_.calls.prices, call);
  }
  return made;
}

Result<void> Runner::mechanical(const UnitKey& key) {
  const std::string text = mechanical_summary(case_->items, kMechanicalBytes);
  auto event = judged(engine::judge_summary(engine::gate_items(case_->items),
                                            {text, engine::SummaryStop::kNatural},
                                            engine::kSummaryHeadings, {}));
  event.arm = key.arm;
  event.item = key.item;
  event.replicate = key.replicate;
  event.attempt = 1;
  event.last = true;
  Batch batch;
  event.summary = batch.content(text);
  batch.add(draft(std::move(event)));
  return calls_.append(std::move(batch));
}

bool Runner::has_replied(std::uint32_t arm) const {
  return std::ranges::any_of(state().units, [&](const auto& unit) {
    return unit.first.arm == arm &&
           std::ranges::any_of(unit.second.attempts,
                               [](const auto& attempt) { return attempt.summary != nullptr; });
  });
}

engine::SummaryAsk Runner::ask_of(const UnitKey& key) const {
  const Arm& arm = state().arms.at(key.arm);
  engine::SummaryAsk ask;
  ask.shape = arm.shape;
  ask.max_tokens = reply_budget(arm, world_.model_of(key.arm));
  ask.reasoning = arm.reasoning;
  ask.temperature = arm.temperature;
  ask.transcript_bytes = world_.model_of(key.arm).window * kTranscriptShare / 100 * kBytesPerToken;
  const auto unit = state().units.find(key);
  if (unit != state().units.end() && !unit->second.attempts.empty()) {
    ask.repair = unit->second.attempts.back().repair;
  }
  return ask;
}

/// Whether the money allows the call, were it to use all that it may.
Result<bool> Runner::may_ask(const UnitKey& key, const engine::PreparedRequest& request) {
  if (!max_cost_) return true;
  const auto& choice = world_.model_of(key.arm).choice;
  const Spent most = most_for(world_.calls, choice, request.event.body_size,
                              reply_budget(state().arms.at(key.arm), world_.model_of(key.arm)));
  auto allowed = allows(*max_cost_, progress().spent, most, choice);
  if (allowed && !*allowed) next_call_ = most.money;
  return allowed;
}

/// The outcome of a call, and with a reply the gate's word on it.
Result<void> Runner::record(const UnitKey& key, const engine::ModelOutcome& outcome, bool give_up) {
  const std::uint64_t request = state().open_request;
  const Arm& arm = state().arms.at(key.arm);
  const auto unit = state().units.find(key);
  const std::size_t before = unit == state().units.end() ? 0 : unit->second.attempts.size();
  Batch batch;
  std::optional<schema::ReplayAttemptedT> event;
  if (outcome.reply) {
    std::string text;
    const auto reply = engine::gate_reply(*outcome.reply, text);
    event = judged(engine::judge_summary(engine::gate_items(case_->items), reply,
                                         engine::kSummaryHeadings, {}));
    batch.add(draft(engine::responded(batch, outcome, *outcome.reply, 0), 0, request));
    event->summary = batch.content(text);
    event->last = event->verdict == schema::GateVerdict::usable || before >= arm.retries;
  } else {
    const auto& failure = outcome.reply.error();
    batch.add(draft(engine::failed(batch, failure, 0), 0, request));
    if (give_up) {
      event.emplace();
      event->verdict = schema::GateVerdict::unusable;
      event->gate_version = engine::kGateVersion;
      auto& finding = event->findings.emplace_back(std::make_unique<schema::GateFindingT>());
      finding->code = "call-failed";
      finding->evidence = failure.message;
      event->last = true;
    }
  }
  if (event) {
    event->arm = key.arm;
    event->item = key.item;
    event->replicate = key.replicate;
    event->attempt = static_cast<std::uint32_t>(before + 1);
    event->request = request;
    batch.add(draft(std::move(*event), 0, request));
  }
  return calls_.append(std::move(batch));
}

/// One reply, however many transport attempts it takes.
Result<CallEnd> Runner::attempt(const UnitKey& key) {
  const ArmModel& arm = world_.model_of(key.arm);
  const auto ask = ask_of(key);
  const std::string prompt = engine::summary_prompt(case_->items, ask);
  RecordedCalls::Question question;
  question.model = &arm;
  question.lineage = lineage_of(key);
  // A scenario answers the calls of a replay in the order of the units.
  question.number = 1 + key.item * state().replicates + (key.replicate - 1);
  question.summary = true;
  question.request = [&] { return engine::prepare_summary(arm.choice, prompt, ask); };
  question.allowed = [&](const auto& request) { return may_ask(key, request); };
  std::string refusal;
  question.record = [&](const engine::ModelOutcome& outcome, bool last) {
    // Before any reply a refusal is more likely about the model's name than about the arm, unless
    // it names the size.
    const bool early = last && !outcome.reply && !has_replied(key.arm) &&
                       outcome.reply.error().kind != schema::FailureKind::context_overflow;
    if (early) refusal = told(arm.choice, outcome.reply.error());
    return record(key, outcome, last && !early);
  };
  auto end = calls_.ask(question);
  if (end && !refusal.empty()) end = fail(ErrorCode::io, refusal);
  if (end || end.error().code != ErrorCode::io) return end;
  return fail(ErrorCode::io,
              fmt::format("arm '{}' cannot be made: {}; what is made stays, go on with: daybook "
                          "replay run --name {}",
                          state().arms.at(key.arm).name, end.error().message, session_.str()));
}

Result<CallEnd> Runner::unit(const UnitKey& key) {
  DAYBOOK_TRY(use_case(key.item));
  if (state().arms.at(key.arm).mechanical) {
    DAYBOOK_TRY(mechanical(key));
    return CallEnd::done;
  }
  for (;;) {
    if (world_.calls.stopped()) return CallEnd::stopped;
    auto end = attempt(key);
    if (!end || *end != CallEnd::done) return end;
    if (state().units.at(key).done) return end;
  }
}

Result<ReplayOutcome> Runner::run(const std::string& owner) {
  DAYBOOK_TRY(calls_.load());
  if (state().started_at == 0) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("session {} is not a replay", session_.str()));
  }
  DAYBOOK_TRY(calls_.acquire(owner, schema::OwnReason::resume, state().open_request));
  CallEnd end = CallEnd::done;
  for (const UnitKey& key : state().order()) {
    const auto found = state().units.find(key);
    if (found != state().units.end() && found->second.done) continue;
    auto made = unit(key);
    if (!made) return fail(std::move(made.error()));
    world_.progress(progress());
    end = *made;
    if (end != CallEnd::done) break;
  }
  DAYBOOK_TRY(calls_.release(end == CallEnd::done ? "done" : "stopped"));
  return ReplayOutcome{end, progress(), next_call_};
}

}  // namespace

std::uint64_t reply_budget(const Arm& arm, const ArmModel& model) {
  const std::uint64_t longest = model.reply == 0 ? arm.summary_tokens : model.reply;
  const std::uint64_t room = std::max<std::uint64_t>(model.window * kReplyShare / 100, 1);
  return std::min({std::uint64_t{arm.summary_tokens}, longest, room});
}

Result<ReplayOutcome> run_replay(const ReplayWorld& world, const SessionId& session,
                                 const std::string& owner, std::optional<Money> max_cost) {
  return Runner(world, session, max_cost).run(owner);
}

Result<void> start_replay(const ReplayWorld& world, const SessionId& session,
                          const std::string& owner, schema::ReplayStartedT started) {
  engine::Clock& clock = world.calls.clock;
  journal::SessionWriter writer(session, {}, [&clock] {
    return journal::Stamp{clock.utc_ns(), clock.random(), clock.random()};
  });
  Batch batch;
  schema::OwnerAcquiredT acquired;
  acquired.owner = owner;
  batch.add(draft(std::move(acquired)));
  batch.add(draft(std::move(started)));
  auto done = journal::append_and_wait(world.calls.journal, writer.acquire(std::move(batch)));
  if (!done) return fail(std::move(done.error()));
  return {};
}

}  // namespace daybook::replay
