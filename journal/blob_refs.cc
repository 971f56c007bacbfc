#include "journal/blob_refs.h"

namespace daybook::journal {
namespace {

class Walker {
 public:
  explicit Walker(const std::function<void(const BlobRef&)>& visit) : visit_(visit) {}

  void take(const schema::BlobRef* ref) {
    if (ref != nullptr) visit_(BlobRef::from(ref));
  }
  void take(const schema::Content* content) {
    if (content != nullptr) take(content->blob());
  }
  void take(const flatbuffers::Vector<const schema::Segment*>* segments) {
    if (segments == nullptr) return;
    for (const schema::Segment* segment : *segments) take(&segment->blob());
  }
  void take(const schema::Block* block) {
    if (block == nullptr) return;
    take(block->text());
    take(block->opaque());
  }
  void take(const schema::QuotedUser* user) {
    if (user != nullptr) take(user->text());
  }
  template <class Item>
  void take(const flatbuffers::Vector<flatbuffers::Offset<Item>>* items) {
    if (items == nullptr) return;
    for (const Item* item : *items) take(item);
  }

  void payload(const schema::TurnStarted& it) { take(it.prompt()); }
  void payload(const schema::TurnEnded& it) { take(it.answer()); }
  void payload(const schema::ModelRequested& it) {
    take(it.head());
    take(it.appended());
    take(it.system());
    take(it.tools());
  }
  void payload(const schema::ModelResponded& it) {
    take(it.blocks());
    take(it.raw());
    take(it.diagnostics());
  }
  void payload(const schema::ModelFailed& it) { take(it.raw()); }
  void payload(const schema::ToolDecided& it) { take(it.result()); }
  void payload(const schema::ToolDispatched& it) { take(it.planned_result()); }
  void payload(const schema::ToolCompleted& it) {
    take(it.result());
    take(it.full_output());
  }
  void payload(const schema::ToolReconciled& it) { take(it.result()); }
  void payload(const schema::CompactionCommitted& it) {
    take(it.summary());
    take(it.block());
    take(it.users());
  }
  void payload(const schema::CompactionAttempted& it) { take(it.summary()); }
  void payload(const schema::ReplayAttempted& it) { take(it.summary()); }

 private:
  const std::function<void(const BlobRef&)>& visit_;
};

}  // namespace

// tests/journal/blob_refs_test.cc fills every blob field the schema has and compares.
void visit_blob_refs(const schema::Event& event, const std::function<void(const BlobRef&)>& visit) {
  Walker walker(visit);
  if (event.provenance() != nullptr) walker.take(event.provenance()->raw());
  using schema::Payload;
  switch (event.payload_type()) {
    case Payload::TurnStarted:
      return walker.payload(*event.payload_as_TurnStarted());
    case Payload::TurnEnded:
      return walker.payload(*event.payload_as_TurnEnded());
    case Payload::ModelRequested:
      return walker.payload(*event.payload_as_ModelRequested());
    case Payload::ModelResponded:
      return walker.payload(*event.payload_as_ModelResponded());
    case Payload::ModelFailed:
      return walker.payload(*event.payload_as_ModelFailed());
    case Payload::ToolDecided:
      return walker.payload(*event.payload_as_ToolDecided());
    case Payload::ToolDispatched:
      return walker.payload(*event.payload_as_ToolDispatched());
    case Payload::ToolCompleted:
      return walker.payload(*event.payload_as_ToolCompleted());
    case Payload::ToolReconciled:
      return walker.payload(*event.payload_as_ToolReconciled());
    case Payload::CompactionCommitted:
      return walker.payload(*event.payload_as_CompactionCommitted());
    case Payload::CompactionAttempted:
      return walker.payload(*event.payload_as_CompactionAttempted());
    case Payload::ReplayAttempted:
      return walker.payload(*event.payload_as_ReplayAttempted());
    default:
      return;
  }
}

}  // namespace daybook::journal
