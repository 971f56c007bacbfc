#include <fmt/format.h>

#include <chrono>
#include <map>
#include <ostream>
#include <tuple>

#include "tools/command.h"
#include "tools/format.h"
#include "tools/json_writer.h"
#include "tools/log_import.h"
#include "tools/log_losses.h"
#include "tools/log_parts.h"
#include "tools/log_restore.h"
#include "tools/read_journal.h"
#include "tools/table.h"

namespace daybook::tools {
namespace {

constexpr std::size_t kMostDamageShown = 20;

/// "1.5 GiB"
std::string bytes_text(double bytes) {
  for (const char* unit : {"B", "KiB", "MiB"}) {
    if (bytes < 1024) return fmt::format("{:.{}f} {}", bytes, *unit == 'B' ? 0 : 1, unit);
    bytes /= 1024;
  }
  return fmt::format("{:.1f} GiB", bytes);
}

/// "1 file", "2 files"
std::string counted(std::uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

/// Errors that one file's content or place causes: the others are imported nevertheless.
bool is_of_file(ErrorCode code) {
  return code == ErrorCode::permission || code == ErrorCode::not_found ||
         code == ErrorCode::invalid_argument || code == ErrorCode::conflict;
}

/// One line on a terminal that is written over: how far, how fast, how long still.
class Bar {
 public:
  Bar(std::ostream& err, bool shown, std::uint64_t total)
      : err_(err), shown_(shown), total_(total), start_(Clock::now()), last_(start_) {}

  void file_done(std::uint64_t size) {
    done_ += size;
    show(0, true);
  }
  void show(std::uint64_t in_file, bool force = false) {
    constexpr auto kEvery = std::chrono::milliseconds(200);
    const auto now = Clock::now();
    if (!shown_ || (!force && now - last_ < kEvery)) return;
    last_ = now;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const double done = static_cast<double>(std::min(done_ + in_file, total_));
    const double total = static_cast<double>(std::max<std::uint64_t>(total_, 1));
    const double rate = seconds > 0 ? done / seconds : 0;
    const double left = rate > 0 ? (total - done) / rate : 0;
    err_ << fmt::format("\r\x1b[K{:3.0f} %  {} of {}  {}/s  {} left", 100 * done / total,
                        bytes_text(done), bytes_text(total), bytes_text(rate),
                        duration(static_cast<std::uint64_t>(left * 1e9)))
         << std::flush;
  }
  void clear() {
    if (shown_) err_ << "\r\x1b[K" << std::flush;
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::ostream& err_;
  bool shown_;
  std::uint64_t total_;
  std::uint64_t done_ = 0;
  Clock::time_point start_;
  Clock::time_point last_;
};

struct Imported {
  std::string path;
  std::string kind;
  bool unchanged = false;
  std::string copy_of;  // a file of this import with the same content; "": none
  std::uint64_t appended = 0;
  std::uint64_t known = 0;
  LogReport report;
};

struct Sum {
  std::uint64_t files = 0;
  std::uint64_t unchanged = 0;
  std::uint64_t copies = 0;  // of other files of this import
  std::uint64_t new_sessions = 0;
  std::uint64_t appended = 0;
  std::uint64_t known = 0;
  LogReport report;
};

class Importer {
 public:
  Importer(Context& context, journal::Journal* journal, bool dry, bool json)
      : context_(context), journal_(journal), dry_(dry), json_(json) {}

  Result<int> run(const Discovery& found) {
    std::uint64_t total = 0;
    for (const LogSource& source : found.sources) total += source.size;
    Bar bar(context_.err, context_.out_is_terminal && !json_, total);
    const std::vector<LogSource> joined = join_parts(found.sources);
    const LogFinder finder = finder_over(joined);
    for (const std::size_t index : import_order(found.sources)) {
      const LogSource& source = found.sources[index];
      if (context_.stop.stop_requested()) return stopped(bar);
      const auto done = one(source, finder, bar);
      if (!done) return fail(done.error());
      bar.file_done(source.size);
    }
    bar.clear();
    sum_.report.unread.insert(sum_.report.unread.end(), found.unread.begin(), found.unread.end());
    if (json_) {
      write_json();
    } else {
      write_text(found);
    }
    return sum_.report.lossless() ? kExitOk : kExitLosses;
  }

 private:
  using Content = std::tuple<LogKind, std::uint64_t, Digest>;

  int stopped(Bar& bar) {
    bar.clear();
    context_.err << "daybook: stopped; what was imported stays, and the same command goes on\n";
    return kExitInterrupted;
  }

  /// A file that cannot be read is a loss; a journal that cannot be written ends the import.
  Result<void> one(const LogSource& source, const LogFinder& finder, Bar& bar) {
    ++sum_.files;
    const auto identity = identity_of(source, {});
    if (!identity) return unread(source, identity.error());
    const Content content{source.kind, identity->size, identity->digest};
    const auto taken = taken_.find(content);
    const std::string copy_of = taken == taken_.end() ? std::string() : taken->second;
    if (source.kind == LogKind::daybook) return restore(source, content, copy_of);
    JournalSink sink(journal_, {context_.owner, dry_imported()}, source, *identity);
    const auto known = sink.is_known();
    if (!known) return fail(known.error());
    if (*known) {
      note_nothing_new(source, copy_of);
      return {};
    }
    LogReadOptions options;
    options.depth = Depth::whole;
    options.final = false;
    options.finder = finder;
    options.progress = [&](std::uint64_t read) { bar.show(read); };
    auto report = read_log(source, options, sink);
    const auto finished = report ? sink.finish(report->by_name) : fail(report.error());
    if (!finished) {
      if (!is_of_file(finished.error().code)) return fail(finished.error());
      return unread(source, finished.error());
    }
    taken_.try_emplace(content, source.path);
    sum_.new_sessions += sink.new_sessions();
    sum_.appended += sink.appended();
    sum_.known += sink.known();
    if (json_) {
      write_json(Imported{source.path, std::string(name_of(source.kind)), false, "",
                          sink.appended(), sink.known(), *report});
    }
    note_damage(source, *report);
    sum_.report.add(*report);
    return {};
  }

  void note_nothing_new(const LogSource& source, const std::string& copy_of) {
    ++(copy_of.empty() ? sum_.unchanged : sum_.copies);
    if (!json_) return;
    write_json(Imported{.path = source.path,
                        .kind = std::string(name_of(source.kind)),
                        .unchanged = copy_of.empty(),
                        .copy_of = copy_of,
                        .report = {}});
  }

  void note_damage(const LogSource& source, const LogReport& report) {
    for (DamagedLine damage : report.damage) {
      damage.file = source.path;
      damage_.push_back(damage.text());
    }
  }

  Result<void> restore(const LogSource& source, const Content& content,
                       const std::string& copy_of) {
    const auto bytes = open_bytes(source.path);
    if (!bytes) return unread(source, bytes.error());
    const auto done = restore_export(**bytes, journal_, dry_imported());
    if (!done) {
      if (!is_of_file(done.error().code)) return fail(done.error());
      return unread(source, done.error());
    }
    LogReport report = done->report;
    if (done->left > 0) {
      ++report.damaged;
      report.damage.push_back(
          {source.path, 0,
           fmt::format("{} behind the damage cannot be put back: a session has no holes",
                       counted(done->left, "event"))});
    }
    note_damage(source, report);
    sum_.report.add(report);
    sum_.new_sessions += done->new_sessions;
    if (done->appended > 0) taken_.try_emplace(content, source.path);
    const bool copied = done->appended == 0 && !copy_of.empty();
    if (done->appended == 0) ++(copied ? sum_.copies : sum_.unchanged);
    sum_.appended += done->appended;
    sum_.known += done->known;
    if (json_) {
      write_json(Imported{source.path, "daybook", done->appended == 0 && !copied,
                          copied ? copy_of : "", done->appended, done->known, std::move(report)});
    }
    return {};
  }

  DryImport* dry_imported() { return dry_ ? &imported_ : nullptr; }

  Result<void> unread(const LogSource& source, const Error& error) {
    sum_.report.unread.push_back(unread_file(source.path, error));
    return {};
  }

  static void write_report(JsonWriter& out, const LogReport& report) {
    out.member("lines", report.lines).member("calls", report.calls);
    out.member("metadata", report.metadata).member("duplicates", report.duplicates);
    out.member("unmapped", report.unmapped).member("damaged", report.damaged);
    out.member("conflicts", report.conflicts);
    out.key("unmapped_types").begin_object();
    for (const UnmappedType& type : report.types) out.member(type.type, type.count);
    out.end_object();
    out.key("unmapped_first").begin_array();
    for (const UnmappedType& type : report.types) {
      out.begin_object().member("type", type.type).member("file", type.file);
      out.member("offset", type.offset).end_object();
    }
    out.end_array();
    out.key("notes").begin_array();
    for (const std::string& note : report.notes) out.value(note);
    out.end_array();
  }

  void write_json(const Imported& file) {
    JsonWriter out;
    out.begin_object().member("file", file.path).member("kind", file.kind);
    out.member("unchanged", file.unchanged).member("copy_of", file.copy_of);
    out.member("appended", file.appended);
    out.member("known", file.known);
    write_report(out, file.report);
    out.key("damage").begin_array();
    for (const DamagedLine& damage : file.report.damage) {
      out.begin_object().member("offset", damage.offset).member("what", damage.what).end_object();
    }
    out.end_array();
    context_.out << out.end_object().text() << '\n';
  }

  void write_json() {
    JsonWriter out;
    out.begin_object().member("files", sum_.files).member("unchanged", sum_.unchanged);
    out.member("copies", sum_.copies);
    out.member("dry_run", dry_).member("new_sessions", sum_.new_sessions);
    out.member("appended", sum_.appended).member("known", sum_.known);
    write_report(out, sum_.report);
    out.key("unread").begin_array();
    for (const SkippedFile& file : sum_.report.unread) {
      out.begin_object().member("file", file.path).member("why", file.why).end_object();
    }
    out.end_array();
    context_.out << out.member("lossless", sum_.report.lossless()).end_object().text() << '\n';
  }

  void write_text(const Discovery& found) {
    std::ostream& out = context_.out;
    const LogReport& report = sum_.report;
    const std::string copies = sum_.copies == 0 ? ""
                               : sum_.copies == 1
                                   ? ", 1 a copy of another"
                                   : fmt::format(", {} copies of others", sum_.copies);
    out << fmt::format("{}{} ({} unchanged{}), {}, {}, {} known\n",
                       dry_ ? "would import: " : "imported: ", counted(sum_.files, "file"),
                       sum_.unchanged, copies, counted(sum_.new_sessions, "new session"),
                       counted(sum_.appended, "new event"), sum_.known);
    out << fmt::format(
        "lines: {} read, {} metadata, {} repeated, {} not understood, {} damaged; "
        "model calls: {}\n",
        report.lines, report.metadata, report.duplicates, report.unmapped, report.damaged,
        report.calls);
    for (const UnmappedType& type : report.types) {
      const std::string what =
          type.type.empty() ? "without a type" : fmt::format("of type '{}'", type.type);
      out << printable(fmt::format(
                 "not understood: {} {}{} {}, offset {}", counted(type.count, "line"), what,
                 type.count == 1 ? ":" : ", the first in", type.file, type.offset))
          << '\n';
    }
    if (report.conflicts > 0) {
      out << fmt::format("conflicts: of {} the records disagree: none is counted\n",
                         counted(report.conflicts, "response"));
    }
    for (std::size_t i = 0; i < std::min(damage_.size(), kMostDamageShown); ++i) {
      out << "damaged: " << printable(damage_[i]) << '\n';
    }
    if (report.damaged > kMostDamageShown) {
      out << fmt::format("damaged: and {} more\n", report.damaged - kMostDamageShown);
    }
    for (const SkippedFile& file : report.unread) {
      out << "not read: " << printable(file.path) << ": " << printable(file.why) << '\n';
    }
    for (const SkippedFile& file : found.not_a_log) {
      out << "not a log: " << printable(file.path) << ": " << file.why << '\n';
    }
    for (const std::string& note : report.notes) out << "note: " << printable(note) << '\n';
  }

  Context& context_;
  journal::Journal* journal_;
  bool dry_;
  bool json_;
  DryImport imported_;                    // by this dry run
  std::map<Content, std::string> taken_;  // files that something new came of, by what they hold
  Sum sum_;
  std::vector<std::string> damage_;
};

Result<Discovery> find_sources(const Context& context, const Arguments& arguments) {
  auto paths = given_logs(context, arguments);
  if (!paths) return fail(std::move(paths.error()));
  if (paths->empty()) {
    *paths = usual_log_places(context.environment);
    if (paths->empty()) {
      return fail(
          ErrorCode::not_found,
          "none of the usual places holds logs (~/.claude, ~/.config/claude, "
          "$CLAUDE_CONFIG_DIR, ~/.codex, $CODEX_HOME, ~/.config/coworker): name a file or a "
          "folder");
    }
  }
  return discover_given_logs(*paths, nullptr);
}

Result<int> run(Context& context, const Arguments& arguments) {
  const bool dry = arguments.flag("--dry-run");
  const auto found = find_sources(context, arguments);
  if (!found) return fail(found.error());
  const auto folder = journal_folder(context, arguments);
  if (!folder) return fail(folder.error());
  auto journal =
      context.open_journal(*folder, dry ? journal::OpenMode::read_only : journal::OpenMode::create);
  const bool none = dry && !journal && journal.error().code == ErrorCode::not_found;
  if (!journal && !none) return fail(journal.error());
  Importer importer(context, none ? nullptr : journal->get(), dry, arguments.flag("--json"));
  return importer.run(*found);
}

}  // namespace

Command import_command() {
  return {"import",
          "Import the logs of Claude Code and Codex into the journal, what is new of them",
          {{"PATH", "log files and folders; default: where these programs keep them", false, true}},
          {{"--dry-run", ValueKind::flag, "", "say what would be imported; write nothing"}},
          run};
}

}  // namespace daybook::tools
