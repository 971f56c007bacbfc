// Messages and what speaks to models: the neutral form, the codec of a wire format, and the
// transport. Nothing here knows the journal.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "schema/event.h"
#include "schema/result.h"

namespace daybook::engine {

// ------------------------------------------------------------------------------ messages

/// A provider-neutral part of an assistant message (schema Block, unpacked for rendering).
struct Block {
  schema::BlockKind kind = schema::BlockKind::text;
  std::string text;              // text; readable reasoning; a tool call's arguments as received
  std::string opaque;            // the provider's own part of it, sent back unchanged
  std::string field;             // the provider's field that reasoning or `opaque` arrived in
  std::string call_id;           // tool_call: unique in the session
  std::string provider_call_id;  // tool_call: as the provider named it
  std::string tool;
  schema::ArgumentsState arguments_state = schema::ArgumentsState::valid;
  std::string arguments_error;
};

struct ToolResult {
  std::string provider_call_id;
  std::string tool;
  std::string text;
  bool is_error = false;
};

enum class Role { user, assistant, tool };

/// One message. user: text. assistant: blocks. tool: the results of every call of the assistant
/// message before it, in the order of the calls.
struct Message {
  Role role = Role::user;
  std::string text;
  std::vector<Block> blocks;
  std::vector<ToolResult> results;
};

struct ToolDefinition {
  std::string name;
  std::string description;
  std::string parameters;  // JSON schema text
};

/// Token counts as reported; absent is not zero.
struct Usage {
  std::optional<std::uint64_t> input_uncached, input_total, cache_read, cache_write, cache_write_5m,
      cache_write_1h, output, reasoning, web_searches;
  std::string service_tier, speed, region;  // as served; "": not told
  std::string raw;                          // the provider's usage object as JSON
};

struct Reply {
  std::vector<Block> blocks;
  schema::StopReason stop = schema::StopReason::end;
  std::string stop_raw;
  Usage usage;
  std::string response_id;
  std::string served_model;
  std::string raw;          // the assembled provider message as JSON
  std::string diagnostics;  // cache diagnostics as JSON, when sent
};

struct Failure {
  schema::FailureKind kind = schema::FailureKind::permanent;
  int http_status = 0;
  std::string message;  // the provider's words where there are any
  std::string raw;      // body or stream event that says so
  std::optional<std::int64_t> retry_after_ms;
  Usage usage;  // reported before the failure
};

inline bool is_retryable(schema::FailureKind kind) {
  using enum schema::FailureKind;
  return kind == retryable_status || kind == connection || kind == stream_cut;
}

// ------------------------------------------------------------------------------ codecs

struct ModelParams {
  std::string model;
  std::uint32_t max_output_tokens = 0;       // 0: the provider's own limit, where it has one
  bool reasons = false;                      // whether the model is configured to think
  std::uint32_t thinking_budget_tokens = 0;  // 0: not requested; anthropic and gemini have one
  std::string reasoning_effort;              // "": not requested
  /// openai-chat: the limit is called max_completion_tokens (api.openai.com) instead of max_tokens.
  bool limit_is_max_completion_tokens = false;
  /// Further members from the configuration, as in a JSON object without its braces, or "".
  std::string extra;
};

/// A body as segments: what `frame` joins. Views must outlive the call.
struct RequestParts {
  std::string_view head;  // from Codec::head
  std::span<const std::string_view> system;
  std::span<const std::string_view> tools;
  std::span<const std::string_view> messages;
  std::span<const std::uint32_t> markers;  // message indexes that end a cached prefix, ascending
  schema::CacheTtl marker_ttl = schema::CacheTtl::none;
};

/// Takes a body piece by piece.
class BodySink {
 public:
  virtual ~BodySink() = default;
  virtual void text(std::string_view piece) = 0;
  /// Bytes of one of the parts, where they are.
  virtual void segment(std::string_view piece) = 0;
};

/// Called with readable pieces as they stream in.
struct Delta {
  schema::BlockKind kind = schema::BlockKind::text;
  std::string_view text;
};
using DeltaSink = std::function<void(const Delta&)>;

/// Turns server-sent events into one reply. One object per response.
class StreamDecoder {
 public:
  virtual ~StreamDecoder() = default;
  /// One event; a Failure ends the response. A body that came as one JSON document, because the
  /// endpoint does not stream, is given as a single event without a name.
  virtual std::optional<Failure> on_event(std::string_view name, std::string_view data,
                                          const DeltaSink& sink) = 0;
  /// After the last byte: the reply if it is whole, stream_cut otherwise.
  virtual tl::expected<Reply, Failure> finish() = 0;
  /// Usage seen so far.
  virtual Usage usage() const = 0;
};

/// A wire format. Pure: no I/O, no clock; equal inputs give equal bytes.
///
/// Every render function returns one complete JSON value, so that a request grows only at its end
/// and old segments are never rendered again. call ids in replies are left as the provider gave
/// them (provider_call_id); the engine assigns call_id.
class Codec {
 public:
  virtual ~Codec() = default;
  virtual std::string_view kind() const = 0;
  /// Whether requests carry explicit cache markers.
  virtual bool has_markers() const = 0;
  /// The parameters as JSON members without braces.
  virtual std::string head(const ModelParams& params) const = 0;
  virtual std::string render_system(std::string_view text) const = 0;
  virtual std::string render_tool(const ToolDefinition& tool) const = 0;
  /// A tool message may need several provider messages: they are joined by ','.
  /// A tool call whose arguments are not valid is rendered with an empty object.
  virtual std::string render_message(const Message& message) const = 0;
  /// The body. Markers add bytes and change none; at most four, system marker included.
  virtual void frame(const RequestParts& parts, BodySink& out) const = 0;

  /// Path, and query if any, below the base URL, which ends in the version by custom (but for
  /// anthropic): "/chat/completions". Wire formats that name the model in the body ignore it here.
  virtual std::string path(std::string_view model) const = 0;
  /// Headers besides content-type, including the key's when there is one.
  virtual std::vector<std::string> headers(std::string_view key) const = 0;
  virtual std::unique_ptr<StreamDecoder> decoder() const = 0;
  /// Meaning of an answer that is not 2xx. Retry times in headers are the
  /// transport's and go over those in the body.
  virtual Failure classify(int http_status, std::string_view body) const = 0;
};

/// "script" and what codecs.h lists; null for an unknown kind.
const Codec* find_codec(std::string_view kind);

// ------------------------------------------------------------------------------ transport

struct ModelCall {
  const Codec* codec = nullptr;
  std::string url;
  std::vector<std::string> headers;  // as Codec::headers gave them, plus the configuration's
  std::string key;                   // masked in whatever comes back, from 8 bytes on
  std::shared_ptr<const std::string> body;
  std::uint32_t request = 0;  // for the script provider: which request of the lineage,
  std::uint32_t attempt = 0;  // and which attempt of it
  bool summary = false;       // asks for a summary, with a numbering of its own
  std::uint32_t connect_timeout_ms = 20'000;
  std::uint32_t idle_timeout_ms = 300'000;  // without a byte
};

struct ModelOutcome {
  tl::expected<Reply, Failure> reply;
  std::vector<std::pair<std::string, std::string>> rate_limit_headers;
  std::int64_t started_at_ns = 0;     // UTC
  std::int64_t first_byte_at_ns = 0;  // of the body; 0: none came
  std::int64_t ended_at_ns = 0;
};

/// One call at a time. All functions are called on, and call back on, the engine's thread.
class Model {
 public:
  virtual ~Model() = default;
  virtual void call(ModelCall call, DeltaSink sink, std::function<void(ModelOutcome)> done) = 0;
  /// Ends a call under way with FailureKind::cancelled; `done` is still called once.
  virtual void cancel() = 0;
};

}  // namespace daybook::engine
