#include "journal/session_writer.h"

#include "journal/blob_refs.h"

namespace daybook::journal {

std::unique_ptr<schema::ContentT> Batch::content(std::string_view bytes) {
  auto content = std::make_unique<schema::ContentT>();
  if (bytes.size() <= kInlineBytes) {
    content->bytes.assign(bytes.begin(), bytes.end());
  } else {
    content->blob = std::make_unique<schema::BlobRef>(blob(std::string(bytes)).fb());
  }
  return content;
}

void Batch::forget(const EventDraft& draft) {
  if (blobs_.empty()) return;
  const std::string bytes = encode_event(draft, {});
  const auto event = view_event(as_bytes(bytes));
  DAYBOOK_CHECK(event.has_value());
  visit_blob_refs(**event, [&](const BlobRef& ref) {
    std::erase_if(blobs_, [&](const Blob& blob) { return blob.ref == ref; });
  });
}

BlobRef Batch::blob(std::string bytes) {
  const BlobRef ref = BlobRef::of(bytes);
  blobs_.push_back({ref, std::move(bytes)});
  return ref;
}

SessionWriter::SessionWriter(SessionId session, Head head, Stamper stamper)
    : session_(std::move(session)), head_(head), stamper_(std::move(stamper)) {}

Append SessionWriter::acquire(Batch batch, std::optional<RequestKey> request) {
  DAYBOOK_CHECK(!batch.empty() &&
                batch.drafts_.front().payload.type == schema::Payload::OwnerAcquired);
  ++head_.epoch;
  return make(std::move(batch), std::move(request), true);
}

Append SessionWriter::next(Batch batch, std::optional<RequestKey> request) {
  return make(std::move(batch), std::move(request), false);
}

Append SessionWriter::make(Batch batch, std::optional<RequestKey> request, bool acquire) {
  DAYBOOK_CHECK(!batch.empty());
  Append append{.session = session_,
                .expected_version = head_.version,
                .epoch = head_.epoch,
                .acquire = acquire,
                .events = {},
                .blobs = std::move(batch.blobs_),
                .request = std::move(request)};
  append.events.reserve(batch.drafts_.size());
  for (const EventDraft& draft : batch.drafts_) {
    const Stamp stamp = stamper_();
    const Envelope envelope{
        .id = draft.id.value_or(Uuid::v7(stamp.utc_ns, stamp.random_hi, stamp.random_lo)),
        .session = session_.str(),
        .version = head_.version + 1,
        .recorded_at_ns = stamp.utc_ns,
        .epoch = head_.epoch,
        .prev_hash = head_.hash};
    append.events.push_back(encode_event(draft, envelope));
    ++head_.version;
    head_.hash = hash_of_event(as_bytes(append.events.back()));
  }
  return append;
}

}  // namespace daybook::journal
