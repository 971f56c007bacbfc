// OpenAI Chat Completions and the many servers that speak it: POST /chat/completions with
// "stream": true.
//
// Requests end in the messages, so that a longer history only appends. Reasoning goes back in the
// field it came in: reasoning_content, reasoning, or reasoning_details with its own JSON.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "engine/codec_parts.h"
#include "engine/codecs.h"
#include "engine/provider_error.h"

namespace daybook::engine {
namespace {

using schema::BlockKind;
using schema::StopReason;

// ------------------------------------------------------------------------------ requests

std::string render_call(const Block& call) {
  std::string function = "{";
  add_member(function, "name", wire_name(call.tool));
  add_member(function, "arguments", arguments_or_empty(call));
  function.push_back('}');
  std::string out = "{";
  add_member(out, "id", call.provider_call_id.empty() ? call.call_id : call.provider_call_id);
  add_member(out, "type", "function");
  add_json_member(out, "function", function);
  out.push_back('}');
  return out;
}

void add_reasoning(std::string& out, const Block& block) {
  if (block.field == "reasoning_details" && !block.opaque.empty()) {
    add_json_member(out, block.field, block.opaque);
  } else if (block.field == "reasoning_content" || block.field == "reasoning") {
    add_member(out, block.field, block.text);
  }
}

std::string render_assistant(const Message& message) {
  std::string text;
  std::vector<std::string> calls;
  std::string reasoning = "{";  // so that the first member gets no comma
  for (const Block& block : message.blocks) {
    if (block.kind == BlockKind::text) text += block.text;
    if (block.kind == BlockKind::tool_call) calls.push_back(render_call(block));
    if (block.kind == BlockKind::reasoning) add_reasoning(reasoning, block);
  }
  std::string out = "{";
  add_member(out, "role", "assistant");
  if (!text.empty()) {
    add_member(out, "content", text);
  } else if (!calls.empty()) {
    add_json_member(out, "content", "null");
  } else {
    add_member(out, "content", kNoContent);
  }
  if (reasoning.size() > 1) out += "," + reasoning.substr(1);
  if (!calls.empty()) {
    add_json_member(out, "tool_calls", "[");
    append_joined(out, std::vector<std::string_view>(calls.begin(), calls.end()));
    out.push_back(']');
  }
  out.push_back('}');
  return out;
}

std::string render_results(const Message& message) {
  std::string out;
  for (const ToolResult& result : message.results) {
    if (!out.empty()) out.push_back(',');
    out.push_back('{');
    add_member(out, "role", "tool");
    add_member(out, "tool_call_id", result.provider_call_id);
    add_member(out, "content", result.text);
    out.push_back('}');
  }
  return out;
}

// ------------------------------------------------------------------------------ responses

StopReason stop_of(const std::string& raw) {
  if (raw == "stop" || raw == "eos" || raw == "end_turn") return StopReason::end;
  if (raw == "tool_calls" || raw == "function_call") return StopReason::tool_calls;
  if (raw == "length" || raw == "max_tokens" || raw == "model_length") {
    return StopReason::output_limit;
  }
  if (raw == "content_filter" || raw == "sensitive") return StopReason::content_filter;
  if (raw == "refusal") return StopReason::refusal;
  return StopReason::other;
}

/// Content is text, or with some servers a list of parts of which the text is taken.
std::string text_of(const Json& content) {
  if (content.is_string()) return content.get<std::string>();
  std::string out;
  if (!content.is_array()) return out;
  for (const Json& part : content) out += json_text(part, "text");
  return out;
}

/// Finish reasons by which servers say that they broke off, not the model.
bool is_fault(const std::string& raw) {
  return raw == "error" || raw == "insufficient_system_resource" || raw == "network_error";
}

Usage read_usage(const Json& object) {
  Usage out;
  if (!object.is_object()) return out;
  out.raw = dump_json(object);
  out.input_total = count_at(object, "prompt_tokens");
  out.output = count_at(object, "completion_tokens");
  if (const Json* details = member(object, "prompt_tokens_details")) {
    out.cache_read = count_at(*details, "cached_tokens");
    out.cache_write = count_at(*details, "cache_write_tokens");
    if (!out.cache_write) out.cache_write = count_at(*details, "cache_creation_tokens");
  }
  if (!out.cache_read) out.cache_read = count_at(object, "prompt_cache_hit_tokens");
  if (!out.cache_read) out.cache_read = count_at(object, "cached_tokens");
  if (!out.cache_write) out.cache_write = count_at(object, "cache_write_tokens");
  if (!out.cache_write) out.cache_write = count_at(object, "cache_creation_input_tokens");
  out.input_uncached = count_at(object, "prompt_cache_miss_tokens");
  if (const Json* details = member(object, "completion_tokens_details")) {
    out.reasoning = count_at(*details, "reasoning_tokens");
  }
  return out;
}

class OpenAiChatDecoder final : public StreamDecoder {
 public:
  std::optional<Failure> on_event(std::string_view name, std::string_view data,
                                  const DeltaSink& sink) override;
  tl::expected<Reply, Failure> finish() override;
  Usage usage() const override;

 private:
  struct Call {
    std::uint64_t index = 0;
    std::string id;
    std::string name;
    std::string arguments;
    Json rest = Json::object();
  };

  std::optional<Failure> take_choice(const Json& choice, const DeltaSink& sink);
  void take_delta(const Json& delta, const DeltaSink& sink);
  void take_details(const Json& details);
  void take_call(const Json& delta);
  Call& call_for(const Json& delta, const std::string& id, bool named);
  void add_reasoning_blocks(Reply& reply) const;
  void add_calls(Reply& reply) const;
  Json assembled() const;

  Json top_ = Json::object();     // members of the chunks besides choices and usage
  Json choice_ = Json::object();  // likewise of the choice
  Json rest_ = Json::object();    // likewise of the message
  Json usage_;
  Json details_ = Json::array();
  std::string content_, refusal_, reasoning_content_, reasoning_;
  bool has_reasoning_content_ = false;
  std::vector<Call> calls_;
  std::string finish_;
  bool done_ = false;
};

Usage OpenAiChatDecoder::usage() const {
  Usage out = read_usage(usage_);
  if (!out.raw.empty()) out.service_tier = json_text(top_, "service_tier");
  return out;
}

std::optional<Failure> OpenAiChatDecoder::on_event(std::string_view name, std::string_view data,
                                                   const DeltaSink& sink) {
  if (done_ || is_blank(data)) return std::nullopt;
  if (data == "[DONE]") {
    done_ = true;
    return std::nullopt;
  }
  auto parsed = parse_event(data);
  if (name == "error" || (parsed && is_error_object(*parsed))) return classify_error(0, data);
  if (!parsed) return not_json(data, parsed.error().message);
  if (!parsed->is_object()) return std::nullopt;
  const Json* counts = member(*parsed, "usage");
  if (counts != nullptr && counts->is_object()) usage_ = *counts;
  for (const auto& [key, value] : parsed->items()) {
    if (key != "choices" && key != "usage" && !value.is_null()) top_[key] = value;
  }
  const Json* choices = member(*parsed, "choices");
  if (choices == nullptr || !choices->is_array()) return std::nullopt;
  for (const Json& choice : *choices) {
    if (count_at(choice, "index").value_or(0) != 0) continue;
    if (auto failure = take_choice(choice, sink)) return failure;
  }
  return std::nullopt;
}

std::optional<Failure> OpenAiChatDecoder::take_choice(const Json& choice, const DeltaSink& sink) {
  if (!choice.is_object()) return std::nullopt;
  if (is_error_object(choice)) {
    return classify_error(0, read_error(choice), dump_json(choice));
  }
  for (const auto& [key, value] : choice.items()) {
    if (value.is_null() || key == "index") continue;
    if (key == "usage") {
      usage_ = value;  // where Moonshot puts it
    } else if (key == "delta" || key == "message") {
      take_delta(value, sink);
    } else if (key == "finish_reason" && value.is_string()) {
      if (!value.get_ref<const std::string&>().empty()) finish_ = value.get<std::string>();
    } else {
      choice_[key] = value;
    }
  }
  if (!is_fault(finish_)) return std::nullopt;
  Failure failure;
  failure.kind = schema::FailureKind::retryable_status;
  failure.message = fmt::format("the endpoint broke the response off: {}", finish_);
  failure.raw = dump_json(choice);
  return failure;
}

void OpenAiChatDecoder::take_delta(const Json& delta, const DeltaSink& sink) {
  if (!delta.is_object()) return;
  bool told_reasoning = false;
  const auto tell = [&](BlockKind kind, const std::string& piece) {
    // Some servers send the same reasoning in two fields.
    if (piece.empty() || (kind == BlockKind::reasoning && std::exchange(told_reasoning, true))) {
      return;
    }
    if (sink) sink({kind, piece});
  };
  for (const auto& [key, value] : delta.items()) {
    if (value.is_null()) continue;
    const bool content = key == "content";
    const std::string piece = content             ? text_of(value)
                              : value.is_string() ? value.get<std::string>()
                                                  : std::string();
    if (content) {
      content_ += piece;
      tell(BlockKind::text, piece);
    } else if (key == "refusal" && value.is_string()) {
      refusal_ += piece;
      tell(BlockKind::text, piece);
    } else if (key == "reasoning_content" && value.is_string()) {
      has_reasoning_content_ = true;
      reasoning_content_ += piece;
      tell(BlockKind::reasoning, piece);
    } else if (key == "reasoning" && value.is_string()) {
      reasoning_ += piece;
      tell(BlockKind::reasoning, piece);
    } else if (key == "reasoning_details" && value.is_array()) {
      take_details(value);
    } else if (key == "tool_calls" && value.is_array()) {
      for (const Json& call : value) take_call(call);
    } else {
      rest_[key] = value;
    }
  }
}

/// Streamed pieces of one detail share index and type, and are joined as the endpoint wants them
/// back: in one piece.
void OpenAiChatDecoder::take_details(const Json& details) {
  for (const Json& piece : details) {
    const auto index = count_at(piece, "index");
    const bool joins = !details_.empty() && index && count_at(details_.back(), "index") == index &&
                       json_text(details_.back(), "type") == json_text(piece, "type");
    if (!joins) {
      details_.push_back(piece);
      continue;
    }
    Json& onto = details_.back();
    for (const auto& [key, value] : piece.items()) {
      const bool grows = key == "text" || key == "summary" || key == "data";
      const auto old = onto.find(key);
      if (grows && value.is_string() && old != onto.end() && old->is_string()) {
        old->get_ref<std::string&>() += value.get_ref<const std::string&>();
      } else if (!value.is_null()) {
        onto[key] = value;
      }
    }
  }
}

/// Which call a piece belongs to. By index; but one endpoint gives every parallel call the index
/// 0, and others leave it out: then a new id together with a name begins a new call.
OpenAiChatDecoder::Call& OpenAiChatDecoder::call_for(const Json& delta, const std::string& id,
                                                     bool named) {
  const auto index = count_at(delta, "index");
  const auto same = std::find_if(calls_.rbegin(), calls_.rend(), [&](const Call& call) {
    return index ? call.index == *index : id.empty() || call.id == id;
  });
  const bool other_call =
      same != calls_.rend() && named && !id.empty() && !same->id.empty() && same->id != id;
  if (same != calls_.rend() && !other_call) return *same;
  Call& made = calls_.emplace_back();
  made.index = index.value_or(calls_.size() - 1);
  return made;
}

void OpenAiChatDecoder::take_call(const Json& delta) {
  if (!delta.is_object()) return;
  const std::string id = json_text(delta, "id");
  const Json* function = member(delta, "function");
  const std::string name = function == nullptr ? "" : json_text(*function, "name");
  Call& call = call_for(delta, id, !name.empty());
  if (call.id.empty()) call.id = id;
  if (call.name.empty()) call.name = name;
  if (const Json* arguments = function == nullptr ? nullptr : member(*function, "arguments")) {
    if (arguments->is_string()) {
      call.arguments += arguments->get_ref<const std::string&>();
    } else if (!arguments->is_null()) {
      call.arguments += dump_json(*arguments);
    }
  }
  for (const auto& [key, value] : delta.items()) {
    if (key != "index" && key != "id" && key != "function" && !value.is_null()) {
      call.rest[key] = value;
    }
  }
}

void OpenAiChatDecoder::add_reasoning_blocks(Reply& reply) const {
  Block block;
  block.kind = BlockKind::reasoning;
  if (!details_.empty()) {
    block.field = "reasoning_details";
    block.text = reasoning_.empty() ? reasoning_content_ : reasoning_;
    block.opaque = dump_json(details_);
    reply.blocks.push_back(std::move(block));
    return;
  }
  // Endpoints that want reasoning back with tool calls want it even when there was none.
  if (!reasoning_content_.empty() || (has_reasoning_content_ && !calls_.empty())) {
    block.field = "reasoning_content";
    block.text = reasoning_content_;
    reply.blocks.push_back(block);
  }
  if (!reasoning_.empty() && reasoning_ != reasoning_content_) {
    block.field = "reasoning";
    block.text = reasoning_;
    reply.blocks.push_back(std::move(block));
  }
}

void OpenAiChatDecoder::add_calls(Reply& reply) const {
  for (std::size_t i = 0; i < calls_.size(); ++i) {
    const Call& call = calls_[i];
    Block block;
    block.kind = BlockKind::tool_call;
    // Results are paired by this id, so there must be one.
    block.provider_call_id = call.id.empty() ? fmt::format("call_{}", i) : call.id;
    block.tool = call.name;
    judge_arguments(block, call.arguments,
                    reply.stop == StopReason::output_limit && i + 1 == calls_.size());
    reply.blocks.push_back(std::move(block));
  }
}

Json OpenAiChatDecoder::assembled() const {
  Json message = {{"role", "assistant"}};
  message["content"] = content_.empty() ? Json() : Json(content_);
  if (!refusal_.empty()) message["refusal"] = refusal_;
  if (has_reasoning_content_) message["reasoning_content"] = reasoning_content_;
  if (!reasoning_.empty()) message["reasoning"] = reasoning_;
  if (!details_.empty()) message["reasoning_details"] = details_;
  for (const auto& [key, value] : rest_.items()) message[key] = value;
  for (const Call& call : calls_) {
    Json item = {{"id", call.id}};
    item.update(call.rest);
    item["function"] = {{"name", call.name}, {"arguments", call.arguments}};
    message["tool_calls"].push_back(std::move(item));
  }
  Json choice = choice_;
  choice["index"] = 0;
  choice["message"] = std::move(message);
  choice["finish_reason"] = finish_.empty() ? Json() : Json(finish_);
  Json raw = top_;
  raw["choices"] = Json::array({std::move(choice)});
  if (!usage_.is_null()) raw["usage"] = usage_;
  return raw;
}

tl::expected<Reply, Failure> OpenAiChatDecoder::finish() {
  const bool empty = content_.empty() && refusal_.empty() && calls_.empty();
  if (finish_.empty() && (!done_ || empty)) {
    Failure failure = stream_cut(done_ ? "the response ended without a message"
                                       : "the response ended before its finish_reason");
    failure.usage = usage();
    return tl::unexpected(std::move(failure));
  }
  Reply reply;
  reply.stop_raw = finish_;
  reply.stop = stop_of(finish_);
  if (!refusal_.empty() && reply.stop == StopReason::end) reply.stop = StopReason::refusal;
  const bool ended = reply.stop == StopReason::end || reply.stop == StopReason::other;
  if (ended && !calls_.empty()) reply.stop = StopReason::tool_calls;
  reply.response_id = json_text(top_, "id");
  reply.served_model = json_text(top_, "model");
  reply.usage = usage();
  add_reasoning_blocks(reply);
  if (const std::string text = content_ + refusal_; !text.empty()) {
    Block block;
    block.text = text;
    reply.blocks.push_back(std::move(block));
  }
  add_calls(reply);
  for (const Json* from :
       {member(top_, "prompt_cache_diagnostics"), member(usage_, "prompt_cache_diagnostics")}) {
    if (from != nullptr && !from->is_null()) reply.diagnostics = dump_json(*from);
  }
  reply.raw = dump_json(assembled());
  return reply;
}

// ------------------------------------------------------------------------------ the codec

class OpenAiChatCodec final : public Codec {
 public:
  std::string_view kind() const override { return "openai-chat"; }
  bool has_markers() const override { return false; }
  std::string head(const ModelParams& params) const override;
  /// A JSON string: `frame` joins the parts into one message, because many chat templates take
  /// only one system message.
  std::string render_system(std::string_view text) const override { return json_string(text); }
  std::string render_tool(const ToolDefinition& tool) const override;
  std::string render_message(const Message& message) const override;
  void frame(const RequestParts& parts, BodySink& out) const override;
  std::string path(std::string_view) const override { return "/chat/completions"; }
  std::vector<std::string> headers(std::string_view key) const override;
  std::unique_ptr<StreamDecoder> decoder() const override {
    return std::make_unique<OpenAiChatDecoder>();
  }
  Failure classify(int http_status, std::string_view body) const override {
    return classify_error(http_status, body);
  }
};

std::string OpenAiChatCodec::head(const ModelParams& params) const {
  std::string out;
  add_member(out, "model", params.model);
  if (params.max_output_tokens != 0) {
    add_json_member(out,
                    params.limit_is_max_completion_tokens ? "max_completion_tokens" : "max_tokens",
                    std::to_string(params.max_output_tokens));
  }
  add_json_member(out, "stream", "true");
  add_json_member(out, "stream_options", R"({"include_usage":true})");
  if (!params.reasoning_effort.empty()) {
    add_member(out, "reasoning_effort", params.reasoning_effort);
  }
  if (!params.extra.empty()) out += "," + params.extra;
  return out;
}

std::string OpenAiChatCodec::render_tool(const ToolDefinition& tool) const {
  std::string function = "{";
  add_member(function, "name", tool.name);
  add_member(function, "description", tool.description);
  add_json_member(function, "parameters", tool.parameters);
  function.push_back('}');
  std::string out = "{";
  add_member(out, "type", "function");
  add_json_member(out, "function", function);
  out.push_back('}');
  return out;
}

std::string OpenAiChatCodec::render_message(const Message& message) const {
  if (message.role == Role::assistant) return render_assistant(message);
  if (message.role == Role::tool) return render_results(message);
  std::string out = "{";
  add_member(out, "role", "user");
  add_member(out, "content", message.text.empty() ? kNoContent : message.text);
  out.push_back('}');
  return out;
}

void OpenAiChatCodec::frame(const RequestParts& parts, BodySink& out) const {
  out.text("{");
  out.text(parts.head);
  if (!parts.tools.empty()) {
    out.text(R"(,"tools":[)");
    add_joined(out, parts.tools);
    out.text("]");
  }
  out.text(R"(,"messages":[)");
  if (!parts.system.empty()) {
    out.text(R"({"role":"system","content":)");
    add_joined_strings(out, parts.system);
    out.text("}");
    if (!parts.messages.empty()) out.text(",");
  }
  add_joined(out, parts.messages);
  out.text("]}");
}

std::vector<std::string> OpenAiChatCodec::headers(std::string_view key) const {
  if (key.empty()) return {};
  return {fmt::format("Authorization: Bearer {}", key)};
}

}  // namespace

const Codec& openai_chat_codec() {
  static const OpenAiChatCodec codec;
  return codec;
}

}  // namespace daybook::engine
