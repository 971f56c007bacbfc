#include "tools/log_claude_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engine/state_compaction.h"

namespace daybook::tools {
namespace {

/// A response whose lines never say why it ended, with no more output than this, shows the count
/// that its start was stamped with.
constexpr std::uint64_t kPlaceholderOutput = 8;

std::uint64_t hash_of(std::string_view text) {
  return xxh3_64(as_bytes(text));
}

/// Whether a string is that text; most need no escapes.
bool says(JsonSpan value, const std::string& text) {
  return value.is(text) || value.text() == text;
}

}  // namespace

ClaudeSession::ClaudeSession(LogReading& reading, std::string id, bool side, KnownResponses& known)
    : reading_(reading), log_(reading, std::move(id)), side_(side), known_(known) {}

// ------------------------------------------------------------------------------ responses

void ClaudeSession::assistant(const ClaudeLine& line, Origin& origin) {
  const ClaudeMessage message(line.message);
  if (line.api_error || message.model.is("<synthetic>")) {
    log_.keep("assistant", schema::ImportReason::metadata,
              line.api_error ? "an error shown as an answer: no model call"
                             : "made by the program: no model call",
              origin);
    return;
  }
  const JsonSpan id = message.id.is_string() ? message.id : line.uuid;
  if (id.written().empty()) {
    log_.keep("assistant", schema::ImportReason::unmapped, "has neither message.id nor uuid",
              origin);
    return;
  }
  if (open_ && says(id, open_->id)) {
    if (open_->request.empty() || line.request.written().empty() ||
        says(line.request, open_->request)) {
      absorb(line, message, origin);
      return;
    }
  }
  close();
  open(line, id.text());
  absorb(line, message, origin);
}

void ClaudeSession::open(const ClaudeLine& line, std::string id) {
  // A copy that another session has open counts first: it came first.
  const auto [other, fresh] = known_.open.try_emplace(hash_of(id), this);
  if (!fresh) {
    ClaudeSession* holder = other->second;
    holder->close();
    known_.open[hash_of(id)] = this;
  }
  ClaudeBranches::Slot slot;
  if (!reading_.usage_only()) {
    Origin none;
    unknown_outcomes(none);
    branches_.go_on_from(line.parent.raw());
    commit_compaction("");
    slot = branches_.open_answer();
    log_.hold();
  }
  Response& response = open_.emplace(Response{});
  response.id = std::move(id);
  response.request = line.request.text();
  response.first_at = line.at;
  response.not_before = log_.lead().take();
  response.slot = slot;
}

/// Of the lines of one response the one with the most output counts whole; its first line dates
/// it.
void ClaudeSession::absorb(const ClaudeLine& line, const ClaudeMessage& message, Origin& origin) {
  Response& response = *open_;
  if (response.request.empty()) response.request = line.request.text();
  if (response.first_at == 0) response.first_at = line.at;
  response.last_at = std::max(response.last_at, line.at);
  response.offset = line.offset;
  const bool ended = message.stop_reason.is_string();
  Figures figures;
  replay::CallUsage usage = claude_usage(message.usage, figures);
  if (!figures.wrong().empty()) reading_.damaged(line.offset, figures.wrong());
  const std::uint64_t output = usage.output.value_or(0);
  const bool better = !response.has_usage || output >= response.output;
  if (usage.any() && better) {
    response.has_usage = true;
    response.output = output;
    response.usage = std::move(usage);
    // Of figures alone only the passes in it are looked at again, and few have any.
    const std::string_view raw = message.usage.raw();
    const bool needed = !reading_.usage_only() || raw.find("\"iterations\"") != raw.npos;
    response.usage_raw = needed ? raw : std::string_view();
  }
  if (better) response.model = message.model.text();
  // The latest line stands for the response: with a later one it is another state of it.
  std::swap(response.latest, origin);
  if (origin) response.others.push_back(origin);
  if (ended) {
    response.ended = true;
    response.stop = message.stop_reason.text();
  }
  if (message.diagnostics && !message.diagnostics.is_null()) {
    response.diagnostics = message.diagnostics.raw();
  }
  absorb_content(message);
}

void ClaudeSession::absorb_content(const ClaudeMessage& message) {
  Response& response = *open_;
  message.content.items([&](JsonSpan block) {
    if (reading_.usage_only()) {
      JsonSpan type;
      JsonSpan name;
      block.members([&](std::string_view key, JsonSpan value) {
        if (is_key(key, "type")) type = value;
        if (is_key(key, "name")) name = value;
      });
      if (type.is("tool_use")) response.tools.push_back(name.text());
      return;
    }
    const std::uint64_t hash = hash_of(block.raw());
    const bool known =
        std::ranges::any_of(response.parts, [&](const Part& part) { return part.hash == hash; });
    if (!known) response.parts.push_back({std::string(block.raw()), hash});
  });
  if (message.content.is_string() && !reading_.usage_only()) {
    std::string block = R"({"type":"text","text":)";
    block.append(message.content.raw()).append("}");
    response.parts.push_back({block, hash_of(block)});
  }
}

schema::Authority ClaudeSession::authority_of(const Response& response) const {
  if (response.usage.authority == schema::Authority::estimate) return response.usage.authority;
  if (response.ended) return schema::Authority::exact;
  if (side_ || response.output <= kPlaceholderOutput) return schema::Authority::lower_bound;
  return schema::Authority::exact;
}

/// What the file already holds of the open response. An equal id with another request id on the
/// main chain is another response, with another stable id: some gateways repeat ids.
ClaudeSession::Novelty ClaudeSession::novelty(std::string& stable_id) {
  const std::uint64_t request = open_->request.empty() ? 0 : hash_of(open_->request);
  const Known mine{open_->output, side_, request, this};
  const auto compare = [&](std::uint64_t key) {
    const auto [found, fresh] = known_.closed.try_emplace(key, mine);
    if (fresh) return Novelty::fresh;
    Known& other = found->second;
    const bool better =
        mine.output > other.output || (mine.output == other.output && other.side && !mine.side);
    bool told = true;  // by this session
    if (other.session != this) {
      told = !told_.insert(key).second;
      if (better) other.session->told_.insert(key);
    }
    if (better) other = mine;
    return !told ? Novelty::copy : better ? Novelty::better : Novelty::repeated;
  };
  stable_id = open_->id;
  const auto known = known_.closed.find(hash_of(stable_id));
  if (known != known_.closed.end() && request != 0 && known->second.request_hash != 0 &&
      known->second.request_hash != request && !side_ && !known->second.side) {
    stable_id += "/" + open_->request;
  }
  return compare(hash_of(stable_id));
}

void ClaudeSession::close() {
  if (!open_) return;
  known_.open.erase(hash_of(open_->id));
  std::string stable_id;
  const Novelty novelty = this->novelty(stable_id);
  store_answer(*open_);
  const bool repeated = novelty == Novelty::repeated;
  if (repeated) {
    if (open_->latest) open_->others.push_back(open_->latest);
  } else {
    open_->usage.authority = authority_of(*open_);
    open_->novelty = novelty;
    if (novelty == Novelty::fresh) ++reading_.report().calls;
    if (open_->usage.authority == schema::Authority::estimate) {
      reading_.note("cache writes by lifetime that are more than all cache writes: they count");
    }
    if (open_->usage.authority == schema::Authority::lower_bound) {
      reading_.note("responses without a final line: their output is a lower bound");
    }
    emit(*open_, stable_id, open_->latest);
  }
  std::vector<Origin> others = std::move(open_->others);
  last_origin_ = open_->latest;
  open_.reset();
  for (Origin& other : others) {
    log_.keep("assistant",
              repeated ? schema::ImportReason::duplicate : schema::ImportReason::metadata,
              repeated ? "a copy of an earlier response" : "a part of a response", other);
  }
  log_.release();
  for (Prompt& queued : std::exchange(queued_, {})) prompt(std::move(queued));
}

void ClaudeSession::emit(Response& response, const std::string& stable_id, Origin& origin) {
  emit_extra_passes(response, stable_id, origin);
  if (reading_.usage_only()) {
    emit_call(response, stable_id);
  } else {
    emit_events(response, stable_id, origin);
  }
}

/// Summaries that the API made on its own are calls of their own: the response's figures leave
/// them out, and they are billed.
void ClaudeSession::emit_extra_passes(const Response& response, const std::string& stable_id,
                                      Origin& origin) {
  if (response.usage_raw.empty()) return;
  std::size_t number = 0;
  for (const JsonSpan pass : claude_extra_passes(JsonSpan::trusted(response.usage_raw))) {
    Response extra;
    extra.id = response.id;
    extra.first_at = response.first_at;
    extra.last_at = response.first_at;
    extra.not_before = response.not_before;
    extra.model = response.model;
    extra.novelty = response.novelty;
    extra.stop = "end_turn";
    Figures figures;
    extra.usage = claude_usage(pass, figures);
    if (!figures.wrong().empty()) reading_.damaged(response.offset, figures.wrong());
    extra.usage.service_tier = response.usage.service_tier;
    extra.usage.speed = response.usage.speed;
    extra.usage.region = response.usage.region;
    extra.usage_raw = pass.raw();
    if (response.novelty == Novelty::fresh) ++reading_.report().calls;
    reading_.note("summaries made by the API are calls of their own");
    const std::string id = fmt::format("{}#pass-{}", stable_id, ++number);
    if (reading_.usage_only()) {
      emit_call(extra, id);
    } else {
      emit_events(extra, id, origin);
    }
  }
}

void ClaudeSession::emit_call(Response& response, const std::string& stable_id) {
  replay::Call call;
  call.session = log_.call_session();
  call.id = log_id(reading_, "response", stable_id);
  call.version = log_.next_call_version();
  call.provider = claude_provider(response.model);
  call.provider_kind = "anthropic";
  call.requested_model = response.model;
  call.served_model = std::move(response.model);
  call.response_id = std::move(response.id);
  call.started_at = response.first_at;
  call.start_exact = false;
  call.not_before = response.not_before;
  call.ended_at = response.last_at;
  call.usage = std::move(response.usage);
  call.stop = claude_stop(response.stop);
  call.tools_called = std::move(response.tools);
  call.again = response.novelty == Novelty::better;
  if (is_pass(response)) {
    call.lineage = engine::kSummaryLineage;
  } else {
    call.after_compaction = std::exchange(after_compaction_, false);
    call.compacted_from = std::exchange(compacted_from_, std::nullopt);
    call.compacted_to = std::exchange(compacted_to_, std::nullopt);
  }
  if (!response.diagnostics.empty()) {
    call.diagnostics = std::make_unique<schema::ContentT>();
    call.diagnostics->bytes.assign(response.diagnostics.begin(), response.diagnostics.end());
  }
  reading_.sink().call(std::move(call));
}

}  // namespace daybook::tools
