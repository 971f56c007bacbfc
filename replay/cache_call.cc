#include "replay/cache_call.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "engine/state_compaction.h"
#include "schema/json.h"

namespace daybook::replay {
namespace {

bool is_one_of(std::string_view type, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, type) != names.end();
}

Json text_block(const Json& text) {
  Json block = Json::object();
  block["type"] = "text";
  block["text"] = text;
  return block;
}

/// What a message's content says about it; the content itself becomes its canonical form.
struct ContentView {
  std::uint32_t blocks = 0;
  bool tool_result = false;
  bool image = false;
  bool reasoning = false;
  bool rewritten = false;  // the canonical form differs from the recorded one
};

void view_blocks(Json& content, ContentView& view) {
  for (Json& block : content) {
    const std::string type = json_text(block, "type");
    view.tool_result |= type == "tool_result" || block.contains("functionResponse");
    view.image |=
        is_one_of(type, {"image", "image_url", "input_image"}) || block.contains("inlineData");
    view.reasoning |= is_one_of(type, {"thinking", "redacted_thinking"});
    if (block.is_object() && block.erase("cache_control") > 0) view.rewritten = true;
  }
  view.blocks += static_cast<std::uint32_t>(content.size());
}

void view_content(Json& holder, ContentView& view) {
  auto found = holder.find("content");
  if (found == holder.end()) found = holder.find("parts");
  if (found == holder.end()) {
    ++view.blocks;
    return;
  }
  if (found->is_string()) {
    *found = Json::array({text_block(*found)});
    view.rewritten = true;
  }
  if (found->is_array() && !found->empty()) {
    view_blocks(*found, view);
  } else {
    ++view.blocks;
  }
}

std::string joined(const Json& messages) {
  std::string out;
  for (const Json& message : messages) {
    if (!out.empty()) out += ',';
    out += dump_json(message);
  }
  return out;
}

Json without_reasoning(Json messages) {
  for (Json& message : messages) {
    const auto content = message.find("content");
    if (content == message.end() || !content->is_array()) continue;
    Json kept = Json::array();
    for (Json& block : *content) {
      if (!is_one_of(json_text(block, "type"), {"thinking", "redacted_thinking"})) {
        kept.push_back(std::move(block));
      }
    }
    *content = std::move(kept);
  }
  return messages;
}

void describe_message(CacheSegment& segment, Json messages) {
  ContentView view;
  bool user = !messages.empty();
  for (Json& message : messages) {
    if (!message.is_object()) return;
    user = user && json_text(message, "role") == "user";
    view_content(message, view);
  }
  segment.blocks = std::max(1u, view.blocks);
  segment.plain_user = user && !view.tool_result;
  segment.image = view.image;
  if (view.rewritten) segment.content = Digest::of(joined(messages));
  if (view.reasoning) {
    const std::string rest = joined(without_reasoning(std::move(messages)));
    segment.stripped = Digest::of(rest);
    segment.stripped_bytes = rest.size();
  }
}

/// A system part or a tool: one value.
void describe_value(CacheSegment& segment, Json value) {
  if (value.is_string()) {
    segment.content = Digest::of(dump_json(text_block(value)));
  } else if (value.is_object() && value.erase("cache_control") > 0) {
    segment.content = Digest::of(dump_json(value));
  }
}

const Json* at_path(const Json& object, std::initializer_list<const char*> path) {
  const Json* at = &object;
  for (const char* name : path) {
    if (!at->is_object()) return nullptr;
    const auto found = at->find(name);
    if (found == at->end() || found->is_null()) return nullptr;
    at = &*found;
  }
  return at;
}

std::span<const BlobRef> refs_of(const RequestSegments::List& list) {
  return list == nullptr ? std::span<const BlobRef>() : std::span<const BlobRef>(*list);
}

struct ParamSource {
  const char* leaf;
  std::initializer_list<const char*> path;
};

}  // namespace

std::string chain_key(const std::string& session, const std::string& lineage) {
  return session + '\n' + lineage;
}

std::optional<TimeGap> gap_between(const TimeSpan& from, const TimeSpan& to) {
  if (!from.known() || !to.known()) return std::nullopt;
  return TimeGap{to.earliest - from.latest, to.latest - from.earliest};
}

bool CacheScope::may_be(const CacheScope& other) const {
  const auto fits = [&](std::string CacheScope::*part) {
    return (this->*part).empty() || (other.*part).empty() || this->*part == other.*part;
  };
  return fits(&CacheScope::provider) && fits(&CacheScope::model) && fits(&CacheScope::key) &&
         fits(&CacheScope::tier) && fits(&CacheScope::workspace) && fits(&CacheScope::region);
}

TimeSpan CacheCall::sent() const {
  if (start_exact) return {start, start};
  const std::int64_t latest = not_after != 0 ? not_after : start;
  // A line that is later than the answer it led to tells nothing.
  const bool told = not_before != 0 && not_before < latest;
  return {told ? not_before : latest, latest};
}

void StartBounds::narrow(CacheCall& call) {
  constexpr std::size_t kSessionsKept = 4096;
  if (call.start_exact) return;
  if (ends_.size() > kSessionsKept) ends_.clear();
  std::int64_t& end = ends_[call.session];
  if (end < call.sent().latest) call.not_before = std::max(call.not_before, end);
  end = std::max(end, call.end);
}

std::optional<std::uint64_t> CacheCall::input() const {
  if (usage.input_total) return usage.input_total;
  // Reads that are counted apart belong to it: without them it is not known.
  if (!usage.input_uncached || !usage.cache_read) return std::nullopt;
  return *usage.input_uncached + *usage.cache_read + usage.cache_write.value_or(0);
}

std::optional<std::uint64_t> CacheCall::uncached() const {
  if (usage.input_uncached) return usage.input_uncached;
  if (!usage.input_total) return std::nullopt;
  const std::uint64_t cached = usage.cache_read.value_or(0) + usage.cache_write.value_or(0);
  return *usage.input_total >= cached ? *usage.input_total - cached : 0;
}

void read_params(std::string_view head, CacheCall& call) {
  static const std::array<ParamSource, 15> kSources = {{
      {"betas", {"betas"}},
      {"betas", {"anthropic_beta"}},
      {"betas", {"web_search_options"}},
      {"context_management", {"context_management"}},
      {"format", {"response_format"}},
      {"format", {"text", "format"}},
      {"format", {"output_config", "format"}},
      {"speed", {"speed"}},
      {"thinking", {"thinking"}},
      {"thinking", {"reasoning_effort"}},
      {"thinking", {"reasoning", "effort"}},
      {"thinking", {"output_config", "effort"}},
      {"thinking", {"generationConfig", "thinkingConfig"}},
      {"tool_choice", {"tool_choice"}},
      {"verbosity", {"text", "verbosity"}},
  }};
  const auto parsed = parse_json("{" + std::string(head) + "}");
  if (!parsed || !parsed->is_object()) return;
  for (const ParamSource& source : kSources) {
    const Json* value = at_path(*parsed, source.path);
    if (value == nullptr) continue;
    if (!call.params.empty() && call.params.back().name == source.leaf) {
      call.params.back().value += " " + dump_json(*value);
    } else {
      call.params.push_back({source.leaf, dump_json(*value)});
    }
  }
  if (const Json* value = at_path(*parsed, {"verbosity"})) {
    call.params.push_back({"verbosity", dump_json(*value)});
  }
  call.scope.key = json_text(*parsed, "prompt_cache_key");
  if (call.scope.tier.empty()) call.scope.tier = json_text(*parsed, "service_tier");
}

CacheSegment CallReader::segment(const BlobRef& ref, CacheArea area) {
  const auto found = known_.find(ref.digest);
  if (found != known_.end() && found->second.area == area) return found->second;
  CacheSegment made;
  made.area = area;
  made.content = ref.digest;
  made.raw = ref.digest;
  made.bytes = ref.size;
  if (bytes_) {
    if (const auto text = bytes_(ref)) {
      // One message may be several of the provider's, joined by commas.
      auto parsed = parse_json("[" + *text + "]");
      if (parsed && area == CacheArea::messages)
        describe_message(made, std::move(*parsed));
      else if (parsed && parsed->size() == 1)
        describe_value(made, std::move(parsed->front()));
    }
  }
  known_[ref.digest] = made;
  return made;
}

/// A request that grows from the one before is read from where it does.
const SegmentList& CallReader::segments(const Call& call, const std::string& chain) {
  static const SegmentList kNone;
  const RequestSegments& request = call.request;
  if (!request.tools && !request.system && request.messages.empty()) return kNone;
  Latest& latest = latest_[chain];
  const auto same = [](const RequestSegments::List& a, const RequestSegments::List& b) {
    return a == b || std::ranges::equal(refs_of(a), refs_of(b));
  };
  const auto& messages = request.messages;
  const auto& before = latest.request.messages;
  const bool begins =
      before.size() <= messages.size() &&
      (messages.shares(before) || std::equal(before.begin(), before.end(), messages.begin()));
  const bool grown = begins && same(request.tools, latest.request.tools) &&
                     same(request.system, latest.request.system);
  const auto add = [&](std::span<const BlobRef> refs, CacheArea area) {
    for (const BlobRef& ref : refs) latest.segments.push_back(segment(ref, area));
  };
  if (!grown) {
    latest.segments.clear();
    add(refs_of(request.tools), CacheArea::tools);
    add(refs_of(request.system), CacheArea::system);
  }
  add(std::span(messages.begin(), messages.end()).subspan(grown ? before.size() : 0),
      CacheArea::messages);
  latest.request = request;
  return latest.segments;
}

CacheCall CallReader::read(const Call& call) {
  CacheCall made;
  made.session = call.session->id;
  made.parent = call.session->parent;
  made.forked = call.session->relation == schema::Relation::fork;
  made.lineage = call.lineage;
  // Every request for a summary is a prompt of its own: none grows from the one before.
  if (call.lineage == engine::kSummaryLineage) {
    made.lineage +=
        fmt::format(" {}", call.request_version != 0 ? call.request_version : call.version);
  }
  made.id = call.id.str();
  made.version = call.version;
  made.request_version = call.request_version;
  made.base_version = call.base_version;
  made.provider_kind = call.provider_kind;
  made.scope.provider = call.provider;
  made.scope.model = call.model();
  made.scope.tier = call.usage.service_tier;
  made.scope.region = call.usage.region;
  made.evidence = call.evidence;
  made.start = call.started_at;
  made.start_exact = call.start_exact;
  made.not_before = call.not_before;
  made.not_after = call.not_after;
  made.first_byte = call.first_byte_at;
  made.end = call.ended_at;
  made.answered = call.answered;
  made.after_compaction = call.after_compaction;
  made.usage = call.usage;
  made.changed = call.changed;
  if (call.head) {
    const BlobRef blob = call.head->blob ? BlobRef::from(call.head->blob.get()) : BlobRef{};
    if (!call.head->blob) {
      read_params(as_text(std::as_bytes(std::span(call.head->bytes))), made);
    } else if (bytes_) {
      if (const auto head = bytes_(blob)) read_params(*head, made);
    }
  }
  if (call.diagnostics && !call.diagnostics->blob) {
    made.verdict = as_text(std::as_bytes(std::span(call.diagnostics->bytes)));
  } else if (call.diagnostics && bytes_) {
    made.verdict = bytes_(BlobRef::from(call.diagnostics->blob.get())).value_or("");
  }
  made.segments = segments(call, chain_key(made.session, made.lineage));
  const auto first_message =
      static_cast<std::uint32_t>(made.segments.size() - call.request.messages.size());
  if (call.request.marker_ttl != schema::CacheTtl::none) {
    // The codec marks the end of what precedes the messages, too.
    if (first_message > 0) made.marks.push_back({first_message - 1, call.request.marker_ttl});
    for (const std::uint32_t index : call.request.markers) {
      made.marks.push_back({first_message + index, call.request.marker_ttl});
    }
  }
  if (made.segments.has_image()) {
    made.params.push_back({"image", "present"});
  }
  std::ranges::sort(made.params, {}, &CacheParam::name);
  return made;
}

}  // namespace daybook::replay
