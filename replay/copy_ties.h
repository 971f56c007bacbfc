// Which of several copies of a call counts. Logs that are resumed or forked repeat the calls of the
// one before, and nothing in a copy says which was first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "replay/call.h"

namespace daybook::replay {

/// What a copy tells by itself, the smallest counts: the highest output (one that was not reported
/// is below zero), then the most exact, then what tells more tools (a log that is imported while a
/// response is written has its first blocks only), then a session that belongs to no other.
using CopyRank = std::tuple<std::uint64_t, schema::Authority, std::size_t, bool>;

/// The tools that the response called, each once, in order: "grep+read_file"; "": none. A search by
/// the provider's own tool, which is billed with the response, is "web_search".
std::string tools_text(const Call& call);

inline CopyRank copy_rank(std::uint64_t output_rank, schema::Authority authority,
                          std::size_t tools_size, schema::Relation relation) {
  return {~output_rank, authority, ~tools_size, relation != schema::Relation::none};
}

/// Settles copies of equal rank once all calls are known: the session counts whose own calls, which
/// no other session tells, begin first, or which has none. It was there before it was copied.
///
/// `Rules` knows of a Copy: rank(), session() (its kind and id, as text that stays), start() (a
/// reference to its time) and rest() (anything that makes the choice a fixed one).
template <class Copy>
class CopyTies {
 public:
  /// Merges another copy into the one that is kept at `place`. The earliest start dates the call.
  template <class Rules>
  void merge(Copy& kept, std::size_t place, Copy made, const Rules& rules) {
    const bool elsewhere = rules.session(made) != rules.session(kept);
    if (elsewhere) {
      if (shared_.size() <= place) shared_.resize(place + 1);
      shared_[place] = true;
    }
    const std::int64_t a = rules.start(kept), b = rules.start(made);
    const std::int64_t earliest = a == 0 ? b : b == 0 ? a : std::min(a, b);
    const auto mine = rules.rank(made), other = rules.rank(kept);
    if (mine < other || (mine == other && !elsewhere && rules.rest(made) < rules.rest(kept))) {
      std::swap(kept, made);
    }
    if (mine == other && elsewhere) ties_.emplace_back(place, std::move(made));
    rules.start(kept) = earliest;
  }

  /// After the last merge.
  template <class Rules>
  void settle(std::span<Copy> kept, const Rules& rules) {
    if (ties_.empty()) return;
    std::map<Session, std::int64_t> own;
    auto latest = own.end();
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const std::int64_t start = rules.start(kept[i]);
      if (start == 0 || (i < shared_.size() && shared_[i])) continue;
      if (latest == own.end() || latest->first != rules.session(kept[i])) {
        latest = own.try_emplace(rules.session(kept[i]), start).first;
      }
      latest->second = std::min(latest->second, start);
    }
    const auto begins = [&](const Copy& copy) {
      const auto found = own.find(rules.session(copy));
      return found == own.end() ? std::numeric_limits<std::int64_t>::min() : found->second;
    };
    const auto order = [&](const Copy& copy) {
      return std::tuple(rules.rank(copy), begins(copy), rules.session(copy), rules.rest(copy));
    };
    for (auto& [place, made] : ties_) {
      rules.start(made) = rules.start(kept[place]);
      if (order(made) < order(kept[place])) kept[place] = std::move(made);
    }
    ties_.clear();
  }

 private:
  using Session = std::pair<std::string_view, std::string_view>;

  std::vector<std::pair<std::size_t, Copy>> ties_;  // copies of equal rank, by their places
  std::vector<bool> shared_;                        // by place: told by several sessions
};

/// The rules for calls as they are.
struct CallCopyRules {
  CopyRank rank(const Call& call) const {
    const auto& output = call.usage.output;
    return copy_rank(output ? *output + 1 : 0, call.usage.authority, tools_text(call).size(),
                     call.session->relation);
  }
  std::pair<std::string_view, std::string_view> session(const Call& call) const {
    return {call.session->kind, call.session->id};
  }
  std::int64_t& start(Call& call) const { return call.started_at; }
  std::int64_t start(const Call& call) const { return call.started_at; }
  auto rest(const Call& call) const { return std::tuple(call.model(), call.version); }
};

}  // namespace daybook::replay
