#include "schema/event.h"

#include <fmt/format.h>

namespace daybook {

std::string encode_event(const EventDraft& draft, const Envelope& envelope) {
  DAYBOOK_CHECK(draft.payload.type != schema::Payload::NONE);
  flatbuffers::FlatBufferBuilder builder(1024);
  const auto payload = draft.payload.Pack(builder);
  const auto session = builder.CreateString(envelope.session.data(), envelope.session.size());
  flatbuffers::Offset<flatbuffers::String> request_id;
  if (!draft.request_id.empty()) request_id = builder.CreateString(draft.request_id);

  flatbuffers::Offset<schema::Provenance> provenance;
  if (draft.provenance) {
    provenance = schema::CreateProvenance(builder, draft.provenance.get());
  }

  const schema::Uuid id(envelope.id.hi, envelope.id.lo);
  const schema::Digest prev = envelope.prev_hash.fb();
  schema::EventBuilder event(builder);
  event.add_provenance(provenance);
  event.add_payload(payload);
  event.add_payload_type(draft.payload.type);
  event.add_prev_hash(&prev);
  event.add_causation(draft.causation);
  event.add_request_id(request_id);
  event.add_turn(draft.turn);
  event.add_epoch(envelope.epoch);
  event.add_recorded_at(envelope.recorded_at_ns);
  event.add_version(envelope.version);
  event.add_session(session);
  event.add_id(&id);
  event.add_schema_minor(kSchemaMinor);
  event.add_schema_major(kSchemaMajor);
  schema::FinishEventBuffer(builder, event.Finish());
  return {reinterpret_cast<const char*>(builder.GetBufferPointer()), builder.GetSize()};
}

Result<const schema::Event*> view_event(std::span<const std::byte> bytes) {
  const auto* data = reinterpret_cast<const std::uint8_t*>(bytes.data());
  flatbuffers::Verifier verifier(data, bytes.size());
  if (bytes.size() < 8 || !schema::VerifyEventBuffer(verifier)) {
    return fail(ErrorCode::corrupt, "not a valid event: the FlatBuffers verifier refused it");
  }
  const schema::Event* event = schema::GetEvent(data);
  if (event->schema_major() > kSchemaMajor) {
    return fail(ErrorCode::newer_schema,
                fmt::format("written by schema {}.{}, this build reads up to {}: use a newer build",
                            event->schema_major(), event->schema_minor(), kSchemaMajor));
  }
  if (event->schema_major() == 0 || event->session() == nullptr || event->id() == nullptr ||
      event->prev_hash() == nullptr || event->payload() == nullptr) {
    return fail(ErrorCode::corrupt, "not a valid event: a required field is missing");
  }
  return event;
}

std::string payload_name(const schema::Event& event) {
  const auto type = event.payload_type();
  if (type > schema::Payload::MAX) return fmt::format("Unknown({})", static_cast<int>(type));
  return schema::EnumNamePayload(type);
}

}  // namespace daybook
