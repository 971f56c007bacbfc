// Keys and values of the journal's RocksDB, byte by byte. docs/format.md is the prose of this file.
//
// Every value outside the blobs ends with the XXH3-64 of what precedes it (`seal`), so that damage
// shows even where RocksDB's own checksums do not look. Integers are big-endian: keys then sort by
// number.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "journal/journal.h"

namespace daybook::journal {

/// First byte of a key in the default column family; never reuse one.
enum class KeyKind : char {
  checkpoint = 'c',  // session 0x00 projection 0x00 part -> a part of a checkpoint
  event = 'e',       // session 0x00 version -> event bytes
  order = 'o',       // position of a commit's first event -> the runs of that commit
  projection = 'p',  // session 0x00 projection -> checkpoint in one piece, as once written
  request = 'r',     // length of scope (2), scope, id -> content digest, version, session
};

std::string event_key(const SessionId& session, std::uint64_t version);
/// Start of all event keys of a session.
std::string event_prefix(const SessionId& session);
std::string order_key(std::uint64_t position);
std::string projection_key(const SessionId& session, std::string_view projection);
/// Start of the keys of a checkpoint's parts. No 0x00 in `projection`.
std::string checkpoint_prefix(const SessionId& session, std::string_view projection);
std::string checkpoint_key(const SessionId& session, std::string_view projection,
                           std::uint32_t part);
/// The scope must be shorter than 64 KiB.
std::string request_key(std::string_view scope, std::string_view id);
std::string blob_key(const Digest& digest);

/// Smallest key after every key that starts with `prefix`.
std::string after_prefix(std::string prefix);

struct EventKey {
  std::string_view session;
  std::uint64_t version = 0;
};
std::optional<EventKey> parse_event_key(std::string_view key);
std::optional<std::uint64_t> parse_order_key(std::string_view key);
std::optional<Digest> parse_blob_key(std::string_view key);
struct CheckpointKey {
  std::string_view session;
  std::string_view projection;
  std::uint32_t part = 0;
};
std::optional<CheckpointKey> parse_checkpoint_key(std::string_view key);
/// Session and projection; the session ends at the 0x00.
std::optional<std::pair<std::string_view, std::string_view>> parse_projection_key(
    std::string_view key);

/// Appends the checksum of everything in `value`.
void seal(std::string& value);
/// The value without its checksum, or nothing when they do not agree.
std::optional<std::string_view> unseal(std::string_view value);

/// Consecutive events of one session within a commit.
struct OrderRun {
  std::string session;
  std::uint64_t first_version = 0;
  std::uint32_t count = 0;
};

std::string encode_request(const RequestRecord& record);
std::optional<RequestRecord> decode_request(std::string_view value);
/// Checkpoint in one piece.
std::optional<Checkpoint> decode_checkpoint(std::string_view value);
/// Start of a checkpoint's first part, to be followed by some of its state.
std::string encode_checkpoint_start(const Checkpoint& checkpoint);
/// Takes that off the front. `size` becomes the size of the whole state, of which there is none
/// yet.
std::optional<Checkpoint> take_checkpoint_start(std::string_view& part, std::uint64_t& size);
/// Adds a run to an order value that is not sealed yet.
void append_order_run(std::string& value, std::string_view session, std::uint64_t first_version,
                      std::uint32_t count);
std::optional<std::vector<OrderRun>> decode_order(std::string_view value);

}  // namespace daybook::journal
