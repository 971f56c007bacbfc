#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <deque>
#include <utility>

#include "engine/await.h"
#include "engine/driver_impl.h"
#include "engine/events.h"

namespace daybook::engine {

using journal::Batch;

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
  auto arguments = journal::content_bytes(world_.journal, call.arguments.get());
  if (!arguments) return fail(std::move(arguments.error()));
  request.arguments = std::move(*arguments);
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

asio::awaitable<std::shared_ptr<Result<executor::Plan>>> Driver::Impl::plan_one(
    executor::ToolRequest request) {
  co_return co_await await_callback<std::shared_ptr<Result<executor::Plan>>>(io_, [&](auto done) {
    world_.run_blocking([this, request, done] {
      done(std::make_shared<Result<executor::Plan>>(runner_.plan(request)));
    });
  });
}

/// Adds the call's intent to the batch; a call whose plan is refused is answered there and then.
asio::awaitable<Result<void>> Driver::Impl::plan_call(step::RunCalls::Item item, Batch& intents,
                                                      std::vector<Planned>& planned) {
  const CallState& call = *find_call(state_, item.call_id);
  auto request = tool_request(call);
  if (!request) co_return fail(std::move(request.error()));
  request->attempt = call.attempt + 1;
  const auto plan = co_await plan_one(*request);
  if (!item.decided_by.empty()) {
    // A rule of a newer policy decides what a person was asked about under an older one.
    if (call.phase == schema::CallPhase::asked) {
      schema::ApprovalClearedT cleared;
      cleared.call_id = call.call_id;
      cleared.cause = item.decided_by;
      intents.add(in_turn(std::move(cleared)));
    }
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
  // Only the calls own it: it will hold this very coroutine, which must not keep itself alive when
  // the event loop is given up in the middle.
  const std::weak_ptr<std::function<void(int)>> waiting = waiter;
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
  waiter.reset();
  // A failed append must not leave a tool running on this object: wait for all, then say so.
  Result<void> recorded;
  for (std::size_t i = 0; i < count; ++i) {
    if (finished->empty()) {
      co_await await_callback<int>(io_, [&](auto done) { *waiting.lock() = std::move(done); });
    }
    auto [call_id, done] = std::move(finished->front());
    finished->pop_front();
    if (!recorded) continue;
    Batch batch;
    add_completed(batch, call_id, std::move(*done));
    recorded = co_await append(std::move(batch));
    if (!recorded) stop("the journal could not be written");
  }
  co_return recorded;
}

Driver::Impl::Report Driver::Impl::settle_call(step::SettleCall step) {
  const CallState& call = *find_call(state_, step.call_id);
  auto request = tool_request(call);
  if (!request) co_return fail(std::move(request.error()));
  auto planned = journal::content_bytes(world_.journal, call.planned_result.get());
  if (!planned) co_return fail(std::move(planned.error()));
  const auto effect = call.effect;
  auto plan = plan_from(call, std::move(*planned));
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

}  // namespace daybook::engine
