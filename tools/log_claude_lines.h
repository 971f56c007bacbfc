// Claude Code transcripts: one line, and what it says about tokens.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "replay/call.h"
#include "tools/log_figures.h"

namespace daybook::tools {

/// The members that a line is read for; all point into the line.
struct ClaudeLine {
  explicit ClaudeLine(JsonSpan record);

  JsonSpan type;
  JsonSpan uuid;
  JsonSpan parent;
  JsonSpan logical_parent;  // of a boundary, which has no other
  JsonSpan session;
  JsonSpan timestamp;
  JsonSpan version;
  JsonSpan cwd;
  JsonSpan agent;
  JsonSpan request;
  JsonSpan subtype;
  JsonSpan message;
  JsonSpan compact;    // compactMetadata
  JsonSpan forked;     // forkedFrom
  JsonSpan tool_data;  // toolUseResult
  bool sidechain = false;
  bool meta = false;
  bool summary = false;    // isCompactSummary
  bool api_error = false;  // isApiErrorMessage

  std::int64_t at = 0;       // UTC ns; 0: the line does not say
  bool time_wrong = false;   // it does, but in no way that can be read
  std::uint64_t offset = 0;  // in the file; its reader says
};

/// An assistant line's message.
struct ClaudeMessage {
  explicit ClaudeMessage(JsonSpan message);

  JsonSpan id;
  JsonSpan model;
  JsonSpan content;
  JsonSpan stop_reason;
  JsonSpan usage;
  JsonSpan diagnostics;
};

/// A usage object's figures: none when one of them is wrong. Those that contradict each other are
/// an estimate.
replay::CallUsage claude_usage(JsonSpan usage, Figures& figures);

/// Passes that the top-level figures leave out: summaries made by the API itself. Passes of other
/// types only repeat them.
std::vector<JsonSpan> claude_extra_passes(JsonSpan usage);

/// The figures as an event holds them; `raw` is the provider's object.
std::unique_ptr<schema::UsageT> usage_event(const replay::CallUsage& usage, std::string_view raw);

schema::StopReason claude_stop(std::string_view reason);

/// Text of a user line's or a tool result's content: a string, or its text blocks.
std::string claude_text(JsonSpan content);

/// Whether text on a user line was put there by the program, not written by a person.
bool is_injected(std::string_view text);

/// Who billed, as far as a transcript tells: Anthropic, unless a vendor stands before the model.
inline std::string claude_provider(std::string_view model) {
  return model.find('/') == std::string_view::npos ? "anthropic" : "";
}

}  // namespace daybook::tools
