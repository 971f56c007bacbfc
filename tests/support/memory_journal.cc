#include "tests/support/memory_journal.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "journal/blob_refs.h"

namespace daybook::tests {
namespace {

using journal::Append;
using journal::Appended;
using journal::Entry;
using journal::Head;
using journal::ReadMode;
using Bytes = MemoryStore::Bytes;

std::string place(std::string_view session, std::uint64_t version) {
  return fmt::format("session {}, version {}", session, version);
}

/// The event that must be `version` of `session`; `prev` is the hash it must link to, if known.
Result<const schema::Event*> check_event(const Bytes& bytes, std::string_view session,
                                         std::uint64_t version, std::optional<Digest> prev) {
  if (!bytes) return fail(ErrorCode::corrupt, "the event is missing");
  auto event = view_event(as_bytes(*bytes));
  if (!event) return event;
  if (text_of((*event)->session()) != session || (*event)->version() != version) {
    return fail(ErrorCode::corrupt, "the event belongs elsewhere");
  }
  if (prev && Digest::from((*event)->prev_hash()) != *prev) {
    return fail(ErrorCode::corrupt, "the event does not follow the one before it");
  }
  return event;
}

Result<void> check_turn(const Append& append, const Head& head) {
  const std::string where = place(append.session.str(), head.version);
  if (!append.acquire && append.epoch < head.epoch) {
    return fail(ErrorCode::fenced, fmt::format("{}: epoch {} is over", where, append.epoch));
  }
  if (append.expected_version != head.version) {
    return fail(ErrorCode::conflict,
                fmt::format("{}: not at version {}", where, append.expected_version));
  }
  const std::uint64_t wanted = head.epoch + (append.acquire ? 1 : 0);
  if (append.epoch < wanted) {
    return fail(ErrorCode::fenced, fmt::format("{}: epoch {} is over", where, append.epoch));
  }
  if (append.epoch > wanted) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("{}: nobody acquired epoch {}", where, append.epoch));
  }
  return {};
}

Result<Head> check_events(const Append& append, Head head) {
  if (append.events.empty()) return fail(ErrorCode::invalid_argument, "an append without events");
  for (const std::string& text : append.events) {
    const auto bytes = std::make_shared<const std::string>(text);
    const auto event = check_event(bytes, append.session.str(), head.version + 1, head.hash);
    if (!event || (*event)->epoch() != append.epoch) {
      return fail(ErrorCode::invalid_argument,
                  fmt::format("{}: malformed: {}", place(append.session.str(), head.version + 1),
                              event ? "another epoch" : event.error().message));
    }
    head = {head.version + 1, append.epoch, hash_of_event(as_bytes(text))};
  }
  return head;
}

Bytes flipped(const Bytes& bytes) {
  std::string copy = *bytes;
  copy[copy.size() / 2] = static_cast<char>(copy[copy.size() / 2] ^ 0x10);
  return std::make_shared<const std::string>(std::move(copy));
}

}  // namespace

void MemoryStore::damage_event(const std::string& session, std::uint64_t version) {
  Bytes& bytes = sessions.at(session).events.at(version - 1);
  bytes = flipped(bytes);
}

void MemoryStore::lose_event(const std::string& session, std::uint64_t version) {
  sessions.at(session).events.at(version - 1).reset();
}

void MemoryStore::damage_blob(const Digest& digest) {
  blobs.at(digest) = flipped(blobs.at(digest));
}

void MemoryStore::lose_blob(const Digest& digest) {
  blobs.erase(digest);
}

MemoryJournal::MemoryJournal(std::shared_ptr<MemoryStore> store, MemoryHooks hooks)
    : store_(std::move(store)), hooks_(std::move(hooks)) {}

void MemoryJournal::append(Append append, journal::AppendDone done) {
  auto result = store_append(append);
  if (!done) return;
  auto complete = [done = std::move(done), result = std::move(result)] { done(result); };
  if (hooks_.complete) {
    hooks_.complete(std::move(complete));
  } else {
    complete();
  }
}

Result<Appended> MemoryJournal::store_append(const Append& append) {
  if (hooks_.before_write) {
    if (auto refused = hooks_.before_write(append)) return fail(std::move(*refused));
  }
  const std::lock_guard lock(store_->mutex);
  if (append.request) {
    const auto known = store_->requests.find({append.request->scope, append.request->id});
    if (known != store_->requests.end()) {
      const bool same = known->second.content == append.request->content;
      return fail(ErrorCode::conflict,
                  fmt::format("request '{}' is known {}", append.request->id,
                              same ? "and already answered" : "with other content"));
    }
  }
  const auto found = store_->sessions.find(append.session.str());
  const Head before = found == store_->sessions.end() ? Head{} : found->second.head;
  DAYBOOK_TRY(check_turn(append, before));
  const auto after = check_events(append, before);
  if (!after) return fail(after.error());
  for (const journal::Blob& blob : append.blobs) {
    if (BlobRef::of(blob.bytes) != blob.ref) {
      return fail(ErrorCode::invalid_argument, "a blob's bytes have another digest or size");
    }
    const auto stored = store_->blobs.find(blob.ref.digest);
    if (stored != store_->blobs.end() && *stored->second != blob.bytes) {
      return fail(ErrorCode::corrupt, "a blob is stored with other bytes");
    }
  }

  for (const journal::Blob& blob : append.blobs) {
    store_->blobs.emplace(blob.ref.digest, std::make_shared<const std::string>(blob.bytes));
  }
  MemoryStore::Session& session = store_->sessions[append.session.str()];
  for (const std::string& event : append.events) {
    session.events.push_back(std::make_shared<const std::string>(event));
    store_->order.emplace_back(append.session.str(), session.events.size());
  }
  session.head = *after;
  if (append.request) {
    store_->requests.emplace(
        std::pair(append.request->scope, append.request->id),
        journal::RequestRecord{append.request->content, append.session, before.version + 1});
  }
  return Appended{*after, store_->order.size()};
}

Result<Head> MemoryJournal::head(const SessionId& session) {
  const std::lock_guard lock(store_->mutex);
  const auto found = store_->sessions.find(session.str());
  return found == store_->sessions.end() ? Head{} : found->second.head;
}

std::vector<Bytes> MemoryJournal::events_of(const SessionId& session) {
  const std::lock_guard lock(store_->mutex);
  const auto found = store_->sessions.find(session.str());
  return found == store_->sessions.end() ? std::vector<Bytes>() : found->second.events;
}

Result<void> MemoryJournal::read(const SessionId& session, std::uint64_t from, ReadMode mode,
                                 const journal::EntryVisitor& visit) {
  const auto events = events_of(session);
  std::optional<Digest> prev;
  if (from <= 1) {
    prev = Digest{};
  } else if (from - 2 < events.size() && events[from - 2]) {
    prev = hash_of_event(as_bytes(*events[from - 2]));
  }
  for (std::uint64_t version = std::max<std::uint64_t>(from, 1); version <= events.size();
       ++version) {
    const Bytes& bytes = events[version - 1];
    const auto event = check_event(bytes, session.str(), version, prev);
    if (!event && mode == ReadMode::strict) {
      return fail(event.error().code,
                  fmt::format("{}: {}", place(session.str(), version), event.error().message));
    }
    Entry entry;
    entry.version = version;
    if (event) {
      entry.event = *event;
      entry.bytes = as_bytes(*bytes);
      prev = hash_of_event(entry.bytes);
    } else {
      entry.damage = event.error().message;
      prev.reset();
    }
    if (!visit(entry)) break;
  }
  return {};
}

Result<void> MemoryJournal::tail(std::uint64_t from, const journal::EntryVisitor& visit) {
  for (std::uint64_t position = std::max<std::uint64_t>(from, 1);; ++position) {
    std::string session;
    Entry entry;
    Bytes bytes;
    {
      const std::lock_guard lock(store_->mutex);
      if (position > store_->order.size()) return {};
      std::tie(session, entry.version) = store_->order[position - 1];
      bytes = store_->sessions.at(session).events.at(entry.version - 1);
    }
    const auto event = check_event(bytes, session, entry.version, {});
    entry.position = position;
    if (event) {
      entry.event = *event;
      entry.bytes = as_bytes(*bytes);
    } else {
      entry.damage = fmt::format("{}: {}", place(session, entry.version), event.error().message);
    }
    if (!visit(entry)) return {};
  }
}

Result<std::vector<journal::SessionInfo>> MemoryJournal::sessions(std::string_view prefix) {
  const std::lock_guard lock(store_->mutex);
  std::vector<journal::SessionInfo> infos;
  for (auto it = store_->sessions.lower_bound(prefix);
       it != store_->sessions.end() && it->first.starts_with(prefix); ++it) {
    infos.push_back({SessionId::parse(it->first).value(), it->second.head});
  }
  return infos;
}

Result<std::string> MemoryJournal::blob(const BlobRef& ref) {
  const std::lock_guard lock(store_->mutex);
  const auto found = store_->blobs.find(ref.digest);
  if (found == store_->blobs.end()) {
    return fail(ErrorCode::not_found, fmt::format("blob {} is missing", ref.digest.hex()));
  }
  if (BlobRef::of(*found->second) != ref) {
    return fail(ErrorCode::corrupt, fmt::format("blob {} is damaged", ref.digest.hex()));
  }
  return *found->second;
}

Result<std::optional<journal::RequestRecord>> MemoryJournal::find_request(std::string_view scope,
                                                                          std::string_view id) {
  const std::lock_guard lock(store_->mutex);
  const auto found = store_->requests.find({std::string(scope), std::string(id)});
  if (found == store_->requests.end()) return std::nullopt;
  return found->second;
}

Result<std::optional<journal::Checkpoint>> MemoryJournal::load_checkpoint(
    const SessionId& session, std::string_view projection) {
  const std::lock_guard lock(store_->mutex);
  const auto found = store_->checkpoints.find({session.str(), std::string(projection)});
  if (found == store_->checkpoints.end()) return std::nullopt;
  return found->second;
}

Result<void> MemoryJournal::save_checkpoint(const SessionId& session, std::string_view projection,
                                            const journal::Checkpoint& checkpoint) {
  const std::lock_guard lock(store_->mutex);
  store_->checkpoints[{session.str(), std::string(projection)}] = checkpoint;
  return {};
}

Result<journal::VerifyReport> MemoryJournal::verify(const journal::Refold& refold) {
  journal::VerifyReport report;
  std::map<Digest, std::string> named;  // by the first event that names it
  const auto infos = sessions("");
  for (const auto& info : *infos) {
    ++report.sessions;
    const std::string& name = info.session.str();
    DAYBOOK_TRY(read(info.session, 1, ReadMode::lenient, [&](const Entry& entry) {
      ++report.events;
      if (entry.event == nullptr) {
        report.damage.push_back({place(name, entry.version), entry.damage});
      } else {
        journal::visit_blob_refs(*entry.event, [&](const BlobRef& ref) {
          named.emplace(ref.digest, place(name, entry.version));
        });
      }
      return true;
    }));
  }
  std::unique_lock lock(store_->mutex);
  for (const auto& [digest, bytes] : store_->blobs) {
    ++report.blobs;
    report.blob_bytes += bytes->size();
    if (Digest::of(*bytes) != digest) {
      report.damage.push_back({fmt::format("blob {}", digest.hex()), "other bytes"});
    }
    if (named.erase(digest) == 0) ++report.unreferenced_blobs;
  }
  for (const auto& [digest, where] : named) {
    report.damage.push_back({where, fmt::format("names blob {}, which is missing", digest.hex())});
  }
  const auto checkpoints = store_->checkpoints;
  lock.unlock();  // folding again reads this journal
  for (const auto& [key, checkpoint] : checkpoints) {
    ++report.checkpoints;
    const auto& [session, projection] = key;
    const std::string where = fmt::format("checkpoint {} of session {}", projection, session);
    const auto found = SessionId::parse(session);
    if (checkpoint.version > head(*found)->version) {
      report.damage.push_back({where, "beyond the session's end"});
      continue;
    }
    if (!refold) continue;
    const auto state = refold(*found, projection, checkpoint);
    if (!state) return fail(state.error());
    if (*state && **state != checkpoint.state) report.damage.push_back({where, "not the fold"});
  }
  return report;
}

Result<void> MemoryJournal::backup(const std::string&) {
  return fail(ErrorCode::unsupported, "a journal in memory has no folder to copy");
}

}  // namespace daybook::tests
