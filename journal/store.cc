#include "journal/store.h"

#include <fmt/format.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/table.h>

#include "journal/keys.h"
#include "journal/rocks_log.h"

namespace daybook::journal {
namespace {

constexpr char kBlobFamily[] = "blobs";
constexpr std::size_t kScanReadahead = 2 << 20;
constexpr std::uint64_t kLogWorthFlushing = 1 << 20;

/// RocksDB names a missing table by the suffix that LevelDB gave it, which it tries last.
std::string text_of(const rocksdb::Status& status) {
  std::string text = status.ToString();
  if (const std::size_t at = text.find(".ldb"); at != std::string::npos) {
    text.replace(at, 4, ".sst");
  }
  return text;
}

rocksdb::DBOptions db_options(rocksdb::Env* env, StoreMode mode, bool create) {
  rocksdb::DBOptions options;
  options.env = env;
  options.create_if_missing = create;
  options.create_missing_column_families = create;
  options.paranoid_checks = true;
  options.info_log = make_rocks_log();
  options.info_log_level = rocksdb::WARN_LEVEL;
  // Ends the log at the first damage. Whether that lost anything acknowledged is for the witness
  // and the order index to say: see check_witness and last_position.
  options.wal_recovery_mode = rocksdb::WALRecoveryMode::kPointInTimeRecovery;
  options.max_total_wal_size = 64 << 20;  // what opening after a crash reads, twice, into memory
  options.max_open_files = -1;            // a reader must keep files that the writer deletes
  // Starting RocksDB's default of 16 threads costs more than opening a journal's few files.
  options.max_file_opening_threads = 1;
  options.max_background_jobs = 2;
  options.stats_dump_period_sec = 0;
  options.stats_persist_period_sec = 0;
  // After a failure the journal reopens the database; RocksDB must not resume behind its back.
  options.max_bgerror_resume_count = 0;
  options.skip_stats_update_on_db_open = true;
  options.allow_concurrent_memtable_write = false;  // one writer thread
  options.enable_write_thread_adaptive_yield = false;
  options.avoid_unnecessary_blocking_io = mode == StoreMode::writer;
  return options;
}

rocksdb::ColumnFamilyOptions family_options(bool blobs,
                                            const std::shared_ptr<rocksdb::Cache>& cache) {
  using rocksdb::CompressionType;
  rocksdb::ColumnFamilyOptions options;
  options.write_buffer_size = 64 << 20;
  options.compression_per_level = {CompressionType::kNoCompression, CompressionType::kNoCompression,
                                   CompressionType::kLZ4Compression};
  rocksdb::BlockBasedTableOptions table;
  table.block_size = 16 << 10;
  table.checksum = rocksdb::kXXH3;
  table.format_version = 5;
  table.block_cache = cache;
  if (blobs) {
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
    options.enable_blob_files = true;
    // Blobs are read one by one: from a blob file that takes one read of just their bytes.
    options.min_blob_size = 1 << 10;
    options.blob_compression_type = CompressionType::kLZ4Compression;
  }
  options.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
  return options;
}

/// RocksDB calls a file that is gone an I/O error: to the journal it is damage.
Error cannot_open(const rocksdb::Status& status, const std::string& path) {
  Error error = error_of(status, fmt::format("opening the journal's database {}", path));
  const bool is_missing = status.IsPathNotFound() || status.IsNotFound() ||
                          error.message.find("No such file or directory") != std::string::npos;
  if (is_missing || error.code == ErrorCode::corrupt) {
    error.code = ErrorCode::corrupt;
    error.message = fmt::format(
        "the journal's database {} is {}, and none of its sessions can be read ({}); nothing was "
        "changed, restore the folder's files or a backup of the journal",
        path, is_missing ? "not whole" : "damaged", text_of(status));
  }
  return error;
}

}  // namespace

Store::Store(std::unique_ptr<rocksdb::DB> db, rocksdb::ColumnFamilyHandle* main,
             rocksdb::ColumnFamilyHandle* blobs)
    : db_(std::move(db)), main_(main), blobs_(blobs) {}

Store::~Store() {
  db_->DestroyColumnFamilyHandle(main_).PermitUncheckedError();
  db_->DestroyColumnFamilyHandle(blobs_).PermitUncheckedError();
  // A database that failed before says so again here, and its writer has dealt with it.
  db_->Close().PermitUncheckedError();
}

void Store::shorten_log() {
  std::uint64_t size = 0;
  db_->GetAggregatedIntProperty(rocksdb::DB::Properties::kCurSizeActiveMemTable, &size);
  if (size < kLogWorthFlushing) return;
  db_->Flush({}, {main_, blobs_}).PermitUncheckedError();  // what it fails to move, the log holds
}

Result<std::optional<std::string>> Store::get(const std::string& key) {
  std::string value;
  const rocksdb::Status status = db_->Get({}, main_, key, &value);
  if (status.IsNotFound()) return std::optional<std::string>();
  if (!status.ok()) return fail(read_error(status, "reading the journal"));
  return std::optional(std::move(value));
}

std::unique_ptr<rocksdb::Iterator> Store::iterate(const rocksdb::Slice& upper, bool scan) {
  rocksdb::ReadOptions options;
  options.iterate_upper_bound = &upper;
  options.fill_cache = !scan;
  if (scan) options.readahead_size = kScanReadahead;
  return std::unique_ptr<rocksdb::Iterator>(db_->NewIterator(options, main_));
}

Result<std::unique_ptr<Store>> open_store(const std::string& path, rocksdb::Env* env,
                                          StoreMode mode, bool create) {
  const rocksdb::DBOptions options = db_options(env, mode, create);
  const auto cache = rocksdb::NewLRUCache(64 << 20);
  const std::vector<rocksdb::ColumnFamilyDescriptor> families = {
      {rocksdb::kDefaultColumnFamilyName, family_options(false, cache)},
      {kBlobFamily, family_options(true, cache)}};
  std::vector<rocksdb::ColumnFamilyHandle*> handles;
  rocksdb::DB* db = nullptr;
  rocksdb::Status status;
  switch (mode) {
    case StoreMode::writer:
      status = rocksdb::DB::Open(options, path, families, &handles, &db);
      break;
    case StoreMode::reader:
      status = rocksdb::DB::OpenForReadOnly(options, path, families, &handles, &db);
      break;
  }
  if (!status.ok()) return fail(cannot_open(status, path));
  DAYBOOK_CHECK(handles.size() == 2);
  return std::make_unique<Store>(std::unique_ptr<rocksdb::DB>(db), handles[0], handles[1]);
}

Result<std::uint64_t> last_position(Store& store) {
  // Everything recovered from the log is in the memtable, and only the log can lose a piece from
  // its middle: so many order records at the end must join up.
  std::uint64_t recovered = 0;
  store.db().GetIntProperty(store.main(), "rocksdb.num-entries-active-mem-table", &recovered);
  const std::string upper = after_prefix({static_cast<char>(KeyKind::order)});
  const rocksdb::Slice upper_slice(upper);
  // No read ahead: of the tables only the end of one matters, what was recovered is in memory.
  const auto it = store.iterate(upper_slice, false);
  std::uint64_t last = 0;
  std::uint64_t next_first = 0;  // first position of the record seen before, which follows
  std::uint64_t seen = 0;
  for (it->SeekForPrev(upper); it->Valid() && seen <= recovered; it->Prev(), ++seen) {
    const auto first = parse_order_key(it->key().ToStringView());
    if (!first) break;
    const auto runs = decode_order(it->value().ToStringView());
    std::uint64_t after = *first;
    if (runs) {
      for (const OrderRun& run : *runs) after += run.count;
    }
    if (!runs || (seen > 0 && after != next_first)) {
      return fail(ErrorCode::corrupt,
                  fmt::format("the journal's order index is damaged at position {}: restore a "
                              "backup",
                              *first));
    }
    if (seen == 0) last = after - 1;
    next_first = *first;
  }
  if (!it->status().ok())
    return fail(read_error(it->status(), "reading the journal's order index"));
  if (!it->Valid() && seen > 0 && next_first != 1) {
    return fail(ErrorCode::corrupt,
                fmt::format("the journal's order index begins at position {} instead of 1: restore "
                            "a backup",
                            next_first));
  }
  return last;
}

Result<void> check_witness(std::uint64_t last, std::uint64_t witnessed, const std::string& path) {
  if (last >= witnessed) return {};
  return fail(ErrorCode::corrupt,
              fmt::format("the journal in {} ends at position {}, but events up to {} were "
                          "acknowledged: its end is damaged or missing; nothing was changed, "
                          "restore a backup or the missing files",
                          path, last, witnessed));
}

Error error_of(const rocksdb::Status& status, const std::string& what) {
  const std::string text = text_of(status);
  ErrorCode code = ErrorCode::io;
  std::string advice = "check the disk";
  if (status.IsNoSpace()) {
    code = ErrorCode::no_space;
    advice = "free some space and try again";
  } else if (status.IsCorruption()) {
    code = ErrorCode::corrupt;
    advice = "restore a backup";
  } else if (text.find("Permission denied") != std::string::npos ||
             text.find("Read-only file system") != std::string::npos) {
    code = ErrorCode::permission;
    advice = "check its owner and mode, and whether its file system is mounted read-only";
  }
  return {code, fmt::format("{} failed: {}; {}", what, text, advice)};
}

Error read_error(const rocksdb::Status& status, const std::string& what) {
  Error error = error_of(status, what);
  const bool is_missing = status.IsPathNotFound() || status.IsNotFound() ||
                          status.ToString().find("No such file or directory") != std::string::npos;
  if (!is_missing) return error;
  return {ErrorCode::corrupt,
          fmt::format("{} failed: {}; restore that file or a backup", what, text_of(status))};
}

StoreGate::Lease::~Lease() {
  if (gate_ == nullptr) return;
  const std::lock_guard lock(gate_->mutex_);
  if (--gate_->users_ == 0) gate_->idle_.notify_all();
}

Result<StoreGate::Lease> StoreGate::use() {
  const std::lock_guard lock(mutex_);
  if (closed_) return fail(*closed_);
  ++users_;
  return Lease(this);
}

Result<void> StoreGate::replace(const std::function<Result<std::unique_ptr<Store>>()>& reopen) {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return users_ == 0; });
  store_.reset();
  auto opened = reopen();
  if (!opened) {
    closed_ = opened.error();
    return fail(std::move(opened.error()));
  }
  store_ = std::move(*opened);
  return {};
}

bool StoreGate::close() {
  const std::lock_guard lock(mutex_);
  DAYBOOK_CHECK(users_ == 0);
  return std::exchange(store_, nullptr) != nullptr;
}

}  // namespace daybook::journal
