#include <fmt/format.h>

#include "engine/codec_parts.h"
#include "engine/script_model.h"
#include "schema/json.h"

namespace daybook::engine {
namespace {

void append_member(std::string& out, std::string_view name, std::string_view text) {
  out += fmt::format(",\"{}\":", name);
  append_json_string(out, text);
}

void add_list(BodySink& out, std::string_view name, std::span<const std::string_view> values) {
  out.text(fmt::format(",\"{}\":[", name));
  add_joined(out, values);
  out.text("]");
}

/// A script never streams: its model hands over whole replies.
class NoDecoder : public StreamDecoder {
 public:
  std::optional<Failure> on_event(std::string_view, std::string_view, const DeltaSink&) override {
    return std::nullopt;
  }
  tl::expected<Reply, Failure> finish() override {
    return tl::unexpected(Failure{
        schema::FailureKind::bad_response, 0, "the script provider does not stream", "", {}, {}});
  }
  Usage usage() const override { return {}; }
};

class ScriptCodec : public Codec {
 public:
  std::string_view kind() const override { return "script"; }
  bool has_markers() const override { return false; }

  std::string head(const ModelParams& params) const override {
    std::string out = "\"model\":";
    append_json_string(out, params.model);
    return out;
  }

  std::string render_system(std::string_view text) const override {
    std::string out;
    append_json_string(out, text);
    return out;
  }

  std::string render_tool(const ToolDefinition& tool) const override {
    std::string out = "{\"name\":";
    append_json_string(out, tool.name);
    append_member(out, "description", tool.description);
    return out + ",\"parameters\":" + tool.parameters + "}";
  }

  std::string render_message(const Message& message) const override {
    switch (message.role) {
      case Role::user: {
        std::string out = "{\"role\":\"user\"";
        append_member(out, "text", message.text);
        return out + "}";
      }
      case Role::assistant:
        return assistant(message);
      case Role::tool:
        break;
    }
    std::string out = "{\"role\":\"tool\",\"results\":[";
    for (std::size_t i = 0; i < message.results.size(); ++i) {
      const ToolResult& result = message.results[i];
      out += i > 0 ? ",{\"tool\":" : "{\"tool\":";
      append_json_string(out, result.tool);
      append_member(out, "text", result.text);
      out += result.is_error ? ",\"error\":true}" : "}";
    }
    return out + "]}";
  }

  void frame(const RequestParts& parts, BodySink& out) const override {
    out.text("{");
    out.text(parts.head);
    add_list(out, "system", parts.system);
    add_list(out, "tools", parts.tools);
    add_list(out, "messages", parts.messages);
    out.text("}");
  }

  std::string path(std::string_view) const override { return ""; }
  std::vector<std::string> headers(std::string_view) const override { return {}; }
  std::unique_ptr<StreamDecoder> decoder() const override { return std::make_unique<NoDecoder>(); }
  Failure classify(int http_status, std::string_view body) const override {
    return {schema::FailureKind::permanent, http_status, std::string(body), "", {}, {}};
  }

 private:
  static std::string assistant(const Message& message) {
    std::string out = "{\"role\":\"assistant\",\"blocks\":[";
    bool first = true;
    for (const Block& block : message.blocks) {
      if (!first) out.push_back(',');
      first = false;
      if (block.kind == schema::BlockKind::tool_call) {
        out += "{\"tool\":";
        append_json_string(out, block.tool);
        const bool valid = block.arguments_state == schema::ArgumentsState::valid;
        out += ",\"arguments\":" + (valid ? block.text : std::string("{}")) + "}";
      } else {
        out += block.kind == schema::BlockKind::reasoning ? "{\"reasoning\":" : "{\"text\":";
        append_json_string(out, block.text);
        out.push_back('}');
      }
    }
    return out + "]}";
  }
};

}  // namespace

const Codec& script_codec() {
  static const ScriptCodec codec;
  return codec;
}

}  // namespace daybook::engine
