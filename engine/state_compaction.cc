#include "engine/state_compaction.h"

#include <algorithm>

namespace daybook::engine {
namespace {

using schema::Payload;

std::unique_ptr<schema::ContentT> copy(const schema::Content* content) {
  return content == nullptr ? nullptr : std::unique_ptr<schema::ContentT>(content->UnPack());
}

template <class NativeT, class Table>
void copy_all(std::vector<std::unique_ptr<NativeT>>& to,
              const flatbuffers::Vector<flatbuffers::Offset<Table>>* from) {
  to.clear();
  if (from == nullptr) return;
  for (const Table* item : *from) to.emplace_back(item->UnPack());
}

/// Forgets the compaction under way; what the last ones left stays.
void close(schema::CompactionStateT& c) {
  c.open = false;
  c.trigger.clear();
  c.replaced = 0;
  c.replies = 0;
  c.attempts = 0;
  c.failures = 0;
  c.failure_message.clear();
  c.retry_at = 0;
  c.findings.clear();
  c.summary.reset();
}

const char* on(SessionState& state, const schema::Event& event,
               const schema::CompactionStarted& e) {
  auto& c = *state.compaction;
  if (!state.turn->open) return "no turn is open";
  if (c.open) return "a compaction is under way";
  if (state.request->open || !state.calls.empty()) return "the turn is in the middle of a step";
  if (e.number() != c.number + 1) return "compactions are numbered without gaps";
  const std::size_t view =
      (c.block_pending ? 1 : 0) + state.request->messages.size() + state.pending.size();
  if (e.replaced() == 0 || e.replaced() + std::size_t{e.kept()} != view) {
    return "it is not about the messages of the view";
  }
  close(c);
  c.open = true;
  c.number = e.number();
  c.trigger = std::string(text_of(e.trigger()));
  c.started_at = event.version();
  c.tokens = e.tokens();
  c.replaced = e.replaced();
  c.first = e.first();
  c.last = e.last();
  c.summary_tokens = e.summary_tokens();
  c.transcript_bytes = e.transcript_bytes();
  return nullptr;
}

const char* on(SessionState& state, const schema::Event& event, const schema::ModelRequested& e) {
  auto& c = *state.compaction;
  if (!c.open) return "no compaction is under way";
  if (c.request_open) return "the request before it has no outcome";
  if (e.request() != c.requests + 1 || e.attempt() != c.attempts + 1 || e.base() != 0) {
    return "requests are numbered by the responses before them, attempts without gaps";
  }
  c.request_open = true;
  c.attempts = e.attempt();
  c.request_version = event.version();
  return nullptr;
}

const char* on_outcome(schema::CompactionStateT& c, const schema::Event& event) {
  c.request_open = false;
  if (const auto* failed = event.payload_as_ModelFailed()) {
    ++c.failures;
    c.failure = failed->kind();
    c.failure_message = std::string(text_of(failed->message()));
    c.retry_at = failed->retry_at();
  } else if (event.payload_type() == Payload::ModelResponded) {
    ++c.requests;
    c.attempts = 0;
    c.failures = 0;
    c.retry_at = 0;
  }
  return nullptr;
}

const char* on(SessionState& state, const schema::CompactionAttempted& e) {
  auto& c = *state.compaction;
  if (!c.open || e.number() != c.number) return "that compaction is not under way";
  if (c.request_open || e.request() != c.request_version || e.attempt() != c.replies + 1) {
    return "it is not about the summariser's last reply";
  }
  c.replies = e.attempt();
  c.verdict = e.verdict();
  copy_all(c.findings, e.findings());
  c.summary = copy(e.summary());
  return nullptr;
}

/// Takes the first `count` messages off the view: the old block, sent messages, pending ones.
void drop_head(SessionState& state, std::size_t count) {
  auto& r = *state.request;
  if (state.compaction->block_pending && count > 0) {
    state.compaction->block_pending = false;
    --count;
  }
  const auto sent = static_cast<std::ptrdiff_t>(std::min(count, r.messages.size()));
  r.messages.erase(r.messages.begin(), r.messages.begin() + sent);
  r.marks.erase(r.marks.begin(), r.marks.begin() + sent);
  count -= static_cast<std::size_t>(sent);
  state.pending.erase(state.pending.begin(),
                      state.pending.begin() + static_cast<std::ptrdiff_t>(count));
}

const char* on(SessionState& state, const schema::CompactionCommitted& e) {
  auto& c = *state.compaction;
  if (!c.open || e.number() != c.number) return "that compaction is not under way";
  if (c.request_open) return "a call of the summariser has no outcome";
  if (e.block() == nullptr) return "it has no block";
  drop_head(state, c.replaced);
  c.block = copy(e.block());
  c.block_pending = true;
  // Without a new summary the last one still says what it said.
  if (e.summary() != nullptr) c.last_summary = copy(e.summary());
  copy_all(c.users, e.users());
  c.users_left_out = e.users_left_out();
  copy_all(c.files, e.files());
  copy_all(c.commands, e.commands());
  ++c.committed;
  close(c);
  state.request->rebase = true;
  state.request->input_tokens = 0;
  state.request->output_tokens = 0;
  state.request->markers.clear();
  // The request that did not fit is not the one that comes now.
  state.turn->failures = 0;
  state.turn->failure_message.clear();
  return nullptr;
}

const char* on_end(SessionState& state, std::uint32_t number, bool gave_up) {
  auto& c = *state.compaction;
  if (!c.open || number != c.number) return "that compaction is not under way";
  if (c.request_open) return "a call of the summariser has no outcome";
  close(c);
  c.gave_up = gave_up;
  return nullptr;
}

}  // namespace

bool is_of_compaction(const SessionState& state, const schema::Event& event) {
  switch (event.payload_type()) {
    case Payload::CompactionStarted:
    case Payload::CompactionAttempted:
    case Payload::CompactionCommitted:
    case Payload::CompactionCancelled:
    case Payload::CompactionFailed:
      return true;
    case Payload::ModelRequested:
      return text_of(event.payload_as_ModelRequested()->lineage()) == kSummaryLineage;
    case Payload::ModelResponded:
    case Payload::ModelFailed:
    case Payload::ModelAbandoned:
      return state.compaction->request_open;
    default:
      return false;
  }
}

const char* evolve_compaction(SessionState& state, const schema::Event& event) {
  switch (event.payload_type()) {
    case Payload::CompactionStarted:
      return on(state, event, *event.payload_as_CompactionStarted());
    case Payload::ModelRequested:
      return on(state, event, *event.payload_as_ModelRequested());
    case Payload::CompactionAttempted:
      return on(state, *event.payload_as_CompactionAttempted());
    case Payload::CompactionCommitted:
      return on(state, *event.payload_as_CompactionCommitted());
    case Payload::CompactionCancelled:
      return on_end(state, event.payload_as_CompactionCancelled()->number(), false);
    case Payload::CompactionFailed:
      return on_end(state, event.payload_as_CompactionFailed()->number(), true);
    default:
      return on_outcome(*state.compaction, event);
  }
}

schema::ViewMark block_mark() {
  return {0, 0, schema::MessageRole::user, true};
}

std::uint64_t reported_input(const schema::Usage& usage) {
  if (usage.input_total()) return *usage.input_total();
  if (!usage.input_uncached()) return 0;
  std::uint64_t writes = usage.cache_write().value_or(0);
  if (!usage.cache_write()) {
    writes = usage.cache_write_5m().value_or(0) + usage.cache_write_1h().value_or(0);
  }
  return *usage.input_uncached() + usage.cache_read().value_or(0) + writes;
}

}  // namespace daybook::engine
