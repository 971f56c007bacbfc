#include "engine/state.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/state_compaction.h"

namespace daybook::engine {
namespace {

using schema::CallPhase;
using schema::Payload;

std::unique_ptr<schema::ContentT> copy(const schema::Content* content) {
  return content == nullptr ? nullptr : std::unique_ptr<schema::ContentT>(content->UnPack());
}

std::string copy(const flatbuffers::String* text) {
  return std::string(text_of(text));
}

std::vector<schema::BlobRef> copy(const flatbuffers::Vector<const schema::Segment*>* segments) {
  std::vector<schema::BlobRef> refs;
  if (segments == nullptr) return refs;
  refs.reserve(segments->size());
  for (const auto* segment : *segments) refs.push_back(segment->blob());
  return refs;
}

/// One event's effect. Each `on` names a payload; what cannot follow is an error.
class Evolver {
 public:
  Evolver(SessionState& state, const schema::Event& event) : s_(state), event_(event) {}

  Result<void> apply();

 private:
  tl::unexpected<Error> refuse(std::string_view why) const {
    return fail(ErrorCode::corrupt, fmt::format("session {}, version {}: {} cannot follow: {}",
                                                text_of(event_.session()), event_.version(),
                                                payload_name(event_), why));
  }

  Result<void> on(const schema::SessionStarted& e);
  Result<void> on(const schema::SessionImported& e);
  Result<void> on(const schema::PolicyChanged& e);
  Result<void> on(const schema::TurnStarted& e);
  Result<void> on(const schema::TurnEnded& e);
  Result<void> on(const schema::ModelRequested& e);
  Result<void> on(const schema::ModelResponded& e);
  Result<void> on(const schema::ModelFailed& e);
  Result<void> on(const schema::ModelAbandoned& e);
  Result<void> on(const schema::ToolDecided& e);
  Result<void> on(const schema::ToolDispatched& e);
  Result<void> on(const schema::ToolCompleted& e);
  Result<void> on(const schema::ToolOutcomeUnknown& e);
  Result<void> on(const schema::ToolReconciled& e);
  Result<void> on(const schema::ApprovalRequested& e);
  Result<void> on(const schema::ApprovalDecided& e);
  Result<void> on(const schema::ApprovalCleared& e);
  Result<void> on_compaction();

  CallState* call(const flatbuffers::String* call_id);
  void add_call(const schema::Block& block);
  void take_up_marks();
  void take_usage(const schema::Usage* usage);
  void answer(CallState& call, const schema::Content* result, bool is_error);
  void gather_results();
  std::unique_ptr<schema::PendingMessageT>& push(schema::MessageRole role, std::uint64_t first);

  SessionState& s_;
  const schema::Event& event_;
};

CallState* Evolver::call(const flatbuffers::String* call_id) {
  for (auto& call : s_.calls) {
    if (call->call_id == text_of(call_id)) return call.get();
  }
  return nullptr;
}

std::unique_ptr<schema::PendingMessageT>& Evolver::push(schema::MessageRole role,
                                                        std::uint64_t first) {
  auto& message = s_.pending.emplace_back(std::make_unique<schema::PendingMessageT>());
  message->role = role;
  message->mark = std::make_unique<schema::ViewMark>(first, s_.turn->number, role, false);
  return message;
}

Result<void> Evolver::on(const schema::SessionStarted& e) {
  if (!s_.workspace.empty()) return refuse("the session has started already");
  s_.agent = copy(e.agent());
  s_.workspace = copy(e.workspace());
  s_.title = copy(e.title());
  return {};
}

Result<void> Evolver::on(const schema::SessionImported& e) {
  if (!s_.workspace.empty() || s_.turn->number != 0) return refuse("the session was run here");
  s_.imported = true;
  s_.agent = copy(e.agent());
  s_.workspace = copy(e.workspace());
  s_.title = copy(e.title());
  return {};
}

Result<void> Evolver::on(const schema::PolicyChanged& e) {
  if (e.generation() != s_.policy->generation + 1) return refuse("policy generations grow by one");
  s_.policy = std::make_unique<schema::PolicyStateT>();
  s_.policy->generation = e.generation();
  s_.policy->mode = e.mode();
  if (e.roots() != nullptr) {
    for (const auto* root : *e.roots()) {
      s_.policy->roots.emplace_back(root->UnPack());
    }
  }
  if (e.grants() != nullptr) {
    for (const auto* grant : *e.grants()) s_.policy->grants.push_back(copy(grant));
  }
  return {};
}

Result<void> Evolver::on(const schema::TurnStarted& e) {
  if (s_.turn->open) return refuse("a turn is open");
  if (e.turn() != s_.turn->number + 1) return refuse("turns are numbered without gaps");
  if (e.continues() != 0 && e.continues() != s_.turn->number) {
    return refuse("only the last turn can be continued");
  }
  const auto origin = e.continues() == 0 ? e.turn() : s_.turn->origin;
  auto turn = std::make_unique<schema::TurnStateT>();
  turn->number = e.turn();
  turn->origin = origin;
  turn->open = true;
  turn->started_at = event_.version();
  turn->request_id = e.continues() == 0 ? copy(event_.request_id()) : s_.turn->request_id;
  turn->provider = copy(e.provider());
  turn->provider_kind = copy(e.provider_kind());
  turn->model = copy(e.model());
  turn->max_iterations = e.max_iterations();
  s_.turn = std::move(turn);
  s_.compaction->gave_up = false;
  if (e.prompt() == nullptr) return {};
  push(schema::MessageRole::user, event_.version())->text = copy(e.prompt());
  if (!s_.first_prompt) s_.first_prompt = copy(e.prompt());
  return {};
}

Result<void> Evolver::on(const schema::TurnEnded& e) {
  if (!s_.turn->open || e.turn() != s_.turn->number) return refuse("that turn is not open");
  if (s_.request->open) return refuse("a model request has no outcome");
  if (s_.compaction->open) return refuse("a compaction is under way");
  if (!s_.calls.empty()) return refuse("tool calls have no answer");
  s_.turn->open = false;
  s_.turn->outcome = e.outcome();
  s_.turn->message = copy(e.message());
  s_.turn->truncated = e.truncated();
  return {};
}

Result<void> Evolver::on(const schema::ModelRequested& e) {
  if (!s_.turn->open) return refuse("no turn is open");
  if (s_.request->open) return refuse("the request before it has no outcome");
  if (s_.compaction->open) return refuse("a compaction is under way");
  if (!s_.calls.empty()) return refuse("tool calls have no answer");
  auto& r = *s_.request;
  if (e.request() != r.responses + 1 || e.attempt() != r.attempts + 1) {
    return refuse("requests are numbered by the responses before them, attempts without gaps");
  }
  if (e.base() == 0) {
    if (e.shared() != 0) return refuse("a request without a base shares nothing");
    r.messages.clear();
  } else if (e.base() != r.version || e.shared() != r.messages.size() || r.rebase) {
    return refuse("its base is not the request before it");
  }
  take_up_marks();
  for (const auto& ref : copy(e.appended())) r.messages.push_back(ref);
  if (e.system() != nullptr || e.base() == 0) r.system = copy(e.system());
  if (e.tools() != nullptr || e.base() == 0) r.tools = copy(e.tools());
  r.markers.clear();
  if (e.markers() != nullptr) r.markers.assign(e.markers()->begin(), e.markers()->end());
  if (r.marks.size() != r.messages.size()) return refuse("its messages are not those of the view");
  r.rebase = false;
  r.body_size = e.body_size();
  r.version = event_.version();
  r.attempts = e.attempt();
  r.open = true;
  r.provider = copy(e.provider());
  r.provider_kind = copy(e.provider_kind());
  r.model = copy(e.model());
  s_.pending.clear();
  return {};
}

/// The request carries the whole view: the block, what it had, and what was pending.
void Evolver::take_up_marks() {
  auto& marks = s_.request->marks;
  if (s_.compaction->block_pending) {
    marks.insert(marks.begin(), block_mark());
    s_.compaction->block_pending = false;
  }
  for (const auto& message : s_.pending) marks.push_back(*message->mark);
}

void Evolver::add_call(const schema::Block& block) {
  auto& call = s_.calls.emplace_back(std::make_unique<CallState>());
  ++s_.calls_made;
  call->call_id = copy(block.call_id());
  call->provider_call_id = copy(block.provider_call_id());
  call->tool = copy(block.tool());
  call->arguments = copy(block.text());
  const auto* text = block.text();
  const Digest digest = text == nullptr           ? Digest::of(std::string_view())
                        : text->blob() != nullptr ? Digest::from(&text->blob()->digest())
                                                  : Digest::of(inline_bytes(*text));
  call->arguments_digest = std::make_unique<schema::Digest>(digest.fb());
  call->arguments_state = block.arguments_state();
  call->arguments_error = copy(block.arguments_error());
}

Result<void> Evolver::on(const schema::ModelResponded& e) {
  if (!s_.request->open) return refuse("no request is open");
  s_.request->open = false;
  s_.request->attempts = 0;
  ++s_.request->responses;
  take_usage(e.usage());
  auto& turn = *s_.turn;
  ++turn.iterations;
  turn.failures = 0;
  turn.failure_message.clear();
  turn.retry_at = 0;
  turn.stop = e.stop();
  auto& message = push(schema::MessageRole::assistant, s_.request->version);
  message->provider_kind = s_.request->provider_kind;
  if (e.blocks() != nullptr) {
    for (const auto* block : *e.blocks()) {
      message->blocks.emplace_back(block->UnPack());
      if (block->kind() == schema::BlockKind::tool_call) add_call(*block);
    }
  }
  turn.replied = s_.calls.empty();
  return {};
}

/// What the view's size is known by until the next response.
void Evolver::take_usage(const schema::Usage* usage) {
  auto& r = *s_.request;
  r.input_tokens = usage == nullptr ? 0 : reported_input(*usage);
  r.output_tokens = usage == nullptr ? 0 : usage->output().value_or(0);
  if (r.input_tokens == 0 || r.body_size == 0) return;
  // Between one token in 8 bytes and one in little more than one: beyond that the figure is not
  // about this body.
  const std::uint64_t ratio = (r.input_tokens << 20U) / r.body_size;
  r.tokens_per_mib =
      static_cast<std::uint32_t>(std::clamp<std::uint64_t>(ratio, 1U << 17U, 900'000));
}

Result<void> Evolver::on(const schema::ModelFailed& e) {
  if (!s_.request->open) return refuse("no request is open");
  s_.request->open = false;
  ++s_.turn->failures;
  s_.turn->failure = e.kind();
  s_.turn->failure_message = copy(e.message());
  s_.turn->retry_at = e.retry_at();
  return {};
}

Result<void> Evolver::on(const schema::ModelAbandoned&) {
  if (!s_.request->open) return refuse("no request is open");
  s_.request->open = false;
  return {};
}

Result<void> Evolver::on(const schema::ToolDecided& e) {
  CallState* found = call(e.call_id());
  if (found == nullptr || found->phase == CallPhase::answered) return refuse("no such open call");
  // Only a permission that was not used yet can be taken back.
  const bool revokes =
      found->phase == CallPhase::approved && e.decision() == schema::Decision::deny;
  if (found->decided && !revokes) return refuse("the call is decided already");
  if (Digest::from(e.arguments_digest()) != Digest::from(found->arguments_digest.get())) {
    return refuse("the decision is about other arguments");
  }
  found->decided = true;
  found->approved_by = copy(e.decided_by());
  if (e.decision() == schema::Decision::allow) {
    found->phase = CallPhase::approved;
  } else {
    answer(*found, e.result(), true);
  }
  return {};
}

Result<void> Evolver::on(const schema::ToolDispatched& e) {
  CallState* found = call(e.call_id());
  if (found == nullptr || !found->decided || found->phase != CallPhase::approved) {
    return refuse("the call is not approved, or runs already");
  }
  if (e.attempt() != found->attempt + 1) return refuse("attempts grow by one");
  found->phase = CallPhase::dispatched;
  found->attempt = e.attempt();
  found->dispatched_at = event_.version();
  found->effect = e.effect();
  found->plan.clear();
  if (e.plan() != nullptr) {
    for (const auto* op : *e.plan()) found->plan.emplace_back(op->UnPack());
  }
  found->planned_result = copy(e.planned_result());
  found->cwd = copy(e.cwd());
  return {};
}

Result<void> Evolver::on(const schema::ToolCompleted& e) {
  CallState* found = call(e.call_id());
  if (found == nullptr || found->phase != CallPhase::dispatched) {
    return refuse("no intent of that call is open");
  }
  if (found->tool == "run_shell" && e.receipt() != nullptr && e.receipt()->cwd_after() != nullptr) {
    s_.shell_cwd = copy(e.receipt()->cwd_after());
  }
  answer(*found, e.result(), e.is_error());
  return {};
}

Result<void> Evolver::on(const schema::ToolOutcomeUnknown& e) {
  CallState* found = call(e.call_id());
  if (found == nullptr || found->phase != CallPhase::dispatched) {
    return refuse("no intent of that call is open");
  }
  found->phase = CallPhase::unknown;
  return {};
}

Result<void> Evolver::on(const schema::ToolReconciled& e) {
  CallState* found = call(e.call_id());
  if (found == nullptr || found->phase != CallPhase::unknown) {
    return refuse("the call's outcome is not unknown");
  }
  if (e.outcome() == schema::Reconciliation::retry) {
    found->phase = CallPhase::approved;
  } else {
    answer(*found, e.result(), e.outcome() == schema::Reconciliation::not_applied);
  }
  return {};
}

Result<void> Evolver::on(const schema::ApprovalRequested& e) {
  CallState* found = call(e.call_id());
  if (found == nullptr || found->phase != CallPhase::proposed) return refuse("no such open call");
  found->phase = CallPhase::asked;
  return {};
}

Result<void> Evolver::on(const schema::ApprovalDecided& e) {
  CallState* found = call(e.call_id());
  if (found == nullptr || found->phase != CallPhase::asked) return refuse("nobody was asked");
  if (Digest::from(e.arguments_digest()) != Digest::from(found->arguments_digest.get())) {
    return refuse("the decision is about other arguments");
  }
  return {};
}

Result<void> Evolver::on(const schema::ApprovalCleared& e) {
  CallState* found = call(e.call_id());
  if (found == nullptr || found->phase != CallPhase::asked) return refuse("nobody was asked");
  found->phase = CallPhase::proposed;
  return {};
}

void Evolver::answer(CallState& call, const schema::Content* result, bool is_error) {
  call.phase = CallPhase::answered;
  call.result = copy(result);
  call.is_error = is_error;
  const bool all = std::all_of(s_.calls.begin(), s_.calls.end(),
                               [](const auto& each) { return each->phase == CallPhase::answered; });
  if (all) gather_results();
}

/// All calls of the assistant message are answered: the results become one message, in the order
/// of the calls, whatever order they finished in.
void Evolver::gather_results() {
  auto& message = push(schema::MessageRole::tool, event_.version());
  for (auto& call : s_.calls) {
    auto& result = message->results.emplace_back(std::make_unique<schema::PendingResultT>());
    result->provider_call_id = std::move(call->provider_call_id);
    result->tool = std::move(call->tool);
    result->text = std::move(call->result);
    result->is_error = call->is_error;
  }
  s_.calls.clear();
}

/// Events of a compaction, and the calls of the summariser.
Result<void> Evolver::on_compaction() {
  const char* why = evolve_compaction(s_, event_);
  if (why != nullptr) return refuse(why);
  return {};
}

Result<void> Evolver::apply() {
  // Another program's log keeps none of the engine's rules, nor does a replay; nothing in them is
  // continued.
  if ((s_.imported || s_.replay) && event_.payload_type() != Payload::OwnerAcquired &&
      event_.payload_type() != Payload::OwnerReleased) {
    return {};
  }
  if (is_of_compaction(s_, event_)) return on_compaction();
  switch (event_.payload_type()) {
    case Payload::OwnerAcquired:
      s_.epoch = event_.epoch();
      s_.owner = copy(event_.payload_as_OwnerAcquired()->owner());
      return {};
    case Payload::OwnerReleased:
      s_.owner.clear();
      return {};
    case Payload::SessionStarted:
      return on(*event_.payload_as_SessionStarted());
    case Payload::PolicyChanged:
      return on(*event_.payload_as_PolicyChanged());
    case Payload::TurnStarted:
      return on(*event_.payload_as_TurnStarted());
    case Payload::TurnEnded:
      return on(*event_.payload_as_TurnEnded());
    case Payload::ModelRequested:
      return on(*event_.payload_as_ModelRequested());
    case Payload::ModelResponded:
      return on(*event_.payload_as_ModelResponded());
    case Payload::ModelFailed:
      return on(*event_.payload_as_ModelFailed());
    case Payload::ModelAbandoned:
      return on(*event_.payload_as_ModelAbandoned());
    case Payload::ToolDecided:
      return on(*event_.payload_as_ToolDecided());
    case Payload::ToolDispatched:
      return on(*event_.payload_as_ToolDispatched());
    case Payload::ToolCompleted:
      return on(*event_.payload_as_ToolCompleted());
    case Payload::ToolOutcomeUnknown:
      return on(*event_.payload_as_ToolOutcomeUnknown());
    case Payload::ToolReconciled:
      return on(*event_.payload_as_ToolReconciled());
    case Payload::ApprovalRequested:
      return on(*event_.payload_as_ApprovalRequested());
    case Payload::ApprovalDecided:
      return on(*event_.payload_as_ApprovalDecided());
    case Payload::ApprovalCleared:
      return on(*event_.payload_as_ApprovalCleared());
    case Payload::SessionImported:
      return on(*event_.payload_as_SessionImported());
    case Payload::ReplayStarted:
      if (s_.turn->number != 0) return refuse("the session has turns");
      s_.replay = true;
      return {};
    case Payload::NoticeAdded:
    case Payload::RateLimitObserved:
    case Payload::ImportedLine:
    case Payload::CompactionStarted:
    case Payload::CompactionAttempted:
    case Payload::CompactionCommitted:
    case Payload::CompactionCancelled:
    case Payload::CompactionFailed:
    case Payload::ReplayAttempted:
    case Payload::NONE:
      return {};
  }
  // A kind that this build does not know: kept in the journal, without meaning here.
  return {};
}

}  // namespace

SessionState empty_state() {
  SessionState state;
  state.hash = std::make_unique<schema::Digest>();
  state.policy = std::make_unique<schema::PolicyStateT>();
  state.turn = std::make_unique<schema::TurnStateT>();
  state.request = std::make_unique<schema::RequestStateT>();
  state.compaction = std::make_unique<schema::CompactionStateT>();
  return state;
}

Result<void> evolve(SessionState& state, const schema::Event& event,
                    std::span<const std::byte> bytes) {
  if (event.version() != state.version + 1) {
    return fail(ErrorCode::corrupt,
                fmt::format("session {}: version {} follows version {}", text_of(event.session()),
                            event.version(), state.version));
  }
  if (Digest::from(event.prev_hash()) != state_hash(state)) {
    return fail(ErrorCode::corrupt, fmt::format("session {}, version {}: the hash chain is broken",
                                                text_of(event.session()), event.version()));
  }
  if (event.epoch() < state.epoch) {
    return fail(ErrorCode::corrupt, fmt::format("session {}, version {}: written under a fenced "
                                                "epoch",
                                                text_of(event.session()), event.version()));
  }
  DAYBOOK_TRY(Evolver(state, event).apply());
  if (state.version == 0) {
    state.session = copy(event.session());
    state.started_at = event.recorded_at();
  }
  state.version = event.version();
  state.last_at = event.recorded_at();
  *state.hash = hash_of_event(bytes).fb();
  return {};
}

std::string pack_state(const SessionState& state) {
  flatbuffers::FlatBufferBuilder builder(4096);
  schema::FinishSessionStateBuffer(builder, schema::SessionState::Pack(builder, &state));
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

Result<SessionState> unpack_state(std::string_view bytes) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  flatbuffers::Verifier verifier(data, bytes.size(), 64, 1U << 30);
  if (bytes.size() < 8 || !schema::VerifySessionStateBuffer(verifier)) {
    return fail(ErrorCode::corrupt, "not a checkpoint of a session's state");
  }
  SessionState state;
  schema::GetSessionState(data)->UnPackTo(&state);
  if (!state.hash || !state.policy || !state.turn || !state.request || !state.compaction) {
    return fail(ErrorCode::corrupt, "a checkpoint of a session's state lacks a part");
  }
  return state;
}

const CallState* find_call(const SessionState& state, std::string_view call_id) {
  for (const auto& call : state.calls) {
    if (call->call_id == call_id) return call.get();
  }
  return nullptr;
}

}  // namespace daybook::engine
