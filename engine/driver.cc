#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include "engine/await.h"
#include "engine/driver_impl.h"
#include "engine/events.h"
#include "engine/transcript_files.h"
#include "schema/utf8.h"

namespace daybook::engine {
namespace {

using journal::Append;
using journal::Appended;
using journal::Batch;
using Kind = TurnReport::Kind;

constexpr std::size_t kTitleBytes = 100;

template <class... Visitors>
struct Overloaded : Visitors... {
  using Visitors::operator()...;
};
template <class... Visitors>
Overloaded(Visitors...) -> Overloaded<Visitors...>;

journal::Stamper stamper(Clock& clock) {
  return [&clock] { return journal::Stamp{clock.utc_ns(), clock.random(), clock.random()}; };
}

bool same_roots(const schema::PolicyStateT& policy, const PolicyWish& wish) {
  return std::equal(policy.roots.begin(), policy.roots.end(), wish.roots.begin(), wish.roots.end(),
                    [](const auto& a, const executor::Root& b) {
                      return a->path == b.path && a->writable == b.writable;
                    });
}

}  // namespace

Driver::Impl::Impl(asio::io_context& io, World world, TurnRequest request)
    : io_(io),
      world_(std::move(world)),
      request_(std::move(request)),
      state_(std::move(request_.state)),
      writer_(request_.session, {state_.version, state_.epoch, state_hash(state_)},
              stamper(world_.clock)),
      builder_(world_.journal),
      // Written once, before the stop that a tool sees.
      runner_(world_.executor, request_.spill_folder, [this] { return signals_.reason; }) {
  for (const auto& tool : world_.executor.tools()) {
    const auto& wanted = request_.agent.tools;
    if (std::find(wanted.begin(), wanted.end(), tool.name) == wanted.end()) continue;
    tools_.emplace(tool.name, ToolTraits{tool.risk, tool.effect, tool.in_order});
  }
  preamble_ = make_preamble(request_.agent, request_.policy.roots, world_.executor.tools());
}

// ------------------------------------------------------------------------------ the loop

asio::awaitable<Result<TurnReport>> Driver::Impl::run() {
  if (auto readable = check_recorded(); !readable) co_return fail(std::move(readable.error()));
  if (auto taken = co_await acquire(); !taken) co_return fail(std::move(taken.error()));
  restore_transcripts(world_.journal, state_, request_.spill_folder);
  auto report = co_await loop();
  if (!report) co_return report;
  Batch batch;
  schema::OwnerReleasedT owner;
  owner.reason = name_of(report->kind);
  batch.add(draft(std::move(owner)));
  if (auto released = co_await append(std::move(batch)); !released) {
    co_return fail(std::move(released.error()));
  }
  co_return report;
}

/// Bytes that the turn needs and the journal no longer has must stop it before it writes anything.
Result<void> Driver::Impl::check_recorded() {
  if (state_.version == 0) return {};
  auto checked = builder_.load(state_, *request_.model.codec);
  for (std::size_t i = 0; checked && i < state_.calls.size(); ++i) {
    if (auto bytes = journal::content_bytes(world_.journal, state_.calls[i]->arguments.get());
        !bytes) {
      checked = fail(std::move(bytes.error()));
    }
  }
  if (checked) return {};
  // Named by an event and not there is damage.
  const ErrorCode code = checked.error().code;
  return fail(code == ErrorCode::not_found ? ErrorCode::corrupt : code,
              fmt::format("session {} cannot go on: {}", state_.session, checked.error().message));
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
          [this](step::StartCompaction s) { return start_compaction(std::move(s)); },
          [this](step::RequestSummary s) { return request_summary(s); },
          [this](step::CommitCompaction s) { return commit_compaction(std::move(s)); },
          [this](step::CancelCompaction s) { return cancel_compaction(std::move(s)); },
          [this](step::RefuseCall s) { return refuse_call(std::move(s)); },
          [this](step::AskApproval s) { return ask_approval(std::move(s)); },
          [this](step::RunCalls s) { return run_calls(std::move(s)); },
          [this](step::SettleCall s) { return settle_call(std::move(s)); },
          [](step::AwaitReconcile s) -> Report {
            TurnReport report;
            report.kind = Kind::needs_reconcile;
            report.calls = s.call_ids;
            co_return report;
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
    started.title = first_line(request_.prompt.value_or(""), kTitleBytes);
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

// ------------------------------------------------------------------------------ the end

Result<std::string> Driver::Impl::answer_text() {
  std::string text;
  if (state_.pending.empty()) return text;
  for (const auto& block : state_.pending.back()->blocks) {
    if (block->kind != schema::BlockKind::text) continue;
    auto bytes = journal::content_bytes(world_.journal, block->text.get());
    if (!bytes) return bytes;
    text += *bytes;
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

std::string_view name_of(TurnReport::Kind kind) {
  switch (kind) {
    case Kind::completed:
      return "completed";
    case Kind::interrupted:
      return "interrupted";
    case Kind::failed:
      return "failed";
    case Kind::iteration_limit:
      return "iteration-limit";
    case Kind::needs_reconcile:
      return "needs-reconcile";
    case Kind::needs_approval:
      return "needs-approval";
    case Kind::nothing_to_do:
      return "nothing-to-do";
  }
  return "unknown";
}

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
