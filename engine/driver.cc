#include "engine/driver.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <deque>
#include <stop_token>

#include "engine/await.h"
#include "engine/events.h"
#include "engine/tool_run.h"

namespace daybook::engine {
namespace {

namespace asio = boost::asio;
using journal::Append;
using journal::Appended;
using journal::Batch;
using Kind = TurnReport::Kind;

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

journal::Stamper stamper(Clock& clock) {
  return [&clock] { return journal::Stamp{clock.utc_ns(), clock.random(), clock.random()}; };
}

std::string first_line(std::string_view text) {
  return std::string(text.substr(0, std::min<std::size_t>(text.find('\n'), 100)));
}

bool same_roots(const schema::PolicyStateT& policy, const PolicyWish& wish) {
  return std::equal(policy.roots.begin(), policy.roots.end(), wish.roots.begin(), wish.roots.end(),
                    [](const auto& a, const executor::Root& b) {
                      return a->path == b.path && a->writable == b.writable;
                    });
}

}  // namespace

class Driver::Impl {
 public:
  Impl(asio::io_context& io, World world, TurnRequest request)
      : io_(io),
        world_(std::move(world)),
        request_(std::move(request)),
        state_(std::move(request_.state)),
        writer_(request_.session, {state_.version, state_.epoch, state_hash(state_)},
                stamper(world_.clock)),
        builder_(world_.journal),
        runner_(world_.executor, request_.spill_folder) {
    for (const auto& tool : world_.executor.tools()) {
      const auto& wanted = request_.agent.tools;
      if (std::find(wanted.begin(), wanted.end(), tool.name) == wanted.end()) continue;
      tools_.emplace(tool.name, ToolTraits{tool.risk, tool.effect});
    }
    preamble_ = make_preamble(request_.agent, request_.policy.roots, world_.executor.tools());
  }

  asio::awaitable<Result<TurnReport>> run();
  asio::io_context& io_context() { return io_; }
  void stop(std::string reason);
  const SessionState& state() const { return state_; }

 private:
  using Report = asio::awaitable<Result<std::optional<TurnReport>>>;

  asio::awaitable<Result<void>> acquire();
  asio::awaitable<Result<TurnReport>> loop();
  asio::awaitable<Result<void>> append(Batch batch);
  asio::awaitable<Result<void>> write(Append append);
  Result<void> evolve_all(const std::vector<std::string>& events);

  Report perform(Step step);
  Report abandon_model();
  Report request_model(step::RequestModel step);
  Report refuse_call(step::RefuseCall step);
  Report ask_approval(step::AskApproval step);
  Report run_calls(step::RunCalls step);
  Report settle_call(step::SettleCall step);
  Report end_turn(step::EndTurn step);

  Batch outcome_batch(const ModelOutcome& outcome, std::uint64_t causation);
  std::int64_t retry_time(const Failure& failure);
  Result<std::string> answer_text();
  Result<executor::ToolRequest> tool_request(const CallState& call);
  struct Planned {
    executor::ToolRequest request;
    executor::Plan plan;
  };
  asio::awaitable<Result<void>> plan_call(step::RunCalls::Item item, Batch& intents,
                                          std::vector<Planned>& planned);
  asio::awaitable<Result<void>> run_planned(std::vector<Planned> planned);
  asio::awaitable<ToolDone> run_one(executor::ToolRequest request, executor::Plan plan);
  void add_completed(Batch& batch, const std::string& call_id, ToolDone done);
  void add_decided(Batch& batch, const CallState& call, schema::Decision decision,
                   const std::string& by, std::string_view result);
  template <class PayloadT>
  EventDraft in_turn(PayloadT payload, std::uint64_t causation = 0) {
    return draft(std::move(payload), state_.turn->number, causation);
  }

  asio::io_context& io_;
  World world_;
  TurnRequest request_;
  SessionState state_;
  journal::SessionWriter writer_;
  RequestBuilder builder_;
  ToolRunner runner_;
  ToolTable tools_;
  Preamble preamble_;
  Signals signals_;
  std::stop_source stop_source_;
};

// ------------------------------------------------------------------------------ the loop

asio::awaitable<Result<TurnReport>> Driver::Impl::run() {
  if (auto taken = co_await acquire(); !taken) co_return fail(std::move(taken.error()));
  auto report = co_await loop();
  if (!report) co_return report;
  Batch batch;
  batch.add(draft(schema::OwnerReleasedT{}));
  if (auto released = co_await append(std::move(batch)); !released) {
    co_return fail(std::move(released.error()));
  }
  co_return report;
}

asio::awaitable<Result<TurnReport>> Driver::Impl::loop() {
  for (;;) {
    auto done = co_await perform(next(state_, tools_, signals_, request_.limits));
    if (!done) co_return fail(std::move(done.error()));
    if (*done) co_return std::move(**done);
  }
}

Driver::Impl::Report Driver::Impl::perform(Step step) {
  return std::visit(
      Overloaded{
          [](step::Idle) -> Report { co_return TurnReport{}; },
          [this](step::AbandonModel) { return abandon_model(); },
          [this](step::RequestModel s) { return request_model(s); },
          [this](step::RefuseCall s) { return refuse_call(std::move(s)); },
          [this](step::AskApproval s) { return ask_approval(std::move(s)); },
          [this](step::RunCalls s) { return run_calls(std::move(s)); },
          [this](step::SettleCall s) { return settle_call(std::move(s)); },
          [](step::AwaitReconcile s) -> Report {
            co_return TurnReport{Kind::needs_reconcile, "", false, "", std::move(s.call_ids)};
          },
          [this](step::EndTurn s) { return end_turn(std::move(s)); },
      },
      std::move(step));
}

void Driver::Impl::stop(std::string reason) {
  if (signals_.stop) return;
  signals_ = {true, std::move(reason)};
  stop_source_.request_stop();
  world_.model.cancel();
  world_.clock.cancel_wait();
  world_.approver.cancel();
}

// ------------------------------------------------------------------------------ journal

asio::awaitable<Result<void>> Driver::Impl::write(Append append) {
  const std::vector<std::string> events = append.events;
  auto appended = co_await await_callback<Result<Appended>>(
      io_, [&](auto done) { world_.journal.append(std::move(append), std::move(done)); });
  if (!appended) co_return fail(std::move(appended.error()));
  co_return evolve_all(events);
}

asio::awaitable<Result<void>> Driver::Impl::append(Batch batch) {
  return write(writer_.next(std::move(batch)));
}

Result<void> Driver::Impl::evolve_all(const std::vector<std::string>& events) {
  for (const auto& bytes : events) {
    auto event = view_event(as_bytes(bytes));
    if (!event) return fail(std::move(event.error()));
    DAYBOOK_TRY(evolve(state_, **event, as_bytes(bytes)));
    world_.observer.on_event(**event, as_bytes(bytes));
  }
  return {};
}

/// Everything that starts or continues a turn is one append: a crash leaves all of it or nothing.
asio::awaitable<Result<void>> Driver::Impl::acquire() {
  Batch batch;
  schema::OwnerAcquiredT owner;
  owner.owner = request_.owner;
  owner.reason = request_.reason;
  batch.add(draft(std::move(owner)));
  const PolicyWish& wish = request_.policy;
  if (state_.version == 0) {
    schema::SessionStartedT started;
    started.daybook_version = request_.version;
    started.agent = request_.agent.name;
    started.workspace = wish.roots.at(0).path;
    started.title = first_line(request_.prompt.value_or(""));
    batch.add(draft(std::move(started)));
  }
  if (state_.policy->generation == 0 || state_.policy->mode != wish.mode ||
      !same_roots(*state_.policy, wish)) {
    batch.add(draft(policy_changed(state_.policy->generation + 1, wish.mode, wish.roots,
                                   state_.policy->grants, request_.owner)));
  }
  const bool continues = !request_.prompt && !state_.turn->open && state_.turn->number > 0 &&
                         state_.turn->outcome != schema::TurnOutcome::completed;
  if (request_.prompt || continues) {
    schema::TurnStartedT turn;
    turn.turn = state_.turn->number + 1;
    if (request_.prompt) turn.prompt = batch.content(*request_.prompt);
    if (continues) turn.continues = state_.turn->number;
    turn.provider = request_.model.provider;
    turn.provider_kind = request_.model.codec->kind();
    turn.model = request_.model.model;
    turn.max_iterations = request_.max_iterations;
    EventDraft event = draft(std::move(turn), state_.turn->number + 1);
    event.request_id = request_.request_id;
    batch.add(std::move(event));
  }
  std::optional<journal::RequestKey> key;
  if (request_.prompt && !request_.request_id.empty()) {
    key = journal::RequestKey{"run", request_.request_id, request_.request_content};
  }
  return write(writer_.acquire(std::move(batch), std::move(key)));
}

// ------------------------------------------------------------------------------ model

Driver::Impl::Report Driver::Impl::abandon_model() {
  schema::ModelAbandonedT event;
  event.reason = "the process died before the answer was recorded; it may have been billed";
  Batch batch;
  batch.add(in_turn(std::move(event), state_.request->version));
  if (auto ok = co_await append(std::move(batch)); !ok) co_return fail(std::move(ok.error()));
  co_return std::nullopt;
}

Driver::Impl::Report Driver::Impl::request_model(step::RequestModel step) {
  if (step.not_before_ns > world_.clock.utc_ns()) {
    co_await await_callback<int>(
        io_, [&](auto done) { world_.clock.wait_until(step.not_before_ns, [done] { done(0); }); });
    if (signals_.stop) co_return std::nullopt;
  }
  auto prepared = builder_.build(state_, request_.model, preamble_);
  if (!prepared) co_return fail(std::move(prepared.error()));
  Batch batch;
  for (auto& blob : prepared->blobs) batch.blob(std::move(blob.bytes));
  const auto number = prepared->event.request;
  batch.add(in_turn(std::move(prepared->event)));
  if (auto ok = co_await append(std::move(batch)); !ok) co_return fail(std::move(ok.error()));

  const ModelChoice& choice = request_.model;
  ModelCall call{choice.codec,
                 choice.url,
                 choice.headers,
                 choice.key,
                 std::move(prepared->body),
                 number,
                 step.attempt,
                 choice.connect_timeout_ms,
                 choice.idle_timeout_ms};
  const auto started = state_.version;
  auto outcome = co_await await_callback<std::shared_ptr<ModelOutcome>>(io_, [&](auto done) {
    if (signals_.stop) {
      Failure failure{schema::FailureKind::cancelled, 0, signals_.reason, "", {}, {}};
      return done(std::make_shared<ModelOutcome>(
          ModelOutcome{tl::unexpected(std::move(failure)), {}, 0, 0, 0}));
    }
    world_.model.call(
        std::move(call), [this](const Delta& delta) { world_.observer.on_delta(delta); },
        [done](ModelOutcome result) { done(std::make_shared<ModelOutcome>(std::move(result))); });
  });
  if (auto ok = co_await append(outcome_batch(*outcome, started)); !ok) {
    co_return fail(std::move(ok.error()));
  }
  co_return std::nullopt;
}

Batch Driver::Impl::outcome_batch(const ModelOutcome& outcome, std::uint64_t causation) {
  Batch batch;
  if (!outcome.rate_limit_headers.empty()) {
    schema::RateLimitObservedT observed;
    for (const auto& [name, value] : outcome.rate_limit_headers) {
      auto& header = observed.headers.emplace_back(std::make_unique<schema::HeaderT>());
      header->name = name;
      header->value = value;
    }
    observed.captured_at = outcome.ended_at_ns;
    batch.add(in_turn(std::move(observed), causation));
  }
  if (outcome.reply) {
    batch.add(in_turn(responded(batch, outcome, *outcome.reply, state_.calls_made), causation));
  } else {
    Failure failure = outcome.reply.error();
    if (failure.kind == schema::FailureKind::cancelled) failure.message = signals_.reason;
    batch.add(in_turn(failed(batch, failure, retry_time(failure)), causation));
  }
  return batch;
}

std::int64_t Driver::Impl::retry_time(const Failure& failure) {
  const auto failures = state_.turn->failures + 1;
  if (!is_retryable(failure.kind) || failures >= request_.limits.max_attempts) return 0;
  const Limits& limits = request_.limits;
  const std::int64_t backoff =
      std::min(limits.longest_backoff_ms, limits.first_backoff_ms << std::min(failures - 1, 20U));
  // Half fixed, half random: clients that failed together do not come back together.
  const auto jitter = backoff < 2
                          ? 0
                          : static_cast<std::int64_t>(world_.clock.random() %
                                                      static_cast<std::uint64_t>(backoff / 2 + 1));
  const std::int64_t wait_ms =
      std::max(failure.retry_after_ms.value_or(0), backoff - backoff / 2 + jitter);
  return world_.clock.utc_ns() + wait_ms * 1'000'000;
}

// ------------------------------------------------------------------------------ tools

Result<executor::ToolRequest> Driver::Impl::tool_request(const CallState& call) {
  executor::ToolRequest request;
  request.session = state_.session;
  request.call_id = call.call_id;
  request.attempt = std::max(1U, call.attempt);
  request.tool = call.tool;
  request.policy.generation = state_.policy->generation;
  for (const auto& root : state_.policy->roots) {
    request.policy.roots.push_back({root->path, root->writable});
  }
  if (call.arguments && call.arguments->blob) {
    auto bytes = world_.journal.blob(BlobRef::from(call.arguments->blob.get()));
    if (!bytes) return fail(std::move(bytes.error()));
    request.arguments = std::move(*bytes);
  } else if (call.arguments) {
    request.arguments.assign(call.arguments->bytes.begin(), call.arguments->bytes.end());
  }
  return request;
}

void Driver::Impl::add_decided(Batch& batch, const CallState& call, schema::Decision decision,
                               const std::string& by, std::string_view result) {
  schema::ToolDecidedT event;
  event.call_id = call.call_id;
  event.tool = call.tool;
  event.arguments_digest = std::make_unique<schema::Digest>(*call.arguments_digest);
  event.decision = decision;
  event.decided_by = by;
  event.policy_generation = state_.policy->generation;
  if (decision != schema::Decision::allow) event.result = batch.content(result);
  batch.add(in_turn(std::move(event)));
}

void Driver::Impl::add_completed(Batch& batch, const std::string& call_id, ToolDone done) {
  schema::ToolCompletedT event;
  event.call_id = call_id;
  event.receipt = std::make_unique<schema::ReceiptT>(to_schema(done.receipt));
  event.result = batch.content(done.result);
  event.is_error = done.is_error;
  if (done.full_output) {
    event.full_output =
        std::make_unique<schema::BlobRef>(batch.blob(std::move(*done.full_output)).fb());
  }
  event.spill_path = done.spill_path;
  event.settled_by = done.settled_by;
  const CallState* call = find_call(state_, call_id);
  batch.add(in_turn(std::move(event), call == nullptr ? 0 : call->dispatched_at));
}

Driver::Impl::Report Driver::Impl::refuse_call(step::RefuseCall step) {
  Batch batch;
  add_decided(batch, *find_call(state_, step.call_id), schema::Decision::refuse, "rule:invalid",
              step.reason);
  if (auto ok = co_await append(std::move(batch)); !ok) co_return fail(std::move(ok.error()));
  co_return std::nullopt;
}

asio::awaitable<ToolDone> Driver::Impl::run_one(executor::ToolRequest request,
                                                executor::Plan plan) {
  auto done = co_await await_callback<std::shared_ptr<ToolDone>>(io_, [&](auto finish) {
    world_.run_blocking([this, request, plan, finish] {
      finish(std::make_shared<ToolDone>(runner_.run(
          request, plan,
          [&](std::string_view bytes) { world_.observer.on_output(request.call_id, bytes); },
          stop_source_.get_token())));
    });
  });
  co_return std::move(*done);
}

/// Adds the call's intent to the batch; a call whose plan is refused is answered there and then.
asio::awaitable<Result<void>> Driver::Impl::plan_call(step::RunCalls::Item item, Batch& intents,
                                                      std::vector<Planned>& planned) {
  const CallState& call = *find_call(state_, item.call_id);
  auto request = tool_request(call);
  if (!request) co_return fail(std::move(request.error()));
  request->attempt = call.attempt + 1;
  auto plan = co_await await_callback<std::shared_ptr<Result<executor::Plan>>>(io_, [&](auto done) {
    world_.run_blocking([this, r = *request, done] {
      done(std::make_shared<Result<executor::Plan>>(runner_.plan(r)));
    });
  });
  if (!item.decided_by.empty()) {
    add_decided(intents, call, schema::Decision::allow, item.decided_by, "");
  }
  schema::ToolDispatchedT dispatched;
  dispatched.call_id = call.call_id;
  dispatched.tool = call.tool;
  dispatched.attempt = request->attempt;
  dispatched.arguments_digest = std::make_unique<schema::Digest>(*call.arguments_digest);
  dispatched.effect = tools_.find(call.tool)->second.effect;
  dispatched.policy_generation = state_.policy->generation;
  dispatched.provider = "direct";
  dispatched.enforcement = "none";
  if (*plan) {
    dispatched.plan = to_schema((*plan)->ops);
    dispatched.cwd = (*plan)->cwd;
    if (!(*plan)->planned_result.empty()) {
      dispatched.planned_result = intents.content((*plan)->planned_result);
    }
  }
  intents.add(in_turn(std::move(dispatched)));
  if (*plan) {
    planned.push_back({std::move(*request), std::move(**plan)});
  } else {
    add_completed(intents, call.call_id,
                  runner_.refused(*request, plan->error(), world_.clock.utc_ns()));
  }
  co_return Result<void>();
}

/// Plans first, makes all intents durable in one append, then runs the calls together.
Driver::Impl::Report Driver::Impl::run_calls(step::RunCalls step) {
  std::vector<Planned> planned;
  Batch intents;
  for (const auto& item : step.items) {
    auto ok = co_await plan_call(item, intents, planned);
    if (!ok) co_return fail(std::move(ok.error()));
  }
  if (auto ok = co_await append(std::move(intents)); !ok) co_return fail(std::move(ok.error()));
  auto ok = co_await run_planned(std::move(planned));
  if (!ok) co_return fail(std::move(ok.error()));
  co_return std::nullopt;
}

/// Records each outcome as it comes.
asio::awaitable<Result<void>> Driver::Impl::run_planned(std::vector<Planned> planned) {
  using Finished = std::pair<std::string, std::shared_ptr<ToolDone>>;
  auto finished = std::make_shared<std::deque<Finished>>();
  auto waiter = std::make_shared<std::function<void(int)>>();
  const std::size_t count = planned.size();
  for (auto& each : planned) {
    asio::co_spawn(
        io_,
        [this, finished, waiter, each = std::move(each)]() mutable -> asio::awaitable<void> {
          const std::string call_id = each.request.call_id;
          auto done = co_await run_one(std::move(each.request), std::move(each.plan));
          finished->emplace_back(call_id, std::make_shared<ToolDone>(std::move(done)));
          if (*waiter) std::exchange(*waiter, nullptr)(0);
        },
        asio::detached);
  }
  // A failed append must not leave a tool running on this object: wait for all, then say so.
  Result<void> recorded;
  for (std::size_t i = 0; i < count; ++i) {
    if (finished->empty()) {
      co_await await_callback<int>(io_, [&](auto done) { *waiter = std::move(done); });
    }
    auto [call_id, done] = std::move(finished->front());
    finished->pop_front();
    if (!recorded) continue;
    Batch batch;
    add_completed(batch, call_id, std::move(*done));
    recorded = co_await append(std::move(batch));
    if (!recorded) stop_source_.request_stop();
  }
  co_return recorded;
}

Driver::Impl::Report Driver::Impl::settle_call(step::SettleCall step) {
  const CallState& call = *find_call(state_, step.call_id);
  auto request = tool_request(call);
  if (!request) co_return fail(std::move(request.error()));
  std::string planned;
  if (call.planned_result && call.planned_result->blob) {
    auto bytes = world_.journal.blob(BlobRef::from(call.planned_result->blob.get()));
    if (!bytes) co_return fail(std::move(bytes.error()));
    planned = std::move(*bytes);
  } else if (call.planned_result) {
    planned.assign(call.planned_result->bytes.begin(), call.planned_result->bytes.end());
  }
  const auto effect = call.effect;
  auto plan = plan_from(call, std::move(planned));
  auto settled =
      co_await await_callback<std::shared_ptr<std::optional<ToolDone>>>(io_, [&](auto done) {
        const auto now = world_.clock.utc_ns();
        world_.run_blocking([this, request = *request, effect, plan, now, done] {
          done(std::make_shared<std::optional<ToolDone>>(runner_.settle(
              request, effect, plan,
              [&](std::string_view bytes) { world_.observer.on_output(request.call_id, bytes); },
              stop_source_.get_token(), now)));
        });
      });
  Batch batch;
  if (*settled) {
    add_completed(batch, step.call_id, std::move(**settled));
  } else {
    schema::ToolOutcomeUnknownT event;
    event.call_id = step.call_id;
    event.reason = unknown_reason(effect);
    batch.add(in_turn(std::move(event), find_call(state_, step.call_id)->dispatched_at));
  }
  if (auto ok = co_await append(std::move(batch)); !ok) co_return fail(std::move(ok.error()));
  co_return std::nullopt;
}

// ------------------------------------------------------------------------------ approvals

Driver::Impl::Report Driver::Impl::ask_approval(step::AskApproval step) {
  auto request = tool_request(*find_call(state_, step.call_id));
  if (!request) co_return fail(std::move(request.error()));
  Question question{state_.session, step.call_id, request->tool, request->arguments,
                    fmt::format("{} {}", request->tool, first_line(request->arguments))};
  if (!step.asked) {
    Batch batch;
    schema::ApprovalRequestedT event;
    event.call_id = step.call_id;
    event.tool = request->tool;
    event.arguments_digest =
        std::make_unique<schema::Digest>(*find_call(state_, step.call_id)->arguments_digest);
    event.summary = question.summary;
    event.policy_generation = state_.policy->generation;
    batch.add(in_turn(std::move(event)));
    if (auto ok = co_await append(std::move(batch)); !ok) co_return fail(std::move(ok.error()));
  }
  if (signals_.stop) co_return std::nullopt;
  auto answer = co_await await_callback<Answer>(
      io_, [&](auto done) { world_.approver.ask(question, std::move(done)); });
  if (answer.kind == Answer::Kind::unavailable) {
    co_return TurnReport{Kind::needs_approval, "", false, "", {step.call_id}};
  }
  if (answer.kind == Answer::Kind::cancelled) {
    if (!signals_.stop) stop("the question was cancelled");
    co_return std::nullopt;
  }
  const CallState& call = *find_call(state_, step.call_id);
  const bool deny = answer.kind == Answer::Kind::deny;
  Batch batch;
  schema::ApprovalDecidedT decided;
  decided.call_id = step.call_id;
  decided.arguments_digest = std::make_unique<schema::Digest>(*call.arguments_digest);
  decided.decision = deny ? schema::Decision::deny : schema::Decision::allow;
  decided.scope = answer.kind == Answer::Kind::allow_session ? schema::ApprovalScope::session
                                                             : schema::ApprovalScope::once;
  decided.actor = answer.actor;
  batch.add(in_turn(std::move(decided)));
  std::string told = "The call was not run: a person denied it.";
  if (!answer.note.empty()) told += " They said: " + answer.note;
  add_decided(batch, call, deny ? schema::Decision::deny : schema::Decision::allow, answer.actor,
              told);
  if (answer.kind == Answer::Kind::allow_session) {
    auto grants = state_.policy->grants;
    grants.push_back(call.tool);
    std::vector<executor::Root> roots;
    for (const auto& root : state_.policy->roots) roots.push_back({root->path, root->writable});
    batch.add(in_turn(policy_changed(state_.policy->generation + 1, state_.policy->mode, roots,
                                     grants, answer.actor)));
  }
  if (auto ok = co_await append(std::move(batch)); !ok) co_return fail(std::move(ok.error()));
  co_return std::nullopt;
}

// ------------------------------------------------------------------------------ the end

Result<std::string> Driver::Impl::answer_text() {
  std::string text;
  if (state_.pending.empty()) return text;
  for (const auto& block : state_.pending.back()->blocks) {
    if (block->kind != schema::BlockKind::text || !block->text) continue;
    if (block->text->blob) {
      auto bytes = world_.journal.blob(BlobRef::from(block->text->blob.get()));
      if (!bytes) return bytes;
      text += *bytes;
    } else {
      text.append(block->text->bytes.begin(), block->text->bytes.end());
    }
  }
  return text;
}

Driver::Impl::Report Driver::Impl::end_turn(step::EndTurn step) {
  Batch batch;
  for (const auto& call_id : step.unanswered) {
    const CallState& call = *find_call(state_, call_id);
    if (call.phase == schema::CallPhase::asked) {
      schema::ApprovalClearedT cleared;
      cleared.call_id = call_id;
      cleared.cause = step.message;
      batch.add(in_turn(std::move(cleared)));
    }
    add_decided(batch, call, schema::Decision::deny, "rule:turn-stopped",
                fmt::format("The call was not run: the turn was stopped ({}).", step.message));
  }
  TurnReport report;
  report.kind = static_cast<Kind>(step.outcome);
  report.message = step.message;
  schema::TurnEndedT ended;
  ended.turn = state_.turn->number;
  ended.outcome = step.outcome;
  ended.message = step.message;
  if (step.outcome == schema::TurnOutcome::completed) {
    auto text = answer_text();
    if (!text) co_return fail(std::move(text.error()));
    ended.answer = batch.content(*text);
    ended.truncated = state_.turn->stop == schema::StopReason::output_limit;
    report.truncated = ended.truncated;
    report.answer = std::move(*text);
  }
  batch.add(in_turn(std::move(ended)));
  if (auto ok = co_await append(std::move(batch)); !ok) co_return fail(std::move(ok.error()));
  co_return report;
}

// ------------------------------------------------------------------------------ public face

Driver::Driver(asio::io_context& io, World world, TurnRequest request)
    : impl_(std::make_unique<Impl>(io, std::move(world), std::move(request))) {}

Driver::~Driver() = default;

void Driver::start(std::function<void(Result<TurnReport>)> done) {
  asio::co_spawn(
      impl_->io_context(),
      [this, done = std::move(done)]() -> asio::awaitable<void> { done(co_await impl_->run()); },
      asio::detached);
}

void Driver::stop(std::string reason) {
  impl_->stop(std::move(reason));
}

const SessionState& Driver::state() const {
  return impl_->state();
}

}  // namespace daybook::engine
