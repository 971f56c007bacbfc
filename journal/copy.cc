#include "journal/copy.h"

#include <rocksdb/write_batch.h>

namespace daybook::journal {
namespace {

constexpr std::size_t kBatchBytes = 4 << 20;
constexpr std::size_t kReadahead = 2 << 20;

/// Not logged: the copy counts only once all of it is flushed.
Result<void> write(Store& to, rocksdb::WriteBatch& batch) {
  rocksdb::WriteOptions options;
  options.disableWAL = true;
  const auto status = to.db().Write(options, &batch);
  batch.Clear();
  if (!status.ok()) return fail(error_of(status, "writing the copy"));
  return {};
}

Result<void> copy_family(Store& from, rocksdb::ColumnFamilyHandle* family, Store& to,
                         rocksdb::ColumnFamilyHandle* copy) {
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  options.readahead_size = kReadahead;
  const std::unique_ptr<rocksdb::Iterator> it(from.db().NewIterator(options, family));
  rocksdb::WriteBatch batch;
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
    batch.Put(copy, it->key(), it->value()).PermitUncheckedError();  // grows memory only
    if (batch.GetDataSize() >= kBatchBytes) DAYBOOK_TRY(write(to, batch));
  }
  if (!it->status().ok()) return fail(read_error(it->status(), "reading the journal"));
  return write(to, batch);
}

}  // namespace

Result<void> copy_store(Store& from, Store& to) {
  DAYBOOK_TRY(copy_family(from, from.blobs(), to, to.blobs()));
  DAYBOOK_TRY(copy_family(from, from.main(), to, to.main()));
  const auto status = to.db().Flush({}, {to.main(), to.blobs()});
  if (!status.ok()) return fail(error_of(status, "writing the copy"));
  return {};
}

}  // namespace daybook::journal
