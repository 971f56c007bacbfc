#include "engine/context.h"

#include <algorithm>

#include "engine/history.h"

namespace daybook::engine {
namespace {

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
  auto message = neutral_message(journal, pending, codec.kind());
  if (!message) return fail(std::move(message.error()));
  return codec.render_message(*message);
}

Result<std::string> render_block(journal::Journal& journal, const Codec& codec,
                                 const schema::ContentT& block) {
  Message message;
  auto text = journal::content_bytes(journal, &block);
  if (!text) return text;
  message.text = std::move(*text);
  return codec.render_message(message);
}

Result<std::vector<std::string>> render_history(journal::Journal& journal,
                                                const SessionState& state, const Codec& codec) {
  std::vector<std::string> rendered;
  auto session = SessionId::parse(state.session);
  if (!session) return fail(std::move(session.error()));
  const auto& marks = state.request->marks;
  const bool block_sent = !marks.empty() && marks[0].is_block();
  if (block_sent || state.compaction->block_pending) {
    // The block is no event's own message: the compaction that made it holds its text.
    auto bytes = render_block(journal, codec, *state.compaction->block);
    if (!bytes) return fail(std::move(bytes.error()));
    rendered.push_back(std::move(*bytes));
  }
  const std::size_t head = block_sent ? 1 : 0;
  if (head == marks.size() && state.pending.empty()) return rendered;
  const std::uint64_t first =
      head < marks.size() ? marks[head].first() : state.pending.front()->mark->first();
  Result<void> status;
  auto read = read_messages(journal, *session, first, state.version, [&](const PastMessage& past) {
    auto bytes = render_pending(journal, codec, past);
    if (bytes) {
      rendered.push_back(std::move(*bytes));
    } else {
      status = fail(std::move(bytes.error()));
    }
    return status.has_value();
  });
  if (!read) return fail(std::move(read.error()));
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
  if (last.rebase) {
    forget();
    if (state.compaction->block_pending) {
      auto bytes = render_block(journal_, codec, *state.compaction->block);
      if (!bytes) return fail(std::move(bytes.error()));
      refs.push_back(keep(request, std::move(*bytes)));
    }
    for (const auto& ref : last.messages) refs.push_back(BlobRef::from(&ref));
  }
  for (const auto& message : state.pending) {
    auto bytes = render_pending(journal_, codec, *message);
    if (!bytes) return fail(std::move(bytes.error()));
    refs.push_back(keep(request, std::move(*bytes)));
  }
  return refs;
}

/// What a compaction took out of the view is not needed again.
void RequestBuilder::forget() {
  body_ = RequestBody();
  system_ = tools_ = messages_ = Views();
  cache_.clear();
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
  const bool same_kind = last.provider_kind == codec.kind();
  const bool continues = last.version != 0 && same_kind && !last.rebase;
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
    if (!same_kind) event.changed.emplace_back("provider");
    if (last.rebase) event.changed.emplace_back("compaction");
    if (last.model != choice.model) event.changed.emplace_back("model");
    if (!same(last.system, system)) event.changed.emplace_back("system");
    if (!same(last.tools, tools)) event.changed.emplace_back("tools");
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
