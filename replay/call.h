// One model call as the analyses see it, whoever recorded it: a session that ran here, an imported
// one, or a log that is read without being stored. All of them are the same events.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "replay/growing_list.h"
#include "schema/event.h"

namespace daybook::replay {

/// Tokens as reported; an absent figure was not reported, which is not zero.
struct CallUsage {
  std::optional<std::uint64_t> input_uncached;
  std::optional<std::uint64_t> input_total;
  std::optional<std::uint64_t> cache_read;
  std::optional<std::uint64_t> cache_write;     // all of it, whatever its lifetime
  std::optional<std::uint64_t> cache_write_5m;  // parts of cache_write
  std::optional<std::uint64_t> cache_write_1h;
  std::optional<std::uint64_t> output;     // includes reasoning
  std::optional<std::uint64_t> reasoning;  // part of output
  std::optional<std::uint64_t> web_searches;
  /// There may have been more searches than `web_searches` says: the log counts them without a
  /// number, or shows only some.
  bool searches_open = false;
  schema::Authority authority = schema::Authority::exact;
  std::string service_tier;
  std::string speed;
  std::string region;

  /// Whether anything was reported.
  bool any() const;
  bool operator==(const CallUsage&) const = default;
};

CallUsage usage_of(const schema::Usage* usage);

/// The compaction passes in a provider's usage object (JSON), which its top figures leave out.
std::vector<CallUsage> compaction_passes(std::string_view usage_json);

/// The segments of one request, first to last. Lists share what they have in common.
struct RequestSegments {
  using List = std::shared_ptr<const std::vector<BlobRef>>;
  List tools;
  List system;
  GrowingList<BlobRef> messages;
  std::vector<std::uint32_t> markers;  // message indexes that carry a cache marker
  schema::CacheTtl marker_ttl = schema::CacheTtl::none;
};

/// Where a call's cost belongs, the same for all calls of a session.
struct CallSession {
  std::string kind;    // "daybook", "claude-code", "codex", "openworker", "atif"
  std::string id;      // the journal's, or the log's own
  std::string stored;  // name of the session in the journal; "": a file that is not stored
  std::string parent;  // the session it belongs to; "": none
  schema::Relation relation = schema::Relation::none;
  std::string project;  // folder it worked in
  std::string agent;
  std::string title;

  /// What --session names, and tables of sessions.
  const std::string& name() const { return stored.empty() ? id : stored; }
};

struct Call {
  std::shared_ptr<const CallSession> session;
  Uuid id;                    // the same for every copy of the call in any file
  std::uint64_t version = 0;  // of its ModelResponded, ModelFailed or ModelAbandoned
  std::uint32_t turn = 0;
  std::string lineage;   // chain of requests within the session; "": the main one
  std::string provider;  // as configured or as the log says; may be ""
  std::string provider_kind;
  std::string requested_model;
  std::string served_model;  // "": not told
  std::string response_id;
  std::int64_t started_at = 0;  // UTC ns; 0: not known
  /// False: started_at is the answer's time, as logs have it. The request was sent before that: by
  /// `not_after`, and not before `not_before`, when what led to it (a prompt, a tool's result) was
  /// written.
  bool start_exact = true;
  std::int64_t not_before = 0;  // 0: no line tells
  std::int64_t not_after = 0;   // 0: started_at
  std::int64_t first_byte_at = 0;
  std::int64_t ended_at = 0;
  bool answered = true;  // false: failed or abandoned; may have been billed
  /// The same session, of the same file or journal, told this call before: as it was by then.
  bool again = false;
  /// 0: the response itself. n: the n-th pass by which the provider compacted the context for it,
  /// billed besides and not in the response's own figures.
  std::uint32_t pass = 0;
  CallUsage usage;
  schema::StopReason stop = schema::StopReason::end;
  std::vector<std::string> tools_called;

  schema::Evidence evidence = schema::Evidence::usage_only;
  std::unique_ptr<schema::ContentT> head;         // parameters, as JSON members
  std::unique_ptr<schema::ContentT> diagnostics;  // the provider's cache verdict, as JSON
  RequestSegments request;
  std::uint64_t base_version = 0;  // of the ModelRequested that this request grew from; 0: none
  std::uint64_t request_version = 0;
  std::vector<std::string> changed;  // why earlier bytes differ, in the recorder's words

  /// A fork's first call: the call of the history it was given that it goes on from, by what may be
  /// its id. At most one of them is.
  std::vector<Uuid> goes_on_from;

  /// A compaction of this lineage lies between the call before and this one.
  bool after_compaction = false;
  std::optional<std::uint64_t> compacted_from;  // tokens, when recorded
  std::optional<std::uint64_t> compacted_to;

  const std::string& model() const { return served_model.empty() ? requested_model : served_model; }
};

/// The latest line of a log's session that led to its next request.
class LeadTime {
 public:
  /// A prompt, or a tool's result; 0: the line has no time.
  void line(std::int64_t at) {
    if (used_) at_ = 0;
    used_ = false;
    at_ = std::max(at_, at);
  }
  /// For the request that comes now. One that nothing new led to has the same as the one before.
  std::int64_t take() {
    used_ = true;
    return at_;
  }

 private:
  std::int64_t at_ = 0;
  bool used_ = false;
};

/// Turns one session's events, in order, into its calls. Damage is the reader's business: a hole
/// is an event that is not given.
class CallFold {
 public:
  using Visitor = std::function<void(Call)>;

  /// `session`: its name in the journal.
  CallFold(std::string session, Visitor visit);
  void take(const schema::Event& event);

 private:
  bool is_log() const { return session_->kind != "daybook"; }
  void started(const schema::SessionStarted& it);
  void imported(const schema::SessionImported& it);
  void line(const schema::Event& event, const schema::ImportedLine& it);
  void requested(const schema::Event& event, const schema::ModelRequested& it);
  void responded(const schema::Event& event, const schema::ModelResponded& it);
  void unanswered(const schema::Event& event, const schema::Usage* usage);
  void finish(const schema::Event& event);
  void visit_passes(const schema::Event& event, const schema::Usage& usage);
  RequestSegments segments(const schema::ModelRequested& it) const;

  Visitor visit_;
  std::shared_ptr<const CallSession> session_;
  std::optional<Call> open_;
  bool goes_on_ = false;  // its request begins with messages of an earlier one
  std::unordered_map<std::uint64_t, RequestSegments> requests_;  // by version, the latest few
  std::vector<std::uint64_t> kept_;  // versions in requests_, oldest first
  struct Compaction {
    std::optional<std::uint64_t> from;
    std::optional<std::uint64_t> to;
  };
  std::unordered_map<std::string, Compaction> compactions_;  // by lineage, since its last call
  LeadTime lead_;
  std::vector<Uuid> goes_on_from_;  // by the latest line of another thread's history
  std::set<Uuid> told_;  // calls of an imported session: a log that grew may tell one again
  std::map<Uuid, Compaction> behind_compaction_;  // of them, those that follow one
};

}  // namespace daybook::replay
