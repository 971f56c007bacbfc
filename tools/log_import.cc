#include "tools/log_import.h"

#include <fmt/format.h>

#include <ctime>
#include <random>
#include <vector>

#include "tools/log_file.h"
#include "tools/log_identity.h"

namespace daybook::tools {
namespace {

constexpr std::string_view kScope = "import";
/// Large enough that the sync of an append does not matter, small enough to stay in memory.
constexpr std::size_t kMostBatchEvents = 512;
constexpr std::size_t kMostBatchBytes = std::size_t{8} << 20;

journal::Stamper import_stamper() {
  std::random_device device;
  auto random =
      std::make_shared<std::mt19937_64>((static_cast<std::uint64_t>(device()) << 32) | device());
  return [random] {
    timespec now{};
    clock_gettime(CLOCK_REALTIME, &now);
    return journal::Stamp{now.tv_sec * 1'000'000'000 + now.tv_nsec, (*random)(), (*random)()};
  };
}

std::uint64_t key_of(const Uuid& id, std::string_view payload_hash) {
  std::string key(reinterpret_cast<const char*>(&id), sizeof id);
  key += payload_hash;
  return xxh3_64(as_bytes(key));
}

std::string_view hash_of(const schema::ProvenanceT* provenance) {
  if (provenance == nullptr) return {};
  const auto& hash = provenance->payload_sha256;
  return {reinterpret_cast<const char*>(hash.data()), hash.size()};
}

std::string_view hash_of(const schema::Provenance* provenance) {
  if (provenance == nullptr || provenance->payload_sha256() == nullptr) return {};
  const auto* hash = provenance->payload_sha256();
  return {reinterpret_cast<const char*>(hash->data()), hash->size()};
}

}  // namespace

Result<FileIdentity> identity_of(const LogSource& source,
                                 const std::function<void(std::uint64_t)>& progress) {
  const auto bytes = open_bytes(source.path);
  if (!bytes) return fail(bytes.error());
  std::vector<char> buffer(std::size_t{256} << 10);
  Digester digester;
  FileIdentity made;
  while (true) {
    const auto got = (*bytes)->read(buffer.data(), buffer.size());
    // A damaged end is met again, and counted, when the lines are read.
    if (!got && got.error().code != ErrorCode::corrupt) return fail(got.error());
    if (!got || *got == 0) break;
    digester.update({buffer.data(), *got});
    made.size += *got;
    if (progress) progress((*bytes)->consumed());
  }
  made.digest = digester.digest();
  return made;
}

JournalSink::JournalSink(journal::Journal* journal, ImportOptions options, const LogSource& source,
                         const FileIdentity& identity)
    : journal_(journal), options_(std::move(options)), kind_(source.kind) {
  // The logical name is part of it: what a line means may depend on the file's name.
  request_id_ = fmt::format("{}/{}/{}/{}", name_of(source.kind), source.file, identity.size,
                            identity.digest.hex());
  request_content_ = Digest::of(request_id_);
}

Result<bool> JournalSink::is_known() {
  if (journal_ == nullptr) return false;
  const auto found = journal_->find_request(kScope, request_id_);
  if (!found) return fail(found.error());
  return found->has_value();
}

Result<JournalSink::Session*> JournalSink::session(const std::string& log_session) {
  const auto [found, fresh] = sessions_.try_emplace(log_session);
  Session& made = found->second;
  if (!fresh) return &made;
  const SessionId id = session_for_log(kind_, log_session);
  journal::Head head;
  if (journal_ != nullptr) {
    const auto known = journal_->head(id);
    if (!known) return fail(known.error());
    head = *known;
  }
  made.writer = std::make_unique<journal::SessionWriter>(id, head, import_stamper());
  if (head.version == 0) {
    ++new_sessions_;
  } else {
    DAYBOOK_TRY(load_known(made, id));
  }
  return &made;
}

Result<void> JournalSink::load_known(Session& session, const SessionId& id) {
  bool imported = false;
  DAYBOOK_TRY(journal_->read(id, 1, journal::ReadMode::strict, [&](const journal::Entry& entry) {
    imported = imported || entry.event->payload_as_SessionImported() != nullptr;
    if (entry.event->provenance() != nullptr) {
      const Uuid event{entry.event->id()->hi(), entry.event->id()->lo()};
      session.known[key_of(event, hash_of(entry.event->provenance()))] = entry.version;
    }
    return true;
  }));
  if (imported) return {};
  return fail(ErrorCode::conflict,
              fmt::format("session {} was not imported and cannot take events of a log: import "
                          "into another journal",
                          id.str()));
}

std::unique_ptr<schema::ContentT> JournalSink::content(std::string_view bytes) {
  if (options_.dry) return std::make_unique<schema::ContentT>();
  batch_bytes_ += bytes.size();
  return batch_.content(bytes);
}

BlobRef JournalSink::blob(std::string_view bytes) {
  if (options_.dry) return BlobRef::of(bytes);
  batch_bytes_ += bytes.size();
  return batch_.blob(std::string(bytes));
}

Result<void> JournalSink::event(const std::string& log_session, EventDraft draft) {
  const auto found = session(log_session);
  if (!found) return fail(found.error());
  Session& session = **found;
  const std::uint64_t position = ++session.position;
  const std::uint64_t key = key_of(draft.id.value(), hash_of(draft.provenance.get()));
  if (const auto known = session.known.find(key); known != session.known.end()) {
    ++known_;
    if (draft.payload.AsModelRequested() != nullptr) session.positions[position] = known->second;
    // What it needs is there. Contents of events that come later are not dropped with it.
    if (batch_events_ == 0) batch_.forget(draft);
    return {};
  }
  ++appended_;
  if (options_.dry) {
    session.known[key] = 0;
    return {};
  }
  const bool full = batch_events_ >= kMostBatchEvents || batch_bytes_ >= kMostBatchBytes;
  if (batch_events_ > 0 && (current_ != &session || full)) {
    // The contents of this event go with the events before it, which is as good.
    DAYBOOK_TRY(flush(false));
  }
  current_ = &session;
  if (!session.acquired && batch_events_ == 0) {
    schema::OwnerAcquiredT owner;
    owner.owner = options_.owner;
    owner.reason =
        session.writer->head().version == 0 ? schema::OwnReason::start : schema::OwnReason::resume;
    batch_.add(daybook::draft(std::move(owner)));
    ++batch_events_;
  }
  const std::uint64_t version = session.writer->head().version + batch_events_ + 1;
  session.known[key] = version;
  if (auto* requested = draft.payload.AsModelRequested(); requested != nullptr) {
    session.positions[position] = version;
    if (requested->base != 0) requested->base = session.positions[requested->base];
  }
  batch_.add(std::move(draft));
  ++batch_events_;
  return {};
}

void JournalSink::start_batch() {
  batch_ = journal::Batch();
  batch_events_ = 0;
  batch_bytes_ = 0;
}

Result<void> JournalSink::flush(bool last) {
  if (batch_events_ == 0) return {};
  Session& session = *current_;
  std::optional<journal::RequestKey> request;
  if (last) request = journal::RequestKey{std::string(kScope), request_id_, request_content_};
  journal::Append append = session.acquired
                               ? session.writer->next(std::move(batch_), std::move(request))
                               : session.writer->acquire(std::move(batch_), std::move(request));
  session.acquired = true;
  start_batch();
  const auto done = journal::append_and_wait(*journal_, std::move(append));
  if (!done) return fail(done.error());
  return {};
}

Result<void> JournalSink::finish() {
  return flush(true);
}

}  // namespace daybook::tools
