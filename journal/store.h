// The RocksDB under a journal: how it is opened and checked, and who may use it when.
#pragma once

#include <rocksdb/db.h>

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "journal/journal.h"

namespace daybook::journal {

/// An open database. Closes it when destroyed; its iterators must be gone by then.
class Store {
 public:
  Store(std::unique_ptr<rocksdb::DB> db, rocksdb::ColumnFamilyHandle* main,
        rocksdb::ColumnFamilyHandle* blobs);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  rocksdb::DB& db() { return *db_; }
  rocksdb::ColumnFamilyHandle* main() { return main_; }
  rocksdb::ColumnFamilyHandle* blobs() { return blobs_; }

  /// Moves what only the log holds to tables, if it is much: the next opening would read it all.
  void shorten_log();

  /// Value of a key in the main column family, still sealed.
  Result<std::optional<std::string>> get(const std::string& key);
  /// Iterator over keys from `lower` up to `upper`, which must outlive it. A scan leaves the
  /// block cache alone and reads ahead.
  std::unique_ptr<rocksdb::Iterator> iterate(const rocksdb::Slice& upper, bool scan);

 private:
  std::unique_ptr<rocksdb::DB> db_;
  rocksdb::ColumnFamilyHandle* main_;
  rocksdb::ColumnFamilyHandle* blobs_;
};

enum class StoreMode {
  writer,
  reader,  // what is there now; changes nothing on disk, also beside a writer
};

/// Opens the database in `path`. `create` makes it when there is none.
Result<std::unique_ptr<Store>> open_store(const std::string& path, rocksdb::Env* env,
                                          StoreMode mode, bool create);

/// Position of the last event; 0 in an empty journal. `corrupt` when what RocksDB recovered from
/// its log has holes, which it does not notice itself.
Result<std::uint64_t> last_position(Store& store);

/// `corrupt` when the journal ends before `witnessed`, the last position known acknowledged.
Result<void> check_witness(std::uint64_t last, std::uint64_t witnessed, const std::string& path);

/// What a RocksDB failure means to a caller. `what` says what was being done, and where.
Error error_of(const rocksdb::Status& status, const std::string& what);
/// The same for reading from an open database, to which a file that is gone is damage.
Error read_error(const rocksdb::Status& status, const std::string& what);

/// Lets many threads use the store, and one replace it while nobody does.
class StoreGate {
 public:
  class Lease {
   public:
    explicit Lease(StoreGate* gate) : gate_(gate) {}
    Lease(Lease&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease();
    Store& operator*() const { return *gate_->store_; }
    Store* operator->() const { return gate_->store_.get(); }

   private:
    StoreGate* gate_;
  };

  explicit StoreGate(std::unique_ptr<Store> store) : store_(std::move(store)) {}

  /// Nested use in one thread is fine. Fails when the store is closed for good.
  Result<Lease> use();

  /// Waits until nobody uses the store, closes it and puts what `reopen` returns in its place.
  Result<void> replace(const std::function<Result<std::unique_ptr<Store>>()>& reopen);

  /// Closes the store, which nobody uses any more. Returns whether it was open.
  bool close();

 private:
  std::mutex mutex_;
  std::condition_variable idle_;
  int users_ = 0;
  std::unique_ptr<Store> store_;
  std::optional<Error> closed_;
};

}  // namespace daybook::journal
