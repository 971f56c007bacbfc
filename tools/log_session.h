// What every reader shares: where its records come from, and the sessions that it fills.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tools/log_file.h"
#include "tools/log_json.h"
#include "tools/log_source.h"

namespace daybook::tools {

/// One record of a log: usually a whole line, else the part of a damaged line that could be read.
struct LogRecord {
  JsonSpan value;
  std::uint64_t offset = 0;
};

class Origin;

/// The file being read, its sink and its report.
class LogReading {
 public:
  LogReading(const LogSource& source, const LogReadOptions& options, const ByteSource& bytes,
             LogSink& sink)
      : source_(source), options_(options), bytes_(bytes), sink_(sink), told_(source.told) {}

  const LogSource& source() const { return source_; }
  const LogReadOptions& options() const { return options_; }
  LogSink& sink() { return sink_; }
  LogReport& report() { return report_; }
  LogKind kind() const { return source_.kind; }
  bool usage_only() const { return options_.depth == Depth::usage; }
  bool whole() const { return options_.depth == Depth::whole; }
  std::size_t most_line_bytes() const {
    return options_.most_line_bytes == 0 ? kMostLogLineBytes : options_.most_line_bytes;
  }

  /// For the values of the current record.
  JsonTape& tape() { return tape_; }

  /// Takes a line before its records are looked at.
  void begin_line(const LogLine& line);
  /// Takes what is left of the line, whose bytes are not looked at after this.
  void end_line();
  /// What was read up to `read` and in complete lines up to `committed`.
  void end(std::uint64_t read, std::uint64_t committed);
  /// Digest of the file's bytes up to `end`, which must not lie behind the current line.
  Digest prefix(std::uint64_t end);

  /// Counts a line once, however much of it is wrong.
  void damaged(std::uint64_t offset, std::string what);
  void unmapped(const std::string& type, std::uint64_t offset);
  void note(const std::string& what);

  /// The first error of the sink; readers stop when there is one.
  const std::optional<Error>& error() const { return error_; }
  void deliver(const std::string& session, EventDraft draft);

  /// Gives `take` what the sink holds of a session from before `first`, as if it stood in this
  /// file; the report does not change.
  void recall(const std::string& session, const Origin& first,
              const std::function<void(const LogRecord&)>& take);

  /// The line that is recalled; null: what is read is the file's own.
  const EarlierLine* recalled() const { return recalled_; }

  /// Gives `take` one line of another file in the same way.
  void recall_line(const EarlierLine& line, const std::function<void(const LogRecord&)>& take);

  /// Numbers repeated things: 0 for the first `key` of this file, then 1, 2, ...
  std::uint64_t occurrence(std::string_view key);

 private:
  void recall(const EarlierLine& line, JsonTape& tape,
              const std::function<void(const LogRecord&)>& take);
  /// Of an offset: the file, and where in it.
  std::pair<const std::string&, std::uint64_t> place(std::uint64_t offset) const;

  const LogSource& source_;
  const LogReadOptions& options_;
  const ByteSource& bytes_;
  LogSink& sink_;
  LogReport report_;
  std::size_t told_ = 0;          // files at the start that another source reports
  std::uint64_t told_bytes_ = 0;  // in them
  std::optional<Error> error_;
  Digester digester_;
  JsonTape tape_;
  const EarlierLine* recalled_ = nullptr;
  std::string_view line_;                      // bytes of the current line
  std::uint64_t line_offset_ = 0;              // of line_
  std::uint64_t digested_ = 0;                 // bytes of the file in digester_
  std::unordered_set<std::uint64_t> damaged_;  // offsets
  std::unordered_map<std::uint64_t, std::uint32_t> occurrences_;
};

/// Where events come from. The first one that is made of a record carries its raw text.
class Origin {
 public:
  Origin() = default;
  Origin(LogReading& reading, const LogRecord& record, std::int64_t at);
  /// Of a line that is no record.
  Origin(LogReading& reading, const LogLine& line);
  explicit operator bool() const { return first_ != nullptr; }
  std::int64_t at() const { return at_; }
  /// Of a line that the sink holds: it is not to be kept again.
  bool recalled() const { return recalled_; }
  std::uint64_t offset() const { return first_ == nullptr ? 0 : first_->offset; }
  const std::vector<std::uint8_t>& payload_hash() const { return first_->payload_sha256; }
  std::shared_ptr<const schema::ProvenanceT> take();
  /// The same place without the raw text.
  std::shared_ptr<const schema::ProvenanceT> place() const { return again_; }

 private:
  void fill(LogReading& reading, std::uint64_t offset, std::string_view raw, bool json);

  std::int64_t at_ = 0;
  bool taken_ = false;
  bool recalled_ = false;
  std::shared_ptr<const schema::ProvenanceT> first_;
  std::shared_ptr<const schema::ProvenanceT> again_;
};

/// One session of a log: its header, its events in order, its turns. While a response is open its
/// successors wait, so that they come after it.
class LogSession {
 public:
  LogSession(LogReading& reading, std::string id);

  const std::string& id() const { return header_.log_session; }
  /// Header fields may be filled until the first call; the title a little longer.
  schema::SessionImportedT& header() { return header_; }
  const schema::SessionImportedT& header() const { return header_; }
  std::shared_ptr<const replay::CallSession> call_session();

  /// Queues an event, made of `origin`, with an id from `role` and `stable_id`.
  template <class PayloadT>
  void add(PayloadT payload, Origin& origin, std::string_view role, std::string_view stable_id);
  void add(EventDraft draft);

  /// The first prompt names the session.
  void name_by(std::string_view prompt);

  /// Adds a call before what waits, and what follows from it at once. Returns the position of the
  /// request.
  std::uint64_t add_call(EventDraft request, EventDraft response,
                         std::vector<EventDraft> followers);
  void hold() { holding_ = true; }
  void release();
  /// What waits becomes lines that are kept, for the time being no more: what it waits for has not
  /// come.
  void set_aside(std::string_view why);

  /// Ends the current turn, if one is open, and starts the next. Both by what the log says.
  void start_turn(std::string_view prompt, Origin& origin, std::string_view stable_id);
  void end_turn(schema::TurnOutcome outcome, std::string_view answer, std::string_view message,
                Origin& origin);
  bool turn_open() const { return turn_open_; }
  std::uint32_t turn() const { return turn_; }

  /// Keeps a record that became no other event. `repeats` as in ImportedLine.
  void keep(std::string_view type, schema::ImportReason reason, std::string_view detail,
            Origin& origin, std::span<const Uuid> repeats = {});

  std::uint64_t next_call_version() { return ++calls_; }

  /// Lines that lead to requests: what `Call::not_before` is made of.
  replay::LeadTime& lead() { return lead_; }

  /// The sink holds its beginning.
  void go_on() { goes_on_ = true; }
  /// Everything that waits goes to the sink. Lines alone make no session, but go on with one.
  void finish();

 private:
  void hand_over(EventDraft draft);
  void put_header();

  LogReading& reading_;
  schema::SessionImportedT header_;
  std::shared_ptr<const replay::CallSession> call_session_;
  bool header_out_ = false;
  bool goes_on_ = false;
  bool holding_ = false;
  std::vector<EventDraft> before_header_;
  std::deque<EventDraft> waiting_;
  std::shared_ptr<schema::ProvenanceT> first_origin_;
  std::uint64_t position_ = 0;
  std::uint64_t calls_ = 0;
  replay::LeadTime lead_;
  std::uint32_t turn_ = 0;
  bool turn_open_ = false;
};

/// ImportedLine.detail of the first line of an answer that is no call yet.
inline constexpr std::string_view kWaitingLine = "an answer whose figures have not come yet";

/// The prompt, cut to what a listing shows.
std::string title_of(std::string_view prompt);

Uuid log_id(const LogReading& reading, std::string_view role, std::string_view stable_id,
            std::uint64_t occurrence = 0);

template <class PayloadT>
void LogSession::add(PayloadT payload, Origin& origin, std::string_view role,
                     std::string_view stable_id) {
  EventDraft made = draft(std::move(payload), turn_);
  made.id = log_id(reading_, role, stable_id);
  made.provenance = origin.take();
  add(std::move(made));
}

/// Splits a line into its records: one when it is sound; of a spliced or torn line, those that
/// can still be read. `is_record` tells records from values inside them. Returns what is wrong
/// with the line, "" when nothing of it is lost.
std::string visit_records(LogReading& reading, const LogLine& line,
                          const std::function<bool(JsonSpan)>& is_record,
                          const std::function<void(const LogRecord&)>& visit);

/// What a format makes of its records.
class RecordReader {
 public:
  virtual ~RecordReader() = default;
  virtual bool is_record(JsonSpan value) const = 0;
  virtual void take(const LogRecord& record) = 0;
  /// A line that cannot be read, wholly or in part. At Depth::whole only.
  virtual void take_damaged(Origin origin, const std::string& what) = 0;
  virtual void finish() = 0;

  /// Depth::usage: where a line that matters may be, once `head_done`.
  virtual std::size_t find(std::string_view text) const = 0;
  virtual bool head_done() const = 0;
  /// Whether lines may be passed over at all.
  virtual bool skims() const { return true; }
};

/// Reads a file that is one JSON object, and gives that to `take`.
Result<void> read_document(LogReading& reading, ByteSource& source,
                           const std::function<void(JsonSpan)>& take);

/// Reads a file of lines to its end.
Result<void> read_records(LogReading& reading, ByteSource& source, RecordReader& reader);

}  // namespace daybook::tools
