#include <fmt/format.h>

#include "engine/await.h"
#include "engine/driver_impl.h"
#include "engine/events.h"
#include "engine/spill.h"
#include "engine/transcript_files.h"

namespace daybook::engine {

using journal::Batch;

namespace {

/// Share of the window that the transcript may take of the summariser's, in percent: the prompt's
/// frame, the summary and what the estimate is wrong by need the rest.
constexpr std::uint64_t kTranscriptShare = 70;

GateLimits gate_limits(std::size_t max_bytes) {
  GateLimits limits;
  limits.max_bytes = max_bytes;
  return limits;
}

/// "api.example.com" of "https://api.example.com/v1/x"; the whole without "://".
std::string_view host_of(std::string_view url) {
  const std::size_t at = url.find("://");
  if (at != std::string_view::npos) url.remove_prefix(at + 3);
  return url.substr(0, url.find('/'));
}

schema::GateVerdict to_schema(GateVerdict verdict) {
  switch (verdict) {
    case GateVerdict::kUsable:
      return schema::GateVerdict::usable;
    case GateVerdict::kRepairable:
      return schema::GateVerdict::repairable;
    case GateVerdict::kUnusable:
      break;
  }
  return schema::GateVerdict::unusable;
}

schema::CompactionAttemptedT attempted(const GateResult& judged) {
  schema::CompactionAttemptedT event;
  event.verdict = to_schema(judged.verdict);
  event.gate_version = kGateVersion;
  for (const auto& finding : judged.findings) {
    auto& to = event.findings.emplace_back(std::make_unique<schema::GateFindingT>());
    to->code = fmt::format("{}-{}", check_of(finding.code), name_of(finding.code));
    to->evidence = finding.evidence;
  }
  return event;
}

}  // namespace

Driver::Impl::Report Driver::Impl::start_compaction(step::StartCompaction step) {
  schema::CompactionStartedT event;
  event.number = state_.compaction->number + 1;
  event.trigger = step.cut.trigger;
  event.phase = step.cut.within_turn ? schema::CompactionPhase::within_turn
                                     : schema::CompactionPhase::turn_start;
  event.tokens = step.cut.tokens;
  event.trigger_tokens = budgets_of(request_.limits.compaction).trigger;
  event.replaced = step.cut.replaced;
  event.kept = step.cut.kept;
  event.first = step.cut.first;
  event.last = step.cut.last;
  const CompactionLimits& limits = request_.limits.compaction;
  const auto meant = limits_of(limits, step.cut.trigger, step.cut.tokens);
  event.summary_tokens = budgets_of(meant).summary;
  // The summariser has the window that refused the session's request.
  const std::uint64_t window =
      step.cut.trigger == "overflow" ? std::min(limits.window, meant.cap) : limits.window;
  event.transcript_bytes = bytes_for(state_, window * kTranscriptShare / 100);
  Batch batch;
  batch.add(in_turn(std::move(event)));
  if (auto ok = co_await append(std::move(batch)); !ok) co_return fail(std::move(ok.error()));
  co_return std::nullopt;
}

Result<std::vector<PastItem>> Driver::Impl::compacted_span() {
  return read_span(world_.journal, request_.session, state_.compaction->first,
                   state_.compaction->last);
}

Driver::Impl::Report Driver::Impl::request_summary(step::RequestSummary step) {
  if (!co_await wait_until(step.not_before_ns)) co_return std::nullopt;
  const auto items = summarised_items(world_.journal, state_);
  if (!items) co_return fail(items.error());
  const SummaryAsk asked = ask_of(state_);
  auto prepared = prepare_summary(request_.model, summary_prompt(*items, asked), asked);
  prepared.event.request = state_.compaction->requests + 1;
  prepared.event.attempt = step.attempt;
  ModelCall call = model_call(std::move(prepared.body));
  call.request = prepared.event.request;
  call.attempt = step.attempt;
  call.summary = true;
  Batch batch;
  for (auto& blob : prepared.blobs) batch.blob(std::move(blob.bytes));
  batch.add(in_turn(std::move(prepared.event), state_.compaction->started_at));
  if (auto ok = co_await append(std::move(batch)); !ok) co_return fail(std::move(ok.error()));

  const auto started = state_.version;
  const auto outcome = co_await ask(std::move(call), [](const Delta&) {});
  Batch after;
  if (outcome->reply) {
    // No tool was offered: a call of one is not a call, and has no answer.
    std::erase_if(outcome->reply->blocks,
                  [](const Block& block) { return block.kind == schema::BlockKind::tool_call; });
  }
  add_outcome(after, *outcome, started, state_.compaction->failures);
  if (outcome->reply) {
    std::string text;
    const SummaryReply reply = gate_reply(*outcome->reply, text);
    const GateLimits limits = gate_limits(bytes_for(state_, asked.max_tokens));
    auto event = attempted(judge_summary(gate_items(*items), reply, kSummaryHeadings, limits));
    event.number = state_.compaction->number;
    event.attempt = state_.compaction->replies + 1;
    event.request = started;
    event.summary = after.content(text);
    after.add(in_turn(std::move(event), started));
  }
  if (auto ok = co_await append(std::move(after)); !ok) co_return fail(std::move(ok.error()));
  co_return std::nullopt;
}

Driver::Impl::Report Driver::Impl::cancel_compaction(step::CancelCompaction step) {
  schema::CompactionCancelledT event;
  event.number = state_.compaction->number;
  event.reason = step.reason;
  Batch batch;
  batch.add(in_turn(std::move(event), state_.compaction->started_at));
  if (auto ok = co_await append(std::move(batch)); !ok) co_return fail(std::move(ok.error()));
  co_return std::nullopt;
}

asio::awaitable<std::string> Driver::Impl::spill_transcript(std::string transcript) {
  if (request_.spill_folder.empty()) co_return "";
  std::string path =
      transcript_file(request_.spill_folder, request_.session.str(), state_.compaction->number);
  const bool written = co_await await_callback<bool>(io_, [&](auto done) {
    world_.run_blocking([path, transcript, done] { done(write_spill(path, transcript)); });
  });
  co_return written ? path : std::string();
}

/// Why the summariser could not be asked, with the status and the place that the state does not
/// keep.
Result<std::string> Driver::Impl::summariser_failure() {
  std::string text;
  auto read = world_.journal.read(
      request_.session, state_.compaction->request_version, journal::ReadMode::strict,
      [&](const auto& entry) {
        const auto* failed = entry.event->payload_as_ModelFailed();
        if (failed == nullptr) return true;
        const std::string_view message = text_of(failed->message());
        const auto status = failed->http_status();
        const std::string_view host = host_of(request_.model.url);
        const bool told = message.starts_with("HTTP status ");
        text = fmt::format("{}:{}{}{}{}: {}", request_.model.provider, request_.model.model,
                           host.empty() ? "" : " at ", host,
                           status == 0 || told ? "" : fmt::format(" answered HTTP {}", status),
                           message);
        return false;
      });
  if (!read) return fail(std::move(read.error()));
  return text;
}

/// Only a person who attends is asked; every other session goes on by itself.
asio::awaitable<Answer> Driver::Impl::ask_summary(const std::string& why) {
  if (state_.policy->mode != schema::ApprovalMode::interactive || signals_.stop) {
    co_return Answer{Answer::Kind::unavailable, "", ""};
  }
  co_return co_await await_callback<Answer>(
      io_, [&](auto done) { world_.approver.ask_summary(why, std::move(done)); });
}

Driver::Impl::Report Driver::Impl::commit_compaction(step::CommitCompaction step) {
  const auto& c = *state_.compaction;
  if (step.refused) {
    const auto answer = co_await ask_summary(step.reason);
    if (answer.kind == Answer::Kind::cancelled) {
      if (!signals_.stop) stop("the question was cancelled");
      co_return std::nullopt;
    }
    if (answer.kind == Answer::Kind::deny) {
      step.reason += fmt::format("; {} chose to go on without one", answer.actor);
    } else if (answer.kind != Answer::Kind::unavailable) {
      // The compaction that is due then begins anew, with tries of its own.
      step::CancelCompaction again{
          fmt::format("{} asked for another try: {}", answer.actor, step.reason)};
      co_return co_await cancel_compaction(std::move(again));
    }
  }
  if (!step.reason.empty() && !step.refused) {
    auto failure = summariser_failure();
    if (!failure) co_return fail(std::move(failure.error()));
    if (!failure->empty()) {
      step.reason = fmt::format("the summariser could not be asked: {}", *failure);
    }
  }
  const auto items = compacted_span();
  if (!items) co_return fail(items.error());
  const bool trimmed = !step.reason.empty();
  const auto summary = trimmed ? Result<std::string>(std::string())
                               : journal::content_bytes(world_.journal, c.summary.get());
  if (!summary) co_return fail(summary.error());
  const auto block = journal::content_bytes(world_.journal, c.block.get());
  if (!block) co_return fail(block.error());
  const std::string transcript = transcript_text(*block, *items);
  const std::string path = co_await spill_transcript(transcript);
  const auto limits = limits_of(request_.limits.compaction, c.trigger, c.tokens);
  auto sourced = source_block(world_.journal, state_, limits, *items, *summary, step.reason, path);
  if (!sourced) co_return fail(std::move(sourced.error()));
  const std::uint64_t after = tokens_after(state_, sourced->block.text.size());
  Batch batch;
  if (!gains_enough(c.trigger, c.tokens, after)) {
    // A pass that would not shorten the view ends here, so that no loop can come of it.
    schema::CompactionFailedT event;
    event.number = c.number;
    event.reason =
        fmt::format("what stands for the older part would leave {} tokens of {}", after, c.tokens);
    batch.add(in_turn(std::move(event), c.started_at));
  } else {
    schema::CompactionCommittedT event = committed(batch, std::move(*sourced));
    event.tokens_after = after;
    if (!trimmed) event.summary = batch.content(*summary);
    event.reason = step.reason;
    event.transcript_path = path;
    event.transcript_size = transcript.size();
    event.transcript_digest = std::make_unique<schema::Digest>(Digest::of(transcript).fb());
    batch.add(in_turn(std::move(event), c.started_at));
  }
  if (auto ok = co_await append(std::move(batch)); !ok) co_return fail(std::move(ok.error()));
  co_return std::nullopt;
}

schema::CompactionCommittedT Driver::Impl::committed(Batch& batch, SourcedBlock sourced) {
  schema::CompactionCommittedT event;
  event.trigger = state_.compaction->trigger;
  event.number = state_.compaction->number;
  event.tokens_before = state_.compaction->tokens;
  event.block = batch.content(sourced.block.text);
  for (const auto& user : sourced.block.users) {
    auto& to = event.users.emplace_back(std::make_unique<schema::QuotedUserT>());
    to->version = user.version;
    to->text = batch.content(user.text);
  }
  event.users_left_out = sourced.block.users_left_out;
  event.files = std::move(sourced.work.files);
  event.commands = std::move(sourced.work.commands);
  return event;
}

}  // namespace daybook::engine
