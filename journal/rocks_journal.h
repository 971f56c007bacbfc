// The journal on RocksDB. The layout of keys and values is in docs/format.md.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "journal/journal.h"

namespace rocksdb {
class FileSystem;
class SystemClock;
}  // namespace rocksdb

namespace daybook::journal {

enum class OpenMode {
  create,     // the writer; makes the journal if there is none
  write,      // the writer; the journal must exist
  read_only,  // a second process beside a writer, or on a read-only disk
};

struct RocksOptions {
  std::string folder;
  OpenMode mode = OpenMode::create;

  /// Shown to whoever is refused: "pid 4711 on host (daybook run)".
  std::string owner;

  /// Runs a completion batch elsewhere, e.g. by posting it to an io_context. Default: on the
  /// writer thread.
  std::function<void(std::function<void()>)> post;

  /// A file system to put under RocksDB, for fault tests. Null: the operating system's.
  std::shared_ptr<rocksdb::FileSystem> file_system;

  /// What RocksDB waits with, for fault tests: it sleeps after failures. Null: the real one.
  std::shared_ptr<rocksdb::SystemClock> clock = nullptr;
};

/// Errors: `not_found` (no journal there), `invalid_argument` (something else is there), `busy`
/// (another writer, named), `newer_schema`, `permission`, `no_space`, `corrupt`, `io`.
Result<std::unique_ptr<Journal>> open_rocks_journal(RocksOptions options);

}  // namespace daybook::journal
