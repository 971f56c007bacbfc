#include "tools/log_messages.h"

#include "schema/json.h"
#include "tools/log_claude_lines.h"

namespace daybook::tools {

void MessageSession::system(std::string_view raw) {
  if (!reading_.usage_only()) system_.push_back(reading_.sink().blob(raw));
}

void MessageSession::prompt(const std::string& text, std::string_view raw,
                            const std::string& stable_id, Origin& origin) {
  log_.lead().line(origin.at());
  if (!reading_.usage_only()) {
    unknown_outcomes();
    if (last_was_final_) {
      log_.end_turn(schema::TurnOutcome::completed, last_answer_, "", last_origin_);
    }
    messages_.push_back(reading_.sink().blob(raw));
  }
  log_.start_turn(text, origin, stable_id);
}

void MessageSession::answer(const LogAnswer& answer, std::string_view raw, Origin& origin) {
  ++reading_.report().calls;
  if (reading_.usage_only()) {
    replay::Call call;
    call.session = log_.call_session();
    call.id = log_id(reading_, "response", answer.stable_id);
    call.version = log_.next_call_version();
    call.provider = answer.provider;
    call.requested_model = answer.model;
    call.started_at = answer.at;
    call.ended_at = answer.at;
    call.start_exact = false;
    call.not_before = log_.lead().take();
    call.usage = answer.usage;
    call.stop = answer.calls.empty() ? schema::StopReason::end : schema::StopReason::tool_calls;
    for (const LogToolCall& one : answer.calls) call.tools_called.push_back(one.tool);
    reading_.sink().call(std::move(call));
    return;
  }
  unknown_outcomes();
  add_call(answer, origin);
  messages_.push_back(reading_.sink().blob(raw));
  last_answer_ = answer.text;
  last_was_final_ = answer.calls.empty();
  last_origin_ = origin;
}

void MessageSession::add_call(const LogAnswer& answer, Origin& origin) {
  schema::ModelRequestedT requested;
  requested.attempt = 1;
  requested.provider = answer.provider;
  requested.model = answer.model;
  std::string head = "\"model\":";
  append_json_string(head, answer.model);
  requested.head = reading_.sink().content(head);
  requested.evidence = schema::Evidence::rebuilt;
  requested.shared = static_cast<std::uint32_t>(shared_);
  requested.base = shared_ == 0 ? 0 : base_;
  for (std::size_t i = shared_; i < messages_.size(); ++i) {
    requested.appended.emplace_back(messages_[i].fb());
  }
  if (requested.base == 0) {
    for (const BlobRef& part : system_) requested.system.emplace_back(part.fb());
  }
  EventDraft request = draft(std::move(requested), log_.turn());
  request.id = log_id(reading_, "request", answer.stable_id);
  request.provenance = origin.place();

  schema::ModelRespondedT responded;
  if (!answer.reasoning.empty()) {
    auto& block = responded.blocks.emplace_back(std::make_unique<schema::BlockT>());
    block->kind = schema::BlockKind::reasoning;
    block->text = reading_.sink().content(answer.reasoning);
  }
  if (!answer.text.empty()) {
    auto& block = responded.blocks.emplace_back(std::make_unique<schema::BlockT>());
    block->text = reading_.sink().content(answer.text);
  }
  std::vector<EventDraft> dispatches;
  for (const LogToolCall& call : answer.calls) {
    auto& block = responded.blocks.emplace_back(std::make_unique<schema::BlockT>());
    block->kind = schema::BlockKind::tool_call;
    block->call_id = call.id;
    block->tool = call.tool;
    block->text = reading_.sink().content(call.arguments);
    if (call.id.empty() || !open_calls_.emplace(call.id, origin).second) continue;
    schema::ToolDispatchedT dispatched;
    dispatched.call_id = call.id;
    dispatched.tool = call.tool;
    dispatched.attempt = 1;
    dispatched.arguments_digest = std::make_unique<schema::Digest>(Digest::of(call.arguments).fb());
    dispatched.effect = schema::Effect::uncheckable;
    dispatched.provider = "log";
    EventDraft event = draft(std::move(dispatched), log_.turn());
    event.id = log_id(reading_, "dispatch", log_.id() + "/" + call.id);
    event.provenance = origin.place();
    dispatches.push_back(std::move(event));
  }
  responded.stop = answer.calls.empty() ? schema::StopReason::end : schema::StopReason::tool_calls;
  responded.usage = usage_event(answer.usage, answer.usage_raw);
  responded.started_at = answer.at;
  responded.ended_at = answer.at;
  EventDraft response = draft(std::move(responded), log_.turn());
  response.id = log_id(reading_, "response", answer.stable_id);
  response.provenance = origin.take();
  base_ = log_.add_call(std::move(request), std::move(response), std::move(dispatches));
  shared_ = messages_.size();
}

void MessageSession::result(const std::string& call_id, std::string_view text, std::string_view raw,
                            Origin& origin) {
  log_.lead().line(origin.at());
  if (reading_.usage_only()) return;
  messages_.push_back(reading_.sink().blob(raw));
  if (open_calls_.erase(call_id) == 0 || !answered_.insert(call_id).second) {
    log_.keep("result", schema::ImportReason::metadata, "the result of a call that is not here",
              origin);
    return;
  }
  schema::ToolCompletedT completed;
  completed.call_id = call_id;
  completed.result = reading_.sink().content(text);
  log_.add(std::move(completed), origin, "result", log_.id() + "/" + call_id);
}

void MessageSession::unknown_outcomes() {
  for (const auto& [id, origin] : open_calls_) {
    schema::ToolOutcomeUnknownT unknown;
    unknown.call_id = id;
    unknown.reason = "the log holds no result";
    EventDraft event = draft(std::move(unknown), log_.turn());
    event.id = log_id(reading_, "unknown", log_.id() + "/" + id);
    event.provenance = origin.place();
    log_.add(std::move(event));
  }
  open_calls_.clear();
}

void MessageSession::finish() {
  if (reading_.usage_only()) return;
  if (reading_.options().final) unknown_outcomes();
  if (last_was_final_) {
    log_.end_turn(schema::TurnOutcome::completed, last_answer_, "", last_origin_);
  }
  log_.finish();
}

}  // namespace daybook::tools
