// Decides about appends one after another, each against the heads as the ones before left them,
// and gathers the accepted ones into one RocksDB batch.
#pragma once

#include <rocksdb/write_batch.h>

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "journal/journal.h"
#include "journal/store.h"

namespace daybook::journal {

/// Not thread-safe; the writer thread's.
class Stage {
 public:
  /// `last` is the position of the last event in the store.
  explicit Stage(std::uint64_t last) : last_(last) {}

  /// Accepts the append, or refuses it without a trace.
  Result<Appended> add(Store& store, const Append& append);

  bool empty() const { return staged_events_ == 0; }
  /// Position of the last staged event.
  std::uint64_t last() const { return last_ + staged_events_; }
  /// What to write; nothing may be added after this until `committed` or `forget`.
  rocksdb::WriteBatch& batch(Store& store);

  /// The batch is durable: its heads are the heads now.
  void committed();
  /// The store is another one, ending at `last`.
  void forget(std::uint64_t last);

 private:
  /// Where a session ends; an entry stays where it is until `forget`.
  struct Session {
    Head stored;
    Head staged;
    bool touched = false;  // by the batch
  };

  Result<Session*> session(Store& store, const SessionId& id);
  Result<void> check_request(Store& store, const RequestKey& request);
  Result<void> stage_blobs(Store& store, const Append& append);
  void put(Store& store, const Append& append);
  void clear();

  std::uint64_t last_;
  std::uint64_t staged_events_ = 0;
  std::unordered_map<std::string, Session> sessions_;  // a cache
  std::vector<Session*> touched_;
  std::unordered_map<std::string, Digest> staged_requests_;
  // Bytes are the append's, which outlives the batch.
  std::unordered_map<std::string, const Blob*> staged_blobs_;
  rocksdb::WriteBatch batch_;
  std::string order_;   // value under construction
  std::string buffer_;  // one value at a time
};

}  // namespace daybook::journal
