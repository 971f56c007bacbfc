#include <algorithm>

#include "replay/probe_run.h"

namespace daybook::replay {
namespace {

/// Replies, reasoning included: a value, a call, six lines.
constexpr std::array<std::uint64_t, kProbeLayers> kReplyTokens = {2'000, 4'000, 8'000};

/// Least transcript that a judge is given, whatever its window.
constexpr std::size_t kLeastTranscript = 1'000;

std::uint64_t hash_of(std::string_view prompt) {
  return Digest::of(prompt).lo;
}

/// Plans the probes of one unit after the other.
class Planner {
 public:
  Planner(journal::Journal& journal, const ReplayState& state, const ProbeWish& wish,
          const std::function<Result<bool>(const PlannedProbe&)>& visit)
      : journal_(journal), state_(state), wish_(wish), visit_(visit) {}

  Result<ProbeGaps> run();

 private:
  bool wants(ProbeLayer layer) const {
    return std::ranges::find(wish_.layers, layer) != wish_.layers.end();
  }
  bool is_wanted(const Arm& arm) const {
    return wish_.only.empty() || std::ranges::find(wish_.only, arm.name) != wish_.only.end();
  }
  Result<bool> unit(const UnitKey& key, const AttemptMade& attempt);
  Result<bool> ask(ProbeLayer layer, const UnitKey& key, std::string prompt, PlannedProbe probe);
  Result<bool> questions(const UnitKey& key, std::string_view summary);
  Result<bool> next_step(const UnitKey& key);
  Result<bool> judge(const UnitKey& key);
  Result<void> use_case(std::uint32_t item);

  journal::Journal& journal_;
  const ReplayState& state_;
  const ProbeWish& wish_;
  const std::function<Result<bool>(const PlannedProbe&)>& visit_;
  ProbeGaps gaps_;
  std::unique_ptr<PreparedCase> case_;
  std::uint32_t case_index_ = 0;
  std::string block_;
};

Result<bool> Planner::ask(ProbeLayer layer, const UnitKey& key, std::string prompt,
                          PlannedProbe probe) {
  probe.prepared = case_.get();
  probe.block = block_;
  probe.reply_tokens = reply_tokens(layer);
  probe.key = {wish_.model, layer, key, hash_of(prompt), 0};
  probe.prompt = std::move(prompt);
  for (std::uint32_t sample = 1; sample <= wish_.samples; ++sample) {
    probe.key.sample = sample;
    auto more = visit_(probe);
    if (!more || !*more) return more;
  }
  return true;
}

Result<bool> Planner::questions(const UnitKey& key, std::string_view summary) {
  const auto asked = closed_questions(case_->span(), case_->facts(), wish_.questions);
  if (asked.empty()) ++gaps_.no_questions;
  const auto score = case_->score(summary);
  for (const auto& question : asked) {
    PlannedProbe probe;
    probe.in_block = score.block.lines.at(question.fact).status == FactStatus::present;
    probe.asks = question;
    auto more =
        ask(ProbeLayer::questions, key, question_prompt(block_, question), std::move(probe));
    if (!more || !*more) return more;
  }
  return true;
}

Result<bool> Planner::next_step(const UnitKey& key) {
  const CompactionCase& recorded = case_->recorded();
  const auto next = recorded_next(recorded);
  if (!next) {
    ++gaps_.no_next_step;
    return true;
  }
  std::vector<engine::PastItem> tail;
  const auto& at = recorded.recorded;
  if (at.version > at.last + 1) {
    auto kept = engine::read_span(journal_, at.session, at.last + 1, at.version);
    if (!kept) return fail(std::move(kept.error()));
    tail = std::move(*kept);
  }
  PlannedProbe probe;
  probe.asks = *next;
  return ask(ProbeLayer::next_step, key, next_step_prompt(recorded, block_, tail),
             std::move(probe));
}

Result<bool> Planner::judge(const UnitKey& key) {
  const Arm& arm = state_.arms.at(key.arm);
  if (!arm.mechanical && family_of(arm.model) == family_of(wish_.model)) {
    if (std::ranges::find(gaps_.family, arm.name) == gaps_.family.end()) {
      gaps_.family.push_back(arm.name);
    }
    return true;
  }
  const std::size_t room =
      wish_.judge_bytes > block_.size() ? wish_.judge_bytes - block_.size() : 0;
  const std::size_t transcript =
      wish_.judge_bytes == 0 ? SIZE_MAX : std::max(room, kLeastTranscript);
  // Half of the samples read the block first: which comes first sways a judge.
  for (std::uint32_t sample = 1; sample <= wish_.samples; ++sample) {
    PlannedProbe probe;
    probe.prepared = case_.get();
    probe.block = block_;
    probe.reply_tokens = reply_tokens(ProbeLayer::judge);
    probe.prompt = judge_prompt(case_->recorded(), block_, sample % 2 == 0, transcript);
    probe.key = {wish_.model, ProbeLayer::judge, key, hash_of(probe.prompt), sample};
    probe.asks = std::monostate();
    auto more = visit_(probe);
    if (!more || !*more) return more;
  }
  return true;
}

Result<void> Planner::use_case(std::uint32_t item) {
  if (case_ && case_index_ == item) return {};
  auto loaded = PreparedCase::load(journal_, state_.cases.at(item));
  if (!loaded) return fail(std::move(loaded.error()));
  case_ = std::move(*loaded);
  case_index_ = item;
  return {};
}

Result<bool> Planner::unit(const UnitKey& key, const AttemptMade& attempt) {
  DAYBOOK_TRY(use_case(key.item));
  auto summary = attempt_text(journal_, attempt);
  if (!summary) return fail(std::move(summary.error()));
  block_ = case_->block(*summary);
  ++gaps_.units;
  Result<bool> more = true;
  if (wants(ProbeLayer::questions)) more = questions(key, *summary);
  if (more && *more && wants(ProbeLayer::next_step)) more = next_step(key);
  if (more && *more && wants(ProbeLayer::judge)) more = judge(key);
  return more;
}

Result<ProbeGaps> Planner::run() {
  for (std::uint32_t item = 0; item < state_.cases.size(); ++item) {
    for (std::uint32_t arm = 0; arm < state_.arms.size(); ++arm) {
      if (!is_wanted(state_.arms[arm])) continue;
      for (std::uint32_t replicate = 1; replicate <= state_.replicates; ++replicate) {
        const UnitKey key{arm, item, replicate};
        const auto found = state_.units.find(key);
        if (found == state_.units.end() || !found->second.done) {
          ++gaps_.not_made;
          continue;
        }
        const AttemptMade& last = found->second.attempts.back();
        if (last.verdict != schema::GateVerdict::usable) {
          ++gaps_.refused;
          continue;
        }
        auto more = unit(key, last);
        if (!more) return fail(std::move(more.error()));
        if (!*more) return std::move(gaps_);
      }
    }
  }
  return std::move(gaps_);
}

}  // namespace

std::uint64_t reply_tokens(ProbeLayer layer) {
  return kReplyTokens.at(static_cast<std::size_t>(layer));
}

Result<ProbeGaps> plan_probes(journal::Journal& journal, const ReplayState& state,
                              const ProbeWish& wish,
                              const std::function<Result<bool>(const PlannedProbe&)>& visit) {
  return Planner(journal, state, wish, visit).run();
}

}  // namespace daybook::replay
