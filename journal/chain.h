// What one stored event must satisfy, checked the same way by readers, `verify` and the writer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "journal/journal.h"

namespace daybook::journal {

/// Walks along one session. Not thread-safe.
class Chain {
 public:
  /// Continues after `version`, whose event has the hash `hash`; without a hash the first link is
  /// not checked.
  Chain(const SessionId& session, std::uint64_t version, std::optional<Digest> hash)
      : session_(&session), version_(version), hash_(hash) {}

  /// Checks the event that must be next, as encoded, and moves on to it. Errors: `corrupt` or
  /// `newer_schema`, without saying where.
  Result<const schema::Event*> check(std::span<const std::byte> bytes);

  /// Moves on past damage: the link to the event after `version` is not checked.
  void skip_to(std::uint64_t version) {
    version_ = version;
    hash_.reset();
  }

  std::uint64_t version() const { return version_; }
  std::optional<Digest> hash() const { return hash_; }

 private:
  const SessionId* session_;
  std::uint64_t version_;
  std::optional<Digest> hash_;
};

/// A stored value's bytes, moved to aligned memory: what FlatBuffers needs and RocksDB does not
/// give. Valid until the next call.
class EventBuffer {
 public:
  /// `corrupt` when the checksum does not agree.
  Result<std::span<const std::byte>> open(std::string_view sealed);

 private:
  std::string bytes_;
};

/// "session demo, version 7".
std::string place_of(std::string_view session, std::uint64_t version);
/// The error with its place in front.
Error at_place(Error error, std::string_view session, std::uint64_t version);

}  // namespace daybook::journal
