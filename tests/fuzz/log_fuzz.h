// Bytes through a log's reader at every depth. Every event that comes out must be one that the
// journal can hold, and the first event of each session its header.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tools/log_file.h"
#include "tools/log_readers.h"

namespace daybook::fuzz {

class CheckingSink : public tools::LogSink {
 public:
  void call(replay::Call&& call) override { DAYBOOK_CHECK(call.session != nullptr); }
  Result<void> event(const std::string& session, EventDraft draft) override {
    std::uint64_t& position = positions_[session];
    ++position;
    DAYBOOK_CHECK((position == 1) == (draft.payload.AsSessionImported() != nullptr));
    const auto* requested = draft.payload.AsModelRequested();
    DAYBOOK_CHECK(requested == nullptr || requested->base < position);
    Envelope envelope;
    envelope.id = draft.id.value();
    envelope.session = "s";
    envelope.version = position;
    const std::string bytes = encode_event(draft, envelope);
    DAYBOOK_CHECK(view_event(as_bytes(bytes)).has_value());
    return {};
  }
  std::unique_ptr<schema::ContentT> content(std::string_view bytes) override {
    auto made = std::make_unique<schema::ContentT>();
    made->bytes.assign(bytes.begin(), bytes.end());
    return made;
  }
  BlobRef blob(std::string_view bytes) override { return BlobRef::of(bytes); }

 private:
  std::map<std::string, std::uint64_t> positions_;
};

inline void read_log_every_way(tools::LogKind kind, const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  tools::LogSource source;
  source.kind = kind;
  source.path = "/nonexistent/log.jsonl";
  source.file = "log.jsonl";
  for (const auto depth : {tools::Depth::usage, tools::Depth::requests, tools::Depth::whole}) {
    tools::LogReadOptions options;
    options.depth = depth;
    CheckingSink sink;
    const auto bytes = tools::bytes_of(text);
    const auto read = tools::read_log_bytes(source, options, *bytes, sink);
    // A version that is not read is refused.
    DAYBOOK_CHECK(read || read.error().code == ErrorCode::unsupported);
  }
}

}  // namespace daybook::fuzz
