// What the summariser is asked, and the request that asks it.
#pragma once

#include <string>
#include <string_view>

#include "engine/context.h"
#include "engine/span.h"

namespace daybook::engine {

struct SummaryAsk {
  /// A model that reads the session last goes on with it instead of summing it up; the other shape
  /// is kept for comparisons.
  schema::PromptShape shape = schema::PromptShape::instruction_last;
  std::uint64_t max_tokens = 16'000;  // of the reply, reasoning included
  std::size_t transcript_bytes = 0;   // longest transcript; 0: no limit
  std::string reasoning = "off";      // "off", "default": as the model is configured, or an effort
  std::string temperature;            // decimal number; "": not sent
  std::string repair;                 // what was wrong with the reply before; "": first try
};

/// What the open compaction asks now: a reply that was refused is named with its faults.
SummaryAsk ask_of(const SessionState& state);

/// The text of the request's one message. Equal input gives equal bytes.
std::string summary_prompt(const std::vector<PastItem>& items, const SummaryAsk& ask);

/// The request: a system line, the prompt, no tools. `event` is complete but for `request` and
/// `attempt`, and is of the lineage kSummaryLineage.
PreparedRequest prepare_summary(const ModelChoice& choice, const std::string& prompt,
                                const SummaryAsk& ask);

/// A request of a system line and one message, without tools; as above, but of no lineage.
PreparedRequest prepare_prompt(const ModelChoice& choice, std::string_view system,
                               const std::string& prompt);

/// The model as the summariser is called. Reasoning that cannot be switched off is set low.
ModelChoice summariser(ModelChoice choice, const SummaryAsk& ask);

/// How a reply ended, in the gate's words.
SummaryStop summary_stop(schema::StopReason stop);

/// The reply as the gate takes it; `text` holds the bytes.
SummaryReply gate_reply(const Reply& reply, std::string& text);

}  // namespace daybook::engine
