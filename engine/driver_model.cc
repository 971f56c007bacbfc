#include <algorithm>

#include "engine/await.h"
#include "engine/driver_impl.h"
#include "engine/events.h"

namespace daybook::engine {

using journal::Batch;

Driver::Impl::Report Driver::Impl::abandon_model() {
  schema::ModelAbandonedT event;
  event.reason = "the process died before the answer was recorded; it may have been billed";
  const auto version = state_.compaction->request_open ? state_.compaction->request_version
                                                       : state_.request->version;
  Batch batch;
  batch.add(in_turn(std::move(event), version));
  if (auto ok = co_await append(std::move(batch)); !ok) co_return fail(std::move(ok.error()));
  co_return std::nullopt;
}

asio::awaitable<bool> Driver::Impl::wait_until(std::int64_t not_before_ns) {
  if (not_before_ns > world_.clock.utc_ns()) {
    co_await await_callback<int>(
        io_, [&](auto done) { world_.clock.wait_until(not_before_ns, [done] { done(0); }); });
  }
  co_return !signals_.stop;
}

ModelCall Driver::Impl::model_call(std::shared_ptr<const std::string> body) const {
  const ModelChoice& choice = request_.model;
  ModelCall call;
  call.codec = choice.codec;
  call.url = choice.url;
  call.headers = choice.headers;
  call.key = choice.key;
  call.body = std::move(body);
  call.connect_timeout_ms = choice.connect_timeout_ms;
  call.idle_timeout_ms = choice.idle_timeout_ms;
  return call;
}

asio::awaitable<std::shared_ptr<ModelOutcome>> Driver::Impl::ask(ModelCall call, DeltaSink sink) {
  co_return co_await await_callback<std::shared_ptr<ModelOutcome>>(io_, [&](auto done) {
    if (signals_.stop) {
      Failure failure{schema::FailureKind::cancelled, 0, signals_.reason, "", {}, {}};
      return done(std::make_shared<ModelOutcome>(
          ModelOutcome{tl::unexpected(std::move(failure)), {}, 0, 0, 0}));
    }
    world_.model.call(std::move(call), std::move(sink), [done](ModelOutcome result) {
      done(std::make_shared<ModelOutcome>(std::move(result)));
    });
  });
}

Driver::Impl::Report Driver::Impl::request_model(step::RequestModel step) {
  if (!co_await wait_until(step.not_before_ns)) co_return std::nullopt;
  auto prepared = builder_.build(state_, request_.model, preamble_);
  if (!prepared) co_return fail(std::move(prepared.error()));
  Batch batch;
  for (auto& blob : prepared->blobs) batch.blob(std::move(blob.bytes));
  ModelCall call = model_call(std::move(prepared->body));
  call.request = prepared->event.request;
  call.attempt = step.attempt;
  batch.add(in_turn(std::move(prepared->event)));
  if (auto ok = co_await append(std::move(batch)); !ok) co_return fail(std::move(ok.error()));
  const auto started = state_.version;
  const auto outcome = co_await ask(
      std::move(call), [this](const Delta& delta) { world_.observer.on_delta(delta); });
  Batch after;
  add_outcome(after, *outcome, started, state_.turn->failures);
  if (auto ok = co_await append(std::move(after)); !ok) co_return fail(std::move(ok.error()));
  co_return std::nullopt;
}

void Driver::Impl::add_outcome(Batch& batch, const ModelOutcome& outcome, std::uint64_t causation,
                               std::uint32_t failures) {
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
    return;
  }
  Failure failure = outcome.reply.error();
  if (failure.kind == schema::FailureKind::cancelled) failure.message = signals_.reason;
  batch.add(in_turn(failed(batch, failure, retry_time(failure, failures + 1)), causation));
}

std::int64_t Driver::Impl::retry_time(const Failure& failure, std::uint32_t failures) {
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

}  // namespace daybook::engine
