#include "replay/probe_report.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "replay/probe_text.h"

namespace daybook::replay {
namespace {

/// Mean of a layer's main figure over the answers about one arm's summaries of one case.
struct Mean {
  double sum = 0;
  std::size_t count = 0;
  void add(double value) {
    sum += value;
    ++count;
  }
  // Rounded, so that equal shares of different counts are ties.
  double value() const { return std::round(sum / static_cast<double>(count) * 1e9) / 1e9; }
};

struct FigureKey {
  ProbeLayer layer;
  std::uint32_t arm;
  std::uint32_t item;
  auto operator<=>(const FigureKey&) const = default;
};

class Grader {
 public:
  Grader(journal::Journal& journal, const ReplayState& state, const ProbeAnswers& answers)
      : journal_(journal), state_(state), answers_(answers) {
    for (const auto& arm : state.arms) report_.arms.push_back({arm.name, {}, {}, {}});
  }

  Result<bool> take(const PlannedProbe& probe);
  ProbeReport finish(ProbeGaps gaps);

 private:
  void grade(const PlannedProbe& probe, const ClosedQuestion& question, std::string_view answer);
  void grade(const PlannedProbe& probe, const NextStep& next, std::string_view answer);
  void grade(const PlannedProbe& probe, std::monostate, std::string_view answer);
  Mean& figure(const PlannedProbe& probe) {
    return figures_[{probe.key.layer, probe.key.unit.arm, probe.key.unit.item}];
  }
  std::size_t& unanswered(const PlannedProbe& probe) {
    ProbeArm& of = arm(probe);
    if (probe.key.layer == ProbeLayer::questions) return of.questions.unanswered;
    return probe.key.layer == ProbeLayer::next_step ? of.next_step.unanswered : of.judge.unanswered;
  }
  ProbeArm& arm(const PlannedProbe& probe) { return report_.arms.at(probe.key.unit.arm); }
  void compare(ProbeLayer layer);

  journal::Journal& journal_;
  const ReplayState& state_;
  const ProbeAnswers& answers_;
  ProbeReport report_;
  std::map<FigureKey, Mean> figures_;
};

Result<bool> Grader::take(const PlannedProbe& probe) {
  ++report_.probes;
  const auto found = answers_.by_key.find(probe.key);
  if (found == answers_.by_key.end()) return true;
  ++report_.answered;
  auto answer = journal::content_bytes(journal_, found->second.text.get());
  if (!answer) return fail(std::move(answer.error()));
  const std::string_view said = spoken(*answer);
  if (said.empty() || !found->second.whole) {
    ++unanswered(probe);
    return true;
  }
  std::visit([&](const auto& asks) { grade(probe, asks, said); }, probe.asks);
  return true;
}

void Grader::grade(const PlannedProbe& probe, const ClosedQuestion& question,
                   std::string_view answer) {
  const Fact& fact = probe.prepared->facts().facts.at(question.fact);
  const Grade grade = replay::grade(question, fact, answer);
  QuestionTally& tally = arm(probe).questions;
  ++tally.answers;
  tally.right += grade == Grade::right ? 1 : 0;
  tally.wrong += grade == Grade::wrong ? 1 : 0;
  tally.not_known += grade == Grade::not_known ? 1 : 0;
  tally.in_block += probe.in_block ? 1 : 0;
  figure(probe).add(grade == Grade::right ? 1 : 0);
}

void Grader::grade(const PlannedProbe& probe, const NextStep& next, std::string_view answer) {
  const NextStepGrade grade = grade_next(probe.prepared->recorded(), next, answer);
  NextStepTally& tally = arm(probe).next_step;
  ++tally.answers;
  tally.readable += grade.readable ? 1 : 0;
  tally.tool += grade.tool ? 1 : 0;
  tally.target += grade.target ? 1 : 0;
  tally.repeats += grade.repeats ? 1 : 0;
  tally.similarity += grade.similarity;
  figure(probe).add(grade.target ? 1 : 0);
}

void Grader::grade(const PlannedProbe& probe, std::monostate, std::string_view answer) {
  const JudgeGrades grades = read_judgement(answer, probe.prepared->recorded(), probe.block);
  JudgeTally& tally = arm(probe).judge;
  ++tally.answers;
  tally.unproven += grades.unproven;
  tally.unreadable += kQualities - grades.unproven;
  for (std::size_t i = 0; i < kQualities; ++i) {
    if (!grades.grades.at(i)) continue;
    const int grade = *grades.grades.at(i);
    ++tally.grades.at(i);
    --tally.unreadable;
    tally.sums.at(i) += static_cast<std::size_t>(grade);
    figure(probe).add(grade);
  }
}

void Grader::compare(ProbeLayer layer) {
  const auto arms = static_cast<std::uint32_t>(report_.arms.size());
  for (std::uint32_t a = 0; a < arms; ++a) {
    for (std::uint32_t b = a + 1; b < arms; ++b) {
      std::vector<ClusteredDifference> pairs;
      std::vector<double> differences;
      for (std::uint32_t item = 0; item < state_.cases.size(); ++item) {
        const auto left = figures_.find({layer, a, item});
        const auto right = figures_.find({layer, b, item});
        if (left == figures_.end() || right == figures_.end()) continue;
        const double difference = right->second.value() - left->second.value();
        const std::string& id = state_.cases[item];
        pairs.push_back({id.substr(0, id.rfind('@')), difference});
        differences.push_back(difference);
      }
      if (pairs.empty()) continue;
      report_.pairs.push_back(
          {layer, a, b, bootstrap_mean(pairs), wilcoxon_signed_rank(differences), 1});
    }
  }
}

ProbeReport Grader::finish(ProbeGaps gaps) {
  for (std::size_t i = 0; i < kProbeLayers; ++i) compare(static_cast<ProbeLayer>(i));
  std::vector<double> p_values;
  for (const auto& pair : report_.pairs) p_values.push_back(pair.p);
  const auto adjusted = holm_adjusted(p_values);
  for (std::size_t i = 0; i < adjusted.size(); ++i) report_.pairs[i].p_holm = adjusted[i];
  report_.gaps = std::move(gaps);
  return std::move(report_);
}

}  // namespace

Result<ProbeReport> make_probe_report(journal::Journal& journal, const ReplayState& state,
                                      const ProbeAnswers& answers, const ProbeWish& wish) {
  Grader grader(journal, state, answers);
  auto gaps =
      plan_probes(journal, state, wish, [&](const auto& probe) { return grader.take(probe); });
  if (!gaps) return fail(std::move(gaps.error()));
  return grader.finish(std::move(*gaps));
}

}  // namespace daybook::replay
