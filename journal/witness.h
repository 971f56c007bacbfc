// Remembers the last acknowledged position outside RocksDB, whose recovery drops a damaged tail of
// its log without a word. A journal that ends before its witness has lost acknowledged events.
//
// Written after each durable batch and never synced: after a power loss the witness may be behind
// the journal, never ahead of it.
#pragma once

#include <rocksdb/file_system.h>

#include <cstdint>
#include <memory>
#include <string>

#include "schema/result.h"

namespace daybook::journal {

class Witness {
 public:
  /// Makes the file, durable once the folder is synced.
  static Result<void> create(rocksdb::FileSystem& fs, const std::string& path,
                             std::uint64_t position);
  /// The position in the file. `not_found`; `corrupt` when neither slot is whole.
  static Result<std::uint64_t> read(rocksdb::FileSystem& fs, const std::string& path);
  static Result<Witness> open(rocksdb::FileSystem& fs, const std::string& path);

  /// A failure only delays the detection of a later loss: it is logged.
  void write(std::uint64_t position);

 private:
  Witness(std::unique_ptr<rocksdb::FSRandomRWFile> file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}

  std::unique_ptr<rocksdb::FSRandomRWFile> file_;
  std::string path_;
  std::uint64_t writes_ = 0;
};

}  // namespace daybook::journal
