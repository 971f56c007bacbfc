// From state to the bytes of a model request.
//
// A request grows only at its end: messages that an earlier request carried are reused as the
// recorded segments, whatever this build would render; only new messages are rendered.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/model.h"
#include "engine/state.h"
#include "journal/journal.h"

namespace daybook::engine {

/// A model as the configuration resolved it.
struct ModelChoice {
  std::string provider;
  std::string model;
  const Codec* codec = nullptr;
  std::string url;  // base URL and Codec::path
  std::vector<std::string> headers;
  std::string key;
  ModelParams params;
  schema::CacheTtl marker_ttl = schema::CacheTtl::minutes_5;
  std::uint32_t connect_timeout_ms = 20'000;
  std::uint32_t idle_timeout_ms = 300'000;
};

/// What precedes the messages; equal content gives equal bytes.
struct Preamble {
  std::vector<std::string> system;
  std::vector<ToolDefinition> tools;
};

struct PreparedRequest {
  schema::ModelRequestedT event;
  std::vector<journal::Blob> blobs;  // new segments
  std::string body;
};

/// Renders one pending message; contents that are blobs are read from the journal.
Result<std::string> render_pending(journal::Journal& journal, const Codec& codec,
                                   const schema::PendingMessageT& message);

class RequestBuilder {
 public:
  explicit RequestBuilder(journal::Journal& journal) : journal_(journal) {}

  /// Request for the state's pending messages. Pure apart from reading recorded bytes.
  Result<PreparedRequest> build(const SessionState& state, const ModelChoice& choice,
                                const Preamble& preamble);

 private:
  struct Segments {
    std::vector<BlobRef> refs;
    std::size_t shared = 0;  // leading ones that the base request has
  };

  BlobRef keep(PreparedRequest& request, std::string bytes);
  Result<Segments> message_segments(const SessionState& state, const Codec& codec,
                                    PreparedRequest& request);
  Result<std::vector<std::string_view>> views(const std::vector<BlobRef>& refs);

  journal::Journal& journal_;
  std::map<Digest, std::string> cache_;  // bytes of the segments in use
};

/// Every message of a session's history, rendered for another wire format.
Result<std::vector<std::string>> render_history(journal::Journal& journal,
                                                const SessionState& state, const Codec& codec);

}  // namespace daybook::engine
