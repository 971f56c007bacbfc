#include "replay/replay_run.h"

#include <fmt/format.h>

#include "engine/events.h"
#include "engine/summary_request.h"
#include "replay/mechanical_summary.h"
#include "replay/price_call.h"

namespace daybook::replay {
namespace {

using journal::Batch;

/// Transport attempts of one call, and the waits between them.
constexpr std::uint32_t kAttempts = 5;
constexpr std::int64_t kFirstWaitMs = 1'000;
/// Share of the window that a transcript may take, in percent.
constexpr std::uint64_t kTranscriptShare = 70;
constexpr std::size_t kBytesPerToken = 4;
constexpr std::size_t kMechanicalBytes = 16'000;

Money cost_of(const PriceBook& prices, const PaidCall& call, std::uint64_t& unpriced) {
  const auto rows = prices.rows_for(call.provider, call.model);
  const CallCost cost = price_call(rows, call.usage, {call.at, call.at});
  unpriced += cost.unpriced_tokens;
  return cost.total.high;
}

/// A failure of the way to the model, not of the request.
bool says_nothing(schema::FailureKind kind) {
  return engine::is_retryable(kind) || kind == schema::FailureKind::authentication ||
         kind == schema::FailureKind::local;
}

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
      : world_(world), session_(session), max_cost_(max_cost), fold_(world.journal, session) {}

  Result<ReplayOutcome> run(const std::string& owner);

 private:
  const ReplayState& state() const { return fold_.state(); }
  Result<void> append(Batch batch, bool acquire);
  Result<void> load();
  Result<void> take_session(const std::string& owner);
  Result<void> abandon_open();
  Result<void> use_case(std::uint32_t item);
  Result<bool> unit(const UnitKey& key);  // false: the run ends here
  Result<void> mechanical(const UnitKey& key);
  Result<bool> attempt(const UnitKey& key);
  Result<bool> may_ask(const UnitKey& key, const engine::PreparedRequest& request);
  Result<std::shared_ptr<engine::ModelOutcome>> call(const UnitKey& key, std::uint32_t attempt,
                                                     engine::PreparedRequest request);
  Result<void> record(const UnitKey& key, const engine::ModelOutcome& outcome, bool reply_last);
  engine::SummaryAsk ask_of(const UnitKey& key) const;
  ReplayProgress progress() const;

  const ReplayWorld& world_;
  SessionId session_;
  std::optional<Money> max_cost_;
  ReplayFold fold_;
  std::unique_ptr<journal::SessionWriter> writer_;
  std::optional<CompactionCase> case_;
  std::uint32_t case_index_ = 0;
  ReplayEnd end_ = ReplayEnd::done;
};

Result<void> Runner::append(Batch batch, bool acquire) {
  auto append = acquire ? writer_->acquire(std::move(batch)) : writer_->next(std::move(batch));
  const auto events = append.events;
  auto done = journal::append_and_wait(world_.journal, std::move(append));
  if (!done) return fail(std::move(done.error()));
  for (const auto& bytes : events) {
    auto event = view_event(as_bytes(bytes));
    if (!event) return fail(std::move(event.error()));
    journal::Entry entry;
    entry.version = (*event)->version();
    entry.event = *event;
    entry.bytes = as_bytes(bytes);
    DAYBOOK_TRY(fold_.take(entry));
  }
  return {};
}

Result<void> Runner::load() {
  Result<void> status;
  auto read = world_.journal.read(session_, 1, journal::ReadMode::strict, [&](const auto& entry) {
    status = fold_.take(entry);
    return status.has_value();
  });
  if (!read) return read;
  return status;
}

Result<void> Runner::take_session(const std::string& owner) {
  auto head = world_.journal.head(session_);
  if (!head) return fail(std::move(head.error()));
  engine::Clock& clock = world_.clock;
  writer_ = std::make_unique<journal::SessionWriter>(session_, *head, [&clock] {
    return journal::Stamp{clock.utc_ns(), clock.random(), clock.random()};
  });
  Batch batch;
  schema::OwnerAcquiredT acquired;
  acquired.owner = owner;
  acquired.reason = state().started_at == 0 ? schema::OwnReason::start : schema::OwnReason::resume;
  batch.add(draft(std::move(acquired)));
  return append(std::move(batch), true);
}

/// A process died between request and answer: the call may have been billed, and is made again.
Result<void> Runner::abandon_open() {
  if (state().open_request == 0) return {};
  schema::ModelAbandonedT abandoned;
  abandoned.reason = "the process died before the answer was recorded; it may have been billed";
  Batch batch;
  batch.add(draft(std::move(abandoned), 0, state().open_request));
  return append(std::move(batch), false);
}

Result<void> Runner::use_case(std::uint32_t item) {
  if (case_ && case_index_ == item) return {};
  auto loaded = load_case(world_.journal, state().cases.at(item));
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
    for (const auto& call : unit.calls) {
      made.spent += cost_of(world_.prices, call, made.unpriced_tokens);
      made.unknown_calls += call.answered && !call.usage.any() ? 1 : 0;
    }
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
  return append(std::move(batch), false);
}

engine::SummaryAsk Runner::ask_of(const UnitKey& key) const {
  const Arm& arm = state().arms.at(key.arm);
  engine::SummaryAsk ask;
  ask.shape = arm.shape;
  ask.max_tokens = arm.summary_tokens;
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
  PaidCall most{choice.provider, choice.model, {}, world_.clock.utc_ns(), true};
  // One token in two bytes is more than any text has.
  most.usage.input_total = request.event.body_size / 2;
  most.usage.input_uncached = most.usage.input_total;
  most.usage.output = state().arms.at(key.arm).summary_tokens;
  std::uint64_t unpriced = 0;
  const Money cost = cost_of(world_.prices, most, unpriced);
  if (unpriced > 0) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("there is no price for {}:{}, so --max-cost cannot be kept; add one to "
                            "your price file, or run without --max-cost",
                            choice.provider, choice.model));
  }
  const ReplayProgress now = progress();
  if (now.unpriced_tokens > 0 || now.unknown_calls > 0) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("what was spent is not known ({} tokens without a price, {} calls "
                            "without figures), so --max-cost cannot be kept",
                            now.unpriced_tokens, now.unknown_calls));
  }
  if (now.spent + cost <= *max_cost_) return true;
  end_ = ReplayEnd::too_dear;
  return false;
}

Result<std::shared_ptr<engine::ModelOutcome>> Runner::call(const UnitKey& key,
                                                           std::uint32_t attempt,
                                                           engine::PreparedRequest request) {
  const ArmModel& arm = world_.model_of(key.arm);
  engine::ModelCall call;
  call.codec = arm.choice.codec;
  call.url = arm.choice.url;
  call.headers = arm.choice.headers;
  call.key = arm.choice.key;
  call.body = std::move(request.body);
  call.connect_timeout_ms = arm.choice.connect_timeout_ms;
  call.idle_timeout_ms = arm.choice.idle_timeout_ms;
  call.summary = true;
  // A scenario answers the calls of a replay in the order of the units.
  call.request = 1 + key.item * state().replicates + (key.replicate - 1);
  call.attempt = attempt;
  request.event.request = call.request;
  request.event.attempt = attempt;
  request.event.lineage = lineage_of(key);
  Batch batch;
  for (auto& blob : request.blobs) batch.blob(std::move(blob.bytes));
  batch.add(draft(std::move(request.event)));
  DAYBOOK_TRY(append(std::move(batch), false));
  auto outcome = std::make_shared<engine::ModelOutcome>();
  bool ready = false;
  arm.model->call(
      std::move(call), [](const engine::Delta&) {},
      [outcome, &ready](engine::ModelOutcome result) {
        *outcome = std::move(result);
        ready = true;
      });
  world_.wait([&] {
    if (!ready && world_.stopped()) arm.model->cancel();
    return ready;
  });
  return outcome;
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
  return append(std::move(batch), false);
}

/// One reply, however many transport attempts it takes. False: the run ends here.
Result<bool> Runner::attempt(const UnitKey& key) {
  const ArmModel& arm = world_.model_of(key.arm);
  const auto ask = ask_of(key);
  const std::string prompt = engine::summary_prompt(case_->items, ask);
  std::int64_t wait_ms = kFirstWaitMs;
  for (std::uint32_t number = 1;; ++number) {
    auto request = engine::prepare_summary(arm.choice, prompt, ask);
    auto allowed = may_ask(key, request);
    if (!allowed || !*allowed) return allowed;
    auto outcome = call(key, number, std::move(request));
    if (!outcome) return fail(std::move(outcome.error()));
    const bool cancelled = !(*outcome)->reply && world_.stopped();
    const bool retry = !(*outcome)->reply && !cancelled && number < kAttempts &&
                       engine::is_retryable((*outcome)->reply.error().kind);
    // A wrong key or an endpoint that is down says nothing about the arm: the unit stays open.
    const bool unreachable =
        !(*outcome)->reply && !cancelled && !retry && says_nothing((*outcome)->reply.error().kind);
    DAYBOOK_TRY(record(key, **outcome, !retry && !cancelled && !unreachable));
    if (unreachable) {
      return fail(
          ErrorCode::io,
          fmt::format("arm '{}' cannot be made: {}; what is made stays, go on with: daybook "
                      "replay run --name {}",
                      state().arms.at(key.arm).name, (*outcome)->reply.error().message,
                      session_.str()));
    }
    if (cancelled) end_ = ReplayEnd::stopped;
    if (!retry) return !cancelled;
    wait_ms = std::max(wait_ms * 2, (*outcome)->reply.error().retry_after_ms.value_or(0));
    bool waited = false;
    world_.clock.wait_until(world_.clock.utc_ns() + wait_ms * 1'000'000, [&] { waited = true; });
    world_.wait([&] {
      if (!waited && world_.stopped()) world_.clock.cancel_wait();
      return waited;
    });
    if (world_.stopped()) {
      end_ = ReplayEnd::stopped;
      return false;
    }
  }
}

Result<bool> Runner::unit(const UnitKey& key) {
  DAYBOOK_TRY(use_case(key.item));
  if (state().arms.at(key.arm).mechanical) {
    DAYBOOK_TRY(mechanical(key));
    return true;
  }
  for (;;) {
    if (world_.stopped()) {
      end_ = ReplayEnd::stopped;
      return false;
    }
    auto made = attempt(key);
    if (!made || !*made) return made;
    if (state().units.at(key).done) return true;
  }
}

Result<ReplayOutcome> Runner::run(const std::string& owner) {
  DAYBOOK_TRY(load());
  if (state().started_at == 0) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("session {} is not a replay", session_.str()));
  }
  DAYBOOK_TRY(take_session(owner));
  DAYBOOK_TRY(abandon_open());
  for (const UnitKey& key : state().order()) {
    const auto found = state().units.find(key);
    if (found != state().units.end() && found->second.done) continue;
    auto made = unit(key);
    if (!made) return fail(std::move(made.error()));
    world_.progress(progress());
    if (!*made) break;
  }
  Batch batch;
  schema::OwnerReleasedT released;
  released.reason = end_ == ReplayEnd::done ? "done" : "stopped";
  batch.add(draft(std::move(released)));
  DAYBOOK_TRY(append(std::move(batch), false));
  return ReplayOutcome{end_, progress()};
}

}  // namespace

Result<ReplayOutcome> run_replay(const ReplayWorld& world, const SessionId& session,
                                 const std::string& owner, std::optional<Money> max_cost) {
  return Runner(world, session, max_cost).run(owner);
}

Result<void> start_replay(const ReplayWorld& world, const SessionId& session,
                          const std::string& owner, schema::ReplayStartedT started) {
  engine::Clock& clock = world.clock;
  journal::SessionWriter writer(session, {}, [&clock] {
    return journal::Stamp{clock.utc_ns(), clock.random(), clock.random()};
  });
  Batch batch;
  schema::OwnerAcquiredT acquired;
  acquired.owner = owner;
  batch.add(draft(std::move(acquired)));
  batch.add(draft(std::move(started)));
  auto done = journal::append_and_wait(world.journal, writer.acquire(std::move(batch)));
  if (!done) return fail(std::move(done.error()));
  return {};
}

}  // namespace daybook::replay
