// The journal's folder: what must be in it, and how a new one comes to be.
//
//   JOURNAL   what this folder is, and which schema may be in it; written last
//   lock      who writes (owner_lock.h)
//   witness   last acknowledged position (witness.h)
//   closed    the database's files when a writer last closed it (opening.h)
//   db/       RocksDB
#pragma once

#include <memory>
#include <string>

#include "journal/store.h"
#include "schema/result.h"

namespace rocksdb {
class FileSystem;
}

namespace daybook::journal {

struct FolderPaths {
  explicit FolderPaths(const std::string& root);
  std::string folder;
  std::string marker;
  std::string lock;
  std::string witness;
  std::string closed;
  std::string db;
};

enum class FolderState {
  absent,
  empty,  // or left by a creation that did not finish
  journal,
};

/// Errors: `invalid_argument` when something else is there, `newer_schema`, `corrupt`,
/// `permission`, `io`.
Result<FolderState> inspect_folder(rocksdb::FileSystem& fs, const FolderPaths& paths);

/// Makes the folder and its missing parents, readable by their owner only.
Result<void> make_folder(rocksdb::FileSystem& fs, const FolderPaths& paths);

/// Turns the folder into a journal, durably. The database and the witness must be in it.
Result<void> mark_folder(rocksdb::FileSystem& fs, const FolderPaths& paths);

/// A file that is there with all its bytes after a power loss, once its folder is synced.
Result<void> write_durably(rocksdb::FileSystem& fs, const std::string& path,
                           const std::string& bytes);
Result<void> sync_folder(rocksdb::FileSystem& fs, const std::string& path);
Result<std::string> read_whole(rocksdb::FileSystem& fs, const std::string& path);

/// `base`, with every file and folder it makes readable by its owner only.
std::shared_ptr<rocksdb::FileSystem> private_files(
    const std::shared_ptr<rocksdb::FileSystem>& base);

}  // namespace daybook::journal
