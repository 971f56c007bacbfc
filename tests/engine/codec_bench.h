// Shared by the tests of the wire formats.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/model.h"
#include "engine/request_body.h"
#include "engine/sse.h"

namespace daybook::tests::codecs {

inline engine::Message user(std::string text) {
  engine::Message message;
  message.text = std::move(text);
  return message;
}

inline engine::Message assistant(std::vector<engine::Block> blocks) {
  engine::Message message;
  message.role = engine::Role::assistant;
  message.blocks = std::move(blocks);
  return message;
}

inline engine::Message results(std::vector<engine::ToolResult> list) {
  engine::Message message;
  message.role = engine::Role::tool;
  message.results = std::move(list);
  return message;
}

inline engine::Block text_block(std::string text) {
  engine::Block block;
  block.text = std::move(text);
  return block;
}

inline engine::Block reasoning(std::string field, std::string text, std::string opaque = "") {
  engine::Block block;
  block.kind = schema::BlockKind::reasoning;
  block.field = std::move(field);
  block.text = std::move(text);
  block.opaque = std::move(opaque);
  return block;
}

inline engine::Block tool_call(std::string id, std::string tool, std::string arguments,
                               schema::ArgumentsState state = schema::ArgumentsState::valid) {
  engine::Block block;
  block.kind = schema::BlockKind::tool_call;
  block.provider_call_id = std::move(id);
  block.tool = std::move(tool);
  block.text = std::move(arguments);
  block.arguments_state = state;
  return block;
}

/// A request, rendered and framed.
struct Request {
  std::string head;
  std::vector<std::string> system, tools, messages;
  std::vector<std::uint32_t> markers;
  schema::CacheTtl ttl = schema::CacheTtl::none;

  std::string frame(const engine::Codec& codec) const {
    const std::vector<std::string_view> s(system.begin(), system.end());
    const std::vector<std::string_view> t(tools.begin(), tools.end());
    const std::vector<std::string_view> m(messages.begin(), messages.end());
    return engine::whole_body(codec, {head, s, t, m, markers, ttl});
  }
};

inline std::string with_crlf(std::string_view stream) {
  std::string out;
  for (const char c : stream) out += c == '\n' ? std::string("\r\n") : std::string(1, c);
  return out;
}

struct Decoded {
  tl::expected<engine::Reply, engine::Failure> reply;
  std::string text;       // as streamed
  std::string reasoning;  // as streamed
  engine::Usage usage;
};

/// Feeds pieces of an event stream to a fresh decoder.
inline Decoded decode(const engine::Codec& codec, const std::vector<std::string_view>& pieces) {
  Decoded out;
  const auto decoder = codec.decoder();
  engine::SseDecoder sse;
  std::optional<engine::Failure> failure;
  const auto sink = [&](const engine::Delta& delta) {
    (delta.kind == schema::BlockKind::reasoning ? out.reasoning : out.text) += delta.text;
  };
  for (const std::string_view piece : pieces) {
    (void)sse.feed(piece, [&](std::string_view name, std::string_view data) {
      failure = decoder->on_event(name, data, sink);
      return !failure;
    });
  }
  if (failure) {
    out.reply = tl::unexpected(*failure);
  } else {
    out.reply = decoder->finish();
  }
  out.usage = decoder->usage();
  return out;
}

inline Decoded decode(const engine::Codec& codec, std::string_view stream) {
  return decode(codec, std::vector<std::string_view>{stream});
}

}  // namespace daybook::tests::codecs
