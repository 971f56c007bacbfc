// The operating system's files without room set aside for what is not written yet: a file system in
// memory would really allocate the 70 MB that RocksDB asks for per log.
#pragma once

#include <rocksdb/file_system.h>

#include <memory>

namespace daybook::tests {

std::shared_ptr<rocksdb::FileSystem> memory_files();

}  // namespace daybook::tests
