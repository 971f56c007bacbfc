// A section of a summary cut into clauses, with what each may claim.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "engine/text_entity.h"

namespace daybook::engine {

/// Words that together make a claim: a thing and what is said of it.
enum ClaimPart : std::uint16_t {
  kTestsNoun = 1,
  kPassVerb = 2,
  kBuildNoun = 4,
  kOkWord = 8,
  kCommitVerb = 16,
  kPushVerb = 32,
  kDoneWord = 64,
  kFileVerb = 128,
  kRunVerb = 256,
  kEndWord = 512,        // of the done words those that a build can be
  kBuildSubject = 1024,  // "the build is": it is what the words behind it are said of
  kRanVerb = 2048,       // of the run verbs those that tell of a run that was
  kSoftVerb = 4096,      // of files, and of much else: "changed"
  kLintNoun = 8192,
  kFixWord = 16384,  // of the end words the one that no command is by itself: "fixed"
};

struct ClaimPath {
  Entity path;
  bool object = false;  // the verb of the clause is said of it: "`a.cc` was edited"
};

struct Clause {
  std::string_view text;
  std::string_view line;    // that it stands in
  std::uint16_t parts = 0;  // ClaimPart bits
  /// A plan, a wish, a condition, a failure: not a claim of success.
  bool hedged = false;
  bool planned = false;  // hedged as a plan or a wish
  /// Of an earlier time: "passed after the first edit", "the first run".
  bool earlier = false;
  std::optional<long> exit;  // "exit 2", "exited with code 0"
  std::vector<ClaimPath> paths;
  std::vector<std::string_view> code;  // what stands between backticks
  bool code_is_before = false;         // the code is of the clause before: "`make`: 3 s, passed"
};

/// Those that hold a part of a claim, an exit status or a number, in order. Views of the text.
std::vector<Clause> claim_clauses(std::string_view section);

}  // namespace daybook::engine
