#include "replay/call.h"

#include <nlohmann/json.hpp>

#include "schema/json.h"

namespace daybook::replay {
namespace {

/// How many requests a later one may grow from.
constexpr std::size_t kBasesKept = 64;

template <class Number>
std::optional<std::uint64_t> given(const Number& number) {
  return number.has_value() ? std::optional<std::uint64_t>(*number) : std::nullopt;
}

std::string copy(const flatbuffers::String* text) {
  return std::string(text_of(text));
}

std::unique_ptr<schema::ContentT> copy(const schema::Content* content) {
  return content == nullptr ? nullptr : std::unique_ptr<schema::ContentT>(content->UnPack());
}

std::int64_t time_of(const schema::Event& event) {
  const auto* provenance = event.provenance();
  return provenance == nullptr ? event.recorded_at() : provenance->at();
}

using Segments = flatbuffers::Vector<const schema::Segment*>;

RequestSegments::List list_of(const Segments* segments) {
  auto list = std::make_shared<std::vector<BlobRef>>();
  list->reserve(segments->size());
  for (const schema::Segment* segment : *segments) {
    list->push_back(BlobRef::from(&segment->blob()));
  }
  return list;
}

/// Anthropic counts searches where tools of the server were used; a count without a number is
/// not zero.
bool counts_searches(std::string_view usage_json) {
  // Nearly no response has any: most are not worth parsing.
  if (usage_json.find("\"server_tool_use\"") == std::string_view::npos) return false;
  const auto usage = parse_json(usage_json);
  if (!usage || !usage->is_object()) return false;
  const auto found = usage->find("server_tool_use");
  return found != usage->end() && !found->is_null();
}

}  // namespace

bool CallUsage::any() const {
  return input_uncached || input_total || cache_read || cache_write || output;
}

CallUsage usage_of(const schema::Usage* usage) {
  CallUsage made;
  if (usage == nullptr) return made;
  made.input_uncached = given(usage->input_uncached());
  made.input_total = given(usage->input_total());
  made.cache_read = given(usage->cache_read());
  made.cache_write = given(usage->cache_write());
  made.cache_write_5m = given(usage->cache_write_5m());
  made.cache_write_1h = given(usage->cache_write_1h());
  made.output = given(usage->output());
  made.reasoning = given(usage->reasoning());
  made.web_searches = given(usage->web_searches());
  made.searches_open = !made.web_searches && counts_searches(text_of(usage->raw()));
  made.authority = usage->authority();
  made.service_tier = copy(usage->service_tier());
  made.speed = copy(usage->speed());
  made.region = copy(usage->region());
  return made;
}

std::vector<CallUsage> compaction_passes(std::string_view usage_json) {
  std::vector<CallUsage> passes;
  // Nearly no response has any: most are not worth parsing.
  if (usage_json.find("\"compaction\"") == std::string_view::npos) return passes;
  const auto usage = parse_json(usage_json);
  if (!usage || !usage->is_object() || !usage->contains("iterations")) return passes;
  for (const Json& pass : (*usage)["iterations"]) {
    if (!pass.is_object() || json_text(pass, "type") != "compaction") continue;
    const auto count = [&pass](const char* key) -> std::optional<std::uint64_t> {
      const auto found = pass.find(key);
      if (found == pass.end() || !found->is_number_unsigned()) return std::nullopt;
      return found->get<std::uint64_t>();
    };
    CallUsage made;
    made.input_uncached = count("input_tokens");
    made.cache_read = count("cache_read_input_tokens");
    made.cache_write = count("cache_creation_input_tokens");
    made.output = count("output_tokens");
    passes.push_back(std::move(made));
  }
  return passes;
}

CallFold::CallFold(std::string session, Visitor visit) : visit_(std::move(visit)) {
  CallSession made;
  made.kind = "daybook";
  made.id = session;
  made.stored = std::move(session);
  session_ = std::make_shared<const CallSession>(std::move(made));
}

void CallFold::take(const schema::Event& event) {
  switch (event.payload_type()) {
    case schema::Payload::SessionStarted:
      return started(*event.payload_as_SessionStarted());
    case schema::Payload::SessionImported:
      return imported(*event.payload_as_SessionImported());
    case schema::Payload::TurnStarted:
    case schema::Payload::ToolCompleted:
      return lead_.line(time_of(event));
    case schema::Payload::ImportedLine:
      return line(event, *event.payload_as_ImportedLine());
    case schema::Payload::CompactionCommitted: {
      const auto* it = event.payload_as_CompactionCommitted();
      lead_.line(time_of(event));
      compactions_[copy(it->lineage())] = {given(it->tokens_before()), given(it->tokens_after())};
      return;
    }
    case schema::Payload::ModelRequested:
      return requested(event, *event.payload_as_ModelRequested());
    case schema::Payload::ModelResponded:
      return responded(event, *event.payload_as_ModelResponded());
    case schema::Payload::ModelFailed:
      return unanswered(event, event.payload_as_ModelFailed()->usage());
    case schema::Payload::ModelAbandoned:
      return unanswered(event, nullptr);
    default:
      return;
  }
}

void CallFold::started(const schema::SessionStarted& it) {
  CallSession made = *session_;
  made.project = copy(it.workspace());
  made.agent = copy(it.agent());
  made.title = copy(it.title());
  session_ = std::make_shared<const CallSession>(std::move(made));
}

void CallFold::imported(const schema::SessionImported& it) {
  CallSession made = *session_;
  made.kind = copy(it.kind());
  made.id = copy(it.log_session());
  made.parent = copy(it.parent());
  made.relation = it.relation();
  made.project = copy(it.workspace());
  made.agent = copy(it.agent());
  made.title = copy(it.title());
  session_ = std::make_shared<const CallSession>(std::move(made));
}

void CallFold::line(const schema::Event& event, const schema::ImportedLine& it) {
  const std::string_view type = text_of(it.type());
  // What the program wrote for its user is sent, too.
  if (type == "user") lead_.line(time_of(event));
  if (it.reason() != schema::ImportReason::duplicate) return;
  // A copied compaction, until a copied call follows it.
  if (type == "compacted") compactions_[""] = {};
  if (it.repeats() == nullptr || it.repeats()->size() == 0) return;
  std::vector<Uuid> ids;
  for (const schema::Uuid* id : *it.repeats()) ids.push_back({id->hi(), id->lo()});
  // The same answer told again is none that follows a compaction.
  if (goes_on_from_.empty() || goes_on_from_.front() != ids.front()) compactions_.erase("");
  goes_on_from_ = std::move(ids);
}

RequestSegments CallFold::segments(const schema::ModelRequested& it) const {
  RequestSegments made;
  if (const auto base = requests_.find(it.base()); base != requests_.end()) made = base->second;
  if (it.tools() != nullptr) made.tools = list_of(it.tools());
  if (it.system() != nullptr) made.system = list_of(it.system());
  made.messages.shorten(it.shared() <= made.messages.size() ? it.shared() : 0);
  if (it.appended() != nullptr) {
    for (const schema::Segment* segment : *it.appended()) {
      made.messages.push_back(BlobRef::from(&segment->blob()));
    }
  }
  made.markers.clear();
  if (it.markers() != nullptr) made.markers.assign(it.markers()->begin(), it.markers()->end());
  made.marker_ttl = it.marker_ttl();
  return made;
}

void CallFold::requested(const schema::Event& event, const schema::ModelRequested& it) {
  Call call;
  call.turn = event.turn();
  call.lineage = copy(it.lineage());
  call.provider = copy(it.provider());
  call.provider_kind = copy(it.provider_kind());
  call.requested_model = copy(it.model());
  call.started_at = time_of(event);
  if (is_log()) {
    call.start_exact = false;
    call.not_before = lead_.take();
    call.not_after = call.started_at;
  }
  call.evidence = it.evidence();
  call.head = copy(it.head());
  call.base_version = it.base();
  goes_on_ = it.shared() > 0;
  if (call.lineage.empty()) call.goes_on_from = std::move(goes_on_from_);
  call.request_version = event.version();
  if (it.changed() != nullptr) {
    for (const auto* what : *it.changed()) call.changed.push_back(copy(what));
  }
  if (it.evidence() != schema::Evidence::usage_only) {
    call.request = segments(it);
    requests_[event.version()] = call.request;
    kept_.push_back(event.version());
    if (kept_.size() > kBasesKept) {
      requests_.erase(kept_.front());
      kept_.erase(kept_.begin());
    }
  }
  open_ = std::move(call);
}

void CallFold::responded(const schema::Event& event, const schema::ModelResponded& it) {
  if (!open_) open_.emplace();
  Call& call = *open_;
  call.served_model = copy(it.served_model());
  call.response_id = copy(it.response_id());
  if (it.started_at() != 0) {
    call.started_at = it.started_at();
    // The line that counts may be a later one of the answer.
    if (call.not_after != 0) call.not_after = std::min(call.not_after, call.started_at);
  }
  call.first_byte_at = it.first_byte_at();
  call.ended_at = it.ended_at() != 0 ? it.ended_at() : time_of(event);
  call.usage = usage_of(it.usage());
  // A search that such a log shows may have been several.
  if (session_->kind == "codex" && call.usage.web_searches) call.usage.searches_open = true;
  call.stop = it.stop();
  call.diagnostics = copy(it.diagnostics());
  if (it.blocks() != nullptr) {
    for (const schema::Block* block : *it.blocks()) {
      if (block->kind() == schema::BlockKind::tool_call) {
        call.tools_called.push_back(copy(block->tool()));
      }
    }
  }
  // A reader of logs makes calls of its own of such passes.
  if (it.usage() != nullptr && event.provenance() == nullptr) visit_passes(event, *it.usage());
  finish(event);
}

void CallFold::visit_passes(const schema::Event& event, const schema::Usage& usage) {
  constexpr std::uint64_t kSpread = 0x9e3779b97f4a7c15;
  std::uint32_t number = 0;
  for (CallUsage& pass : compaction_passes(text_of(usage.raw()))) {
    Call call;
    call.pass = ++number;
    call.session = session_;
    call.id = {event.id()->hi(), event.id()->lo() ^ number * kSpread};
    call.version = event.version();
    call.turn = open_->turn;
    call.lineage = open_->lineage;
    call.provider = open_->provider;
    call.provider_kind = open_->provider_kind;
    call.requested_model = open_->requested_model;
    call.served_model = open_->served_model;
    call.response_id = open_->response_id;
    call.started_at = open_->started_at;
    call.start_exact = open_->start_exact;
    call.not_before = open_->not_before;
    call.not_after = open_->not_after;
    call.evidence = schema::Evidence::usage_only;
    call.usage = std::move(pass);
    call.usage.service_tier = open_->usage.service_tier;
    call.usage.speed = open_->usage.speed;
    call.usage.region = open_->usage.region;
    visit_(std::move(call));
  }
}

void CallFold::unanswered(const schema::Event& event, const schema::Usage* usage) {
  if (!open_) return;
  open_->answered = false;
  open_->usage = usage_of(usage);
  open_->ended_at = time_of(event);
  finish(event);
}

void CallFold::finish(const schema::Event& event) {
  Call call = std::move(*open_);
  open_.reset();
  call.session = session_;
  call.id = {event.id()->hi(), event.id()->lo()};
  call.version = event.version();
  if (event.provenance() != nullptr) call.again = !told_.insert(call.id).second;
  // One that goes on from what was sent before is of a branch that was not compacted.
  const bool other = is_log() && goes_on_;
  if (const auto found = compactions_.find(call.lineage);
      found != compactions_.end() && !call.again && !other) {
    behind_compaction_[call.id] = found->second;
    compactions_.erase(found);
  }
  if (const auto found = behind_compaction_.find(call.id); found != behind_compaction_.end()) {
    call.after_compaction = true;
    call.compacted_from = found->second.from;
    call.compacted_to = found->second.to;
  }
  visit_(std::move(call));
}

}  // namespace daybook::replay
