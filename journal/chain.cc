#include "journal/chain.h"

#include <fmt/format.h>

#include "journal/keys.h"

namespace daybook::journal {

Result<const schema::Event*> Chain::check(std::span<const std::byte> bytes) {
  auto event = view_event(bytes);
  if (!event) return event;
  const std::string_view session = text_of((*event)->session());
  if (session != session_->str()) {
    return fail(ErrorCode::corrupt, fmt::format("the event says it belongs to '{}'", session));
  }
  if ((*event)->version() != version_ + 1) {
    return fail(ErrorCode::corrupt,
                fmt::format("the event says it is version {}", (*event)->version()));
  }
  if (hash_ && Digest::from((*event)->prev_hash()) != *hash_) {
    return fail(ErrorCode::corrupt,
                "the event does not follow the one before it: their hashes "
                "do not link");
  }
  ++version_;
  hash_ = hash_of_event(bytes);
  return event;
}

Result<std::span<const std::byte>> EventBuffer::open(std::string_view sealed) {
  const auto body = unseal(sealed);
  if (!body) return fail(ErrorCode::corrupt, "the event's checksum does not agree");
  bytes_.assign(*body);
  return as_bytes(bytes_);
}

std::string place_of(std::string_view session, std::uint64_t version) {
  return fmt::format("session {}, version {}", session, version);
}

Error at_place(Error error, std::string_view session, std::uint64_t version) {
  error.message = fmt::format("{}: {}", place_of(session, version), error.message);
  return error;
}

}  // namespace daybook::journal
