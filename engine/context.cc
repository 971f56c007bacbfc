#include "engine/context.h"

#include <algorithm>

namespace daybook::engine {
namespace {

Result<std::string> text_of_content(journal::Journal& journal, const schema::ContentT* content) {
  if (content == nullptr) return std::string();
  if (content->blob) return journal.blob(BlobRef::from(content->blob.get()));
  return std::string(content->bytes.begin(), content->bytes.end());
}

Result<Block> neutral_block(journal::Journal& journal, const schema::BlockT& from) {
  Block block;
  block.kind = from.kind;
  auto text = text_of_content(journal, from.text.get());
  if (!text) return fail(std::move(text.error()));
  block.text = std::move(*text);
  auto opaque = text_of_content(journal, from.opaque.get());
  if (!opaque) return fail(std::move(opaque.error()));
  block.opaque = std::move(*opaque);
  block.field = from.field;
  block.call_id = from.call_id;
  block.provider_call_id = from.provider_call_id;
  block.tool = from.tool;
  block.arguments_state = from.arguments_state;
  block.arguments_error = from.arguments_error;
  return block;
}

Result<Message> neutral_message(journal::Journal& journal, const schema::PendingMessageT& from,
                                const Codec& codec) {
  Message message;
  message.role = static_cast<Role>(from.role);
  auto text = text_of_content(journal, from.text.get());
  if (!text) return fail(std::move(text.error()));
  message.text = std::move(*text);
  for (const auto& each : from.blocks) {
    // Reasoning is bound to the wire format it came in; another provider would refuse it.
    if (each->kind == schema::BlockKind::reasoning && from.provider_kind != codec.kind()) continue;
    auto block = neutral_block(journal, *each);
    if (!block) return fail(std::move(block.error()));
    message.blocks.push_back(std::move(*block));
  }
  for (const auto& each : from.results) {
    auto result = text_of_content(journal, each->text.get());
    if (!result) return fail(std::move(result.error()));
    message.results.push_back(
        {each->provider_call_id, each->tool, std::move(*result), each->is_error});
  }
  return message;
}

std::vector<schema::Segment> segments_of(const std::vector<BlobRef>& refs, std::size_t from = 0) {
  std::vector<schema::Segment> segments;
  segments.reserve(refs.size() - from);
  for (std::size_t i = from; i < refs.size(); ++i) segments.emplace_back(refs[i].fb());
  return segments;
}

std::vector<BlobRef> from_state(const std::vector<schema::BlobRef>& refs) {
  std::vector<BlobRef> out;
  out.reserve(refs.size());
  for (const auto& ref : refs) out.push_back(BlobRef::from(&ref));
  return out;
}

/// Two rolling markers: one at the end of this request, for the next one to read; and the one
/// that the last request wrote, because a provider looks back only a few blocks from a marker and
/// a turn can add more than that.
std::vector<std::uint32_t> place_markers(const SessionState& state, std::size_t messages,
                                         bool continues) {
  const auto& before = state.request->markers;
  if (continues && state.pending.empty()) return before;  // the same request once more
  std::vector<std::uint32_t> markers;
  const auto last = static_cast<std::uint32_t>(messages - 1);
  if (continues && !before.empty() && before.back() < last) markers.push_back(before.back());
  markers.push_back(last);
  return markers;
}

}  // namespace

Result<std::string> render_pending(journal::Journal& journal, const Codec& codec,
                                   const schema::PendingMessageT& pending) {
  auto message = neutral_message(journal, pending, codec);
  if (!message) return fail(std::move(message.error()));
  return codec.render_message(*message);
}

Result<std::vector<std::string>> render_history(journal::Journal& journal,
                                                const SessionState& state, const Codec& codec) {
  // The fold itself says which messages each request took up.
  std::vector<std::string> rendered;
  SessionState shadow = empty_state();
  Result<void> status;
  const auto take = [&]() -> Result<void> {
    for (const auto& message : shadow.pending) {
      auto bytes = render_pending(journal, codec, *message);
      if (!bytes) return fail(std::move(bytes.error()));
      rendered.push_back(std::move(*bytes));
    }
    return {};
  };
  auto session = SessionId::parse(state.session);
  if (!session) return fail(std::move(session.error()));
  auto read = journal.read(*session, 1, journal::ReadMode::strict, [&](const auto& entry) {
    if (entry.version > state.version) return false;
    if (entry.event->payload_type() == schema::Payload::ModelRequested) status = take();
    if (status) status = evolve(shadow, *entry.event, entry.bytes);
    return status.has_value();
  });
  if (!read) return fail(std::move(read.error()));
  if (status) status = take();
  if (!status) return fail(std::move(status.error()));
  return rendered;
}

BlobRef RequestBuilder::keep(PreparedRequest& request, std::string bytes) {
  const BlobRef ref = BlobRef::of(bytes);
  if (cache_.emplace(ref.digest, bytes).second) request.blobs.push_back({ref, std::move(bytes)});
  return ref;
}

Result<RequestBuilder::Segments> RequestBuilder::message_segments(const SessionState& state,
                                                                  const Codec& codec,
                                                                  PreparedRequest& request) {
  Segments segments;
  const auto& last = *state.request;
  if (last.version != 0 && last.provider_kind != codec.kind()) {
    auto history = render_history(journal_, state, codec);
    if (!history) return fail(std::move(history.error()));
    for (auto& bytes : *history) segments.refs.push_back(keep(request, std::move(bytes)));
    return segments;
  }
  segments.refs = from_state(last.messages);
  segments.shared = segments.refs.size();
  for (const auto& message : state.pending) {
    auto bytes = render_pending(journal_, codec, *message);
    if (!bytes) return fail(std::move(bytes.error()));
    segments.refs.push_back(keep(request, std::move(*bytes)));
  }
  return segments;
}

Result<std::vector<std::string_view>> RequestBuilder::views(const std::vector<BlobRef>& refs) {
  std::vector<std::string_view> out;
  out.reserve(refs.size());
  for (const auto& ref : refs) {
    auto found = cache_.find(ref.digest);
    if (found == cache_.end()) {
      auto bytes = journal_.blob(ref);
      if (!bytes) return fail(std::move(bytes.error()));
      found = cache_.emplace(ref.digest, std::move(*bytes)).first;
    }
    out.push_back(found->second);
  }
  return out;
}

Result<PreparedRequest> RequestBuilder::build(const SessionState& state, const ModelChoice& choice,
                                              const Preamble& preamble) {
  PreparedRequest request;
  const Codec& codec = *choice.codec;
  const auto& last = *state.request;
  auto messages = message_segments(state, codec, request);
  if (!messages) return fail(std::move(messages.error()));
  DAYBOOK_CHECK(!messages->refs.empty());
  const bool continues = last.version != 0 && last.provider_kind == codec.kind();

  std::vector<BlobRef> system;
  for (const auto& text : preamble.system) {
    system.push_back(keep(request, codec.render_system(text)));
  }
  std::vector<BlobRef> tools;
  for (const auto& tool : preamble.tools) tools.push_back(keep(request, codec.render_tool(tool)));

  auto& event = request.event;
  if (continues) {
    event.base = last.version;
    event.shared = static_cast<std::uint32_t>(messages->shared);
  }
  event.appended = segments_of(messages->refs, messages->shared);
  const bool same_system = continues && from_state(last.system) == system;
  const bool same_tools = continues && from_state(last.tools) == tools;
  if (!same_system) event.system = segments_of(system);
  if (!same_tools) event.tools = segments_of(tools);
  if (last.version != 0) {
    if (!continues) event.changed.emplace_back("provider");
    if (last.model != choice.model) event.changed.emplace_back("model");
    if (!same_system) event.changed.emplace_back("system");
    if (!same_tools) event.changed.emplace_back("tools");
  }

  const std::string head = codec.head(choice.params);
  if (codec.has_markers() && choice.marker_ttl != schema::CacheTtl::none) {
    event.markers = place_markers(state, messages->refs.size(), continues);
    event.marker_ttl = choice.marker_ttl;
  }
  auto system_views = views(system);
  if (!system_views) return fail(std::move(system_views.error()));
  auto tool_views = views(tools);
  if (!tool_views) return fail(std::move(tool_views.error()));
  auto message_views = views(messages->refs);
  if (!message_views) return fail(std::move(message_views.error()));
  request.body = codec.frame(
      {head, *system_views, *tool_views, *message_views, event.markers, event.marker_ttl});

  event.request = last.responses + 1;
  event.attempt = last.attempts + 1;
  event.provider = choice.provider;
  event.provider_kind = codec.kind();
  event.model = choice.model;
  event.endpoint_digest = std::make_unique<schema::Digest>(Digest::of(choice.url).fb());
  event.head = std::make_unique<schema::ContentT>();
  event.head->bytes.assign(head.begin(), head.end());
  event.body_digest = std::make_unique<schema::Digest>(Digest::of(request.body).fb());
  event.body_size = request.body.size();
  return request;
}

}  // namespace daybook::engine
