// RocksDB's table of files after a power loss. Its last record may have been on its way to the
// disk, and sectors arrive in any order. RocksDB stands a record that is cut short, but refuses one
// with a hole, and then the whole database: here is how to read it up to that record, and how to
// cut it.
#pragma once

#include <rocksdb/file_system.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "schema/result.h"

namespace daybook::journal {

/// Length of the leading whole records in a file of RocksDB's log format: blocks of 32 KiB, each
/// piece of a record with a masked CRC-32C, its length and its type.
std::size_t whole_records(std::string_view log);

struct TornManifest {
  std::string path;
  std::string bytes;
  std::size_t whole_bytes = 0;  // more than none, fewer than all
};

/// Whether the manifest of the database in `db` holds whole records and nothing else.
bool manifest_is_whole(rocksdb::FileSystem& fs, const std::string& db);

/// The manifest of the database in `db`, when it has whole records and then something else.
Result<std::optional<TornManifest>> find_torn_manifest(rocksdb::FileSystem& fs,
                                                       const std::string& db);

/// `base`, in which the manifest ends behind its whole records. For looking only.
std::shared_ptr<rocksdb::FileSystem> without_torn_end(
    const std::shared_ptr<rocksdb::FileSystem>& base, const TornManifest& torn);

/// Keeps a copy of the manifest beside it and cuts it, durably: a loss of power meanwhile leaves
/// one or the other. Returns the path of the copy.
Result<std::string> cut_manifest(rocksdb::FileSystem& fs, const TornManifest& torn);

}  // namespace daybook::journal
