// A complete journal without a disk: for simulations, which decide when an append completes and
// whether it fails, and for tests that damage what is stored.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "journal/journal.h"

namespace daybook::tests {

/// What is durable. Outlives the journals opened on it, as a disk outlives processes.
struct MemoryStore {
  using Bytes = std::shared_ptr<const std::string>;

  struct Session {
    std::vector<Bytes> events;  // version - 1; null: lost
    journal::Head head;
  };

  std::mutex mutex;
  std::map<std::string, Session, std::less<>> sessions;
  std::vector<std::pair<std::string, std::uint64_t>> order;  // position - 1: session, version
  std::map<Digest, Bytes> blobs;
  std::map<std::pair<std::string, std::string>, journal::RequestRecord> requests;
  std::map<std::pair<std::string, std::string>, journal::Checkpoint> checkpoints;

  /// Flips one bit in the middle of a stored event.
  void damage_event(const std::string& session, std::uint64_t version);
  void lose_event(const std::string& session, std::uint64_t version);
  void damage_blob(const Digest& digest);
  void lose_blob(const Digest& digest);
};

struct MemoryHooks {
  /// Asked before an append is checked: an error refuses it and nothing is written. This is where
  /// a simulation puts a full disk, or a process that dies before its write.
  std::function<std::optional<Error>(const journal::Append&)> before_write;
  /// Runs, delays or drops the completion of an append that is already stored or refused. A
  /// dropped one is a process that dies between its write and the acknowledgement.
  std::function<void(std::function<void()>)> complete;
};

/// Thread-safe. Without hooks an append completes before `append` returns.
class MemoryJournal : public journal::Journal {
 public:
  explicit MemoryJournal(std::shared_ptr<MemoryStore> store, MemoryHooks hooks = {});

  void append(journal::Append append, journal::AppendDone done) override;
  Result<journal::Head> head(const SessionId& session) override;
  Result<void> read(const SessionId& session, std::uint64_t from, journal::ReadMode mode,
                    const journal::EntryVisitor& visit) override;
  Result<void> tail(std::uint64_t from, const journal::EntryVisitor& visit) override;
  Result<std::vector<journal::SessionInfo>> sessions(std::string_view prefix) override;
  Result<std::string> blob(const BlobRef& ref) override;
  Result<std::optional<journal::RequestRecord>> find_request(std::string_view scope,
                                                             std::string_view id) override;
  Result<std::optional<journal::Checkpoint>> load_checkpoint(const SessionId& session,
                                                             std::string_view projection) override;
  Result<void> save_checkpoint(const SessionId& session, std::string_view projection,
                               const journal::Checkpoint& checkpoint) override;
  Result<journal::VerifyReport> verify(const journal::Refold& refold) override;
  /// There is no folder to copy: `unsupported`.
  Result<void> backup(const std::string& folder) override;
  Result<void> refresh() override { return {}; }

 private:
  Result<journal::Appended> store_append(const journal::Append& append);
  std::vector<MemoryStore::Bytes> events_of(const SessionId& session);

  std::shared_ptr<MemoryStore> store_;
  MemoryHooks hooks_;
};

}  // namespace daybook::tests
