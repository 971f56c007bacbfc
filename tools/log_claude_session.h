// One session of a Claude Code transcript: gathers the lines of each response, follows the
// conversation so that requests can be rebuilt, and pairs tool calls with their results.
#pragma once

#include <map>
#include <optional>
#include <set>

#include "tools/log_claude_branches.h"
#include "tools/log_claude_lines.h"
#include "tools/log_session.h"

namespace daybook::tools {

class ClaudeSession {
 public:
  /// What the whole file knows of a response: copies within it count once.
  struct Known {
    std::uint64_t output = 0;
    bool side = false;
    std::uint64_t request_hash = 0;  // 0: none was given
    ClaudeSession* session = nullptr;
  };
  struct KnownResponses {
    std::unordered_map<std::uint64_t, Known> closed;         // by hash of the id
    std::unordered_map<std::uint64_t, ClaudeSession*> open;  // whose lines are still gathered
  };

  /// `side`: a subagent's or a sidechain's. `known` is shared by all sessions of a file.
  ClaudeSession(LogReading& reading, std::string id, bool side, KnownResponses& known);

  LogSession& log() { return log_; }
  void assistant(const ClaudeLine& line, Origin& origin);
  void user(const ClaudeLine& line, Origin& origin);
  void boundary(const ClaudeLine& line, Origin& origin);
  void finish();

  /// A line's place in the conversation, for what names it as its parent.
  void place(const ClaudeLine& line) {
    if (!reading_.usage_only()) branches_.place(line.uuid.raw());
  }

 private:
  /// To this session, and `fresh` to the file. `better`: it told an earlier state of it. `copy`:
  /// another session of the file told it.
  enum class Novelty { fresh, better, copy, repeated };
  struct Part {  // one content block
    std::string raw;
    std::uint64_t hash = 0;
  };
  struct Response {
    std::uint64_t offset = 0;  // of its latest line
    std::string id;            // message.id, or the line's uuid
    std::string request;       // "" when not given
    std::int64_t first_at = 0;
    std::int64_t last_at = 0;
    std::int64_t not_before = 0;  // when what led to it was written; 0: not known
    bool ended = false;           // a line says why it stopped
    Novelty novelty = Novelty::fresh;
    bool has_usage = false;
    std::uint64_t output = 0;
    replay::CallUsage usage;
    std::string usage_raw;
    std::string model;
    std::string stop;
    std::string diagnostics;
    std::vector<std::string> tools;
    std::vector<Part> parts;
    Origin latest;  // its latest line
    std::vector<Origin> others;
    ClaudeBranches::Slot slot;
  };
  /// What a person wrote.
  struct Prompt {
    std::string text;
    std::string message;
    std::string parent;  // as JSON
    std::string uuid;    // as JSON
    std::string id;
    Origin origin;
  };
  struct OpenCall {
    Origin origin;
  };
  /// What a pending compaction said before its summary came.
  struct Compaction {
    schema::CompactionCommittedT event;
    Origin origin;
    std::string uuid;
  };

  void open(const ClaudeLine& line, std::string id);
  void absorb(const ClaudeLine& line, const ClaudeMessage& message, Origin& origin);
  void absorb_content(const ClaudeMessage& message);
  void close();
  Novelty novelty(std::string& stable_id);
  void emit(Response& response, const std::string& stable_id, Origin& origin);
  /// Takes what the call needs out of the response.
  void emit_call(Response& response, const std::string& stable_id);
  void emit_events(const Response& response, const std::string& stable_id, Origin& origin);
  /// Not the response itself, but a summary that the API made for it.
  bool is_pass(const Response& response) const { return &response != &*open_; }
  void emit_extra_passes(const Response& response, const std::string& stable_id, Origin& origin);
  schema::ModelRequestedT request_of(const Response& response) const;
  std::vector<std::unique_ptr<schema::BlockT>> blocks_of(const Response& response) const;
  std::vector<EventDraft> dispatches_of(const Response& response, Origin& origin);
  void store_answer(const Response& response);
  void tool_result(JsonSpan block, Origin& origin);
  void attach_persisted(schema::ToolCompletedT& completed, const std::string& call_id);
  void unknown_outcomes(Origin& origin);
  void start_compaction(const ClaudeLine& line, Origin& origin);
  void commit_compaction(std::string_view summary);
  /// What a line adds to the branch that it belongs to.
  void add_message(const ClaudeLine& line);
  void prompt(Prompt prompt);
  schema::Authority authority_of(const Response& response) const;

  LogReading& reading_;
  LogSession log_;
  bool side_;
  bool at_end_ = false;  // of the log as it is now
  KnownResponses& known_;
  std::unordered_set<std::uint64_t> told_;  // of responses that another session told as well
  std::optional<Response> open_;
  std::vector<Prompt> queued_;  // written while the response was: more of its lines may follow
  std::optional<Compaction> compaction_;
  bool after_compaction_ = false;  // for the next call, at Depth::usage
  std::optional<std::uint64_t> compacted_from_;
  std::optional<std::uint64_t> compacted_to_;
  std::map<std::string, OpenCall> calls_;
  std::set<std::string> dispatched_;
  std::set<std::string> answered_;

  ClaudeBranches branches_;
  std::uint64_t base_ = 0;  // position of the last request
  std::string last_answer_;
  bool last_ended_turn_ = false;
  Origin last_origin_;
};

}  // namespace daybook::tools
