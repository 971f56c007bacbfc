// What the probes of a replay say: per arm, and between arms. Needs no model: recorded answers are
// graded by this build.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "replay/probe_run.h"
#include "replay/statistics.h"

namespace daybook::replay {

/// Answers that are empty, or that the output limit or a filter ended, count as none: they say
/// nothing of the summary.
struct QuestionTally {
  std::size_t unanswered = 0;
  std::size_t answers = 0;
  std::size_t right = 0;
  std::size_t wrong = 0;
  std::size_t not_known = 0;
  std::size_t in_block = 0;  // answers to questions whose fact the block holds
};

struct NextStepTally {
  std::size_t unanswered = 0;
  std::size_t answers = 0;
  std::size_t readable = 0;
  std::size_t tool = 0;
  std::size_t target = 0;
  std::size_t repeats = 0;
  double similarity = 0;  // sum
};

struct JudgeTally {
  std::size_t unanswered = 0;
  std::size_t answers = 0;
  std::array<std::size_t, kQualities> grades{};  // that count
  std::array<std::size_t, kQualities> sums{};
  std::size_t unproven = 0;    // grades whose quotation stands nowhere
  std::size_t unreadable = 0;  // qualities without a grade from 0 to 5
};

struct ProbeArm {
  std::string name;
  QuestionTally questions;
  NextStepTally next_step;
  JudgeTally judge;
};

/// b less a in one figure: share of right answers, share of right targets, mean grade.
struct ProbePair {
  ProbeLayer layer = ProbeLayer::questions;
  std::size_t a = 0;  // indexes of the arms
  std::size_t b = 0;
  ClusteredMean difference;  // over the cases that both have; bootstrap over sessions
  double p = 1;              // Wilcoxon signed-rank
  double p_holm = 1;         // over all pairs of the report
};

struct ProbeReport {
  std::vector<ProbeArm> arms;  // as the replay has them
  std::vector<ProbePair> pairs;
  ProbeGaps gaps;
  std::size_t probes = 0;
  std::size_t answered = 0;
};

Result<ProbeReport> make_probe_report(journal::Journal& journal, const ReplayState& state,
                                      const ProbeAnswers& answers, const ProbeWish& wish);

}  // namespace daybook::replay
