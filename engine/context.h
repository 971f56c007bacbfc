// From state to the bytes of a model request.
//
// A request grows only at its end: messages that an earlier request carried are reused as the
// recorded segments, whatever this build would render; only new messages are rendered.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "engine/model.h"
#include "engine/request_body.h"
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
  std::shared_ptr<const std::string> body;
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

  /// Reads what the next request will need of the journal, so that damage is found before a turn
  /// begins; `build` reads none of it again unless the wire format changes.
  Result<void> load(const SessionState& state, const Codec& codec);

 private:
  void forget();
  BlobRef keep(PreparedRequest& request, std::string bytes);
  /// Messages that the base request does not have.
  Result<std::vector<BlobRef>> new_messages(const SessionState& state, const Codec& codec,
                                            PreparedRequest& request);
  /// Segments and their bytes in cache_, which lets go of them together with the views.
  struct Views {
    std::vector<BlobRef> refs;
    std::vector<std::string_view> bytes;
  };
  Result<std::string_view> segment(const BlobRef& ref);
  /// Makes `views` show the messages that the base has, and then the fresh ones.
  Result<void> extend(Views& views, const std::vector<schema::BlobRef>& base,
                      const std::vector<BlobRef>& fresh);

  journal::Journal& journal_;
  struct DigestHash {
    std::size_t operator()(const Digest& digest) const { return digest.lo; }
  };
  std::unordered_map<Digest, std::string, DigestHash> cache_;  // bytes of the segments in use
  Views system_;
  Views tools_;
  Views messages_;
  RequestBody body_;
};

/// The block of a compaction, as a message.
Result<std::string> render_block(journal::Journal& journal, const Codec& codec,
                                 const schema::ContentT& block);

/// Every message of the view, rendered for another wire format.
Result<std::vector<std::string>> render_history(journal::Journal& journal,
                                                const SessionState& state, const Codec& codec);

}  // namespace daybook::engine
