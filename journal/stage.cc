#include "journal/stage.h"

#include <fmt/format.h>

#include <utility>

#include "journal/chain.h"
#include "journal/keys.h"
#include "journal/reader.h"

namespace daybook::journal {
namespace {

constexpr std::size_t kCachedSessions = 1 << 16;

/// The version and epoch that the append builds on, against what is there.
Result<void> check_turn(const Append& append, const Head& head) {
  const auto where = [&] {
    return fmt::format("session {} is at version {}, epoch {}", append.session.str(), head.version,
                       head.epoch);
  };
  if (!append.acquire && append.epoch < head.epoch) {
    return fail(ErrorCode::fenced,
                fmt::format("{}: another process took it over from epoch {}; stop writing to it",
                            where(), append.epoch));
  }
  if (append.expected_version != head.version) {
    return fail(ErrorCode::conflict, fmt::format("{}, not at version {}: read it again and retry",
                                                 where(), append.expected_version));
  }
  const std::uint64_t wanted = append.acquire ? head.epoch + 1 : head.epoch;
  if (append.epoch < wanted) {
    return fail(ErrorCode::fenced,
                fmt::format("{}: epoch {} is too old to acquire it", where(), append.epoch));
  }
  if (append.epoch > wanted) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}: nobody acquired epoch {}", where(), append.epoch));
  }
  return {};
}

/// Every event's envelope; returns the head that the append leaves.
Result<Head> check_events(const Append& append, const Head& head) {
  if (append.events.empty()) {
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("session {}: an append needs at least one event", append.session.str()));
  }
  Chain chain(append.session, head.version, head.hash);
  for (const std::string& bytes : append.events) {
    auto event = chain.check(as_bytes(bytes));
    if (!event || (*event)->epoch() != append.epoch) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("{}: the event to append is malformed: {}",
                              place_of(append.session.str(), chain.version() + (event ? 0 : 1)),
                              event ? "its epoch is not the append's" : event.error().message));
    }
  }
  return Head{chain.version(), append.epoch, *chain.hash()};
}

Result<void> check_blobs(const Append& append) {
  for (const Blob& blob : append.blobs) {
    if (BlobRef::of(blob.bytes) != blob.ref) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("session {}: the bytes given for blob {} have another digest or size",
                              append.session.str(), blob.ref.digest.hex()));
    }
  }
  return {};
}

}  // namespace

Result<Stage::Session*> Stage::session(Store& store, const SessionId& id) {
  if (const auto it = sessions_.find(id.str()); it != sessions_.end()) return &it->second;
  auto head = read_head(store, id);
  if (!head) return fail(std::move(head.error()));
  return &sessions_.emplace(id.str(), Session{*head, *head, false}).first->second;
}

Result<void> Stage::check_request(Store& store, const RequestKey& request) {
  if (request.scope.size() > 0xffff) {
    return fail(ErrorCode::invalid_argument, "a request's scope must be shorter than 64 KiB");
  }
  std::optional<Digest> known;
  const auto staged = staged_requests_.find(request_key(request.scope, request.id));
  if (staged != staged_requests_.end()) {
    known = staged->second;
  } else {
    auto record = read_request(store, request.scope, request.id);
    if (!record) return fail(std::move(record.error()));
    if (*record) known = (*record)->content;
  }
  if (!known) return {};
  if (*known == request.content) {
    return fail(ErrorCode::conflict,
                fmt::format("request '{}' in '{}' is known and already answered: look up its "
                            "first answer",
                            request.id, request.scope));
  }
  return fail(ErrorCode::conflict,
              fmt::format("request '{}' in '{}' is known with other content ({} instead of {}): "
                          "use a new id for a new request",
                          request.id, request.scope, known->hex(), request.content.hex()));
}

Result<void> Stage::stage_blobs(Store& store, const Append& append) {
  std::vector<const Blob*> fresh;
  for (const Blob& blob : append.blobs) {
    const std::string key = blob_key(blob.ref.digest);
    if (const auto it = staged_blobs_.find(key); it != staged_blobs_.end()) {
      if (it->second->bytes == blob.bytes) continue;
    } else {
      auto stored = stored_blob(store, blob.ref.digest);
      if (!stored) return fail(std::move(stored.error()));
      if (!*stored) {
        fresh.push_back(&blob);
        continue;
      }
      if (**stored == blob.bytes) continue;
    }
    return fail(ErrorCode::corrupt,
                fmt::format("session {}: blob {} is stored with other bytes, damaged or a digest "
                            "collision; run `daybook verify`",
                            append.session.str(), blob.ref.digest.hex()));
  }
  for (const Blob* blob : fresh) {
    const std::string key = blob_key(blob->ref.digest);
    if (!staged_blobs_.emplace(key, blob).second) continue;
    const auto status = batch_.Put(store.blobs(), key, blob->bytes);
    DAYBOOK_CHECK(status.ok());
  }
  return {};
}

void Stage::put(Store& store, const Append& append) {
  std::string key = event_prefix(append.session);
  const std::size_t prefix_size = key.size();
  std::uint64_t version = append.expected_version;
  for (const std::string& event : append.events) {
    key.resize(prefix_size);
    key += order_key(++version).substr(1);
    buffer_.assign(event);
    seal(buffer_);
    const auto status = batch_.Put(store.main(), key, buffer_);
    DAYBOOK_CHECK(status.ok());
  }
  if (append.request) {
    const RequestKey& request = *append.request;
    const std::string request_id = request_key(request.scope, request.id);
    const auto status =
        batch_.Put(store.main(), request_id,
                   encode_request({request.content, append.session, append.expected_version + 1}));
    DAYBOOK_CHECK(status.ok());
    staged_requests_.emplace(request_id, request.content);
  }
  append_order_run(order_, append.session.str(), append.expected_version + 1,
                   static_cast<std::uint32_t>(append.events.size()));
  staged_events_ += append.events.size();
}

Result<Appended> Stage::add(Store& store, const Append& append) {
  if (append.request) DAYBOOK_TRY(check_request(store, *append.request));
  auto found = session(store, append.session);
  if (!found) return fail(std::move(found.error()));
  Session& place = **found;
  DAYBOOK_TRY(check_turn(append, place.staged));
  auto after = check_events(append, place.staged);
  if (!after) return fail(std::move(after.error()));
  DAYBOOK_TRY(check_blobs(append));
  DAYBOOK_TRY(stage_blobs(store, append));
  put(store, append);
  place.staged = *after;
  if (!std::exchange(place.touched, true)) touched_.push_back(&place);
  return Appended{*after, last()};
}

rocksdb::WriteBatch& Stage::batch(Store& store) {
  seal(order_);
  const auto status = batch_.Put(store.main(), order_key(last_ + 1), order_);
  DAYBOOK_CHECK(status.ok());
  return batch_;
}

void Stage::committed() {
  last_ += staged_events_;
  for (Session* session : touched_) {
    session->stored = session->staged;
    session->touched = false;
  }
  clear();
  if (sessions_.size() > kCachedSessions) sessions_.clear();
}

void Stage::forget(std::uint64_t last) {
  clear();
  sessions_.clear();
  last_ = last;
}

void Stage::clear() {
  staged_events_ = 0;
  touched_.clear();
  staged_requests_.clear();
  staged_blobs_.clear();
  batch_.Clear();
  order_.clear();
}

}  // namespace daybook::journal
