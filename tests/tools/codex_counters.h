// What Codex logs count tokens with, as JSON.
#pragma once

#include <fmt/format.h>

#include <string>

namespace daybook::tests {

inline std::string codex_usage(int input, int cached, int output) {
  return fmt::format(R"({{"input_tokens":{},"cached_input_tokens":{},"output_tokens":{},)"
                     R"("reasoning_output_tokens":0,"total_tokens":{}}})",
                     input, cached, output, input + output);
}

/// The payload of an event_msg line: the thread's running total, and the last response's own.
inline std::string codex_token_count(const std::string& total, const std::string& last) {
  return fmt::format(R"({{"type":"token_count","info":{{"total_token_usage":{},)"
                     R"("last_token_usage":{}}}}})",
                     total, last);
}

}  // namespace daybook::tests
