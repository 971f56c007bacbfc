// The events of a Claude Code session, and the conversation that its requests are rebuilt from.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "engine/state_compaction.h"
#include "schema/json.h"
#include "tools/log_claude_session.h"

namespace daybook::tools {
namespace {

constexpr std::size_t kMostPersistedBytes = std::size_t{64} << 20;
constexpr std::string_view kPersisted = "<persisted-output";
constexpr std::string_view kInterrupted = "[Request interrupted by user";

void add_member(std::string& out, std::string_view key, std::string_view value) {
  if (value.empty()) return;
  if (!out.empty()) out += ',';
  append_json_string(out, key);
  out += ':';
  append_json_string(out, value);
}

std::string head_of(const std::string& model, const replay::CallUsage& usage) {
  std::string head;
  add_member(head, "model", model);
  add_member(head, "service_tier", usage.service_tier);
  add_member(head, "speed", usage.speed);
  add_member(head, "inference_geo", usage.region);
  return head;
}

schema::CacheTtl ttl_of(const replay::CallUsage& usage) {
  if (usage.cache_write_1h.value_or(0) > 0) return schema::CacheTtl::hour_1;
  if (usage.cache_write_5m.value_or(0) > 0) return schema::CacheTtl::minutes_5;
  return schema::CacheTtl::none;
}

/// A small file's bytes; nothing when it is not there or larger than `limit`.
std::optional<std::string> small_file(const std::string& path, std::size_t limit) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error || size > limit) return {};
  const auto source = open_bytes(path);
  if (!source) return {};
  std::string bytes(size, '\0');
  std::size_t have = 0;
  while (have < bytes.size()) {
    const auto got = (*source)->read(bytes.data() + have, bytes.size() - have);
    if (!got || *got == 0) break;
    have += *got;
  }
  bytes.resize(have);
  return bytes;
}

}  // namespace

// ------------------------------------------------------------------------------ requests

schema::ModelRequestedT ClaudeSession::request_of(const Response& response) const {
  schema::ModelRequestedT requested;
  requested.attempt = 1;
  requested.provider = claude_provider(response.model);
  requested.provider_kind = "anthropic";
  requested.model = response.model;
  requested.head = reading_.sink().content(head_of(response.model, response.usage));
  requested.marker_ttl = ttl_of(response.usage);
  if (is_pass(response)) {
    requested.lineage = engine::kSummaryLineage;
    requested.evidence = schema::Evidence::usage_only;
    return requested;
  }
  requested.evidence = schema::Evidence::rebuilt;
  const ClaudeBranches::Sent sent = branches_.sent(response.slot);
  requested.shared = static_cast<std::uint32_t>(sent.shared);
  requested.base = sent.shared == 0 ? 0 : base_;
  for (const BlobRef& message : sent.appended) requested.appended.emplace_back(message.fb());
  return requested;
}

std::vector<std::unique_ptr<schema::BlockT>> ClaudeSession::blocks_of(
    const Response& response) const {
  std::vector<std::unique_ptr<schema::BlockT>> blocks;
  for (const Part& part : response.parts) {
    const JsonSpan raw = JsonSpan::trusted(part.raw);
    const std::string type = raw["type"].text();
    auto block = std::make_unique<schema::BlockT>();
    if (type == "text") {
      block->kind = schema::BlockKind::text;
      block->text = reading_.sink().content(raw["text"].text());
    } else if (type == "tool_use") {
      block->kind = schema::BlockKind::tool_call;
      block->call_id = raw["id"].text();
      block->tool = raw["name"].text();
      block->text = reading_.sink().content(raw["input"].raw());
    } else {
      // Thinking, and what else only the provider reads.
      block->kind = schema::BlockKind::reasoning;
      block->text = reading_.sink().content(raw["thinking"].text());
      block->opaque = reading_.sink().content(raw.raw());
      block->field = type;
    }
    blocks.push_back(std::move(block));
  }
  return blocks;
}

std::vector<EventDraft> ClaudeSession::dispatches_of(const Response& response, Origin& origin) {
  std::vector<EventDraft> made;
  for (const Part& part : response.parts) {
    const JsonSpan raw = JsonSpan::trusted(part.raw);
    if (!raw["type"].is("tool_use")) continue;
    const std::string id = raw["id"].text();
    if (id.empty() || !dispatched_.insert(id).second) continue;
    schema::ToolDispatchedT dispatched;
    dispatched.call_id = id;
    dispatched.tool = raw["name"].text();
    dispatched.attempt = 1;
    dispatched.arguments_digest =
        std::make_unique<schema::Digest>(Digest::of(raw["input"].raw()).fb());
    dispatched.effect = schema::Effect::uncheckable;
    dispatched.provider = "log";
    EventDraft event = draft(std::move(dispatched), log_.turn());
    event.id = log_id(reading_, "dispatch", id);
    event.provenance = origin.place();
    made.push_back(std::move(event));
    if (!answered_.contains(id)) calls_.emplace(id, OpenCall{origin});
  }
  return made;
}

void ClaudeSession::emit_events(const Response& response, const std::string& stable_id,
                                Origin& origin) {
  EventDraft request = draft(request_of(response), log_.turn());
  request.id = log_id(reading_, "request", stable_id);
  request.provenance = origin.place();

  schema::ModelRespondedT responded;
  responded.blocks = blocks_of(response);
  responded.stop = claude_stop(response.stop);
  responded.stop_raw = response.stop;
  responded.usage = usage_event(response.usage, response.usage_raw);
  responded.response_id = response.id;
  responded.served_model = response.model;
  if (!response.diagnostics.empty()) {
    responded.diagnostics = reading_.sink().content(response.diagnostics);
  }
  responded.started_at = response.first_at;
  responded.ended_at = response.last_at;
  EventDraft answer = draft(std::move(responded), log_.turn());
  answer.id = log_id(reading_, "response", stable_id);
  answer.provenance = origin.take();

  const std::uint64_t position =
      log_.add_call(std::move(request), std::move(answer), dispatches_of(response, origin));
  if (!is_pass(response)) {
    base_ = position;
    branches_.set_sent(response.slot);
  }
}

/// The answer becomes a message that later requests begin with.
void ClaudeSession::store_answer(const Response& response) {
  if (reading_.usage_only()) return;
  std::string message = R"({"role":"assistant","content":[)";
  for (const Part& part : response.parts) {
    if (message.back() != '[') message += ',';
    message += part.raw;
  }
  message += "]}";
  branches_.set_answer(response.slot, reading_.sink().blob(message));
  last_answer_.clear();
  for (const Part& part : response.parts) {
    const JsonSpan raw = JsonSpan::trusted(part.raw);
    if (!raw["type"].is("text")) continue;
    if (!last_answer_.empty()) last_answer_ += '\n';
    last_answer_ += raw["text"].text();
  }
  last_ended_turn_ = response.stop == "end_turn" || response.stop == "stop_sequence";
}

// ------------------------------------------------------------------------------ conversation

void ClaudeSession::add_message(const ClaudeLine& line) {
  if (branches_.is_elsewhere(line.parent.raw())) {
    close();
    branches_.go_to(line.parent.raw());
  }
  branches_.append(reading_.sink().blob(line.message.raw()));
}

// ------------------------------------------------------------------------------ user lines

void ClaudeSession::user(const ClaudeLine& line, Origin& origin) {
  const JsonSpan content = line.message["content"];
  if (line.summary) {
    close();
    if (!compaction_) {
      start_compaction(line, origin);
    } else {
      log_.keep("user", schema::ImportReason::metadata, "the summary of a compaction", origin);
    }
    commit_compaction(claude_text(content));
    add_message(line);
    return;
  }
  bool results = false;
  content.items([&](JsonSpan block) { results = results || block["type"].is("tool_result"); });
  if (results) {
    add_message(line);
    content.items([&](JsonSpan block) {
      if (block["type"].is("tool_result")) tool_result(block, origin);
    });
    return;
  }
  const std::string text = claude_text(content);
  if (text.starts_with(kInterrupted) && log_.turn_open()) {
    close();
    add_message(line);
    log_.end_turn(schema::TurnOutcome::interrupted, "", text, origin);
    log_.keep("user", schema::ImportReason::metadata, "the turn was interrupted", origin);
    return;
  }
  const bool image = content.is_array() && text.empty();
  if (line.meta || (is_injected(text) && !image)) {
    add_message(line);
    log_.keep("user", schema::ImportReason::metadata, "context that the program added", origin);
    return;
  }
  Prompt written;
  written.text = text;
  written.message = line.message.raw();
  written.parent = line.parent.raw();
  written.uuid = line.uuid.raw();
  written.id = line.uuid.text();
  written.origin = origin;
  if (!open_) {
    prompt(std::move(written));
    return;
  }
  log_.name_by(text);
  queued_.push_back(std::move(written));
}

void ClaudeSession::prompt(Prompt prompt) {
  if (!at_end_ || reading_.options().final) unknown_outcomes(prompt.origin);
  commit_compaction("");
  branches_.go_on_from(prompt.parent);
  branches_.append(reading_.sink().blob(prompt.message));
  branches_.place(prompt.uuid);
  if (log_.turn_open() && last_ended_turn_) {
    log_.end_turn(schema::TurnOutcome::completed, last_answer_, "", last_origin_);
  }
  log_.start_turn(prompt.text, prompt.origin, prompt.id);
}

void ClaudeSession::tool_result(JsonSpan block, Origin& origin) {
  const std::string id = block["tool_use_id"].text();
  const bool open_part = open_ && std::ranges::any_of(open_->parts, [&](const Part& part) {
                           const JsonSpan raw = JsonSpan::trusted(part.raw);
                           return raw["type"].is("tool_use") && raw["id"].text() == id;
                         });
  if (answered_.contains(id)) {
    log_.keep("user", schema::ImportReason::duplicate, "a second result of one call", origin);
    return;
  }
  if (!open_part && !calls_.contains(id)) {
    log_.keep("user", schema::ImportReason::metadata, "the result of a call that is not here",
              origin);
    return;
  }
  calls_.erase(id);
  answered_.insert(id);
  schema::ToolCompletedT completed;
  completed.call_id = id;
  completed.is_error = block["is_error"].is_true();
  const std::string text = claude_text(block["content"]);
  completed.result =
      reading_.sink().content(text.empty() ? block["content"].raw() : std::string_view(text));
  completed.settled_by = schema::SettledBy::execution;
  if (text.starts_with(kPersisted)) attach_persisted(completed, id);
  log_.add(std::move(completed), origin, "result", id);
}

/// Long outputs lie in files of their own, which the program deletes: copied while they exist.
void ClaudeSession::attach_persisted(schema::ToolCompletedT& completed,
                                     const std::string& call_id) {
  if (call_id.find('/') != std::string::npos || !reading_.whole()) return;
  const std::filesystem::path log(reading_.source().path);
  const std::filesystem::path folder = log.parent_path() / log.stem() / "tool-results";
  auto bytes = small_file((folder / (call_id + ".txt")).string(), kMostPersistedBytes);
  if (!bytes) {
    reading_.note("outputs that were kept in files which are gone");
    return;
  }
  completed.full_output = std::make_unique<schema::BlobRef>(reading_.sink().blob(*bytes).fb());
  completed.spill_path = (folder / (call_id + ".txt")).string();
}

/// Calls that nothing answers before the conversation goes on: nobody knows what became of them.
void ClaudeSession::unknown_outcomes(Origin& origin) {
  for (auto& [id, call] : calls_) {
    schema::ToolOutcomeUnknownT unknown;
    unknown.call_id = id;
    unknown.reason = "the log holds no result";
    EventDraft event = draft(std::move(unknown), log_.turn());
    event.id = log_id(reading_, "unknown", id);
    event.provenance = origin ? origin.place() : call.origin.place();
    log_.add(std::move(event));
  }
  calls_.clear();
}

// ------------------------------------------------------------------------------ compaction

/// What its branch held before is no longer sent.
void ClaudeSession::start_compaction(const ClaudeLine& line, Origin& origin) {
  compaction_.emplace();
  compaction_->origin = origin;
  compaction_->uuid = line.uuid.text();
  branches_.go_to(line.logical_parent.raw());
  branches_.begin_anew();
}

void ClaudeSession::boundary(const ClaudeLine& line, Origin& origin) {
  close();
  const auto before = line.compact["preTokens"].count();
  const auto after = line.compact["postTokens"].count();
  if (reading_.usage_only()) {
    log_.lead().line(line.at);
    after_compaction_ = true;
    compacted_from_ = before;
    compacted_to_ = after;
    return;
  }
  commit_compaction("");
  start_compaction(line, origin);
  compaction_->event.trigger = line.compact["trigger"].text();
  if (before) compaction_->event.tokens_before = *before;
  if (after) compaction_->event.tokens_after = *after;
}

void ClaudeSession::commit_compaction(std::string_view summary) {
  if (!compaction_) return;
  if (!summary.empty()) compaction_->event.summary = reading_.sink().content(summary);
  Compaction done = std::move(*compaction_);
  compaction_.reset();
  log_.add(std::move(done.event), done.origin, "compaction", done.uuid);
}

void ClaudeSession::finish() {
  at_end_ = true;
  close();
  if (!reading_.usage_only()) {
    commit_compaction("");
    Origin none;
    if (reading_.options().final) unknown_outcomes(none);
    if (last_ended_turn_ && last_origin_) {
      log_.end_turn(schema::TurnOutcome::completed, last_answer_, "", last_origin_);
    }
    log_.finish();
  }
}

}  // namespace daybook::tools
