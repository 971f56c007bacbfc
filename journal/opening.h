// How a journal's database comes to be open: looked at first, then made, mended or opened.
#pragma once

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <cstdint>
#include <memory>
#include <string>

#include "journal/folder.h"
#include "journal/store.h"

namespace daybook::journal {

/// Where a journal is, and through what it is reached.
struct Site {
  FolderPaths paths;
  std::shared_ptr<rocksdb::FileSystem> fs;
  std::shared_ptr<rocksdb::Env> env;
};

struct ReaderStore {
  std::unique_ptr<Store> store;
  std::uint64_t last = 0;  // position of its last event
};

/// Names and sizes of the database's files: whether a writer changed them meanwhile.
std::string listing_of(const Site& site);

/// A snapshot that changes nothing on disk, also beside a writer, checked to be complete.
Result<ReaderStore> open_reader_store(const Site& site);

/// Writes down what the database's files are, after its writer closed it. Only a hint: opening for
/// writing can do without the look while nothing has changed, needs it otherwise, and refuses when
/// a file has gone or changed its size.
void note_closed(const Site& site);

/// Opens an existing journal for writing. When acknowledged events are missing this fails and
/// nothing was changed; an unfinished write to RocksDB's table of files is mended.
Result<std::unique_ptr<Store>> open_writer_store(const Site& site);

/// Makes the journal, or finishes making it; whatever is there already stays.
Result<std::unique_ptr<Store>> create_journal(const Site& site);

}  // namespace daybook::journal
