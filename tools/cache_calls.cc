#include "tools/cache_calls.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "replay/call.h"
#include "replay/copy_rule.h"
#include "tools/log_calls.h"
#include "tools/log_losses.h"

namespace daybook::tools {
namespace {

/// Calls read ahead of a session at a time.
constexpr std::size_t kBatch = 64;

/// Which of several copies of a call counts (replay/copy_rule.h), and which sessions hold the
/// others: a log that was imported while it grew, or forks and subagents that repeat calls of their
/// parent, leave more than one.
class Copies {
 public:
  Result<void> read(journal::Journal& journal, const SessionId& session) {
    replay::StartRange starts;
    std::shared_ptr<const replay::CallSession> told_by;
    replay::CallFold fold(session.str(), [&](const replay::Call& call) {
      starts.add(call.started_at);
      told_by = call.session;
      if (call.again) told_again_.insert(session.str());
      take({call.session, call.version, replay::copy_rank(call), call.lineage},
           {call.id, call.pass});
      for (const Uuid& id : call.goes_on_from) {
        holders_.emplace_back(Key{id, 0}, Holder{session.str(), call.lineage});
      }
    });
    DAYBOOK_TRY(journal.read(session, 1, journal::ReadMode::lenient, [&](const auto& entry) {
      if (entry.event != nullptr) fold.take(*entry.event);
      return true;
    }));
    if (told_by) originals_.note(*told_by, starts);
    return {};
  }

  /// Once every session is read.
  void settle() {
    for (auto& [key, copy] : ties_) {
      Copy& kept = kept_.at(key);
      const bool better =
          copy.rank == kept.rank && originals_.is_before(*copy.session, *kept.session);
      if (better) kept = std::move(copy);
    }
    ties_.clear();
    std::ranges::sort(holders_);
    holders_.erase(std::unique(holders_.begin(), holders_.end()), holders_.end());
  }

  /// Calls of sessions that were not read have no copies.
  bool counts(const replay::Call& call, const SessionId& session) const {
    const auto found = kept_.find({call.id, call.pass});
    if (found == kept_.end()) return true;
    return found->second.version == call.version && found->second.session->stored == session.str();
  }

  /// The copies of a call that counts, as it was sent.
  std::vector<replay::CacheCall> copies_of(const replay::Call& call,
                                           const replay::CacheCall& original) const {
    std::vector<replay::CacheCall> copies;
    const Key key{call.id, call.pass};
    for (auto at = std::ranges::lower_bound(holders_, key, {}, &Held::first);
         at != holders_.end() && at->first == key; ++at) {
      const auto& [session, lineage] = at->second;
      if (session == original.session) continue;
      auto& copy = copies.emplace_back(original);
      copy.original = std::make_shared<const replay::OriginalCall>(
          replay::OriginalCall{original.session, original.lineage, original.version});
      copy.session = session;
      copy.lineage = lineage;
    }
    return copies;
  }

  /// Whether the session tells a call twice, so that the one that counts may stand behind later
  /// calls.
  bool told_again(const SessionId& session) const { return told_again_.contains(session.str()); }

 private:
  using Key = std::pair<Uuid, std::uint32_t>;
  using Holder = std::pair<std::string, std::string>;  // session and lineage
  using Held = std::pair<Key, Holder>;
  struct Copy {
    std::shared_ptr<const replay::CallSession> session;
    std::uint64_t version = 0;
    replay::CopyRank rank;
    std::string lineage;
  };

  void take(Copy copy, const Key& key) {
    const auto [found, fresh] = kept_.try_emplace(key, copy);
    if (fresh) return;
    Copy& kept = found->second;
    if (copy.session->stored != kept.session->stored) {
      for (const Copy* each : {&copy, &kept}) {
        holders_.emplace_back(key, Holder{each->session->stored, each->lineage});
      }
    }
    if (copy.rank.is_over(kept.rank)) {
      kept = std::move(copy);
    } else if (copy.rank == kept.rank && copy.session->stored != kept.session->stored) {
      ties_.emplace_back(key, std::move(copy));
    }
  }

  std::map<Key, Copy> kept_;
  std::vector<std::pair<Key, Copy>> ties_;  // of equal rank in other sessions
  /// Of calls that several sessions hold, or that one goes on from: all of them.
  std::vector<Held> holders_;
  replay::Originals originals_;
  std::set<std::string> told_again_;  // sessions
};

/// Where a call stands among those of all sessions. One that has no time stands behind the call
/// before it in its session, be that a copy.
struct Moment {
  std::int64_t at = 0;
  std::uint64_t behind = 0;  // calls without a time since then
  auto operator<=>(const Moment&) const = default;
};

struct Placed {
  Moment moment;
  replay::CacheCall call;
};

/// One session's calls, read piece by piece.
class CallStream {
 public:
  CallStream(journal::Journal& journal, SessionId session, const Copies& copies)
      : journal_(journal),
        session_(std::move(session)),
        told_again_(copies.told_again(session_)),
        reader_(segment_bytes(journal)),
        fold_(session_.str(), [this, &copies](replay::Call call) {
          moment_ = call.started_at == 0 ? Moment{moment_.at, moment_.behind + 1}
                                         : Moment{std::max(moment_.at, call.started_at), 0};
          if (!copies.counts(call, session_)) return;
          auto made = reader_.read(call);
          // The session as the journal knows it: what --session and --why name.
          if (!call.session->parent.empty()) made.parent = call.session->parent;
          made.session = session_.str();
          auto others = copies.copies_of(call, made);
          ready_.push_back({moment_, std::move(made)});
          for (auto& copy : others) ready_.push_back({moment_, std::move(copy)});
        }) {}

  /// The next call; nothing at the end.
  Result<std::optional<Placed>> next() {
    while (ready_.empty() && !ended_) DAYBOOK_TRY(fill());
    if (ready_.empty()) return std::nullopt;
    Placed placed = std::move(ready_.front());
    ready_.pop_front();
    return placed;
  }

  std::uint64_t holes() const { return holes_; }

 private:
  Result<void> fill() {
    ended_ = true;
    DAYBOOK_TRY(read());
    if (!told_again_) return {};
    // In the order of their times; one without a time stays behind the call before it.
    std::int64_t at = 0;
    for (Placed& placed : ready_) {
      if (placed.call.start != 0) at = placed.call.start;
      placed.moment.at = at;
    }
    std::ranges::stable_sort(ready_, {}, &Placed::moment);
    at = 0;
    for (Placed& placed : ready_) at = placed.moment.at = std::max(at, placed.moment.at);
    return {};
  }

  Result<void> read() {
    return journal_.read(session_, from_, journal::ReadMode::lenient, [&](const auto& entry) {
      from_ = entry.version + 1;
      if (entry.event == nullptr) {
        ++holes_;
      } else {
        fold_.take(*entry.event);
      }
      ended_ = told_again_ || ready_.size() < kBatch;
      return ended_;
    });
  }

  journal::Journal& journal_;
  SessionId session_;
  const bool told_again_;  // then all calls are read before the first is given
  replay::CallReader reader_;
  std::deque<Placed> ready_;
  Moment moment_;
  replay::CallFold fold_;
  std::uint64_t from_ = 1;
  std::uint64_t holes_ = 0;
  bool ended_ = false;
};

/// A session and when its next call starts; before it is opened, when the session does.
struct Source {
  Moment moment;
  std::size_t order = 0;
  SessionId session;
  std::unique_ptr<CallStream> stream;
  std::optional<replay::CacheCall> call;
};

struct Beginning {
  std::int64_t at = 0;
  bool imported = false;
};

Result<Beginning> beginning(journal::Journal& journal, const SessionId& session) {
  Beginning made;
  auto read = journal.read(session, 1, journal::ReadMode::lenient, [&](const auto& entry) {
    // Whoever owns a session comes before it: for an imported one that is the import's time.
    if (entry.event == nullptr || entry.event->payload_type() == schema::Payload::OwnerAcquired) {
      return true;
    }
    const auto* provenance = entry.event->provenance();
    if (const auto* imported = entry.event->payload_as_SessionImported()) {
      made.imported = true;
      made.at = imported->started_at();
      return made.at == 0;
    }
    made.at = provenance == nullptr ? entry.event->recorded_at() : provenance->at();
    return made.at == 0;
  });
  if (!read) return fail(std::move(read.error()));
  return made;
}

}  // namespace

replay::SegmentBytes segment_bytes(journal::Journal& journal) {
  return [&journal](const BlobRef& ref) -> std::optional<std::string> {
    auto bytes = journal.blob(ref);
    return bytes ? std::optional(std::move(*bytes)) : std::nullopt;
  };
}

Result<std::vector<std::string>> visit_cache_log_calls(
    const std::vector<std::string>& paths, std::ostream& told,
    const std::function<Result<void>(const std::set<std::string>&)>& sessions,
    const CacheCallVisitor& visit) {
  auto found = discover_given_logs(paths, &told);
  if (!found) return fail(std::move(found.error()));
  replay::CallReader reader({});
  LogCallsOptions options;
  options.starts = true;
  std::set<std::string> names;
  options.session = [&](const replay::CallSession& session) { names.insert(session.id); };
  std::optional<Result<void>> named;
  bool more = true;
  const auto give = [&](const replay::Call& call, const CopyOf* original) {
    if (!named) named = sessions(names);
    if (!*named || !more) return;
    replay::CacheCall made = reader.read(call);
    made.evidence = schema::Evidence::usage_only;
    if (original != nullptr) {
      made.original = std::make_shared<const replay::OriginalCall>(
          replay::OriginalCall{original->session->id, original->lineage, original->version});
    }
    more = visit(std::move(made));
  };
  options.copy = [&](const replay::Call& copy, const CopyOf& original) { give(copy, &original); };
  const LogReport report = visit_log_calls(found->sources, options,
                                           [&](const replay::Call& call) { give(call, nullptr); });
  if (!named) named = sessions(names);
  if (!*named) return fail(std::move(named->error()));
  return losses_of(found->unread, report);
}

Result<std::uint64_t> visit_cache_calls(journal::Journal& journal, const std::string& only,
                                        const CacheCallVisitor& visit) {
  const auto sessions = journal.sessions(only);
  if (!sessions) return fail(sessions.error());
  std::vector<std::shared_ptr<Source>> waiting;
  Copies copies;
  for (const auto& info : *sessions) {
    if (!only.empty() && info.session.str() != only) continue;
    const auto begins = beginning(journal, info.session);
    if (!begins) return fail(begins.error());
    if (begins->imported) DAYBOOK_TRY(copies.read(journal, info.session));
    waiting.push_back(std::make_shared<Source>(
        Source{{begins->at, 0}, waiting.size(), info.session, nullptr, {}}));
  }
  copies.settle();
  const auto later = [](const auto& a, const auto& b) {
    return std::tie(a->moment, a->order) > std::tie(b->moment, b->order);
  };
  std::priority_queue queue(later, std::move(waiting));
  std::uint64_t holes = 0;
  while (!queue.empty()) {
    auto source = queue.top();
    queue.pop();
    if (source->stream == nullptr) {
      source->stream = std::make_unique<CallStream>(journal, source->session, copies);
    } else if (source->call && !visit(std::move(*source->call))) {
      break;
    }
    auto next = source->stream->next();
    if (!next) return fail(std::move(next.error()));
    if (!*next) {
      holes += source->stream->holes();
      continue;
    }
    source->moment = std::max(source->moment, (*next)->moment);
    source->call = std::move((*next)->call);
    queue.push(std::move(source));
  }
  return holes;
}

}  // namespace daybook::tools
