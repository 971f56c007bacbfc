// The one thread that writes: it drains a bounded queue into one RocksDB batch with one sync, and
// tells the callers afterwards, all at once.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "journal/journal.h"
#include "journal/stage.h"
#include "journal/store.h"
#include "journal/witness.h"

namespace daybook::journal {

class Writer {
 public:
  using Post = std::function<void(std::function<void()>)>;
  using Reopen = std::function<Result<std::unique_ptr<Store>>()>;

  /// `gate` outlives the writer; `last` is the position of its store's last event.
  Writer(StoreGate& gate, Witness witness, std::uint64_t last, Post post, Reopen reopen);
  ~Writer() { finish(); }
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  /// Any thread. Waits while the queue is full, except on the writer's own thread.
  void submit(Append append, AppendDone done);

  /// Writes what is queued and ends the thread. Nothing may be submitted any more.
  void finish();

 private:
  struct Pending {
    Append append;
    AppendDone done;
    std::size_t size_bytes = 0;
  };
  using Batch = std::vector<Pending>;
  using Results = std::vector<Result<Appended>>;

  void run();
  /// Next batch; empty when the writer shall end.
  Batch drain();
  void commit(Batch batch);
  void write_staged(Store& store);
  void settle(const rocksdb::Status& status, Results& results);
  void tell(Batch batch, Results results);

  StoreGate& gate_;
  Witness witness_;
  const Post post_;
  const Reopen reopen_;
  Stage stage_;                            // the writer thread's
  std::optional<Error> dead_;              // the writer thread's: why nothing is accepted any more
  std::optional<rocksdb::Status> failed_;  // the writer thread's: of the write to settle

  std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable room_;
  std::deque<Pending> queue_;
  std::size_t queued_bytes_ = 0;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace daybook::journal
