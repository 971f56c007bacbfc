// Scores that need a model: what it makes of a compacted block. Each layer is a set of prompts and
// a deterministic reading of the answers; making the calls is probe_run.h's. docs/scores.md
//
// Pure functions of recorded bytes: equal input gives equal prompts and equal grades.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "replay/case_score.h"

namespace daybook::replay {

/// Raised whenever the same input may give other prompts or grades.
inline constexpr std::uint32_t kProbeVersion = 2;

enum class ProbeLayer : std::uint8_t {
  questions,  // closed questions about facts of the span, answered from the block alone
  next_step,  // the next tool call, against the recorded one
  judge       // grades for six qualities, each with a quotation that proves it
};
inline constexpr std::size_t kProbeLayers = 3;
std::string_view name_of(ProbeLayer layer);
std::optional<ProbeLayer> layer_named(std::string_view name);

// ------------------------------------------------------------------------------ questions

struct ClosedQuestion {
  std::size_t fact = 0;  // index in the set
  std::string text;
  std::string expected;
  std::vector<std::string_view> options;  // empty: the answer is a value
};

/// At most `most`, of the heaviest facts of a span, not more than half of one kind: whether a file
/// was changed or only read; whether something is required or forbidden; a name or a number left
/// out of a line of the span. Facts in free words make none.
std::vector<ClosedQuestion> closed_questions(const engine::PreparedSpan& span, const FactSet& set,
                                             std::size_t most);

enum class Grade : std::uint8_t { right, wrong, not_known };

/// Strict: the answer must be one of the options, or the value and nothing else. Paths may come
/// from any folder, quantities in any unit and rounded as the recorded one is.
Grade grade(const ClosedQuestion& question, const Fact& fact, std::string_view answer);

std::string question_prompt(std::string_view block, const ClosedQuestion& question);

// ------------------------------------------------------------------------------ next step

struct NextStep {
  std::string tool;
  std::string arguments;  // JSON
  std::string target;     // the path, command or pattern it is about; "": none
};

/// The first tool call after the compaction; nothing when the session made none.
std::optional<NextStep> recorded_next(const CompactionCase& recorded);

struct NextStepGrade {
  bool readable = false;  // the answer names a tool and arguments
  bool tool = false;      // the recorded one
  bool target = false;    // the same tool and target
  double similarity = 0;  // of the arguments' words: shared / all, 0 to 1
  bool repeats = false;   // a read or a command that succeeded before, and was not done again then
};
NextStepGrade grade_next(const CompactionCase& recorded, const NextStep& next,
                         std::string_view answer);

/// `tail`: what the session kept verbatim beside the block.
std::string next_step_prompt(const CompactionCase& recorded, std::string_view block,
                             const std::vector<engine::PastItem>& tail);

// ------------------------------------------------------------------------------ judge

inline constexpr std::size_t kQualities = 6;
inline constexpr std::array<std::string_view, kQualities> kQualityNames = {
    "accuracy",     "context awareness", "artifact trail",
    "completeness", "continuity",        "instruction following"};

struct JudgeGrades {
  /// 0 to 5; absent when the answer has no grade for it, or its quotation stands nowhere.
  std::array<std::optional<int>, kQualities> grades;
  std::size_t unproven = 0;  // grades dropped for their quotation
};
JudgeGrades read_judgement(std::string_view answer, const CompactionCase& recorded,
                           std::string_view block);

/// `block_first`: the order in which the judge reads the two texts.
std::string judge_prompt(const CompactionCase& recorded, std::string_view block, bool block_first,
                         std::size_t transcript_bytes);

/// "claude" of "anthropic:claude-sonnet-4-5": a judge favours its own family.
std::string family_of(std::string_view model);

}  // namespace daybook::replay
