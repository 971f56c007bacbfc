// How Codex rollouts count tokens: cumulative counters that are sent again, reset and overwritten,
// and in newer files one record a response.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "replay/call.h"
#include "tools/log_figures.h"

namespace daybook::tools {

struct CodexTokens {
  std::uint64_t input = 0;   // includes cached and cache_write
  std::uint64_t cached = 0;  // at most input
  std::uint64_t cache_write = 0;
  std::uint64_t output = 0;  // includes reasoning
  std::uint64_t reasoning = 0;
  std::uint64_t total = 0;
  // Whether the log says so: what it does not say is not zero.
  bool has_input = false;
  bool has_cached = false;
  bool has_cache_write = false;
  bool has_output = false;
  bool has_reasoning = false;
  bool clamped = false;  // more was said to be cached than there was

  /// Of the counts alone.
  bool operator==(const CodexTokens& other) const;
  bool billed() const { return input + output > 0; }
  /// Whether every counter is at least what it was.
  bool covers(const CodexTokens& before) const;
  CodexTokens minus(const CodexTokens& before) const;
  /// Whether responses can have used this: no part is more than what it is of.
  bool possible() const;
  std::string key() const;
  replay::CallUsage usage() const;
};

/// Nothing when it is no usage object, or when one of its figures is wrong.
std::optional<CodexTokens> codex_tokens(JsonSpan usage, Figures& figures);

/// What one model response used, as far as an event adds to what was counted.
struct CodexCount {
  CodexTokens tokens;
  schema::Authority authority = schema::Authority::derived;
  std::string response_id;  // "" when the log has none
  std::string key;          // names the count within its thread
  std::string record;       // names its token_usage_record; "": there is none
  std::string raw;          // the usage object
  std::string wrong;        // why a record's figures cannot be used; "": they can
};

/// The keys by which another thread may have counted the answer that a copied token_count tells of.
std::vector<std::string> copied_count_keys(JsonSpan info);

/// The counting rule of one thread.
class CodexCounter {
 public:
  /// `keep_raw`: counts come with the usage object's text.
  explicit CodexCounter(bool keep_raw) : keep_raw_(keep_raw) {}
  /// token_count's info. Nothing when it repeats, resets or only estimates.
  std::optional<CodexCount> token_count(JsonSpan info);
  /// Copied history: its last total is where this thread starts.
  void baseline(JsonSpan info);
  enum class Record { counted, repeated, conflicting };
  /// A token_usage_record of this thread.
  Record record(JsonSpan payload, CodexCount& count);
  /// From the first record on the cumulative counters are not counted.
  bool by_records() const { return by_records_; }
  /// Whether the thread's log tells figures at all.
  bool has_any() const { return by_records_ || previous_.has_value(); }
  const std::string& note() const { return note_; }
  /// What is wrong with the latest token_count, which thus does not count; "": nothing.
  const std::string& wrong() const { return wrong_; }

 private:
  bool keep_raw_;
  std::optional<CodexTokens> previous_;
  std::string previous_info_;  // as it was written
  bool by_records_ = false;
  std::unordered_map<std::string, CodexTokens> records_;
  std::string note_;   // of the latest event
  std::string wrong_;  // in the latest event
};

}  // namespace daybook::tools
