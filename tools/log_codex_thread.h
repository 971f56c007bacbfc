// One thread of a Codex rollout: its responses, its conversation, its calls and its counters.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "tools/log_codex_lines.h"
#include "tools/log_codex_usage.h"
#include "tools/log_session.h"

namespace daybook::tools {

class CodexThread {
 public:
  CodexThread(LogReading& reading, const std::string& id);

  LogSession& log() { return log_; }
  const std::string& id() const { return log_.id(); }
  void header(const CodexLine& line, const CodexOrigins& origins);
  /// Lines before `end` are another thread's.
  void copied_until(CodexCopied copied) { copied_ = copied; }

  /// A line of another thread's history.
  void take_copied(const CodexLine& line, const LogRecord& record) {
    Origin origin(reading_, record, line.at);
    take_copied(line, origin);
  }
  void take(const CodexLine& line, const LogRecord& record);
  void finish();

 private:
  /// Items of one response, until its figures come.
  struct Response {
    std::int64_t first_at = 0;
    std::int64_t last_at = 0;
    std::int64_t not_before = 0;    // when what led to it was written; 0: not known
    std::size_t slot = 0;           // messages before the answer
    std::string raw;                // its items, one after the other
    std::vector<std::size_t> ends;  // of each in `raw`
    std::vector<std::string> tools;
    std::optional<std::uint64_t> searches;  // on the web, at least
    Origin origin;
    Origin last_origin;  // of the latest item; not at Depth::usage
    bool input_after = false;

    void add(std::string_view item);
    JsonSpan item(std::size_t number) const;
    /// As if new, but for the memory that it holds.
    void clear();
  };
  struct Counted {
    CodexCount count;
    Response response;
    Origin origin;
    std::int64_t at = 0;
    std::string model;
  };
  struct Ended {  // exec_command_end and its like
    std::int32_t exit_code = 0;
    bool has_exit = false;
    std::string output;
  };

  void add_foreign(const std::string& thread);
  bool is_copied(const CodexLine& line, const LogRecord& record) const;
  void take_copied(const CodexLine& line, Origin& origin);
  void note_copied_answer(const CodexLine& line);
  void replace_history(JsonSpan compacted);
  void settings(JsonSpan payload);
  void item(const CodexLine& line, Origin& origin);
  void message(const CodexLine& line, Origin& origin);
  void output_item(const CodexLine& line, Origin& origin);
  void call_output(const CodexLine& line, Origin& origin);
  void event(const CodexLine& line, const LogRecord& record, Origin& origin);
  bool turn_event(const CodexLine& line, Origin& origin);
  /// Of the line, or of `held`, which then holds them.
  std::string_view words_of(JsonSpan content, std::string& held) const;
  void prompt(std::string_view text, JsonSpan content, const CodexLine& line, Origin& origin);
  void token_count(const CodexLine& line, const LogRecord& record, Origin& origin);
  void token_record(const CodexLine& line, const LogRecord& record, Origin& origin);
  void compacted(const CodexLine& line, Origin& origin);
  void exec_line(const CodexLine& line, const LogRecord& record, Origin& origin);
  void count(CodexCount count, const CodexLine& line, Origin& origin);
  void flush();
  void give_held();
  bool figures_may_come(std::int64_t at) const;
  bool waits() const;
  void emit(Counted& counted);
  static replay::CallUsage usage_of(const Counted& counted);
  void emit_events(Counted& counted, const std::string& stable_id, const std::string& lineage);
  schema::ModelRequestedT request_of(const Counted& counted, const std::string& lineage);
  std::vector<std::unique_ptr<schema::BlockT>> blocks_of(const Response& response);
  std::vector<EventDraft> dispatches_of(const Response& response, Origin& origin);
  void complete(const std::string& call_id, std::string_view result, Origin& origin);
  void unknown_outcomes(Origin& origin);
  void append_message(std::string_view raw);
  void keep(const CodexLine& line, schema::ImportReason reason, std::string_view detail,
            Origin& origin);
  std::string line_type(const CodexLine& line) const;

  LogReading& reading_;
  LogSession log_;
  CodexCounter counter_;
  CodexCopied copied_;
  std::vector<std::string> foreign_;  // threads whose history this one may have been given
  /// The latest answer of that history, by what may be its id; until the first own call.
  std::vector<Uuid> goes_on_from_;
  bool copied_records_ = false;  // from the first one on counters tell of no other answers
  std::optional<std::uint64_t> history_start_;
  std::string model_;
  std::string provider_ = "openai";
  std::string effort_;
  std::string tier_;
  std::string instructions_;
  bool system_sent_ = false;

  /// Records (CodexCount::record) that cannot be used: they disagree, or are wrong.
  std::unordered_set<std::string> unusable_;
  struct HeldCall {
    std::string record;
    replay::Call call;
  };
  std::vector<HeldCall> held_;  // Depth::usage: a later record may still disagree

  std::optional<Response> open_;
  Response spare_;                     // gives its memory to the next one
  std::optional<Counted> counted_;     // figures of the latest response; a record may confirm them
  std::set<std::string> compactions_;  // response ids that compaction lines name
  bool after_compaction_ = false;

  std::vector<BlobRef> messages_;
  std::size_t shared_ = 0;
  std::uint64_t base_ = 0;
  std::vector<std::size_t> turn_starts_;
  bool explicit_turn_ = false;
  bool has_context_ = false;  // turn_context lines came with figures, or a little after
  bool turn_has_prompt_ = false;
  std::string last_prompt_;
  std::string last_answer_;
  std::map<std::string, Origin> calls_;
  std::set<std::string> dispatched_;
  std::set<std::string> answered_;
  std::map<std::string, Ended> ended_;
  std::optional<CodexTokens> exec_total_;
  std::optional<std::uint64_t> exec_searches_;  // of the turn
  Origin last_origin_;
};

}  // namespace daybook::tools
