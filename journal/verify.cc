#include "journal/verify.h"

#include <fmt/format.h>

#include <map>
#include <unordered_map>

#include "journal/blob_refs.h"
#include "journal/chain.h"
#include "journal/checkpoints.h"
#include "journal/keys.h"

namespace daybook::journal {
namespace {

struct SessionState {
  std::uint64_t version = 0;       // of the last event
  std::uint64_t next_ordered = 1;  // version the order index must name next
};

struct Named {
  std::uint64_t size = 0;
  std::string where;  // the first event that names it
  bool found = false;
};

struct DigestHash {
  std::size_t operator()(const Digest& digest) const { return digest.lo; }
};

class Verifier {
 public:
  Verifier(Store& store, const Refold& refold) : store_(store), refold_(refold) {
    snapshot_ = store_.db().GetSnapshot();
  }
  ~Verifier() { store_.db().ReleaseSnapshot(snapshot_); }
  Verifier(const Verifier&) = delete;
  Verifier& operator=(const Verifier&) = delete;

  VerifyReport run() {
    events();
    order();
    blobs();
    requests();
    checkpoints();
    return std::move(report_);
  }

 private:
  using Visit = std::function<void(std::string_view key, std::string_view value)>;

  void events();
  void session_events(const SessionId& session, rocksdb::Iterator& it);
  void order();
  void order_record(std::string_view key, std::string_view value, std::uint64_t& next);
  void blobs();
  void requests();
  void checkpoints();
  void named_checkpoint(std::string_view session, std::string_view projection,
                        const std::optional<Checkpoint>& stored);
  void checkpoint(const SessionId& session, std::string_view projection,
                  const std::optional<Checkpoint>& stored);

  void damage(std::string where, std::string what) {
    report_.damage.push_back({std::move(where), std::move(what)});
  }
  /// Every key of a kind.
  void scan(KeyKind kind, const std::string& what, const Visit& visit);
  rocksdb::ReadOptions read_options(const rocksdb::Slice* upper) const {
    rocksdb::ReadOptions options;
    options.snapshot = snapshot_;
    options.iterate_upper_bound = upper;
    options.fill_cache = false;
    options.readahead_size = 2 << 20;
    return options;
  }

  Store& store_;
  const Refold& refold_;
  const rocksdb::Snapshot* snapshot_;
  VerifyReport report_;
  std::map<std::string, SessionState, std::less<>> sessions_;
  std::unordered_map<Digest, Named, DigestHash> named_;
  EventBuffer buffer_;
};

void Verifier::scan(KeyKind kind, const std::string& what, const Visit& visit) {
  const std::string lower(1, static_cast<char>(kind));
  const std::string upper = after_prefix(lower);
  const rocksdb::Slice upper_slice(upper);
  const std::unique_ptr<rocksdb::Iterator> it(
      store_.db().NewIterator(read_options(&upper_slice), store_.main()));
  for (it->Seek(lower); it->Valid(); it->Next()) {
    visit(it->key().ToStringView(), it->value().ToStringView());
  }
  if (!it->status().ok()) damage(what, read_error(it->status(), "reading them").message);
}

/// Checks the session's events, leaving the iterator at the first key after them.
void Verifier::session_events(const SessionId& session, rocksdb::Iterator& it) {
  Chain chain(session, 0, Digest{});
  std::string where;
  const std::function<void(const BlobRef&)> note = [&](const BlobRef& ref) {
    const auto [at, fresh] = named_.try_emplace(ref.digest, Named{ref.size, where, false});
    if (!fresh && at->second.size != ref.size) {
      damage(where, fmt::format("names blob {} with size {}, {} names it with size {}",
                                ref.digest.hex(), ref.size, at->second.where, at->second.size));
    }
  };
  for (; it.Valid(); it.Next()) {
    const auto key = parse_event_key(it.key().ToStringView());
    if (!key || key->session != session.str()) break;
    where = place_of(session.str(), key->version);
    if (key->version != chain.version() + 1) {
      damage(place_of(session.str(), chain.version() + 1),
             fmt::format("events up to version {} are missing", key->version - 1));
      chain.skip_to(key->version - 1);
    }
    ++report_.events;
    auto bytes = buffer_.open(it.value().ToStringView());
    auto event =
        bytes ? chain.check(*bytes) : Result<const schema::Event*>(fail(std::move(bytes.error())));
    if (!event) {
      damage(where, event.error().message);
      chain.skip_to(key->version);
      continue;
    }
    visit_blob_refs(**event, note);
  }
  ++report_.sessions;
  sessions_[session.str()].version = chain.version();
}

void Verifier::events() {
  const std::string lower(1, static_cast<char>(KeyKind::event));
  const std::string upper = after_prefix(lower);
  const rocksdb::Slice upper_slice(upper);
  const std::unique_ptr<rocksdb::Iterator> it(
      store_.db().NewIterator(read_options(&upper_slice), store_.main()));
  it->Seek(lower);
  while (it->Valid()) {
    const auto key = parse_event_key(it->key().ToStringView());
    const auto session = SessionId::parse(key ? key->session : std::string_view());
    if (!session) {
      damage("events", "a key is malformed");
      it->Next();
      continue;
    }
    session_events(*session, *it);
  }
  if (!it->status().ok()) damage("events", read_error(it->status(), "reading them").message);
}

void Verifier::order_record(std::string_view key, std::string_view value, std::uint64_t& next) {
  const auto first = parse_order_key(key);
  const auto runs = decode_order(value);
  if (!first || !runs) return damage(fmt::format("position {}", next), "its record is damaged");
  if (*first != next) {
    damage(fmt::format("position {}", next),
           fmt::format("positions up to {} are missing", *first - 1));
  }
  next = *first;
  for (const OrderRun& run : *runs) {
    const auto session = sessions_.find(run.session);
    if (session == sessions_.end() || run.first_version != session->second.next_ordered) {
      damage(fmt::format("position {}", next),
             fmt::format("names {}, which is not that session's next event",
                         place_of(run.session, run.first_version)));
    }
    if (session != sessions_.end()) session->second.next_ordered = run.first_version + run.count;
    next += run.count;
  }
}

void Verifier::order() {
  std::uint64_t next = 1;
  scan(KeyKind::order, "order index",
       [&](std::string_view key, std::string_view value) { order_record(key, value, next); });
  for (const auto& [name, state] : sessions_) {
    if (state.next_ordered != state.version + 1) {
      damage(fmt::format("session {}", name),
             fmt::format("the order index names its events up to version {}, its last event is {}",
                         state.next_ordered - 1, state.version));
    }
  }
}

void Verifier::blobs() {
  const std::unique_ptr<rocksdb::Iterator> it(
      store_.db().NewIterator(read_options(nullptr), store_.blobs()));
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    const auto digest = parse_blob_key(it->key().ToStringView());
    const std::string_view bytes = it->value().ToStringView();
    if (!digest) {
      damage("blobs", "a key is malformed");
      continue;
    }
    const std::string where = fmt::format("blob {}", digest->hex());
    ++report_.blobs;
    report_.blob_bytes += bytes.size();
    if (Digest::of(bytes) != *digest) damage(where, "its bytes do not have this digest");
    const auto named = named_.find(*digest);
    if (named == named_.end()) {
      ++report_.unreferenced_blobs;
      continue;
    }
    named->second.found = true;
    if (named->second.size != bytes.size()) {
      damage(where, fmt::format("{} bytes, but {} names it with {}", bytes.size(),
                                named->second.where, named->second.size));
    }
  }
  if (!it->status().ok()) damage("blobs", read_error(it->status(), "reading them").message);
  for (const auto& [digest, named] : named_) {
    if (!named.found) {
      damage(named.where,
             fmt::format("names blob {}, which is missing or unreadable", digest.hex()));
    }
  }
}

void Verifier::requests() {
  scan(KeyKind::request, "requests", [this](std::string_view key, std::string_view value) {
    const std::string where =
        fmt::format("request {}", key.substr(std::min<std::size_t>(key.size(), 3)));
    const auto record = decode_request(value);
    if (!record) return damage(where, "its record is damaged");
    const auto session = sessions_.find(record->session.str());
    if (session == sessions_.end() || record->version == 0 ||
        record->version > session->second.version) {
      damage(where, fmt::format("is answered by {}, which does not exist",
                                place_of(record->session.str(), record->version)));
    }
  });
}

void Verifier::named_checkpoint(std::string_view session, std::string_view projection,
                                const std::optional<Checkpoint>& stored) {
  ++report_.checkpoints;
  const auto id = SessionId::parse(session);
  if (!id) return damage("checkpoints", "a key is malformed");
  checkpoint(*id, projection, stored);
}

void Verifier::checkpoint(const SessionId& session, std::string_view projection,
                          const std::optional<Checkpoint>& stored) {
  const std::string where = fmt::format("checkpoint {} of session {}", projection, session.str());
  if (!stored) return damage(where, "its bytes are damaged");
  const auto state = sessions_.find(session.str());
  if (state == sessions_.end() || stored->version > state->second.version) {
    return damage(where, fmt::format("is at version {}, which does not exist", stored->version));
  }
  if (!refold_) return;
  auto folded = refold_(session, projection, *stored);
  if (!folded)
    return damage(where, fmt::format("cannot be recomputed: {}", folded.error().message));
  if (*folded && **folded != stored->state) {
    damage(where, fmt::format("differs from the events folded up to version {}", stored->version));
  }
}

void Verifier::checkpoints() {
  std::string prefix;
  std::optional<CheckpointParts> parts;  // of the keys that start with it
  bool whole = true;
  const auto finish = [&] {
    if (!parts) return;
    const auto parsed = parse_checkpoint_key(prefix.append(4, '\0'));
    named_checkpoint(parsed ? parsed->session : std::string_view(),
                     parsed ? parsed->projection : std::string_view(),
                     whole && parts->complete() ? std::optional(parts->take()) : std::nullopt);
  };
  scan(KeyKind::checkpoint, "checkpoints", [&](std::string_view key, std::string_view value) {
    const auto of = key.substr(0, key.size() < 4 ? 0 : key.size() - 4);
    if (!parts || of != prefix) {
      finish();
      prefix = of;
      parts.emplace();
      whole = true;
    }
    const auto parsed = parse_checkpoint_key(key);
    whole = whole && parsed && parsed->part == parts->count() && parts->add(value);
  });
  finish();
  scan(KeyKind::projection, "checkpoints", [this](std::string_view key, std::string_view value) {
    const auto parsed = parse_projection_key(key);
    named_checkpoint(parsed ? parsed->first : std::string_view(),
                     parsed ? parsed->second : std::string_view(), decode_checkpoint(value));
  });
}

}  // namespace

Result<VerifyReport> verify_store(Store& store, const Refold& refold) {
  return Verifier(store, refold).run();
}

}  // namespace daybook::journal
