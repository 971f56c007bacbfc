// The journal: one append-only stream of events per session, and the blobs they name.
//
// Guarantees every implementation gives (tests/journal/conformance.h is the executable form):
//   - An append is all of its events, blobs and its request id, or none of it, and once
//     acknowledged it survives power loss.
//   - An append names the version and epoch it builds on. Another version is `conflict`, an older
//     epoch `fenced`; neither writes anything.
//   - A request id is answered once, for ever.
//   - Versions of a session are 1, 2, 3, ... without gaps, each event chained to the hash of the
//     one before. Positions over all sessions are 1, 2, 3, ... in commit order.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "schema/event.h"

namespace daybook::journal {

/// Where a session's stream ends. A session without events has version 0 and epoch 0.
struct Head {
  std::uint64_t version = 0;
  std::uint64_t epoch = 0;
  Digest hash;  // of the last event; zero before the first
};

struct Blob {
  BlobRef ref;
  std::string bytes;
};

/// An external command's identity: answered once within its scope.
struct RequestKey {
  std::string scope;
  std::string id;
  Digest content;  // of what was asked
};

/// Where the first answer to a request id is.
struct RequestRecord {
  Digest content;
  SessionId session;
  std::uint64_t version;  // of the first event of the append that carried the id
};

struct Append {
  SessionId session;
  std::uint64_t expected_version = 0;  // version of the last event this one builds on
  std::uint64_t epoch = 0;
  bool acquire = false;             // epoch must be one above the head's, and becomes the session's
  std::vector<std::string> events;  // encoded, versions expected_version + 1, ...
  std::vector<Blob> blobs;
  std::optional<RequestKey> request;
};

struct Appended {
  Head head;
  std::uint64_t position = 0;  // of the last event
};

/// Called once, on the journal's notifying thread, after the append is durable or refused.
using AppendDone = std::function<void(Result<Appended>)>;

enum class ReadMode {
  strict,   // any damage is an error naming session and version
  lenient,  // damage is a visible hole
};

/// One event as read; valid during the visit only.
struct Entry {
  std::uint64_t version = 0;
  std::uint64_t position = 0;            // 0 when read by session
  const schema::Event* event = nullptr;  // null: a hole
  std::span<const std::byte> bytes;
  std::string damage;  // what is wrong with a hole
};

/// Returns false to stop.
using EntryVisitor = std::function<bool(const Entry&)>;

struct SessionInfo {
  SessionId session;
  Head head;  // the version alone when the last event is damaged
};

struct Checkpoint {
  std::uint64_t version = 0;  // the fold includes events up to here
  std::string fingerprint;    // of the code that folded; another one means rebuilding
  std::string state;
};

struct Finding {
  std::string where;  // "session demo, version 7", "blob 00ab..."
  std::string what;
};

struct VerifyReport {
  std::uint64_t sessions = 0;
  std::uint64_t events = 0;
  std::uint64_t blobs = 0;
  std::uint64_t blob_bytes = 0;
  std::uint64_t unreferenced_blobs = 0;
  std::uint64_t checkpoints = 0;
  std::vector<Finding> damage;
};

/// Recomputes a checkpoint from the events, to prove that the stored one equals the fold.
/// Returns the state bytes at `version`, or nothing when the fingerprint is not this build's.
using Refold = std::function<Result<std::optional<std::string>>(
    const SessionId&, std::string_view projection, const Checkpoint&)>;

class Journal {
 public:
  virtual ~Journal() = default;

  /// Queues an append. Never blocks on the disk; blocks only while the queue is full.
  virtual void append(Append append, AppendDone done) = 0;

  virtual Result<Head> head(const SessionId& session) = 0;

  /// Visits events from version `from` on, in order.
  virtual Result<void> read(const SessionId& session, std::uint64_t from, ReadMode mode,
                            const EntryVisitor& visit) = 0;

  /// Visits events of all sessions from global position `from` on, in commit order.
  virtual Result<void> tail(std::uint64_t from, const EntryVisitor& visit) = 0;

  /// Sessions in order of their names, those starting with `prefix`.
  virtual Result<std::vector<SessionInfo>> sessions(std::string_view prefix) = 0;

  /// The blob's bytes, compared with its digest; `not_found` or `corrupt` otherwise.
  virtual Result<std::string> blob(const BlobRef& ref) = 0;

  virtual Result<std::optional<RequestRecord>> find_request(std::string_view scope,
                                                            std::string_view id) = 0;

  virtual Result<std::optional<Checkpoint>> load_checkpoint(const SessionId& session,
                                                            std::string_view projection) = 0;
  /// Not synced: a checkpoint is only a cache.
  virtual Result<void> save_checkpoint(const SessionId& session, std::string_view projection,
                                       const Checkpoint& checkpoint) = 0;

  /// Everything: chain, digests, blobs, order index, request index, checkpoints.
  virtual Result<VerifyReport> verify(const Refold& refold) = 0;

  /// A consistent copy into a folder that does not exist yet.
  virtual Result<void> backup(const std::string& folder) = 0;

  /// Sees what another process has written since; a no-op for the writer.
  virtual Result<void> refresh() = 0;
};

/// Waits for an append. Not for a thread the journal notifies on.
Result<Appended> append_and_wait(Journal& journal, Append append);

/// Bytes of a content, wherever they are.
Result<std::string> content_bytes(Journal& journal, const schema::Content* content);
Result<std::string> content_bytes(Journal& journal, const schema::ContentT* content);

}  // namespace daybook::journal
