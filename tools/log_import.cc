#include "tools/log_import.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "tools/log_file.h"
#include "tools/log_identity.h"

namespace daybook::tools {
namespace {

constexpr std::string_view kScope = "import";
/// Large enough that the sync of an append does not matter, small enough to stay in memory.
constexpr std::size_t kMostBatchEvents = 512;
constexpr std::size_t kMostBatchBytes = std::size_t{8} << 20;
constexpr std::size_t kMostWaitingBytes = kMostBatchBytes;

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

/// A response that was imported while it was written comes again when its figures do: from
/// another line. Tool calls and their outcomes come once, whatever line tells of them.
bool comes_once(schema::Payload type) {
  return type == schema::Payload::ToolDispatched || type == schema::Payload::ToolCompleted ||
         type == schema::Payload::ToolOutcomeUnknown;
}

bool is_of_call(schema::Payload type) {
  return type == schema::Payload::ModelRequested || type == schema::Payload::ModelResponded;
}

std::uint64_t key_of(const Uuid& id, schema::Payload type, std::string_view payload_hash) {
  std::string key(reinterpret_cast<const char*>(&id), sizeof id);
  if (!comes_once(type)) key += payload_hash;
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

/// Versions of the events that hold the lines of a session before `first`, which may be one of
/// them, in the order of the lines; none when it comes before all of them.
Result<std::vector<std::uint64_t>> versions_before(journal::Journal& journal,
                                                   const SessionId& session,
                                                   const schema::ProvenanceT& first) {
  struct Line {
    std::uint64_t epoch = 0;  // each import of a file is one
    bool own = false;         // not of the file before it, which made no session
    std::uint64_t offset = 0;
    std::uint64_t version = 0;
    auto operator<=>(const Line&) const = default;
  };
  std::vector<Line> lines;
  std::optional<Line> itself;
  const auto take = [&](const journal::Entry& entry) {
    const schema::Provenance* it = entry.event->provenance();
    if (it == nullptr || it->raw() == nullptr || it->line_sha256() == nullptr) return true;
    const bool own = it->prefix() != nullptr;
    const Line line{entry.event->epoch(), own, it->offset(), entry.version};
    if (std::ranges::equal(*it->line_sha256(), first.line_sha256)) itself = line;
    // Later ones are what it leads to, not what it goes on from.
    const bool later = first.at != 0 && it->at() > first.at;
    const auto* kept = entry.event->payload_as_ImportedLine();
    const bool damaged = kept != nullptr && kept->reason() == schema::ImportReason::damaged;
    if (!later && !damaged) lines.push_back(line);
    return !(itself && lines.size() <= 1);
  };
  DAYBOOK_TRY(journal.read(session, 1, journal::ReadMode::strict, take));
  if (itself) std::erase_if(lines, [&](const Line& line) { return line >= *itself; });
  std::ranges::sort(lines);
  std::vector<std::uint64_t> versions;
  versions.reserve(lines.size());
  for (const Line& line : lines) versions.push_back(line.version);
  return versions;
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

namespace {

constexpr std::size_t kHeadBytes = std::size_t{256} << 10;

struct Times {
  std::int64_t earliest = std::numeric_limits<std::int64_t>::max();
  std::int64_t latest = 0;
};

/// Those that a text tells.
Times times_in(std::string_view text) {
  constexpr std::string_view kKey = "\"timestamp\"";
  Times times;
  for (std::size_t at = text.find(kKey); at != std::string_view::npos; at = text.find(kKey, at)) {
    at += kKey.size();
    const std::size_t start = text.find_first_not_of(" :", at);
    if (start == std::string_view::npos || text[start] != '"') continue;
    const std::size_t end = text.find('"', start + 1);
    if (end == std::string_view::npos) break;
    if (const auto time = log_time(text.substr(start + 1, end - start - 1))) {
      times.earliest = std::min(times.earliest, *time);
      times.latest = std::max(times.latest, *time);
    }
  }
  return times;
}

struct Place {
  Times times;
  /// Of a part of a rollout, which only its name places: the length of that, and it.
  std::pair<std::size_t, std::string> part;
  Digest head;
  std::uint64_t size = 0;  // this and `whole` only where the heads are the same
  Digest whole;
  std::size_t index = 0;

  auto beginning() const { return std::tie(times.earliest, times.latest, part, head); }
  bool operator<(const Place& other) const {
    return std::tuple(beginning(), std::tie(size, whole, index)) <
           std::tuple(other.beginning(), std::tie(other.size, other.whole, other.index));
  }
};

/// A file that cannot be read comes anywhere: it is met again when it is imported.
Place place_of(const LogSource& source, std::size_t index) {
  Place place;
  place.index = index;
  std::string head(kHeadBytes, '\0');
  std::size_t have = 0;
  if (const auto bytes = open_bytes(source.path)) {
    while (have < head.size()) {
      const auto got = (*bytes)->read(head.data() + have, head.size() - have);
      if (!got || *got == 0) break;
      have += *got;
    }
  }
  head.resize(have);
  place.times = times_in(head);
  if (source.kind == LogKind::codex && source.thread.empty()) {
    place.part = {source.file.size(), source.file};
  }
  place.head = Digest::of(head);
  return place;
}

}  // namespace

std::vector<std::size_t> import_order(std::span<const LogSource> sources) {
  std::vector<Place> places;
  places.reserve(sources.size());
  for (std::size_t i = 0; i < sources.size(); ++i) places.push_back(place_of(sources[i], i));
  std::ranges::sort(places, std::less{});
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto same = [&](std::size_t other) {
      return other < places.size() && places[other].beginning() == places[i].beginning();
    };
    if (!same(i + 1) && (i == 0 || !same(i - 1))) continue;
    if (const auto identity = identity_of(sources[places[i].index], {})) {
      places[i].size = identity->size;
      places[i].whole = identity->digest;
    }
  }
  std::ranges::sort(places, std::less{});
  std::vector<std::size_t> order;
  order.reserve(places.size());
  for (const Place& place : places) order.push_back(place.index);
  return order;
}

JournalSink::JournalSink(journal::Journal* journal, ImportOptions options, const LogSource& source,
                         const FileIdentity& identity)
    : journal_(journal), options_(std::move(options)), kind_(source.kind) {
  const auto mark = [&](std::string_view name) {
    return fmt::format("{}/{}/{}/{}", name_of(source.kind), name, identity.size,
                       identity.digest.hex());
  };
  named_mark_ = mark(source.file);
  mark_ = mark("");
}

Result<bool> JournalSink::is_known() {
  for (const std::string* mark : {&mark_, &named_mark_}) {
    if (options_.dry != nullptr && options_.dry->files.contains(*mark)) return true;
    if (journal_ == nullptr) continue;
    const auto found = journal_->find_request(kScope, *mark);
    if (!found) return fail(found.error());
    if (found->has_value()) return true;
  }
  return false;
}

Result<JournalSink::Session*> JournalSink::session(const std::string& log_session) {
  const auto [found, fresh] = sessions_.try_emplace(log_session);
  Session& made = found->second;
  if (!fresh) return &made;
  const SessionId id = session_for_log(kind_, log_session);
  if (options_.dry != nullptr) {
    auto& seen = options_.dry->sessions[id.str()];
    made.known = seen;
    if (seen != nullptr) {
      made.fresh = seen->empty();
      return &made;
    }
    made.known = seen = std::make_shared<KnownEvents>();
  } else {
    made.known = std::make_shared<KnownEvents>();
  }
  journal::Head head;
  if (journal_ != nullptr) {
    const auto known = journal_->head(id);
    if (!known) return fail(known.error());
    head = *known;
  }
  made.writer = std::make_unique<journal::SessionWriter>(id, head, import_stamper());
  if (head.version > 0) DAYBOOK_TRY(load_known(made, id));
  made.fresh = head.version == 0;
  return &made;
}

Result<void> JournalSink::load_known(Session& session, const SessionId& id) {
  bool imported = false;
  DAYBOOK_TRY(journal_->read(id, 1, journal::ReadMode::strict, [&](const journal::Entry& entry) {
    imported = imported || entry.event->payload_as_SessionImported() != nullptr;
    if (entry.event->provenance() != nullptr) {
      const Uuid event{entry.event->id()->hi(), entry.event->id()->lo()};
      const auto key =
          key_of(event, entry.event->payload_type(), hash_of(entry.event->provenance()));
      (*session.known)[key] = entry.version;
    }
    return true;
  }));
  if (imported) return {};
  return fail(ErrorCode::conflict,
              fmt::format("session {} was not imported and cannot take events of a log: import "
                          "into another journal",
                          id.str()));
}

Result<void> JournalSink::visit_earlier_lines(
    const std::string& log_session, const schema::ProvenanceT& first,
    const std::function<void(const EarlierLine&)>& visit) {
  if (journal_ == nullptr) return {};
  const auto found = session(log_session);
  if (!found) return fail(found.error());
  const SessionId id = session_for_log(kind_, log_session);
  const auto versions = versions_before(*journal_, id, first);
  if (!versions) return fail(versions.error());
  recalling_ = true;
  for (const std::uint64_t version : *versions) {
    Result<std::string> line;
    std::string file;
    std::uint64_t offset = 0;
    bool copied = false;
    DAYBOOK_TRY(journal_->read(id, version, journal::ReadMode::strict, [&](const auto& entry) {
      const schema::Provenance& from = *entry.event->provenance();
      line = journal::content_bytes(*journal_, from.raw());
      if (from.file() != nullptr) file = from.file()->str();
      offset = from.offset();
      const auto* kept = entry.event->payload_as_ImportedLine();
      copied = kept != nullptr && kept->detail() != nullptr &&
               kept->detail()->string_view() == kCopiedLine;
      return false;
    }));
    if (!line) return fail(line.error());
    visit({*line, file, offset, copied});
  }
  recalling_ = false;
  return {};
}

std::unique_ptr<schema::ContentT> JournalSink::content(std::string_view bytes) {
  if (options_.dry != nullptr) return std::make_unique<schema::ContentT>();
  batch_bytes_ += bytes.size();
  return batch_.content(bytes);
}

BlobRef JournalSink::blob(std::string_view bytes) {
  if (options_.dry != nullptr) return BlobRef::of(bytes);
  const BlobRef ref = BlobRef::of(bytes);
  const auto [found, fresh] = waiting_.try_emplace(ref.digest);
  if (!fresh) return ref;
  found->second = bytes;
  waiting_bytes_ += bytes.size();
  if (waiting_bytes_ > kMostWaitingBytes) keep_waiting();
  return ref;
}

/// What waits for this event goes into the batch; away, when the event is known and so has it.
void JournalSink::settle_waiting(const EventDraft& draft, bool store) {
  const auto settle = [&](const BlobRef& ref) {
    const auto found = waiting_.find(ref.digest);
    if (found == waiting_.end()) return;
    waiting_bytes_ -= found->second.size();
    if (store) {
      batch_bytes_ += found->second.size();
      batch_.blob(std::move(found->second));
    }
    waiting_.erase(found);
  };
  if (const auto* requested = draft.payload.AsModelRequested(); requested != nullptr) {
    for (const auto* segments : {&requested->appended, &requested->system}) {
      for (const schema::Segment& segment : *segments) settle(BlobRef::from(&segment.blob()));
    }
  }
  if (const auto* completed = draft.payload.AsToolCompleted();
      completed != nullptr && completed->full_output != nullptr) {
    settle(BlobRef::from(completed->full_output.get()));
  }
}

/// Memory is worth more than a blob that perhaps nothing will name.
void JournalSink::keep_waiting() {
  for (auto& [digest, bytes] : waiting_) batch_.blob(std::move(bytes));
  batch_bytes_ += waiting_bytes_;
  waiting_.clear();
  waiting_bytes_ = 0;
}

Result<void> JournalSink::event(const std::string& log_session, EventDraft draft) {
  const auto found = session(log_session);
  if (!found) return fail(found.error());
  Session& session = **found;
  const std::uint64_t position = ++session.position;
  const std::uint64_t key =
      key_of(draft.id.value(), draft.payload.type, hash_of(draft.provenance.get()));
  const auto known = session.known->find(key);
  // A call that is not known comes again, as it would have from its file: later ones grow from it.
  if (known == session.known->end() && recalling_ && !is_of_call(draft.payload.type)) {
    if (batch_events_ == 0) batch_.forget(draft);
    return {};
  }
  if (known != session.known->end()) {
    if (!recalling_) ++known_;
    if (draft.payload.AsModelRequested() != nullptr) session.positions[position] = known->second;
    // What it needs is there. Contents of events that come later are not dropped with it.
    if (batch_events_ == 0) batch_.forget(draft);
    settle_waiting(draft, false);
    return {};
  }
  ++appended_;
  if (std::exchange(session.fresh, false)) ++new_sessions_;
  if (options_.dry != nullptr) {
    (*session.known)[key] = 0;
    return {};
  }
  const bool full = batch_events_ >= kMostBatchEvents || batch_bytes_ >= kMostBatchBytes;
  if (batch_events_ > 0 && (current_ != &session || full)) {
    // The contents of this event go with the events before it, which is as good.
    DAYBOOK_TRY(flush(""));
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
  (*session.known)[key] = version;
  if (auto* requested = draft.payload.AsModelRequested(); requested != nullptr) {
    session.positions[position] = version;
    if (requested->base != 0) requested->base = session.positions[requested->base];
  }
  settle_waiting(draft, true);
  batch_.add(std::move(draft));
  ++batch_events_;
  return {};
}

void JournalSink::start_batch() {
  batch_ = journal::Batch();
  batch_events_ = 0;
  batch_bytes_ = 0;
}

/// `mark`: "" unless the file is at its end.
Result<void> JournalSink::flush(const std::string& mark) {
  if (batch_events_ == 0) return {};
  Session& session = *current_;
  std::optional<journal::RequestKey> request;
  if (!mark.empty()) request = journal::RequestKey{std::string(kScope), mark, Digest::of(mark)};
  journal::Append append = session.acquired
                               ? session.writer->next(std::move(batch_), std::move(request))
                               : session.writer->acquire(std::move(batch_), std::move(request));
  session.acquired = true;
  start_batch();
  const auto done = journal::append_and_wait(*journal_, std::move(append));
  if (!done) return fail(done.error());
  return {};
}

Result<void> JournalSink::finish(bool by_name) {
  const std::string& mark = by_name ? named_mark_ : mark_;
  // The mark comes with the last append: without one there is none.
  if (options_.dry != nullptr && appended_ > 0) options_.dry->files.insert(mark);
  return flush(mark);
}

}  // namespace daybook::tools
