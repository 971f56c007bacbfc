#include "replay/requests.h"

#include <fmt/format.h>

#include "engine/context.h"
#include "engine/request_body.h"
#include "engine/state.h"

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
  Result<std::int64_t> first_difference(const Codec& codec, const schema::ModelRequested& event);
  Result<std::string> body(const Codec& codec, const schema::ModelRequested& event);

  journal::Journal& journal_;
  engine::SessionState state_ = engine::empty_state();
};

Result<std::int64_t> Rebuilder::first_difference(const Codec& codec,
                                                 const schema::ModelRequested& event) {
  // A request without a base after a change of provider was rendered anew as a whole; only the
  // messages that were new can be compared one by one.
  const bool whole = event.base() == 0 && state_.request->version != 0;
  if (whole || event.appended() == nullptr) return -1;
  std::int64_t index = event.shared();
  for (std::size_t i = 0; i < state_.pending.size(); ++i, ++index) {
    auto rendered = engine::render_pending(journal_, codec, *state_.pending[i]);
    if (!rendered) return fail(std::move(rendered.error()));
    const auto at = static_cast<flatbuffers::uoffset_t>(i);
    if (at >= event.appended()->size()) return index;
    if (BlobRef::of(*rendered) != BlobRef::from(&event.appended()->Get(at)->blob())) return index;
  }
  return -1;
}

Result<std::string> Rebuilder::body(const Codec& codec, const schema::ModelRequested& event) {
  std::vector<std::string> bytes;
  const auto& request = *state_.request;
  const std::vector<schema::BlobRef>* lists[] = {&request.system, &request.tools,
                                                 &request.messages};
  for (const auto* list : lists) {
    for (const auto& ref : *list) {
      auto blob = journal_.blob(BlobRef::from(&ref));
      if (!blob) return blob;
      bytes.push_back(std::move(*blob));
    }
  }
  auto head = journal::content_bytes(journal_, event.head());
  if (!head) return head;
  const std::vector<std::string_view> views(bytes.begin(), bytes.end());
  const std::span<const std::string_view> all(views);
  return engine::whole_body(
      codec, {*head, all.first(request.system.size()),
              all.subspan(request.system.size(), request.tools.size()),
              all.last(request.messages.size()), request.markers, event.marker_ttl()});
}

Result<std::optional<RebuiltRequest>> Rebuilder::take(const journal::Entry& entry) {
  const auto* event = entry.event->payload_as_ModelRequested();
  if (event == nullptr) {
    DAYBOOK_TRY(engine::evolve(state_, *entry.event, entry.bytes));
    return std::nullopt;
  }
  const Codec* codec = engine::find_codec(text_of(event->provider_kind()));
  if (codec == nullptr) {
    return fail(ErrorCode::unsupported,
                fmt::format("version {}: this build does not know the wire format '{}'",
                            entry.version, text_of(event->provider_kind())));
  }
  RebuiltRequest rebuilt;
  rebuilt.version = entry.version;
  rebuilt.request = event->request();
  rebuilt.attempt = event->attempt();
  auto difference = first_difference(*codec, *event);
  if (!difference) return fail(std::move(difference.error()));
  rebuilt.first_difference = *difference;
  DAYBOOK_TRY(engine::evolve(state_, *entry.event, entry.bytes));
  auto bytes = body(*codec, *event);
  if (!bytes) return fail(std::move(bytes.error()));
  rebuilt.body = std::move(*bytes);
  rebuilt.identical = rebuilt.body.size() == event->body_size() &&
                      Digest::of(rebuilt.body) == Digest::from(event->body_digest());
  return rebuilt;
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
