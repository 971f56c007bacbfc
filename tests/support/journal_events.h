// Small sessions for tests of the journal: a writer with a clock that ticks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "journal/journal.h"
#include "journal/session_writer.h"

namespace daybook::tests {

/// One microsecond a stamp, from a fixed start; `seed` keeps the ids of two writers apart.
journal::Stamper ticking_stamper(std::uint64_t seed = 1);

SessionId session_id(std::string_view name);

/// A pen that has acquired nothing yet.
journal::SessionWriter pen_for(const SessionId& session, journal::Head head = {});

/// The append that takes the session.
journal::Append acquire(journal::SessionWriter& pen, const std::string& owner = "test");

/// An append of one NoticeAdded.
journal::Append notice(journal::SessionWriter& pen, const std::string& text);

/// An append whose one event names a blob of these bytes.
journal::Append notice_with_blob(journal::SessionWriter& pen, const std::string& bytes);

/// Every event of a session as bytes, read strictly.
Result<std::vector<std::string>> event_bytes(journal::Journal& journal, const SessionId& session);

/// Everything a journal holds that a reader can ask for, as one string per item: events, blobs
/// they name, order, requests known by the test. Fails on any damage.
Result<std::vector<std::string>> everything(journal::Journal& journal);

}  // namespace daybook::tests
