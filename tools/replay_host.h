// What calls of a replay run on: an event loop, a clock, the signals that stop it, and the models.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "replay/recorded_calls.h"
#include "tools/command.h"

namespace daybook::engine {
struct ResolvedModel;
struct Config;
}  // namespace daybook::engine

namespace daybook::tools {

class ReplayHost {
 public:
  ReplayHost();
  ~ReplayHost();
  ReplayHost(const ReplayHost&) = delete;
  ReplayHost& operator=(const ReplayHost&) = delete;

  /// Valid as long as the host, the context, the journal and the prices. Ctrl-C and SIGTERM stop
  /// it; why it waits is said on the context's `err`.
  replay::CallWorld world(Context& context, journal::Journal& journal,
                          const replay::PriceBook& prices);
  /// Lives as long as the host.
  Result<replay::ArmModel> open(const engine::ResolvedModel& model);

 private:
  struct Loop;
  std::unique_ptr<Loop> loop_;
  std::vector<std::unique_ptr<engine::Model>> models_;
};

/// The configured model behind "provider:model"; a scenario's path is made absolute.
Result<engine::ResolvedModel> resolve_replay_model(const Context& context,
                                                   const engine::Config& config,
                                                   const std::string& model);

/// --max-cost in dollars, exact to a millionth.
Result<std::optional<replay::Money>> max_cost(const Arguments& arguments);

/// A bar with the money so far, on a terminal only. `end_progress` ends its line.
void show_progress(Context& context, std::size_t done, std::size_t all, const replay::Spent& spent);
void end_progress(Context& context);

/// Why a run ends at --max-cost: what the next call could cost at most, and what is spent.
std::string too_dear(const replay::Money& next_call, const replay::Spent& spent);

/// "$1.20", and the tokens that no price is known for.
std::string shown(const replay::Spent& spent);

}  // namespace daybook::tools
