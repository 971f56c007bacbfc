// Asks a model about the summaries of a replay, in the replay's own session: what is planned, what
// is answered already, and the calls for the rest.
//
// No event is of its own kind: a probe is a model request whose lineage names it and the digest of
// its prompt, and its grade is read from the recorded answer by this build.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "replay/probe.h"
#include "replay/recorded_calls.h"
#include "replay/replay_state.h"

namespace daybook::replay {

struct ProbeWish {
  std::string model;  // "provider:model" that answers
  std::vector<ProbeLayer> layers;
  std::size_t questions = 8;      // a case, at most
  std::uint32_t samples = 3;      // times that each prompt is sent
  std::size_t judge_bytes = 0;    // that the judge can read; 0: no limit
  std::vector<std::string> only;  // arms; empty: all
};

/// One prompt, sent once.
struct ProbeKey {
  std::string model;
  ProbeLayer layer = ProbeLayer::questions;
  UnitKey unit;
  std::uint64_t prompt = 0;  // of its digest
  std::uint32_t sample = 1;
  auto operator<=>(const ProbeKey&) const = default;
};

struct PlannedProbe {
  ProbeKey key;
  std::string prompt;
  std::uint64_t reply_tokens = 0;  // at most
  /// What it asks; a judgement needs no more than the case.
  std::variant<ClosedQuestion, NextStep, std::monostate> asks;
  const PreparedCase* prepared = nullptr;  // valid during the visit, as is `block`
  std::string_view block;
  bool in_block = false;  // question: the facts' score finds its fact in the block
};

/// Of a reply of the layer, reasoning included, at most.
std::uint64_t reply_tokens(ProbeLayer layer);

/// What a plan leaves out, and why.
struct ProbeGaps {
  std::size_t units = 0;            // that are probed
  std::size_t not_made = 0;         // units without a summary yet
  std::size_t refused = 0;          // units whose summary the gate did not let pass
  std::size_t no_questions = 0;     // units of cases whose facts make none
  std::size_t no_next_step = 0;     // units of cases after which the session called no tool
  std::vector<std::string> family;  // arms that the judge's own family made
};

/// Visits every probe of the wish, case by case; the visitor's error ends it.
Result<ProbeGaps> plan_probes(journal::Journal& journal, const ReplayState& state,
                              const ProbeWish& wish,
                              const std::function<Result<bool>(const PlannedProbe&)>& visit);

struct ProbeAnswer {
  std::shared_ptr<const schema::ContentT> text;  // null: none
  bool whole = true;  // it ended of itself: not by the output limit, not by a filter
};

struct ProbeAnswers {
  std::map<ProbeKey, ProbeAnswer> by_key;
  Spent spent;  // on all probes
  std::size_t calls = 0;
};

/// Folds a replay's events into the answers.
class ProbeFold {
 public:
  explicit ProbeFold(const SessionId& session, const PriceBook& prices);
  void take(const journal::Entry& entry);
  const ProbeAnswers& answers() const { return answers_; }

 private:
  const PriceBook& prices_;
  ProbeAnswers answers_;
  std::optional<ProbeKey> open_;
  std::uint64_t body_bytes_ = 0;              // of the last request
  std::optional<std::uint64_t> reply_limit_;  // that it set
  bool may_be_billed_ = false;                // the event taken ends it without an answer
  CallFold calls_;
};

struct ProbeWorld {
  CallWorld calls;
  ArmModel model;
  std::function<void(std::size_t done, std::size_t all, const Spent&)> progress;
};

/// What the probes that have no answer yet may cost at most.
struct ProbePlan {
  std::size_t probes = 0;
  std::size_t answered = 0;
  std::uint64_t bytes = 0;         // of the prompts to send
  std::uint64_t reply_tokens = 0;  // at most
  Spent most;
  ProbeGaps gaps;
};
Result<ProbePlan> price_probes(const CallWorld& world, const engine::ModelChoice& choice,
                               const ReplayState& state, const ProbeAnswers& answers,
                               const ProbeWish& wish);

struct ProbeOutcome {
  CallEnd end = CallEnd::done;
  std::size_t refused = 0;  // prompts that the endpoint would not take, such as too long ones
  std::string refusal;      // its words on the last one
  std::optional<Money> next_call;  // too_dear: the most that the call not made could cost
  Spent spent;                     // on all probes of the replay
};

/// Takes the session and asks what has no answer. `max_cost` is of all probes of the replay. A
/// prompt that is refused is passed over; when the first few all are, that is an error.
Result<ProbeOutcome> run_probes(const ProbeWorld& world, const SessionId& session,
                                const std::string& owner, const ProbeWish& wish,
                                std::optional<Money> max_cost);

}  // namespace daybook::replay
