// OpenAI Responses: POST /responses with "stream": true and "store": false, so that the provider
// keeps nothing and every request carries the whole history.
//
// What the model puts out are items. Each goes back as it came, with its id and in its place:
// reasoning with its encrypted content, messages, calls, and kinds that are not known here.
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

/// Block::field of blocks made from items; `opaque` is the item without what the block itself has.
constexpr std::string_view kOutput = "output";
constexpr std::string_view kRefusal = "refusal";  // a message's part that is a refusal

// ------------------------------------------------------------------------------ requests

bool is_own(const Block& block) {
  return block.opaque.starts_with('{') && (block.field == kOutput || block.field == kRefusal);
}

bool is_content(const Block& block) {
  return block.kind == BlockKind::tool_call ||
         (block.kind == BlockKind::text && !block.text.empty());
}

/// The members of the block's item, as an object that is still open.
std::string open_item(const Block& block, std::string_view type, bool with_id) {
  std::string out = is_own(block) ? block.opaque : "";
  if (!out.empty() && !with_id) {
    auto item = parse_json(out);
    if (item) item->erase("id");
    out = item ? dump_json(*item) : "";
  }
  if (!out.empty()) {
    out.pop_back();
    return out;
  }
  out = "{";
  add_member(out, "type", type);
  if (type == "message") add_member(out, "role", "assistant");
  return out;
}

std::string call_item(const Block& call, bool with_id) {
  std::string out = open_item(call, "function_call", with_id);
  add_member(out, "call_id",
             wire_id(call.provider_call_id.empty() ? call.call_id : call.provider_call_id));
  add_member(out, "name", wire_name(call.tool));
  add_member(out, "arguments", arguments_or_empty(call));
  out.push_back('}');
  return out;
}

/// Text blocks of one message.
std::string message_item(std::span<const Block> blocks, bool with_id) {
  std::string content;
  for (const Block& block : blocks) {
    if (block.text.empty()) continue;
    const bool refusal = block.field == kRefusal;
    content += content.empty() ? "{" : ",{";
    add_member(content, "type", refusal ? "refusal" : "output_text");
    add_member(content, refusal ? "refusal" : "text", block.text);
    content.push_back('}');
  }
  if (content.empty()) return content;
  std::string out = open_item(blocks.front(), "message", with_id);
  add_json_member(out, "content", "[" + content + "]");
  out.push_back('}');
  return out;
}

bool same_message(const Block& a, const Block& b) {
  if (b.kind != BlockKind::text || is_own(a) != is_own(b)) return false;
  return !is_own(a) || a.opaque == b.opaque;
}

/// The API refuses reasoning that nothing follows, and items whose reasoning is missing, which it
/// finds by their ids: without all of its reasoning a message goes back without any, and without
/// ids.
std::string render_assistant(const Message& message) {
  const std::span<const Block> all(message.blocks);
  const auto last = std::find_if(all.rbegin(), all.rend(), is_content);
  const auto blocks = all.first(static_cast<std::size_t>(all.rend() - last));
  const bool whole = std::all_of(blocks.begin(), blocks.end(), [](const Block& block) {
    return block.kind != BlockKind::reasoning || is_own(block);
  });
  std::string out;
  const auto add = [&](std::string_view item) {
    if (!out.empty() && !item.empty()) out.push_back(',');
    out.append(item);
  };
  for (std::size_t i = 0; i < blocks.size();) {
    const Block& block = blocks[i];
    std::size_t end = i + 1;
    if (block.kind == BlockKind::reasoning) {
      if (whole) add(block.opaque);
    } else if (block.kind == BlockKind::tool_call) {
      add(call_item(block, whole));
    } else if (block.kind == BlockKind::text) {
      while (end < blocks.size() && same_message(block, blocks[end])) ++end;
      add(message_item(blocks.subspan(i, end - i), whole));
    }
    i = end;
  }
  if (!out.empty()) return out;
  Block placeholder;
  placeholder.text = kNoContent;
  return message_item({&placeholder, 1}, false);
}

std::string render_results(const Message& message) {
  std::string out;
  for (const ToolResult& result : message.results) {
    out += out.empty() ? "{" : ",{";
    add_member(out, "type", "function_call_output");
    add_member(out, "call_id", wire_id(result.provider_call_id));
    add_member(out, "output", result.text);
    out.push_back('}');
  }
  return out;
}

std::string render_user(const Message& message) {
  std::string part = "{";
  add_member(part, "type", "input_text");
  add_member(part, "text", message.text.empty() ? kNoContent : message.text);
  part.push_back('}');
  std::string out = "{";
  add_member(out, "type", "message");
  add_member(out, "role", "user");
  add_json_member(out, "content", "[" + part + "]");
  out.push_back('}');
  return out;
}

// ------------------------------------------------------------------------------ responses

struct Item {
  Json json = Json::object();                      // as it began, or as it was when it was done
  std::map<std::uint64_t, Json> content, summary;  // from deltas
  std::string arguments;
  bool done = false;
  bool told = false;
};

/// A stream of text that builds a part of an item.
struct TextEvent {
  std::string_view event;
  std::string_view part;
  std::string_view key;
  BlockKind kind;
};
constexpr std::array<TextEvent, 4> kTextEvents = {{
    {"response.output_text.delta", "output_text", "text", BlockKind::text},
    {"response.refusal.delta", "refusal", "refusal", BlockKind::text},
    {"response.reasoning_text.delta", "reasoning_text", "text", BlockKind::reasoning},
    {"response.reasoning_summary_text.delta", "summary_text", "text", BlockKind::reasoning},
}};

/// Events that only repeat what others say.
bool repeats(std::string_view type) {
  return type.ends_with(".done") || type.ends_with("_part.added") ||
         type.ends_with("annotation.added") || type == "keepalive" || type == "ping";
}

/// The texts of an item's parts; between two an empty line, because each is a piece of its own.
std::string joined_texts(const Json& item, std::string_view list, std::string_view key) {
  std::string out;
  const Json* parts = member(item, list);
  if (parts == nullptr || !parts->is_array()) return out;
  for (const Json& part : *parts) {
    const std::string text = json_text(part, key);
    if (!out.empty() && !text.empty()) out += "\n\n";
    out += text;
  }
  return out;
}

std::string readable_reasoning(const Json& item) {
  std::string summary = joined_texts(item, "summary", "text");
  return summary.empty() ? joined_texts(item, "content", "text") : summary;
}

Json values_of(const std::map<std::uint64_t, Json>& parts) {
  Json out = Json::array();
  for (const auto& [index, part] : parts) out.push_back(part);
  return out;
}

/// Of an item whose beginning was not sent.
std::string type_of(const Item& item) {
  const std::string part =
      item.content.empty() ? "" : json_text(item.content.begin()->second, "type");
  if (part == "reasoning_text" || !item.summary.empty()) return "reasoning";
  if (!part.empty()) return "message";
  return item.arguments.empty() ? "" : "function_call";
}

/// The item as the provider would have sent it in one piece.
Json whole_item(const Item& item) {
  Json json = item.json;
  if (json_text(json, "type").empty()) json["type"] = type_of(item);
  if (json_text(json, "type") == "message") json["role"] = "assistant";
  if (!item.done && !item.content.empty()) json["content"] = values_of(item.content);
  if (!item.done && !item.summary.empty()) json["summary"] = values_of(item.summary);
  if (!item.arguments.empty() && json_text(json, "arguments").empty()) {
    json["arguments"] = item.arguments;
  }
  return json;
}

/// What of an item goes back besides the members named. Null says nothing, and some are refused.
std::string rest_of(const Json& item, std::initializer_list<std::string_view> without) {
  Json rest = Json::object();
  for (const auto& [key, value] : item.items()) {
    if (!value.is_null() && std::find(without.begin(), without.end(), key) == without.end()) {
      rest[key] = value;
    }
  }
  return dump_json(rest);
}

/// Without an encrypted or a plain text, an id alone names what the provider did not keep.
bool can_go_back(const Json& reasoning) {
  const Json* content = member(reasoning, "content");
  return !json_text(reasoning, "encrypted_content").empty() ||
         (content != nullptr && content->is_array() && !content->empty());
}

Usage read_usage(const Json& object) {
  Usage out;
  if (!object.is_object()) return out;
  out.raw = dump_json(object);
  out.input_total = count_at(object, "input_tokens");
  out.output = count_at(object, "output_tokens");
  if (const Json* details = member(object, "input_tokens_details")) {
    out.cache_read = count_at(*details, "cached_tokens");
    out.cache_write = count_at(*details, "cache_write_tokens");
  }
  if (const Json* details = member(object, "output_tokens_details")) {
    out.reasoning = count_at(*details, "reasoning_tokens");
  }
  return out;
}

class OpenAiResponsesDecoder final : public StreamDecoder {
 public:
  std::optional<Failure> on_event(std::string_view name, std::string_view data,
                                  const DeltaSink& sink) override;
  tl::expected<Reply, Failure> finish() override;
  Usage usage() const override;

 private:
  std::optional<Failure> dispatch(const std::string& type, const Json& event,
                                  const DeltaSink& sink);
  Failure failed(const Json& event);
  Item& item_of(const Json& event);
  void complete_item(Item& item, const Json& json, const DeltaSink& sink);
  void add_text(const TextEvent& text, const Json& event, const DeltaSink& sink);
  void end(const std::string& type, const Json& response, const DeltaSink& sink);
  void keep_response(const Json& response);
  void set_stop(Reply& reply) const;
  void add_blocks(Reply& reply, const Json& item, bool done, bool last);

  Json response_ = Json::object();  // without output, and without what repeats the request
  Json usage_;
  Json unknown_ = Json::array();
  std::map<std::uint64_t, Item> items_;  // by output_index
  std::string status_;
  bool ended_ = false;
};

std::optional<Failure> OpenAiResponsesDecoder::on_event(std::string_view name,
                                                        std::string_view data,
                                                        const DeltaSink& sink) {
  if (ended_ || is_blank(data) || data == "[DONE]") return std::nullopt;
  auto parsed = parse_event(data);
  if (!parsed && name != "error") return not_json(data, parsed.error().message);
  const std::string type = parsed ? json_text(*parsed, "type") : "error";
  if (type == "response.failed") return failed(*parsed);
  if (name == "error" || is_error_object(*parsed)) return classify_error(0, data);
  if (type.empty() && json_text(*parsed, "object") == "response") {
    end("", *parsed, sink);  // one document, although a stream was asked for
    return std::nullopt;
  }
  return dispatch(type.empty() ? std::string(name) : type, *parsed, sink);
}

std::optional<Failure> OpenAiResponsesDecoder::dispatch(const std::string& type, const Json& event,
                                                        const DeltaSink& sink) {
  const auto text = std::find_if(kTextEvents.begin(), kTextEvents.end(),
                                 [&](const TextEvent& each) { return each.event == type; });
  const Json* response = member(event, "response");
  const Json* item = member(event, "item");
  if (text != kTextEvents.end()) {
    add_text(*text, event, sink);
  } else if (type == "response.function_call_arguments.delta") {
    item_of(event).arguments += json_text(event, "delta");
  } else if (type == "response.function_call_arguments.done") {
    const std::string arguments = json_text(event, "arguments");
    if (!arguments.empty()) item_of(event).arguments = arguments;
  } else if (type == "response.output_item.added" && item != nullptr && item->is_object()) {
    item_of(event).json = *item;
  } else if (type == "response.output_item.done" && item != nullptr && item->is_object()) {
    complete_item(item_of(event), *item, sink);
  } else if (type == "response.completed" || type == "response.incomplete") {
    end(type, response == nullptr ? Json::object() : *response, sink);
  } else if (response != nullptr) {
    keep_response(*response);
  } else if (!repeats(type) && unknown_.size() < kMaxUnknownEvents) {
    unknown_.push_back(event);
  }
  return std::nullopt;
}

void OpenAiResponsesDecoder::keep_response(const Json& response) {
  if (!response.is_object()) return;
  for (const auto& [key, value] : response.items()) {
    const bool repeated = key == "output" || key == "instructions" || key == "tools";
    if (key == "usage" && value.is_object()) usage_ = value;
    if (!repeated && key != "usage") response_[key] = value;
  }
}

Failure OpenAiResponsesDecoder::failed(const Json& event) {
  const Json* response = member(event, "response");
  if (response != nullptr) keep_response(*response);
  const Json* error = member(response_, "error");
  ProviderError read;
  read.message = "the response failed, and no reason was given";
  if (error != nullptr && error->is_object()) read = read_error(Json{{"error", *error}});
  Failure failure = classify_error(0, read, dump_json(response_));
  failure.usage = usage();
  return failure;
}

Item& OpenAiResponsesDecoder::item_of(const Json& event) {
  if (const auto index = count_at(event, "output_index")) return items_[*index];
  const std::string id = json_text(event, "item_id");
  for (auto& [index, item] : items_) {
    if (!id.empty() && json_text(item.json, "id") == id) return item;
  }
  const bool begins = member(event, "item") != nullptr;
  if (items_.empty() || begins) return items_[items_.empty() ? 0 : items_.rbegin()->first + 1];
  return items_.rbegin()->second;
}

void OpenAiResponsesDecoder::complete_item(Item& item, const Json& json, const DeltaSink& sink) {
  item.json = json;
  item.done = true;
  if (item.told || !sink) return;
  item.told = true;
  const std::string type = json_text(json, "type");
  if (type == "message") {
    std::string text = joined_texts(json, "content", "text");
    text += joined_texts(json, "content", "refusal");
    if (!text.empty()) sink({BlockKind::text, text});
  } else if (type == "reasoning") {
    const std::string text = readable_reasoning(json);
    if (!text.empty()) sink({BlockKind::reasoning, text});
  }
}

void OpenAiResponsesDecoder::add_text(const TextEvent& text, const Json& event,
                                      const DeltaSink& sink) {
  Item& item = item_of(event);
  const bool summary = text.part == "summary_text";
  auto& parts = summary ? item.summary : item.content;
  const auto index = count_at(event, summary ? "summary_index" : "content_index");
  const bool begins = !parts.contains(index.value_or(0));
  const bool follows = begins && !parts.empty();
  Json& part = parts[index.value_or(0)];
  const std::string key(text.key);
  if (begins) part = {{"type", std::string(text.part)}, {key, ""}};
  Json& whole = part[key];
  if (!whole.is_string()) return;  // a part of another kind
  const std::string piece = json_text(event, "delta");
  whole.get_ref<std::string&>() += piece;
  if (piece.empty()) return;
  item.told = true;
  if (sink) sink({text.kind, summary && follows ? "\n\n" + piece : piece});
}

void OpenAiResponsesDecoder::end(const std::string& type, const Json& response,
                                 const DeltaSink& sink) {
  keep_response(response);
  status_ = json_text(response, "status");
  if (status_.empty()) status_ = type == "response.incomplete" ? "incomplete" : "completed";
  const Json* output = member(response, "output");
  std::uint64_t index = 0;
  for (const Json& json : output != nullptr && output->is_array() ? *output : Json::array()) {
    const std::string id = json_text(json, "id");
    const bool known = std::any_of(items_.begin(), items_.end(), [&](const auto& entry) {
      const Item& item = entry.second;
      return item.done &&
             (entry.first == index || (!id.empty() && json_text(item.json, "id") == id));
    });
    if (!known && json.is_object()) complete_item(items_[index], json, sink);
    ++index;
  }
  ended_ = true;
}

Usage OpenAiResponsesDecoder::usage() const {
  Usage out = read_usage(usage_);
  if (!out.raw.empty()) out.service_tier = json_text(response_, "service_tier");
  return out;
}

void OpenAiResponsesDecoder::set_stop(Reply& reply) const {
  const Json* details = member(response_, "incomplete_details");
  const std::string reason = details == nullptr ? "" : json_text(*details, "reason");
  reply.stop_raw = reason.empty() ? status_ : reason;
  reply.stop = status_ == "completed" ? StopReason::end : StopReason::other;
  if (status_ == "incomplete" && reason == "max_output_tokens") {
    reply.stop = StopReason::output_limit;
  } else if (status_ == "incomplete" && reason == "content_filter") {
    reply.stop = StopReason::content_filter;
  }
}

void OpenAiResponsesDecoder::add_blocks(Reply& reply, const Json& item, bool done, bool last) {
  const std::string type = json_text(item, "type");
  Block block;
  block.field = kOutput;
  if (type == "message") {
    block.opaque = rest_of(item, {"content"});
    const Json* content = member(item, "content");
    for (const Json& part : content != nullptr && content->is_array() ? *content : Json::array()) {
      const bool refusal = json_text(part, "type") == "refusal";
      block.field = refusal ? kRefusal : kOutput;
      block.text = json_text(part, refusal ? "refusal" : "text");
      if (!block.text.empty()) reply.blocks.push_back(block);
    }
    return;
  }
  if (type == "function_call") {
    block.kind = BlockKind::tool_call;
    block.opaque = rest_of(item, {"call_id", "name", "arguments"});
    block.tool = json_text(item, "name");
    // Results are paired by this id, so there must be one.
    block.provider_call_id = json_text(item, "call_id");
    if (block.provider_call_id.empty()) block.provider_call_id = json_text(item, "id");
    if (block.provider_call_id.empty()) {
      block.provider_call_id = fmt::format("call_{}", reply.blocks.size());
    }
    const bool cut = !done || json_text(item, "status") == "incomplete" ||
                     (last && reply.stop == StopReason::output_limit);
    judge_arguments(block, json_text(item, "arguments"), cut);
  } else if (!type.empty()) {
    const bool reasoning = type == "reasoning";
    block.kind = BlockKind::reasoning;
    if (reasoning) block.text = readable_reasoning(item);
    if (done && (!reasoning || can_go_back(item))) block.opaque = rest_of(item, {});
  } else {
    return;
  }
  reply.blocks.push_back(std::move(block));
}

tl::expected<Reply, Failure> OpenAiResponsesDecoder::finish() {
  if (!ended_) {
    Failure failure = stream_cut("the response ended before its response.completed event");
    failure.usage = usage();
    return tl::unexpected(std::move(failure));
  }
  Reply reply;
  set_stop(reply);
  reply.response_id = json_text(response_, "id");
  reply.served_model = json_text(response_, "model");
  reply.usage = usage();
  Json output = Json::array();
  for (const auto& [index, item] : items_) {
    Json whole = whole_item(item);
    add_blocks(reply, whole, item.done, index == items_.rbegin()->first);
    output.push_back(std::move(whole));
  }
  const auto holds = [&](auto which) {
    return std::any_of(reply.blocks.begin(), reply.blocks.end(), which);
  };
  if (reply.stop == StopReason::end || reply.stop == StopReason::other) {
    if (holds([](const Block& block) { return block.field == kRefusal; })) {
      reply.stop = StopReason::refusal;
    } else if (holds([](const Block& block) { return block.kind == BlockKind::tool_call; })) {
      reply.stop = StopReason::tool_calls;
    }
  }
  Json raw = response_;
  raw["output"] = std::move(output);
  if (!usage_.is_null()) raw["usage"] = usage_;
  if (!unknown_.empty()) raw["unknown_events"] = unknown_;
  const Json* verdict = member(response_, "prompt_cache_diagnostics");
  if (verdict != nullptr && !verdict->is_null()) reply.diagnostics = dump_json(*verdict);
  reply.raw = dump_json(raw);
  return reply;
}

// ------------------------------------------------------------------------------ the codec

class OpenAiResponsesCodec final : public Codec {
 public:
  std::string_view kind() const override { return "openai-responses"; }
  bool has_markers() const override { return false; }
  std::string head(const ModelParams& params) const override;
  /// A JSON string: `frame` joins the parts, because there is one text of instructions.
  std::string render_system(std::string_view text) const override { return json_string(text); }
  std::string render_tool(const ToolDefinition& tool) const override;
  std::string render_message(const Message& message) const override;
  void frame(const RequestParts& parts, BodySink& out) const override;
  std::string path(std::string_view) const override { return "/responses"; }
  std::vector<std::string> headers(std::string_view key) const override;
  std::unique_ptr<StreamDecoder> decoder() const override {
    return std::make_unique<OpenAiResponsesDecoder>();
  }
  Failure classify(int http_status, std::string_view body) const override {
    return classify_error(http_status, body);
  }
};

std::string OpenAiResponsesCodec::head(const ModelParams& params) const {
  std::string out;
  add_member(out, "model", params.model);
  if (params.max_output_tokens != 0) {
    add_json_member(out, "max_output_tokens", std::to_string(params.max_output_tokens));
  }
  add_json_member(out, "stream", "true");
  add_json_member(out, "store", "false");
  // Models that do not reason refuse to be asked for it.
  if (params.reasons) add_json_member(out, "include", R"(["reasoning.encrypted_content"])");
  Json reasoning = Json::object();
  if (!params.reasoning_effort.empty()) reasoning["effort"] = params.reasoning_effort;
  add_merged(out, "reasoning", std::move(reasoning), params.extra);
  return out;
}

std::string OpenAiResponsesCodec::render_tool(const ToolDefinition& tool) const {
  std::string out = "{";
  add_member(out, "type", "function");
  add_member(out, "name", tool.name);
  add_member(out, "description", tool.description);
  add_json_member(out, "parameters", tool.parameters);
  add_json_member(out, "strict", "false");  // strict makes every argument a required one
  out.push_back('}');
  return out;
}

std::string OpenAiResponsesCodec::render_message(const Message& message) const {
  switch (message.role) {
    case Role::assistant:
      return render_assistant(message);
    case Role::tool:
      return render_results(message);
    case Role::user:
      break;
  }
  return render_user(message);
}

void OpenAiResponsesCodec::frame(const RequestParts& parts, BodySink& out) const {
  out.text("{");
  out.text(parts.head);
  if (!parts.tools.empty()) {
    out.text(R"(,"tools":[)");
    add_joined(out, parts.tools);
    out.text("]");
  }
  if (!parts.system.empty()) {
    out.text(R"(,"instructions":)");
    add_joined_strings(out, parts.system);
  }
  out.text(R"(,"input":[)");
  add_joined(out, parts.messages);
  out.text("]}");
}

std::vector<std::string> OpenAiResponsesCodec::headers(std::string_view key) const {
  if (key.empty()) return {};
  return {fmt::format("Authorization: Bearer {}", key)};
}

}  // namespace

const Codec& openai_responses_codec() {
  static const OpenAiResponsesCodec codec;
  return codec;
}

}  // namespace daybook::engine
