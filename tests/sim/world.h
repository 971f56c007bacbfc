// The simulated outside: what survives a process, and the parts that one process talks to.
#pragma once

#include <boost/asio/io_context.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/driver.h"
#include "tests/support/memory_journal.h"

namespace daybook::tests {

/// splitmix64: a small generator whose stream is the same everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next();
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }
  bool chance(std::uint64_t percent) { return below(100) < percent; }

 private:
  std::uint64_t state_;
};

/// What the model says to a request: drawn once per request number, so that a process that asks
/// again after a crash hears the same.
struct PlannedReply {
  engine::Reply reply;
  std::uint32_t failures = 0;  // attempts that fail first
  schema::FailureKind failure = schema::FailureKind::stream_cut;
};

/// Outlives processes, as a disk and the world do.
struct Outside {
  explicit Outside(std::uint64_t seed) : random(seed) {}

  Random random;
  std::shared_ptr<MemoryStore> store = std::make_shared<MemoryStore>();
  std::map<std::uint32_t, PlannedReply> replies;
  std::map<std::string, std::uint32_t> effects;  // "call-3#1": how often it took effect
  std::map<std::string, std::string> files;
  std::map<std::uint32_t, std::string> bodies;      // request number: body first sent
  std::map<std::uint32_t, PlannedReply> summaries;  // as replies, of the summariser
  std::size_t result_bytes = 0;                     // padding of what reading returns
  std::int64_t now_ns = 1'800'000'000'000'000'000;
  std::string broken;  // the first invariant seen broken

  void broke(std::string what) {
    if (broken.empty()) broken = std::move(what);
  }
  const PlannedReply& reply_to(std::uint32_t request);
  const PlannedReply& summary_for(std::uint32_t request);
};

/// One process: dies when `crash` is called, and nothing of it happens after that.
class Process {
 public:
  Process(Outside& outside, std::uint32_t crash_percent);
  ~Process();

  /// Draws whether the process dies here.
  bool dies_here();
  bool crashed() const { return crashed_; }
  /// Keeps what a dead process will never run until its coroutines may be destroyed.
  void bury(std::function<void()> never_run) { graveyard_.push_back(std::move(never_run)); }

  boost::asio::io_context io;
  Outside& outside;
  std::function<void(std::string)> stop;  // the driver's, while it lives

 private:
  std::uint32_t crash_percent_;
  bool crashed_ = false;
  std::vector<std::function<void()>> graveyard_;
};

std::unique_ptr<journal::Journal> make_sim_journal(Process& process);
std::unique_ptr<engine::Model> make_sim_model(Process& process);
std::unique_ptr<executor::Executor> make_sim_executor(Process& process);
std::unique_ptr<engine::Approver> make_sim_approver(Process& process);
std::unique_ptr<engine::Clock> make_sim_clock(Process& process);

}  // namespace daybook::tests
