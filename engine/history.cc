#include "engine/history.h"

#include <algorithm>

#include "engine/state_compaction.h"

namespace daybook::engine {
namespace {

std::unique_ptr<schema::ContentT> copy(const schema::Content* content) {
  return content == nullptr ? nullptr : std::unique_ptr<schema::ContentT>(content->UnPack());
}

/// Puts messages together from events, without the fold's checks: the events were folded once.
class Collector {
 public:
  explicit Collector(const std::function<bool(PastMessage&)>& visit) : visit_(visit) {}

  /// False: the visitor wants no more.
  bool take(const schema::Event& event);

 private:
  struct Call {
    std::string id;
    std::unique_ptr<schema::PendingResultT> result;
    bool answered = false;
  };

  PastMessage message(const schema::Event& event, schema::MessageRole role, std::uint64_t first) {
    PastMessage made;
    made.role = role;
    made.mark = std::make_unique<schema::ViewMark>(first, event.turn(), role, false);
    return made;
  }
  bool answer(const schema::Event& event, const flatbuffers::String* call_id,
              const schema::Content* result, bool is_error);
  bool responded(const schema::Event& event, const schema::ModelResponded& e);
  bool prompted(const schema::Event& event, const schema::TurnStarted& e);

  const std::function<bool(PastMessage&)>& visit_;
  std::vector<Call> calls_;
  std::uint64_t request_ = 0;
  std::string kind_;
  bool of_summariser_ = false;
};

bool Collector::prompted(const schema::Event& event, const schema::TurnStarted& e) {
  if (e.prompt() == nullptr) return true;
  PastMessage user = message(event, schema::MessageRole::user, event.version());
  user.text = copy(e.prompt());
  return visit_(user);
}

bool Collector::responded(const schema::Event& event, const schema::ModelResponded& e) {
  if (of_summariser_) return true;
  PastMessage answer = message(event, schema::MessageRole::assistant, request_);
  answer.provider_kind = kind_;
  calls_.clear();
  if (e.blocks() != nullptr) {
    for (const auto* block : *e.blocks()) {
      answer.blocks.emplace_back(block->UnPack());
      if (block->kind() != schema::BlockKind::tool_call) continue;
      auto result = std::make_unique<schema::PendingResultT>();
      result->provider_call_id = std::string(text_of(block->provider_call_id()));
      result->tool = std::string(text_of(block->tool()));
      calls_.push_back({std::string(text_of(block->call_id())), std::move(result), false});
    }
  }
  return visit_(answer);
}

bool Collector::answer(const schema::Event& event, const flatbuffers::String* call_id,
                       const schema::Content* result, bool is_error) {
  const auto found = std::find_if(calls_.begin(), calls_.end(), [&](const Call& call) {
    return call.id == text_of(call_id) && !call.answered;
  });
  if (found == calls_.end()) return true;
  found->result->text = copy(result);
  found->result->is_error = is_error;
  found->answered = true;
  if (!std::all_of(calls_.begin(), calls_.end(), [](const Call& c) { return c.answered; })) {
    return true;
  }
  PastMessage results = message(event, schema::MessageRole::tool, event.version());
  for (Call& call : calls_) results.results.push_back(std::move(call.result));
  calls_.clear();
  return visit_(results);
}

bool Collector::take(const schema::Event& event) {
  if (const auto* e = event.payload_as_TurnStarted()) return prompted(event, *e);
  if (const auto* e = event.payload_as_ModelRequested()) {
    of_summariser_ = text_of(e->lineage()) == kSummaryLineage;
    if (of_summariser_) return true;
    request_ = event.version();
    kind_ = std::string(text_of(e->provider_kind()));
    return true;
  }
  if (const auto* e = event.payload_as_ModelResponded()) return responded(event, *e);
  if (const auto* e = event.payload_as_ToolDecided()) {
    return e->decision() == schema::Decision::allow ||
           answer(event, e->call_id(), e->result(), true);
  }
  if (const auto* e = event.payload_as_ToolCompleted()) {
    return answer(event, e->call_id(), e->result(), e->is_error());
  }
  if (const auto* e = event.payload_as_ToolReconciled()) {
    return e->outcome() == schema::Reconciliation::retry ||
           answer(event, e->call_id(), e->result(),
                  e->outcome() == schema::Reconciliation::not_applied);
  }
  return true;
}

Result<Block> neutral_block(journal::Journal& journal, const schema::BlockT& from) {
  Block block;
  block.kind = from.kind;
  auto text = journal::content_bytes(journal, from.text.get());
  if (!text) return fail(std::move(text.error()));
  block.text = std::move(*text);
  auto opaque = journal::content_bytes(journal, from.opaque.get());
  if (!opaque) return fail(std::move(opaque.error()));
  block.opaque = std::move(*opaque);
  block.field = from.field;
  block.call_id = from.call_id;
  block.provider_call_id = from.provider_call_id;
  block.tool = from.tool;
  block.arguments_state = from.arguments_state;
  block.arguments_error = from.arguments_error;
  return block;
}

}  // namespace

Result<void> read_messages(journal::Journal& journal, const SessionId& session, std::uint64_t first,
                           std::uint64_t last, const std::function<bool(PastMessage&)>& visit) {
  Collector collector(visit);
  return journal.read(session, first, journal::ReadMode::strict, [&](const journal::Entry& entry) {
    return entry.version <= last && collector.take(*entry.event);
  });
}

Result<Message> neutral_message(journal::Journal& journal, const PastMessage& from,
                                std::string_view kind) {
  Message message;
  message.role = static_cast<Role>(from.role);
  auto text = journal::content_bytes(journal, from.text.get());
  if (!text) return fail(std::move(text.error()));
  message.text = std::move(*text);
  for (const auto& each : from.blocks) {
    const bool foreign = !kind.empty() && from.provider_kind != kind;
    if (each->kind == schema::BlockKind::reasoning && foreign) continue;
    auto block = neutral_block(journal, *each);
    if (!block) return fail(std::move(block.error()));
    message.blocks.push_back(std::move(*block));
  }
  for (const auto& each : from.results) {
    auto result = journal::content_bytes(journal, each->text.get());
    if (!result) return fail(std::move(result.error()));
    message.results.push_back(
        {each->provider_call_id, each->tool, std::move(*result), each->is_error});
  }
  return message;
}

}  // namespace daybook::engine
