#include "journal/checkpoints.h"

#include <rocksdb/write_batch.h>

#include "journal/keys.h"

namespace daybook::journal {
namespace {

constexpr std::size_t kPartSize = 64 << 10;
constexpr std::uint64_t kLargestState = std::uint64_t{1} << 30;  // as unpack_state takes

/// How many parts are stored.
Result<std::uint32_t> count_parts(Store& store, const SessionId& session,
                                  std::string_view projection) {
  const std::string prefix = checkpoint_prefix(session, projection);
  const std::string upper = after_prefix(prefix);
  const rocksdb::Slice upper_slice(upper);
  const auto it = store.iterate(upper_slice, false);
  it->SeekForPrev(upper);
  if (!it->status().ok()) return fail(read_error(it->status(), "reading a checkpoint"));
  if (!it->Valid() || !it->key().starts_with(prefix)) return 0U;
  const auto key = parse_checkpoint_key(it->key().ToStringView());
  return key ? key->part + 1 : 0U;
}

/// As older builds wrote it.
Result<std::optional<Checkpoint>> read_in_one_piece(Store& store, const SessionId& session,
                                                    std::string_view projection) {
  auto value = store.get(projection_key(session, projection));
  if (!value) return fail(std::move(value.error()));
  if (!*value) return std::optional<Checkpoint>();
  return decode_checkpoint(**value);
}

}  // namespace

bool CheckpointParts::add(std::string_view sealed) {
  auto part = unseal(sealed);
  if (!part) return false;
  if (count_ == 0) {
    checkpoint_ = take_checkpoint_start(*part, size_);
    if (!checkpoint_ || size_ > kLargestState) return false;
    checkpoint_->state.reserve(size_);
  }
  ++count_;
  if (part->size() > size_ - checkpoint_->state.size()) return false;
  checkpoint_->state.append(*part);
  return true;
}

Result<std::optional<Checkpoint>> read_checkpoint(Store& store, const SessionId& session,
                                                  std::string_view projection) {
  // One by one: an iterator would read the parts of older checkpoints, too. And past the cache:
  // memory that is used again costs less than fresh memory.
  rocksdb::ReadOptions options;
  options.fill_cache = false;
  CheckpointParts parts;
  while (!parts.complete()) {
    const std::string key = checkpoint_key(session, projection, parts.count());
    rocksdb::PinnableSlice value;
    const auto status = store.db().Get(options, store.main(), key, &value);
    if (status.IsNotFound() && parts.count() == 0) {
      return read_in_one_piece(store, session, projection);
    }
    // Only a cache: a damaged one is as good as none, and `verify` reports it.
    if (status.IsNotFound()) return std::optional<Checkpoint>();
    if (!status.ok()) return fail(read_error(status, "reading a checkpoint"));
    if (!parts.add(value.ToStringView())) return std::optional<Checkpoint>();
  }
  return std::optional(parts.take());
}

Result<void> write_checkpoint(Store& store, const SessionId& session, std::string_view projection,
                              const Checkpoint& checkpoint) {
  DAYBOOK_CHECK(projection.find('\0') == std::string_view::npos);
  const auto stored = count_parts(store, session, projection);
  if (!stored) return fail(stored.error());
  rocksdb::WriteBatch batch;
  std::string part = encode_checkpoint_start(checkpoint);
  std::string_view rest = checkpoint.state;
  std::uint32_t count = 0;
  rocksdb::Status status;
  do {
    part.append(rest.substr(0, kPartSize));
    rest.remove_prefix(std::min(rest.size(), kPartSize));
    seal(part);
    status = batch.Put(store.main(), checkpoint_key(session, projection, count++), part);
    part.clear();
  } while (!rest.empty() && status.ok());
  for (; count < *stored && status.ok(); ++count) {
    status = batch.Delete(store.main(), checkpoint_key(session, projection, count));
  }
  if (status.ok()) status = batch.Delete(store.main(), projection_key(session, projection));
  if (status.ok()) status = store.db().Write({}, &batch);
  if (!status.ok()) return fail(error_of(status, "saving a checkpoint"));
  return {};
}

}  // namespace daybook::journal
