// A reply taken apart: sections, words, quotes. What the gate's checks share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/prepared_span.h"
#include "engine/summary_gate.h"

namespace daybook::engine {

struct Section {
  std::string_view heading;  // as demanded
  std::string_view body;     // up to the next heading
  bool found = false;
  bool in_order = true;  // not before a section that should precede it
  bool implied = false;  // the first, begun by the instruction
};

struct SummaryText {
  std::string_view text;      // trimmed
  std::string_view preamble;  // before the first heading, unless that is the first section
  std::vector<Section> sections;
  std::size_t headings_found = 0;
  std::vector<std::uint32_t> words;
};

SummaryText read_summary(std::string_view text, std::span<const std::string_view> headings,
                         bool first_heading_implied);

std::string_view trimmed(std::string_view text);

/// Whether the section states goals, demands or plans: what it says is not claimed to be done.
bool states_demands(std::string_view heading);

/// ASCII letters small, typographic apostrophes plain; at most `limit` bytes of text are read.
std::string folded(std::string_view text, std::size_t limit);

/// The next line of `rest`, without its end; moves `rest` behind it.
std::string_view take_line(std::string_view& rest);

/// At most 160 bytes, on one line.
std::string excerpt(std::string_view text);

/// Negations and what makes a statement a plan, in English, German, French, Spanish, Chinese.
bool is_negation(std::uint64_t word);

/// What all checks read, and where their findings go.
struct GateContext {
  const PreparedSpan& span;
  const SummaryReply& reply;
  const SummaryText& summary;
  const GateLimits& limits;
  GateResult& result;

  /// Keeps at most 8 findings of a code.
  void add(GateCode code, std::string evidence) const;
};

// One function a file's subject; each adds its findings.
void check_shape(const GateContext& context);     // G2, G3, G4
void check_voice(const GateContext& context);     // G5, G6
void check_copies(const GateContext& context);    // G7
void check_quotes(const GateContext& context);    // G8
void check_entities(const GateContext& context);  // G9
void check_claims(const GateContext& context);    // G10
void check_language(const GateContext& context);  // G11
void check_secrets(const GateContext& context);   // G11

}  // namespace daybook::engine
