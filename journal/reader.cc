#include "journal/reader.h"

#include <fmt/format.h>

#include "journal/chain.h"
#include "journal/keys.h"

namespace daybook::journal {
namespace {

/// Version and stored value of a session's last event; version 0 when it has none.
Result<std::pair<std::uint64_t, std::string>> last_event(Store& store, const SessionId& session) {
  const std::string upper = after_prefix(event_prefix(session));
  const rocksdb::Slice upper_slice(upper);
  const auto it = store.iterate(upper_slice, false);
  it->SeekForPrev(upper);
  if (!it->status().ok()) {
    return fail(
        read_error(it->status(), fmt::format("reading the end of session {}", session.str())));
  }
  const auto key = it->Valid() ? parse_event_key(it->key().ToStringView()) : std::nullopt;
  if (!key || key->session != session.str()) return std::pair(std::uint64_t{0}, std::string());
  return std::pair(key->version, it->value().ToString());
}

/// One reading of one session, in either mode.
class SessionReader {
 public:
  SessionReader(Store& store, const SessionId& session, ReadMode mode, const EntryVisitor& visit)
      : store_(store), session_(session), mode_(mode), visit_(visit), chain_(session, 0, {}) {}

  Result<void> run(std::uint64_t from);

 private:
  Result<void> start_at(std::uint64_t from);
  Result<bool> take(std::uint64_t version, std::string_view sealed);
  Result<bool> gap_before(std::uint64_t version);
  Result<bool> hole(std::uint64_t version, Error damage);
  Result<bool> pick_up_to(std::uint64_t last);

  Store& store_;
  const SessionId& session_;
  const ReadMode mode_;
  const EntryVisitor& visit_;
  Chain chain_;
  EventBuffer buffer_;
};

/// In strict mode the first event read must link to the one before it, too.
Result<void> SessionReader::start_at(std::uint64_t from) {
  chain_ = Chain(session_, from - 1, {});
  if (from == 1) {
    chain_ = Chain(session_, 0, Digest{});
  } else if (mode_ == ReadMode::strict) {
    auto before = store_.get(event_key(session_, from - 1));
    if (!before) return fail(at_place(std::move(before.error()), session_.str(), from - 1));
    if (!*before) return {};  // beyond the end, or a gap, which is found below
    auto bytes = buffer_.open(**before);
    if (!bytes) return fail(at_place(std::move(bytes.error()), session_.str(), from - 1));
    chain_ = Chain(session_, from - 1, hash_of_event(*bytes));
  }
  return {};
}

Result<bool> SessionReader::hole(std::uint64_t version, Error damage) {
  if (mode_ == ReadMode::strict) {
    return fail(at_place(std::move(damage), session_.str(), version));
  }
  Entry entry;
  entry.version = version;
  entry.damage = std::move(damage.message);
  return visit_(entry);
}

Result<bool> SessionReader::gap_before(std::uint64_t version) {
  const std::uint64_t first = chain_.version() + 1;
  if (version == first) return true;
  auto more = hole(first, {ErrorCode::corrupt,
                           version == first + 1
                               ? "the event is missing"
                               : fmt::format("events {} to {} are missing", first, version - 1)});
  chain_.skip_to(version - 1);
  return more;
}

Result<bool> SessionReader::take(std::uint64_t version, std::string_view sealed) {
  auto more = gap_before(version);
  if (!more || !*more) return more;
  auto bytes = buffer_.open(sealed);
  auto event =
      bytes ? chain_.check(*bytes) : Result<const schema::Event*>(fail(std::move(bytes.error())));
  if (!event) {
    chain_.skip_to(version);
    return hole(version, std::move(event.error()));
  }
  Entry entry;
  entry.version = version;
  entry.event = *event;
  entry.bytes = *bytes;
  return visit_(entry);
}

/// One by one, after a scan could not go on: what can still be read beyond the damage.
Result<bool> SessionReader::pick_up_to(std::uint64_t last) {
  while (chain_.version() < last) {
    const std::uint64_t version = chain_.version() + 1;
    auto value = store_.get(event_key(session_, version));
    Result<bool> more = true;
    if (!value) {
      more = hole(version, std::move(value.error()));
      chain_.skip_to(version);
    } else if (*value) {
      more = take(version, **value);
    } else {
      more = hole(version, {ErrorCode::corrupt, "the event is missing"});
      chain_.skip_to(version);
    }
    if (!more || !*more) return more;
  }
  return true;
}

Result<void> SessionReader::run(std::uint64_t from) {
  from = std::max<std::uint64_t>(from, 1);
  DAYBOOK_TRY(start_at(from));
  const std::string upper = after_prefix(event_prefix(session_));
  const rocksdb::Slice upper_slice(upper);
  const auto it = store_.iterate(upper_slice, from == 1);
  for (it->Seek(event_key(session_, from)); it->Valid(); it->Next()) {
    const auto key = parse_event_key(it->key().ToStringView());
    auto more = key ? take(key->version, it->value().ToStringView())
                    : hole(chain_.version() + 1, {ErrorCode::corrupt, "a key is malformed"});
    if (!more) return fail(std::move(more.error()));
    if (!*more) return {};
  }
  if (!it->status().ok() && mode_ == ReadMode::strict) {
    return fail(at_place(read_error(it->status(), "reading the event"), session_.str(),
                         chain_.version() + 1));
  }
  if (it->status().ok()) return {};
  auto last = last_event(store_, session_);
  auto more = last ? pick_up_to(last->first) : hole(chain_.version() + 1, std::move(last.error()));
  if (!more) return fail(std::move(more.error()));
  return {};
}

Result<std::string> checked_blob(const BlobRef& ref, std::optional<std::string> bytes) {
  if (!bytes) {
    return fail(ErrorCode::not_found,
                fmt::format("blob {} is not in the journal: restore a backup", ref.digest.hex()));
  }
  if (BlobRef::of(*bytes) != ref) {
    return fail(ErrorCode::corrupt,
                fmt::format("blob {} is damaged: its {} bytes do not have this digest; restore a "
                            "backup",
                            ref.digest.hex(), bytes->size()));
  }
  return std::move(*bytes);
}

}  // namespace

Result<Head> read_head(Store& store, const SessionId& session) {
  auto last = last_event(store, session);
  if (!last) return fail(std::move(last.error()));
  if (last->first == 0) return Head{};
  EventBuffer buffer;
  auto bytes = buffer.open(last->second);
  if (bytes) {
    const auto event = Chain(session, last->first - 1, {}).check(*bytes);
    if (event) return Head{last->first, (*event)->epoch(), hash_of_event(*bytes)};
    return fail(at_place(event.error(), session.str(), last->first));
  }
  return fail(at_place(bytes.error(), session.str(), last->first));
}

Result<void> read_session(Store& store, const SessionId& session, std::uint64_t from, ReadMode mode,
                          const EntryVisitor& visit) {
  return SessionReader(store, session, mode, visit).run(from);
}

Result<void> read_tail(Store& store, std::uint64_t from, const EntryVisitor& visit) {
  from = std::max<std::uint64_t>(from, 1);
  const std::string upper = after_prefix({static_cast<char>(KeyKind::order)});
  const rocksdb::Slice upper_slice(upper);
  const auto it = store.iterate(upper_slice, false);
  EventBuffer buffer;
  std::uint64_t position = 0;
  it->SeekForPrev(order_key(from));
  if (!it->Valid() && it->status().ok()) it->Seek(order_key(from));
  for (; it->Valid(); it->Next()) {
    const auto first = parse_order_key(it->key().ToStringView());
    const auto runs = decode_order(it->value().ToStringView());
    if (!first || !runs || (position != 0 && *first != position)) {
      return fail(ErrorCode::corrupt,
                  fmt::format("the order index is damaged near position {}: run `daybook verify`",
                              first.value_or(position)));
    }
    position = *first;
    for (const OrderRun& run : *runs) {
      const auto session = SessionId::parse(run.session);
      if (!session) return fail(ErrorCode::corrupt, session.error().message);
      for (std::uint32_t i = 0; i < run.count; ++i, ++position) {
        if (position < from) continue;
        const std::uint64_t version = run.first_version + i;
        auto value = store.get(event_key(*session, version));
        if (!value) return fail(at_place(std::move(value.error()), run.session, version));
        auto bytes = buffer.open(*value ? std::string_view(**value) : std::string_view());
        auto event = bytes ? Chain(*session, version - 1, {}).check(*bytes)
                           : Result<const schema::Event*>(fail(std::move(bytes.error())));
        if (!event) return fail(at_place(std::move(event.error()), run.session, version));
        Entry entry;
        entry.version = version;
        entry.position = position;
        entry.event = *event;
        entry.bytes = *bytes;
        if (!visit(entry)) return {};
      }
    }
  }
  if (!it->status().ok()) return fail(read_error(it->status(), "reading the order index"));
  return {};
}

Result<std::vector<SessionInfo>> read_sessions(Store& store, std::string_view prefix) {
  const std::string lower = std::string(1, static_cast<char>(KeyKind::event)).append(prefix);
  const std::string upper = after_prefix(lower);
  const rocksdb::Slice upper_slice(upper);
  const auto it = store.iterate(upper_slice, false);
  std::vector<SessionInfo> sessions;
  it->Seek(lower);
  while (it->Valid()) {
    const auto key = parse_event_key(it->key().ToStringView());
    auto session = SessionId::parse(key ? key->session : std::string_view());
    if (!session) {
      return fail(ErrorCode::corrupt, "a key in the journal is malformed: run `daybook verify`");
    }
    auto last = last_event(store, *session);
    if (!last) return fail(std::move(last.error()));
    const auto head = read_head(store, *session);
    it->Seek(after_prefix(event_prefix(*session)));
    sessions.push_back({std::move(*session), head.value_or(Head{last->first, 0, {}})});
  }
  if (!it->status().ok()) return fail(read_error(it->status(), "listing sessions"));
  return sessions;
}

Result<std::optional<std::string>> stored_blob(Store& store, const Digest& digest) {
  std::string bytes;
  const auto status = store.db().Get({}, store.blobs(), blob_key(digest), &bytes);
  if (status.IsNotFound()) return std::optional<std::string>();
  if (!status.ok()) return fail(read_error(status, fmt::format("reading blob {}", digest.hex())));
  return std::optional(std::move(bytes));
}

Result<std::string> read_blob(Store& store, const BlobRef& ref) {
  auto bytes = stored_blob(store, ref.digest);
  if (!bytes) return fail(std::move(bytes.error()));
  return checked_blob(ref, std::move(*bytes));
}

Result<std::optional<RequestRecord>> read_request(Store& store, std::string_view scope,
                                                  std::string_view id) {
  if (scope.size() > 0xffff) return std::optional<RequestRecord>();
  auto value = store.get(request_key(scope, id));
  if (!value) return fail(std::move(value.error()));
  if (!*value) return std::optional<RequestRecord>();
  auto record = decode_request(**value);
  if (!record) {
    return fail(ErrorCode::corrupt, fmt::format("the record of request '{}' in '{}' is damaged: "
                                                "restore a backup",
                                                id, scope));
  }
  return record;
}

}  // namespace daybook::journal
