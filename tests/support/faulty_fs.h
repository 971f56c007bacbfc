// A file system to put under a journal that loses power, runs full or fails, at a chosen step.
//
// It passes everything to the real file system and keeps on the side what would survive a power
// loss: for each file the bytes of its last sync, for each folder the names of its last sync.
#pragma once

#include <rocksdb/file_system.h>
#include <rocksdb/system_clock.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <vector>

namespace daybook::tests {

/// What happens to bytes that were written but not synced when the power goes.
enum class UnsyncedBytes { drop, keep, tear };

/// Does not sleep: RocksDB takes a second of rest after every failed flush.
class HastyClock : public rocksdb::SystemClockWrapper {
 public:
  HastyClock() : SystemClockWrapper(rocksdb::SystemClock::Default()) {}
  const char* Name() const override { return "DaybookHastyClock"; }
  void SleepForMicroseconds(int) override {}
};

class FaultyFs : public rocksdb::FileSystemWrapper {
 public:
  /// What is in `root` already counts as synced.
  explicit FaultyFs(std::string root);

  const char* Name() const override { return "DaybookFaultyFs"; }

  /// Writes, syncs and name changes so far.
  std::uint64_t steps() const;
  /// From step `step` on the power is off: nothing reaches the disk, every call fails.
  void lose_power_at(std::uint64_t step);
  /// Steps `first` to `last` fail with this; after a failed write a random part of it is there.
  void fail_steps(std::uint64_t first, std::uint64_t last, rocksdb::IOStatus status);
  bool power_lost() const;

  /// Makes the real folder what a power loss would have left. All files must be closed.
  void settle_after_power_loss(UnsyncedBytes unsynced, std::uint32_t seed);

  // rocksdb::FileSystem
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* file,
                                       rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewRandomRWFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSRandomRWFile>* file,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewDirectory(const std::string& path, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* directory,
                                 rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus LinkFile(const std::string& from, const std::string& to,
                             const rocksdb::IOOptions& options,
                             rocksdb::IODebugContext* debug) override;

  /// One step; not OK when it must fail. `partial`, when given, may carry out a part of it.
  rocksdb::IOStatus step(const std::function<void(double share)>& partial = {});
  void synced(const std::string& path);
  void folder_synced(const std::string& path);

 private:
  using Content = std::shared_ptr<std::string>;

  mutable std::mutex mutex_;
  const std::string root_;
  std::uint64_t steps_ = 0;
  std::uint64_t power_off_ = UINT64_MAX;
  std::uint64_t fail_first_ = UINT64_MAX;
  std::uint64_t fail_last_ = 0;
  rocksdb::IOStatus failure_;
  std::mt19937 random_{1};
  // A file is known by the name it has now; its synced bytes move with it.
  std::map<std::string, Content> synced_;
  // What each name led to when its folder was last synced.
  std::map<std::string, Content> durable_names_;
};

}  // namespace daybook::tests
