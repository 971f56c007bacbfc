#include "schema/event.h"

#include <catch2/catch.hpp>

namespace daybook::tests {
namespace {

std::string encoded(const std::string& text, const std::string& request_id = "") {
  schema::NoticeAddedT added;
  added.text = text;
  EventDraft made = draft(std::move(added), 3, 2);
  made.request_id = request_id;
  return encode_event(made, {.id = {1, 2},
                             .session = "demo",
                             .version = 7,
                             .recorded_at_ns = 1'700'000'000'000'000'001,
                             .epoch = 4,
                             .prev_hash = {5, 6}});
}

}  // namespace

TEST_CASE("an event keeps its envelope and payload") {
  const std::string bytes = encoded("hello", "r1");
  const auto event = view_event(as_bytes(bytes));
  REQUIRE(event.has_value());
  CHECK((*event)->schema_major() == 1);
  CHECK((*event)->id()->lo() == 2);
  CHECK(text_of((*event)->session()) == "demo");
  CHECK((*event)->version() == 7);
  CHECK((*event)->recorded_at() == 1'700'000'000'000'000'001);
  CHECK((*event)->epoch() == 4);
  CHECK((*event)->turn() == 3);
  CHECK((*event)->causation() == 2);
  CHECK(text_of((*event)->request_id()) == "r1");
  CHECK(Digest::from((*event)->prev_hash()) == Digest{5, 6});
  CHECK(payload_name(**event) == "NoticeAdded");
  CHECK(text_of((*event)->payload_as_NoticeAdded()->text()) == "hello");
}

TEST_CASE("bytes that are not an event are refused") {
  const std::string good = encoded("hello");
  CHECK(view_event({}).error().code == ErrorCode::corrupt);
  // Up to three bytes at the end are padding.
  for (std::size_t size = 0; size + 3 < good.size(); ++size) {
    CHECK_FALSE(view_event(as_bytes(good.substr(0, size))).has_value());
  }
  std::string other = good;
  other[4] = 'X';  // the file identifier
  CHECK(view_event(as_bytes(other)).error().code == ErrorCode::corrupt);
}

TEST_CASE("a payload of a kind from the future is kept, and named as unknown") {
  flatbuffers::FlatBufferBuilder builder;
  const auto text = builder.CreateString("what a newer build said");
  const auto payload = schema::CreateNoticeAdded(builder, text);
  const auto session = builder.CreateString("demo");
  const schema::Uuid id(1, 2);
  const schema::Digest prev(0, 0);
  schema::EventBuilder event(builder);
  event.add_schema_major(1);
  event.add_schema_minor(9);
  event.add_id(&id);
  event.add_session(session);
  event.add_version(1);
  event.add_prev_hash(&prev);
  event.add_payload_type(static_cast<schema::Payload>(200));
  event.add_payload(payload.Union());
  schema::FinishEventBuffer(builder, event.Finish());
  const std::string bytes(reinterpret_cast<const char*>(builder.GetBufferPointer()),
                          builder.GetSize());
  const auto viewed = view_event(as_bytes(bytes));
  REQUIRE(viewed.has_value());
  CHECK(payload_name(**viewed) == "Unknown(200)");
}

TEST_CASE("a newer schema major is refused by name") {
  flatbuffers::FlatBufferBuilder builder;
  const auto payload = schema::CreateNoticeAdded(builder);
  const auto session = builder.CreateString("demo");
  const schema::Uuid id(1, 2);
  const schema::Digest prev(0, 0);
  schema::EventBuilder event(builder);
  event.add_schema_major(kSchemaMajor + 1);
  event.add_id(&id);
  event.add_session(session);
  event.add_version(1);
  event.add_prev_hash(&prev);
  event.add_payload_type(schema::Payload::NoticeAdded);
  event.add_payload(payload.Union());
  schema::FinishEventBuffer(builder, event.Finish());
  const auto viewed =
      view_event(std::as_bytes(std::span(builder.GetBufferPointer(), builder.GetSize())));
  REQUIRE_FALSE(viewed.has_value());
  CHECK(viewed.error().code == ErrorCode::newer_schema);
}

}  // namespace daybook::tests
