#include "tools/log_codex_thread.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace daybook::tools {
namespace {

constexpr std::array<std::string_view, 9> kOutputItems = {
    "reasoning",         "function_call",    "custom_tool_call",      "local_shell_call",
    "web_search_call",   "tool_search_call", "image_generation_call", "agent_message",
    "compaction_summary"};

constexpr std::array<std::string_view, 10> kQuietItems = {"ghost_snapshot",
                                                          "configuration_update",
                                                          "compaction",
                                                          "context_compaction",
                                                          "tool_search_output",
                                                          "other",
                                                          "inter_agent_communication",
                                                          "message_metadata",
                                                          "world_state",
                                                          "additional_tools"};

constexpr std::array<std::string_view, 9> kMetadataTypes = {"world_state",
                                                            "inter_agent_communication",
                                                            "inter_agent_communication_metadata",
                                                            "retained_context",
                                                            "security_risk_score",
                                                            "realtime_item",
                                                            "session_state",
                                                            "thread_name",
                                                            "session_index"};

/// Events that tell again what items tell, or that only a screen needs.
constexpr std::array<std::string_view, 34> kMirrorEvents = {"agent_message",
                                                            "agent_reasoning",
                                                            "agent_reasoning_raw_content",
                                                            "agent_reasoning_section_break",
                                                            "item_completed",
                                                            "item_started",
                                                            "exec_command_begin",
                                                            "patch_apply_begin",
                                                            "mcp_tool_call_begin",
                                                            "web_search_begin",
                                                            "web_search_end",
                                                            "patch_apply_end",
                                                            "mcp_tool_call_end",
                                                            "collab_agent_spawn_end",
                                                            "collab_close_end",
                                                            "collab_wait_end",
                                                            "collab_agent_interaction_end",
                                                            "context_compacted",
                                                            "entered_review_mode",
                                                            "exited_review_mode",
                                                            "thread_name_updated",
                                                            "thread_goal_updated",
                                                            "error",
                                                            "warning",
                                                            "stream_error",
                                                            "turn_diff",
                                                            "plan_update",
                                                            "view_image_tool_call",
                                                            "background_event",
                                                            "undo_completed",
                                                            "deprecation_notice",
                                                            "model_reroute",
                                                            "session_configured",
                                                            "hook_completed"};

template <class List>
bool holds(const List& list, std::string_view what) {
  return std::ranges::find(list, what) != list.end();
}

}  // namespace

void CodexThread::Response::add(std::string_view item) {
  raw += item;
  ends.push_back(raw.size());
}

JsonSpan CodexThread::Response::item(std::size_t number) const {
  const std::size_t from = number == 0 ? 0 : ends[number - 1];
  return JsonSpan::trusted(std::string_view(raw).substr(from, ends[number] - from));
}

void CodexThread::Response::clear() {
  constexpr std::size_t kMostKept = std::size_t{1} << 20;
  Response empty;
  if (raw.capacity() <= kMostKept) {
    empty.raw = std::move(raw);
    empty.raw.clear();
    empty.ends = std::move(ends);
    empty.ends.clear();
  }
  *this = std::move(empty);
}

CodexThread::CodexThread(LogReading& reading, const std::string& id)
    : reading_(reading), log_(reading, id), counter_(!reading.usage_only()) {}

void CodexThread::header(const CodexLine& line, const CodexOrigins& origins) {
  auto& header = log_.header();
  header.parent = origins.parent;
  header.relation = origins.relation;
  header.agent = origins.agent;
  header.workspace = line.payload["cwd"].text();
  header.program_version = line.payload["cli_version"].text();
  header.started_at = line.at;
  history_start_ = origins.history_start;
  for (const std::string& thread : {origins.forked, origins.parent}) add_foreign(thread);
  const std::string provider = line.payload["model_provider"].text();
  if (!provider.empty()) provider_ = provider;
  instructions_ = line.payload["base_instructions"]["text"].text();
  if (instructions_.empty()) instructions_ = line.payload["instructions"].text();
}

void CodexThread::add_foreign(const std::string& thread) {
  const bool known = std::ranges::find(foreign_, thread) != foreign_.end();
  if (!thread.empty() && thread != id() && !known) foreign_.push_back(thread);
}

bool CodexThread::is_copied(const CodexLine& line, const LogRecord& record) const {
  if (reading_.recalled() != nullptr) return false;  // its reader says
  if (history_start_ && line.ordinal) {
    return *line.ordinal < *history_start_ && !line.type.is("session_meta");
  }
  return record.offset < copied_.end;
}

std::string CodexThread::line_type(const CodexLine& line) const {
  std::string type = line.type.text();
  const std::string kind = line.kind.text();
  if (!type.empty() && !kind.empty()) type += '/';
  return type + kind;
}

void CodexThread::keep(const CodexLine& line, schema::ImportReason reason, std::string_view detail,
                       Origin& origin) {
  const bool named = !reading_.usage_only() || reason == schema::ImportReason::unmapped;
  log_.keep(named ? line_type(line) : std::string(), reason, detail, origin);
}

void CodexThread::take(const CodexLine& line, const LogRecord& record) {
  Origin origin(reading_, record, line.at);
  if (origin) last_origin_ = origin;
  if (line.type.is("session_meta")) add_foreign(CodexOrigins(line.payload).thread);
  if (is_copied(line, record)) {
    take_copied(line, origin);
    return;
  }
  if (line.type.is("session_meta")) {
    keep(line, schema::ImportReason::metadata, "", origin);
  } else if (line.type.is("turn_context")) {
    has_context_ = true;
    settings(line.payload);
    keep(line, schema::ImportReason::metadata, "", origin);
  } else if (line.type.is("token_usage_record")) {
    token_record(line, record, origin);
  } else if (line.type.is("compacted")) {
    compacted(line, origin);
  } else if (line.type.is("event_msg")) {
    event(line, record, origin);
  } else if (line.type.is("response_item") || !line.enveloped) {
    if (!line.enveloped && line.kind.written().find('.') != std::string_view::npos) {
      exec_line(line, record, origin);
    } else {
      item(line, origin);
    }
  } else {
    const bool known = holds(kMetadataTypes, line.type.written());
    keep(line, known ? schema::ImportReason::metadata : schema::ImportReason::unmapped,
         known ? "" : "a type that is not known", origin);
  }
}

/// Another thread's history: it sets model and counters, and later requests begin with it.
void CodexThread::take_copied(const CodexLine& line, Origin& origin) {
  if (line.type.is("turn_context")) settings(line.payload);
  if (line.type.is("event_msg") && line.kind.is("token_count")) {
    counter_.baseline(line.payload["info"]);
  }
  if (line.type.is("event_msg") && line.kind.is("thread_settings_applied")) {
    settings(line.payload["thread_settings"]);
  }
  if (line.type.is("response_item")) append_message(line.payload.raw());
  if (line.type.is("compacted")) {
    after_compaction_ = true;
    replace_history(line.payload);
  }
  if (line.type.is("session_meta")) reading_.note("history copied from another thread");
  note_copied_answer(line);
  const bool answer = line.kind.is("token_count") || line.type.is("token_usage_record");
  const bool named = !reading_.usage_only();
  log_.keep(named ? line_type(line) : std::string(), schema::ImportReason::duplicate, kCopiedLine,
            origin, answer ? std::span<const Uuid>(goes_on_from_) : std::span<const Uuid>());
}

/// What the first own call goes on from is the last answer of the history before it.
void CodexThread::note_copied_answer(const CodexLine& line) {
  std::vector<std::string> keys;
  if (line.type.is("token_usage_record")) {
    CodexCounter counter(false);
    CodexCount count;
    counter.record(line.payload, count);
    add_foreign(line.payload["thread_id"].text());
    keys.push_back(std::move(count.key));
    copied_records_ = true;
  } else if (line.kind.is("token_count") && !copied_records_) {
    keys = copied_count_keys(line.payload["info"]);
  }
  std::vector<Uuid> ids;
  for (const std::string& thread : foreign_) {
    for (const std::string& key : keys) {
      ids.push_back(log_id(reading_, "response", thread + "/" + key));
    }
  }
  if (ids.empty()) return;
  // The same total again is no answer, but an estimate of what a compaction left.
  if (goes_on_from_.empty() || goes_on_from_.front() != ids.front()) after_compaction_ = false;
  goes_on_from_ = std::move(ids);
}

void CodexThread::settings(JsonSpan payload) {
  const auto set = [](std::string& into, JsonSpan value) {
    if (value.is_string()) into = value.text();
  };
  set(model_, payload["model"]);
  set(effort_, payload["effort"]);
  set(effort_, payload["reasoning_effort"]);
  set(provider_, payload["model_provider_id"]);
  set(tier_, payload["service_tier"]);
  if (log_.header().workspace.empty()) set(log_.header().workspace, payload["cwd"]);
}

// ------------------------------------------------------------------------------ items

void CodexThread::item(const CodexLine& line, Origin& origin) {
  const std::string_view kind = line.kind.written();
  if (kind == "message") {
    message(line, origin);
    return;
  }
  if (kind == "function_call_output" || kind == "custom_tool_call_output" ||
      kind == "local_shell_call_output") {
    call_output(line, origin);
  } else if (holds(kOutputItems, kind)) {
    output_item(line, origin);
  } else if (!line.enveloped && (kind.empty() || kind == "session_meta")) {
    keep(line, schema::ImportReason::metadata, "", origin);
  } else {
    const bool known = holds(kQuietItems, kind);
    keep(line, known ? schema::ImportReason::metadata : schema::ImportReason::unmapped,
         known ? "" : "an item that is not known", origin);
  }
}

void CodexThread::message(const CodexLine& line, Origin& origin) {
  const JsonSpan role = line.payload["role"];
  if (role.is("assistant")) {
    output_item(line, origin);
    return;
  }
  const JsonSpan content = line.payload["content"];
  std::string held;
  const std::string_view text = words_of(content, held);
  const bool written = role.is("user") && !is_codex_context(text);
  if (open_) open_->input_after = true;
  if (!written) {
    append_message(line.payload.raw());
    keep(line, schema::ImportReason::metadata, "context that the program added", origin);
  } else if (text == last_prompt_ && turn_has_prompt_) {
    append_message(line.payload.raw());
    keep(line, schema::ImportReason::duplicate, "the prompt again", origin);
  } else {
    prompt(text, content, line, origin);
    append_message(line.payload.raw());
  }
}

/// What tells one prompt from another. Depth::usage: as the log writes it, which costs no copy of
/// megabytes without their escapes.
std::string_view CodexThread::words_of(JsonSpan content, std::string& held) const {
  const auto all = [&] { return std::string_view(held = codex_text(content)); };
  if (!reading_.usage_only()) return all();
  JsonSpan only = content;
  std::size_t parts = 0;
  content.items([&](JsonSpan part) {
    only = part["text"];
    ++parts;
  });
  if (parts > 1 || !only.is_string()) return all();
  return only.written();
}

/// A message inside a turn that has its prompt steers that turn.
void CodexThread::prompt(std::string_view text, JsonSpan content, const CodexLine& line,
                         Origin& origin) {
  last_prompt_ = text;
  if (explicit_turn_ && turn_has_prompt_) {
    keep(line, schema::ImportReason::metadata, "steers the turn that is open", origin);
    return;
  }
  turn_has_prompt_ = true;
  log_.lead().line(line.at);
  turn_starts_.push_back(messages_.size());
  flush();
  if (reading_.usage_only()) {
    if (log_.header().title.empty()) log_.start_turn(codex_text(content), origin, "");
    return;
  }
  unknown_outcomes(origin);
  const std::string stable = fmt::format("{}/{}/{}", id(), line.at, Digest::of(last_prompt_).hex());
  log_.start_turn(last_prompt_, origin, stable);
}

void CodexThread::append_message(std::string_view raw) {
  if (!reading_.usage_only()) messages_.push_back(reading_.sink().blob(raw));
}

void CodexThread::output_item(const CodexLine& line, Origin& origin) {
  if (counted_ || (open_ && open_->input_after)) flush();
  if (!open_) {
    unknown_outcomes(origin);
    open_ = std::move(spare_);
    open_->clear();
    open_->first_at = line.at;
    open_->not_before = log_.lead().take();
    open_->slot = messages_.size();
    open_->origin = origin;
    if (!reading_.usage_only()) log_.hold();
  }
  open_->last_at = line.at;
  open_->add(line.payload.raw());
  if (!line.kind.is("message") && !line.kind.is("reasoning")) {
    if (is_codex_call(line.payload)) open_->tools.push_back(codex_tool(line.payload));
    if (const auto searches = codex_searches(line.payload)) {
      open_->searches = open_->searches.value_or(0) + *searches;
    }
  }
  append_message(line.payload.raw());
  if (line.kind.is("message") && !reading_.usage_only())
    last_answer_ = codex_text(line.payload["content"]);
  const bool first = open_->ends.size() == 1;
  if (!first) keep(line, schema::ImportReason::metadata, "a part of a response", origin);
  if (!reading_.usage_only()) open_->last_origin = origin;
}

void CodexThread::call_output(const CodexLine& line, Origin& origin) {
  if (open_) open_->input_after = true;
  log_.lead().line(line.at);
  if (reading_.usage_only()) return;
  append_message(line.payload.raw());
  const JsonSpan output = line.payload["output"];
  std::string text = codex_text(output);
  if (text.empty() && output.is_object()) text = output["content"].text();
  complete(line.payload["call_id"].text(), text.empty() ? output.raw() : std::string_view(text),
           origin);
}

// ------------------------------------------------------------------------------ events

void CodexThread::event(const CodexLine& line, const LogRecord& record, Origin& origin) {
  if (line.kind.is("token_count")) {
    token_count(line, record, origin);
    return;
  }
  if (line.kind.is("thread_settings_applied")) {
    settings(line.payload["thread_settings"]);
    keep(line, schema::ImportReason::metadata, "", origin);
    return;
  }
  if (line.kind.is("user_message")) {
    const JsonSpan content = line.payload["message"];
    std::string held;
    const std::string_view text = words_of(content, held);
    if (text == last_prompt_ && turn_has_prompt_) {
      keep(line, schema::ImportReason::duplicate, "the prompt again", origin);
    } else {
      prompt(text, content, line, origin);
    }
    return;
  }
  if (turn_event(line, origin)) return;
  if (line.kind.is("exec_command_end") && !reading_.usage_only()) {
    Ended ended;
    if (const auto code = line.payload["exit_code"].integer()) {
      ended.exit_code = static_cast<std::int32_t>(*code);
      ended.has_exit = true;
    }
    ended.output = line.payload["aggregated_output"].text();
    ended_[line.payload["call_id"].text()] = std::move(ended);
    keep(line, schema::ImportReason::duplicate, "the end of a call that its output tells", origin);
    return;
  }
  const bool known = holds(kMirrorEvents, line.kind.written());
  keep(line, known ? schema::ImportReason::metadata : schema::ImportReason::unmapped,
       known ? "" : "an event that is not known", origin);
}

bool CodexThread::turn_event(const CodexLine& line, Origin& origin) {
  if (line.kind.is("task_started") || line.kind.is("turn_started")) {
    explicit_turn_ = true;
    turn_has_prompt_ = false;
    keep(line, schema::ImportReason::metadata, "", origin);
    return true;
  }
  if (line.kind.is("task_complete") || line.kind.is("turn_complete")) {
    flush();
    const JsonSpan error = line.payload["error"];
    std::string answer = line.payload["last_agent_message"].text();
    if (answer.empty()) answer = last_answer_;
    const bool failed = error.is_object();
    log_.end_turn(failed ? schema::TurnOutcome::failed : schema::TurnOutcome::completed, answer,
                  failed ? error["message"].text() : "", origin);
    explicit_turn_ = false;
    turn_has_prompt_ = false;
    keep(line, schema::ImportReason::metadata, "", origin);
    return true;
  }
  if (line.kind.is("turn_aborted")) {
    flush();
    unknown_outcomes(origin);
    log_.end_turn(schema::TurnOutcome::interrupted, "", line.payload["reason"].text(), origin);
    explicit_turn_ = false;
    turn_has_prompt_ = false;
    keep(line, schema::ImportReason::metadata, "", origin);
    return true;
  }
  if (line.kind.is("thread_rolled_back")) {
    flush();
    const std::uint64_t turns = line.payload["num_turns"].count().value_or(0);
    for (std::uint64_t i = 0; i < turns && !turn_starts_.empty(); ++i) {
      messages_.resize(std::min(messages_.size(), turn_starts_.back()));
      turn_starts_.pop_back();
    }
    shared_ = std::min(shared_, messages_.size());
    turn_has_prompt_ = false;
    keep(line, schema::ImportReason::metadata, "the last turns are no longer sent", origin);
    return true;
  }
  return false;
}

void CodexThread::token_count(const CodexLine& line, const LogRecord& record, Origin& origin) {
  const JsonSpan info = line.payload["info"];
  if (!info.is_object()) {
    keep(line, schema::ImportReason::metadata, "rate limits only", origin);
    return;
  }
  auto counted = counter_.token_count(info);
  if (counted) {
    if (counted->tokens.clamped) reading_.note(kMoreCached);
    if (copied_.estimated || counted->tokens.clamped)
      counted->authority = schema::Authority::estimate;
    count(*std::move(counted), line, origin);
    return;
  }
  if (!counter_.wrong().empty()) {
    reading_.damaged(record.offset, counter_.wrong());
    keep(line, schema::ImportReason::damaged, counter_.wrong(), origin);
    return;
  }
  if (!counter_.note().empty()) reading_.note(counter_.note());
  keep(line, schema::ImportReason::duplicate, counter_.note(), origin);
}

void CodexThread::token_record(const CodexLine& line, const LogRecord& record, Origin& origin) {
  const std::string thread = line.payload["thread_id"].text();
  if (!thread.empty() && thread != id()) {
    keep(line, schema::ImportReason::duplicate, "another thread's record", origin);
    return;
  }
  CodexCount counted;
  const bool first = !counter_.by_records();
  if (first && !reading_.usage_only()) {
    unusable_ = conflicting_records(reading_.source(), id());
    reading_.report().conflicts += unusable_.size();
  }
  switch (counter_.record(line.payload, counted)) {
    case CodexCounter::Record::repeated:
      keep(line, schema::ImportReason::duplicate, "the same record again", origin);
      return;
    case CodexCounter::Record::conflicting:
      reading_.note("records of one response that disagree: none of them counts");
      if (unusable_.insert(counted.record).second) ++reading_.report().conflicts;
      keep(line, schema::ImportReason::duplicate, "disagrees with an earlier record", origin);
      return;
    case CodexCounter::Record::counted:
      break;
  }
  if (!counted.wrong.empty()) {
    reading_.damaged(record.offset, counted.wrong);
    unusable_.insert(counted.record);
    if (first && counted_) {
      keep(line, schema::ImportReason::damaged, counted.wrong, origin);
      return;
    }
  }
  // Where a file goes over to records, the counter may have told of this response already. It
  // keeps the name that it may have been imported under.
  if (first && counted_ && counted_->count.tokens.input == counted.tokens.input &&
      counted_->count.tokens.output == counted.tokens.output) {
    counted.key = std::move(counted_->count.key);
    counted_->count = std::move(counted);
    keep(line, schema::ImportReason::metadata, "confirms the counter before it", origin);
    return;
  }
  count(std::move(counted), line, origin);
}

void CodexThread::compacted(const CodexLine& line, Origin& origin) {
  const std::string response = line.payload["compaction_response_id"].text();
  if (!response.empty()) compactions_.insert(response);
  flush();
  log_.lead().line(line.at);
  after_compaction_ = true;
  if (reading_.usage_only()) return;
  schema::CompactionCommittedT made;
  const std::string summary = line.payload["message"].text();
  if (!summary.empty()) made.summary = reading_.sink().content(summary);
  replace_history(line.payload);
  // Most tell nothing, and so the same.
  std::string stable = fmt::format("{}/{}", id(), Digest::of(line.payload.raw()).hex());
  const std::uint64_t occurrence = reading_.occurrence("compaction/" + stable);
  if (occurrence != 0) stable += fmt::format("#{}", occurrence);
  log_.add(std::move(made), origin, "compaction", stable);
}

void CodexThread::replace_history(JsonSpan compacted) {
  messages_.clear();
  turn_starts_.clear();
  shared_ = 0;
  const JsonSpan replacement = compacted["replacement_history"];
  const JsonSpan summary = compacted["message"];
  if (replacement.is_array()) {
    replacement.items([&](JsonSpan item) { append_message(item.raw()); });
  } else if (!summary.text().empty()) {
    append_message(summary.raw());
  }
}

/// `codex exec --json`: usage comes once a turn, and on a resumed thread as its running total.
void CodexThread::exec_line(const CodexLine& line, const LogRecord& record, Origin& origin) {
  if (line.kind.is("turn.completed")) {
    Figures figures(kMostTokensSummed);
    const auto total = codex_tokens(line.payload["usage"], figures);
    if (!figures.wrong().empty()) reading_.damaged(record.offset, figures.wrong());
    if (total && total->billed()) {
      CodexCount made;
      const bool running = exec_total_ && total->covers(*exec_total_);
      made.tokens = running ? total->minus(*exec_total_) : *total;
      made.authority = schema::Authority::estimate;
      made.key = "exec/" + total->key();
      exec_total_ = total;
      if (made.tokens.billed()) {
        reading_.note("usage of whole turns: calls within them are not told apart");
        count(std::move(made), line, origin);
        counted_->response.searches = std::exchange(exec_searches_, {});
        return;
      }
    }
  }
  const JsonSpan item = line.payload["item"];
  if (line.kind.is("item.completed")) {
    if (const auto searches = codex_searches(item)) {
      exec_searches_ = exec_searches_.value_or(0) + *searches;
    }
  }
  if (line.kind.is("item.completed") && item["type"].is("agent_message") &&
      !reading_.usage_only()) {
    last_answer_ = item["text"].text();
  }
  keep(line, schema::ImportReason::metadata, "", origin);
}

}  // namespace daybook::tools
