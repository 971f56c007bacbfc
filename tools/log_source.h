// Logs that other programs wrote: finding them, and reading one into calls or events.
//
// The way to analyse files without storing them is tools/log_calls.h: discover(), then
// visit_log_calls(). `daybook import` reads the same sources into events.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/config.h"
#include "replay/call.h"
#include "schema/event.h"

namespace daybook::tools {

enum class LogKind { claude_code, codex, openworker, atif, daybook };

/// As SessionImported and Provenance name it: "claude-code", "codex", "openworker", "atif",
/// "daybook".
std::string_view name_of(LogKind kind);

/// One logical file: of twins (plain and compressed, active and archived) the one that counts.
struct LogSource {
  LogKind kind = LogKind::claude_code;
  std::string path;  // what is opened
  std::string file;  // logical name: without its place and its compression
  /// Whose it says it is. Of Codex a thread, "": its name must tell. Of Claude Code the session and
  /// the agent ("SESSION/AGENT", "SESSION/") that its conversation begins with.
  std::string thread;
  std::int64_t begun_at = 0;       // UTC ns, by the line that tells its thread; 0: it has no time
  bool goes_on = false;            // of Claude Code: that line names one before it
  bool document = false;           // one JSON value, not lines
  std::uint64_t size = 0;          // bytes on disk
  bool compressed = false;         // zstd, told by its first bytes
  bool plain = false;              // told by them, too
  std::vector<std::string> twins;  // other paths that hold the same log

  // As join_parts() sets them.
  std::vector<LogSource> rest;  // the files that hold how it goes on, in order: read with it as one
  std::uint64_t until = 0;      // of one that others follow: read up to there; 0: to its end
  std::size_t told = 0;         // of all these files, how many of the first another source has too
  bool continued = false;       // another source holds what follows
};

/// Why of a SkippedFile without a byte.
inline constexpr std::string_view kEmptyFile = "is empty";

/// A file that is not read, and why.
struct SkippedFile {
  std::string path;
  std::string why;
};

/// Of an error whose message may begin with the path.
SkippedFile unread_file(const std::string& path, const Error& error);

struct Discovery {
  std::vector<LogSource> sources;      // in order of `file`, then `path`
  std::vector<SkippedFile> unread;     // could not be opened or read: a loss
  std::vector<SkippedFile> not_a_log;  // named like a log, but of no known kind
};

/// Where the supported programs keep their logs, as far as these folders exist.
std::vector<std::string> usual_log_places(const engine::Environment& environment);

/// Looks through files and folders; the kind is decided by what a file holds. Links are followed
/// for the paths given only. `not_found` when a path does not exist.
Result<Discovery> discover_logs(std::span<const std::string> paths);

/// How much of a log is wanted.
enum class Depth {
  usage,     // calls with their figures; contents are not looked at
  requests,  // events with messages, but without the raw lines and their hashes
  whole,     // everything, for the journal
};

/// A line of a log that another file held.
struct EarlierLine {
  std::string_view text;
  std::string_view file;  // as in Provenance
  std::uint64_t offset = 0;
  bool copied = false;  // it was told to be another thread's (kCopiedLine)
  bool held = true;     // by the sink: it is not to be kept again
};

/// ImportedLine.detail of lines that a log copied from another thread's.
inline constexpr std::string_view kCopiedLine = "copied from another thread";

/// Takes what a reader finds. Not thread-safe: one sink a file that is being read.
class LogSink {
 public:
  virtual ~LogSink() = default;

  /// Depth::usage only. `version` counts the calls of the session within this file.
  virtual void call(replay::Call&& call) = 0;

  /// The other depths. `session` is the log's session (CallSession::id). The first event of each
  /// session is SessionImported; positions count from 1 within (file, session) and are what
  /// ModelRequested.base and causation name. The event's id is the same in every copy of the log.
  /// An error ends the reading and comes back from read_log.
  virtual Result<void> event(const std::string& session, EventDraft draft) = 0;

  /// Lines of the session that the sink holds from other files and that come before `first`, the
  /// first one of this file: what follows goes on from them. Events that are made of them while
  /// they are visited are known.
  virtual Result<void> visit_earlier_lines(const std::string& session,
                                           const schema::ProvenanceT& first,
                                           const std::function<void(const EarlierLine&)>& visit) {
    (void)session, (void)first, (void)visit;
    return {};
  }

  /// Content for the next event: long ones are the sink's to store.
  virtual std::unique_ptr<schema::ContentT> content(std::string_view bytes) = 0;
  virtual BlobRef blob(std::string_view bytes) = 0;
};

/// One line that could not be read, or one of whose figures cannot be.
struct DamagedLine {
  std::string file;  // its path
  std::uint64_t offset = 0;
  std::string what;

  /// "FILE, offset N: is not JSON"
  std::string text() const;
};

/// A type of lines that is not known, and where the first of them is.
struct UnmappedType {
  std::string type;
  std::uint64_t count = 0;
  std::string file;
  std::uint64_t offset = 0;
};

/// What became of a file's lines. Everything that is no event is counted by its reason.
struct LogReport {
  std::uint64_t bytes = 0;          // uncompressed bytes read
  std::uint64_t committed = 0;      // of them, those in complete lines
  std::uint64_t lines = 0;          // complete lines seen; Depth::usage counts candidates only
  std::uint64_t calls = 0;          // model calls, copies within the file removed
  std::uint64_t events = 0;         // handed to the sink
  std::uint64_t metadata = 0;       // lines that carry nothing a session needs
  std::uint64_t duplicates = 0;     // lines that repeat an earlier one
  std::uint64_t unmapped = 0;       // lines of a type that is not known
  std::uint64_t damaged = 0;        // lines that cannot be read
  std::uint64_t conflicts = 0;      // responses whose records disagree: without figures
  std::vector<DamagedLine> damage;  // the first of them
  std::vector<UnmappedType> types;  // the first of them
  std::vector<std::string> notes;   // rules that changed figures: "counter reset", ...
  std::vector<SkippedFile> unread;  // files that could not be read at all
  bool by_name = false;             // the file's name says which session its lines belong to

  bool lossless() const {
    return damaged == 0 && unmapped == 0 && conflicts == 0 && unread.empty();
  }
  void add(const LogReport& other);
};

/// Finds the log of another session of the same program, for files that copy its history.
using LogFinder = std::function<std::optional<LogSource>(LogKind, std::string_view log_session)>;

/// A finder over the sources of one discovery, by what they say they are, else by their names.
/// `sources` must outlive it.
LogFinder finder_over(std::span<const LogSource> sources);

struct LogReadOptions {
  Depth depth = Depth::usage;
  /// A line (or a whole document) longer than this is given up; 0: the usual limit.
  std::size_t most_line_bytes = 0;
  /// The log goes on no more: what is open at its end is settled as the log leaves it. Otherwise
  /// an answer whose figures may still come is no call yet, and a tool call without a result stays
  /// open.
  bool final = true;
  /// Depth::usage: calls tell not before when they started, too, for which more lines are looked
  /// at.
  bool starts = false;
  LogFinder finder;                                        // may be empty
  std::function<void(std::uint64_t bytes_read)> progress;  // on-disk bytes so far; may be empty
};

/// Reads one source from its start. Errors: `io`, `permission`, or what the sink returned; damage
/// inside the file is in the report.
Result<LogReport> read_log(const LogSource& source, const LogReadOptions& options, LogSink& sink);

}  // namespace daybook::tools
