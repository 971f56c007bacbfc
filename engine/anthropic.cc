// Anthropic Messages: POST /v1/messages with "stream": true.
//
// Requests: every message's content is an array of blocks, so that a cache marker can be inserted
// without touching another byte. Reasoning goes back exactly as it came, in its original place.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "engine/codec_parts.h"
#include "engine/codecs.h"
#include "engine/provider_error.h"

namespace daybook::engine {
namespace {

using schema::BlockKind;
using schema::StopReason;

constexpr std::uint32_t kDefaultMaxTokens = 8192;  // the field is required
constexpr std::size_t kMaxMarkers = 4;

// ------------------------------------------------------------------------------ requests

std::string text_block(std::string_view text) {
  std::string out = "{";
  add_member(out, "type", "text");
  add_member(out, "text", text);
  out.push_back('}');
  return out;
}

std::string tool_use_block(const Block& call) {
  std::string out = "{";
  add_member(out, "type", "tool_use");
  add_member(out, "id",
             wire_id(call.provider_call_id.empty() ? call.call_id : call.provider_call_id));
  add_member(out, "name", wire_name(call.tool));
  add_json_member(out, "input", arguments_or_empty(call));
  out.push_back('}');
  return out;
}

std::string tool_result_block(const ToolResult& result) {
  std::string out = "{";
  add_member(out, "type", "tool_result");
  add_member(out, "tool_use_id", wire_id(result.provider_call_id));
  if (result.is_error) add_json_member(out, "is_error", "true");
  if (!is_blank(result.text)) {
    add_member(out, "content", result.text);
  } else if (result.is_error) {
    add_member(out, "content", kNoContent);  // an error must say something
  }
  out.push_back('}');
  return out;
}

bool is_own_reasoning(const Block& block) {
  return !block.opaque.empty() && (block.field == "thinking" || block.field == "redacted_thinking");
}

/// The content array's elements. The API refuses content that is empty or that ends in reasoning;
/// such a message gets a placeholder, the same one every time.
std::vector<std::string> assistant_blocks(const Message& message) {
  std::vector<std::string> out;
  bool ends_in_reasoning = true;
  for (const Block& block : message.blocks) {
    if (block.kind == BlockKind::text && !is_blank(block.text)) {
      out.push_back(text_block(block.text));
      ends_in_reasoning = false;
    } else if (block.kind == BlockKind::tool_call) {
      out.push_back(tool_use_block(block));
      ends_in_reasoning = false;
    } else if (block.kind == BlockKind::reasoning && is_own_reasoning(block)) {
      out.push_back(block.opaque);
      ends_in_reasoning = true;
    }
  }
  if (ends_in_reasoning) out.push_back(text_block(kNoContent));
  return out;
}

std::vector<std::string> content_of(const Message& message) {
  std::vector<std::string> out;
  switch (message.role) {
    case Role::assistant:
      return assistant_blocks(message);
    case Role::tool:
      for (const ToolResult& result : message.results) out.push_back(tool_result_block(result));
      break;
    case Role::user:
      if (!is_blank(message.text)) out.push_back(text_block(message.text));
      break;
  }
  if (out.empty()) out.push_back(text_block(kNoContent));
  return out;
}

/// Position of the closing brace of the last content block that may carry a marker, which every
/// block does that this file rendered, and reasoning does not. npos: there is none.
std::size_t markable_end(std::string_view message) {
  static constexpr std::array<std::string_view, 3> kMarkable = {
      R"({"type":"text")", R"({"type":"tool_use")", R"({"type":"tool_result")"};
  constexpr std::string_view kContent = R"("content":[)";
  const std::size_t content = message.find(kContent);
  std::size_t last = std::string_view::npos;
  if (content == std::string_view::npos) return last;
  std::size_t start = 0;
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = content + kContent.size(); i < message.size(); ++i) {
    const char c = message[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      if (depth++ == 0) start = i;
    } else if (c == '}' || c == ']') {
      if (depth == 0) break;  // the end of the content array
      const std::string_view block = message.substr(start);
      if (--depth == 0 && std::any_of(kMarkable.begin(), kMarkable.end(),
                                      [&](auto prefix) { return block.starts_with(prefix); })) {
        last = i;
      }
    }
  }
  return last;
}

std::string marker_member(schema::CacheTtl ttl) {
  return ttl == schema::CacheTtl::hour_1 ? R"(,"cache_control":{"type":"ephemeral","ttl":"1h"})"
                                         : R"(,"cache_control":{"type":"ephemeral"})";
}

/// The segment with the marker inserted at `at`; without it when there is no such place.
void add_marked(BodySink& out, std::string_view segment, std::size_t at, std::string_view marker) {
  if (at == std::string_view::npos) return out.segment(segment);
  out.segment(segment.substr(0, at));
  out.text(marker);
  out.segment(segment.substr(at));
}

/// Adds `,"name":[...]` with a marker in the last element when `marker` is not empty.
void add_list(BodySink& out, std::string_view name, std::span<const std::string_view> values,
              std::string_view marker) {
  if (values.empty()) return;
  out.text(fmt::format(R"(,"{}":[)", name));
  if (marker.empty()) {
    add_joined(out, values);
  } else {
    add_joined(out, values.first(values.size() - 1));
    if (values.size() > 1) out.text(",");
    add_marked(out, values.back(), values.back().rfind('}'), marker);
  }
  out.text("]");
}

// ------------------------------------------------------------------------------ responses

StopReason stop_of(const std::string& raw) {
  if (raw == "end_turn" || raw == "stop_sequence") return StopReason::end;
  if (raw == "tool_use") return StopReason::tool_calls;
  if (raw == "max_tokens" || raw == "model_context_window_exceeded") {
    return StopReason::output_limit;
  }
  if (raw == "refusal") return StopReason::refusal;
  return StopReason::other;
}

class AnthropicDecoder final : public StreamDecoder {
 public:
  std::optional<Failure> on_event(std::string_view name, std::string_view data,
                                  const DeltaSink& sink) override;
  tl::expected<Reply, Failure> finish() override;
  Usage usage() const override;

 private:
  struct Part {
    Json block = Json::object();
    std::string text;       // of a text or thinking block
    std::string arguments;  // of a tool_use block, as received
    std::string signature;
    bool closed = false;
  };

  std::optional<Failure> dispatch(const std::string& type, const Json& event,
                                  const DeltaSink& sink);
  void start_message(const Json& message);
  void whole_message(const Json& message, const DeltaSink& sink);
  void start_block(const Json& event, const DeltaSink& sink);
  void add_delta(const Json& event, const DeltaSink& sink);
  void keep_unknown(const Json& event);
  Json assembled(Part& part) const;
  std::optional<Block> neutral(Part& part, const Json& block, bool may_be_cut) const;

  Json message_ = Json::object();
  Json usage_ = Json::object();
  Json unknown_ = Json::array();
  std::map<std::uint64_t, Part> parts_;
  bool started_ = false;
  bool stopped_ = false;
};

std::optional<Failure> AnthropicDecoder::on_event(std::string_view name, std::string_view data,
                                                  const DeltaSink& sink) {
  if (stopped_ || data.empty()) return std::nullopt;
  auto parsed = parse_event(data);
  if (name == "error" || (parsed && is_error_object(*parsed))) return classify_error(0, data);
  if (!parsed) return not_json(data, parsed.error().message);
  std::string type = json_text(*parsed, "type");
  if (type.empty()) type = std::string(name);
  return dispatch(type, *parsed, sink);
}

std::optional<Failure> AnthropicDecoder::dispatch(const std::string& type, const Json& event,
                                                  const DeltaSink& sink) {
  if (type == "message_start") {
    if (const Json* message = member(event, "message")) start_message(*message);
  } else if (type == "message") {
    whole_message(event, sink);
  } else if (type == "content_block_start") {
    start_block(event, sink);
  } else if (type == "content_block_delta") {
    add_delta(event, sink);
  } else if (type == "content_block_stop") {
    const auto found = parts_.find(count_at(event, "index").value_or(0));
    if (found != parts_.end()) found->second.closed = true;
  } else if (type == "message_delta") {
    if (const Json* delta = member(event, "delta")) {
      if (delta->is_object()) lay_over(message_, *delta);
    }
    const Json* counts = member(event, "usage");
    if (counts != nullptr && counts->is_object()) lay_over(usage_, *counts);
    const Json* diagnostics = member(event, "diagnostics");
    if (diagnostics != nullptr && !diagnostics->is_null()) message_["diagnostics"] = *diagnostics;
  } else if (type == "message_stop") {
    stopped_ = started_;
  } else if (type != "ping") {
    keep_unknown(event);
  }
  return std::nullopt;
}

void AnthropicDecoder::keep_unknown(const Json& event) {
  if (unknown_.size() < kMaxUnknownEvents) unknown_.push_back(event);
}

void AnthropicDecoder::start_message(const Json& message) {
  if (!message.is_object()) return;
  started_ = true;
  message_ = message;
  const Json* counts = member(message, "usage");
  if (counts != nullptr && counts->is_object()) usage_ = *counts;
}

/// The endpoint answered with one document although a stream was asked for.
void AnthropicDecoder::whole_message(const Json& message, const DeltaSink& sink) {
  const Json* content = member(message, "content");
  if (content == nullptr || !content->is_array()) return;
  start_message(message);
  std::uint64_t index = 0;
  for (const Json& block : *content) {
    Json event = {{"index", index}, {"content_block", block}};
    start_block(event, sink);
    Part& part = parts_[index++];
    part.closed = true;
    if (const Json* input = member(block, "input"); input != nullptr && part.arguments.empty()) {
      part.arguments = dump_json(*input);
    }
  }
  stopped_ = true;
}

void AnthropicDecoder::start_block(const Json& event, const DeltaSink& sink) {
  const Json* block = member(event, "content_block");
  if (block == nullptr || !block->is_object()) return keep_unknown(event);
  Part& part = parts_[count_at(event, "index").value_or(parts_.size())];
  part = Part();
  part.block = *block;
  const std::string type = json_text(*block, "type");
  part.text = json_text(*block, type == "thinking" ? "thinking" : "text");
  part.signature = json_text(*block, "signature");
  // Some compatible servers give the whole input at once and send no deltas.
  const Json* input = member(*block, "input");
  if (input != nullptr && input->is_object() && !input->empty()) {
    part.arguments = dump_json(*input);
  }
  if (!part.text.empty() && sink) {
    sink({type == "thinking" ? BlockKind::reasoning : BlockKind::text, part.text});
  }
}

void AnthropicDecoder::add_delta(const Json& event, const DeltaSink& sink) {
  const Json* delta = member(event, "delta");
  const auto found = parts_.find(count_at(event, "index").value_or(0));
  if (delta == nullptr || found == parts_.end()) return keep_unknown(event);
  Part& part = found->second;
  const std::string type = json_text(*delta, "type");
  if (type == "text_delta" || type == "thinking_delta") {
    const bool thinking = type == "thinking_delta";
    const std::string piece = json_text(*delta, thinking ? "thinking" : "text");
    part.text += piece;
    if (sink && !piece.empty()) sink({thinking ? BlockKind::reasoning : BlockKind::text, piece});
  } else if (type == "input_json_delta") {
    part.arguments += json_text(*delta, "partial_json");
  } else if (type == "signature_delta") {
    part.signature += json_text(*delta, "signature");
  } else if (type == "citations_delta") {
    const Json* citation = member(*delta, "citation");
    Json& citations = part.block["citations"];
    if (!citations.is_array()) citations = Json::array();
    if (citation != nullptr) citations.push_back(*citation);
  } else {
    keep_unknown(event);
  }
}

/// The block as the provider would have sent it in one piece.
Json AnthropicDecoder::assembled(Part& part) const {
  Json block = part.block;
  const std::string type = json_text(block, "type");
  if (type == "text" || type == "thinking") block[type] = part.text;
  if (!part.signature.empty()) block["signature"] = part.signature;
  if (!part.arguments.empty()) {
    auto input = parse_json(part.arguments);
    if (input) {
      block["input"] = std::move(*input);
    } else {
      block["input_text"] = part.arguments;
    }
  }
  return block;
}

/// Nothing for kinds that only the raw message keeps.
std::optional<Block> AnthropicDecoder::neutral(Part& part, const Json& block,
                                               bool may_be_cut) const {
  const std::string type = json_text(block, "type");
  Block out;
  if (type == "text") {
    out.text = part.text;
    if (out.text.empty()) return std::nullopt;
  } else if (type == "thinking" || type == "redacted_thinking") {
    out.kind = BlockKind::reasoning;
    out.field = type;
    out.text = part.text;
    // Reasoning that was cut off before it was signed is refused when it is sent back.
    const bool unsigned_rest = type == "thinking" && part.signature.empty() && may_be_cut;
    if (!unsigned_rest) out.opaque = dump_json(block);
  } else if (type == "tool_use") {
    out.kind = BlockKind::tool_call;
    out.provider_call_id = json_text(block, "id");
    out.tool = json_text(block, "name");
    judge_arguments(out, part.arguments, may_be_cut);
  } else {
    return std::nullopt;
  }
  return out;
}

tl::expected<Reply, Failure> AnthropicDecoder::finish() {
  if (!stopped_) {
    Failure failure = stream_cut(started_ ? "the response ended before its message_stop event"
                                          : "the response ended before its message began");
    failure.usage = usage();
    return tl::unexpected(std::move(failure));
  }
  Reply reply;
  reply.stop_raw = json_text(message_, "stop_reason");
  reply.stop = stop_of(reply.stop_raw);
  reply.response_id = json_text(message_, "id");
  reply.served_model = json_text(message_, "model");
  reply.usage = usage();
  Json content = Json::array();
  for (auto& [index, part] : parts_) {
    const bool may_be_cut =
        !part.closed || (reply.stop == StopReason::output_limit && index == parts_.rbegin()->first);
    Json block = assembled(part);
    if (auto made = neutral(part, block, may_be_cut)) reply.blocks.push_back(std::move(*made));
    content.push_back(std::move(block));
  }
  Json raw = message_;
  raw["content"] = std::move(content);
  raw["usage"] = usage_;
  if (!unknown_.empty()) raw["unknown_events"] = unknown_;
  const Json* diagnostics = member(message_, "diagnostics");
  if (diagnostics != nullptr && !diagnostics->is_null())
    reply.diagnostics = dump_json(*diagnostics);
  reply.raw = dump_json(raw);
  return reply;
}

Usage AnthropicDecoder::usage() const {
  Usage out;
  if (usage_.empty()) return out;
  out.raw = dump_json(usage_);
  out.input_uncached = count_at(usage_, "input_tokens");
  out.cache_read = count_at(usage_, "cache_read_input_tokens");
  out.cache_write = count_at(usage_, "cache_creation_input_tokens");
  if (const Json* split = member(usage_, "cache_creation")) {
    out.cache_write_5m = count_at(*split, "ephemeral_5m_input_tokens");
    out.cache_write_1h = count_at(*split, "ephemeral_1h_input_tokens");
  }
  out.output = count_at(usage_, "output_tokens");
  if (const Json* details = member(usage_, "output_tokens_details")) {
    out.reasoning = count_at(*details, "thinking_tokens");
  }
  if (const Json* server = member(usage_, "server_tool_use")) {
    out.web_searches = count_at(*server, "web_search_requests");
  }
  out.service_tier = json_text(usage_, "service_tier");
  out.speed = json_text(usage_, "speed");
  out.region = json_text(usage_, "inference_geo");
  return out;
}

// ------------------------------------------------------------------------------ the codec

class AnthropicCodec final : public Codec {
 public:
  std::string_view kind() const override { return "anthropic"; }
  bool has_markers() const override { return true; }
  std::string head(const ModelParams& params) const override;
  std::string render_system(std::string_view text) const override { return text_block(text); }
  std::string render_tool(const ToolDefinition& tool) const override;
  std::string render_message(const Message& message) const override;
  void frame(const RequestParts& parts, BodySink& out) const override;
  std::string path(std::string_view) const override { return "/v1/messages"; }
  std::vector<std::string> headers(std::string_view key) const override;
  std::unique_ptr<StreamDecoder> decoder() const override {
    return std::make_unique<AnthropicDecoder>();
  }
  Failure classify(int http_status, std::string_view body) const override {
    return classify_error(http_status, body);
  }
};

std::string AnthropicCodec::head(const ModelParams& params) const {
  std::string out;
  add_member(out, "model", params.model);
  const std::uint32_t limit =
      params.max_output_tokens == 0 ? kDefaultMaxTokens : params.max_output_tokens;
  add_json_member(out, "max_tokens", std::to_string(limit));
  add_json_member(out, "stream", "true");
  if (params.thinking_budget_tokens != 0) {
    add_json_member(
        out, "thinking",
        fmt::format(R"({{"type":"enabled","budget_tokens":{}}})", params.thinking_budget_tokens));
  }
  if (!params.reasoning_effort.empty()) {
    std::string config = "{";
    add_member(config, "effort", params.reasoning_effort);
    add_json_member(out, "output_config", config + "}");
  }
  if (!params.extra.empty()) out += "," + params.extra;
  return out;
}

std::string AnthropicCodec::render_tool(const ToolDefinition& tool) const {
  std::string out = "{";
  add_member(out, "name", tool.name);
  add_member(out, "description", tool.description);
  add_json_member(out, "input_schema", tool.parameters);
  out.push_back('}');
  return out;
}

std::string AnthropicCodec::render_message(const Message& message) const {
  std::string out = "{";
  add_member(out, "role", message.role == Role::assistant ? "assistant" : "user");
  add_json_member(out, "content", "[");
  const std::vector<std::string> blocks = content_of(message);
  append_joined(out, std::vector<std::string_view>(blocks.begin(), blocks.end()));
  out += "]}";
  return out;
}

void AnthropicCodec::frame(const RequestParts& parts, BodySink& out) const {
  const bool marked = parts.marker_ttl != schema::CacheTtl::none;
  const std::string marker = marked ? marker_member(parts.marker_ttl) : "";
  const std::size_t fixed = parts.system.empty() && parts.tools.empty() ? 0 : 1;
  DAYBOOK_CHECK(!marked || parts.markers.size() + fixed <= kMaxMarkers);
  out.text("{");
  out.text(parts.head);
  add_list(out, "tools", parts.tools, parts.system.empty() ? marker : "");
  add_list(out, "system", parts.system, marker);
  out.text(R"(,"messages":[)");
  std::size_t next = 0;
  for (std::size_t i = 0; i < parts.messages.size(); ++i) {
    if (i > 0) out.text(",");
    const std::string_view message = parts.messages[i];
    if (marked && next < parts.markers.size() && parts.markers[next] == i) {
      ++next;
      add_marked(out, message, markable_end(message), marker);
    } else {
      out.segment(message);
    }
  }
  DAYBOOK_CHECK(!marked || next == parts.markers.size());
  out.text("]}");
}

std::vector<std::string> AnthropicCodec::headers(std::string_view key) const {
  std::vector<std::string> out = {"anthropic-version: 2023-06-01"};
  if (!key.empty()) out.push_back(fmt::format("x-api-key: {}", key));
  return out;
}

}  // namespace

const Codec& anthropic_codec() {
  static const AnthropicCodec codec;
  return codec;
}

}  // namespace daybook::engine
