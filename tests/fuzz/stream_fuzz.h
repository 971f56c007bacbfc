// Shared by the stream fuzzers: one stream, whole and in pieces of sizes the input chooses, must
// come out the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "schema/result.h"
#include "tests/engine/codec_bench.h"

namespace daybook::tests {

using namespace codecs;

struct FuzzStream {
  std::string_view bytes;
  std::vector<std::string_view> pieces;
};

/// The first bytes choose the sizes of the pieces; the rest is the stream.
inline FuzzStream split_input(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kSizes = 8;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  FuzzStream out;
  if (size <= kSizes) return out;
  out.bytes = all.substr(kSizes);
  for (std::size_t at = 0, turn = 0; at < out.bytes.size(); ++turn) {
    const std::size_t length = 1 + static_cast<std::uint8_t>(all[turn % kSizes]);
    out.pieces.push_back(out.bytes.substr(at, length));
    at += length;
  }
  return out;
}

inline std::string summary(const Decoded& out) {
  std::string text = out.text + "|" + out.reasoning + "|" + out.usage.raw + "|";
  if (!out.reply) {
    return text + std::to_string(static_cast<int>(out.reply.error().kind)) +
           out.reply.error().message + "|" + out.reply.error().raw;
  }
  text += out.reply->raw;
  for (const engine::Block& block : out.reply->blocks) {
    text += "|" + block.text + "|" + block.opaque + "|" + block.tool + "|" +
            std::to_string(static_cast<int>(block.arguments_state));
  }
  return text;
}

/// A reply's message makes a request that is JSON, and a marker adds its own bytes only.
inline void check_codec(const engine::Codec& codec, const std::uint8_t* data, std::size_t size) {
  const FuzzStream stream = split_input(data, size);
  const Decoded whole = decode(codec, stream.bytes);
  DAYBOOK_CHECK(summary(whole) == summary(decode(codec, stream.pieces)));
  if (!whole.reply) return;
  Request request;
  request.head = "\"model\":\"m\"";
  request.messages = {codec.render_message(assistant(whole.reply->blocks))};
  const std::string plain = request.frame(codec);
  DAYBOOK_CHECK(nlohmann::json::accept(plain));
  request.markers = {0};
  request.ttl = schema::CacheTtl::minutes_5;
  const std::string marked = request.frame(codec);
  DAYBOOK_CHECK(nlohmann::json::accept(marked));
  DAYBOOK_CHECK(marked.size() == plain.size() + (codec.has_markers() ? 37 : 0));
}

}  // namespace daybook::tests
