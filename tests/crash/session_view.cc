#include "tests/crash/session_view.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "journal/rocks_journal.h"
#include "replay/requests.h"
#include "schema/json.h"

namespace daybook::tests {
namespace {

class Viewer {
 public:
  explicit Viewer(SessionView& view) : view_(view) {}

  void take(const schema::Event& event) {
    view_.version = event.version();
    if (const auto* e = event.payload_as_OwnerAcquired()) {
      view_.owners.insert(std::string(text_of(e->owner())));
    }
    if (event.payload_as_TurnStarted() != nullptr) view_.turn_open = true;
    if (const auto* e = event.payload_as_TurnEnded()) {
      view_.turn_open = false;
      view_.outcomes.emplace_back(schema::EnumNameTurnOutcome(e->outcome()));
    }
    if (const auto* e = event.payload_as_ModelResponded()) add_calls(*e);
    if (const auto* e = event.payload_as_ToolDecided()) {
      if (e->decision() != schema::Decision::allow) ++call(e->call_id()).outcomes;
    }
    if (const auto* e = event.payload_as_ToolDispatched()) {
      CallView& view = call(e->call_id());
      ++view.intents;
      view.open_intent = true;
      view.effect = e->effect();
    }
    if (const auto* e = event.payload_as_ToolCompleted()) completed(*e);
    if (const auto* e = event.payload_as_ToolOutcomeUnknown()) {
      CallView& view = call(e->call_id());
      view.unknown = view.ever_unknown = true;
    }
    if (const auto* e = event.payload_as_ToolReconciled()) reconciled(*e, event.version());
  }

 private:
  CallView& call(const flatbuffers::String* id) {
    const auto found = view_.calls.find(std::string(text_of(id)));
    if (found != view_.calls.end()) return found->second;
    view_.faults.push_back(fmt::format("an event about the unknown call '{}'", text_of(id)));
    return view_.calls[std::string(text_of(id))];
  }

  void add_calls(const schema::ModelResponded& event) {
    if (event.blocks() == nullptr) return;
    for (const auto* block : *event.blocks()) {
      if (block->kind() != schema::BlockKind::tool_call) continue;
      const std::string id(text_of(block->call_id()));
      if (view_.calls.contains(id)) view_.faults.push_back("the id of " + id + " is used twice");
      view_.calls[id].tool = text_of(block->tool());
    }
  }

  void completed(const schema::ToolCompleted& event) {
    CallView& view = call(event.call_id());
    if (!view.open_intent) view_.faults.emplace_back("a receipt without an intent");
    ++view.outcomes;
    view.open_intent = false;
    view.settled_by_hashes = event.settled_by() == schema::SettledBy::file_hashes;
    view.receipt_exit = schema::EnumNameExitKind(event.receipt()->exit());
  }

  void reconciled(const schema::ToolReconciled& event, std::uint64_t version) {
    CallView& view = call(event.call_id());
    view.unknown = view.open_intent = false;
    if (event.outcome() == schema::Reconciliation::retry) {
      ++view.retries;
    } else {
      ++view.outcomes;
      view.lost = event.outcome() == schema::Reconciliation::not_applied;
      if (view_.told_at == 0) view_.told_at = version;
    }
  }

  SessionView& view_;
};

}  // namespace

SessionView view_session(const std::string& journal_folder, const std::string& session) {
  SessionView view;
  auto journal =
      journal::open_rocks_journal({journal_folder, journal::OpenMode::read_only, "", {}, {}});
  if (!journal) {
    if (journal.error().code != ErrorCode::not_found)
      view.faults.push_back(journal.error().message);
    return view;
  }
  const SessionId id = SessionId::parse(session).value();
  Viewer viewer(view);
  auto read = (*journal)->read(id, 1, journal::ReadMode::strict, [&](const auto& entry) {
    viewer.take(*entry.event);
    return true;
  });
  if (!read) view.faults.push_back(read.error().message);
  auto rebuilt = replay::rebuild_requests(**journal, id, [&](const auto& request) {
    if (!request.identical || request.first_difference != -1) {
      view.faults.push_back(fmt::format("request {} is rebuilt otherwise", request.request));
    }
    view.requests.push_back({request.version, request.request, request.body});
    return true;
  });
  if (!rebuilt) view.faults.push_back(rebuilt.error().message);
  return view;
}

std::string pairing_fault(const std::string& body) {
  const auto request = parse_json(body);
  if (!request) return request.error().message;
  std::vector<std::string> open;  // tools whose results must come next
  for (const auto& message : (*request)["messages"]) {
    std::vector<std::string> answered;
    if (message["role"] == "tool") {
      for (const auto& result : message["results"]) answered.push_back(result["tool"]);
    }
    if (answered != open) return fmt::format("results do not follow their calls: {}", body);
    open.clear();
    if (message["role"] != "assistant") continue;
    for (const auto& block : message["blocks"]) {
      if (block.contains("tool")) open.push_back(block["tool"]);
    }
  }
  return open.empty() ? "" : "a request ends with open calls: " + body;
}

}  // namespace daybook::tests
