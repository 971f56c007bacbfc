#include "tests/support/journal_events.h"

#include "journal/blob_refs.h"

namespace daybook::tests {

journal::Stamper ticking_stamper(std::uint64_t seed) {
  auto count = std::make_shared<std::uint64_t>(0);
  return [count, seed] {
    ++*count;
    return journal::Stamp{1'700'000'000'000'000'000 + static_cast<std::int64_t>(*count) * 1000,
                          *count, seed};
  };
}

SessionId session_id(std::string_view name) {
  auto id = SessionId::parse(name);
  DAYBOOK_CHECK(id.has_value());
  return std::move(*id);
}

journal::SessionWriter pen_for(const SessionId& session, journal::Head head) {
  return {session, head, ticking_stamper(std::hash<std::string>()(session.str()))};
}

journal::Append acquire(journal::SessionWriter& pen, const std::string& owner) {
  schema::OwnerAcquiredT acquired;
  acquired.owner = owner;
  journal::Batch batch;
  batch.add(draft(std::move(acquired)));
  return pen.acquire(std::move(batch));
}

journal::Append notice(journal::SessionWriter& pen, const std::string& text) {
  schema::NoticeAddedT added;
  added.text = text;
  journal::Batch batch;
  batch.add(draft(std::move(added)));
  return pen.next(std::move(batch));
}

journal::Append notice_with_blob(journal::SessionWriter& pen, const std::string& bytes) {
  journal::Batch batch;
  schema::TurnEndedT ended;
  ended.turn = 1;
  ended.answer = std::make_unique<schema::ContentT>();
  ended.answer->blob = std::make_unique<schema::BlobRef>(batch.blob(bytes).fb());
  batch.add(draft(std::move(ended)));
  return pen.next(std::move(batch));
}

Result<std::vector<std::string>> event_bytes(journal::Journal& journal, const SessionId& session) {
  std::vector<std::string> events;
  DAYBOOK_TRY(journal.read(session, 1, journal::ReadMode::strict, [&](const auto& entry) {
    events.emplace_back(as_text(entry.bytes));
    return true;
  }));
  return events;
}

Result<std::vector<std::string>> everything(journal::Journal& journal) {
  std::vector<std::string> items;
  auto sessions = journal.sessions("");
  if (!sessions) return fail(std::move(sessions.error()));
  std::vector<BlobRef> refs;
  for (const journal::SessionInfo& info : *sessions) {
    items.push_back(info.session.str() + " " + std::to_string(info.head.version) + " " +
                    std::to_string(info.head.epoch) + " " + info.head.hash.hex());
    DAYBOOK_TRY(journal.read(info.session, 1, journal::ReadMode::strict, [&](const auto& entry) {
      items.emplace_back(as_text(entry.bytes));
      journal::visit_blob_refs(*entry.event, [&](const BlobRef& ref) { refs.push_back(ref); });
      return true;
    }));
  }
  for (const BlobRef& ref : refs) {
    auto bytes = journal.blob(ref);
    if (!bytes) return fail(std::move(bytes.error()));
    items.push_back(std::move(*bytes));
  }
  DAYBOOK_TRY(journal.tail(1, [&](const auto& entry) {
    items.push_back(std::to_string(entry.position) + " " + std::to_string(entry.version));
    items.emplace_back(as_text(entry.bytes));
    return true;
  }));
  return items;
}

}  // namespace daybook::tests
