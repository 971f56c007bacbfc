// Reading and writing one event.
//
// Events are read through a verified flat view and never unpacked to be written again: an old
// reader would lose what it does not know. The object API (schema::...T) serves writing only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "schema/event_generated.h"
#include "schema/ids.h"
#include "schema/result.h"

namespace daybook {

inline constexpr std::uint16_t kSchemaMajor = 1;
inline constexpr std::uint16_t kSchemaMinor = 3;

/// Contents up to this size stay in the event; longer ones become blobs.
inline constexpr std::size_t kInlineBytes = 1024;

/// What the writer knows of an event before the journal's envelope is put around it.
struct EventDraft {
  schema::PayloadUnion payload;
  std::uint32_t turn = 0;
  std::string request_id;
  std::uint64_t causation = 0;
  std::optional<Uuid> id;  // imported events: from what the log says, so that it comes out the same
  std::shared_ptr<const schema::ProvenanceT> provenance;
};

template <class PayloadT>
EventDraft draft(PayloadT payload, std::uint32_t turn = 0, std::uint64_t causation = 0) {
  EventDraft made;
  made.payload.Set(std::move(payload));
  made.turn = turn;
  made.causation = causation;
  return made;
}

struct Envelope {
  Uuid id;
  std::string_view session;
  std::uint64_t version = 0;
  std::int64_t recorded_at_ns = 0;  // UTC
  std::uint64_t epoch = 0;
  Digest prev_hash;
};

std::string encode_event(const EventDraft& draft, const Envelope& envelope);

/// Verified view of an event's bytes, which must outlive it. Refuses a newer schema major.
/// A payload of a kind this build does not know verifies: payload_type() is then beyond MAX.
Result<const schema::Event*> view_event(std::span<const std::byte> bytes);

/// Name of the payload's kind; "Unknown(N)" for one this build does not know.
std::string payload_name(const schema::Event& event);

/// Hash that the next event's prev_hash must equal.
inline Digest hash_of_event(std::span<const std::byte> bytes) {
  return Digest::of(bytes);
}

/// Content held inline, or the blob it stands for.
inline std::string_view inline_bytes(const schema::Content& content) {
  return content.bytes() == nullptr
             ? std::string_view()
             : std::string_view(reinterpret_cast<const char*>(content.bytes()->data()),
                                content.bytes()->size());
}

inline std::string_view text_of(const flatbuffers::String* text) {
  return text == nullptr ? std::string_view() : std::string_view(text->c_str(), text->size());
}

}  // namespace daybook
