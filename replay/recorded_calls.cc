#include "replay/recorded_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "engine/events.h"

namespace daybook::replay {
namespace {

using journal::Batch;

/// Transport attempts of one call, and the waits between them.
constexpr std::uint32_t kAttempts = 5;
constexpr std::int64_t kFirstWaitMs = 1'000;

/// Half fixed, half random: clients that failed together do not come back together.
std::int64_t jittered(std::int64_t wait_ms, engine::Clock& clock) {
  const auto most = static_cast<std::uint64_t>(wait_ms / 2 + 1);
  return wait_ms - wait_ms / 2 + static_cast<std::int64_t>(clock.random() % most);
}

/// How providers say in a refusal with HTTP 400 that the account, not the request, is at fault.
constexpr std::array<std::string_view, 4> kAccountWords = {
    "credit balance", "billing", "insufficient_", "exceeded_current_quota"};

bool is_about_account(const engine::Failure& failure) {
  std::string words = failure.message + '\n' + failure.raw;
  std::ranges::transform(words, words.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::ranges::any_of(
      kAccountWords, [&](std::string_view word) { return words.find(word) != std::string::npos; });
}

}  // namespace

std::string told(const engine::ModelChoice& choice, const engine::Failure& failure) {
  const std::string_view advice =
      failure.kind == schema::FailureKind::authentication ? "; check the key" : "";
  return fmt::format(
      "{}:{} at {}{}: {}{}", choice.provider, choice.model, choice.url,
      failure.http_status == 0 ? "" : fmt::format(" answered HTTP {}", failure.http_status),
      failure.message, advice);
}

bool is_about_request(const engine::Failure& failure) {
  if (failure.kind == schema::FailureKind::context_overflow) return true;
  if (failure.kind != schema::FailureKind::permanent || is_about_account(failure)) return false;
  const int status = failure.http_status;
  // An answer that began well breaks off like this when its content is refused.
  const bool broke_off = status >= 200 && status < 300;
  return broke_off || status == 400 || status == 413 || status == 422;
}

Spent most_for(const CallWorld& world, const engine::ModelChoice& choice, std::uint64_t body_bytes,
               std::uint64_t reply_tokens) {
  Spent spent;
  spent.add(world.prices, {choice.provider, choice.model, most_usage(body_bytes, reply_tokens),
                           world.clock.utc_ns()});
  return spent;
}

Result<bool> allows(const Money& limit, const Spent& before, const Spent& call,
                    const engine::ModelChoice& choice) {
  if (call.unpriced_tokens > 0) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("there is no price for {}:{}, so --max-cost cannot be kept; add one to "
                            "your price file, or run without --max-cost",
                            choice.provider, choice.model));
  }
  if (before.unpriced_tokens > 0 || before.unknown_calls > 0) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("what was spent is not known ({} tokens without a price, {} {} "
                            "without figures), so --max-cost cannot be kept",
                            before.unpriced_tokens, before.unknown_calls,
                            before.unknown_calls == 1 ? "call" : "calls"));
  }
  return before.money + call.money <= limit;
}

RecordedCalls::RecordedCalls(const CallWorld& world, const SessionId& session, Take take)
    : world_(world), session_(session), take_(std::move(take)) {}

Result<void> RecordedCalls::load() {
  Result<void> status;
  auto read = world_.journal.read(session_, 1, journal::ReadMode::strict, [&](const auto& entry) {
    status = take_(entry);
    return status.has_value();
  });
  if (!read) return read;
  return status;
}

Result<void> RecordedCalls::append(Batch batch, bool acquire) {
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
    DAYBOOK_TRY(take_(entry));
  }
  return {};
}

Result<void> RecordedCalls::append(Batch batch) {
  return append(std::move(batch), false);
}

Result<void> RecordedCalls::acquire(const std::string& owner, schema::OwnReason reason,
                                    std::uint64_t open_request) {
  auto head = world_.journal.head(session_);
  if (!head) return fail(std::move(head.error()));
  engine::Clock& clock = world_.clock;
  writer_ = std::make_unique<journal::SessionWriter>(session_, *head, [&clock] {
    return journal::Stamp{clock.utc_ns(), clock.random(), clock.random()};
  });
  Batch batch;
  schema::OwnerAcquiredT acquired;
  acquired.owner = owner;
  acquired.reason = reason;
  batch.add(draft(std::move(acquired)));
  DAYBOOK_TRY(append(std::move(batch), true));
  if (open_request == 0) return {};
  schema::ModelAbandonedT abandoned;
  abandoned.reason = "the process died before the answer was recorded; it may have been billed";
  Batch answer;
  answer.add(draft(std::move(abandoned), 0, open_request));
  return append(std::move(answer), false);
}

Result<void> RecordedCalls::release(std::string reason) {
  Batch batch;
  schema::OwnerReleasedT released;
  released.reason = std::move(reason);
  batch.add(draft(std::move(released)));
  return append(std::move(batch), false);
}

Result<std::shared_ptr<engine::ModelOutcome>> RecordedCalls::call(const Question& question,
                                                                  std::uint32_t attempt,
                                                                  engine::PreparedRequest request) {
  const ArmModel& arm = *question.model;
  engine::ModelCall call;
  call.codec = arm.choice.codec;
  call.url = arm.choice.url;
  call.headers = arm.choice.headers;
  call.key = arm.choice.key;
  call.body = std::move(request.body);
  call.connect_timeout_ms = arm.choice.connect_timeout_ms;
  call.idle_timeout_ms = arm.choice.idle_timeout_ms;
  call.summary = question.summary;
  call.request = question.number;
  call.attempt = attempt;
  request.event.request = call.request;
  request.event.attempt = attempt;
  request.event.lineage = question.lineage;
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

bool RecordedCalls::pause(std::int64_t wait_ms) {
  bool waited = false;
  world_.clock.wait_until(world_.clock.utc_ns() + wait_ms * 1'000'000, [&] { waited = true; });
  world_.wait([&] {
    if (!waited && world_.stopped()) world_.clock.cancel_wait();
    return waited;
  });
  return !world_.stopped();
}

Result<CallEnd> RecordedCalls::ask(const Question& question) {
  std::int64_t backoff_ms = kFirstWaitMs;
  for (std::uint32_t attempt = 1;; ++attempt) {
    auto request = question.request();
    auto allowed = question.allowed(request);
    if (!allowed) return fail(std::move(allowed.error()));
    if (!*allowed) return CallEnd::too_dear;
    auto made = call(question, attempt, std::move(request));
    if (!made) return fail(std::move(made.error()));
    const engine::ModelOutcome& outcome = **made;
    if (outcome.reply) {
      DAYBOOK_TRY(question.record(outcome, true));
      return CallEnd::done;
    }
    const engine::Failure& failure = outcome.reply.error();
    const bool cancelled = world_.stopped();
    const bool retry = !cancelled && attempt < kAttempts && engine::is_retryable(failure.kind);
    const bool elsewhere = !cancelled && !retry && !is_about_request(failure);
    DAYBOOK_TRY(question.record(outcome, !retry && !cancelled && !elsewhere));
    if (elsewhere) return fail(ErrorCode::io, told(question.model->choice, failure));
    if (cancelled) return CallEnd::stopped;
    if (!retry) return CallEnd::done;
    backoff_ms *= 2;
    const std::int64_t wait_ms =
        std::max(jittered(backoff_ms, world_.clock), failure.retry_after_ms.value_or(0));
    if (world_.tell) {
      constexpr std::int64_t kSecond = 1'000;
      world_.tell(fmt::format("{}; trying again in {} s (attempt {} of {})",
                              told(question.model->choice, failure),
                              (wait_ms + kSecond - 1) / kSecond, attempt + 1, kAttempts));
    }
    if (!pause(wait_ms)) return CallEnd::stopped;
  }
}

}  // namespace daybook::replay
