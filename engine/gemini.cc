// Gemini: POST /models/MODEL:streamGenerateContent?alt=sse.
//
// What the model puts out are parts. A thought signature goes back on the very part it came on, so
// parts are never joined across one; thoughts and parts that nothing here knows go back as they
// came. The results of a model's calls are one message, right after the calls.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/codec_parts.h"
#include "engine/codecs.h"
#include "engine/provider_error.h"
#include "schema/utf8.h"

namespace daybook::engine {
namespace {

using schema::BlockKind;
using schema::FailureKind;
using schema::StopReason;

/// Block::field: `opaque` is a whole part; the signature of a text or a call; a call of this API
/// that has none.
constexpr std::string_view kParts = "parts";
constexpr std::string_view kSignature = "thoughtSignature";
constexpr std::string_view kCall = "functionCall";

/// Begins the ids that are made up for calls that came without one. They are never sent.
constexpr std::string_view kMadeUp = "no-id/";

/// Documented for calls that this API's models did not make: newer ones refuse a message whose
/// first call has no signature.
constexpr std::string_view kNoSignature = "skip_thought_signature_validator";

// ------------------------------------------------------------------------------ requests

bool is_own_call(const Block& call) {
  return call.field == kSignature || call.field == kCall;
}

/// Names begin with a letter or '_' here.
std::string function_name(std::string_view tool) {
  constexpr std::size_t kMaxBytes = 64;
  std::string name = wire_name(tool);
  if (name.front() == '-' || std::isdigit(static_cast<unsigned char>(name.front())) != 0) {
    name.insert(0, "_");
  }
  return name.substr(0, kMaxBytes);
}

void add_id(std::string& out, const std::string& id) {
  if (!id.empty() && !id.starts_with(kMadeUp)) add_member(out, "id", id);
}

std::string text_part(std::string_view text) {
  std::string out = "{";
  add_member(out, "text", text);
  out.push_back('}');
  return out;
}

void sign(std::string& part, std::string_view signature) {
  part.pop_back();
  add_member(part, kSignature, signature);
  part.push_back('}');
}

std::string call_part(const Block& call, bool first) {
  std::string function = "{";
  add_id(function, call.provider_call_id.empty() ? call.call_id : call.provider_call_id);
  add_member(function, "name", function_name(call.tool));
  add_json_member(function, "args", arguments_or_empty(call));
  function.push_back('}');
  std::string out = "{";
  add_json_member(out, "functionCall", function);
  out.push_back('}');
  if (call.field == kSignature) {
    sign(out, call.opaque);
  } else if (first && !is_own_call(call)) {
    sign(out, kNoSignature);
  }
  return out;
}

std::string result_part(const ToolResult& result) {
  std::string response = "{";
  add_member(response, result.is_error ? "error" : "output", result.text);
  response.push_back('}');
  std::string function = "{";
  add_id(function, result.provider_call_id);
  add_member(function, "name", function_name(result.tool));
  add_json_member(function, "response", response);
  function.push_back('}');
  std::string out = "{";
  add_json_member(out, "functionResponse", function);
  out.push_back('}');
  return out;
}

std::vector<std::string> assistant_parts(const Message& message) {
  std::vector<std::string> out;
  bool has_content = false;  // thoughts alone are none
  bool first_call = true;
  for (const Block& block : message.blocks) {
    if (block.kind == BlockKind::tool_call) {
      out.push_back(call_part(block, std::exchange(first_call, false)));
      has_content = true;
    } else if (block.kind == BlockKind::text && block.field == kSignature) {
      out.push_back(text_part(block.text));
      sign(out.back(), block.opaque);
      has_content = has_content || !block.text.empty();
    } else if (block.kind == BlockKind::text && !block.text.empty()) {
      out.push_back(text_part(block.text));
      has_content = true;
    } else if (block.kind == BlockKind::reasoning && block.field == kParts) {
      out.push_back(block.opaque);
    }
  }
  if (!has_content) out.push_back(text_part(kNoContent));
  return out;
}

std::vector<std::string> parts_of(const Message& message) {
  if (message.role == Role::assistant) return assistant_parts(message);
  std::vector<std::string> out;
  if (message.role == Role::user) {
    out.push_back(text_part(message.text.empty() ? kNoContent : message.text));
  }
  for (const ToolResult& result : message.results) out.push_back(result_part(result));
  if (out.empty()) out.push_back(text_part(kNoContent));
  return out;
}

// ------------------------------------------------------------------------------ responses

template <std::size_t N>
bool holds(const std::array<std::string_view, N>& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

StopReason stop_of(std::string_view raw) {
  constexpr std::array<std::string_view, 11> kFiltered = {"SAFETY",
                                                          "RECITATION",
                                                          "LANGUAGE",
                                                          "BLOCKLIST",
                                                          "SPII",
                                                          "PROHIBITED_CONTENT",
                                                          "IMAGE_SAFETY",
                                                          "MODEL_ARMOR",
                                                          "IMAGE_PROHIBITED_CONTENT",
                                                          "IMAGE_OTHER",
                                                          "IMAGE_RECITATION"};
  if (raw == "STOP") return StopReason::end;
  if (raw == "MAX_TOKENS") return StopReason::output_limit;
  return holds(kFiltered, raw) ? StopReason::content_filter : StopReason::other;
}

/// "x" in "Malformed function call: print(default_api.x(path=..." ; "" when it is not told.
std::string called_name(std::string_view message) {
  constexpr std::string_view kApi = "default_api";
  const std::size_t at = message.find(kApi);
  if (at == std::string_view::npos || at + kApi.size() + 1 >= message.size()) return {};
  message.remove_prefix(at + kApi.size() + 1);  // and the '.' or ':'
  const auto end = std::find_if(message.begin(), message.end(), [](unsigned char c) {
    return std::isalnum(c) == 0 && c != '_' && c != '-';
  });
  return std::string(message.begin(), end);
}

bool is_thought(const Json& part) {
  const Json* flag = member(part, "thought");
  return flag != nullptr && flag->is_boolean() && flag->get<bool>();
}

/// Neither may carry a signature, and both must be text of one sort.
bool may_join(const Json& before, const Json& part) {
  const auto joinable = [](const Json& one) {
    const Json* text = member(one, "text");
    const std::size_t known = member(one, "thought") == nullptr ? 1 : 2;
    return text != nullptr && text->is_string() && one.size() == known;
  };
  return joinable(before) && joinable(part) && is_thought(before) == is_thought(part);
}

std::optional<std::uint64_t> sum(std::optional<std::uint64_t> a, std::optional<std::uint64_t> b) {
  if (!a || !b) return a ? a : b;
  return *a + *b;
}

class GeminiDecoder final : public StreamDecoder {
 public:
  std::optional<Failure> on_event(std::string_view name, std::string_view data,
                                  const DeltaSink& sink) override;
  tl::expected<Reply, Failure> finish() override;
  Usage usage() const override;

 private:
  std::optional<Failure> take_chunk(const Json& chunk, const DeltaSink& sink);
  void take_candidate(const Json& candidate, const DeltaSink& sink);
  void take_part(const Json& part, const DeltaSink& sink);
  void add_block(Reply& reply, const Json& part, std::size_t index) const;
  void refuse_calls(Reply& reply) const;
  std::string made_up_id(std::size_t index) const;
  std::optional<Failure> judge(const Reply& reply) const;
  Json assembled() const;

  Json top_ = Json::object();        // members of the chunks besides candidates and usage
  Json candidate_ = Json::object();  // likewise of the candidate
  Json parts_ = Json::array();
  Json usage_ = Json::object();
  std::string finish_;
};

std::optional<Failure> GeminiDecoder::on_event(std::string_view name, std::string_view data,
                                               const DeltaSink& sink) {
  if (is_blank(data) || data == "[DONE]") return std::nullopt;
  auto parsed = parse_event(data);
  if (name == "error" || (parsed && is_error_object(*parsed))) return classify_error(0, data);
  if (!parsed) return not_json(data, parsed.error().message);
  if (!parsed->is_array()) return take_chunk(*parsed, sink);
  // A document of chunks, although an event stream was asked for.
  for (const Json& chunk : *parsed) {
    if (is_error_object(chunk)) return classify_error(0, read_error(chunk), dump_json(chunk));
    if (auto failure = take_chunk(chunk, sink)) return failure;
  }
  return std::nullopt;
}

std::optional<Failure> GeminiDecoder::take_chunk(const Json& chunk, const DeltaSink& sink) {
  if (!chunk.is_object()) return std::nullopt;
  const Json* counts = member(chunk, "usageMetadata");
  if (counts != nullptr && counts->is_object()) lay_over(usage_, *counts);
  for (const auto& [key, value] : chunk.items()) {
    if (key != "candidates" && key != "usageMetadata" && !value.is_null()) top_[key] = value;
  }
  const Json* candidates = member(chunk, "candidates");
  if (candidates != nullptr && candidates->is_array()) {
    for (const Json& candidate : *candidates) {
      if (count_at(candidate, "index").value_or(0) == 0) take_candidate(candidate, sink);
    }
  }
  const Json* feedback = member(top_, "promptFeedback");
  const std::string blocked = feedback == nullptr ? "" : json_text(*feedback, "blockReason");
  if (blocked.empty()) return std::nullopt;
  Failure failure;
  failure.message = fmt::format("the endpoint blocked the prompt: {}", blocked);
  const std::string words = json_text(*feedback, "blockReasonMessage");
  if (!words.empty()) failure.message += fmt::format(" ({})", words);
  failure.raw = dump_json(chunk);
  failure.usage = usage();
  return failure;
}

void GeminiDecoder::take_candidate(const Json& candidate, const DeltaSink& sink) {
  if (!candidate.is_object()) return;
  for (const auto& [key, value] : candidate.items()) {
    if (value.is_null() || key == "index") continue;
    if (key == "content") {
      const Json* parts = member(value, "parts");
      if (parts == nullptr || !parts->is_array()) continue;
      for (const Json& part : *parts) take_part(part, sink);
    } else if (key == "finishReason") {
      if (value.is_string()) finish_ = value.get<std::string>();
    } else {
      candidate_[key] = value;
    }
  }
}

void GeminiDecoder::take_part(const Json& part, const DeltaSink& sink) {
  if (!part.is_object() || part.empty()) return;
  const std::string piece = json_text(part, "text");
  if (!parts_.empty() && may_join(parts_.back(), part)) {
    parts_.back()["text"].get_ref<std::string&>() += piece;
  } else {
    parts_.push_back(part);
  }
  if (sink && !piece.empty())
    sink({is_thought(part) ? BlockKind::reasoning : BlockKind::text, piece});
}

/// Different in every response: the ids of one session must differ for other providers.
std::string GeminiDecoder::made_up_id(std::size_t index) const {
  return fmt::format("{}{}/{}", kMadeUp, json_text(top_, "responseId"), index);
}

void GeminiDecoder::add_block(Reply& reply, const Json& part, std::size_t index) const {
  Block block;
  const std::string signature = json_text(part, kSignature);
  const Json* text = member(part, "text");
  if (const Json* call = member(part, "functionCall"); call != nullptr && call->is_object()) {
    block.kind = BlockKind::tool_call;
    block.tool = json_text(*call, "name");
    block.provider_call_id = json_text(*call, "id");
    if (block.provider_call_id.empty()) block.provider_call_id = made_up_id(index);
    const Json* args = member(*call, "args");
    judge_arguments(block, args == nullptr || args->is_null() ? "" : dump_json(*args), false);
    block.field = signature.empty() ? kCall : kSignature;
    block.opaque = signature;
  } else if (text != nullptr && text->is_string() && !is_thought(part)) {
    block.text = text->get<std::string>();
    if (block.text.empty() && signature.empty()) return;
    if (!signature.empty()) block.field = kSignature;
    block.opaque = signature;
  } else {
    block.kind = BlockKind::reasoning;
    block.field = kParts;
    if (is_thought(part)) block.text = json_text(part, "text");
    block.opaque = dump_json(part);
  }
  reply.blocks.push_back(std::move(block));
}

/// The endpoint could not read what the model wrote as a call, and mostly sends its words in place
/// of the call: the model gets the diagnosis as the call's answer. Calls that it did send are not
/// run either, since nothing tells which of them it means.
void GeminiDecoder::refuse_calls(Reply& reply) const {
  constexpr std::size_t kMaxBytes = 500;
  const std::string words = json_text(candidate_, "finishMessage");
  const auto refuse = [&](Block& block) {
    block.arguments_state = schema::ArgumentsState::malformed;
    block.arguments_error = words.empty() ? "the endpoint could not read the call"
                                          : words.substr(0, utf8_floor(words, kMaxBytes));
  };
  bool any = false;
  for (Block& block : reply.blocks) {
    if (block.kind != BlockKind::tool_call) continue;
    refuse(block);
    any = true;
  }
  if (any) return;
  Block& block = reply.blocks.emplace_back();
  block.kind = BlockKind::tool_call;
  block.tool = called_name(words);
  block.provider_call_id = made_up_id(parts_.size());
  block.text = words;
  refuse(block);
}

/// Endings that are no answer.
std::optional<Failure> GeminiDecoder::judge(const Reply& reply) const {
  if (reply.stop != StopReason::other) return std::nullopt;
  const bool answers = std::any_of(reply.blocks.begin(), reply.blocks.end(), [](const auto& block) {
    return block.kind == BlockKind::tool_call ||
           (block.kind == BlockKind::text && !is_blank(block.text));
  });
  const bool refused = finish_ == "MISSING_THOUGHT_SIGNATURE";
  if (answers && !refused) return std::nullopt;
  Failure failure;
  failure.kind = refused ? FailureKind::permanent : FailureKind::retryable_status;
  failure.message = fmt::format("the endpoint ended the response without an answer: {}", finish_);
  const std::string words = json_text(candidate_, "finishMessage");
  if (!words.empty()) failure.message += fmt::format(" ({})", words);
  failure.raw = reply.raw;
  failure.usage = usage();
  return failure;
}

Json GeminiDecoder::assembled() const {
  Json candidate = candidate_;
  candidate["content"] = {{"role", "model"}, {"parts", parts_}};
  candidate["finishReason"] = finish_;
  Json raw = top_;
  raw["candidates"] = Json::array({std::move(candidate)});
  if (!usage_.empty()) raw["usageMetadata"] = usage_;
  return raw;
}

tl::expected<Reply, Failure> GeminiDecoder::finish() {
  if (finish_.empty()) {
    Failure failure = stream_cut("the response ended before its finishReason");
    failure.usage = usage();
    return tl::unexpected(std::move(failure));
  }
  Reply reply;
  reply.stop_raw = finish_;
  reply.stop = stop_of(finish_);
  reply.response_id = json_text(top_, "responseId");
  reply.served_model = json_text(top_, "modelVersion");
  reply.usage = usage();
  for (std::size_t i = 0; i < parts_.size(); ++i) add_block(reply, parts_[i], i);
  if (finish_ == "MALFORMED_FUNCTION_CALL") refuse_calls(reply);
  reply.raw = dump_json(assembled());
  if (auto failure = judge(reply)) return tl::unexpected(std::move(*failure));
  const bool calls = std::any_of(reply.blocks.begin(), reply.blocks.end(), [](const auto& block) {
    return block.kind == BlockKind::tool_call;
  });
  const bool ended = reply.stop == StopReason::end || reply.stop == StopReason::other;
  if (ended && calls) reply.stop = StopReason::tool_calls;
  return reply;
}

Usage GeminiDecoder::usage() const {
  Usage out;
  if (usage_.empty()) return out;
  out.raw = dump_json(usage_);
  // Cached tokens are in the prompt's; those of tool use and of thoughts are in neither figure.
  out.input_total =
      sum(count_at(usage_, "promptTokenCount"), count_at(usage_, "toolUsePromptTokenCount"));
  out.cache_read = count_at(usage_, "cachedContentTokenCount");
  // Figures that are zero are left out: beside the prompt's, in a response that ended, an absent
  // one is zero. Until the end it may still come.
  const bool ended = !finish_.empty() && count_at(usage_, "promptTokenCount");
  if (ended && !usage_.contains("cachedContentTokenCount")) out.cache_read = 0;
  out.reasoning = count_at(usage_, "thoughtsTokenCount");
  out.output = sum(count_at(usage_, "candidatesTokenCount"), out.reasoning);
  out.service_tier = json_text(usage_, "serviceTier");
  std::transform(out.service_tier.begin(), out.service_tier.end(), out.service_tier.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// ------------------------------------------------------------------------------ the codec

class GeminiCodec final : public Codec {
 public:
  std::string_view kind() const override { return "gemini"; }
  bool has_markers() const override { return false; }
  std::string head(const ModelParams& params) const override;
  std::string render_system(std::string_view text) const override { return text_part(text); }
  std::string render_tool(const ToolDefinition& tool) const override;
  std::string render_message(const Message& message) const override;
  void frame(const RequestParts& parts, BodySink& out) const override;
  std::string path(std::string_view model) const override;
  std::vector<std::string> headers(std::string_view key) const override;
  std::unique_ptr<StreamDecoder> decoder() const override {
    return std::make_unique<GeminiDecoder>();
  }
  Failure classify(int http_status, std::string_view body) const override {
    return classify_error(http_status, body);
  }
};

/// The model is in the address, so this may be empty.
std::string GeminiCodec::head(const ModelParams& params) const {
  Json thinking = Json::object();
  if (params.reasons) thinking["includeThoughts"] = true;
  if (!params.reasoning_effort.empty()) thinking["thinkingLevel"] = params.reasoning_effort;
  if (params.thinking_budget_tokens != 0) {
    thinking["thinkingBudget"] = params.thinking_budget_tokens;
  }
  Json config = Json::object();
  if (params.max_output_tokens != 0) config["maxOutputTokens"] = params.max_output_tokens;
  if (!thinking.empty()) config["thinkingConfig"] = std::move(thinking);
  std::string out;
  add_merged(out, "generationConfig", std::move(config), params.extra);
  return out;
}

std::string GeminiCodec::render_tool(const ToolDefinition& tool) const {
  std::string out = "{";
  add_member(out, "name", tool.name);
  add_member(out, "description", tool.description);
  add_json_member(out, "parametersJsonSchema", tool.parameters);
  out.push_back('}');
  return out;
}

std::string GeminiCodec::render_message(const Message& message) const {
  std::string out = "{";
  add_member(out, "role", message.role == Role::assistant ? "model" : "user");
  add_json_member(out, "parts", "[");
  const std::vector<std::string> parts = parts_of(message);
  append_joined(out, std::vector<std::string_view>(parts.begin(), parts.end()));
  out += "]}";
  return out;
}

void GeminiCodec::frame(const RequestParts& parts, BodySink& out) const {
  out.text("{");
  out.text(parts.head);
  if (!parts.head.empty()) out.text(",");
  if (!parts.system.empty()) {
    out.text(R"("systemInstruction":{"parts":[)");
    add_joined(out, parts.system);
    out.text("]},");
  }
  if (!parts.tools.empty()) {
    out.text(R"("tools":[{"functionDeclarations":[)");
    add_joined(out, parts.tools);
    out.text("]}],");
  }
  out.text(R"("contents":[)");
  add_joined(out, parts.messages);
  out.text("]}");
}

/// Names with a '/' are whole resource names, such as that of a tuned model.
std::string GeminiCodec::path(std::string_view model) const {
  std::string out = model.find('/') == std::string_view::npos ? "/models/" : "/";
  for (const char c : model) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || std::string_view("-._~/").find(c) != std::string_view::npos) {
      out.push_back(c);
    } else {
      out += fmt::format("%{:02X}", byte);
    }
  }
  return out + ":streamGenerateContent?alt=sse";
}

/// The key goes into a header: addresses end up in logs.
std::vector<std::string> GeminiCodec::headers(std::string_view key) const {
  if (key.empty()) return {};
  return {fmt::format("x-goog-api-key: {}", key)};
}

}  // namespace

const Codec& gemini_codec() {
  static const GeminiCodec codec;
  return codec;
}

}  // namespace daybook::engine
