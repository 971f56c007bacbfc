// Every distinct call of many sessions and files, as small as its cost needs.
//
// Copies of a call (the same id in a resumed, forked or sidechain log) are merged by the rule of
// copy_rule.h, whole records, then in a fixed lexical order: it does not depend on the order in
// which they come. The earliest start of all copies dates the call. Adding a copy again changes
// nothing.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "replay/call.h"
#include "replay/copy_rule.h"
#include "replay/huge_pages.h"

namespace daybook::replay {

/// What many calls have in common.
struct CallNames {
  std::string provider, provider_kind, model;
  std::string service_tier, speed, region;
  bool operator==(const CallNames&) const = default;
};

/// One call. 72 bytes, so that a million of them fit where logs do.
struct StoredCall {
  Uuid id;
  std::int64_t started_at = 0;  // UTC ns; 0: not known
  std::array<std::uint32_t, 8> counts{};
  std::uint32_t session = 0, names = 0, tools = 0;  // indexes into the table
  std::uint16_t present = 0;  // bits of `counts` that were reported, and of searches_open
  schema::Authority authority = schema::Authority::exact;
  bool answered = true;
};

class CallTable {
 public:
  void add(const Call& call);
  /// Once every call is added, and before any is looked at: gives copies to their original session.
  void settle();

  std::size_t size() const { return calls_.size(); }
  /// Copies in other sessions or files that were merged into another.
  std::uint64_t copies() const { return told_ - calls_.size(); }
  /// The same of those that the session told, as CostQuery::session names it.
  std::uint64_t copies_in(std::string_view session) const;
  const std::vector<CallSession>& sessions() const { return sessions_; }
  std::span<const StoredCall> calls() const { return calls_; }
  const CallSession& session_of(const StoredCall& call) const { return sessions_[call.session]; }
  const CallNames& names_of(const StoredCall& call) const { return names_[call.names]; }
  /// The tools that the response called, each once, in order: "grep+read_file"; "": none.
  const std::string& tools_of(const StoredCall& call) const { return tools_[call.tools]; }
  /// A figure beyond 32 bits comes back as the largest one that fits, which no price takes.
  CallUsage usage_of(const StoredCall& call) const;

  /// Bytes held, for reports and tests.
  std::size_t memory() const;

 private:
  using Index = std::unordered_map<std::string, std::uint32_t>;

  StoredCall stored(const Call& call);
  std::uint32_t session_index(const Call& call);
  std::uint32_t names_index(const Call& call);
  std::uint32_t tools_index(const Call& call);
  CopyRank rank_of(const StoredCall& call) const;
  /// The order of copies that are equal by their rank.
  bool is_before(const StoredCall& a, const StoredCall& b) const;
  void merge(std::uint32_t into, const StoredCall& copy);
  /// Of open addressing: which call, and enough of its id's hash to leave most others unread.
  struct Slot {
    std::uint32_t call = 0;  // index into calls_ plus one; 0: free
    std::uint32_t tag = 0;
  };
  std::size_t first_slot(std::uint64_t hash) const {
    return static_cast<std::size_t>(hash >> 20) & (slots_.size() - 1);
  }
  Slot& slot_of(const Uuid& id, std::uint64_t hash);
  void grow();

  std::vector<StoredCall, HugePages<StoredCall>> calls_;
  std::vector<Slot, HugePages<Slot>> slots_;
  std::uint64_t told_ = 0;  // calls, each once in a session of a file
  /// Copies of equal rank in other sessions than the one that is kept: of call, by index.
  std::vector<std::pair<std::uint32_t, StoredCall>> ties_;
  std::vector<StartRange> starts_;      // by session
  std::vector<std::uint64_t> told_by_;  // by session
  std::vector<CallSession> sessions_;
  std::vector<CallNames> names_;
  std::vector<std::string> tools_;
  Index session_indexes_, names_indexes_, tools_indexes_;  // by all their text
  std::shared_ptr<const CallSession> last_session_;        // most calls follow one of the same
  std::uint32_t last_session_index_ = 0;
  std::optional<std::uint32_t> last_names_index_;
};

}  // namespace daybook::replay
