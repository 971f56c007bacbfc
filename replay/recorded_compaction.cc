#include "replay/recorded_compaction.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "engine/load.h"
#include "engine/state_compaction.h"

namespace daybook::replay {
namespace {

/// Messages after a compaction that tell what was needed; more say little about the summary.
constexpr std::size_t kContinuationItems = 200;
constexpr std::string_view kOwn = "daybook";

/// Finds the compactions of one session along its events.
class Finder {
 public:
  explicit Finder(const SessionId& session) : session_(session) {}

  void take(const journal::Entry& entry);
  std::vector<RecordedCompaction> found() { return std::move(found_); }

 private:
  void started(const journal::Entry& entry, const schema::CompactionStarted& e);
  void committed(const journal::Entry& entry, const schema::CompactionCommitted& e);
  void end(const journal::Entry& entry, CompactionEnd how);
  std::uint64_t pieces(std::uint64_t first, std::uint64_t last) const;

  SessionId session_;
  std::string source_{kOwn};
  std::uint64_t span_first_ = 1;         // of the next imported compaction
  std::vector<std::uint64_t> messages_;  // versions of the events that bring any
  bool open_ = false;
  std::vector<RecordedCompaction> found_;
};

/// Events of messages from `first` to `last`.
std::uint64_t Finder::pieces(std::uint64_t first, std::uint64_t last) const {
  const auto from = std::ranges::lower_bound(messages_, first);
  const auto to = std::ranges::upper_bound(messages_, last);
  return from < to ? static_cast<std::uint64_t>(to - from) : 0;
}

void Finder::started(const journal::Entry& entry, const schema::CompactionStarted& e) {
  RecordedCompaction made(session_);
  made.version = entry.version;
  made.number = e.number();
  made.source = source_;
  made.trigger = text_of(e.trigger());
  made.at = entry.event->recorded_at();
  made.first = e.first();
  made.last = e.last();
  made.pieces = pieces(made.first, made.last);
  made.trigger_tokens = e.trigger_tokens();
  made.tokens_before = e.tokens();
  found_.push_back(std::move(made));
  open_ = true;
}

void Finder::end(const journal::Entry& entry, CompactionEnd how) {
  if (!open_) return;
  found_.back().end = how;
  found_.back().ended_at = entry.version;
  open_ = false;
}

void Finder::committed(const journal::Entry& entry, const schema::CompactionCommitted& e) {
  if (e.number() != 0) {
    if (!open_) return;
    found_.back().tokens_after = e.tokens_after().value_or(0);
    found_.back().reason = text_of(e.reason());
    return end(entry, e.summary() == nullptr ? CompactionEnd::trimmed : CompactionEnd::summary);
  }
  const auto* provenance = entry.event->provenance();
  RecordedCompaction made(session_);
  made.version = entry.version;
  made.number = static_cast<std::uint32_t>(found_.size() + 1);
  made.source = source_;
  made.trigger = text_of(e.trigger());
  made.at = provenance == nullptr ? 0 : provenance->at();
  made.first = span_first_;
  made.last = entry.version - 1;
  made.tokens_before = e.tokens_before().value_or(0);
  made.tokens_after = e.tokens_after().value_or(0);
  made.pieces = pieces(made.first, made.last);
  made.end = e.summary() == nullptr ? CompactionEnd::unknown : CompactionEnd::summary;
  made.ended_at = entry.version;
  made.missing = "the request's exact bytes, its instruction and the system prompt";
  if (e.summary() == nullptr) made.missing += "; the summary that was used";
  if (made.pieces == 0) made.missing += "; everything that it replaced";
  found_.push_back(std::move(made));
  span_first_ = entry.version + 1;
}

void Finder::take(const journal::Entry& entry) {
  const schema::Event& event = *entry.event;
  const bool message = event.payload_as_TurnStarted() != nullptr ||
                       event.payload_as_ModelResponded() != nullptr ||
                       event.payload_as_ToolCompleted() != nullptr;
  if (message) messages_.push_back(entry.version);
  if (const auto* imported = event.payload_as_SessionImported()) {
    source_ = text_of(imported->kind());
  } else if (const auto* e = event.payload_as_CompactionStarted()) {
    started(entry, *e);
  } else if (const auto* committed_event = event.payload_as_CompactionCommitted()) {
    committed(entry, *committed_event);
  } else if (const auto* asked = event.payload_as_ModelRequested()) {
    if (open_ && text_of(asked->lineage()) == engine::kSummaryLineage) ++found_.back().calls;
  } else if (const auto* cancelled = event.payload_as_CompactionCancelled()) {
    if (open_) found_.back().reason = text_of(cancelled->reason());
    end(entry, CompactionEnd::cancelled);
  } else if (const auto* failed = event.payload_as_CompactionFailed()) {
    if (open_) found_.back().reason = text_of(failed->reason());
    end(entry, CompactionEnd::failed);
  }
}

Result<std::string> summary_at(journal::Journal& journal, const RecordedCompaction& at) {
  std::string summary;
  Result<void> status;
  auto read = journal.read(at.session, at.ended_at, journal::ReadMode::strict,
                           [&](const journal::Entry& entry) {
                             const auto* e = entry.event->payload_as_CompactionCommitted();
                             if (e == nullptr) return false;
                             auto bytes = journal::content_bytes(journal, e->summary());
                             if (bytes) {
                               summary = std::move(*bytes);
                             } else {
                               status = fail(std::move(bytes.error()));
                             }
                             return false;
                           });
  if (!read) return fail(std::move(read.error()));
  if (!status) return fail(std::move(status.error()));
  return summary;
}

bool has_summary(const RecordedCompaction& each) {
  return each.end == CompactionEnd::summary;
}

/// The model that the session used last before the version.
Result<std::string> model_before(journal::Journal& journal, const SessionId& session,
                                 std::uint64_t version) {
  std::string model;
  auto read = journal.read(session, 1, journal::ReadMode::strict, [&](const auto& entry) {
    if (entry.version >= version) return false;
    const auto* e = entry.event->payload_as_ModelRequested();
    if (e != nullptr) model = fmt::format("{}:{}", text_of(e->provider()), text_of(e->model()));
    return true;
  });
  if (!read) return fail(std::move(read.error()));
  return model;
}

Result<std::vector<engine::PastItem>> own_prior(journal::Journal& journal, const SessionId& session,
                                                std::uint64_t version) {
  auto state = engine::load_state_at(journal, session, version);
  if (!state) return fail(std::move(state.error()));
  return engine::block_items(journal, *state);
}

/// Another program's view after a compaction: its summary, and the first thing the user asked.
Result<std::vector<engine::PastItem>> imported_prior(journal::Journal& journal,
                                                     std::span<const RecordedCompaction> before) {
  std::vector<engine::PastItem> items;
  if (before.empty()) return items;
  const auto& first = before.front();
  auto beginning = engine::read_span(journal, first.session, first.first, first.last);
  if (!beginning) return beginning;
  for (auto& item : *beginning) {
    if (item.kind != engine::SpanKind::kUser) continue;
    items.push_back(std::move(item));
    break;
  }
  if (!has_summary(before.back())) return items;
  auto summary = summary_at(journal, before.back());
  if (!summary) return fail(std::move(summary.error()));
  items.push_back({engine::SpanKind::kPriorSummary, std::move(*summary), "", true, 0});
  return items;
}

}  // namespace

std::string_view name_of(CompactionEnd end) {
  switch (end) {
    case CompactionEnd::summary:
      return "summary";
    case CompactionEnd::trimmed:
      return "trimmed";
    case CompactionEnd::unknown:
      return "unknown";
    case CompactionEnd::cancelled:
      return "cancelled";
    case CompactionEnd::failed:
      return "failed";
    case CompactionEnd::open:
      return "open";
  }
  return "";
}

std::string RecordedCompaction::id() const {
  return fmt::format("{}@{}", session.str(), version);
}

Result<std::vector<RecordedCompaction>> recorded_compactions(journal::Journal& journal,
                                                             const SessionId& session) {
  Finder finder(session);
  auto read = journal.read(session, 1, journal::ReadMode::strict, [&](const auto& entry) {
    finder.take(entry);
    return true;
  });
  if (!read) return fail(std::move(read.error()));
  return finder.found();
}

Result<CompactionCase> load_case(journal::Journal& journal, std::string_view id) {
  const auto at = id.rfind('@');
  std::uint64_t version = 0;
  const std::string_view digits = at == std::string_view::npos ? "" : id.substr(at + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), version);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size()) {
    return fail(ErrorCode::invalid_argument,
                fmt::format("'{}' is not a recorded compaction: write SESSION@VERSION, as 'daybook "
                            "replay list' shows them",
                            id));
  }
  auto session = SessionId::parse(id.substr(0, at));
  if (!session) return fail(std::move(session.error()));
  return load_case(journal, *session, version);
}

Result<CompactionCase> load_case(journal::Journal& journal, const SessionId& session,
                                 std::uint64_t version) {
  const auto head = journal.head(session);
  if (!head) return fail(head.error());
  if (head->version == 0) {
    return fail(ErrorCode::not_found,
                fmt::format("session {}, whose compaction at version {} is wanted, is not in this "
                            "journal; bring it here with 'daybook import', from its export or from "
                            "the log it came from",
                            session.str(), version));
  }
  auto all = recorded_compactions(journal, session);
  if (!all) return fail(std::move(all.error()));
  const auto found = std::find_if(all->begin(), all->end(),
                                  [&](const auto& each) { return each.version == version; });
  if (found == all->end()) {
    return fail(ErrorCode::not_found,
                fmt::format("session {} has no compaction at version {}; 'daybook replay list' "
                            "shows those it has",
                            session.str(), version));
  }
  CompactionCase made(*found);
  auto items = found->source == kOwn ? own_prior(journal, session, version)
                                     : imported_prior(journal, {all->begin(), found});
  if (!items) return fail(std::move(items.error()));
  made.items = std::move(*items);
  made.span_at = made.items.size();
  auto span = engine::read_span(journal, session, found->first, found->last);
  if (!span) return fail(std::move(span.error()));
  made.items.insert(made.items.end(), std::make_move_iterator(span->begin()),
                    std::make_move_iterator(span->end()));
  if (has_summary(*found)) {
    auto summary = summary_at(journal, *found);
    if (!summary) return fail(std::move(summary.error()));
    made.summary = std::move(*summary);
  }
  const auto next = std::next(found);
  const std::uint64_t last = next == all->end() ? UINT64_MAX : next->version - 1;
  auto after = engine::read_span(journal, session, found->ended_at + 1, last);
  if (!after) return fail(std::move(after.error()));
  if (after->size() > kContinuationItems) after->resize(kContinuationItems);
  made.continuation = std::move(*after);
  auto model = model_before(journal, session, version);
  if (!model) return fail(std::move(model.error()));
  made.model = std::move(*model);
  return made;
}

}  // namespace daybook::replay
