// The outcome of a simulated policy, for people and in JSON.
#pragma once

#include <iosfwd>

#include "replay/cache_what_if.h"
#include "tools/command.h"

namespace daybook::tools {

class WhatIfReport {
 public:
  WhatIfReport(replay::CachePolicy policy, std::size_t calls_kept)
      : policy_(std::move(policy)), kept_(calls_kept) {}

  /// A call of which too little is known.
  void skip() { ++skipped_; }
  /// A policy that `calls` of those compared cannot be simulated for, and why.
  void note(const std::string& reason, std::uint64_t calls);
  /// What a call costs under the policy, and the pings before it, which are another call's.
  struct ChangedRates {
    replay::CacheRates call;
    replay::CacheRates pinged;
  };
  /// `spent`: what the call cost as it was recorded.
  void add(const replay::WhatIfCall& call, const replay::MoneyRange& spent,
           const replay::CacheRates& rates, const ChangedRates& changed);

  void add_late(const replay::LatePings& late, const replay::CacheRates& changed_rates);

  void print(Context& context) const;
  /// `undated`: calls without a time, which no span holds.
  void print_json(std::ostream& out, std::uint64_t undated) const;

 private:
  struct Sum {
    std::uint64_t input = 0;
    std::uint64_t read = 0;
    std::uint64_t write = 0;
    replay::Money money;
  };
  struct Row {
    std::string session;
    std::uint64_t version = 0;
    replay::SimulatedUsage recorded;
    replay::SimulatedUsage changed;
    replay::Money saved;
    bool priced = false;
  };

  void keep(Row row);
  void print_sums(Context& context) const;
  std::vector<std::string> unknowns() const;

  replay::CachePolicy policy_;
  std::size_t kept_;
  std::vector<Row> rows_;  // changed calls, the greatest differences first
  Sum recorded_;
  Sum changed_;
  std::uint64_t calls_ = 0;
  std::uint64_t changed_calls_ = 0;
  std::uint64_t skipped_ = 0;
  std::uint64_t unpriced_calls_ = 0;
  replay::MoneyRange spent_;        // as recorded
  replay::Money doubtful_;          // of the difference, that of contradicted calls
  std::uint64_t contradicted_ = 0;  // the simulation as recorded read otherwise than reported
  std::uint64_t rebuilt_calls_ = 0;
  std::vector<std::string> notes_;
  std::uint64_t pings_ = 0;
  std::uint64_t summaries_ = 0;
  std::uint64_t late_pings_ = 0;
  replay::Money late_money_;
  bool late_priced_ = true;
};

}  // namespace daybook::tools
