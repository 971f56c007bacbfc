#include "replay/requests.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/request_body.h"
#include "engine/state_compaction.h"
#include "engine/summary_request.h"

namespace daybook::replay {
namespace {

using engine::Codec;

/// Rebuilds one session's requests along its fold.
class Rebuilder {
 public:
  explicit Rebuilder(journal::Journal& journal) : journal_(journal) {}

  /// Folds one event; for a ModelRequested, also rebuilds it.
  Result<std::optional<RebuiltRequest>> take(const journal::Entry& entry);

 private:
  using Refs = std::vector<schema::BlobRef>;

  Result<std::vector<BlobRef>> new_messages(const Codec& codec);
  Result<std::int64_t> first_difference(const Codec& codec, const schema::ModelRequested& event);
  Result<std::int64_t> summary_difference(const Codec& codec, const schema::ModelRequested& event);
  Result<std::string> body(const Codec& codec, const schema::ModelRequested& event,
                           std::initializer_list<const Refs*> lists);
  Result<RebuiltRequest> rebuild(const Codec& codec, const journal::Entry& entry,
                                 const schema::ModelRequested& event);

  journal::Journal& journal_;
  engine::SessionState state_ = engine::empty_state();
};

std::vector<schema::BlobRef> refs_of(const flatbuffers::Vector<const schema::Segment*>* segments) {
  std::vector<schema::BlobRef> refs;
  if (segments == nullptr) return refs;
  for (const auto* segment : *segments) refs.push_back(segment->blob());
  return refs;
}

/// Messages that the request has and its base has not, as this build would send them.
Result<std::vector<BlobRef>> Rebuilder::new_messages(const Codec& codec) {
  std::vector<BlobRef> refs;
  const auto& last = *state_.request;
  if (last.version != 0 && last.provider_kind != codec.kind()) {
    auto history = engine::render_history(journal_, state_, codec);
    if (!history) return fail(std::move(history.error()));
    for (const auto& bytes : *history) refs.push_back(BlobRef::of(bytes));
    return refs;
  }
  if (last.rebase) {
    if (state_.compaction->block_pending) {
      auto bytes = engine::render_block(journal_, codec, *state_.compaction->block);
      if (!bytes) return fail(std::move(bytes.error()));
      refs.push_back(BlobRef::of(*bytes));
    }
    for (const auto& ref : last.messages) refs.push_back(BlobRef::from(&ref));
  }
  for (const auto& message : state_.pending) {
    auto bytes = engine::render_pending(journal_, codec, *message);
    if (!bytes) return fail(std::move(bytes.error()));
    refs.push_back(BlobRef::of(*bytes));
  }
  return refs;
}

Result<std::int64_t> Rebuilder::first_difference(const Codec& codec,
                                                 const schema::ModelRequested& event) {
  auto expected = new_messages(codec);
  if (!expected) return fail(std::move(expected.error()));
  const auto recorded = refs_of(event.appended());
  const std::size_t count = std::max(expected->size(), recorded.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (i >= expected->size() || i >= recorded.size() ||
        (*expected)[i] != BlobRef::from(&recorded[i])) {
      return static_cast<std::int64_t>(event.shared() + i);
    }
  }
  return -1;
}

/// A request for a summary is made of the span that its compaction replaces.
Result<std::int64_t> Rebuilder::summary_difference(const Codec& codec,
                                                   const schema::ModelRequested& event) {
  const auto items = engine::summarised_items(journal_, state_);
  if (!items) return fail(items.error());
  engine::Message message;
  message.text = engine::summary_prompt(*items, engine::ask_of(state_));
  const auto recorded = refs_of(event.appended());
  const bool same = recorded.size() == 1 &&
                    BlobRef::of(codec.render_message(message)) == BlobRef::from(&recorded[0]);
  return same ? -1 : 0;
}

Result<std::string> Rebuilder::body(const Codec& codec, const schema::ModelRequested& event,
                                    std::initializer_list<const Refs*> lists) {
  std::vector<std::string> bytes;
  std::vector<std::size_t> sizes;
  for (const Refs* list : lists) {
    sizes.push_back(list->size());
    for (const auto& ref : *list) {
      auto blob = journal_.blob(BlobRef::from(&ref));
      if (!blob) return blob;
      bytes.push_back(std::move(*blob));
    }
  }
  auto head = journal::content_bytes(journal_, event.head());
  if (!head) return head;
  std::vector<std::uint32_t> markers;
  if (event.markers() != nullptr) markers.assign(event.markers()->begin(), event.markers()->end());
  const std::vector<std::string_view> views(bytes.begin(), bytes.end());
  const std::span<const std::string_view> all(views);
  return engine::whole_body(codec, {*head, all.first(sizes[0]), all.subspan(sizes[0], sizes[1]),
                                    all.last(sizes[2]), markers, event.marker_ttl()});
}

Result<RebuiltRequest> Rebuilder::rebuild(const Codec& codec, const journal::Entry& entry,
                                          const schema::ModelRequested& event) {
  RebuiltRequest rebuilt;
  rebuilt.version = entry.version;
  rebuilt.request = event.request();
  rebuilt.attempt = event.attempt();
  rebuilt.lineage = text_of(event.lineage());
  // The requests of a replay stand alone as well; what they were made of is in another session.
  const bool summary = rebuilt.lineage == engine::kSummaryLineage || state_.replay;
  auto difference = state_.replay ? Result<std::int64_t>(-1)
                    : summary     ? summary_difference(codec, event)
                                  : first_difference(codec, event);
  if (!difference) return fail(std::move(difference.error()));
  rebuilt.first_difference = *difference;
  DAYBOOK_TRY(engine::evolve(state_, *entry.event, entry.bytes));
  const auto& request = *state_.request;
  const Refs system = summary ? refs_of(event.system()) : request.system;
  const Refs tools = summary ? refs_of(event.tools()) : request.tools;
  const Refs messages = summary ? refs_of(event.appended()) : request.messages;
  auto bytes = body(codec, event, {&system, &tools, &messages});
  if (!bytes) return fail(std::move(bytes.error()));
  rebuilt.body = std::move(*bytes);
  rebuilt.identical = rebuilt.body.size() == event.body_size() &&
                      Digest::of(rebuilt.body) == Digest::from(event.body_digest());
  return rebuilt;
}

Result<std::optional<RebuiltRequest>> Rebuilder::take(const journal::Entry& entry) {
  const auto* event = entry.event->payload_as_ModelRequested();
  if (event == nullptr) {
    DAYBOOK_TRY(engine::evolve(state_, *entry.event, entry.bytes));
    return std::nullopt;
  }
  if (event->evidence() != schema::Evidence::exact) {
    // Of an imported one nobody knows what was sent.
    DAYBOOK_TRY(engine::evolve(state_, *entry.event, entry.bytes));
    return std::nullopt;
  }
  const Codec* codec = engine::find_codec(text_of(event->provider_kind()));
  if (codec == nullptr) {
    return fail(ErrorCode::unsupported,
                fmt::format("version {}: this build does not know the wire format '{}'",
                            entry.version, text_of(event->provider_kind())));
  }
  auto rebuilt = rebuild(*codec, entry, *event);
  if (!rebuilt) return fail(std::move(rebuilt.error()));
  return std::move(*rebuilt);
}

}  // namespace

Result<void> rebuild_requests(journal::Journal& journal, const SessionId& session,
                              const std::function<bool(const RebuiltRequest&)>& visit) {
  Rebuilder rebuilder(journal);
  Result<void> status;
  auto read = journal.read(session, 1, journal::ReadMode::strict, [&](const journal::Entry& entry) {
    auto rebuilt = rebuilder.take(entry);
    if (!rebuilt) {
      status = fail(std::move(rebuilt.error()));
      return false;
    }
    return !*rebuilt || visit(**rebuilt);
  });
  if (!read) return fail(std::move(read.error()));
  return status;
}

}  // namespace daybook::replay
