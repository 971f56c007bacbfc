#include "engine/context.h"

#include <algorithm>

namespace daybook::engine {
namespace {

Result<Block> neutral_block(journal::Journal& journal, const schema::BlockT& from) {
  Block block;
  block.kind = from.kind;
  auto text = journal::content_bytes(journal, from.text.get());
  if (!text) return fail(std::move(text.error()));
  block.text = std::move(*text);
  auto opaque = journal::content_bytes(journal, from.opaque.get());
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
  auto text = journal::content_bytes(journal, from.text.get());
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
    auto result = journal::content_bytes(journal, each->text.get());
    if (!result) return fail(std::move(result.error()));
    message.results.push_back(
        {each->provider_call_id, each->tool, std::move(*result), each->is_error});
  }
  return message;
}

std::vector<schema::Segment> segments_of(const std::vector<BlobRef>& refs) {
  std::vector<schema::Segment> segments;
  segments.reserve(refs.size());
  for (const BlobRef& ref : refs) segments.emplace_back(ref.fb());
  return segments;
}

bool same(const schema::BlobRef& stored, const BlobRef& ref) {
  return BlobRef::from(&stored) == ref;
}

bool same(const std::vector<schema::BlobRef>& stored, const std::vector<BlobRef>& refs) {
  return std::equal(stored.begin(), stored.end(), refs.begin(), refs.end(),
                    [](const auto& a, const auto& b) { return same(a, b); });
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

Result<std::vector<BlobRef>> RequestBuilder::new_messages(const SessionState& state,
                                                          const Codec& codec,
                                                          PreparedRequest& request) {
  std::vector<BlobRef> refs;
  const auto& last = *state.request;
  if (last.version != 0 && last.provider_kind != codec.kind()) {
    auto history = render_history(journal_, state, codec);
    if (!history) return fail(std::move(history.error()));
    for (auto& bytes : *history) refs.push_back(keep(request, std::move(bytes)));
    return refs;
  }
  for (const auto& message : state.pending) {
    auto bytes = render_pending(journal_, codec, *message);
    if (!bytes) return fail(std::move(bytes.error()));
    refs.push_back(keep(request, std::move(*bytes)));
  }
  return refs;
}

Result<std::string_view> RequestBuilder::segment(const BlobRef& ref) {
  auto found = cache_.find(ref.digest);
  if (found == cache_.end()) {
    auto bytes = journal_.blob(ref);
    if (!bytes) return fail(std::move(bytes.error()));
    found = cache_.emplace(ref.digest, std::move(*bytes)).first;
  }
  return std::string_view(found->second);
}

Result<void> RequestBuilder::extend(Views& views, const std::vector<schema::BlobRef>& base,
                                    const std::vector<BlobRef>& fresh) {
  // A history only grows: what the last request had is looked up no second time.
  const auto known = std::mismatch(base.begin(), base.end(), views.refs.begin(), views.refs.end(),
                                   [](const auto& a, const auto& b) { return same(a, b); });
  const auto shared = static_cast<std::size_t>(known.first - base.begin());
  views.refs.resize(shared);
  views.bytes.resize(shared);
  for (std::size_t i = shared; i < base.size(); ++i) views.refs.push_back(BlobRef::from(&base[i]));
  views.refs.insert(views.refs.end(), fresh.begin(), fresh.end());
  for (std::size_t i = shared; i < views.refs.size(); ++i) {
    auto bytes = segment(views.refs[i]);
    if (!bytes) return fail(std::move(bytes.error()));
    views.bytes.push_back(*bytes);
  }
  return {};
}

Result<void> RequestBuilder::load(const SessionState& state, const Codec& codec) {
  const auto& last = *state.request;
  if (last.version != 0 && last.provider_kind != codec.kind()) {
    auto history = render_history(journal_, state, codec);
    if (!history) return fail(std::move(history.error()));
    return {};
  }
  for (const auto& ref : last.messages) {
    if (auto bytes = segment(BlobRef::from(&ref)); !bytes) return fail(std::move(bytes.error()));
  }
  for (const auto& message : state.pending) {
    auto bytes = render_pending(journal_, codec, *message);
    if (!bytes) return fail(std::move(bytes.error()));
  }
  return {};
}

Result<PreparedRequest> RequestBuilder::build(const SessionState& state, const ModelChoice& choice,
                                              const Preamble& preamble) {
  PreparedRequest request;
  const Codec& codec = *choice.codec;
  const auto& last = *state.request;
  auto messages = new_messages(state, codec, request);
  if (!messages) return fail(std::move(messages.error()));
  const bool continues = last.version != 0 && last.provider_kind == codec.kind();
  static const std::vector<schema::BlobRef> kNothing;
  const auto& base = continues ? last.messages : kNothing;
  const std::size_t count = base.size() + messages->size();
  DAYBOOK_CHECK(count > 0);

  std::vector<BlobRef> system;
  for (const auto& text : preamble.system) {
    system.push_back(keep(request, codec.render_system(text)));
  }
  std::vector<BlobRef> tools;
  for (const auto& tool : preamble.tools) tools.push_back(keep(request, codec.render_tool(tool)));

  auto& event = request.event;
  if (continues) {
    event.base = last.version;
    event.shared = static_cast<std::uint32_t>(base.size());
  }
  event.appended = segments_of(*messages);
  const bool same_system = continues && same(last.system, system);
  const bool same_tools = continues && same(last.tools, tools);
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
    event.markers = place_markers(state, count, continues);
    event.marker_ttl = choice.marker_ttl;
  }
  DAYBOOK_TRY(extend(system_, kNothing, system));
  DAYBOOK_TRY(extend(tools_, kNothing, tools));
  DAYBOOK_TRY(extend(messages_, base, *messages));
  auto made = body_.make(
      codec, {head, system_.bytes, tools_.bytes, messages_.bytes, event.markers, event.marker_ttl});

  event.request = last.responses + 1;
  event.attempt = last.attempts + 1;
  event.provider = choice.provider;
  event.provider_kind = codec.kind();
  event.model = choice.model;
  event.endpoint_digest = std::make_unique<schema::Digest>(Digest::of(choice.url).fb());
  event.head = std::make_unique<schema::ContentT>();
  event.head->bytes.assign(head.begin(), head.end());
  event.body_digest = std::make_unique<schema::Digest>(made.digest.fb());
  event.body_size = made.bytes->size();
  request.body = std::move(made.bytes);
  return request;
}

}  // namespace daybook::engine
