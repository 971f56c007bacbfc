#include "tests/support/faulty_fs.h"

#include <filesystem>

#include "tests/support/memory_files.h"
#include "tests/support/temp_dir.h"

namespace daybook::tests {
namespace {

namespace stdfs = std::filesystem;
using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

class FaultyWritable : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  FaultyWritable(FaultyFs& fs, std::string path, std::unique_ptr<rocksdb::FSWritableFile> file)
      : FSWritableFileOwnerWrapper(std::move(file)), fs_(fs), path_(std::move(path)) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* debug) override {
    auto status = fs_.step([&](double share) {
      const auto part = static_cast<std::size_t>(share * static_cast<double>(data.size()));
      target()->Append(Slice(data.data(), part), options, debug).PermitUncheckedError();
    });
    return status.ok() ? target()->Append(data, options, debug) : status;
  }
  IOStatus Append(const Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo&,
                  IODebugContext* debug) override {
    return Append(data, options, debug);
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* debug) override {
    auto status = fs_.step();
    if (status.ok()) status = target()->Flush(options, debug);
    if (status.ok()) fs_.synced(path_);
    return status;
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return Sync(options, debug);
  }

 private:
  FaultyFs& fs_;
  const std::string path_;
};

class FaultyRandomRw : public rocksdb::FSRandomRWFileOwnerWrapper {
 public:
  FaultyRandomRw(FaultyFs& fs, std::string path, std::unique_ptr<rocksdb::FSRandomRWFile> file)
      : FSRandomRWFileOwnerWrapper(std::move(file)), fs_(fs), path_(std::move(path)) {}

  IOStatus Write(std::uint64_t offset, const Slice& data, const IOOptions& options,
                 IODebugContext* debug) override {
    auto status = fs_.step([&](double share) {
      const auto part = static_cast<std::size_t>(share * static_cast<double>(data.size()));
      target()->Write(offset, Slice(data.data(), part), options, debug).PermitUncheckedError();
    });
    return status.ok() ? target()->Write(offset, data, options, debug) : status;
  }
  IOStatus Sync(const IOOptions&, IODebugContext*) override {
    auto status = fs_.step();
    if (status.ok()) fs_.synced(path_);
    return status;
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return Sync(options, debug);
  }

 private:
  FaultyFs& fs_;
  const std::string path_;
};

class FaultyDirectory : public rocksdb::FSDirectoryWrapper {
 public:
  FaultyDirectory(FaultyFs& fs, std::string path, std::unique_ptr<rocksdb::FSDirectory> directory)
      : FSDirectoryWrapper(std::move(directory)), fs_(fs), path_(std::move(path)) {}

  IOStatus Fsync(const IOOptions&, IODebugContext*) override {
    auto status = fs_.step();
    if (status.ok()) fs_.folder_synced(path_);
    return status;
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* debug,
                               const rocksdb::DirFsyncOptions&) override {
    return Fsync(options, debug);
  }

 private:
  FaultyFs& fs_;
  const std::string path_;
};

std::string clean(const std::string& path) {
  std::string normal = stdfs::path(path).lexically_normal().string();
  if (normal.size() > 1 && normal.back() == '/') normal.pop_back();
  return normal;
}

}  // namespace

FaultyFs::FaultyFs(std::string root) : FileSystemWrapper(memory_files()), root_(clean(root)) {
  for (const auto& item : stdfs::recursive_directory_iterator(root_)) {
    if (!item.is_regular_file()) continue;
    synced_[item.path().string()] = std::make_shared<std::string>(read_file(item.path()));
  }
  durable_names_ = synced_;
}

std::uint64_t FaultyFs::steps() const {
  const std::lock_guard lock(mutex_);
  return steps_;
}

void FaultyFs::lose_power_at(std::uint64_t step) {
  const std::lock_guard lock(mutex_);
  power_off_ = step;
}

void FaultyFs::fail_steps(std::uint64_t first, std::uint64_t last, IOStatus status) {
  const std::lock_guard lock(mutex_);
  fail_first_ = first;
  fail_last_ = last;
  failure_ = std::move(status);
}

bool FaultyFs::power_lost() const {
  const std::lock_guard lock(mutex_);
  return steps_ >= power_off_;
}

IOStatus FaultyFs::step(const std::function<void(double share)>& partial) {
  std::unique_lock lock(mutex_);
  const std::uint64_t now = steps_++;
  IOStatus status;
  if (now >= power_off_) status = IOStatus::IOError("the power is off");
  if (now >= fail_first_ && now <= fail_last_) status = failure_;
  if (!status.ok() && partial && now <= power_off_) {
    const double share = std::uniform_real_distribution<>(0, 1)(random_);
    lock.unlock();
    partial(share);
  }
  return status;
}

void FaultyFs::synced(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const auto at = synced_.find(clean(path));
  if (at != synced_.end()) *at->second = read_file(path);
}

void FaultyFs::folder_synced(const std::string& path) {
  const std::lock_guard lock(mutex_);
  const stdfs::path folder = clean(path);
  const auto is_in = [&](const auto& item) {
    return stdfs::path(item.first).parent_path() == folder;
  };
  std::erase_if(durable_names_, is_in);
  for (const auto& item : synced_) {
    if (is_in(item)) durable_names_.insert(item);
  }
}

void FaultyFs::settle_after_power_loss(UnsyncedBytes unsynced, std::uint32_t seed) {
  const std::lock_guard lock(mutex_);
  std::mt19937 random(seed);
  // Bytes that were not synced may still have arrived, under names that are durable.
  std::map<std::string, std::string> survivors;
  const bool names_arrived =
      unsynced == UnsyncedBytes::keep || (unsynced == UnsyncedBytes::tear && random() % 2 == 0);
  for (const auto& [name, content] : names_arrived ? synced_ : durable_names_) {
    std::string bytes = *content;
    std::string now;
    for (const auto& [current, same] : synced_) {
      if (same == content && stdfs::exists(current)) now = read_file(current);
    }
    const bool in_place = now.size() == bytes.size();
    if (unsynced == UnsyncedBytes::keep && now.size() >= bytes.size()) bytes = now;
    if (unsynced == UnsyncedBytes::tear && in_place && random() % 2 == 0) bytes = now;
    if (unsynced == UnsyncedBytes::tear && now.size() > bytes.size()) {
      const std::size_t from = bytes.size();
      bytes += now.substr(from, random() % (now.size() - from + 1));
      // Sectors arrive in any order: a part of what arrived may be stale.
      if (bytes.size() > from && random() % 2 == 0) {
        const std::size_t hole = from + random() % (bytes.size() - from);
        const std::size_t length = 1 + random() % (bytes.size() - hole);
        bytes.replace(hole, length, length, '\0');
      }
    }
    survivors[name] = std::move(bytes);
  }
  std::vector<stdfs::path> files;
  for (const auto& item : stdfs::recursive_directory_iterator(root_)) {
    if (item.is_regular_file()) files.push_back(item.path());
  }
  for (const stdfs::path& file : files) stdfs::remove(file);
  for (const auto& [name, bytes] : survivors) write_file(name, bytes);
}

IOStatus FaultyFs::NewWritableFile(const std::string& path, const FileOptions& options,
                                   std::unique_ptr<rocksdb::FSWritableFile>* file,
                                   IODebugContext* debug) {
  auto status = step();
  if (status.ok()) status = target()->NewWritableFile(path, options, file, debug);
  if (!status.ok()) return status;
  const std::lock_guard lock(mutex_);
  synced_[clean(path)] = std::make_shared<std::string>();
  *file = std::make_unique<FaultyWritable>(*this, path, std::move(*file));
  return status;
}

IOStatus FaultyFs::ReopenWritableFile(const std::string& path, const FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* file,
                                      IODebugContext* debug) {
  auto status = step();
  if (status.ok()) status = target()->ReopenWritableFile(path, options, file, debug);
  if (status.ok()) *file = std::make_unique<FaultyWritable>(*this, path, std::move(*file));
  return status;
}

IOStatus FaultyFs::NewRandomRWFile(const std::string& path, const FileOptions& options,
                                   std::unique_ptr<rocksdb::FSRandomRWFile>* file,
                                   IODebugContext* debug) {
  auto status = target()->NewRandomRWFile(path, options, file, debug);
  if (status.ok()) *file = std::make_unique<FaultyRandomRw>(*this, path, std::move(*file));
  return status;
}

IOStatus FaultyFs::NewDirectory(const std::string& path, const IOOptions& options,
                                std::unique_ptr<rocksdb::FSDirectory>* directory,
                                IODebugContext* debug) {
  auto status = target()->NewDirectory(path, options, directory, debug);
  if (status.ok())
    *directory = std::make_unique<FaultyDirectory>(*this, path, std::move(*directory));
  return status;
}

IOStatus FaultyFs::DeleteFile(const std::string& path, const IOOptions& options,
                              IODebugContext* debug) {
  auto status = step();
  if (status.ok()) status = target()->DeleteFile(path, options, debug);
  if (!status.ok()) return status;
  const std::lock_guard lock(mutex_);
  synced_.erase(clean(path));
  return status;
}

IOStatus FaultyFs::RenameFile(const std::string& from, const std::string& to,
                              const IOOptions& options, IODebugContext* debug) {
  auto status = step();
  if (status.ok()) status = target()->RenameFile(from, to, options, debug);
  if (!status.ok()) return status;
  const std::lock_guard lock(mutex_);
  if (auto moved = synced_.extract(clean(from)); !moved.empty()) {
    synced_[clean(to)] = moved.mapped();
  }
  return status;
}

IOStatus FaultyFs::LinkFile(const std::string& from, const std::string& to,
                            const IOOptions& options, IODebugContext* debug) {
  auto status = step();
  if (status.ok()) status = target()->LinkFile(from, to, options, debug);
  if (!status.ok()) return status;
  const std::lock_guard lock(mutex_);
  if (const auto at = synced_.find(clean(from)); at != synced_.end())
    synced_[clean(to)] = at->second;
  return status;
}

}  // namespace daybook::tests
