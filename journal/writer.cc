#include "journal/writer.h"

#include <fmt/format.h>

#include <utility>

namespace daybook::journal {
namespace {

constexpr std::size_t kQueueAppends = 8192;
constexpr std::size_t kQueueBytes = 64 << 20;
constexpr std::size_t kBatchAppends = 1024;
constexpr std::size_t kBatchBytes = 4 << 20;

std::size_t size_of(const Append& append) {
  std::size_t size = 0;
  for (const std::string& event : append.events) size += event.size();
  for (const Blob& blob : append.blobs) size += blob.bytes.size();
  return size;
}

}  // namespace

Writer::Writer(StoreGate& gate, Witness witness, std::uint64_t last, Post post, Reopen reopen)
    : gate_(gate),
      witness_(std::move(witness)),
      post_(std::move(post)),
      reopen_(std::move(reopen)),
      stage_(last),
      thread_([this] { run(); }) {}

void Writer::finish() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  work_.notify_one();
  thread_.join();
}

void Writer::submit(Append append, AppendDone done) {
  const std::size_t size = size_of(append);
  {
    std::unique_lock lock(mutex_);
    // The writer's own thread makes the room that others wait for.
    if (std::this_thread::get_id() != thread_.get_id()) {
      room_.wait(lock, [&] {
        return queue_.empty() ||
               (queue_.size() < kQueueAppends && queued_bytes_ + size <= kQueueBytes);
      });
    }
    queued_bytes_ += size;
    queue_.push_back({std::move(append), std::move(done), size});
    if (queue_.size() > 1) return;  // the writer is awake, or told already
  }
  work_.notify_one();
}

void Writer::run() {
  while (true) {
    Batch batch = drain();
    if (batch.empty()) break;
    commit(std::move(batch));
  }
  auto store = gate_.use();
  if (store && !dead_) (*store)->shorten_log();
}

Writer::Batch Writer::drain() {
  Batch batch;
  {
    std::unique_lock lock(mutex_);
    work_.wait(lock, [this] { return ending_ || !queue_.empty(); });
    std::size_t size = 0;
    while (!queue_.empty() && batch.size() < kBatchAppends && size < kBatchBytes) {
      size += queue_.front().size_bytes;
      batch.push_back(std::move(queue_.front()));
      queue_.pop_front();
    }
    queued_bytes_ -= size;
  }
  room_.notify_all();
  return batch;
}

void Writer::commit(Batch batch) {
  Results results;
  results.reserve(batch.size());
  if (dead_) {
    results.assign(batch.size(), fail(*dead_));
    return tell(std::move(batch), std::move(results));
  }
  {
    auto store = gate_.use();
    DAYBOOK_CHECK(store.has_value());  // closed for good only by settle, which sets dead_
    for (const Pending& pending : batch) {
      results.push_back(stage_.add(**store, pending.append));
    }
    if (!stage_.empty()) write_staged(**store);
  }
  if (failed_) settle(*std::exchange(failed_, {}), results);
  tell(std::move(batch), std::move(results));
}

void Writer::write_staged(Store& store) {
  rocksdb::WriteOptions options;
  options.sync = true;
  const std::uint64_t last = stage_.last();
  const rocksdb::Status status = store.db().Write(options, &stage_.batch(store));
  if (!status.ok()) {
    failed_ = status;
    return;
  }
  stage_.committed();
  witness_.write(last);
}

/// A failed write or sync says nothing about what is on the disk. Only reading it again does.
void Writer::settle(const rocksdb::Status& status, Results& results) {
  const std::uint64_t wanted = stage_.last();
  std::uint64_t last = 0;
  const auto reopened = gate_.replace([&]() -> Result<std::unique_ptr<Store>> {
    auto store = reopen_();
    if (!store) return store;
    auto found = last_position(**store);
    if (!found) return fail(std::move(found.error()));
    last = *found;
    return store;
  });
  Error error = error_of(status, "writing to the journal");
  if (!reopened) {
    error.code = ErrorCode::outcome_unknown;
    error.message = fmt::format(
        "{}; reopening it to see what was written failed as well ({}), so "
        "it is unknown: open the journal again",
        error.message, reopened.error().message);
    dead_ = error;
  } else if (last >= wanted) {
    stage_.committed();
    stage_.forget(last);
    witness_.write(last);
    return;
  } else {
    error.message += "; nothing of it was written";
    if (error.code == ErrorCode::corrupt) error.code = ErrorCode::io;
    stage_.forget(last);
  }
  for (Result<Appended>& result : results) {
    if (result) result = fail(error);
  }
}

void Writer::tell(Batch batch, Results results) {
  auto told = std::make_shared<std::pair<Batch, Results>>(std::move(batch), std::move(results));
  auto tell_all = [told] {
    for (std::size_t i = 0; i < told->first.size(); ++i) {
      if (told->first[i].done) told->first[i].done(std::move(told->second[i]));
    }
  };
  if (post_) {
    post_(std::move(tell_all));
  } else {
    tell_all();
  }
}

}  // namespace daybook::journal
