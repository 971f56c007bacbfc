// The gate: decides from the bytes alone whether a compaction summary may replace the history it
// was made of. Pure: no model, no I/O, no clock; equal input gives an equal verdict.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace daybook::engine {

/// Raised whenever the same input may get another verdict; recorded with every verdict.
inline constexpr std::uint32_t kGateVersion = 5;

/// The sections of a summary, in order. The summariser's instruction names them and the gate
/// demands them. What the user demanded is quoted in the first.
inline constexpr std::array<std::string_view, 8> kSummaryHeadings = {
    "## Goal and constraints",        // mandates in the user's own words, quoted
    "## Decisions",                   // each with its reason
    "## Files",                       // written, edited, read, with what matters about each
    "## Identifiers and numbers",     // symbols, hashes, URLs, ports, versions, quantities
    "## Commands and results",        // what ran last and how it ended
    "## Errors and failed attempts",  // messages as they were; what not to try again
    "## State of the work",           // done, under way, not begun
    "## Next step",                   // the one thing to do next
};

enum class SpanKind : std::uint8_t {
  kUser,          // what a human wrote
  kAssistant,     // what the model wrote, reasoning left out
  kToolCall,      // arguments JSON
  kToolResult,    // what the model was told
  kPriorSummary,  // the summary that stands in for everything older
  kInjected,      // what the program put among the messages: notices, folders, command arguments
};

/// One piece of the history that is compacted, in order. Views must outlive their use.
struct SpanItem {
  SpanKind kind = SpanKind::kUser;
  std::string_view text;
  std::string_view tool = {};  // name: calls and results
  bool ok = true;              // results: the tool did not report an error
};

/// How the provider said the reply ended.
enum class SummaryStop : std::uint8_t { kNatural, kOutputLimit, kOther };

struct SummaryReply {
  std::string_view text;  // reasoning removed
  SummaryStop stop = SummaryStop::kNatural;
};

struct GateLimits {
  // G3, in bytes: a Chinese character says about as much as three Latin letters.
  std::size_t min_bytes = 400;
  std::size_t max_bytes = 64'000;            // what 16,000 tokens hold
  double min_ratio = 0.002;                  // of the span; asks for at most max_min_bytes
  std::size_t max_min_bytes = 4'000;         // a long span alone never demands more than this
  double max_ratio = 0.25;                   // of the span
  std::size_t always_allowed_bytes = 6'000;  // whatever max_ratio says: short spans have short text
  // G4
  bool first_heading_implied = true;  // the instruction ends on it, so the reply may go on from it
  // G7, in words; a CJK character is a word
  std::size_t max_copied_words = 120;  // in one run, from anything but user and prior summary
  double max_copied_share = 0.6;       // of the summary, in runs of 16 words and more
  double max_repeated_share = 0.3;     // of the 6-word sequences, seen earlier in the summary
  // G8
  std::size_t min_quote_words = 4;  // shorter quotes are terms
  double min_quote_match = 0.8;     // of the quote's distinct words, close together in a message
  // G9
  double min_entity_precision = 0.95;  // over all entities
  std::size_t max_unknown_hard = 0;    // paths, URLs, hashes, ids, ports, versions, quantities
};

/// Stable: recorded in events.
enum class GateCode : std::uint8_t {
  kEmpty = 1,           // G1: nothing left after reasoning
  kTruncated,           // G2: the output limit, or text that breaks off
  kTooShort,            // G3
  kTooLong,             // G3
  kMissingHeading,      // G4: missing or out of order
  kEmptySection,        // G4: neither content nor "none"
  kNextActionVoice,     // G5: goes on working instead of summing up
  kRefusal,             // G6: refuses, apologises, asks, or announces
  kCopied,              // G7: pasted transcript
  kRepetitive,          // G7: loops
  kInventedUserQuote,   // G8: no user wrote that
  kUnknownEntities,     // G9: a path, id or quantity that is nowhere in the span
  kUnbackedCompletion,  // G10: claims what no successful tool result shows
  kWrongLanguage,       // G11: not the user's language
  kIntroducedSecret,    // G11: looks like a key or password
};

/// Lower-case with dashes ("missing-heading").
std::string_view name_of(GateCode code);
/// "G1" to "G11".
std::string_view check_of(GateCode code);

struct GateFinding {
  GateCode code = GateCode::kEmpty;
  std::string evidence;  // an excerpt or a figure, at most 160 bytes; secrets cut to 4 bytes
};

enum class GateVerdict : std::uint8_t {
  kUsable,
  kRepairable,  // a summary with named faults: a retry may be shown the reply
  kUnusable,    // no summary: a retry starts afresh
};
std::string_view name_of(GateVerdict verdict);

struct GateResult {
  GateVerdict verdict = GateVerdict::kUsable;
  std::vector<GateFinding> findings;  // in the order of the codes; at most 8 of each code
  double entity_precision = 1;        // 1 when the summary names no entity
  std::size_t entities = 0;           // distinct ones in the summary
};

class PreparedSpan;  // engine/prepared_span.h: one span, many replies

/// The whole judgement, in time linear in span and reply. `headings` in order, as in
/// kSummaryHeadings; none: the shape is not checked.
GateResult judge_summary(std::span<const SpanItem> span, const SummaryReply& reply,
                         std::span<const std::string_view> headings, const GateLimits& limits);
GateResult judge_summary(const PreparedSpan& span, const SummaryReply& reply,
                         std::span<const std::string_view> headings, const GateLimits& limits);

/// What the one retry is told: each fault once, with its evidence. "" for a usable summary.
std::string repair_instruction(const GateResult& result);

}  // namespace daybook::engine
