#include "tests/support/story.h"

#include <stdexcept>

namespace daybook::tests {
namespace {

void must(const Result<void>& result) {
  if (!result) throw std::logic_error("the story cannot be told: " + result.error().message);
}

std::unique_ptr<schema::ContentT> content(const std::string& text) {
  auto made = std::make_unique<schema::ContentT>();
  made->bytes.assign(text.begin(), text.end());
  return made;
}

std::string rendered(const schema::PendingMessageT& message) {
  std::string bytes;
  const auto add = [&](const std::unique_ptr<schema::ContentT>& each) {
    if (each) bytes.append(each->bytes.begin(), each->bytes.end());
  };
  add(message.text);
  for (const auto& block : message.blocks) add(block->text);
  for (const auto& result : message.results) add(result->text);
  return bytes;
}

}  // namespace

Story::Story(const std::string& name)
    : writer_(*SessionId::parse(name), {}, [tick = std::uint64_t{0}]() mutable {
        ++tick;
        return journal::Stamp{static_cast<std::int64_t>(tick) * 1'000'000, tick, tick};
      }) {
  using executor::Risk;
  using schema::Effect;
  tools = {{"read_file", {Risk::read, Effect::read_only}},
           {"grep", {Risk::read, Effect::read_only}},
           {"write_file", {Risk::write_local, Effect::checked}},
           {"run_shell", {Risk::exec, Effect::uncheckable}}};
}

Result<void> Story::take(journal::Batch batch) {
  const bool first = state.version == 0;
  const journal::Append append =
      first ? writer_.acquire(std::move(batch)) : writer_.next(std::move(batch));
  for (const auto& bytes : append.events) DAYBOOK_TRY(take_bytes(bytes));
  return {};
}

Result<void> Story::take_bytes(const std::string& bytes) {
  auto event = view_event(as_bytes(bytes));
  if (!event) return fail(std::move(event.error()));
  DAYBOOK_TRY(engine::evolve(state, **event, as_bytes(bytes)));
  events.push_back(bytes);
  return {};
}

void Story::start(schema::ApprovalMode mode, std::uint32_t max_iterations,
                  const std::string& prompt) {
  if (state.version == 0) {
    schema::OwnerAcquiredT owner;
    owner.owner = "a test";
    must(tell(std::move(owner)));
    schema::SessionStartedT started;
    started.agent = "cowork";
    started.workspace = "/workspace";
    must(tell(std::move(started)));
    schema::PolicyChangedT policy;
    policy.generation = 1;
    policy.mode = mode;
    must(tell(std::move(policy)));
  }
  schema::TurnStartedT turn;
  turn.turn = state.turn->number + 1;
  turn.prompt = content(prompt);
  turn.provider = "script";
  turn.provider_kind = "script";
  turn.model = "m";
  turn.max_iterations = max_iterations;
  must(tell(std::move(turn)));
}

void Story::end_turn() {
  schema::TurnEndedT ended;
  ended.turn = state.turn->number;
  must(tell(std::move(ended)));
}

void Story::answer_calls(const std::string& result) {
  std::vector<std::string> ids;
  for (const auto& call : state.calls) ids.push_back(call->call_id);
  for (const auto& id : ids) {
    must(decide(id, schema::Decision::allow));
    must(dispatch(id));
    must(complete(id, result));
  }
}

void Story::request(std::uint64_t body_size) {
  schema::ModelRequestedT requested;
  requested.request = state.request->responses + 1;
  requested.attempt = state.request->attempts + 1;
  requested.provider_kind = "script";
  requested.base = state.request->version;
  requested.shared = static_cast<std::uint32_t>(state.request->messages.size());
  for (const auto& message : state.pending) {
    const std::string bytes = rendered(*message);
    requested.appended.emplace_back(BlobRef::of(bytes).fb());
  }
  requested.body_size = body_size;
  must(tell(std::move(requested)));
}

void Story::respond_text(const std::string& text, schema::StopReason stop,
                         std::unique_ptr<schema::UsageT> usage) {
  schema::ModelRespondedT responded;
  responded.usage = std::move(usage);
  responded.stop = stop;
  if (!text.empty()) {
    auto& block = responded.blocks.emplace_back(std::make_unique<schema::BlockT>());
    block->text = content(text);
  }
  must(tell(std::move(responded)));
}

void Story::respond_calls(const std::vector<Call>& calls) {
  schema::ModelRespondedT responded;
  responded.stop = schema::StopReason::tool_calls;
  auto number = state.calls_made;
  for (const auto& call : calls) {
    auto& block = responded.blocks.emplace_back(std::make_unique<schema::BlockT>());
    block->kind = schema::BlockKind::tool_call;
    block->call_id = "call-" + std::to_string(++number);
    block->tool = call.tool;
    block->text = content(call.arguments);
    block->arguments_state = call.state;
    if (call.state != schema::ArgumentsState::valid) block->arguments_error = "why";
  }
  must(tell(std::move(responded)));
}

void Story::fail_model(schema::FailureKind kind, std::int64_t retry_at) {
  schema::ModelFailedT failed;
  failed.kind = kind;
  failed.message = "the provider's words";
  failed.retry_at = retry_at;
  must(tell(std::move(failed)));
}

Result<void> Story::decide(const std::string& call_id, schema::Decision decision,
                           const std::string& by) {
  schema::ToolDecidedT decided;
  decided.call_id = call_id;
  if (const auto* call = engine::find_call(state, call_id)) {
    decided.arguments_digest = std::make_unique<schema::Digest>(*call->arguments_digest);
  }
  decided.decision = decision;
  decided.decided_by = by;
  if (decision != schema::Decision::allow) decided.result = content("not run");
  return tell(std::move(decided));
}

Result<void> Story::dispatch(const std::string& call_id, schema::Effect effect) {
  schema::ToolDispatchedT dispatched;
  dispatched.call_id = call_id;
  const auto* call = engine::find_call(state, call_id);
  dispatched.attempt = call == nullptr ? 1 : call->attempt + 1;
  dispatched.effect = effect;
  return tell(std::move(dispatched));
}

Result<void> Story::complete(const std::string& call_id, const std::string& result) {
  schema::ToolCompletedT completed;
  completed.call_id = call_id;
  completed.result = content(result);
  return tell(std::move(completed));
}

engine::Step Story::next(const engine::Signals& signals, const engine::Limits& limits) const {
  return engine::next(state, tools, signals, limits);
}

}  // namespace daybook::tests
