#include "tests/support/memory_files.h"

namespace daybook::tests {
namespace {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

class LeanWritable : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  using FSWritableFileOwnerWrapper::FSWritableFileOwnerWrapper;
  void PrepareWrite(std::size_t, std::size_t, const IOOptions&, IODebugContext*) override {}
};

class MemoryFiles : public rocksdb::FileSystemWrapper {
 public:
  MemoryFiles() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "DaybookMemoryFiles"; }

  IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                           IODebugContext* debug) override {
    auto status = target()->NewWritableFile(path, options, file, debug);
    if (status.ok()) *file = std::make_unique<LeanWritable>(std::move(*file));
    return status;
  }
  IOStatus ReopenWritableFile(const std::string& path, const FileOptions& options,
                              std::unique_ptr<rocksdb::FSWritableFile>* file,
                              IODebugContext* debug) override {
    auto status = target()->ReopenWritableFile(path, options, file, debug);
    if (status.ok()) *file = std::make_unique<LeanWritable>(std::move(*file));
    return status;
  }
};

}  // namespace

std::shared_ptr<rocksdb::FileSystem> memory_files() {
  return std::make_shared<MemoryFiles>();
}

}  // namespace daybook::tests
