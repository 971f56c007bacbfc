// Sums over the verdicts of many calls.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "replay/cache_money.h"
#include "replay/cache_vendor.h"

namespace daybook::replay {

struct CacheSum {
  std::uint64_t calls = 0;
  std::uint64_t tokens = 0;
  MoneyRange waste;
  std::uint64_t unpriced_tokens = 0;  // of `tokens`
};

/// What longer lives would do for one session, or several that share calls. Losses by leaf.
struct HourSum {
  std::map<Leaf, Money> won;  // by writes that live an hour: behind gaps of less than that
  Money extra;                // what its writes would cost more
  bool sold = true;           // every call's provider has such writes
  /// By pings, each gap for itself and where they cost less than was lost: behind the gaps of
  /// `won`, and behind those that are longer.
  std::map<Leaf, Money> pinged;
  std::map<Leaf, Money> pinged_long;

  HourSum& operator+=(const HourSum& other);
};

struct SessionSum {
  std::uint64_t calls = 0;
  std::uint64_t input = 0;
  std::uint64_t read = 0;
  std::uint64_t lost = 0;
  std::uint64_t unpriced_tokens = 0;  // of those lost
  MoneyRange total;
  MoneyRange waste;
  std::set<schema::Evidence> evidence;
};

/// A call that lost something, with what is shown of it.
struct CostlyCall {
  std::string id;
  std::string session;
  std::uint64_t version = 0;
  std::int64_t start = 0;
  std::string model;
  schema::Evidence evidence = schema::Evidence::exact;
  std::string causes;      // of most tokens
  std::string introduced;  // what brought the change
  std::uint64_t lost = 0;
  std::uint64_t input = 0;
  MoneyRange waste;
  bool priced = false;
};

/// The order of costs that have two ends.
bool dearer(const MoneyRange& a, const MoneyRange& b);

/// As people name a call: "SESSION:VERSION", or the id of a call that is not in a journal.
std::string call_name(const std::string& session, std::uint64_t version, const std::string& id);

class CacheReport {
 public:
  explicit CacheReport(std::size_t calls_kept) : kept_(calls_kept) {}

  void add(const CallVerdict& verdict, const CallMoney& money);
  /// A call that is not reported: in no sum, but what a remedy of its session costs it counts.
  void add_unreported(const CallVerdict& verdict, const CallMoney& money);
  /// Its session goes on from the original's, and shares what a remedy costs.
  void add_copy(const CacheCall& copy);

  std::uint64_t calls = 0;
  std::uint64_t unmeasured_calls = 0;  // their whole input is not known: in no sum of tokens
  std::uint64_t without_usage = 0;     // of them, those that reported nothing
  std::uint64_t without_write = 0;     // measured, but for the writes: a lower bound
  std::uint64_t without_output = 0;    // with usage, but not the output's
  std::uint64_t without_searches = 0;  // may have searched the web more often than they told
  std::uint64_t contradictions = 0;    // read more than the rules allow
  std::uint64_t input = 0;
  std::uint64_t read = 0;
  std::map<std::string, CacheSum> fresh;  // by code: E0, E1
  std::uint64_t lost = 0;
  /// The two ends add up each for itself: total == ideal + waste.
  MoneyRange total;
  MoneyRange ideal;
  MoneyRange waste;
  std::uint64_t unpriced_tokens = 0;
  std::uint64_t unpriced_calls = 0;  // with tokens that have no price
  std::uint64_t searches = 0;        // on the web
  Money search_fees;                 // in total and ideal
  std::uint64_t unpriced_searches = 0;
  std::map<CauseSet, CacheSum> by_cause;
  std::map<std::string, CacheSum> by_introduced;
  std::map<std::string, SessionSum> by_session;
  /// What the remedy of a cause would win back, its own cost taken off; never more than its waste.
  /// Arithmetic over the recorded figures, not a simulation: remedies of expiry are taken where
  /// they pay; writes of an hour session by session, with those that go on from it and with all
  /// that was written, reported or not; pings behind each gap that such writes do not bridge. Where
  /// a cost has two ends, that of the low one. Absent: not to be told.
  std::optional<Money> recoverable(const CauseSet& causes) const;
  Money recoverable() const;  // of all causes of which it can be told
  /// By the provider's label and our agreement with it.
  std::map<std::pair<std::string, Agreement>, std::uint64_t> vendor;

  /// Those with the most waste, then the most tokens, first.
  const std::vector<CostlyCall>& costly() const { return costly_; }
  /// Input tokens are all accounted for, and so is the money.
  bool conserved() const;

 private:
  void keep(CostlyCall call);
  void note_money(const CallVerdict& verdict, const CallMoney& money);
  void note_hours(const CallVerdict& verdict, const CallMoney& money);
  HourSum& note_dearer_writes(const CallVerdict& verdict, const CallMoney& money);

  const std::string& family_of(const std::string& session) const;
  std::map<std::string, HourSum> hours_by_family() const;

  std::size_t kept_;
  std::map<std::string, HourSum> hours_;          // by session
  std::map<std::string, std::string> related_;    // to a session that shares calls, of lesser name
  std::map<std::string, TimeSpan> latest_start_;  // by session and lineage
  std::vector<CostlyCall> costly_;
};

/// What brought the change that lost a portion: "tools[2] 'grep'", "model a -> b", or the leaf's
/// meaning.
std::string introduced_by(const CallVerdict& verdict, const CachePortion& portion);

}  // namespace daybook::replay
