// Bytes through a log's reader at every depth, and as the second of two files whose first one is
// held. Every event that comes out must be one that the journal can hold, and the first event of
// each session its header.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "tools/log_file.h"
#include "tools/log_readers.h"

namespace daybook::fuzz {

class CheckingSink : public tools::LogSink {
 public:
  explicit CheckingSink(std::string_view earlier = {}) : earlier_(earlier) {}

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
  Result<void> visit_earlier_lines(
      const std::string&, const schema::ProvenanceT&,
      const std::function<void(const tools::EarlierLine&)>& visit) override {
    for (std::string_view rest = earlier_; !rest.empty();) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      visit({rest.substr(0, end), "before.jsonl", earlier_.size() - rest.size()});
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return {};
  }
  std::unique_ptr<schema::ContentT> content(std::string_view bytes) override {
    auto made = std::make_unique<schema::ContentT>();
    made->bytes.assign(bytes.begin(), bytes.end());
    return made;
  }
  BlobRef blob(std::string_view bytes) override { return BlobRef::of(bytes); }

 private:
  std::string_view earlier_;
  std::map<std::string, std::uint64_t> positions_;
};

inline void read_log_every_way(tools::LogKind kind, const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  tools::LogSource source;
  source.kind = kind;
  source.path = "/nonexistent/log.jsonl";
  source.file = "log.jsonl";
  const auto read = [&](tools::Depth depth, std::string_view file, std::string_view earlier) {
    tools::LogReadOptions options;
    options.depth = depth;
    CheckingSink sink(earlier);
    const auto bytes = tools::bytes_of(file);
    const auto done = tools::read_log_bytes(source, options, *bytes, sink);
    // A version that is not read is refused.
    DAYBOOK_CHECK(done || done.error().code == ErrorCode::unsupported);
  };
  for (const auto depth : {tools::Depth::usage, tools::Depth::requests, tools::Depth::whole}) {
    read(depth, text, {});
  }
  const std::size_t cut = std::min(text.find('\n', size / 2), size);
  read(tools::Depth::whole, text.substr(cut), text.substr(0, cut));
}

}  // namespace daybook::fuzz
