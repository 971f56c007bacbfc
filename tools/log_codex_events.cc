// The calls of a Codex thread: figures joined with the items they belong to.
#include <fmt/format.h>

#include <algorithm>

#include "schema/json.h"
#include "tools/log_claude_lines.h"
#include "tools/log_codex_thread.h"

namespace daybook::tools {
namespace {

void add_member(std::string& out, std::string_view key, std::string_view value) {
  if (value.empty()) return;
  if (!out.empty()) out += ',';
  append_json_string(out, key);
  out += ':';
  append_json_string(out, value);
}

/// The call's arguments as the model wrote them.
std::string arguments_of(JsonSpan item) {
  if (item["arguments"].is_string()) return item["arguments"].text();
  if (item["input"].is_string()) return item["input"].text();
  return std::string(item["action"].raw());
}

}  // namespace

/// Figures wait until the next response begins: a record may still confirm them.
void CodexThread::count(CodexCount count, const CodexLine& line, Origin& origin) {
  if (counted_) flush();
  Counted& made = counted_.emplace(Counted{});
  made.count = std::move(count);
  made.at = line.at;
  made.model = model_;
  if (open_) {
    made.response = std::move(*open_);
    open_.reset();
  } else {
    made.response.first_at = line.at;
    made.response.not_before = log_.lead().take();
    made.response.slot = messages_.size();
    if (!reading_.usage_only()) log_.hold();
  }
  made.origin = origin;
}

void CodexThread::flush() {
  if (open_ && !counted_) {
    // Items that no figures followed: what they used is not known.
    Counted& made = counted_.emplace(Counted{});
    made.response = std::move(*open_);
    open_.reset();
    made.at = made.response.last_at;
    made.model = model_;
    made.count.authority = schema::Authority::exact;
    const bool grows = !figures_may_come(made.at) && made.response.ends.size() > 1;
    const std::string_view named =
        grows ? made.response.item(0).raw() : std::string_view(made.response.raw);
    made.count.key = "items/" + Digest::of(named).hex();
    if (grows && !reading_.usage_only()) {
      // It may have been imported with its first items alone: it has their name, and another line.
      log_.keep("response", schema::ImportReason::metadata, "a part of a response",
                made.response.origin);
      made.response.origin = made.response.last_origin;
    }
  }
  if (!counted_) return;
  emit(*counted_);
  spare_ = std::move(counted_->response);
  counted_.reset();
}

replay::CallUsage CodexThread::usage_of(const Counted& counted) {
  replay::CallUsage usage = counted.count.tokens.usage();
  usage.authority = counted.count.authority;
  // One item may stand for several searches.
  usage.web_searches = counted.response.searches;
  usage.searches_open = usage.web_searches.has_value();
  return usage;
}

void CodexThread::emit(Counted& counted) {
  std::string stable_id;
  stable_id.reserve(id().size() + 1 + counted.count.key.size());
  stable_id.append(id()).append("/").append(counted.count.key);
  const bool recorded = counted.count.key == counted.count.record;
  const std::uint64_t occurrence = recorded ? 0 : reading_.occurrence(stable_id);
  if (occurrence != 0) stable_id += fmt::format("#{}", occurrence);
  ++reading_.report().calls;
  const bool compaction = compactions_.contains(counted.count.response_id);
  std::string lineage = compaction ? "compaction" : "";
  if (!reading_.usage_only()) {
    emit_events(counted, stable_id, lineage);
    return;
  }
  replay::Call call;
  call.session = log_.call_session();
  call.id = log_id(reading_, "response", stable_id);
  call.version = log_.next_call_version();
  call.lineage = std::move(lineage);
  call.provider = provider_;
  call.provider_kind = "openai-responses";
  call.requested_model = std::move(counted.model);
  call.started_at = counted.at;
  call.ended_at = counted.at;
  call.start_exact = false;
  call.not_before = counted.response.not_before;
  call.not_after = counted.response.first_at;
  // Items that no figures followed used something, too: it is not known, and not zero.
  const bool known = counted.count.tokens.billed() || !counted.count.response_id.empty();
  call.response_id = std::move(counted.count.response_id);
  if (known) call.usage = usage_of(counted);
  call.usage.authority = counted.count.authority;
  if (known) call.usage.service_tier = tier_;
  call.after_compaction = after_compaction_ && !compaction;
  if (!compaction) {
    after_compaction_ = false;
    call.goes_on_from = std::exchange(goes_on_from_, {});
  }
  call.stop =
      counted.response.tools.empty() ? schema::StopReason::end : schema::StopReason::tool_calls;
  call.tools_called = std::move(counted.response.tools);
  if (counted.count.record.empty()) {
    reading_.sink().call(std::move(call));
  } else {
    held_.push_back({std::move(counted.count.record), std::move(call)});
  }
}

/// Responses whose records cannot be used are calls without figures.
void CodexThread::give_held() {
  for (HeldCall& held : held_) {
    if (unusable_.contains(held.record)) held.call.usage = {};
    reading_.sink().call(std::move(held.call));
  }
  held_.clear();
}

schema::ModelRequestedT CodexThread::request_of(const Counted& counted,
                                                const std::string& lineage) {
  schema::ModelRequestedT requested;
  requested.attempt = 1;
  requested.provider = provider_;
  requested.provider_kind = "openai-responses";
  requested.model = counted.model;
  requested.lineage = lineage;
  std::string head;
  add_member(head, "model", counted.model);
  add_member(head, "service_tier", tier_);
  if (!effort_.empty()) {
    std::string reasoning;
    add_member(reasoning, "effort", effort_);
    head += (head.empty() ? "" : ",") + (R"("reasoning":{)" + reasoning) + "}";
  }
  requested.head = reading_.sink().content(head);
  if (!lineage.empty()) {
    requested.evidence = schema::Evidence::usage_only;
    return requested;
  }
  requested.evidence = schema::Evidence::rebuilt;
  const std::size_t count = std::min(counted.response.slot, messages_.size());
  requested.shared = static_cast<std::uint32_t>(std::min(shared_, count));
  requested.base = requested.shared == 0 ? 0 : base_;
  for (std::size_t i = requested.shared; i < count; ++i) {
    requested.appended.emplace_back(messages_[i].fb());
  }
  if (requested.base == 0 && !instructions_.empty()) {
    requested.system.emplace_back(reading_.sink().blob(instructions_).fb());
  }
  return requested;
}

std::vector<std::unique_ptr<schema::BlockT>> CodexThread::blocks_of(const Response& response) {
  std::vector<std::unique_ptr<schema::BlockT>> blocks;
  for (std::size_t i = 0; i < response.ends.size(); ++i) {
    const JsonSpan item = response.item(i);
    auto block = std::make_unique<schema::BlockT>();
    if (item["type"].is("message") || item["type"].is("agent_message")) {
      block->kind = schema::BlockKind::text;
      block->text = reading_.sink().content(codex_text(item["content"]));
    } else if (is_codex_call(item)) {
      block->kind = schema::BlockKind::tool_call;
      block->call_id = item["call_id"].text();
      block->tool = codex_tool(item);
      block->text = reading_.sink().content(arguments_of(item));
    } else {
      block->kind = schema::BlockKind::reasoning;
      block->text = reading_.sink().content(codex_text(item["summary"]));
      block->opaque = reading_.sink().content(item.raw());
      block->field = item["type"].text();
    }
    blocks.push_back(std::move(block));
  }
  return blocks;
}

std::vector<EventDraft> CodexThread::dispatches_of(const Response& response, Origin& origin) {
  std::vector<EventDraft> made;
  for (std::size_t i = 0; i < response.ends.size(); ++i) {
    const JsonSpan item = response.item(i);
    const std::string call_id = item["call_id"].text();
    if (!is_codex_call(item) || call_id.empty() || !dispatched_.insert(call_id).second) continue;
    schema::ToolDispatchedT dispatched;
    dispatched.call_id = call_id;
    dispatched.tool = codex_tool(item);
    dispatched.attempt = 1;
    dispatched.arguments_digest =
        std::make_unique<schema::Digest>(Digest::of(arguments_of(item)).fb());
    dispatched.effect = schema::Effect::uncheckable;
    dispatched.provider = "log";
    EventDraft event = draft(std::move(dispatched), log_.turn());
    event.id = log_id(reading_, "dispatch", id() + "/" + call_id);
    event.provenance = origin.place();
    made.push_back(std::move(event));
    if (!answered_.contains(call_id)) calls_.emplace(call_id, origin);
  }
  return made;
}

void CodexThread::emit_events(Counted& counted, const std::string& stable_id,
                              const std::string& lineage) {
  Origin& items = counted.response.origin ? counted.response.origin : counted.origin;
  EventDraft request = draft(request_of(counted, lineage), log_.turn());
  request.id = log_id(reading_, "request", stable_id);
  request.provenance = items.place();

  schema::ModelRespondedT responded;
  responded.blocks = blocks_of(counted.response);
  responded.stop =
      counted.response.tools.empty() ? schema::StopReason::end : schema::StopReason::tool_calls;
  replay::CallUsage usage = usage_of(counted);
  usage.service_tier = tier_;
  const bool known = (counted.count.tokens.billed() || !counted.count.raw.empty()) &&
                     !unusable_.contains(counted.count.record);
  if (known) responded.usage = usage_event(usage, counted.count.raw);
  responded.response_id = counted.count.response_id;
  responded.started_at = counted.at;
  responded.ended_at = counted.at;
  EventDraft answer = draft(std::move(responded), log_.turn());
  answer.id = log_id(reading_, "response", stable_id);
  answer.provenance = items.take();

  const std::uint64_t position =
      log_.add_call(std::move(request), std::move(answer), dispatches_of(counted.response, items));
  if (lineage.empty()) {
    base_ = position;
    shared_ = std::min(counted.response.slot, messages_.size());
  }
  // The line with the figures is a line of its own when items stand for the response.
  if (counted.response.origin && counted.origin) {
    log_.keep("usage", schema::ImportReason::metadata, "the figures of a response", counted.origin);
  }
  log_.release();
}

// ------------------------------------------------------------------------------ tools

void CodexThread::complete(const std::string& call_id, std::string_view result, Origin& origin) {
  bool is_open = calls_.contains(call_id);
  const auto names_it = [&](const Response& response) {
    for (std::size_t i = 0; i < response.ends.size(); ++i) {
      const JsonSpan item = response.item(i);
      if (is_codex_call(item) && item["call_id"].text() == call_id) return true;
    }
    return false;
  };
  is_open = is_open || (open_ && names_it(*open_)) || (counted_ && names_it(counted_->response));
  if (!is_open || answered_.contains(call_id)) {
    log_.keep("response_item/output",
              is_open || answered_.contains(call_id) ? schema::ImportReason::duplicate
                                                     : schema::ImportReason::metadata,
              is_open ? "a second result of one call" : "the result of a call that is not here",
              origin);
    return;
  }
  calls_.erase(call_id);
  answered_.insert(call_id);
  schema::ToolCompletedT completed;
  completed.call_id = call_id;
  completed.result = reading_.sink().content(result);
  if (const auto end = ended_.find(call_id); end != ended_.end() && end->second.has_exit) {
    completed.receipt = std::make_unique<schema::ReceiptT>();
    completed.receipt->exit = schema::ExitKind::exited;
    completed.receipt->code = end->second.exit_code;
    completed.is_error = end->second.exit_code != 0;
  }
  log_.add(std::move(completed), origin, "result", id() + "/" + call_id);
}

void CodexThread::unknown_outcomes(Origin& origin) {
  for (auto& [call_id, from] : calls_) {
    const auto& place = origin ? origin : from;
    EventDraft event;
    if (const auto end = ended_.find(call_id); end != ended_.end()) {
      schema::ToolCompletedT completed;
      completed.call_id = call_id;
      completed.result = reading_.sink().content(end->second.output);
      completed.receipt = std::make_unique<schema::ReceiptT>();
      completed.receipt->exit = schema::ExitKind::exited;
      completed.receipt->code = end->second.exit_code;
      completed.is_error = end->second.exit_code != 0;
      event = draft(std::move(completed), log_.turn());
      event.id = log_id(reading_, "result", id() + "/" + call_id);
    } else {
      schema::ToolOutcomeUnknownT unknown;
      unknown.call_id = call_id;
      unknown.reason = "the log holds no result";
      event = draft(std::move(unknown), log_.turn());
      event.id = log_id(reading_, "unknown", id() + "/" + call_id);
    }
    event.provenance = place.place();
    log_.add(std::move(event));
  }
  calls_.clear();
}

/// Logs have figures since September 2025; those that show no sign of them are older.
bool CodexThread::figures_may_come(std::int64_t at) const {
  constexpr std::int64_t kFirstFigures = 1'757'116'800'000'000'000;  // 2025-09-06
  return at >= kFirstFigures || counter_.has_any() || explicit_turn_ || has_context_;
}

/// Items at the end of a log that goes on: their figures may come, and they are one call with
/// them.
bool CodexThread::waits() const {
  return !reading_.options().final && open_ && !counted_ && figures_may_come(open_->last_at);
}

void CodexThread::finish() {
  if (waits()) {
    log_.keep("response", schema::ImportReason::metadata, kWaitingLine, open_->origin);
    log_.set_aside(kWaitingLine);
    reading_.note("answers at the end of a log whose figures have not come yet: no calls so far");
  } else {
    flush();
  }
  if (reading_.usage_only()) {
    give_held();
    if (log_.next_call_version() == 1) reading_.note("sessions without token figures");
    return;
  }
  Origin none;
  if (reading_.options().final) unknown_outcomes(none);
  log_.finish();
}

}  // namespace daybook::tools
